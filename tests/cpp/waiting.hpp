// SPDX-License-Identifier: BSD-3-Clause
// Waiting for another thread in a test, with an end: a missing thread must fail a test, not hang it.
#pragma once
#include <chrono>
#include <thread>

template <class Condition>
bool soon(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}
