// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of one query of a tree: few of them are kept in order, so that the limit is tight after every row; many, or
// all within a radius, are collected as everywhere else (nearest.hpp).
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "base/views.hpp"
#include "index/nearest.hpp"

namespace tonari {

// The k least entries, k at most kMost: inserting beats a heap there.
class Shortlist {
 public:
  static constexpr int64_t kMost = 64;

  Shortlist(int64_t wanted, double) : wanted_(wanted) {}

  bool full() const { return count_ == wanted_; }
  double limit() const { return limit_; }
  // An entry at the limit is wanted only if its row comes before this one.
  int32_t last_row() const { return last_row_; }

  void add(double distance, int32_t row) {
    const Entry entry{distance, row};
    if (full()) {
      if (!before(entry, entries_[count_ - 1])) return;
    } else {
      ++count_;
    }
    int64_t i = count_ - 1;
    for (; i > 0 && before(entry, entries_[i - 1]); --i) entries_[i] = entries_[i - 1];
    entries_[i] = entry;
    if (full()) {
      limit_ = entries_[count_ - 1].distance;
      last_row_ = entries_[count_ - 1].row;
    }
  }
  Span<const Entry> sorted() { return {entries_, static_cast<size_t>(count_)}; }

 private:
  int64_t wanted_, count_ = 0;
  double limit_ = std::numeric_limits<double>::infinity();
  int32_t last_row_ = std::numeric_limits<int32_t>::max();
  Entry entries_[kMost];
};

// The same for more of them, or for all within a radius (wanted = -1).
class Longlist {
 public:
  Longlist(int64_t wanted, double radius)
      : wanted_(wanted), nearest_(wanted, wanted < 0 ? radius : std::numeric_limits<double>::infinity()) {}

  bool full() const { return wanted_ >= 0 && added_ >= wanted_; }
  double limit() const { return nearest_.limit(); }
  int32_t last_row() const { return std::numeric_limits<int32_t>::max(); }
  void add(double distance, int32_t row) {
    nearest_.add(distance, row);
    // As soon as there are enough there is a limit.
    if (++added_ == wanted_) nearest_.shrink();
  }
  Span<const Entry> sorted() { return nearest_.sorted(); }

 private:
  int64_t wanted_, added_ = 0;
  Nearest nearest_;
};

}  // namespace tonari
