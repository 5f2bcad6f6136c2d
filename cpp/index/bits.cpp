// SPDX-License-Identifier: BSD-3-Clause
#include "index/bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostBits = 1 << 23;  // counts and their halves stay exact in float32
constexpr int64_t kRunPanels = 16;  // panels of one call of the kernel
constexpr int64_t kChunkBytes = 512 * 1024;  // panels visited by all queries of a block in turn: half of a small L2

// Bytes [4 word, 4 word + 4) of a row, the first lowest, zeros beyond the end.
int32_t word_of(const uint8_t* row, int64_t bytes, int64_t word) {
  uint32_t value = 0;
  const int64_t first = 4 * word, count = std::min<int64_t>(4, bytes - first);
  for (int64_t i = 0; i < count; ++i) value |= static_cast<uint32_t>(row[first + i]) << (8 * i);
  return static_cast<int32_t>(value);
}

}  // namespace

BitMetric bit_metric_named(std::string_view name) {
  if (name == "hamming") return BitMetric::kHamming;
  if (name == "jaccard") return BitMetric::kJaccard;
  if (name == "categories") return BitMetric::kCategories;
  throw std::invalid_argument("unknown metric of bits '" + std::string(name) + "'");
}

struct BitRows::Asked {
  MatrixView<const uint8_t> queries;
  int64_t wanted;  // -1: all within the radius
  Span<const double> radii;
  Exclusion groups;
};

struct BitRows::Workspace {
  std::vector<Open> open;
  std::vector<int32_t> counts;
  std::vector<uint8_t> changed;
  AlignedVector<int32_t> words;
  AlignedVector<float> slope, least;
  std::vector<CodeHit> hits;
};

BitRows::BitRows(MatrixView<const uint8_t> rows, int64_t columns, BitMetric metric, const RunParams& run)
    : rows_(rows.rows), bytes_(rows.cols), words_((rows.cols + 3) / 4), columns_(columns), metric_(metric) {
  if (rows.rows < 1 || rows.cols < 1 || columns < 1)
    throw std::invalid_argument("an index of bits needs at least one row and one column");
  if (rows.rows > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("an index holds at most 2,147,483,647 rows");
  if (8 * rows.cols >= kMostBits) throw std::invalid_argument("a row of bits holds fewer than 8,388,608 of them");
  const int64_t wide = kernels().tile_rows;
  panels_ = (rows_ + wide - 1) / wide;
  words_of_.resize(panels_ * words_ * wide);
  counts_.resize(panels_ * wide, std::numeric_limits<float>::infinity());
  parallel_for(panels_, run.threads, run.interrupt, [&](int64_t panel, int, StopFlag&) {
    int32_t* out = words_of_.data() + panel * words_ * wide;
    const int64_t count = std::min(wide, rows_ - panel * wide);
    for (int64_t r = 0; r < count; ++r) {
      int32_t bits = 0;
      for (int64_t word = 0; word < words_; ++word) {
        const int32_t value = word_of(rows.row(panel * wide + r), bytes_, word);
        out[word * wide + r] = value;
        bits += std::popcount(static_cast<uint32_t>(value));
      }
      counts_[panel * wide + r] = static_cast<float>(bits);
    }
  });
}

double BitRows::distance(int32_t common, int32_t row_count, int32_t query_count) const {
  const int32_t apart = row_count + query_count - 2 * common, either = row_count + query_count - common;
  if (metric_ == BitMetric::kJaccard) return either == 0 ? 0.0 : static_cast<double>(apart) / either;
  const int64_t unequal = metric_ == BitMetric::kHamming ? apart : columns_ - common;
  return static_cast<double>(unequal) / static_cast<double>(columns_);
}

// Every row nearer than `limit` (beyond: or as near) has  common >= slope * its count + least:
//   hamming      x + q - 2 c <= T                    c >= x / 2 + (q - T) / 2
//   jaccard      (x + q - 2 c) / (x + q - c) <= t    c >= s x + s q, s = (1 - t) / (2 - t)
//   categories   columns - c <= T                    c >= columns - T
// The line is rounded down by what float32 may lose.
void BitRows::line(double limit, bool beyond, int32_t query_count, float& slope, float& least) const {
  slope = 0;
  least = 0;
  if (!(limit < kInfinity)) return;
  const double q = query_count;
  if (metric_ == BitMetric::kJaccard) {
    const double t = std::clamp(limit, 0.0, 1.0), share = (1 - t) / (2 - t);
    slope = static_cast<float>(share);
    least = static_cast<float>(share * q - static_cast<double>(8 * bytes_) * 0x1p-21);
    return;
  }
  const auto columns = static_cast<double>(columns_);
  double most = std::min(limit, 1.0) * columns;  // T
  most = beyond ? std::floor(most * (1 + 0x1p-40)) : std::round(most) - 1;
  if (metric_ == BitMetric::kHamming) slope = 0.5f;
  const double exact = metric_ == BitMetric::kHamming ? (q - most) / 2 : columns - most;
  least = static_cast<float>(exact);  // halves below 2^23 are exact; a radius below 0 is rounded
  if (static_cast<double>(least) > exact) least = std::nextafter(least, -std::numeric_limits<float>::infinity());
}

void BitRows::sift(const Asked& asked, int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker,
                   StopFlag& stop, Workspace& work) const {
  const int64_t wide = kernels().tile_rows, full = kernels().tile_queries[kTileSizes - 1], count = last - first;
  const int64_t padded = (count + full - 1) / full * full;
  const bool every = asked.wanted < 0;
  work.open.resize(count);
  for (int64_t i = 0; i < count; ++i)
    work.open[i] = {Nearest(asked.wanted, every ? asked.radii[first + i] : kInfinity), 0};
  work.counts.assign(count, 0);
  work.words.assign(padded * words_, 0);
  work.slope.assign(padded, 0.0f);
  work.least.assign(padded, std::numeric_limits<float>::infinity());
  work.hits.resize(full * kRunPanels * wide);
  const auto tile_size = [&](int64_t tile_first) {
    int which = 0;
    while (kernels().tile_queries[which] < std::min(full, count - tile_first)) ++which;
    return which;
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t tile_first = i / full * full, size = kernels().tile_queries[tile_size(tile_first)];
    for (int64_t word = 0; word < words_; ++word) {
      const int32_t value = word_of(asked.queries.row(first + i), bytes_, word);
      work.words[tile_first * words_ + word * size + (i - tile_first)] = value;
      work.counts[i] += std::popcount(static_cast<uint32_t>(value));
    }
    line(work.open[i].nearest.limit(), true, work.counts[i], work.slope[i], work.least[i]);
  }
  const int64_t chunk = std::max<int64_t>(kRunPanels, kChunkBytes / (4 * words_ * wide) / kRunPanels * kRunPanels);
  for (int64_t chunk_first = panel_first; chunk_first < panel_last; chunk_first += chunk) {
    const int64_t chunk_last = std::min(panel_last, chunk_first + chunk);
    for (int64_t tile_first = 0; tile_first < count; tile_first += full) {
      const BitsKernel kernel = kernels().common_bits[tile_size(tile_first)];
      for (int64_t panel = chunk_first; panel < chunk_last; panel += kRunPanels) {
        const int64_t panels = std::min(kRunPanels, chunk_last - panel), run_rows = panels * wide;
        const int found = kernel(words_of_.data() + panel * words_ * wide, counts_.data() + panel * wide, words_,
                                 panels, work.words.data() + tile_first * words_, work.slope.data() + tile_first,
                                 work.least.data() + tile_first, work.hits.data());
        for (int h = 0; h < found; ++h) {
          const CodeHit& hit = work.hits[h];
          const int64_t i = tile_first + hit.where / run_rows, row = panel * wide + hit.where % run_rows;
          if (asked.groups.excluded(first + i, row)) continue;
          Nearest& nearest = work.open[i].nearest;
          const double apart = distance(hit.value, static_cast<int32_t>(counts_[row]), work.counts[i]);
          // Rows come in order: one that is only as near as the limit is later than those it would have to replace.
          const double limit = nearest.limit();
          if (!every && !(apart < limit)) continue;
          nearest.add(apart, static_cast<int32_t>(row));
          if (nearest.limit() < limit) line(nearest.limit(), false, work.counts[i], work.slope[i], work.least[i]);
        }
      }
      if (stop.should_stop(worker)) return;
    }
  }
}

template <class Emit>
void BitRows::run(const Asked& asked, const RunParams& run, Emit&& emit) const {
  if (asked.queries.rows < 1) return;
  std::vector<Workspace> spaces(std::max(1, run.threads));
  const int64_t bytes = 4 * words_ + 32 * (std::max<int64_t>(asked.wanted, 0) + 32);
  const Cut how(asked.queries.rows, kernels().tile_queries[kTileSizes - 1], bytes, panels_, run.threads);
  run_blocks(
      asked.queries.rows, asked.wanted, how, run,
      [&](int64_t begin, int64_t end, int64_t part, int worker, StopFlag& stop) -> std::vector<Open>& {
        sift(asked, begin, end, panels_ * part / how.parts, panels_ * (part + 1) / how.parts, worker, stop,
             spaces[worker]);
        return spaces[worker].open;
      },
      [&](int64_t query, const std::vector<Entry>& entries) { emit(query, entries); });
}

void BitRows::search(MatrixView<const uint8_t> queries, const Exclusion& groups, const RunParams& how,
                     NearestOut out) const {
  if (out.distances.cols >= 1) run({queries, out.distances.cols, {}, groups}, how, out);
}

void BitRows::within(MatrixView<const uint8_t> queries, Span<const double> radii, const Exclusion& groups,
                     const RunParams& how, Lists& found) const {
  found.resize(queries.rows);
  run({queries, -1, radii, groups}, how, found);
}

}  // namespace tonari
