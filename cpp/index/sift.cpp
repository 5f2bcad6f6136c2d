// SPDX-License-Identifier: BSD-3-Clause
// How a cascade searches: chunk, sweep, code, judge (index/cascade.hpp says why nothing is lost).
#include <algorithm>
#include <cmath>
#include <limits>

#include "index/cascade.hpp"

namespace tonari {
namespace {

constexpr int64_t kFirstPanels = 2;  // of the first run against a query without a limit; runs double from there
constexpr int64_t kMostPanels = 64;  // of any run: bounds the buffer of hits
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t padded(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

float rounded_up(double value) { return std::nextafter(static_cast<float>(value), kInfinity); }

int kernel_for(int64_t count) {
  int which = 0;
  while (kernels().tile_queries[which] < count) ++which;
  return which;
}

}  // namespace

template <class T>
int64_t Cascade<T>::most_asked() const {
  const int64_t bytes = sweep_dim_ + (flat_ ? 0 : code_stride_) + 4 * centres_.count() + 40;
  return std::max<int64_t>(256, (64 << 20) / bytes);
}

template <class T>
Cascade<T>::Asked Cascade<T>::ask(MatrixView<const T> queries, int64_t first, int64_t last, int threads,
                                  const InterruptCheck& interrupt) const {
  Asked asked;
  const int64_t count = last - first, tile = kernels().tile_queries[kTileSizes - 1];
  const int64_t width = flat_ ? dim_ : frame_.size();
  asked.first = first;
  asked.count = count;
  asked.own.assign(count, 0);
  asked.usable.assign(count, 1);
  asked.sweep.assign(count * sweep_dim_, 0);
  asked.sweep_residual.resize(count);
  asked.sweep_square.resize(count);
  asked.sweep_shift.resize(count);
  if (!flat_) asked.code.assign(count * code_stride_, 0);
  asked.code_residual.resize(count);
  asked.code_square.resize(count);
  asked.code_shift.resize(count);
  asked.gap.resize(count * centres_.count());
  struct Space {
    Frame<T>::Workspace frame;
    Centres::Workspace centres;
    std::vector<uint8_t> bytes, code;
    std::vector<float> z;
    std::vector<double> error;
  };
  std::vector<Space> spaces(threads);
  parallel_for((count + tile - 1) / tile, threads, interrupt, [&](int64_t t, int worker, StopFlag&) {
    Space& space = spaces[worker];
    const int64_t from = t * tile, some = std::min(tile, count - from);
    std::vector<const T*> vectors(some);
    for (int64_t i = 0; i < some; ++i) vectors[i] = queries.row(first + from + i);
    space.bytes.resize(tile * width);
    space.code.resize(code_stride_);
    space.z.assign(tile * width, 0.0f);
    space.error.assign(tile, 0.0);
    if (!flat_) frame_.place(vectors.data(), some, space.frame, space.z.data(), space.error.data());
    for (int64_t i = 0; i < some; ++i) {
      const int64_t q = from + i;
      uint8_t* bytes = space.bytes.data() + i * width;
      const Encoded encoded = encode(vectors[i], flat_ ? bytes : space.code.data());
      const double residual = code_residual(encoded);
      asked.code_residual[q] = residual == 0 ? 0.0f : rounded_up(residual);
      asked.code_square[q] = encoded.square;
      asked.code_shift[q] = 128 * encoded.sum;
      Encoded swept = encoded;
      double left = residual;
      if (!flat_) {
        for (int64_t j = 0; j < dim_; ++j) asked.code[q * code_stride_ + j] = static_cast<int8_t>(space.code[j] ^ 0x80);
        swept = kernels().encode_f32(space.z.data() + i * width, middle_.data(), width, sweep_step_, bytes);
        left = (std::sqrt(swept.residual) * (1 + 0x1p-20) + space.error[i]) / sweep_step_ * (1 + 0x1p-20);
      }
      for (int64_t j = 0; j < width; ++j) asked.sweep[q * sweep_dim_ + j] = static_cast<int8_t>(bytes[j] ^ 0x80);
      // A query this far out, or not even finite in float32, is decided against every row.
      asked.usable[q] = left < 1e4 && residual < 1e30;
      asked.sweep_residual[q] = left == 0 ? 0.0f : rounded_up(left);
      asked.sweep_square[q] = swept.square;
      asked.sweep_shift[q] = 128 * swept.sum;
    }
    if (centres_.count() == 0) return;
    float* gap = asked.gap.data() + from * centres_.count();
    centres_.nearest(space.bytes.data(), some, space.centres, asked.own.data() + from, gap);
    for (int64_t i = 0; i < some; ++i)
      for (int64_t g = 0; g < centres_.count(); ++g) {
        float& found = gap[i * centres_.count() + g];
        found = found - radius_[g] - 0x1p-20f * (found + radius_[g]);
      }
  });
  asked.order.resize(count);
  for (int64_t i = 0; i < count; ++i) asked.order[i] = static_cast<int32_t>(i);
  std::stable_sort(asked.order.begin(), asked.order.end(),
                   [&](int32_t a, int32_t b) { return asked.own[a] < asked.own[b]; });
  return asked;
}

template <class T>
struct Cascade<T>::Sifting {
  const Cascade& c;
  const Judge<T>& judge;
  const Asked& asked;
  int64_t begin, count, part, parts;
  int worker;
  StopFlag& stop;
  Workspace& work;
  int64_t wide = kernels().tile_rows;
  int64_t full_tile = kernels().tile_queries[kTileSizes - 1];
  int64_t capacity = judge.wanted < 0 ? 256 : judge.wanted + 24;
  int64_t paired = 0, judged = 0;

  int64_t asked_of(int64_t i) const { return asked.order[begin + i]; }
  int64_t number_of(int64_t i) const { return asked.first + asked_of(i); }
  bool mine(int64_t group) const { return group % parts == part; }

  void run();
  void prepare();
  void seed(int64_t tile_first, int64_t size);
  bool reaches(int64_t tile_first, int64_t size, int64_t group) const;
  void sweep(int64_t tile_first, int64_t size, int64_t panel_first, int64_t panel_last);
  void take_flat(int64_t tile_first, int64_t panel_first, int32_t run_rows, int hits);
  void take_heads(int64_t tile_first, int64_t panel_first, int32_t run_rows, int hits);
  void consider(int64_t i, int64_t place, int32_t square);
  void drain(int64_t i);
  void tighten(int64_t i);
  void judge_all(int64_t i);
};

template <class T>
void Cascade<T>::sift(const Judge<T>& judge, const Asked& asked, int64_t begin, int64_t end, int64_t part,
                      int64_t parts, int worker, StopFlag& stop, Workspace& work) const {
  Sifting sifting{*this, judge, asked, begin, end - begin, part, parts, worker, stop, work};
  sifting.run();
  const double places = static_cast<double>(row_of_.size()) / static_cast<double>(parts);
  const double pairs = static_cast<double>(end - begin) * places;
  const double spent = pairs * (kernels().sweep_cost * static_cast<double>(sweep_dim_) + kernels().sweep_end) +
                       static_cast<double>(sifting.paired) * coding_ + static_cast<double>(sifting.judged) * judging_;
  const double most =
      plain_ * pairs + 8 * judging_ * static_cast<double>(std::max<int64_t>(judge.wanted, 0) * (end - begin));
  // Microseconds, so that counters hold centuries.
  const int64_t spent_so_far = spent_.fetch_add(static_cast<int64_t>(spent / 1e3)) + static_cast<int64_t>(spent / 1e3);
  const int64_t plain_so_far = worth_.fetch_add(static_cast<int64_t>(most / 1e3)) + static_cast<int64_t>(most / 1e3);
  if (!forced_ && judge.wanted >= 0 && spent_so_far > plain_so_far) pays_.store(false, std::memory_order_relaxed);
}

template <class T>
void Cascade<T>::Sifting::run() {
  prepare();
  for (int64_t first = 0; first < count && !stop.stopped(); first += full_tile)
    seed(first, std::min(full_tile, count - first));

  // The rest of the groups, nearest first: by the least distance from any of these queries.
  const int64_t groups = c.groups(), centres = c.centres_.count();
  work.route.clear();
  for (int64_t g = 0; g < groups; ++g) {
    if (!mine(g)) continue;
    float least = centres > 0 ? kInfinity : 0.0f;
    for (int64_t i = 0; i < count && centres > 0; ++i) least = std::min(least, asked.gap[asked_of(i) * centres + g]);
    work.route.emplace_back(least, static_cast<int32_t>(g));
  }
  std::sort(work.route.begin(), work.route.end());
  for (const auto& [gap, g] : work.route) {
    for (int64_t first = 0; first < count; first += full_tile) {
      const int64_t size = std::min(full_tile, count - first);
      const int32_t* seen = work.seen.data() + first;
      if (std::find(seen, seen + size, g) != seen + size || !reaches(first, size, g)) continue;
      sweep(first, size, c.chunk_panels_[g], c.chunk_panels_[g + 1]);
      for (int64_t i = first; i < first + size; ++i) tighten(i);
      if (stop.should_stop(worker)) return;
    }
  }
  for (int64_t i = 0; i < count && !stop.stopped(); ++i) {
    drain(i);
    if (!asked.usable[asked_of(i)]) judge_all(i);
  }
}

template <class T>
void Cascade<T>::Sifting::prepare() {
  const int64_t room = padded(count, full_tile), dim = c.sweep_dim_;
  work.open.resize(count);
  work.sweep.assign(room * dim, 0);
  work.thresholds.assign(room, kClosed);
  work.reach.assign(room, -kInfinity);
  work.farthest.assign(room, std::numeric_limits<int64_t>::max());
  work.seen.assign(room, -1);
  work.waiting.resize(count * capacity);
  work.waiting_count.assign(count, 0);
  work.passed.resize(count);
  work.hits.resize(full_tile * wide * kMostPanels);
  for (int64_t i = 0; i < count; ++i) {
    work.open[i] = judge.open(number_of(i));
    std::copy_n(asked.sweep.data() + asked_of(i) * dim, dim, work.sweep.data() + i * dim);
    if (!asked.usable[asked_of(i)] || !ordinary(work.open[i].largest)) {
      work.passed[i] = 1;
      continue;
    }
    work.passed[i] = 0;
    work.thresholds[i] = kOpen;
    work.reach[i] = kInfinity;
    tighten(i);
  }
}

// Every query's own group, in runs that double, so that the first rows to be judged are few.
template <class T>
void Cascade<T>::Sifting::seed(int64_t tile_first, int64_t size) {
  const int64_t groups = c.groups(), centres = c.centres_.count();
  for (int64_t i = tile_first; i < tile_first + size; ++i) {
    int64_t own = asked.own[asked_of(i)];
    if (!mine(own)) {
      own = part < groups ? part : -1;
      for (int64_t g = part; g < groups && centres > 0; g += parts)
        if (asked.gap[asked_of(i) * centres + g] < asked.gap[asked_of(i) * centres + own]) own = g;
    }
    if (own < 0 || std::find(work.seen.data() + tile_first, work.seen.data() + i, own) != work.seen.data() + i)
      continue;
    work.seen[i] = static_cast<int32_t>(own);
    const int64_t last = c.chunk_panels_[own + 1];
    int64_t panels = kFirstPanels;
    for (int64_t first = c.chunk_panels_[own]; first < last;
         first += panels, panels = std::min(2 * panels, kMostPanels)) {
      sweep(tile_first, size, first, std::min(last, first + panels));
      for (int64_t other = tile_first; other < tile_first + size; ++other) drain(other);
      if (stop.should_stop(worker)) return;
    }
  }
}

template <class T>
bool Cascade<T>::Sifting::reaches(int64_t tile_first, int64_t size, int64_t group) const {
  const int64_t centres = c.centres_.count();
  for (int64_t i = tile_first; i < tile_first + size; ++i)
    if (work.reach[i] > -kInfinity && (centres == 0 || asked.gap[asked_of(i) * centres + group] <= work.reach[i]))
      return true;
  return false;
}

template <class T>
void Cascade<T>::Sifting::sweep(int64_t tile_first, int64_t size, int64_t panel_first, int64_t panel_last) {
  const SweepKernel kernel = kernels().sweep[kernel_for(size)];
  for (int64_t first = panel_first; first < panel_last; first += kMostPanels) {
    const int64_t panels = std::min(kMostPanels, panel_last - first);
    const int hits =
        kernel(c.panels_.data() + first * c.sweep_dim_ * wide, c.start_.data() + first * wide, c.sweep_dim_, panels,
               work.sweep.data() + tile_first * c.sweep_dim_, work.thresholds.data() + tile_first, work.hits.data());
    const int32_t run_rows = static_cast<int32_t>(panels * wide);
    if (hits == 0) continue;
    if (c.flat_) {
      take_flat(tile_first, first, run_rows, hits);
    } else {
      take_heads(tile_first, first, run_rows, hits);
    }
  }
}

template <class T>
void Cascade<T>::Sifting::take_flat(int64_t tile_first, int64_t panel_first, int32_t run_rows, int hits) {
  for (int h = 0; h < hits; ++h) {
    const CodeHit& hit = work.hits[h];
    const int64_t i = tile_first + hit.where / run_rows, place = panel_first * wide + hit.where % run_rows;
    if (hit.value < work.thresholds[i]) continue;
    const int64_t q = asked_of(i);
    const int32_t dot = hit.value - c.start_[place] - asked.sweep_shift[q];
    consider(i, place, asked.sweep_square[q] + c.square_[place] - 2 * dot);
  }
}

template <class T>
void Cascade<T>::Sifting::take_heads(int64_t tile_first, int64_t panel_first, int32_t run_rows, int hits) {
  work.pairs.resize(std::max<size_t>(work.pairs.size(), hits));
  work.dots.resize(std::max<size_t>(work.dots.size(), hits));
  const int32_t base = static_cast<int32_t>(panel_first * wide);
  for (int h = 0; h < hits; ++h) {
    const int32_t where = work.hits[h].where;
    work.pairs[h] = {base + where % run_rows, asked.order[begin + tile_first + where / run_rows]};
  }
  kernels().pairs(c.codes_.data(), asked.code.data(), c.code_stride_, work.pairs.data(), hits, work.dots.data());
  paired += hits;
  for (int h = 0; h < hits; ++h) {
    const int64_t i = tile_first + work.hits[h].where / run_rows, place = work.pairs[h].row, q = work.pairs[h].query;
    const int32_t dot = work.dots[h] - asked.code_shift[q];
    consider(i, place, asked.code_square[q] + c.square_[place] - 2 * dot);
  }
}

// A pair whose codes are sqrt(square) apart.
template <class T>
void Cascade<T>::Sifting::consider(int64_t i, int64_t place, int32_t square) {
  if (square > work.farthest[i]) return;
  const int64_t q = asked_of(i);
  Open& open = work.open[i];
  const double apart = std::sqrt(static_cast<double>(square)) * c.step_;
  const float residual = c.residual_[place] + asked.code_residual[q];
  const int32_t row = c.row_of_[place];
  if (residual == 0 && c.lattice_ && judge.params.metric == Metric::kEuclidean) {
    if (apart <= open.nearest.limit() && !judge.excluded(number_of(i), row)) open.nearest.add(apart, row);
    return;
  }
  const double nearest = apart * (1 - 0x1p-40) - static_cast<double>(residual) * c.step_ * (1 + 0x1p-20);
  if (nearest > judge.reach(open) * (1 + 0x1p-30) || judge.excluded(number_of(i), row)) return;
  work.waiting[i * capacity + work.waiting_count[i]] = row;
  if (++work.waiting_count[i] == capacity) drain(i);
}

template <class T>
void Cascade<T>::Sifting::drain(int64_t i) {
  if (work.waiting_count[i] > 0) {
    judge.decide(work.open[i], number_of(i), work.waiting.data() + i * capacity, work.waiting_count[i], work.distances);
    judged += work.waiting_count[i];
    work.waiting_count[i] = 0;
  }
  work.open[i].nearest.shrink();
  tighten(i);
}

template <class T>
void Cascade<T>::Sifting::tighten(int64_t i) {
  if (work.passed[i]) return;
  const double distance = judge.reach(work.open[i]);
  const int64_t q = asked_of(i);
  const double reach = distance * c.sweep_unit_ * (1 + 0x1p-30) + static_cast<double>(asked.sweep_residual[q]);
  if (!(reach < static_cast<double>(work.reach[i]))) return;
  work.reach[i] = rounded_up(reach);
  work.thresholds[i] = sweep_threshold(asked.sweep_square[q], asked.sweep_shift[q], work.reach[i], c.trade_);
  const double codes =
      (distance / c.step_ + static_cast<double>(asked.code_residual[q]) + static_cast<double>(c.most_residual_)) *
      (1 + 0x1p-20);
  work.farthest[i] = codes < 1e6 ? static_cast<int64_t>(codes * codes) + 1 : std::numeric_limits<int64_t>::max();
}

template <class T>
void Cascade<T>::Sifting::judge_all(int64_t i) {
  constexpr int64_t kRows = 256;
  int32_t which[kRows];
  for (int64_t g = part; g < c.groups(); g += parts) {
    for (int64_t place = c.chunk_panels_[g] * wide; place < c.chunk_panels_[g + 1] * wide;) {
      int64_t some = 0;
      for (; place < c.chunk_panels_[g + 1] * wide && some < kRows; ++place) {
        const int32_t row = c.row_of_[place];
        if (row >= 0 && !judge.excluded(number_of(i), row)) which[some++] = row;
      }
      judge.decide(work.open[i], number_of(i), which, some, work.distances);
      if (stop.should_stop(worker)) return;
    }
  }
}

template class Cascade<float>;
template class Cascade<double>;

}  // namespace tonari
