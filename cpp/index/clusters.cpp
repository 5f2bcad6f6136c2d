// SPDX-License-Identifier: BSD-3-Clause
#include "index/clusters.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr int64_t kSampled = 24;  // rows per centre that k-means looks at
constexpr int kRounds = 4;
constexpr double kUnit = 0x1p-24;

int64_t tile() { return kernels().tile_queries[kTileSizes - 1]; }

}  // namespace

Centres::Centres(const uint8_t* bytes, int64_t rows, int64_t dim, int64_t count, int threads,
                 const InterruptCheck& interrupt)
    : dim_(dim), count_(count) {
  const int64_t sampled = std::min(rows, kSampled * count);
  std::vector<int64_t> sample(sampled);
  for (int64_t i = 0; i < sampled; ++i) sample[i] = i * rows / sampled;
  std::vector<float> centres(count * dim);
  for (int64_t c = 0; c < count; ++c) {
    const uint8_t* from = bytes + sample[c * sampled / count] * dim;
    for (int64_t j = 0; j < dim; ++j) centres[c * dim + j] = static_cast<float>(from[j]) - 128.0f;
  }
  pack(centres);
  const int64_t tiles = (sampled + tile() - 1) / tile();
  std::vector<int32_t> which(sampled);
  std::vector<Workspace> work(threads);
  for (int round = 0; round < kRounds; ++round) {
    parallel_for(tiles, threads, interrupt, [&](int64_t t, int worker, StopFlag&) {
      const int64_t first = t * tile(), last = std::min(sampled, first + tile());
      AlignedVector<uint8_t> some((last - first) * dim);
      for (int64_t i = first; i < last; ++i) std::copy_n(bytes + sample[i] * dim, dim, some.data() + (i - first) * dim);
      nearest(some.data(), last - first, work[worker], which.data() + first, nullptr);
    });
    std::vector<double> sums(count * dim);
    std::vector<int64_t> members(count);
    for (int64_t i = 0; i < sampled; ++i) {
      double* sum = sums.data() + which[i] * dim;
      const uint8_t* from = bytes + sample[i] * dim;
      for (int64_t j = 0; j < dim; ++j) sum[j] += static_cast<double>(from[j]) - 128;
      ++members[which[i]];
    }
    for (int64_t c = 0; c < count; ++c)
      for (int64_t j = 0; j < dim && members[c] > 0; ++j)
        centres[c * dim + j] = static_cast<float>(sums[c * dim + j] / static_cast<double>(members[c]));
    pack(centres);
  }
}

void Centres::pack(const std::vector<float>& centres) {
  const int64_t wide = kernels().tile_rows, panels = (count_ + wide - 1) / wide;
  centres_ = centres;
  panels_.assign(panels * dim_ * wide, 0.0f);
  square_.assign(count_, 0.0f);
  for (int64_t c = 0; c < count_; ++c) {
    double square = 0;
    for (int64_t j = 0; j < dim_; ++j) {
      const float value = centres[c * dim_ + j];
      panels_[(c / wide * dim_ + j) * wide + c % wide] = value;
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    square_[c] = static_cast<float>(square);
  }
}

// |x - c|^2 = |x|^2 - 2 x c + |c|^2, off by at most 4 gamma |x| |c| + 4 u (|x|^2 + |c|^2).
void Centres::nearest(const uint8_t* bytes, int64_t vectors, Workspace& work, int32_t* which, float* distances) const {
  const int64_t wide = kernels().tile_rows, panels = (count_ + wide - 1) / wide;
  work.vectors.assign(tile() * dim_, 0.0f);
  work.products.resize(panels * tile() * wide);
  for (int64_t i = 0; i < vectors * dim_; ++i) work.vectors[i] = static_cast<float>(bytes[i]) - 128.0f;
  for (int64_t p = 0; p < panels; ++p)
    kernels().project(panels_.data() + p * dim_ * wide, dim_, work.vectors.data(), dim_,
                      work.products.data() + p * tile() * wide);
  const float gamma = static_cast<float>((kProjectChunk + static_cast<double>(dim_) / kProjectChunk + 8) * 4 * kUnit);
  for (int64_t i = 0; i < vectors; ++i) {
    const float* own = work.vectors.data() + i * dim_;
    double sum = 0;
    for (int64_t j = 0; j < dim_; ++j) sum += static_cast<double>(own[j]) * static_cast<double>(own[j]);
    const float square = static_cast<float>(sum);
    float least = 0;
    which[i] = -1;
    for (int64_t c = 0; c < count_; ++c) {
      const float apart = square + square_[c] - 2 * work.products[(c / wide * tile() + i) * wide + c % wide];
      if (which[i] < 0 || apart < least) {
        least = apart;
        which[i] = static_cast<int32_t>(c);
      }
      if (distances == nullptr) continue;
      const float sure = apart - gamma * (square + square_[c]);
      distances[i * count_ + c] = sure > 0 ? std::sqrt(sure) * (1 - 4 * static_cast<float>(kUnit)) : 0.0f;
    }
  }
}

double Centres::farthest(const uint8_t* bytes, int32_t which) const {
  const float* centre = centres_.data() + which * dim_;
  double sum = 0;
  for (int64_t j = 0; j < dim_; ++j) {
    const double off = static_cast<double>(bytes[j]) - 128 - static_cast<double>(centre[j]);
    sum += off * off;
  }
  return std::sqrt(sum) * (1 + 0x1p-30);
}

}  // namespace tonari
