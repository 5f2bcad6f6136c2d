// SPDX-License-Identifier: BSD-3-Clause
// How a cascade is planned and built; cpp/index/sift.cpp searches.
#include "index/cascade.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace tonari {
namespace {

constexpr int64_t kFewRows = 2048;     // below this the plain kernel is done before a plan is made
constexpr int64_t kFewSampled = 1024, kMostSampled = 4096, kSampleEvery = 128;
constexpr int64_t kFewHeadDim = 24;    // below this a head is hardly shorter than the whole
constexpr int64_t kProbes = 24;        // sample rows that play queries
constexpr int64_t kNear = 10;          // neighbours that the plan thinks of
constexpr double kMostCode = 126.5;
constexpr int64_t kPlannedRows = 32, kMostPlanned = 64;  // rows per group and groups of the sample
constexpr double kLate = 2.5;  // measured: 277 rows judged of 100,000 x 128 normal ones, 102 by the formula
constexpr double kWorthwhile = 0.8;  // of the plain kernel's cost: less gain does not pay for the building
constexpr double kUselessShare = 0.9;  // of the pairs that groups leave: above it they cost more than they save
constexpr int64_t kGroupRows = 384;    // rows per group
constexpr int64_t kMostGroups = 1024;
constexpr int64_t kChunkBytes = 128 * 1024;  // of a chunk where there are no groups
// Nanoseconds on the machine of benchmarks/results/kernels.json; only their proportions matter.
constexpr double kPairCost = 22, kPairByte = 0.03, kJudgeCost = 12, kJudgeValue = 0.16;

template <class T>
std::vector<T> means(MatrixView<const T> rows) {
  std::vector<double> sum(rows.cols);
  for (int64_t i = 0; i < rows.rows; ++i)
    for (int64_t j = 0; j < rows.cols; ++j) sum[j] += static_cast<double>(rows.row(i)[j]);
  std::vector<T> mean(rows.cols);
  for (int64_t j = 0; j < rows.cols; ++j) mean[j] = static_cast<T>(sum[j] / static_cast<double>(rows.rows));
  return mean;
}

// The value that all but a share of 1/128 of the rows stay within, or the largest where that is not far.
double common_range(std::vector<double> largest) {
  const size_t place = largest.size() - 1 - largest.size() / 128;
  std::nth_element(largest.begin(), largest.begin() + place, largest.end());
  const double most = *std::max_element(largest.begin(), largest.end());
  return most <= 1.5 * largest[place] ? most : largest[place];
}

template <class T>
std::vector<T> sample_of(MatrixView<const T> rows, int64_t count) {
  const RandomStream random(0, 1);
  std::vector<T> sample(count * rows.cols);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = i * rows.rows / count, to = (i + 1) * rows.rows / count;
    const int64_t row = from + static_cast<int64_t>(random.below(i, to - from));
    std::copy_n(rows.row(row), rows.cols, sample.data() + i * rows.cols);
  }
  return sample;
}

template <class T>
void squared_distances(MatrixView<const T> rows, const T* query, std::vector<double>& out) {
  std::vector<int32_t> which(rows.rows);
  for (int64_t i = 0; i < rows.rows; ++i) which[i] = static_cast<int32_t>(i);
  out.resize(rows.rows);
  if constexpr (std::is_same_v<T, float>) {
    kernels().decide_f32[kSquared](rows.data, rows.cols, query, which.data(), rows.rows, out.data());
  } else {
    kernels().decide_f64[kSquared](rows.data, rows.cols, query, which.data(), rows.rows, out.data());
  }
}

}  // namespace

template <class T>
std::unique_ptr<const Cascade<T>> Cascade<T>::build(MatrixView<const T> rows, double largest, Effort effort,
                                                    int threads, const InterruptCheck& interrupt) {
  const bool forced = effort == Effort::kFlat || effort == Effort::kHeads;
  if (effort == Effort::kPlain || rows.cols > kMostCodeDim || !(largest > 0) || !ordinary(largest)) return nullptr;
  if (!forced && rows.rows < kFewRows) return nullptr;
  if (std::is_same_v<T, float> && largest > 0x1p+100) return nullptr;
  auto cascade = std::make_unique<Cascade>();
  cascade->dim_ = rows.cols;
  const int64_t count = std::min(rows.rows, std::clamp(rows.rows / kSampleEvery, kFewSampled, kMostSampled));
  const std::vector<T> drawn = sample_of(rows, count);
  const MatrixView<const T> sample{drawn.data(), count, rows.cols};
  if (!cascade->fit_lattice(sample, largest)) cascade->fit_range(sample);
  const Plan plan = cascade->plan(sample, rows.rows, largest, effort, threads, interrupt);
  if (!forced && plan.nanoseconds > kWorthwhile * plan.plain) return nullptr;
  cascade->flat_ = plan.flat;
  cascade->grouped_ = forced || plan.share < kUselessShare;
  cascade->trade_ = plan.trade;
  cascade->code_rows(rows, threads, interrupt);
  cascade->forced_ = forced;
  cascade->plain_ = plan.plain;
  return cascade;
}

// Values whole steps apart, at most 255 of them in a column: pixels, counts, ranks, flags, grades.
template <class T>
bool Cascade<T>::fit_lattice(MatrixView<const T> sample, double largest) {
  const T* base = sample.row(0);
  double step = std::numeric_limits<double>::infinity();
  for (int64_t i = 1; i < std::min<int64_t>(64, sample.rows); ++i) {
    for (int64_t j = 0; j < dim_; ++j) {
      const double off = std::fabs(static_cast<double>(sample.row(i)[j]) - static_cast<double>(base[j]));
      if (off > 0) step = std::min(step, off);
    }
  }
  if (!std::isfinite(step)) return false;
  std::vector<double> low(dim_, 0.0), high(dim_, 0.0);
  for (int64_t i = 1; i < sample.rows; ++i) {
    for (int64_t j = 0; j < dim_; ++j) {
      const double steps = (static_cast<double>(sample.row(i)[j]) - static_cast<double>(base[j])) / step;
      if (!(std::fabs(steps) <= 255) || std::fabs(steps - std::round(steps)) > 1e-3) return false;
      low[j] = std::min(low[j], steps);
      high[j] = std::max(high[j], steps);
      if (high[j] - low[j] > 255.5) return false;
    }
  }
  centre_.resize(dim_);
  int exponent = 0;
  lattice_ = std::frexp(step, &exponent) == 0.5 && largest / step <= 0x1p+50;
  for (int64_t j = 0; j < dim_; ++j) {
    // The lowest value gets code -128 or the middle of the range code 0, whatever leaves room on both sides.
    const double middle = std::ceil((low[j] + high[j]) / 2);
    centre_[j] = static_cast<T>(static_cast<double>(base[j]) + step * middle);
    lattice_ = lattice_ && static_cast<double>(base[j]) / step == std::floor(static_cast<double>(base[j]) / step);
  }
  step_ = step;
  rounding_ = lattice_ ? 0 : 0x1p-51 * largest * std::sqrt(static_cast<double>(dim_));
  return true;
}

template <class T>
void Cascade<T>::fit_range(MatrixView<const T> sample) {
  centre_ = means(sample);
  std::vector<double> largest(sample.rows);
  double magnitude = 0;
  for (int64_t i = 0; i < sample.rows; ++i) {
    for (int64_t j = 0; j < dim_; ++j) {
      const double value = static_cast<double>(sample.row(i)[j]);
      magnitude = std::max(magnitude, std::fabs(value));
      largest[i] = std::max(largest[i], std::fabs(value - static_cast<double>(centre_[j])));
    }
  }
  const double range = common_range(largest);
  step_ = (range > 0 ? range : std::max(magnitude, 0x1p-400)) / kMostCode;
  rounding_ = 0x1p-51 * magnitude * std::sqrt(static_cast<double>(dim_));
}

template <class T>
Encoded Cascade<T>::encode(const T* vector, uint8_t* bytes) const {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().encode_f32(vector, centre_.data(), dim_, step_, bytes);
  } else {
    return kernels().encode_f64(vector, centre_.data(), dim_, step_, bytes);
  }
}

// In units of the step, rounded up. The float64 difference from the centre is off by rounding_ at most, and by 2^-52 of
// its length, which is what a far query has.
template <class T>
double Cascade<T>::code_residual(const Encoded& encoded) const {
  if (lattice_ && encoded.residual == 0) return 0;
  return (std::sqrt(encoded.residual) + rounding_ + 0x1p-50 * std::sqrt(encoded.length)) / step_ * (1 + 0x1p-20);
}

// What every plan would cost per pair, from distances within the sample. The distance that matters at n rows is taken
// from the sample's nearest and sixteenth nearest by the power law between them.
template <class T>
Cascade<T>::Plan Cascade<T>::plan(MatrixView<const T> sample, int64_t rows, double largest, Effort effort, int threads,
                                  const InterruptCheck& interrupt) {
  const int64_t count = sample.rows, probes = std::min(kProbes, count);
  judging_ = kJudgeCost + kJudgeValue * static_cast<double>(dim_);
  coding_ = kPairCost + kPairByte * static_cast<double>(dim_);
  std::vector<std::vector<double>> apart(probes);
  std::vector<double> matters(probes);
  AlignedVector<uint8_t> bytes(padded(dim_, kCodeStride));
  double residual = 0;
  for (int64_t i = 0; i < probes; ++i) {
    const T* probe = sample.row(i * count / probes);
    residual = std::max(residual, code_residual(encode(probe, bytes.data())) * step_);
    squared_distances(sample, probe, apart[i]);
    std::vector<double> sorted = apart[i];
    std::sort(sorted.begin(), sorted.end());
    const double one = std::sqrt(sorted[std::min<int64_t>(1, count - 1)]);
    const double many = std::sqrt(sorted[std::min<int64_t>(16, count - 1)]);
    const double share = static_cast<double>(kNear) / static_cast<double>(rows) * static_cast<double>(count);
    matters[i] = one > 0 && many > one ? one * std::pow(one / many, -std::log(share) / std::log(16.0)) : one;
  }
  const double pairs = static_cast<double>(probes * count);
  double passed = 0, near = 0;
  for (int64_t i = 0; i < probes; ++i) {
    const double reach = matters[i] + 2 * residual;
    for (double square : apart[i]) {
      passed += square <= reach * reach ? 1 : 0;
      near += square <= matters[i] * matters[i] ? 1 : 0;
    }
  }
  // The nearest so far are judged too: k (1 + log(n / k)) of them in a random order, and rows that wait are judged late.
  const double share_wanted = static_cast<double>(kNear) / static_cast<double>(rows);
  passed = std::max(0.0, passed - near) / pairs + kLate * share_wanted * (1 - std::log(std::min(1.0, share_wanted)));
  std::vector<double> typical = matters;
  std::nth_element(typical.begin(), typical.begin() + probes / 2, typical.end());
  const double middling = typical[probes / 2];
  const auto trade = [](double left, double reach) { return std::clamp(left / (reach + left), 0x1p-20, 1.0); };
  Plan best;
  best.trade = trade(residual, middling);
  best.plain = kernels().tile_cost * static_cast<double>(dim_);
  best.share = share_met(sample, matters);
  best.nanoseconds =
      best.share * (kernels().sweep_cost * static_cast<double>(padded(dim_, kCodeStep)) + kernels().sweep_end) +
      (lattice_ ? 0 : passed * judging_);
  if (effort == Effort::kFlat || dim_ < kFewHeadDim || count < kFewHeadDim) return best;

  // Heads: as many bytes as a whole number of code steps, the last one for the length of the rest.
  scale_ = std::ldexp(1.0, -std::ilogb(largest) - 1);
  const int64_t most = std::min<int64_t>({128, padded(dim_ / 2, 4), padded(count / 2, 4)});
  const Frame<T> frame(sample.slice(0, std::min(count, kFewSampled)), means(sample), scale_, most - 1, threads,
                       interrupt);
  const int64_t size = frame.size();
  std::vector<float> z = placed(frame, sample, threads, interrupt);
  Plan heads = best;
  heads.flat = false;
  heads.nanoseconds = std::numeric_limits<double>::infinity();
  std::vector<double> tail(count), length(count);
  for (int64_t width = 16; width <= size; width += width < 32 ? 16 : 32) {
    const int64_t head = width - 1;
    const double slots = static_cast<double>(width);
    for (int64_t i = 0; i < count; ++i) {
      double rest = 0, along = 0;
      for (int64_t j = 0; j < size; ++j) {
        const double value = static_cast<double>(z[i * size + j]);
        (j < head ? along : rest) += value * value;
      }
      tail[i] = std::sqrt(rest);
      // The largest of so many coordinates of a vector turned at random.
      length[i] = std::sqrt(2 * std::log(slots) * along / slots);
    }
    const double left_over = common_range(length) / kMostCode * std::sqrt(slots / 12);
    if (!(left_over > 0)) break;
    double survive = 0;
    for (int64_t p = 0; p < probes; ++p) {
      const int64_t probe = p * count / probes;
      const double reach = matters[p] * scale_ + 2 * left_over;
      for (int64_t i = 0; i < count; ++i) {
        double sum = (tail[i] - tail[probe]) * (tail[i] - tail[probe]);
        for (int64_t j = 0; j < head; ++j) {
          const double off = static_cast<double>(z[i * size + j] - z[probe * size + j]);
          sum += off * off;
        }
        survive += sum <= reach * reach ? 1 : 0;
      }
    }
    survive = std::max(0.0, survive - static_cast<double>(probes)) / pairs;
    const double cost = best.share * (kernels().sweep_cost * slots + kernels().sweep_end) + survive * coding_ +
                        (lattice_ ? 0 : passed * judging_);
    if (cost < heads.nanoseconds) {
      heads.nanoseconds = cost;
      heads.head = head;
      heads.trade = trade(left_over, middling * scale_);
    }
  }
  if (heads.head == 0 || (effort != Effort::kHeads && heads.nanoseconds > 0.8 * best.nanoseconds)) return best;
  frame_ = frame.turned(heads.head);
  z = placed(frame_, sample, threads, interrupt);
  fit_heads(z, count);
  return heads;
}

// The share of all pairs that groups leave to be swept.
template <class T>
double Cascade<T>::share_met(MatrixView<const T> sample, const std::vector<double>& matters) const {
  const int64_t count = sample.rows, stride = padded(dim_, kCodeStep), probes = static_cast<int64_t>(matters.size());
  const int64_t groups = std::min(kMostPlanned, count / kPlannedRows);
  if (groups < 2) return 1;
  AlignedVector<uint8_t> bytes(count * stride, 0);
  std::vector<int32_t> squares(count), group(count), apart(count);
  for (int64_t i = 0; i < count; ++i) squares[i] = encode(sample.row(i), bytes.data() + i * stride).square;
  const Centres centres({bytes.data(), count, dim_, stride}, groups, 1, {});
  const int64_t wide = kernels().tile_rows;
  Centres::Workspace work;
  for (int64_t i = 0; i < count; i += wide)
    centres.nearest(bytes.data() + i * stride, squares.data() + i, std::min(wide, count - i), work, group.data() + i,
                    apart.data() + i);
  std::vector<int32_t> from(groups);
  double met = 0;
  for (int64_t p = 0; p < probes; ++p) {
    const int64_t probe = p * count / probes;
    centres.distances(bytes.data() + probe * stride, squares.data() + probe, 1, work, from.data(), 1);
    const double reach = matters[p] / step_;
    for (int64_t i = 0; i < count; ++i)
      met += std::sqrt(static_cast<double>(apart[i])) >= std::sqrt(static_cast<double>(from[group[i]])) - reach ? 1 : 0;
  }
  return met / static_cast<double>(probes * count);
}

template <class T>
std::vector<float> Cascade<T>::placed(const Frame<T>& frame, MatrixView<const T> rows, int threads,
                                      const InterruptCheck& interrupt) const {
  const int64_t size = frame.size(), tile = kernels().tile_queries[kTileSizes - 1];
  std::vector<float> z(rows.rows * size);
  std::vector<double> error(rows.rows);
  std::vector<typename Frame<T>::Workspace> work(threads);
  parallel_for((rows.rows + tile - 1) / tile, threads, interrupt, [&](int64_t t, int worker, StopFlag&) {
    const int64_t first = t * tile, some = std::min(tile, rows.rows - first);
    std::vector<const T*> vectors(some);
    for (int64_t i = 0; i < some; ++i) vectors[i] = rows.row(first + i);
    frame.place(vectors.data(), some, work[worker], z.data() + first * size, error.data() + first);
  });
  return z;
}

// The step of heads, and the middle of their last coordinate.
template <class T>
void Cascade<T>::fit_heads(const std::vector<float>& z, int64_t count) {
  const int64_t size = frame_.size(), head = size - 1;
  float most = 0, least = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    most = std::max(most, z[i * size + head]);
    least = std::min(least, z[i * size + head]);
  }
  middle_.assign(size, 0.0f);
  middle_[head] = (most + least) / 2;
  std::vector<double> largest(count);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < size; ++j)
      largest[i] = std::max(largest[i], std::fabs(static_cast<double>(z[i * size + j] - middle_[j])));
  const double range = common_range(largest);
  sweep_step_ = (range > 0 ? range : 1) / kMostCode;
}

template <class T>
void Cascade<T>::code_rows(MatrixView<const T> rows, int threads, const InterruptCheck& interrupt) {
  const int64_t count = rows.rows, tile = kernels().tile_queries[kTileSizes - 1], wide = kernels().tile_rows;
  code_stride_ = padded(dim_, kCodeStride);
  const int64_t width = flat_ ? dim_ : frame_.size();
  sweep_dim_ = padded(width, kCodeStep);
  sweep_unit_ = flat_ ? 1 / step_ : scale_ * frame_.stretch() / sweep_step_;
  // First what is swept, row by row.
  UnsetVector<uint8_t> swept(count * sweep_dim_);
  std::vector<int32_t> squares(count), group(count, 0);
  std::vector<float> left(count), outer(count, 0.0f);
  const int64_t tiles = (count + tile - 1) / tile;
  std::vector<typename Frame<T>::Workspace> work(threads);
  parallel_for(tiles, threads, interrupt, [&](int64_t t, int worker, StopFlag&) {
    const int64_t first = t * tile, some = std::min(tile, count - first);
    std::vector<const T*> vectors(some);
    std::vector<float> z(some * width);
    std::vector<double> error(some);
    for (int64_t i = 0; i < some; ++i) vectors[i] = rows.row(first + i);
    if (!flat_) frame_.place(vectors.data(), some, work[worker], z.data(), error.data());
    for (int64_t i = 0; i < some; ++i) {
      uint8_t* bytes = swept.data() + (first + i) * sweep_dim_;
      const Encoded encoded =
          flat_ ? encode(vectors[i], bytes)
                : kernels().encode_f32(z.data() + i * width, middle_.data(), width, sweep_step_, bytes);
      std::fill(bytes + width, bytes + sweep_dim_, uint8_t{0});
      squares[first + i] = encoded.square;
      const double residual =
          flat_ ? code_residual(encoded)
                : (std::sqrt(encoded.residual) * (1 + 0x1p-20) + error[i]) / sweep_step_ * (1 + 0x1p-20);
      left[first + i] = residual == 0 ? 0 : rounded_up(residual);
    }
  });
  const CodedRows coded{swept.data(), count, width, sweep_dim_};
  const int64_t groups = grouped_ ? std::clamp<int64_t>(count / kGroupRows, 1, kMostGroups) : 1;
  if (groups > 1) {
    centres_ = Centres(coded, groups, threads, interrupt);
    std::vector<Centres::Workspace> spaces(threads);
    parallel_for((count + wide - 1) / wide, threads, interrupt, [&](int64_t p, int worker, StopFlag&) {
      const int64_t first = p * wide, some = std::min(wide, count - first);
      std::vector<int32_t> apart(wide);
      centres_.nearest(swept.data() + first * sweep_dim_, squares.data() + first, some, spaces[worker],
                       group.data() + first, apart.data());
      for (int64_t i = 0; i < some; ++i)
        outer[first + i] = rounded_up(
            (std::sqrt(static_cast<double>(apart[i])) + static_cast<double>(left[first + i])) * (1 + 0x1p-30));
    });
    arrange(group, groups, outer);
  } else {
    const int64_t chunk = std::clamp<int64_t>(kChunkBytes / sweep_dim_, 64, 2048);
    for (int64_t i = 0; i < count; ++i) group[i] = static_cast<int32_t>(i / chunk);
    arrange(group, (count + chunk - 1) / chunk, outer);
  }
  const int64_t panels = chunk_panels_.back();
  panels_.resize(panels * sweep_dim_ * wide);
  start_.assign(panels * wide, kNever);
  square_.assign(panels * wide, 0);
  residual_.assign(panels * wide, 0.0f);
  outer_.assign(panels, 0.0f);
  if (!flat_) codes_.resize(panels * wide * code_stride_);
  std::vector<float> most(panels);
  parallel_for(panels, threads, interrupt, [&](int64_t p, int, StopFlag&) {
    uint8_t* panel = panels_.data() + p * sweep_dim_ * wide;
    std::fill(panel, panel + sweep_dim_ * wide, uint8_t{0});
    for (int64_t at = p * wide; at < (p + 1) * wide; ++at) {
      const int64_t row = row_of_[at];
      uint8_t* code = flat_ ? nullptr : codes_.data() + at * code_stride_;
      if (!flat_) std::fill(code + (row < 0 ? 0 : dim_), code + code_stride_, uint8_t{0});
      if (row < 0) continue;
      put_in_panel(swept.data() + row * sweep_dim_, sweep_dim_, wide, panel + at % wide * kCodeStep);
      start_[at] = sweep_start(squares[row], left[row], trade_);
      outer_[p] = std::max(outer_[p], outer[row]);
      square_[at] = squares[row];
      residual_[at] = left[row];
      if (!flat_) {
        const Encoded encoded = encode(rows.row(row), code);
        const double residual = code_residual(encoded);
        square_[at] = encoded.square;
        residual_[at] = residual == 0 ? 0.0f : rounded_up(residual);
      }
      most[p] = std::max(most[p], residual_[at]);
    }
  });
  most_residual_ = *std::max_element(most.begin(), most.end());
}

// Places: the rows of every group from its centre outwards, each group in whole panels.
template <class T>
void Cascade<T>::arrange(const std::vector<int32_t>& group, int64_t groups, const std::vector<float>& outer) {
  const int64_t wide = kernels().tile_rows;
  std::vector<int64_t> members(groups);
  for (int32_t g : group) ++members[g];
  chunk_panels_.assign(groups + 1, 0);
  for (int64_t g = 0; g < groups; ++g) chunk_panels_[g + 1] = chunk_panels_[g] + (members[g] + wide - 1) / wide;
  row_of_.assign(chunk_panels_.back() * wide, -1);
  std::vector<int64_t> next(groups);
  for (int64_t g = 0; g < groups; ++g) next[g] = chunk_panels_[g] * wide;
  for (size_t i = 0; i < group.size(); ++i) row_of_[next[group[i]]++] = static_cast<int32_t>(i);
  for (int64_t g = 0; g < groups; ++g)
    std::stable_sort(row_of_.begin() + chunk_panels_[g] * wide, row_of_.begin() + next[g],
                     [&](int32_t a, int32_t b) { return outer[a] < outer[b]; });
}

template class Cascade<float>;
template class Cascade<double>;

}  // namespace tonari
