// SPDX-License-Identifier: BSD-3-Clause
// How an exhaustive search is cut for the threads: blocks of queries and, where these are too few, parts of the rows, whose
// finds are merged in the order of parts. And how its answers are written down.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/pool.hpp"
#include "base/views.hpp"
#include "index/judge.hpp"
#include "index/nearest.hpp"

namespace tonari {

// How to run: nothing here changes an answer.
struct RunParams {
  int threads = 1;
  InterruptCheck interrupt;
};

// A workspace per worker holds what bytes_per_query say, up to this, in at most kMostTiles tiles of `tile` queries.
inline constexpr int64_t kWorkspaceBytes = 32 << 20;
inline constexpr int64_t kMostTiles = 32;

struct Cut {
  int64_t per_block, blocks, parts;

  Cut(int64_t queries, int64_t tile, int64_t bytes_per_query, int64_t most_parts, int threads) {
    const int64_t workers = std::max(1, threads);
    const int64_t tiles = (queries + tile - 1) / tile;
    const int64_t most = std::clamp<int64_t>(kWorkspaceBytes / (bytes_per_query * tile), 1, kMostTiles);
    blocks = std::max((tiles + most - 1) / most, std::min(tiles, workers));
    blocks = std::min(tiles, (blocks + workers - 1) / workers * workers);
    per_block = (tiles + blocks - 1) / blocks * tile;
    blocks = (queries + per_block - 1) / per_block;
    parts = blocks >= workers ? 1 : std::min(most_parts, (workers + blocks - 1) / blocks);
    parts = std::max<int64_t>(1, parts);
  }
};

// search(block's first and last query, part, worker, stop) -> its open queries; emit(query, entries in order).
template <class Search, class Emit>
void run_blocks(int64_t queries, int64_t wanted, const Cut& how, const RunParams& run, const Search& search,
                const Emit& emit) {
  std::vector<std::vector<Entry>> found(how.parts > 1 ? how.parts * queries : 0);
  parallel_for(how.blocks * how.parts, run.threads, run.interrupt, [&](int64_t piece, int worker, StopFlag& stop) {
    const int64_t part = piece % how.parts, first = piece / how.parts * how.per_block;
    const int64_t last = std::min(queries, first + how.per_block);
    std::vector<Open>& open = search(first, last, part, worker, stop);
    if (stop.stopped()) return;
    for (int64_t i = first; i < last; ++i) {
      std::vector<Entry>& entries = open[i - first].nearest.sorted();
      if (how.parts == 1) {
        emit(i, entries);
      } else {
        found[part * queries + i] = std::move(entries);
      }
    }
  });
  if (how.parts == 1) return;
  for (int64_t i = 0; i < queries; ++i) {
    Nearest nearest(wanted, std::numeric_limits<double>::infinity());
    for (int64_t part = 0; part < how.parts; ++part)
      for (const Entry& entry : found[part * queries + i]) nearest.add(entry.distance, entry.row);
    emit(i, nearest.sorted());
  }
}

// The k nearest of every query, into the caller's arrays.
struct NearestOut {
  MatrixView<double> distances;
  MatrixView<int64_t> neighbours;

  void operator()(int64_t query, const std::vector<Entry>& entries) const {
    if (static_cast<int64_t>(entries.size()) < distances.cols)
      throw std::invalid_argument("a query has fewer rows to choose from than neighbours were asked for");
    for (int64_t i = 0; i < distances.cols; ++i) {
      neighbours.row(query)[i] = entries[i].row;
      distances.row(query)[i] = entries[i].distance;
    }
  }
};

// All rows that a query found, one list per query.
struct Lists {
  std::vector<std::vector<double>> distances;
  std::vector<std::vector<int64_t>> neighbours;

  void resize(int64_t queries) {
    distances.assign(queries, {});
    neighbours.assign(queries, {});
  }
  void operator()(int64_t query, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      distances[query].push_back(entry.distance);
      neighbours[query].push_back(entry.row);
    }
  }
};

// A fold, a group, or the row itself: rows and queries of equal numbers do not meet. Empty: all do.
struct Exclusion {
  Span<const int32_t> rows, queries;

  bool excluded(int64_t query, int64_t row) const { return !rows.empty() && rows[row] == queries[query]; }
};

}  // namespace tonari
