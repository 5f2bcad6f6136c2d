// SPDX-License-Identifier: BSD-3-Clause
// The perceptron (Rosenblatt 1958), many problems at once: one for every (training part, class against the rest).
//
// Solves   w := w + 1/2 (y - sign(w x)) x over the rows of a training part, epoch after epoch, sign(0) = +1
// Given    rows packed to a multiple of kProductStep columns with a column of ones, class codes, the training rows of
//          every split, and for every problem its split, its positive class and its start
// Gives    after each epoch asked for: the weights, the best weights at any epoch's end (fewest training errors, the
//          earliest among equal: the pocket, Gallant 1990), and the mean over all steps (Freund and Schapire 1999)
// Stops    a problem when its weights make no training error; what it has then stays for all later epochs
// Order    the training rows as they stand, or permuted by (seed, epoch): neither other problems nor threads matter
// Time     epochs * rows * columns, twice (errors are counted); memory: some vectors of columns per problem
#pragma once
#include <cstdint>

#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

enum Kept : int { kLast = 0, kBest = 1, kMean = 2, kKept = 3 };

struct PerceptronProblems {
  MatrixView<const double> rows;
  Span<const int32_t> codes;      // [row]
  Span<const int64_t> starts;     // split s trains on train[starts[s]] .. train[starts[s + 1] - 1]
  Span<const int64_t> train;
  Span<const int32_t> split;      // [problem]
  Span<const int32_t> positive;   // [problem]
  MatrixView<const double> start;  // [problem][column]
  Span<const int64_t> epochs;     // ascending, at least 1: when weights are wanted
  bool shuffled = false;
  uint64_t seed = 0;
};

// weights [problem][epoch asked for][kKept][column], errors [problem][epoch asked for] (training errors of the last),
// stopped [problem]: the epoch at whose end no error was left, or -1.
void perceptron_run(const PerceptronProblems& problems, int threads, const InterruptCheck& interrupt, double* weights,
                    int64_t* errors, int64_t* stopped);

}  // namespace tonari
