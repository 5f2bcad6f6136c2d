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

// Sixteen lanes, coordinate j to lane j mod 16, each with Kahan's compensation, joined by halving: the engine's order
// of additions. The last coordinates are padded to a full round of lanes with zero differences. The volatile keeps a
// compiler from fusing the product with the sum.
template <class T>
double oracle_sum(tonari::Reduced how, const T* row, const T* query, int64_t dim) {
  double lane[16] = {}, lost[16] = {};
  for (int64_t j = 0; j < (dim + 15) / 16 * 16; ++j) {
    const double difference = j < dim ? static_cast<double>(row[j]) - static_cast<double>(query[j]) : 0.0;
    const volatile double term = how == tonari::kSquared ? difference * difference : std::fabs(difference);
    double& mine = lane[j % 16];
    if (how == tonari::kLargest) {
      mine = std::max(mine, double{term});
      continue;
    }
    const double corrected = term - lost[j % 16];
    const double next = mine + corrected;
    lost[j % 16] = (next - mine) - corrected;
    mine = next;
  }
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) {
      lane[i] = how == tonari::kLargest ? std::max(lane[i], lane[i + half]) : lane[i] + lane[i + half];
      lost[i] += lost[i + half];
    }
  }
  return lane[0] - lost[0];
}

// The same sum to about 100 bits, in two doubles: no order of additions matters to it.
template <class T>
double oracle_exact(tonari::Reduced how, const T* row, const T* query, int64_t dim) {
  double high = 0, low = 0;
  const auto add = [&](double term) {
    const volatile double sum = high + term;
    const volatile double part = sum - high;
    low += (high - (sum - part)) + (term - part);
    high = sum;
  };
  for (int64_t j = 0; j < dim; ++j) {
    const double a = static_cast<double>(row[j]), b = static_cast<double>(query[j]);
    const volatile double difference = a - b;
    const volatile double part = difference - a;
    const double rest = (a - (difference - part)) - (b + part);   // a - b = difference + rest
    if (how == tonari::kAbsolute) {
      add(std::fabs(difference));
      add(difference < 0 ? -rest : rest);
    } else {
      const double square = difference * difference;
      add(square);
      add(std::fma(difference, difference, -square));
      add(2 * difference * rest);
    }
  }
  return high + low;
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
