// SPDX-License-Identifier: BSD-3-Clause
#include "learn/gauss.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr int64_t kTileRows = 64;     // of the scores; a multiple of kProductStep
constexpr int64_t kCentredRows = 64;  // of the sums
constexpr int64_t kTriangleRows = 32;

int64_t padded(int64_t width) { return (width + kProductStep - 1) / kProductStep * kProductStep; }

// Rows order[begin .. end) of one cell.
struct Chunk {
  int64_t cell, begin, end;
};

// Weight, mean and the upper triangle of the scatter of one chunk, or of several merged.
struct Partial {
  double weight = 0;
  AlignedVector<double> mean;
  AlignedVector<double> scatter;  // [dim][padded(dim)]
};

struct CellOrder {
  std::vector<int64_t> rows;
  std::vector<Chunk> chunks;
};

CellOrder order_of(Span<const int32_t> cells, Span<const double> weights, int64_t count) {
  std::vector<int64_t> start(count + 1, 0);
  const auto counts = [&](size_t i) { return cells[i] >= 0 && (weights.empty() || weights[i] != 0); };
  for (size_t i = 0; i < cells.size(); ++i)
    if (counts(i)) ++start[cells[i] + 1];
  for (int64_t cell = 0; cell < count; ++cell) start[cell + 1] += start[cell];
  CellOrder order;
  order.rows.resize(start[count]);
  std::vector<int64_t> next(start.begin(), start.end() - 1);
  for (size_t i = 0; i < cells.size(); ++i)
    if (counts(i)) order.rows[next[cells[i]]++] = static_cast<int64_t>(i);
  for (int64_t cell = 0; cell < count; ++cell) {
    const int64_t size = start[cell + 1] - start[cell];
    const int64_t step = std::max(kSumsChunkRows, (size + kSumsChunks - 1) / kSumsChunks);
    for (int64_t begin = start[cell]; begin < start[cell + 1]; begin += step)
      order.chunks.push_back({cell, begin, std::min(begin + step, start[cell + 1])});
  }
  return order;
}

template <class T>
Partial sum_chunk(MatrixView<const T> rows, const int64_t* order, int64_t count, Span<const double> weights) {
  const int64_t dim = rows.cols, width = padded(dim);
  Partial sum;
  sum.mean.assign(dim, 0.0);
  sum.scatter.assign(dim * width, 0.0);
  // Relative to the first row: a column that is constant has exactly no scatter.
  const T* first = rows.row(order[0]);
  for (int64_t i = 0; i < count; ++i) {
    const double w = weights.empty() ? 1.0 : weights[order[i]];
    const T* x = rows.row(order[i]);
    sum.weight += w;
    for (int64_t j = 0; j < dim; ++j) sum.mean[j] += w * (static_cast<double>(x[j]) - static_cast<double>(first[j]));
  }
  for (int64_t j = 0; j < dim; ++j) sum.mean[j] = static_cast<double>(first[j]) + sum.mean[j] / sum.weight;
  AlignedVector<double> centred(kCentredRows * width, 0.0), weighted(kCentredRows * width, 0.0), lost(dim, 0.0);
  for (int64_t begin = 0; begin < count; begin += kCentredRows) {
    const int64_t size = std::min(kCentredRows, count - begin);
    for (int64_t r = 0; r < size; ++r) {
      const double w = weights.empty() ? 1.0 : weights[order[begin + r]];
      const T* x = rows.row(order[begin + r]);
      for (int64_t j = 0; j < dim; ++j) {
        const double difference = static_cast<double>(x[j]) - sum.mean[j];
        centred[r * width + j] = difference;
        weighted[r * width + j] = w * difference;
        lost[j] += w * difference;
      }
    }
    for (int64_t i = 0; i < dim; i += kTriangleRows) {
      kernels().product(weighted.data() + i, width, centred.data() + i, width, size, std::min(kTriangleRows, dim - i),
                        width - i, sum.scatter.data() + i * width + i, width);
    }
  }
  // What rounding of the mean has left (the corrected two-pass algorithm).
  for (int64_t i = 0; i < dim; ++i)
    for (int64_t j = i; j < dim; ++j) sum.scatter[i * width + j] -= lost[i] * lost[j] / sum.weight;
  for (int64_t j = 0; j < dim; ++j) sum.mean[j] += lost[j] / sum.weight;
  return sum;
}

void merge_into(Partial& sum, const Partial& more, int64_t dim) {
  const int64_t width = padded(dim);
  const double total = sum.weight + more.weight;
  const double share = more.weight / total;
  std::vector<double> difference(dim);
  for (int64_t j = 0; j < dim; ++j) difference[j] = more.mean[j] - sum.mean[j];
  for (int64_t i = 0; i < dim; ++i) {
    const double factor = sum.weight * share * difference[i];
    for (int64_t j = i; j < dim; ++j)
      sum.scatter[i * width + j] += more.scatter[i * width + j] + factor * difference[j];
  }
  for (int64_t j = 0; j < dim; ++j) sum.mean[j] += share * difference[j];
  sum.weight = total;
}

template <class T>
void centre_tile(MatrixView<const T> rows, int64_t first, int64_t count, const double* mean, double* tile) {
  for (int64_t r = 0; r < count; ++r) {
    const T* x = rows.row(first + r);
    for (int64_t j = 0; j < rows.cols; ++j) tile[j * kTileRows + r] = static_cast<double>(x[j]) - mean[j];
  }
}

template <class Visit>
void over_tiles(int64_t rows, int threads, const InterruptCheck& interrupt, const Visit& visit) {
  parallel_for((rows + kTileRows - 1) / kTileRows, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    visit(block * kTileRows, std::min(kTileRows, rows - block * kTileRows));
  });
}

}  // namespace

template <class T>
void gauss_sums(MatrixView<const T> rows, Span<const int32_t> cells, Span<const double> weights, int64_t count,
                int threads, const InterruptCheck& interrupt, double* weight, double* mean, double* scatter) {
  const int64_t dim = rows.cols, width = padded(dim);
  const CellOrder order = order_of(cells, weights, count);
  std::vector<Partial> partial(order.chunks.size());
  parallel_for(static_cast<int64_t>(order.chunks.size()), threads, interrupt, [&](int64_t block, int, StopFlag&) {
    const Chunk& chunk = order.chunks[block];
    partial[block] = sum_chunk(rows, order.rows.data() + chunk.begin, chunk.end - chunk.begin, weights);
  });
  std::fill(weight, weight + count, 0.0);
  std::fill(mean, mean + count * dim, 0.0);
  std::fill(scatter, scatter + count * dim * dim, 0.0);
  for (size_t c = 0; c < partial.size();) {
    const int64_t cell = order.chunks[c].cell;
    Partial& sum = partial[c];
    for (++c; c < partial.size() && order.chunks[c].cell == cell; ++c) merge_into(sum, partial[c], dim);
    weight[cell] = sum.weight;
    std::copy(sum.mean.begin(), sum.mean.end(), mean + cell * dim);
    double* out = scatter + cell * dim * dim;
    for (int64_t i = 0; i < dim; ++i)
      for (int64_t j = i; j < dim; ++j) out[i * dim + j] = out[j * dim + i] = sum.scatter[i * width + j];
  }
}

template <class T>
void gauss_scores(MatrixView<const T> rows, const GaussClasses& classes, int threads, const InterruptCheck& interrupt,
                  double* scores, int32_t* codes) {
  const int64_t dim = rows.cols, class_count = classes.mean.rows, candidates = classes.offset.rows;
  // precision as [class][dim][candidate]: candidates are the rows of the second product.
  AlignedVector<double> precision(class_count * dim * candidates);
  for (int64_t c = 0; c < candidates; ++c)
    for (int64_t k = 0; k < class_count; ++k)
      for (int64_t j = 0; j < dim; ++j)
        precision[(k * dim + j) * candidates + c] = classes.precision[(c * class_count + k) * dim + j];
  over_tiles(rows.rows, threads, interrupt, [&](int64_t first, int64_t count) {
    AlignedVector<double> centred(dim * kTileRows, 0.0), turned(dim * kTileRows), forms(candidates * kTileRows);
    AlignedVector<double> best(candidates * kTileRows, -std::numeric_limits<double>::infinity());
    std::vector<int32_t> winner(candidates * kTileRows, 0);
    for (int64_t k = 0; k < class_count; ++k) {
      centre_tile(rows, first, count, classes.mean.row(k), centred.data());
      std::fill(turned.begin(), turned.end(), 0.0);
      std::fill(forms.begin(), forms.end(), 0.0);
      kernels().product(classes.basis + k * dim * dim, dim, centred.data(), kTileRows, dim, dim, kTileRows,
                        turned.data(), kTileRows);
      for (double& z : turned) z = z * z;
      kernels().product(precision.data() + k * dim * candidates, candidates, turned.data(), kTileRows, dim, candidates,
                        kTileRows, forms.data(), kTileRows);
      for (int64_t c = 0; c < candidates; ++c) {
        const double offset = classes.offset.row(c)[k];
        for (int64_t r = 0; r < count; ++r) {
          const int64_t at = c * kTileRows + r;
          const double score = offset - 0.5 * forms[at];
          if (scores != nullptr) scores[(c * rows.rows + first + r) * class_count + k] = score;
          if (score > best[at]) {
            best[at] = score;
            winner[at] = static_cast<int32_t>(k);
          }
        }
      }
    }
    if (codes == nullptr) return;
    for (int64_t c = 0; c < candidates; ++c)
      std::copy_n(winner.data() + c * kTileRows, count, codes + c * rows.rows + first);
  });
}

template <class T>
void gauss_turn(MatrixView<const T> rows, Span<const double> mean, const double* basis, int threads,
                const InterruptCheck& interrupt, double* turned) {
  const int64_t dim = rows.cols;
  over_tiles(rows.rows, threads, interrupt, [&](int64_t first, int64_t count) {
    AlignedVector<double> centred(dim * kTileRows, 0.0), tile(dim * kTileRows, 0.0);
    centre_tile(rows, first, count, mean.data(), centred.data());
    kernels().product(basis, dim, centred.data(), kTileRows, dim, dim, kTileRows, tile.data(), kTileRows);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t j = 0; j < dim; ++j) turned[(first + r) * dim + j] = tile[j * kTileRows + r];
  });
}

#define TONARI_GAUSS(T)                                                                                           \
  template void gauss_sums<T>(MatrixView<const T>, Span<const int32_t>, Span<const double>, int64_t, int,         \
                              const InterruptCheck&, double*, double*, double*);                                  \
  template void gauss_scores<T>(MatrixView<const T>, const GaussClasses&, int, const InterruptCheck&, double*,    \
                                int32_t*);                                                                        \
  template void gauss_turn<T>(MatrixView<const T>, Span<const double>, const double*, int, const InterruptCheck&, \
                              double*);
TONARI_GAUSS(float)
TONARI_GAUSS(double)
#undef TONARI_GAUSS

}  // namespace tonari
