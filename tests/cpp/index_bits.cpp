// SPDX-License-Identifier: BSD-3-Clause
// Search among packed bits against a double loop over single bits.
#include "index/bits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "guarded.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

// Flags and the same flags packed, in memory with guard pages.
struct Flags {
  int64_t rows, columns, bytes;
  std::vector<std::vector<bool>> flags;
  Guarded<uint8_t> packed;

  Flags(int64_t n, int64_t cols, uint64_t seed) : rows(n), columns(cols), bytes((cols + 7) / 8), packed(n * bytes) {
    Numbers numbers(seed);
    for (int64_t row = 0; row < n; ++row) {
      const int64_t one_in = 1 + numbers.below(6);
      std::vector<bool> line(static_cast<std::size_t>(cols));
      for (std::size_t j = 0; j < line.size(); ++j) line[j] = row % 11 != 7 && numbers.below(one_in) == 0;
      flags.push_back(line);
      for (int64_t byte = 0; byte < bytes; ++byte) packed[row * bytes + byte] = 0;
      for (int64_t j = 0; j < cols; ++j)
        if (line[static_cast<std::size_t>(j)])
          packed[row * bytes + j / 8] = static_cast<uint8_t>(packed[row * bytes + j / 8] | (1 << (j % 8)));
    }
  }
  MatrixView<const uint8_t> view() { return {packed.data(), rows, bytes}; }
};

double distance(BitMetric metric, const std::vector<bool>& x, const std::vector<bool>& q, int64_t columns) {
  int apart = 0, either = 0, common = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    apart += x[j] != q[j];
    either += x[j] || q[j];
    common += x[j] && q[j];
  }
  if (metric == BitMetric::kJaccard) return either == 0 ? 0.0 : static_cast<double>(apart) / either;
  if (metric == BitMetric::kHamming) return static_cast<double>(apart) / static_cast<double>(columns);
  return static_cast<double>(columns - common) / static_cast<double>(columns);
}

std::vector<std::pair<double, int64_t>> sorted(BitMetric metric, const Flags& rows, const std::vector<bool>& query,
                                               int32_t own, const std::vector<int32_t>& groups) {
  std::vector<std::pair<double, int64_t>> all;
  for (int64_t row = 0; row < rows.rows; ++row) {
    if (!groups.empty() && groups[static_cast<std::size_t>(row)] == own) continue;
    all.emplace_back(distance(metric, rows.flags[static_cast<std::size_t>(row)], query, rows.columns), row);
  }
  std::sort(all.begin(), all.end());
  return all;
}

constexpr BitMetric kMetrics[] = {BitMetric::kHamming, BitMetric::kJaccard, BitMetric::kCategories};

}  // namespace

TEST_CASE("the nearest by bits are those of the double loop, ties by row, however many threads") {
  for (const BitMetric metric : kMetrics) {
    for (const int64_t columns : {1, 8, 33, 100, 300}) {
      for (const int64_t n : {1, 40, 1200}) {
        for (const bool grouped : {false, true}) {
          Flags rows(n, columns, 7), queries(19, columns, 8);
          std::vector<int32_t> row_groups, query_groups;
          for (int64_t i = 0; grouped && i < n; ++i) row_groups.push_back(static_cast<int32_t>(i % 3));
          for (int64_t i = 0; grouped && i < 19; ++i) query_groups.push_back(static_cast<int32_t>(n == 1 ? 1 : i % 4));
          const int64_t k = std::min<int64_t>(n == 40 ? 20 : 9, n);
          const BitRows index(rows.view(), columns, metric, {1, {}});
          for (const int threads : {1, 2, 7}) {
            CAPTURE(columns);
            CAPTURE(n);
            CAPTURE(threads);
            std::vector<double> distances(static_cast<std::size_t>(19 * k));
            std::vector<int64_t> neighbours(distances.size());
            index.search(queries.view(), {row_groups, query_groups}, {threads, {}},
                         {{distances.data(), 19, k}, {neighbours.data(), 19, k}});
            for (int64_t query = 0; query < 19; ++query) {
              const auto all = sorted(metric, rows, queries.flags[static_cast<std::size_t>(query)],
                                      grouped ? query_groups[static_cast<std::size_t>(query)] : 0, row_groups);
              for (int64_t i = 0; i < k; ++i) {
                const auto place = static_cast<std::size_t>(query * k + i);
                REQUIRE(distances[place] == all[static_cast<std::size_t>(i)].first);
                REQUIRE(neighbours[place] == all[static_cast<std::size_t>(i)].second);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a radius of bits is inclusive, also where it is itself a quotient") {
  for (const BitMetric metric : kMetrics) {
    Flags rows(300, 37, 9), queries(24, 37, 10);
    const BitRows index(rows.view(), 37, metric, {1, {}});
    for (int step = -1; step <= 38; ++step) {
      const std::vector<double> radii(24, metric == BitMetric::kJaccard ? step / 30.0 : step / 37.0);
      Lists found;
      index.within(queries.view(), radii, {}, {2, {}}, found);
      for (std::size_t query = 0; query < 24; ++query) {
        std::vector<int64_t> expected;
        for (const auto& [apart, row] : sorted(metric, rows, queries.flags[query], 0, {}))
          if (apart <= radii[query]) expected.push_back(row);
        REQUIRE(found.neighbours[query] == expected);
      }
    }
  }
}

TEST_CASE("what no index of bits can be is refused") {
  const std::vector<uint8_t> some(8);
  CHECK_THROWS_AS(BitRows({some.data(), 0, 8}, 8, BitMetric::kHamming, {1, {}}), std::invalid_argument);
  CHECK_THROWS_AS(BitRows({some.data(), 8, 0}, 8, BitMetric::kHamming, {1, {}}), std::invalid_argument);
  CHECK_THROWS_AS(BitRows({some.data(), 1, 1 << 21}, 8, BitMetric::kHamming, {1, {}}), std::invalid_argument);
  CHECK_THROWS_AS(bit_metric_named("euclidean"), std::invalid_argument);
}
