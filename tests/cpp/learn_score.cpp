// SPDX-License-Identifier: BSD-3-Clause
#include "learn/score.hpp"

#include <doctest/doctest.h>
#include <array>

#include <cmath>
#include <vector>

using namespace tonari;

namespace {

// Six rows in two splits of unlike size, named out of order.
constexpr std::array<int64_t, 6> kOrder{4, 0, 2, 5, 3, 1};
constexpr std::array<int64_t, 3> kStarts{0, 4, 6};
const SplitRows kRows{kOrder, kStarts};

}  // namespace

TEST_CASE("hits and counts go to their candidate, split and class") {
  const std::vector<int32_t> codes{0, 1, 2, 0, 1, 2, /* second candidate */ 2, 2, 2, 2, 2, 2};
  const std::vector<int32_t> truth{0, 1, 1, 1, 1, 2};
  std::vector<int64_t> hits(4, -1);
  score_hits({codes.data(), 2, 6}, truth, kRows, hits.data());
  CHECK(hits == std::vector<int64_t>{3, 1, 1, 0});

  std::vector<int64_t> by_class(12, -1), named(12, -1);
  score_counts({codes.data(), 2, 6}, truth, kRows, 3, by_class.data(), named.data());
  CHECK(by_class == std::vector<int64_t>{1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  CHECK(named == std::vector<int64_t>{1, 1, 2, 1, 1, 0, 0, 0, 4, 0, 0, 2});
}

TEST_CASE("errors are summed per split, and about their mean in a second walk") {
  const double far = 1e8;
  const std::vector<double> truth{far, 0, far, 1, far, far};
  const std::vector<double> values{far - 1, 0, far - 2, 4, far - 3, far + 6};
  std::vector<double> sums(8, -1);
  score_errors({values.data(), 1, 6}, truth, kRows, sums.data());
  // Errors 3, 1, 2, -6 and -3, 0.
  CHECK(sums == std::vector<double>{50, 12, 6, 50, 9, 3, 3, 4.5});

  const std::vector<double> spoilt{far, 0, std::nan(""), 1, far, far};
  score_errors({spoilt.data(), 1, 6}, truth, kRows, sums.data());
  CHECK(std::isnan(sums[0]));
  CHECK(std::isnan(sums[2]));
  CHECK(sums[4] == 0);
}

TEST_CASE("equal scores are one threshold, and an area without both classes is NaN") {
  const std::vector<uint8_t> positive{1, 0, 0, 0, 1, 0};
  const std::vector<double> values{0.5, 0.1, 0.5, 0.2, 0.9, 0.0};
  std::vector<double> areas(4, -1);
  score_ranking({values.data(), 1, 6}, positive, kRows, areas.data());
  // First split: + at 0.9, + and - tied at 0.5, - at 0: three and a half of four pairs; precisions 1 and 2/3.
  CHECK(areas[0] == 3.5 / 4);
  CHECK(areas[1] == (1.0 + 2.0 / 3.0) / 2);
  CHECK(std::isnan(areas[2]));
  CHECK(std::isnan(areas[3]));
}

TEST_CASE("the order in which rows are named changes no area and no count") {
  const std::vector<int64_t> other{2, 5, 4, 0, 1, 3};
  const SplitRows rows{other, kStarts};
  const std::vector<uint8_t> positive{1, 0, 0, 0, 1, 1};
  const std::vector<double> values{0.25, 0.1, 0.25, 0.2, 0.25, 0.0, /* */ 1, 2, 3, 4, 5, 6};
  std::vector<double> one(8), two(8);
  score_ranking({values.data(), 2, 6}, positive, kRows, one.data());
  score_ranking({values.data(), 2, 6}, positive, rows, two.data());
  CHECK(one[0] == two[0]);
  CHECK(one[4] == two[4]);
  CHECK(one[1] == two[1]);
}
