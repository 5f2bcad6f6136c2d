// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.hpp"

#include <cassert>

namespace tonari {
namespace {

constexpr uint32_t kMultiply0 = 0xD2511F53u;
constexpr uint32_t kMultiply1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u;  // the golden ratio
constexpr uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
constexpr int kRounds = 10;

constexpr uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// The upper 64 bits of a product of 128, from four products of 64: MSVC has no 128-bit integer.
constexpr uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t low_low = uint64_t{low(a)} * low(b);
  const uint64_t high_low = uint64_t{high(a)} * low(b);
  const uint64_t low_high = uint64_t{low(a)} * high(b);
  const uint64_t middle = high(low_low) + uint64_t{low(high_low)} + low(low_high);
  return uint64_t{high(a)} * high(b) + high(high_low) + high(low_high) + high(middle);
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiply0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiply1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
               low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

uint64_t RandomStream::bits(uint64_t where) const {
  const auto words = philox({low(where), high(where), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
  return uint64_t{words[1]} << 32 | words[0];
}

double RandomStream::uniform(uint64_t where) const { return static_cast<double>(bits(where) >> 11) * 0x1p-53; }

uint64_t RandomStream::below(uint64_t where, uint64_t bound) const {
  assert(bound > 0);
  return multiply_high(bits(where), bound);
}

}  // namespace tonari
