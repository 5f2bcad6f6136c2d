// SPDX-License-Identifier: BSD-3-Clause
#include "learn/gauss.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"

using namespace tonari;

namespace {

struct Sums {
  std::vector<double> weight, mean, scatter;
};

Sums sums_of(const std::vector<double>& rows, int64_t dim, const std::vector<int32_t>& cells,
             const std::vector<double>& weights, int64_t count, int threads) {
  Sums sums{std::vector<double>(count), std::vector<double>(count * dim), std::vector<double>(count * dim * dim)};
  const MatrixView<const double> view{rows.data(), static_cast<int64_t>(cells.size()), dim};
  gauss_sums<double>(view, cells, weights, count, threads, {}, sums.weight.data(), sums.mean.data(),
                     sums.scatter.data());
  return sums;
}

}  // namespace

TEST_CASE("sums are those of the formula, over several chunks, far from the origin") {
  for (int64_t dim : {1, 7, 8, 9, 33}) {
    const int64_t rows = 3 * kSumsChunkRows + 5;
    const RandomStream random(1, static_cast<uint64_t>(dim));
    std::vector<double> table(rows * dim), weights(rows);
    std::vector<int32_t> cells(rows);
    for (int64_t i = 0; i < rows * dim; ++i) table[i] = 1e6 + random.uniform(i);
    for (int64_t i = 0; i < rows; ++i) {
      cells[i] = static_cast<int32_t>(i % 7 == 0 ? 1 : i % 11 == 0 ? -1 : 0);
      weights[i] = static_cast<double>(i % 3);
    }
    const Sums found = sums_of(table, dim, cells, weights, 3, 2);
    for (int64_t cell = 0; cell < 2; ++cell) {
      std::vector<long double> mean(dim, 0.0L);
      long double total = 0;
      for (int64_t i = 0; i < rows; ++i) {
        if (cells[i] != cell) continue;
        total += weights[i];
        for (int64_t j = 0; j < dim; ++j) mean[j] += static_cast<long double>(weights[i]) * table[i * dim + j];
      }
      for (auto& value : mean) value /= total;
      long double scatter = 0;
      for (int64_t i = 0; i < rows; ++i)
        if (cells[i] == cell)
          scatter += weights[i] * (table[i * dim] - mean[0]) * (table[i * dim + dim - 1] - mean[dim - 1]);
      CHECK(found.weight[cell] == doctest::Approx(static_cast<double>(total)));
      CHECK(found.mean[cell * dim + dim - 1] == doctest::Approx(static_cast<double>(mean[dim - 1])).epsilon(1e-15));
      CHECK(std::abs(found.scatter[cell * dim * dim + dim - 1] - static_cast<double>(scatter)) < 1e-8);
      CHECK(found.scatter[cell * dim * dim + dim - 1] == found.scatter[cell * dim * dim + (dim - 1) * dim]);
    }
    CHECK(found.weight[2] == 0);
    CHECK(found.scatter[2 * dim * dim] == 0);
    const Sums alone = sums_of(table, dim, cells, weights, 3, 1);
    CHECK(alone.scatter == found.scatter);
  }
}

TEST_CASE("a constant column has exactly no scatter") {
  const std::vector<double> table{0.1, 1, 0.1, 2, 0.1, 4};
  const Sums sums = sums_of(table, 2, {0, 0, 0}, {}, 1, 1);
  CHECK(sums.mean[0] == 0.1);
  CHECK(sums.scatter[0] == 0);
  CHECK(sums.scatter[1] == 0);
  CHECK(sums.scatter[3] > 0);
}

TEST_CASE("scores, and the first class among equals") {
  // Two classes at -1 and 1 with variances 1 and 1/4 (candidate 0) or alike (candidate 1); the basis turns the axes.
  const std::vector<double> mean{-1, 0, 1, 0}, basis{0, 1, 1, 0, 0, 1, 1, 0};
  const std::vector<double> precision{1, 1, 1, 4, 1, 1, 1, 1}, offset{0, 0.5, 0, 0};
  const std::vector<double> rows{0, 0, 2, 3, -2, 1};
  std::vector<double> scores(2 * 3 * 2);
  std::vector<int32_t> codes(2 * 3);
  const GaussClasses classes{{mean.data(), 2, 2}, basis.data(), precision.data(), {offset.data(), 2, 2}};
  gauss_scores<double>({rows.data(), 3, 2}, classes, 2, {}, scores.data(), codes.data());
  CHECK(scores[0] == -0.5);
  CHECK(scores[1] == 0.5 - 0.5 * 4);
  CHECK(scores[2] == -0.5 * (9 + 9));
  CHECK(scores[3] == 0.5 - 0.5 * (9 + 4));
  CHECK(codes == std::vector<int32_t>{0, 1, 0, 0, 1, 0});
  std::vector<double> turned(6);
  gauss_turn<double>({rows.data(), 3, 2}, std::span<const double>(mean).first(2), basis.data(), 1, {}, turned.data());
  CHECK(turned == std::vector<double>{0, 1, 3, 3, 1, -1});
}
