// SPDX-License-Identifier: BSD-3-Clause
// The comparison that the cascade makes for every pair: it may let a pair through for nothing, never keep one back.
#include "index/cascade.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracle.hpp"

using namespace tonari;

namespace {

// A pair of codes with what a sweep knows of them.
struct Pair {
  int32_t row_square = 0, query_square = 0, shift = 0, product = 0;
  double apart = 0;

  Pair(Numbers& numbers, int64_t dim, int64_t size) {
    int64_t square = 0;
    for (int64_t j = 0; j < dim; ++j) {
      const auto draw = [&] {
        return static_cast<int32_t>(std::min<int64_t>(127, numbers.below(2 * size + 1) - size));
      };
      const int32_t row = draw(), query = numbers.below(3) == 0 ? draw() : std::max(-128, row - 1);
      row_square += row * row;
      query_square += query * query;
      shift += 128 * query;
      product += (row + 128) * query;
      square += static_cast<int64_t>(row - query) * (row - query);
    }
    apart = std::sqrt(static_cast<double>(square));
  }
  bool passes(float residual, float reach, double trade) const {
    return sweep_start(row_square, residual, trade) + product >= sweep_threshold(query_square, shift, reach, trade);
  }
};

float above(double value) { return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity()); }

}  // namespace

TEST_CASE("a pair within reach of its residual passes, whatever the trade, also where nothing is left to spare") {
  Numbers numbers(101);
  for (int round = 0; round < 20'000; ++round) {
    const Pair pair(numbers, 1 + numbers.below(round % 100 == 0 ? kMostCodeDim : 200), 1 + numbers.below(128));
    const double share = numbers.uniform(), trade = std::ldexp(1.0, -static_cast<int>(numbers.below(21)));
    const auto residual = static_cast<float>(pair.apart * share);
    const float reach = above(std::max(0.0, pair.apart - static_cast<double>(residual)));
    CAPTURE(round);
    CHECK(pair.passes(residual, reach, trade));
    CHECK(pair.passes(0, above(pair.apart), trade));
    // The trade that suits this pair: r / R.
    if (share > 0 && share < 1) CHECK(pair.passes(residual, reach, share / (1 - share)));
  }
}

TEST_CASE("rows beyond all bounds pass at every distance, padding at none, and an open threshold lets all rows in") {
  Numbers numbers(102);
  for (int round = 0; round < 2'000; ++round) {
    const Pair pair(numbers, 1 + numbers.below(kMostCodeDim), 128);
    CHECK(pair.passes(1e6f, 0, 0.5));
    CHECK(sweep_start(pair.row_square, 0, 0.5) + pair.product >= kOpen);
    CHECK(sweep_start(pair.row_square, 1e6f, 0.5) + pair.product < kClosed);
    CHECK(kNever + pair.product < kOpen);
  }
}

TEST_CASE("with the trade that suits, what lies beyond the reach is kept back") {
  Numbers numbers(103);
  int kept = 0;
  for (int round = 0; round < 5'000; ++round) {
    const Pair pair(numbers, 20 + numbers.below(200), 60);
    const auto residual = static_cast<float>(0.2 * pair.apart);
    const auto reach = static_cast<float>(0.7 * pair.apart);
    kept += pair.passes(residual, reach, 2.0 / 7) ? 0 : 1;
  }
  CHECK(kept == 5'000);
}
