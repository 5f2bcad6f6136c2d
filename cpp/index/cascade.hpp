// SPDX-License-Identifier: BSD-3-Clause
// The cascade: rows and queries known as bytes up to a residual, and the triangle inequality at every level.
//
// One idea. A vector v has a code c, whole numbers in [-128, 127], with |v - step c| <= r. Then for any two vectors
//     |v_x - v_q| >= step |c_x - c_q| - r_x - r_q,
// and what lies beyond the distance that still matters is left out, level by level, each level dearer and sharper:
//   chunk   rows in groups around centres, from the centre outwards: what lies within |c_q - centre| - reach of the centre
//           is left out, often the whole group
//   sweep   bytes of few dimensions (index/frame.hpp), or of all, against a tile of queries: one comparison a pair
//   code    bytes of all dimensions, for the pairs that are left
//   judge   float64 (index/judge.hpp). On a lattice the residuals are zero: there the codes decide by themselves.
// A search enters its own group first, so that its limit is near the final one before the rest is looked at.
//
// Which levels are used is planned from a sample of rows when the index is built; a search whose queries pass too often
// says so (pays()) and is carried on with the plain kernel.
// Memory  one byte per value for codes, one more per swept dimension where these are fewer, 20 bytes per row
#pragma once
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "index/clusters.hpp"
#include "index/frame.hpp"
#include "index/judge.hpp"
#include "kernels/table.hpp"

namespace tonari {

// Starts and thresholds of a sweep that are marks, for products of at most kMostCodeDim bytes, 2.7e8 on either side:
// padding never passes, rows beyond all bounds always do, every row passes an open threshold, none a closed one.
inline constexpr int64_t kMostCodeDim = 8192;
inline constexpr int32_t kNever = -900'000'000, kAlways = 500'000'000;
inline constexpr int32_t kOpen = -540'000'000, kClosed = 800'000'000;

inline float rounded_up(double value) {
  return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity());
}

// The sweep's comparison. |c_x - c_q| <= R + r, R the query's reach and r the row's residual, implies for any trade > 0
//     |c_x - c_q|^2 <= (1 + trade) R^2 + (1 + 1 / trade) r^2,
// so with c_x c_q = (|c_x|^2 + |c_q|^2 - |c_x - c_q|^2) / 2 the row's start plus the product is at least the query's
// threshold. Codes are swept as bytes c + 128 against signed bytes, hence the query's shift, 128 times its sum.
inline int32_t sweep_start(int32_t square, float residual, double trade) {
  if (residual == 0) return static_cast<int32_t>(-(static_cast<int64_t>(square) / 2));
  const double loose = static_cast<double>(residual) * static_cast<double>(residual) * (1 + 1 / trade);
  return loose < 3e8 ? static_cast<int32_t>(std::ceil((loose - square) / 2)) : kAlways;
}
inline int32_t sweep_threshold(int32_t square, int32_t shift, float reach, double trade) {
  const double most = static_cast<double>(reach) * static_cast<double>(reach) * (1 + trade);
  const double least = std::floor((square - most) / 2) + shift;
  return least > kOpen ? static_cast<int32_t>(least) : kOpen;
}

// What a cascade has done so far: pairs of query and row that were asked for, and those that came to each level.
struct CascadeWork {
  bool heads = false;
  int64_t width = 0;  // bytes swept per row
  int64_t pairs = 0, swept = 0, compared = 0, judged = 0;
};

// Which levels to use; kAuto plans from a sample.
enum class Effort { kAuto, kPlain, kFlat, kHeads };

template <class T>
class Cascade {
 public:
  // nullptr where codes cannot help: too few rows or dimensions, extreme magnitudes, or a plan that does not pay.
  static std::unique_ptr<const Cascade> build(MatrixView<const T> rows, double largest, Effort effort, int threads,
                                              const InterruptCheck& interrupt);

  // Queries as the cascade sees them, sorted by the group that they lie in.
  struct Asked {
    int64_t first = 0, count = 0;
    std::vector<int32_t> order;  // positions: query number - first
    std::vector<int32_t> own;  // nearest group
    std::vector<uint8_t> usable;
    AlignedVector<int8_t> sweep, code;
    std::vector<float> sweep_residual, code_residual;
    std::vector<int32_t> sweep_square, sweep_shift, code_square, code_shift;
  };
  int64_t most_asked() const;  // queries of one Asked that stay within 64 MiB
  Asked ask(MatrixView<const T> queries, int64_t first, int64_t last, int threads,
            const InterruptCheck& interrupt) const;

  struct Workspace {
    std::vector<Open> open;
    Centres::Workspace centres;
    AlignedVector<int32_t> apart;  // [group][query of the block]: squared distance of the query's code from the centre
    std::vector<int32_t> chosen, first_panel, sorted, counts;  // queries that a group may matter to
    AlignedVector<int8_t> tile;  // what is swept at once
    AlignedVector<int32_t> tile_thresholds;
    std::vector<int32_t> thresholds;
    std::vector<float> reach;
    std::vector<double> limit;
    std::vector<int64_t> farthest;  // squared distance of codes beyond which no row matters, whatever its residual
    std::vector<CodeHit> hits;
    std::vector<CodePair> pairs;
    std::vector<int32_t> dots, waiting, waiting_count, seen;
    std::vector<std::pair<float, int32_t>> route;
    std::vector<double> distances;
    std::vector<uint8_t> passed;
  };
  // Searches asked.order[begin, end) among the groups of one part of `parts`: work.open holds what was found.
  void sift(const Judge<T>& judge, const Asked& asked, int64_t begin, int64_t end, int64_t part, int64_t parts,
            int worker, StopFlag& stop, Workspace& work) const;

  int64_t groups() const { return static_cast<int64_t>(chunk_panels_.size()) - 1; }
  CascadeWork work() const {
    return {!flat_, sweep_dim_, pairs_.load(), swept_.load(), compared_.load(), judged_.load()};
  }
  // Whether what was seen so far is worth going on with.
  bool pays() const { return pays_.load(std::memory_order_relaxed); }

 private:
  struct Plan {
    bool flat = true;
    int64_t head = 0;
    double nanoseconds = 0, plain = 0;  // per pair of query and row
    double trade = 0;  // of what the codes leave over to the distance that matters
    double share = 1;  // of the pairs that groups leave to be swept
  };
  struct Sifting;  // one call of sift

  bool fit_lattice(MatrixView<const T> sample, double largest);
  void fit_range(MatrixView<const T> sample);
  Plan plan(MatrixView<const T> sample, int64_t rows, double largest, Effort effort, int threads,
            const InterruptCheck& interrupt);
  double share_met(MatrixView<const T> sample, const std::vector<double>& matters) const;
  std::vector<float> placed(const Frame<T>& frame, MatrixView<const T> rows, int threads,
                            const InterruptCheck& interrupt) const;
  void fit_heads(const std::vector<float>& z, int64_t count);
  void code_rows(MatrixView<const T> rows, int threads, const InterruptCheck& interrupt);
  void arrange(const std::vector<int32_t>& group, int64_t groups, const std::vector<float>& outer);
  Encoded encode(const T* vector, uint8_t* bytes) const;
  double code_residual(const Encoded& encoded) const;

  int64_t dim_ = 0;
  // Codes of all dimensions; squares and residuals by place, in units of the step.
  std::vector<T> centre_;
  double step_ = 1, rounding_ = 0;
  bool lattice_ = false;  // residual 0 means: the code is the vector
  int64_t code_stride_ = 0;
  UnsetVector<uint8_t> codes_;
  std::vector<int32_t> square_;
  std::vector<float> residual_;
  float most_residual_ = 0;
  // What is swept: heads in a frame, or the codes themselves.
  bool flat_ = true, grouped_ = true;
  Frame<T> frame_;
  std::vector<float> middle_;
  double scale_ = 1, sweep_step_ = 1, sweep_unit_ = 1;  // sweep_unit_: of a true distance
  int64_t sweep_dim_ = 0;
  UnsetVector<uint8_t> panels_;
  AlignedVector<int32_t> start_;
  double trade_ = 0;  // epsilon of (R + r)^2 <= (1 + epsilon) R^2 + (1 + 1 / epsilon) r^2: rows bring r, queries R
  // Places: rows in the order of their groups and outwards within, every group in whole panels.
  std::vector<int32_t> row_of_;
  std::vector<int64_t> chunk_panels_;
  Centres centres_;
  std::vector<float> outer_;  // per panel: no row of its group up to here lies farther from the centre
  // Nanoseconds: of a pair at the code level, of a judged row, and of a pair in the plain kernel.
  double coding_ = 0, judging_ = 0, plain_ = 0;
  bool forced_ = false;
  mutable std::atomic<bool> pays_{true};
  mutable std::atomic<int64_t> pairs_{0}, swept_{0}, compared_{0}, judged_{0};
  mutable std::atomic<int64_t> spent_{0}, worth_{0};  // microseconds, by these costs
};

extern template class Cascade<float>;
extern template class Cascade<double>;

}  // namespace tonari
