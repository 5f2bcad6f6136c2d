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
constexpr float kLoose = 1 + 0x1p-20f;  // covers the rounding of whole numbers, squares and roots in float32

int kernel_for(int64_t count) {
  int which = 0;
  while (kernels().tile_queries[which] < count) ++which;
  return which;
}

}  // namespace

template <class T>
int64_t Cascade<T>::most_asked() const {
  const int64_t bytes = sweep_dim_ + (flat_ ? 0 : code_stride_) + 40;
  return std::max<int64_t>(256, (64 << 20) / bytes);
}

template <class T>
Cascade<T>::Asked Cascade<T>::ask(MatrixView<const T> queries, int64_t first, int64_t last, int threads,
                                  const InterruptCheck& interrupt) const {
  Asked asked;
  const int64_t count = last - first, tile = kernels().tile_queries[kTileSizes - 1], wide = kernels().tile_rows;
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
  struct Space {
    Frame<T>::Workspace frame;
    Centres::Workspace centres;
    std::vector<uint8_t> bytes, code;
    std::vector<int32_t> apart;
    std::vector<float> z;
    std::vector<double> error;
  };
  std::vector<Space> spaces(threads);
  parallel_for((count + tile - 1) / tile, threads, interrupt, [&](int64_t t, int worker, StopFlag&) {
    Space& space = spaces[worker];
    const int64_t from = t * tile, some = std::min(tile, count - from);
    std::vector<const T*> vectors(some);
    for (int64_t i = 0; i < some; ++i) vectors[i] = queries.row(first + from + i);
    space.bytes.assign(tile * sweep_dim_, 0);
    space.code.resize(code_stride_);
    space.z.assign(tile * width, 0.0f);
    space.error.assign(tile, 0.0);
    if (!flat_) frame_.place(vectors.data(), some, space.frame, space.z.data(), space.error.data());
    for (int64_t i = 0; i < some; ++i) {
      const int64_t q = from + i;
      uint8_t* bytes = space.bytes.data() + i * sweep_dim_;
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
    space.apart.resize(tile);
    for (int64_t i = 0; i < some; i += wide)
      centres_.nearest(space.bytes.data() + i * sweep_dim_, asked.sweep_square.data() + from + i,
                       std::min(wide, some - i), space.centres, asked.own.data() + from + i, space.apart.data());
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
  int64_t room = padded(count, wide);
  int64_t capacity = judge.wanted < 0 ? 256 : judge.wanted + 24;
  int64_t swept = 0, paired = 0, judged = 0;

  int64_t asked_of(int64_t i) const { return asked.order[begin + i]; }
  int64_t number_of(int64_t i) const { return asked.first + asked_of(i); }
  bool mine(int64_t group) const { return group % parts == part; }

  void run();
  void prepare();
  void measure();
  void seed();
  void start_in(int64_t group, const int32_t* queries, int64_t size);
  void route();
  int64_t choose(int64_t group);
  void sweep(const int32_t* queries, int64_t size, int64_t panel_first, int64_t panel_last);
  void take_flat(const int32_t* queries, int64_t panel_first, int hits);
  void take_heads(const int32_t* queries, int64_t panel_first, int hits);
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
  const double spent = static_cast<double>(sifting.swept) *
                           (kernels().sweep_cost * static_cast<double>(sweep_dim_) + kernels().sweep_end) +
                       static_cast<double>(sifting.paired) * coding_ + static_cast<double>(sifting.judged) * judging_;
  const double most =
      plain_ * pairs + 8 * judging_ * static_cast<double>(std::max<int64_t>(judge.wanted, 0) * (end - begin));
  pairs_ += static_cast<int64_t>(pairs);
  swept_ += sifting.swept;
  compared_ += sifting.paired;
  judged_ += sifting.judged;
  // Microseconds, so that counters hold centuries.
  const int64_t spent_so_far = spent_.fetch_add(static_cast<int64_t>(spent / 1e3)) + static_cast<int64_t>(spent / 1e3);
  const int64_t plain_so_far = worth_.fetch_add(static_cast<int64_t>(most / 1e3)) + static_cast<int64_t>(most / 1e3);
  if (!forced_ && judge.wanted >= 0 && spent_so_far > plain_so_far) pays_.store(false, std::memory_order_relaxed);
}

template <class T>
void Cascade<T>::Sifting::run() {
  prepare();
  measure();
  seed();
  route();
  for (const auto& [least, g] : work.route) {
    const int64_t chosen = choose(g), first = c.chunk_panels_[g], last = c.chunk_panels_[g + 1];
    for (int64_t t = 0; t < chosen; t += full_tile) {
      const int32_t* queries = work.sorted.data() + t;
      const int64_t size = std::min(full_tile, chosen - t);
      sweep(queries, size, first + work.first_panel[queries[0]], last);
      for (int64_t s = 0; s < size; ++s) tighten(queries[s]);
    }
    if (stop.should_stop(worker)) return;
  }
  for (int64_t i = 0; i < count && !stop.stopped(); ++i) {
    drain(i);
    if (!asked.usable[asked_of(i)]) judge_all(i);
  }
}

template <class T>
void Cascade<T>::Sifting::prepare() {
  work.open.resize(count);
  work.thresholds.assign(count, kClosed);
  work.reach.assign(count, -kInfinity);
  work.limit.assign(count, -1.0);
  work.farthest.assign(count, std::numeric_limits<int64_t>::max());
  work.seen.assign(count, -1);
  work.waiting.resize(count * capacity);
  work.waiting_count.assign(count, 0);
  work.passed.resize(count);
  work.chosen.resize(count + 1);
  work.sorted.resize(count);
  work.first_panel.assign(count, 0);
  work.tile.assign(full_tile * c.sweep_dim_, 0);
  work.tile_thresholds.assign(full_tile, kClosed);
  work.hits.resize(full_tile * wide * kMostPanels);
  for (int64_t i = 0; i < count; ++i) {
    work.open[i] = judge.open(number_of(i));
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

// How far every query is from every centre.
template <class T>
void Cascade<T>::Sifting::measure() {
  if (c.centres_.count() == 0) return;
  work.apart.resize(c.centres_.count() * room);
  AlignedVector<uint8_t> bytes(wide * c.sweep_dim_);
  std::vector<int32_t> squares(wide);
  for (int64_t first = 0; first < count; first += wide) {
    const int64_t some = std::min(wide, count - first);
    for (int64_t r = 0; r < some; ++r) {
      const int64_t q = asked_of(first + r);
      const int8_t* from = asked.sweep.data() + q * c.sweep_dim_;
      uint8_t* to = bytes.data() + r * c.sweep_dim_;
      for (int64_t j = 0; j < c.sweep_dim_; ++j) to[j] = static_cast<uint8_t>(from[j]) ^ 0x80;
      squares[r] = asked.sweep_square[q];
    }
    c.centres_.distances(bytes.data(), squares.data(), some, work.centres, work.apart.data() + first, room);
  }
}

// Every query's own group first, so that its limit is near the final one before the rest is looked at.
template <class T>
void Cascade<T>::Sifting::seed() {
  const int64_t groups = c.groups();
  const bool centred = c.centres_.count() > 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t own = asked.own[asked_of(i)];
    if (!mine(own)) {
      own = part < groups ? part : -1;
      for (int64_t g = part; g < groups && centred; g += parts)
        if (work.apart[g * room + i] < work.apart[own * room + i]) own = g;
    }
    work.seen[i] = static_cast<int32_t>(own);
  }
  for (int64_t first = 0, last = 0; first < count && !stop.stopped(); first = last) {
    int64_t size = 0;
    for (last = first; last < count && work.seen[last] == work.seen[first] && size < full_tile; ++last)
      if (!work.passed[last]) work.chosen[size++] = static_cast<int32_t>(last);
    if (work.seen[first] >= 0 && size > 0) start_in(work.seen[first], work.chosen.data(), size);
  }
}

// Runs that double, so that the first rows to be judged are few.
template <class T>
void Cascade<T>::Sifting::start_in(int64_t group, const int32_t* queries, int64_t size) {
  const int64_t last = c.chunk_panels_[group + 1];
  int64_t panels = kFirstPanels;
  for (int64_t first = c.chunk_panels_[group]; first < last;
       first += panels, panels = std::min(2 * panels, kMostPanels)) {
    sweep(queries, size, first, std::min(last, first + panels));
    for (int64_t s = 0; s < size; ++s) drain(queries[s]);
    if (stop.should_stop(worker)) return;
  }
}

// The groups in the order of the least distance that any of these queries may have from them.
template <class T>
void Cascade<T>::Sifting::route() {
  work.route.clear();
  for (int64_t g = part; g < c.groups(); g += parts) {
    float least = 0;
    if (c.centres_.count() > 0) {
      const int32_t* apart = work.apart.data() + g * room;
      least =
          std::sqrt(static_cast<float>(*std::min_element(apart, apart + count))) - c.outer_[c.chunk_panels_[g + 1] - 1];
    }
    work.route.emplace_back(least, static_cast<int32_t>(g));
  }
  std::sort(work.route.begin(), work.route.end());
}

// The queries that a group may matter to, in work.sorted, ordered by the first of its panels that may: with centre m and
// any row x of the panels before, |q - x| >= |q - m| - |x - m| > reach.
template <class T>
int64_t Cascade<T>::Sifting::choose(int64_t group) {
  int64_t chosen = 0;
  if (c.centres_.count() == 0) {
    for (int64_t i = 0; i < count; ++i) {
      work.sorted[chosen] = static_cast<int32_t>(i);
      chosen += work.reach[i] > -kInfinity && work.seen[i] != group ? 1 : 0;
    }
    return chosen;
  }
  const float* outer = c.outer_.data() + c.chunk_panels_[group];
  const int64_t panels = c.chunk_panels_[group + 1] - c.chunk_panels_[group];
  const int32_t* apart = work.apart.data() + group * room;
  const float radius = outer[panels - 1];
  for (int64_t i = 0; i < count; ++i) {
    const float most = work.reach[i] + radius;
    work.chosen[chosen] = static_cast<int32_t>(i);
    chosen += most >= 0 && static_cast<float>(apart[i]) <= most * most * kLoose && work.seen[i] != group ? 1 : 0;
  }
  // Sorted by counting.
  work.counts.assign(panels + 1, 0);
  for (int64_t s = 0; s < chosen; ++s) {
    const int32_t i = work.chosen[s];
    const float inside = std::sqrt(static_cast<float>(apart[i])) / kLoose - work.reach[i];
    const auto first = static_cast<int32_t>(std::lower_bound(outer, outer + panels - 1, inside) - outer);
    work.first_panel[i] = first;
    ++work.counts[first + 1];
  }
  for (int64_t p = 0; p < panels; ++p) work.counts[p + 1] += work.counts[p];
  for (int64_t s = 0; s < chosen; ++s) work.sorted[work.counts[work.first_panel[work.chosen[s]]]++] = work.chosen[s];
  return chosen;
}

template <class T>
void Cascade<T>::Sifting::sweep(const int32_t* queries, int64_t size, int64_t panel_first, int64_t panel_last) {
  const int which = kernel_for(size);
  const int64_t dim = c.sweep_dim_;
  for (int64_t s = 0; s < kernels().tile_queries[which]; ++s) {
    work.tile_thresholds[s] = s < size ? work.thresholds[queries[s]] : kClosed;
    if (s < size) std::copy_n(asked.sweep.data() + asked_of(queries[s]) * dim, dim, work.tile.data() + s * dim);
  }
  swept += kernels().tile_queries[which] * (panel_last - panel_first) * wide;
  for (int64_t first = panel_first; first < panel_last; first += kMostPanels) {
    const int64_t panels = std::min(kMostPanels, panel_last - first);
    const int hits = kernels().sweep[which](c.panels_.data() + first * dim * wide, c.start_.data() + first * wide, dim,
                                            panels, work.tile.data(), work.tile_thresholds.data(), work.hits.data());
    if (hits == 0) continue;
    if (c.flat_) {
      take_flat(queries, first, hits);
    } else {
      take_heads(queries, first, hits);
    }
  }
}

template <class T>
void Cascade<T>::Sifting::take_flat(const int32_t* queries, int64_t panel_first, int hits) {
  for (int h = 0; h < hits; ++h) {
    const CodeHit& hit = work.hits[h];
    const int64_t i = queries[hit.query()], place = panel_first * wide + hit.row(), q = asked_of(i);
    const int32_t dot = hit.value - c.start_[place] - asked.sweep_shift[q];
    const int32_t square = asked.sweep_square[q] + c.square_[place] - 2 * dot;
    if (square <= work.farthest[i]) consider(i, place, square);
  }
}

template <class T>
void Cascade<T>::Sifting::take_heads(const int32_t* queries, int64_t panel_first, int hits) {
  work.pairs.resize(std::max<size_t>(work.pairs.size(), hits));
  work.dots.resize(std::max<size_t>(work.dots.size(), hits));
  const auto base = static_cast<int32_t>(panel_first * wide);
  for (int h = 0; h < hits; ++h)
    work.pairs[h] = {base + work.hits[h].row(), asked.order[begin + queries[work.hits[h].query()]]};
  kernels().pairs(c.codes_.data(), asked.code.data(), c.code_stride_, work.pairs.data(), hits, work.dots.data());
  paired += hits;
  for (int h = 0; h < hits; ++h) {
    const int64_t i = queries[work.hits[h].query()], place = work.pairs[h].row, q = work.pairs[h].query;
    const int32_t dot = work.dots[h] - asked.code_shift[q];
    const int32_t square = asked.code_square[q] + c.square_[place] - 2 * dot;
    if (square <= work.farthest[i]) consider(i, place, square);
  }
}

// A pair whose codes are sqrt(square) apart.
template <class T>
void Cascade<T>::Sifting::consider(int64_t i, int64_t place, int32_t square) {
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
  if (work.open[i].nearest.limit() == work.limit[i]) return;
  work.limit[i] = work.open[i].nearest.limit();
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
