// SPDX-License-Identifier: BSD-3-Clause
// Exact nearest neighbours of packed bits.
//
// Solves   for every query the k rows of least (distance, row number), or all within a radius
// Given    rows of `columns` bits, eight to a byte, the first in the lowest place, the last byte padded with zeros. With the
//          sets x and q of the bits that are 1:
//          hamming     |x ^ q| / columns                   jaccard   |x ^ q| / |x or q|, 0 where both are empty
//          categories  1 - |x & q| / columns: `columns` columns, one bit for every value that each of them may take
// Gives    quotients of two whole numbers, rounded once: the same doubles as scipy's, ordered by (distance, row)
// How      everything follows from |x & q| and |x|: a kernel counts bits in common (cpp/kernels/bits.inl) and keeps the
//          pairs above a straight line in |x|; what is left is decided by whole numbers
// Memory   the rows once more, 4 bytes per row; per thread 32 MiB or what one tile of queries needs
// Time     rows * queries * bits / 512 steps of three instructions where the processor counts bits in vectors
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/memory.hpp"
#include "base/views.hpp"
#include "index/blocks.hpp"

namespace tonari {

enum class BitMetric { kHamming, kJaccard, kCategories };

// Throws std::invalid_argument for a name that is none of hamming, jaccard, categories.
BitMetric bit_metric_named(std::string_view name);

class BitRows {
 public:
  // Copies the rows. Throws std::invalid_argument when there are none, or 2^23 bits or more in a row.
  BitRows(MatrixView<const uint8_t> rows, int64_t columns, BitMetric metric, const RunParams& run);

  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }

  // out.distances.cols neighbours of every query. Throws std::invalid_argument when a query has fewer rows to choose from.
  void search(MatrixView<const uint8_t> queries, const Exclusion& groups, const RunParams& run, NearestOut out) const;
  // All rows within the radius of each query (inclusive).
  void within(MatrixView<const uint8_t> queries, Span<const double> radii, const Exclusion& groups,
              const RunParams& run, Lists& found) const;

 private:
  struct Asked;  // one search
  struct Workspace;

  double distance(int32_t common, int32_t row_count, int32_t query_count) const;
  void line(double limit, bool beyond, int32_t query_count, float& slope, float& least) const;
  void sift(const Asked& asked, int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker,
            StopFlag& stop, Workspace& work) const;
  template <class Emit>
  void run(const Asked& asked, const RunParams& run, Emit&& emit) const;

  int64_t rows_ = 0, bytes_ = 0, words_ = 0, columns_ = 0, panels_ = 0;
  BitMetric metric_;
  AlignedVector<int32_t> words_of_;  // [panel][word][tile_rows]
  AlignedVector<float> counts_;  // [panel][tile_rows]: bits that are 1; infinite beyond the last row
};

}  // namespace tonari
