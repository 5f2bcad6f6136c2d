// SPDX-License-Identifier: BSD-3-Clause
// Votes and means of neighbours, for many (k, weighting) candidates from one list of neighbours per query.
//
// Given   neighbours of every query, nearest first, their distances, the labels (or values) of the rows; where wanted a
//         weight of every row, a weight of every class in each training part, a rule for ties, a least share
// Gives   for each candidate its label or mean per query; optionally the class shares
// Weights a neighbour counts 1, 1/distance (exact matches, distance 0, win outright), exp(-d^2 / 2 h^2), or what is given
// Ties    equal largest shares: the first class, the smaller summed distance, a draw, or nobody
// Time    queries * (kmax + candidates * classes), for an adaptive h candidates * k more; memory: classes per thread
#pragma once
#include <cstdint>

#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

enum Weighting : int32_t { kUniform = 0, kInverseDistance = 1, kGiven = 2, kGaussian = 3 };
enum Ties : int32_t { kFirst = 0, kNearest = 1, kRandom = 2, kUndecided = 3 };
constexpr int32_t kNobody = -1;  // the winner where nobody wins: no neighbour, an undecided tie, too small a share

// Query q's neighbours stand at [indptr[q], indptr[q + 1]).
struct Neighbours {
  Span<const int64_t> indptr;
  Span<const int64_t> rows;
  Span<const double> distances;
  Span<const double> weights;  // used by kGiven only; empty otherwise
  Span<const double> row_weights;  // positive, one per labelled row; empty: 1
  int64_t queries() const { return static_cast<int64_t>(indptr.size()) - 1; }
};

struct Candidates {
  Span<const int32_t> k;
  Span<const int32_t> weighting;
  double bandwidth = 0;  // h of kGaussian; 0: the distance of the last neighbour that votes
};

struct Decision {
  MatrixView<const double> class_weights;  // [part][class], positive; empty: 1
  Span<const int32_t> part;  // the part of each query; empty: part 0
  int32_t ties = kFirst;
  double least_share = 0;  // a winner with less has not won
  uint64_t seed = 0;  // of kRandom
  Span<const uint64_t> draws;  // what kRandom draws by, one per query, so that equal queries draw alike
};

// labels: code of each row's class, in [0, classes). winners: [candidate][query]. shares: [candidate][query][class] or null.
void vote_classes(const Neighbours& neighbours, const Candidates& candidates, const Decision& decision,
                  Span<const int32_t> labels, int32_t classes, int threads, const InterruptCheck& interrupt,
                  int32_t* winners, double* shares);

// values: rows x outputs. means: [candidate][query][output]; NaN for a query without neighbours.
void vote_means(const Neighbours& neighbours, const Candidates& candidates, MatrixView<const double> values,
                int threads, const InterruptCheck& interrupt, double* means);

}  // namespace tonari
