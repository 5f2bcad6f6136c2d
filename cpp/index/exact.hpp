// SPDX-License-Identifier: BSD-3-Clause
// Exact nearest neighbours by exhaustive search.
//
// Solves   for every query the k rows of least (distance, row number)
// Given    rows (float32 or float64, finite), a metric, queries of the same type; optionally a group number for every
//          row and query: rows of a query's own group are left out (a fold, a group, or the row itself)
// Gives    distances (float64) and row numbers, ordered by (distance, row)
// How      rows are centred, scaled by a power of two and packed as float32 panels; the tile kernels give a filter
//          value with a proven bound; what survives is decided by direct differences in float64 (index/decide.hpp).
//          The answer is that of deciding every pair: it cannot depend on threads, batches or instruction sets.
// Memory   the rows are borrowed; 4 bytes per value of packed panels; per thread 32 MiB or what one tile of queries needs,
//          32 (k + 32) bytes per query
// Time     rows * queries * dim multiply-adds in float32, and dim float64 operations per survivor
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"
#include "base/views.hpp"
#include "index/decide.hpp"
#include "index/packed.hpp"

namespace tonari {

struct ExactParams {
  Metric metric = Metric::kEuclidean;
  double p = 2.0;
};

// How to run: nothing here changes an answer.
struct RunParams {
  int threads = 1;
  InterruptCheck interrupt;
};

template <class T>
class ExactRows {
 public:
  // Borrows `rows`: they must stay where they are, unchanged, as long as this lives.
  ExactRows(MatrixView<const T> rows, const ExactParams& params, const RunParams& run);

  const MatrixView<const T>& rows() const { return rows_; }

  // distances, neighbours: queries x k. Throws std::invalid_argument when a query has fewer than k rows to choose from.
  // Groups: empty, or one number per row and per query; equal numbers exclude.
  void search(MatrixView<const T> queries, Span<const int32_t> row_groups, Span<const int32_t> query_groups,
              const RunParams& run, MatrixView<double> distances, MatrixView<int64_t> neighbours) const;

  // All rows within `radius` (inclusive), ordered by (distance, row), one list per query.
  void within(MatrixView<const T> queries, double radius, Span<const int32_t> row_groups,
              Span<const int32_t> query_groups, const RunParams& run, std::vector<std::vector<double>>& distances,
              std::vector<std::vector<int64_t>>& neighbours) const;

 private:
  template <class U>
  friend class Scan;

  MatrixView<const T> rows_;
  ExactParams params_;
  double largest_ = 0;  // largest magnitude among the rows
  PackedRows packed_;
};

extern template class ExactRows<float>;
extern template class ExactRows<double>;

// Unit vectors for cosine, float64, with two more columns that stand for "has no direction": a zero row is (0, .., 1, 0)
// as a row and (0, .., 0, 1) as a query, so that it is at squared distance 2, cosine distance 1, from everything.
template <class T>
AlignedVector<double> unit_rows(MatrixView<const T> rows, bool as_queries);

}  // namespace tonari
