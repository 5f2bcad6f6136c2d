// SPDX-License-Identifier: BSD-3-Clause
// The neighbours of one query as they are found: ordered by (distance, row), the k least or all within a radius.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tonari {

struct Entry {
  double distance;
  int32_t row;
};

inline bool before(const Entry& a, const Entry& b) {
  return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
}

// Keeps the `wanted` least entries of those added, or all of them within a limit.
class Nearest {
 public:
  Nearest() = default;
  // wanted: -1 for all entries up to the limit.
  Nearest(int64_t wanted, double limit) : wanted_(wanted), limit_(limit) {}

  // Entries with a larger distance are not wanted any more.
  double limit() const { return limit_; }

  void add(double distance, int32_t row) {
    if (!(distance <= limit_)) return;
    entries_.push_back({distance, row});
    if (wanted_ >= 0 && static_cast<int64_t>(entries_.size()) >= wanted_ + wanted_ / 2 + 16) shrink();
  }
  // Makes limit() as small as the entries allow.
  void shrink() {
    if (wanted_ < 0 || static_cast<int64_t>(entries_.size()) < wanted_) return;
    std::nth_element(entries_.begin(), entries_.begin() + (wanted_ - 1), entries_.end(), before);
    entries_.resize(wanted_);
    limit_ = entries_.back().distance;
  }
  std::vector<Entry>& sorted() {
    shrink();
    std::sort(entries_.begin(), entries_.end(), before);
    return entries_;
  }

 private:
  int64_t wanted_ = -1;
  double limit_ = std::numeric_limits<double>::infinity();
  std::vector<Entry> entries_;
};

}  // namespace tonari
