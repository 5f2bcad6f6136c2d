// SPDX-License-Identifier: BSD-3-Clause
#include "index/clusters.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr int64_t kSampled = 24;  // rows per centre that k-means looks at
constexpr int kRounds = 4;
constexpr int32_t kNoCentre = -1'500'000'000;  // start of padding: no product brings it near a centre's

}  // namespace

Centres::Centres(const CodedRows& coded, int64_t count, int threads, const InterruptCheck& interrupt)
    : width_(coded.width), dim_(coded.stride), count_(count) {
  const int64_t wide = kernels().tile_rows, stride = coded.stride;
  const int64_t sampled = std::min(coded.rows, kSampled * count);
  AlignedVector<uint8_t> sample(sampled * stride);
  for (int64_t i = 0; i < sampled; ++i)
    std::copy_n(coded.bytes + i * coded.rows / sampled * stride, stride, sample.data() + i * stride);
  std::vector<uint8_t> codes(count * stride);
  for (int64_t c = 0; c < count; ++c)
    std::copy_n(sample.data() + c * sampled / count * stride, stride, codes.data() + c * stride);
  settle(codes);
  const int64_t panels = (sampled + wide - 1) / wide;
  const std::vector<int32_t> squares(wide, 0);
  std::vector<int32_t> which(sampled), apart(panels * wide);
  std::vector<Workspace> work(threads);
  for (int round = 0; round < kRounds; ++round) {
    parallel_for(panels, threads, interrupt, [&](int64_t p, int worker, StopFlag&) {
      const int64_t first = p * wide;
      nearest(sample.data() + first * stride, squares.data(), std::min(wide, sampled - first), work[worker],
              which.data() + first, apart.data() + first);
    });
    std::vector<int64_t> sums(count * width_), members(count);
    for (int64_t i = 0; i < sampled; ++i) {
      int64_t* sum = sums.data() + which[i] * width_;
      for (int64_t j = 0; j < width_; ++j) sum[j] += sample[i * stride + j];
      ++members[which[i]];
    }
    for (int64_t c = 0; c < count; ++c)
      for (int64_t j = 0; j < width_ && members[c] > 0; ++j)
        codes[c * stride + j] = static_cast<uint8_t>((sums[c * width_ + j] + members[c] / 2) / members[c]);
    settle(codes);
  }
}

void Centres::settle(const std::vector<uint8_t>& codes) {
  const int64_t tile = kernels().tile_queries[kTileSizes - 1];
  padded_ = (count_ + tile - 1) / tile * tile;
  codes_.assign(padded_ * dim_, 0);
  square_.assign(padded_, 0);
  shift_.assign(padded_, 0);
  start_.assign(padded_, kNoCentre);
  for (int64_t c = 0; c < count_; ++c) {
    int32_t sum = 0;
    for (int64_t j = 0; j < width_; ++j) {
      const int32_t code = codes[c * dim_ + j] - 128;
      codes_[c * dim_ + j] = static_cast<int8_t>(code);
      sum += code;
      square_[c] += code * code;
    }
    shift_[c] = -128 * sum;
    start_[c] = shift_[c] - square_[c] / 2;
  }
}

void Centres::pack(const uint8_t* bytes, int64_t vectors, Workspace& work) const {
  const int64_t wide = kernels().tile_rows;
  work.panel.resize(wide * dim_);
  for (int64_t r = 0; r < vectors; ++r) put_in_panel(bytes + r * dim_, dim_, wide, work.panel.data() + 4 * r);
}

// |x - c|^2 = |x|^2 + |c|^2 - 2 x c, and start + product = x c - |c|^2 / 2 is greatest where this is least.
void Centres::nearest(const uint8_t* bytes, const int32_t* squares, int64_t vectors, Workspace& work, int32_t* which,
                      int32_t* apart) const {
  const int64_t wide = kernels().tile_rows;
  pack(bytes, vectors, work);
  work.products.resize(std::max<size_t>(work.products.size(), 2 * wide));
  int32_t *best = work.products.data(), *found = best + wide;
  kernels().closest(work.panel.data(), dim_, codes_.data(), start_.data(), padded_, best, found);
  for (int64_t i = 0; i < vectors; ++i) {
    const int32_t c = which[i] = found[i];
    apart[i] = squares[i] + square_[c] - 2 * (best[i] + square_[c] / 2);
  }
}

void Centres::distances(const uint8_t* bytes, const int32_t* squares, int64_t vectors, Workspace& work, int32_t* apart,
                        int64_t stride) const {
  const int64_t wide = kernels().tile_rows;
  pack(bytes, vectors, work);
  work.products.resize(std::max<size_t>(work.products.size(), padded_ * wide));
  kernels().code_products(work.panel.data(), dim_, codes_.data(), shift_.data(), padded_, work.products.data());
  for (int64_t c = 0; c < count_; ++c) {
    const int32_t* product = work.products.data() + c * wide;
    int32_t* out = apart + c * stride;
    for (int64_t i = 0; i < vectors; ++i) out[i] = squares[i] + square_[c] - 2 * product[i];
  }
}

}  // namespace tonari
