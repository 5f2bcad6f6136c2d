// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of one query of a tree: few of them are kept in order, so that the limit is tight after every row; many, or
// all within a radius, are collected as everywhere else (nearest.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "index/nearest.hpp"
#include "kernels/table.hpp"

namespace tonari {

// The k least entries, k at most kMost, in order.
class Shortlist {
 public:
  static constexpr int64_t kMost = kListMost;

  Shortlist(int64_t wanted, double) : wanted_(static_cast<int>(wanted)) {
    std::fill_n(distances_, (wanted + kRegister - 1) / kRegister * kRegister, std::numeric_limits<double>::infinity());
  }

  bool full() const { return count_ == wanted_; }
  double limit() const { return limit_; }
  // An entry at the limit is wanted only if its row comes before this one.
  int32_t last_row() const { return last_row_; }

  // Both arrays have room for kMergeMost.
  void add(double* distances, const int32_t* rows, int count) {
    const int merged = wanted_ == 1 ? -1 : kernels().merge(distances_, rows_, count_, wanted_, distances, rows, count);
    if (merged >= 0) {
      count_ = merged;
    } else {
      for (int i = 0; i < count; ++i) insert(distances[i], rows[i]);
    }
    if (!full()) return;
    limit_ = distances_[count_ - 1];
    last_row_ = rows_[count_ - 1];
  }
  int64_t size() const { return count_; }
  template <class Give>
  void give(const Give& each) {
    for (int i = 0; i < count_; ++i) each(i, distances_[i], int64_t{rows_[i]});
  }

 private:
  static constexpr int64_t kRegister = 8;

  void insert(double distance, int32_t row) {
    const auto comes_before = [&](int i) { return before({distance, row}, {distances_[i], rows_[i]}); };
    if (full() && !comes_before(count_ - 1)) return;
    int i = full() ? count_ - 1 : count_++;
    for (; i > 0 && comes_before(i - 1); --i) {
      distances_[i] = distances_[i - 1];
      rows_[i] = rows_[i - 1];
    }
    distances_[i] = distance;
    rows_[i] = row;
  }

  int wanted_, count_ = 0;
  int32_t last_row_ = std::numeric_limits<int32_t>::max();
  double limit_ = std::numeric_limits<double>::infinity();
  double distances_[kMost];
  int32_t rows_[kMost];
};

// The same for more of them, or for all within a radius (wanted = -1).
class Longlist {
 public:
  Longlist(int64_t wanted, double radius)
      : wanted_(wanted), nearest_(wanted, wanted < 0 ? radius : std::numeric_limits<double>::infinity()) {}

  bool full() const { return wanted_ >= 0 && added_ >= wanted_; }
  double limit() const { return nearest_.limit(); }
  int32_t last_row() const { return std::numeric_limits<int32_t>::max(); }
  void add(const double* distances, const int32_t* rows, int count) {
    for (int i = 0; i < count; ++i) nearest_.add(distances[i], rows[i]);
    // As soon as there are enough there is a limit.
    if (added_ < wanted_ && added_ + count >= wanted_) nearest_.shrink();
    added_ += count;
  }
  int64_t size() { return static_cast<int64_t>(nearest_.sorted().size()); }
  template <class Give>
  void give(const Give& each) {
    int64_t i = 0;
    for (const Entry& entry : nearest_.sorted()) each(i++, entry.distance, int64_t{entry.row});
  }

 private:
  int64_t wanted_, added_ = 0;
  Nearest nearest_;
};

}  // namespace tonari
