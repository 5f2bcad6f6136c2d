// SPDX-License-Identifier: BSD-3-Clause
// Normal densities: weighted sums of cells of rows, and quadratic scores of many candidates at once.
//
// Sums     weight, mean and scatter sum w (x - mean)(x - mean)' of every cell, by two passes over chunks of its rows
//          that are then merged (Chan, Golub and LeVeque 1979). A cell's sums depend on its own rows and their order
//          only: neither on other cells nor on threads.
// Scores   score[c][row][k] = offset[c][k] - 1/2 sum_j precision[c][k][j] z_j^2 with z = basis[k]' (x - mean[k]): one
//          turn into a basis serves every candidate c
// Time     sums rows * dim^2 / 2; scores rows * classes * (dim^2 + candidates * dim)
// Memory   sums at most kSumsChunks * cells * dim^2, scores a few tiles of 64 rows per thread
#pragma once
#include <cstdint>

#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

// A cell is cut into at most so many chunks of at least so many rows.
inline constexpr int64_t kSumsChunks = 8;
inline constexpr int64_t kSumsChunkRows = 2048;

// cells[row] in [0, count), or -1 for a row that is left out; weights empty for ones; rows of weight 0 are left out.
// weight [cell], mean [cell][dim], scatter [cell][dim][dim]; an empty cell gets zeros.
template <class T>
void gauss_sums(MatrixView<const T> rows, Span<const int32_t> cells, Span<const double> weights, int64_t count,
                int threads, const InterruptCheck& interrupt, double* weight, double* mean, double* scatter);

struct GaussClasses {
  MatrixView<const double> mean;  // [class][dim]
  const double* basis = nullptr;      // [class][dim][dim]: column j of a basis is its direction j
  const double* precision = nullptr;  // [candidate][class][dim]
  MatrixView<const double> offset;    // [candidate][class]
};

// codes [candidate][row]: the class of the largest score, the first among equals. Either output may be null.
template <class T>
void gauss_scores(MatrixView<const T> rows, const GaussClasses& classes, int threads, const InterruptCheck& interrupt,
                  double* scores, int32_t* codes);

// turned[row] = basis' (x - mean), one mean and one basis for all rows.
template <class T>
void gauss_turn(MatrixView<const T> rows, Span<const double> mean, const double* basis, int threads,
                const InterruptCheck& interrupt, double* turned);

}  // namespace tonari
