// SPDX-License-Identifier: BSD-3-Clause
// Votes and means of neighbours, for many (k, weighting) candidates from one list of neighbours.
//
// Given   neighbours of every query, nearest first, their distances, the labels (or values) of the rows
// Gives   for each candidate its label or mean per query; optionally the class shares
// Ties    the class that comes first. A weight of 1/distance lets exact matches (distance 0) win outright
// Time    queries * (kmax + candidates * classes); memory: classes per thread
#pragma once
#include <cstdint>

#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

enum Weighting : int32_t { kUniform = 0, kInverseDistance = 1, kGiven = 2 };

struct Neighbours {
  MatrixView<const int64_t> rows;
  MatrixView<const double> distances;
  MatrixView<const double> weights;  // used by kGiven only; empty otherwise
};

struct Candidates {
  Span<const int32_t> k;
  Span<const int32_t> weighting;
};

// labels: code of each row's class, in [0, classes). winners: [candidate][query]. shares: [candidate][query][class] or null.
void vote_classes(const Neighbours& neighbours, const Candidates& candidates, Span<const int32_t> labels,
                  int32_t classes, int threads, const InterruptCheck& interrupt, int32_t* winners, double* shares);

// values: rows x outputs. means: [candidate][query][output].
void vote_means(const Neighbours& neighbours, const Candidates& candidates, MatrixView<const double> values,
                int threads, const InterruptCheck& interrupt, double* means);

}  // namespace tonari
