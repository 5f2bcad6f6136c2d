// SPDX-License-Identifier: BSD-3-Clause
// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). A number is a function of
// (seed, stream, where), never of the order in which work was done.
#pragma once
#include <array>
#include <cstdint>

namespace tonari {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// One stream of numbers for one purpose; `at(i)` may be called in any order and from any thread.
class RandomStream {
 public:
  constexpr RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint64_t bits(uint64_t where) const;
  double uniform(uint64_t where) const;                     // in [0, 1), 53 bits
  uint64_t below(uint64_t where, uint64_t bound) const;     // in [0, bound), unbiased to 2^-64

 private:
  uint64_t seed_;
  uint64_t stream_;
};

}  // namespace tonari
