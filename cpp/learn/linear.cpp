// SPDX-License-Identifier: BSD-3-Clause
#include "learn/linear.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr int64_t kTileRows = 64;  // a multiple of kProductStep
constexpr int64_t kTriangleRows = 32;

// Columns of some rows, one after the other: tile[column][row].
template <class T>
void transpose_tile(MatrixView<const T> rows, int64_t first, int64_t count, double* tile) {
  for (int64_t r = 0; r < count; ++r) {
    const T* x = rows.row(first + r);
    for (int64_t j = 0; j < rows.cols; ++j) tile[j * kTileRows + r] = static_cast<double>(x[j]);
  }
}

// [column][problem and output], what product() wants on its left.
AlignedVector<double> transposed(const double* coef, int64_t outputs, int64_t cols) {
  AlignedVector<double> turned(outputs * cols);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t j = 0; j < cols; ++j) turned[j * outputs + o] = coef[o * cols + j];
  return turned;
}

int64_t rows_per_chunk(int64_t rows, int64_t chunks) {
  const int64_t size = (rows + chunks - 1) / chunks;
  return std::max((size + kTileRows - 1) / kTileRows, int64_t{1}) * kTileRows;
}

// A tile of rows of one problem: scores in, residuals p - y out (columns kTileRows apart).
class TileLoss {
 public:
  double* margin() { return margin_.data(); }
  const double* loss() const { return loss_.data(); }

  // One output: the score of code 1.
  void binary(double* score, const int32_t* codes, int64_t count) {
    for (int64_t r = 0; r < count; ++r) margin_[r] = codes[r] == 1 ? score[r] : -score[r];
    kernels().logistic(margin_.data(), count, score, loss_.data());
    for (int64_t r = 0; r < count; ++r) score[r] = codes[r] == 1 ? -score[r] : score[r];
  }

  void softmax(double* score, const int32_t* codes, int64_t classes, int64_t count) {
    for (int64_t r = 0; r < count; ++r) {
      double largest = score[r], other = -std::numeric_limits<double>::infinity();
      for (int64_t k = 0; k < classes; ++k) {
        const double s = score[k * kTileRows + r];
        largest = std::max(largest, s);
        if (k != codes[r]) other = std::max(other, s);
      }
      largest_[r] = largest;
      own_[r] = score[codes[r] * kTileRows + r];
      margin_[r] = own_[r] - other;
      total_[r] = 0;
    }
    for (int64_t k = 0; k < classes; ++k) {
      double* own = score + k * kTileRows;
      for (int64_t r = 0; r < count; ++r) own[r] = largest_[r] - own[r];
      kernels().exponential(own, count, own);
      for (int64_t r = 0; r < count; ++r) total_[r] += own[r];
    }
    for (int64_t k = 0; k < classes; ++k)
      for (int64_t r = 0; r < count; ++r) score[k * kTileRows + r] /= total_[r];
    for (int64_t r = 0; r < count; ++r) {
      score[codes[r] * kTileRows + r] -= 1.0;
      loss_[r] = std::log(total_[r]) + largest_[r] - own_[r];
    }
  }

 private:
  std::array<double, kTileRows> margin_{}, loss_{}, largest_{}, own_{}, total_{};
};

// The upper triangle of hessian += sum_r left[r] right[r]', columns `width`.
void add_triangle(const double* left, const double* right, int64_t width, int64_t depth, double* sum) {
  for (int64_t i = 0; i < width; i += kTriangleRows) {
    kernels().product(left + i, width, right + i, width, depth, std::min(kTriangleRows, width - i), width - i,
                      sum + i * width + i, width);
  }
}

}  // namespace

template <class T>
void linear_scores(MatrixView<const T> rows, MatrixView<const double> coef, Span<const double> intercept, int threads,
                   const InterruptCheck& interrupt, double* scores) {
  const AlignedVector<double> left = transposed(coef.data, coef.rows, coef.cols);
  parallel_for((rows.rows + kTileRows - 1) / kTileRows, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    const int64_t first = block * kTileRows, count = std::min(kTileRows, rows.rows - first);
    AlignedVector<double> tile(coef.cols * kTileRows, 0.0), sums(coef.rows * kTileRows);
    transpose_tile(rows, first, count, tile.data());
    for (int64_t o = 0; o < coef.rows; ++o) std::fill_n(sums.data() + o * kTileRows, kTileRows, intercept[o]);
    kernels().product(left.data(), coef.rows, tile.data(), kTileRows, coef.cols, coef.rows, kTileRows, sums.data(),
                      kTileRows);
    for (int64_t o = 0; o < coef.rows; ++o)
      std::copy_n(sums.data() + o * kTileRows, count, scores + o * rows.rows + first);
  });
}

void linear_gradient(const LogisticProblems& given, int threads, const InterruptCheck& interrupt, double* loss,
                     double* gradient, double* margin) {
  const int64_t rows = given.rows.rows, cols = given.rows.cols, problems = given.weights.rows;
  const int64_t outputs = given.outputs, lanes = problems * outputs;
  const AlignedVector<double> left = transposed(given.coef, lanes, cols);
  const int64_t step = rows_per_chunk(rows, kGradientChunks), chunks = (rows + step - 1) / step;
  std::vector<double> losses(chunks * problems, 0.0);
  std::vector<double> margins(chunks * problems, std::numeric_limits<double>::infinity());
  std::vector<AlignedVector<double>> gradients(chunks);
  parallel_for(chunks, threads, interrupt, [&](int64_t chunk, int, StopFlag&) {
    AlignedVector<double> tile(cols * kTileRows, 0.0), scores(lanes * kTileRows), rests(kTileRows * lanes);
    TileLoss tile_loss;
    AlignedVector<double>& sum = gradients[chunk];
    sum.assign(lanes * cols, 0.0);
    const int64_t last = std::min(rows, (chunk + 1) * step);
    for (int64_t first = chunk * step; first < last; first += kTileRows) {
      const int64_t count = std::min(kTileRows, last - first);
      transpose_tile(given.rows, first, count, tile.data());
      std::fill(scores.begin(), scores.end(), 0.0);
      kernels().product(left.data(), lanes, tile.data(), kTileRows, cols, lanes, kTileRows, scores.data(), kTileRows);
      for (int64_t p = 0; p < problems; ++p) {
        const double* weights = given.weights.row(p) + first;
        double* score = scores.data() + p * outputs * kTileRows;
        if (outputs == 1)
          tile_loss.binary(score, given.codes.data() + first, count);
        else
          tile_loss.softmax(score, given.codes.data() + first, outputs, count);
        for (int64_t r = 0; r < count; ++r) {
          if (weights[r] == 0) continue;
          losses[chunk * problems + p] += weights[r] * tile_loss.loss()[r];
          margins[chunk * problems + p] = std::min(margins[chunk * problems + p], tile_loss.margin()[r]);
        }
        for (int64_t o = 0; o < outputs; ++o)
          for (int64_t r = 0; r < count; ++r)
            rests[r * lanes + p * outputs + o] = weights[r] * score[o * kTileRows + r];
      }
      kernels().product(rests.data(), lanes, given.rows.row(first), cols, count, lanes, cols, sum.data(), cols);
    }
  });
  std::fill(loss, loss + problems, 0.0);
  std::fill(margin, margin + problems, std::numeric_limits<double>::infinity());
  std::fill(gradient, gradient + lanes * cols, 0.0);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int64_t p = 0; p < problems; ++p) {
      loss[p] += losses[chunk * problems + p];
      margin[p] = std::min(margin[p], margins[chunk * problems + p]);
    }
    for (int64_t i = 0; i < lanes * cols; ++i) gradient[i] += gradients[chunk][i];
  }
}

void linear_hessian(const LogisticProblems& given, int threads, const InterruptCheck& interrupt, double* hessian) {
  const int64_t rows = given.rows.rows, cols = given.rows.cols, outputs = given.outputs;
  const double* weights = given.weights.row(0);
  // Probabilities [row][output] (one output: that of code 1).
  AlignedVector<double> chance(rows * outputs);
  const AlignedVector<double> left = transposed(given.coef, outputs, cols);
  parallel_for((rows + kTileRows - 1) / kTileRows, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    const int64_t first = block * kTileRows, count = std::min(kTileRows, rows - first);
    AlignedVector<double> tile(cols * kTileRows, 0.0), scores(outputs * kTileRows, 0.0);
    transpose_tile(given.rows, first, count, tile.data());
    kernels().product(left.data(), outputs, tile.data(), kTileRows, cols, outputs, kTileRows, scores.data(), kTileRows);
    // Residuals as if all codes were 0 are the probabilities, but for p - 1 of class 0 itself.
    TileLoss tile_loss;
    const std::array<int32_t, kTileRows> zeros{};
    if (outputs == 1)
      tile_loss.binary(scores.data(), zeros.data(), count);
    else
      tile_loss.softmax(scores.data(), zeros.data(), outputs, count);
    for (int64_t r = 0; r < count; ++r) {
      if (outputs > 1) scores[r] += 1.0;
      for (int64_t o = 0; o < outputs; ++o) chance[(first + r) * outputs + o] = scores[o * kTileRows + r];
    }
  });
  const int64_t pairs = outputs * (outputs + 1) / 2;
  const int64_t step = outputs == 1 ? rows_per_chunk(rows, kHessianChunks) : rows_per_chunk(rows, 1);
  const int64_t chunks = (rows + step - 1) / step;
  std::vector<AlignedVector<double>> sums(pairs * chunks);
  parallel_for(pairs * chunks, threads, interrupt, [&](int64_t block, int, StopFlag& stop) {
    const int64_t chunk = block / pairs;
    int64_t k = 0, pair = block % pairs;
    while (pair >= outputs - k) pair -= outputs - k++;
    const int64_t l = k + pair;
    AlignedVector<double>& sum = sums[block];
    sum.assign(cols * cols, 0.0);
    AlignedVector<double> scaled(kTileRows * cols);
    const int64_t last = std::min(rows, (chunk + 1) * step);
    for (int64_t first = chunk * step; first < last && !stop.stopped(); first += kTileRows) {
      const int64_t count = std::min(kTileRows, last - first);
      for (int64_t r = 0; r < count; ++r) {
        const double* p = chance.data() + (first + r) * outputs;
        const double curve = weights[first + r] * p[k] * (k == l ? 1.0 - p[l] : -p[l]);
        const double* x = given.rows.row(first + r);
        for (int64_t j = 0; j < cols; ++j) scaled[r * cols + j] = curve * x[j];
      }
      add_triangle(scaled.data(), given.rows.row(first), cols, count, sum.data());
    }
  });
  const int64_t width = outputs * cols;
  int64_t pair = 0;
  for (int64_t k = 0; k < outputs; ++k) {
    for (int64_t l = k; l < outputs; ++l, ++pair) {
      for (int64_t chunk = 1; chunk < chunks; ++chunk)
        for (int64_t i = 0; i < cols * cols; ++i) sums[pair][i] += sums[chunk * pairs + pair][i];
      for (int64_t i = 0; i < cols; ++i) {
        for (int64_t j = i; j < cols; ++j) {
          const double value = sums[pair][i * cols + j];
          hessian[(k * cols + i) * width + l * cols + j] = hessian[(k * cols + j) * width + l * cols + i] = value;
          hessian[(l * cols + i) * width + k * cols + j] = hessian[(l * cols + j) * width + k * cols + i] = value;
        }
      }
    }
  }
}

template void linear_scores<float>(MatrixView<const float>, MatrixView<const double>, Span<const double>, int,
                                   const InterruptCheck&, double*);
template void linear_scores<double>(MatrixView<const double>, MatrixView<const double>, Span<const double>, int,
                                    const InterruptCheck&, double*);

}  // namespace tonari
