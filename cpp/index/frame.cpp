// SPDX-License-Identifier: BSD-3-Clause
#include "index/frame.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/random.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr double kUnit = 0x1p-24;      // float32 rounding
constexpr double kWiden = 1 + 0x1p-20;  // covers the second-order terms and float64's own rounding
constexpr double kTiny = 0x1p-120;     // per coordinate: what underflow of float32 may lose
constexpr int kRounds = 4;             // of the iteration: a fifth changes no pass rate by more than 2 %

int64_t panels_for(int64_t count) { return (count + kernels().tile_rows - 1) / kernels().tile_rows; }

// Differences from the centre as float32, one vector after the other, `stride` apart.
template <class T>
void centre_on(const T* const* vectors, int64_t count, const std::vector<T>& centre, double scale, int64_t stride,
               float* out) {
  const int64_t dim = static_cast<int64_t>(centre.size());
  for (int64_t i = 0; i < count; ++i) {
    const T* vector = vectors[i];
    float* to = out + i * stride;
    for (int64_t j = 0; j < dim; ++j) to[j] = static_cast<float>(static_cast<double>(vector[j] - centre[j]) * scale);
  }
}

double dot(const double* a, const double* b, int64_t count) {
  double sum[4] = {};
  int64_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (int i = 0; i < 4; ++i) sum[i] += a[j + i] * b[j + i];
  for (; j < count; ++j) sum[0] += a[j] * b[j];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Makes `count` vectors of `dim` values orthonormal, each against those before it; one that vanishes becomes zero.
void orthonormalise(std::vector<double>& vectors, int64_t count, int64_t dim, int passes) {
  for (int64_t i = 0; i < count; ++i) {
    double* v = vectors.data() + i * dim;
    const double before = std::sqrt(dot(v, v, dim));
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t k = 0; k < i; ++k) {
        const double* u = vectors.data() + k * dim;
        const double along = dot(u, v, dim);
        for (int64_t j = 0; j < dim; ++j) v[j] -= along * u[j];
      }
    }
    const double length = std::sqrt(dot(v, v, dim));
    const double factor = length > 1e-6 * before && length > 0 ? 1 / length : 0.0;
    for (int64_t j = 0; j < dim; ++j) v[j] *= factor;
  }
}

// products[panel][row][tile_rows] = vectors (rows x dim, stride apart, padded to whole tiles) times panels [panel][dim].
void multiply(const AlignedVector<float>& panels, int64_t panel_count, int64_t dim, const AlignedVector<float>& vectors,
              int64_t rows, int64_t stride, int threads, const InterruptCheck& interrupt,
              AlignedVector<float>& products) {
  const int64_t wide = kernels().tile_rows, tile = kernels().tile_queries[kTileSizes - 1];
  const int64_t tiles = (rows + tile - 1) / tile;
  parallel_for(tiles, threads, interrupt, [&](int64_t t, int, StopFlag&) {
    for (int64_t p = 0; p < panel_count; ++p)
      kernels().project(panels.data() + p * dim * wide, dim, vectors.data() + t * tile * stride, stride,
                        products.data() + (p * tiles + t) * tile * wide);
  });
}

}  // namespace

template <class T>
Frame<T>::Frame(MatrixView<const T> sample, std::vector<T> centre, double scale, int64_t head, int threads,
                const InterruptCheck& interrupt)
    : dim_(sample.cols), head_(head), centre_(std::move(centre)), scale_(scale) {
  learn(sample, threads, interrupt);
}

// Orthogonal iteration: V <- orthonormal(S' S V), S the centred sample.
template <class T>
void Frame<T>::learn(MatrixView<const T> sample, int threads, const InterruptCheck& interrupt) {
  const int64_t wide = kernels().tile_rows, tile = kernels().tile_queries[kTileSizes - 1];
  const auto padded = [tile](int64_t count) { return (count + tile - 1) / tile * tile; };
  const int64_t rows = padded(sample.rows), cols = padded(dim_), panels = panels_for(head_);
  AlignedVector<float> down(rows * dim_, 0.0f), across(cols * rows, 0.0f);
  for (int64_t i = 0; i < sample.rows; ++i) {
    const T* row = sample.row(i);
    centre_on(&row, 1, centre_, scale_, dim_, down.data() + i * dim_);
  }
  for (int64_t i = 0; i < sample.rows; ++i)
    for (int64_t j = 0; j < dim_; ++j) across[j * rows + i] = down[i * dim_ + j];

  std::vector<double> directions(head_ * dim_);
  const RandomStream random(0, 0);
  for (size_t i = 0; i < directions.size(); ++i) directions[i] = random.uniform(i) - 0.5;
  AlignedVector<float> basis(panels * dim_ * wide, 0.0f), image(panels * rows * wide), back(panels * cols * wide);
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t h = 0; h < head_; ++h)
      for (int64_t j = 0; j < dim_; ++j)
        basis[(h / wide * dim_ + j) * wide + h % wide] = static_cast<float>(directions[h * dim_ + j]);
    multiply(basis, panels, dim_, down, rows, dim_, threads, interrupt, image);
    multiply(image, panels, rows, across, cols, rows, threads, interrupt, back);
    for (int64_t h = 0; h < head_; ++h)
      for (int64_t j = 0; j < dim_; ++j)
        directions[h * dim_ + j] = static_cast<double>(back[(h / wide * cols + j) * wide + h % wide]);
    orthonormalise(directions, head_, dim_, round + 1 < kRounds ? 1 : 2);
  }
  settle(directions);
}

// Rounds the directions to float32 and measures what that did to their orthonormality.
template <class T>
void Frame<T>::settle(const std::vector<double>& directions) {
  const int64_t wide = kernels().tile_rows;
  std::vector<double> kept(directions.size());
  panels_.assign(panels_for(head_) * dim_ * wide, 0.0f);
  for (int64_t h = 0; h < head_; ++h) {
    for (int64_t j = 0; j < dim_; ++j) {
      const float value = static_cast<float>(directions[h * dim_ + j]);
      panels_[(h / wide * dim_ + j) * wide + h % wide] = value;
      kept[h * dim_ + j] = static_cast<double>(value);
    }
  }
  double squares = 0;  // |B B' - I| in the Frobenius norm, zero directions left out
  for (int64_t a = 0; a < head_; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      const double product = dot(kept.data() + a * dim_, kept.data() + b * dim_, dim_);
      const double off = a == b && product != 0 ? product - 1 : product;
      squares += (a == b ? 1 : 2) * off * off;
    }
  }
  departure_ = std::sqrt(squares) + 0x1p-40;
  stretch_ = std::sqrt(1 + departure_) * (1 + 0x1p-40);
}

template <class T>
Frame<T> Frame<T>::turned(int64_t head) const {
  const int64_t wide = kernels().tile_rows;
  std::vector<double> directions(head * dim_);
  std::vector<int64_t> live;  // directions that have not vanished
  for (int64_t h = 0; h < head; ++h) {
    double* to = directions.data() + h * dim_;
    for (int64_t j = 0; j < dim_; ++j) to[j] = static_cast<double>(panels_[(h / wide * dim_ + j) * wide + h % wide]);
    if (dot(to, to, dim_) > 0) live.push_back(h);
  }
  const auto count = static_cast<int64_t>(live.size());
  std::vector<double> turn(count * count), turned(head * dim_, 0.0);
  const RandomStream random(0, 2);
  for (size_t i = 0; i < turn.size(); ++i) turn[i] = random.uniform(i) - 0.5;
  orthonormalise(turn, count, count, 2);
  for (int64_t a = 0; a < count; ++a) {
    double* to = turned.data() + live[a] * dim_;
    for (int64_t b = 0; b < count; ++b) {
      const double* from = directions.data() + live[b] * dim_;
      const double share = turn[a * count + b];
      for (int64_t j = 0; j < dim_; ++j) to[j] += share * from[j];
    }
  }
  Frame frame = *this;
  frame.head_ = head;
  frame.settle(turned);
  return frame;
}

// y = B v in float32: |y - B v| <= gamma |v| per coordinate, and |v - (x - m)| <= 2 u |v|.
//   |P v|^2 lies in [|B v|^2 / (1 + departure), |B v|^2 / (1 - departure)], so the rest's length lies in an interval:
// its middle is the last coordinate, half its width an error.
template <class T>
void Frame<T>::place(const T* const* vectors, int64_t count, Workspace& work, float* z, double* error) const {
  const int64_t wide = kernels().tile_rows, tile = kernels().tile_queries[kTileSizes - 1];
  const int64_t panels = panels_for(head_);
  work.centred.resize(tile * dim_);
  work.products.resize(panels * tile * wide);
  centre_on(vectors, count, centre_, scale_, dim_, work.centred.data());
  std::fill(work.centred.begin() + count * dim_, work.centred.end(), 0.0f);
  for (int64_t p = 0; p < panels; ++p)
    kernels().project(panels_.data() + p * dim_ * wide, dim_, work.centred.data(), dim_,
                      work.products.data() + p * tile * wide);
  const double chunks = static_cast<double>(dim_) / kProjectChunk;
  const double gamma = (kProjectChunk + chunks + 6) * kUnit * std::sqrt(static_cast<double>(head_)) * kWiden;
  const int32_t first = 0;
  for (int64_t i = 0; i < count; ++i) {
    double square = 0;
    if constexpr (std::is_same_v<T, float>) {
      kernels().decide_f32[kSquared](vectors[i], dim_, centre_.data(), &first, 1, &square);
    } else {
      kernels().decide_f64[kSquared](vectors[i], dim_, centre_.data(), &first, 1, &square);
    }
    square *= scale_ * scale_;
    const double length = std::sqrt(square);
    float* to = z + i * size();
    double along = 0;
    for (int64_t h = 0; h < head_; ++h) {
      const float value = work.products[((h / wide) * tile + i) * wide + h % wide];
      to[h] = value;
      along += static_cast<double>(value) * static_cast<double>(value);
    }
    const double lost = gamma * length * kWiden + static_cast<double>(dim_) * kTiny;
    const double least = std::max(0.0, std::sqrt(along) * (1 - 0x1p-40) - lost);
    const double most = std::sqrt(along) * (1 + 0x1p-40) + lost;
    const double high = std::sqrt(std::max(0.0, square * (1 + 0x1p-40) - least * least / (1 + departure_)));
    const double low = std::sqrt(std::max(0.0, square * (1 - 0x1p-40) - most * most / (1 - departure_)));
    const float rest = static_cast<float>((low + high) / 2);
    to[head_] = rest;
    const double off = std::max(high - static_cast<double>(rest), static_cast<double>(rest) - low);
    error[i] = std::sqrt(lost * lost + off * off) * kWiden + kTiny;
  }
}

template class Frame<float>;
template class Frame<double>;

}  // namespace tonari
