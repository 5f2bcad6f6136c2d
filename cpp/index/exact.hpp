// SPDX-License-Identifier: BSD-3-Clause
// Exact nearest neighbours by exhaustive search.
//
// Solves   for every query the k rows of least (distance, row number)
// Given    rows (float32 or float64, finite), a metric, queries of the same type; optionally a group number for every
//          row and query: rows of a query's own group are left out (a fold, a group, or the row itself)
// Gives    distances (float64) and row numbers, ordered by (distance, row)
// How      a filter with a proven bound leaves few pairs, and these are decided by direct differences in float64
//          (index/decide.hpp). Two filters: the cascade of codes (index/cascade.hpp) for what rests on Euclidean
//          distances, and plain float32 tiles (index/tiles.hpp). The answer is that of deciding every pair: it cannot
//          depend on filters, threads, batches or instruction sets.
// Memory   the rows are borrowed; cascade: 1.3 bytes per value and 20 per row; tiles: 4 bytes per value, made when first
//          needed; 64 MiB for queries, and per thread 32 MiB or what one tile of queries needs, 32 (k + 32) bytes per query
// Time     rows * queries * dim operations of the filter at most, and dim float64 operations per pair that is left
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory.hpp"
#include "base/views.hpp"
#include "index/blocks.hpp"
#include "index/cascade.hpp"
#include "index/judge.hpp"
#include "index/packed.hpp"

namespace tonari {

template <class T>
class ExactRows {
 public:
  // Borrows `rows`: they must stay where they are, unchanged, as long as this lives. TONARI_FILTER (auto, plain, flat,
  // heads) forces the filter of Euclidean distances, for tests and measurements.
  ExactRows(MatrixView<const T> rows, const ExactParams& params, const RunParams& run);

  const MatrixView<const T>& rows() const { return rows_; }
  // Of the cascade; a width of 0 where there is none.
  CascadeWork work() const { return cascade_ == nullptr ? CascadeWork{} : cascade_->work(); }

  // distances, neighbours: queries x k. Throws std::invalid_argument when a query has fewer than k rows to choose from.
  // Groups: empty, or one number per row and per query; equal numbers exclude.
  void search(MatrixView<const T> queries, Span<const int32_t> row_groups, Span<const int32_t> query_groups,
              const RunParams& run, MatrixView<double> distances, MatrixView<int64_t> neighbours) const;

  // All rows within the radius of each query (inclusive), ordered by (distance, row), one list per query.
  void within(MatrixView<const T> queries, Span<const double> radii, Span<const int32_t> row_groups,
              Span<const int32_t> query_groups, const RunParams& run, Lists& found) const;

 private:
  template <class U>
  friend class Scan;

  const PackedRows& packed(const RunParams& run) const;

  MatrixView<const T> rows_;
  ExactParams params_;
  double largest_ = 0;  // largest magnitude among the rows
  std::unique_ptr<const Cascade<T>> cascade_;
  mutable std::once_flag packing_;
  mutable PackedRows packed_;
};

extern template class ExactRows<float>;
extern template class ExactRows<double>;

// Unit vectors for cosine, float64, with two more columns that stand for "has no direction": a zero row is (0, .., 1, 0)
// as a row and (0, .., 0, 1) as a query, so that it is at squared distance 2, cosine distance 1, from everything.
template <class T>
AlignedVector<double> unit_rows(MatrixView<const T> rows, bool as_queries);

// mapped = (rows - middle) matrix: each value a chain over the columns in their order, so equal rows are mapped to equal
// ones, whatever stands beside them.
void map_rows(MatrixView<const double> rows, Span<const double> middle, MatrixView<const double> matrix,
              const RunParams& run, MatrixView<double> mapped);

}  // namespace tonari
