// SPDX-License-Identifier: BSD-3-Clause
// What decides between rows, written as plainly as it can be: the measure for kernels and indexes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "kernels/table.hpp"

// Sixteen lanes, coordinate j to lane j mod 16, joined by halving: the engine's order of additions.
template <class T>
double oracle_reduced(tonari::Reduced how, const T* row, const T* query, int64_t dim) {
  double lane[16] = {};
  for (int64_t j = 0; j < dim; ++j) {
    const double difference = static_cast<double>(row[j]) - static_cast<double>(query[j]);
    double& mine = lane[j % 16];
    if (how == tonari::kSquared) {
      const volatile double square = difference * difference;   // volatile: never fused with the addition
      mine = mine + square;
    } else if (how == tonari::kAbsolute) {
      mine = mine + std::fabs(difference);
    } else {
      mine = std::max(mine, std::fabs(difference));
    }
  }
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i)
      lane[i] = how == tonari::kLargest ? std::max(lane[i], lane[i + half]) : lane[i] + lane[i + half];
  }
  return lane[0];
}

// Numbers for tests: a function of (seed, where) on every machine.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : stream_(seed, 0) {}
  double uniform() { return stream_.uniform(next_++); }
  int64_t below(int64_t bound) { return static_cast<int64_t>(stream_.below(next_++, static_cast<uint64_t>(bound))); }
  // Standard normal, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  // Magnitudes from 2^-low to 2^high, either sign.
  double wide(int low, int high) {
    const double magnitude = std::ldexp(1 + uniform(), static_cast<int>(below(low + high)) - low);
    return below(2) ? magnitude : -magnitude;
  }

 private:
  tonari::RandomStream stream_;
  uint64_t next_ = 0;
};
