// SPDX-License-Identifier: BSD-3-Clause
// Sparse rows against the same rows written out: bits, not values.
#include "index/sparse.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <stdexcept>
#include <vector>

#include "guarded.hpp"
#include "index/exact.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

template <class T>
struct Table {
  int64_t rows, cols;
  std::vector<T> dense;
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> columns;
  std::vector<T> values;

  Table(int64_t n, int64_t d, int64_t one_in, double size, uint64_t seed) : rows(n), cols(d) {
    Numbers numbers(seed);
    dense.assign(static_cast<std::size_t>(n * d), T{0});
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t j = 0; j < d && row % 13 != 5; ++j) {
        if (numbers.below(one_in) != 0) continue;
        // Some whole numbers, so that ties and lost halves of a last place occur; some of many sizes.
        const double value = row % 2 ? static_cast<double>(1 + numbers.below(3)) : numbers.wide(20, 20);
        dense[static_cast<std::size_t>(row * d + j)] = static_cast<T>(value * size);
        columns.push_back(static_cast<int32_t>(j));
        values.push_back(static_cast<T>(value * size));
      }
      indptr.push_back(static_cast<int64_t>(columns.size()));
    }
  }
  SparseView<T> sparse() const { return {indptr, columns, values, cols}; }
  MatrixView<const T> written_out() const { return {dense.data(), rows, cols}; }
};

template <class T>
void check_same(const SparseView<T>& rows, MatrixView<const T> dense, const SparseView<T>& queries,
                MatrixView<const T> asked, Metric metric) {
  const int64_t n = asked.rows;
  const SparseRows<T> sparse(rows, metric, {2, {}});
  const ExactRows<T> exact(dense, {metric, 2}, {1, {}});
  for (const int64_t k : {int64_t{1}, int64_t{7}, dense.rows}) {
    std::vector<double> found(static_cast<std::size_t>(n * k)), expected(found.size());
    std::vector<int64_t> found_rows(found.size()), expected_rows(found.size());
    exact.search(asked, {}, {}, {1, {}}, {expected.data(), n, k}, {expected_rows.data(), n, k});
    for (const int threads : {1, 3}) {
      sparse.search(queries, {}, {threads, {}}, {{found.data(), n, k}, {found_rows.data(), n, k}});
      REQUIRE(found_rows == expected_rows);
      for (std::size_t i = 0; i < found.size(); ++i)
        REQUIRE(std::bit_cast<uint64_t>(found[i]) == std::bit_cast<uint64_t>(expected[i]));
    }
    std::vector<double> radii;
    for (int64_t query = 0; query < n; ++query) radii.push_back(expected[static_cast<std::size_t>(query * k + k - 1)]);
    Lists sparse_lists, exact_lists;
    sparse.within(queries, radii, {}, {2, {}}, sparse_lists);
    exact.within(asked, radii, {}, {}, {2, {}}, exact_lists);
    REQUIRE(sparse_lists.neighbours == exact_lists.neighbours);
    REQUIRE(sparse_lists.distances == exact_lists.distances);
  }
}

template <class T>
void check_sizes(std::initializer_list<double> sizes) {
  for (const double size : sizes) {
    for (const int64_t cols : {1, 15, 16, 17, 200}) {
      CAPTURE(size);
      CAPTURE(cols);
      const Table<T> rows(90, cols, 6, size, 21), queries(20, cols, 6, size, 22);
      check_same<T>(rows.sparse(), rows.written_out(), queries.sparse(), queries.written_out(), Metric::kEuclidean);
      const SparseUnits row_units = sparse_units(rows.sparse(), false),
                        query_units = sparse_units(queries.sparse(), true);
      const AlignedVector<double> dense_rows = unit_rows(rows.written_out(), false);
      const AlignedVector<double> dense_queries = unit_rows(queries.written_out(), true);
      check_same<double>(row_units.view(), {dense_rows.data(), 90, cols + 2}, query_units.view(),
                         {dense_queries.data(), 20, cols + 2}, Metric::kCosine);
    }
  }
}

}  // namespace

TEST_CASE("sparse rows give the bits of the rows written out") {
  check_sizes<float>({1.0, 0x1p-60, 0x1p+60});
  check_sizes<double>({1.0, 0x1p-480, 0x1p+470, 0x1p+990});
}

TEST_CASE("groups are left out, and too few rows to choose from are an error") {
  const Table<double> rows(40, 30, 4, 1, 23);
  const SparseRows<double> index(rows.sparse(), Metric::kEuclidean, {1, {}});
  std::vector<int32_t> groups;
  for (int32_t i = 0; i < 40; ++i) groups.push_back(i % 5);
  std::vector<double> distances(40 * 32);
  std::vector<int64_t> neighbours(distances.size());
  index.search(rows.sparse(), {groups, groups}, {2, {}}, {{distances.data(), 40, 32}, {neighbours.data(), 40, 32}});
  for (std::size_t i = 0; i < neighbours.size(); ++i) CHECK(neighbours[i] % 5 != static_cast<int64_t>(i / 32) % 5);
  std::vector<double> more(40 * 33);
  std::vector<int64_t> more_rows(more.size());
  CHECK_THROWS_AS(
      index.search(rows.sparse(), {groups, groups}, {2, {}}, {{more.data(), 40, 33}, {more_rows.data(), 40, 33}}),
      std::invalid_argument);
}

TEST_CASE("what no index of sparse rows can be is refused") {
  const Table<double> rows(4, 3, 1, 1, 24);
  CHECK_THROWS_AS(SparseRows<double>(rows.sparse(), Metric::kManhattan, {1, {}}), std::invalid_argument);
  const std::vector<int64_t> nothing{0};
  CHECK_THROWS_AS(SparseRows<double>({nothing, {}, {}, 3}, Metric::kEuclidean, {1, {}}), std::invalid_argument);
}
