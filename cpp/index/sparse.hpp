// SPDX-License-Identifier: BSD-3-Clause
// Exact nearest neighbours of sparse rows, never made dense.
//
// Solves   for every query the k rows of least (distance, row number), or all within a radius; Euclidean or cosine
// Given    rows and queries in compressed form (CSR), columns ascending within a row
// Gives    the very bits that ExactRows gives for the same table written out
// How      every column knows its rows. A query adds its products along the columns that it has, in float64, and
//          value[r] = (1 - A) |x_r|^2 - 2 x_r.q, with A = (2 m + 16) 2^-53 and m the most stored numbers of a row, obeys
//            D^2 >= value + (1 - A) |q|^2 - tiny       D^2 <= value + 2 A |x|^2 + (1 + A) |q|^2 + tiny
//          (as in index/packed.hpp, in float64). What is left is decided by direct differences in the lanes and the order
//          of cpp/kernels/decide.inl: what zeros do to a compensated sum is done to it too.
// Memory   rows are borrowed; 4 bytes and one value per stored number, 8 per column, 16 per row; per thread 8 bytes per row
// Time     per query the lengths of its columns, one look at every row, and a merge per pair that is left
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/views.hpp"
#include "index/blocks.hpp"
#include "index/decide.hpp"

namespace tonari {

template <class T>
struct SparseView {
  Span<const int64_t> indptr;  // one more than rows
  Span<const int32_t> columns;
  Span<const T> values;
  int64_t cols = 0;

  int64_t rows() const { return static_cast<int64_t>(indptr.size()) - 1; }
  int64_t length(int64_t row) const { return indptr[row + 1] - indptr[row]; }
  Span<const int32_t> columns_of(int64_t row) const { return columns.subspan(indptr[row], length(row)); }
  Span<const T> values_of(int64_t row) const { return values.subspan(indptr[row], length(row)); }
};

// Unit vectors for cosine, with the two columns more of unit_rows() (index/exact.hpp).
struct SparseUnits {
  std::vector<int64_t> indptr;
  std::vector<int32_t> columns;
  std::vector<double> values;
  int64_t cols = 0;

  SparseView<double> view() const { return {indptr, columns, values, cols}; }
};
template <class T>
SparseUnits sparse_units(const SparseView<T>& rows, bool as_queries);

template <class T>
class SparseRows {
 public:
  // Borrows `rows`. metric: euclidean, or cosine of unit vectors.
  SparseRows(const SparseView<T>& rows, Metric metric, const RunParams& run);

  void search(const SparseView<T>& queries, const Exclusion& groups, const RunParams& run, NearestOut out) const;
  // All rows within the radius of each query (inclusive).
  void within(const SparseView<T>& queries, Span<const double> radii, const Exclusion& groups, const RunParams& run,
              Lists& found) const;

 private:
  struct Asked;
  struct Workspace;

  void look(const Asked& asked, int64_t query, int worker, StopFlag& stop, Nearest& nearest, Workspace& work) const;
  double decide(const Asked& asked, int64_t query, int64_t row, double largest, Workspace& work) const;
  template <class Emit>
  void run(const Asked& asked, const RunParams& run, Emit&& emit) const;

  SparseView<T> rows_;
  Metric metric_;
  double largest_ = 0;
  double error_ = 0;  // A
  // The same numbers by column.
  std::vector<int64_t> starts_;
  std::vector<int32_t> row_of_;
  std::vector<T> value_of_;
  AlignedVector<double> norm_;  // (1 - A) |x|^2
};

extern template class SparseRows<float>;
extern template class SparseRows<double>;

}  // namespace tonari
