// SPDX-License-Identifier: BSD-3-Clause
// Scores of many candidates on many splits at once: what a measure needs of the answers, in one pass over them.
//
// Given   answers [candidate][row], the truth per row, and the rows of each split: split s holds
//         order[starts[s]] .. order[starts[s + 1] - 1]
// Gives   counts or sums per (candidate, split); Python turns them into scores
// Sums    in the order of the rows, in float64: the same for any number of candidates per call
// Time    candidates * rows (ranking: times log rows of a split); memory: one candidate's ranking
#pragma once
#include <cstdint>

#include "base/views.hpp"

namespace tonari {

struct SplitRows {
  Span<const int64_t> order;
  Span<const int64_t> starts;

  int64_t splits() const { return static_cast<int64_t>(starts.size()) - 1; }
};

// hits[candidate][split]: rows whose code is the true one.
void score_hits(MatrixView<const int32_t> codes, Span<const int32_t> truth, const SplitRows& rows, int64_t* hits);

// hits and predicted, [candidate][split][class]: rows answered rightly with that class, and answered with it at all.
// Codes and truth lie in [0, classes).
void score_counts(MatrixView<const int32_t> codes, Span<const int32_t> truth, const SplitRows& rows, int32_t classes,
                  int64_t* hits, int64_t* predicted);

// sums[candidate][split]: of the errors e = truth - value, {sum e^2, sum |e|, max |e|, sum (e - mean e)^2}.
inline constexpr int64_t kErrorSums = 4;
void score_errors(MatrixView<const double> values, Span<const double> truth, const SplitRows& rows, double* sums);

// areas[candidate][split]: {area under the ROC curve, average precision} of values as scores for the positive rows.
// NaN where a split lacks positives (both) or negatives (the first). Equal scores count as one threshold.
inline constexpr int64_t kAreas = 2;
void score_ranking(MatrixView<const double> values, Span<const uint8_t> positive, const SplitRows& rows, double* areas);

}  // namespace tonari
