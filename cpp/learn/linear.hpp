// SPDX-License-Identifier: BSD-3-Clause
// Linear scores, and loss, gradient and Hessian of logistic regression for many problems over one table.
//
// Solves   nothing by itself: Python's Newton and L-BFGS steps ask for min_w sum_i weight_i loss(code_i, W x_i)
// Given    rows packed to a multiple of kProductStep columns (zeros at the end; a column of ones is the intercept),
//          class codes, and for every problem weights of rows and coefficients [output][column]. One output: two classes,
//          the score is that of code 1; otherwise softmax over as many outputs as classes
// Gives    loss, gradient, least margin (score of the true class minus the best other; rows of weight 0 left out)
// Sums     of fixed chunks of rows, added in order: the same bits for any number of threads
// Time     problems * outputs * rows * columns; the Hessian outputs^2 / 2 * rows * columns^2 / 2
// Memory   kGradientChunks gradients of all problems; the Hessian kHessianChunks times itself for one output
#pragma once
#include <cstdint>

#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

inline constexpr int64_t kGradientChunks = 16;
inline constexpr int64_t kHessianChunks = 8;

// scores[output][row] = intercept[output] + sum_j coef[output][j] * rows[row][j], terms by ascending j.
template <class T>
void linear_scores(MatrixView<const T> rows, MatrixView<const double> coef, Span<const double> intercept, int threads,
                   const InterruptCheck& interrupt, double* scores);

struct LogisticProblems {
  MatrixView<const double> rows;  // [row][column], packed
  Span<const int32_t> codes;  // [row]
  MatrixView<const double> weights;  // [problem][row]
  const double* coef = nullptr;  // [problem][output][column]
  int64_t outputs = 1;
};

// loss [problem], gradient [problem][output][column], margin [problem] (infinity where no row counts).
void linear_gradient(const LogisticProblems& problems, int threads, const InterruptCheck& interrupt, double* loss,
                     double* gradient, double* margin);

// hessian [output * column][output * column] of one problem.
void linear_hessian(const LogisticProblems& problem, int threads, const InterruptCheck& interrupt, double* hessian);

}  // namespace tonari
