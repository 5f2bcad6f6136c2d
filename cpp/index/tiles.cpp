// SPDX-License-Identifier: BSD-3-Clause
#include "index/tiles.hpp"

#include <algorithm>
#include <limits>

namespace tonari {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::max();  // a threshold that no value passes
constexpr int64_t kChunkBytes = 512 * 1024;  // panels visited by all queries of a block in turn: half of a small L2
constexpr int64_t kScanRows = 256;  // rows decided at once where no filter helps

// The smallest tile that holds `count` queries.
int64_t tile_size(int64_t count) {
  for (int64_t size : kernels().tile_queries)
    if (size >= count) return size;
  return count;
}

}  // namespace

template <class T>
Tiles<T>::Tiles(const PackedRows& packed, const Judge<T>& judge, bool same)
    : packed_(packed), judge_(judge), same_(same), capacity_(judge.wanted < 0 ? 256 : 2 * judge.wanted + 64) {}

template <class T>
void Tiles<T>::sift(int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
                    Workspace& work) const {
  const int64_t count = last - first, dim = judge_.rows.cols, rows = judge_.rows.rows;
  work.queries.assign(count, Query{});
  work.open.resize(count);
  const int64_t padded = (count + full_tile_ - 1) / full_tile_ * full_tile_;
  const bool filter = packed_.usable && !(judge_.wanted >= 0 && 4 * judge_.wanted >= rows);
  if (filter) {
    work.packed.assign(padded * dim, 0.0f);
    work.thresholds.assign(padded, kNothing);
    work.values.resize(count * capacity_);
    work.rows.resize(count * capacity_);
    work.survivors.resize(full_tile_ * tile_rows_);
  }
  for (int64_t i = 0; i < count; ++i) {
    Query& query = work.queries[i];
    work.open[i] = judge_.open(first + i);
    if (!filter || !ordinary(work.open[i].largest)) continue;
    // Tiles of one size only but for the last, so a query's place follows from its number.
    const int64_t tile_first = i / full_tile_ * full_tile_;
    const int64_t size = tile_size(std::min(full_tile_, count - tile_first));
    query.packed.pack(packed_, judge_.queries.row(first + i), work.packed.data() + tile_first * dim + (i - tile_first),
                      size);
    if (!query.packed.usable()) continue;
    query.filtered = true;
    query.threshold = work.thresholds.data() + i;
    query.values = work.values.data() + i * capacity_;
    query.rows = work.rows.data() + i * capacity_;
    query.decided = !same_ || judge_.wanted < 0;
    *query.threshold = std::numeric_limits<float>::max();
    tighten(i, work);
  }
  if (filter) tiles(first, count, panel_first, panel_last, worker, stop, work);
  for (int64_t i = 0; i < count && !stop.stopped(); ++i) {
    Query& query = work.queries[i];
    if (query.filtered) {
      if (!query.decided) narrow(query, work);
      judge_.decide(work.open[i], first + i, query.rows, query.waiting, work.distances);
    } else {
      scan_all(i, first + i, panel_first * tile_rows_, std::min(panel_last * tile_rows_, rows), worker, stop, work);
    }
  }
}

template <class T>
void Tiles<T>::scan_all(int64_t i, int64_t number, int64_t row_first, int64_t row_last, int worker, StopFlag& stop,
                        Workspace& work) const {
  int32_t which[kScanRows];
  for (int64_t row = row_first; row < row_last;) {
    int64_t count = 0;
    for (; row < row_last && count < kScanRows; ++row)
      if (!judge_.excluded(number, row)) which[count++] = static_cast<int32_t>(row);
    judge_.decide(work.open[i], number, which, count, work.distances);
    if (stop.should_stop(worker)) return;
  }
}

template <class T>
void Tiles<T>::tiles(int64_t first, int64_t count, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
                     Workspace& work) const {
  const int64_t dim = judge_.rows.cols;
  const int64_t panel_values = dim * tile_rows_;
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (panel_values * static_cast<int64_t>(sizeof(float))));
  const TileKernel* kernel = kernels().tile[packed_.filter];
  for (int64_t chunk_first = panel_first; chunk_first < panel_last; chunk_first += chunk) {
    const int64_t chunk_last = std::min(panel_last, chunk_first + chunk);
    for (int64_t tile_first = 0; tile_first < count; tile_first += full_tile_) {
      const int64_t size = tile_size(std::min(full_tile_, count - tile_first));
      int which = 0;
      while (kernels().tile_queries[which] != size) ++which;
      for (int64_t panel = chunk_first; panel < chunk_last; ++panel) {
        const int survivors = kernel[which](
            packed_.panels.data() + panel * panel_values, packed_.start.data() + panel * tile_rows_, dim,
            work.packed.data() + tile_first * dim, work.thresholds.data() + tile_first, work.survivors.data());
        for (int s = 0; s < survivors; ++s) {
          const Survivor& survivor = work.survivors[s];
          const int64_t i = tile_first + survivor.where / tile_rows_;
          keep(i, first + i, survivor.value, panel * tile_rows_ + survivor.where % tile_rows_, work);
        }
      }
      if (stop.should_stop(worker)) return;
    }
  }
}

template <class T>
void Tiles<T>::keep(int64_t i, int64_t number, float value, int64_t row, Workspace& work) const {
  Query& query = work.queries[i];
  if (value > *query.threshold || judge_.excluded(number, row)) return;
  query.values[query.waiting] = value;
  query.rows[query.waiting] = static_cast<int32_t>(row);
  if (++query.waiting == capacity_) digest(i, number, work);
}

// A full buffer: first by bounds alone; where these cannot tell enough rows apart, by deciding.
template <class T>
void Tiles<T>::digest(int64_t i, int64_t number, Workspace& work) const {
  Query& query = work.queries[i];
  if (!query.decided) {
    narrow(query, work);
    query.decided = query.waiting > capacity_ * 3 / 4;
  }
  if (query.decided) {
    judge_.decide(work.open[i], number, query.rows, query.waiting, work.distances);
    query.waiting = 0;
    work.open[i].nearest.shrink();
    tighten(i, work);
  }
}

// Drops the waiting rows that `wanted` others are surely nearer than.
template <class T>
void Tiles<T>::narrow(Query& query, Workspace& work) const {
  const int64_t wanted = judge_.wanted;
  if (query.waiting <= wanted) return;
  work.upper.resize(query.waiting);
  for (int64_t i = 0; i < query.waiting; ++i)
    work.upper[i] = query.packed.upper(packed_, query.values[i], query.rows[i]);
  std::nth_element(work.upper.begin(), work.upper.begin() + (wanted - 1), work.upper.end());
  *query.threshold = std::min(*query.threshold, query.packed.threshold_below(packed_, work.upper[wanted - 1]));
  int64_t kept = 0;
  for (int64_t i = 0; i < query.waiting; ++i) {
    if (query.values[i] > *query.threshold) continue;
    query.values[kept] = query.values[i];
    query.rows[kept++] = query.rows[i];
  }
  query.waiting = kept;
}

template <class T>
void Tiles<T>::tighten(int64_t i, Workspace& work) const {
  const double reach = judge_.reach(work.open[i]);
  if (reach == std::numeric_limits<double>::infinity()) return;
  const Query& query = work.queries[i];
  *query.threshold = std::min(*query.threshold, query.packed.threshold_for(packed_, reach));
}

template class Tiles<float>;
template class Tiles<double>;

}  // namespace tonari
