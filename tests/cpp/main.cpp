// SPDX-License-Identifier: BSD-3-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "kernels/table.hpp"

#if defined(TONARI_SANITIZE_ADDRESS)
#include <unistd.h>

// A forked child keeps the memory of threads it does not have; only the first process can be checked for leaks.
static const pid_t first_process = ::getpid();
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return ::getpid() != first_process; }
#endif

int main(int count, char** words) {
  const char* const named = std::getenv("TONARI_ISA");
  const std::string_view isa = named != nullptr ? named : "";
  if ((isa == "v2" || isa == "v3" || isa == "v4" || isa == "v4_vnni") && tonari::kernels_named(named) == nullptr) {
    std::cout << "skipped: this processor cannot run TONARI_ISA=" << isa << "\n";
    return 77;
  }
  return doctest::Context(count, words).run();
}
