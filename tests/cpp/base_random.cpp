// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

using tonari::philox;
using tonari::RandomStream;

namespace {

using Words = std::array<uint32_t, 4>;

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("Philox 4x32-10 gives the published vectors of Random123") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// A change here changes every forest, bootstrap and split that was ever stored with its seed.
TEST_CASE("where, stream and seed fill the counter and the key in a fixed way") {
  const uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e, where = 0x85a308d3243f6a88;
  const RandomStream numbers(seed, stream);
  CHECK(numbers.bits(where) == 0x94fdccebd16cfe09);
  CHECK(numbers.uniform(where) == static_cast<double>(0x94fdccebd16cfe09 >> 11) / 9007199254740992.0);
  CHECK(numbers.below(where, 1000) == 581);   // floor(0x94fdcceb... / 2^64 * 1000) = floor(581.99...)
}

TEST_CASE("every bit of where, stream and seed matters") {
  std::set<uint64_t> seen{RandomStream(0, 0).bits(0)};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    seen.insert(RandomStream(one, 0).bits(0));
    seen.insert(RandomStream(0, one).bits(0));
    seen.insert(RandomStream(0, 0).bits(one));
  }
  CHECK(seen.size() == 1 + 3 * 64);
}

TEST_CASE("a number does not depend on the numbers asked before it") {
  const RandomStream numbers(7, 1);
  std::vector<uint64_t> upwards, downwards(100);
  for (uint64_t i = 0; i < 100; ++i) upwards.push_back(numbers.bits(i));
  for (uint64_t i = 100; i-- > 0;) downwards[i] = RandomStream(7, 1).bits(i);
  CHECK(upwards == downwards);
}

TEST_CASE("uniform stays in [0, 1) and fills it evenly") {
  const RandomStream numbers(11, 0);
  constexpr int kDraws = 100'000, kCells = 100;
  std::vector<int> counts(kCells);
  double sum = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double u = numbers.uniform(i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    ++counts[static_cast<std::size_t>(u * kCells)];
    sum += u;
  }
  CHECK(std::abs(sum / kDraws - 0.5) < 4 * std::sqrt(1.0 / 12 / kDraws));
  CHECK(chi_square(counts, double{kDraws} / kCells) < 148.2);   // 99 degrees of freedom, 0.1 %
}

TEST_CASE("below is even over small bounds") {
  for (const uint64_t bound : {2u, 3u, 10u}) {
    CAPTURE(bound);
    const RandomStream numbers(3, bound);
    constexpr int kDraws = 60'000;
    std::vector<int> counts(bound);
    for (uint64_t i = 0; i < kDraws; ++i) {
      const uint64_t drawn = numbers.below(i, bound);
      REQUIRE(drawn < bound);
      ++counts[drawn];
    }
    CHECK(chi_square(counts, kDraws / static_cast<double>(bound)) < 27.9);   // 9 degrees of freedom, 0.1 %
  }
}

TEST_CASE("below is floor(bits * bound / 2^64), for bounds of any size") {
  const RandomStream numbers(5, 9);
  CHECK(numbers.below(0, 1) == 0);
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t bits = numbers.bits(i);
    CHECK(numbers.below(i, uint64_t{1} << 32) == bits >> 32);
    CHECK(numbers.below(i, uint64_t{1} << 63) == bits >> 1);
#if defined(__SIZEOF_INT128__)
    const uint64_t bound = RandomStream(6, 9).bits(i) >> (i % 64) | 1;
    CHECK(numbers.below(i, bound) == static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * bound >> 64));
#endif
  }
}
