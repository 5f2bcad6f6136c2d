// SPDX-License-Identifier: BSD-3-Clause
// Products of codes against plain whole numbers, under every instruction set: exact, every pair once, no byte too far.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "guarded.hpp"
#include "kernels/table.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

constexpr int64_t kDims[] = {4, 8, 60, 64, 68, 252};

// Panels of rows and some queries at the ends of their ranges, where sums of 16 bits would saturate.
struct Codes {
  const Kernels& table;
  int64_t dim, panels, queries, rows;
  std::vector<uint8_t> row_bytes;  // [row][dim]
  Guarded<uint8_t> packed;
  Guarded<int8_t> query_bytes;

  Codes(const Kernels& kernels, int64_t d, int64_t p, int64_t q, Numbers& numbers)
      : table(kernels),
        dim(d),
        panels(p),
        queries(q),
        rows(p * kernels.tile_rows),
        row_bytes(rows * d),
        packed(rows * d),
        query_bytes(q * d) {
    for (uint8_t& byte : row_bytes) byte = static_cast<uint8_t>(numbers.below(4) == 0 ? 255 : numbers.below(256));
    for (int8_t& byte : query_bytes.values())
      byte = static_cast<int8_t>(numbers.below(4) == 0 ? -128 : numbers.below(256) - 128);
    const int64_t wide = table.tile_rows;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < dim; ++j)
        packed[(r / wide * dim + j / 4 * 4) * wide + r % wide * 4 + j % 4] = row_bytes[r * dim + j];
  }
  int32_t product(int64_t query, int64_t row) {
    int32_t sum = 0;
    for (int64_t j = 0; j < dim; ++j) sum += row_bytes[row * dim + j] * query_bytes[query * dim + j];
    return sum;
  }
};

template <class Check>
void for_every_table(const Check& check) {
  for (const char* const* name = kernels_available(); *name != nullptr; ++name) {
    CAPTURE(std::string(*name));
    for (const int64_t dim : kDims) {
      CAPTURE(dim);
      check(*kernels_named(*name), dim);
    }
  }
}

}  // namespace

TEST_CASE("a sweep finds exactly the pairs that reach their query's threshold, with start and product added") {
  Numbers numbers(201);
  for_every_table([&](const Kernels& table, int64_t dim) {
    for (int size = 0; size < kTileSizes; ++size) {
      Codes codes(table, dim, 3, table.tile_queries[size], numbers);
      Guarded<int32_t> start(codes.rows), thresholds(codes.queries);
      for (int32_t& value : start.values()) value = static_cast<int32_t>(numbers.below(20001)) - 10000;
      std::vector<int32_t> values(codes.rows);
      int64_t expected = 0;
      for (int64_t q = 0; q < codes.queries; ++q) {
        for (int64_t r = 0; r < codes.rows; ++r) values[r] = start[r] + codes.product(q, r);
        std::sort(values.begin(), values.end());
        thresholds[q] = values[static_cast<std::size_t>(numbers.below(codes.rows))];
        expected += values.end() - std::lower_bound(values.begin(), values.end(), thresholds[q]);
      }
      std::vector<CodeHit> hits(codes.rows * codes.queries);
      const int found = table.sweep[size](codes.packed.data(), start.data(), dim, codes.panels,
                                          codes.query_bytes.data(), thresholds.data(), hits.data());
      CHECK(found == expected);
      std::vector<uint8_t> seen(codes.rows * codes.queries);
      int wrong = 0;
      for (int h = 0; h < found; ++h) {
        const int64_t q = hits[h].query(), r = hits[h].row();
        REQUIRE(q < codes.queries);
        REQUIRE(r < codes.rows);
        const int32_t value = start[r] + codes.product(q, r);
        wrong += hits[h].value != value || value < thresholds[q] || seen[q * codes.rows + r]++ != 0;
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("closest is the first of the queries with the greatest value, products are all values") {
  Numbers numbers(202);
  for_every_table([&](const Kernels& table, int64_t dim) {
    const int64_t wide = table.tile_rows;
    Codes codes(table, dim, 1, 3 * table.tile_queries[kTileSizes - 1], numbers);
    for (int64_t j = 0; j < dim; ++j) codes.query_bytes[2 * dim + j] = codes.query_bytes[j];  // two alike
    Guarded<int32_t> start(codes.queries), best(wide), which(wide), all(codes.queries * wide);
    for (int32_t& value : start.values()) value = static_cast<int32_t>(numbers.below(2001)) - 1000;
    start[2] = start[0];
    table.closest(codes.packed.data(), dim, codes.query_bytes.data(), start.data(), codes.queries, best.data(),
                  which.data());
    table.code_products(codes.packed.data(), dim, codes.query_bytes.data(), start.data(), codes.queries, all.data());
    int wrong = 0;
    for (int64_t r = 0; r < wide; ++r) {
      int64_t first = 0;
      for (int64_t q = 0; q < codes.queries; ++q) {
        const int32_t value = start[q] + codes.product(q, r);
        wrong += all[q * wide + r] != value;
        if (value > start[first] + codes.product(first, r)) first = q;
      }
      wrong += which[r] != first || best[r] != start[first] + codes.product(first, r);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("products of chosen pairs") {
  Numbers numbers(203);
  for (const char* const* name = kernels_available(); *name != nullptr; ++name) {
    CAPTURE(std::string(*name));
    const Kernels& table = *kernels_named(*name);
    for (const int64_t stride : {kCodeStride, 3 * kCodeStride, 8 * kCodeStride}) {
      Codes codes(table, stride, 1, 5, numbers);
      std::vector<CodePair> pairs;
      for (int i = 0; i < 50; ++i)
        pairs.push_back({static_cast<int32_t>(numbers.below(codes.rows)), static_cast<int32_t>(numbers.below(5))});
      std::vector<int32_t> dots(pairs.size());
      Guarded<uint8_t> bytes(codes.row_bytes);
      table.pairs(bytes.data(), codes.query_bytes.data(), stride, pairs.data(), static_cast<int64_t>(pairs.size()),
                  dots.data());
      int wrong = 0;
      for (std::size_t i = 0; i < pairs.size(); ++i) wrong += dots[i] != codes.product(pairs[i].query, pairs[i].row);
      CHECK(wrong == 0);
    }
  }
}
