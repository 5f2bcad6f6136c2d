// SPDX-License-Identifier: BSD-3-Clause
// The members of SpaceTree, included by the sources that instantiate it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "index/shortlist.hpp"
#include "index/space_tree.hpp"

namespace tonari {

inline constexpr int64_t kQueriesPerBlock = 128;
inline constexpr int64_t kStopEvery = 16;
inline constexpr int64_t kRowsPerBlock = 4096;
inline constexpr int64_t kCurveFrom = 64;  // fewer queries run in the order in which they come
inline constexpr int64_t kCurveColumns = 8;
inline constexpr int kCurveBits = 32;

template <class T>
LeafKernel<T> leaf_kernel(Reduced how) {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().leaf_f32[how];
  } else {
    return kernels().leaf_f64[how];
  }
}

template <class T, template <class> class Bounds>
SpaceTree<T, Bounds>::SpaceTree(MatrixView<const T> rows, const ExactParams& params, const TreeParams& how,
                                const RunParams& run)
    : rows_(rows), params_(params) {
  if (rows.rows < 1 || rows.cols < 1) throw std::invalid_argument("a tree needs at least one row and one column");
  if (rows.rows > std::numeric_limits<int32_t>::max() - kLeafPanel)
    throw std::invalid_argument("a tree holds at most 2,147,483,631 rows");
  if (params.metric == Metric::kCosine) throw std::invalid_argument("a tree cannot serve the cosine distance");
  if (params.metric == Metric::kMinkowski && !(params.p >= 1)) throw std::invalid_argument("p must be at least 1");
  if (how.leaf_size < 1) throw std::invalid_argument("a leaf holds at least one row");
  reduction_ = Reduction(params, rows.cols, std::is_same_v<T, double>);
  leaf_ = leaf_kernel<T>(reduction_.how);
  tree_ = grow_tree(rows, how, run.threads, run.interrupt);
  bounds_ = Bounds<T>(tree_, rows, params, run.threads, run.interrupt);
  largest_ = std::max(largest_magnitude(tree_.low.data(), rows.cols), largest_magnitude(tree_.high.data(), rows.cols));
}

template <class T, template <class> class Bounds>
Visits SpaceTree<T, Bounds>::search(MatrixView<const T> queries, Span<const int32_t> row_groups,
                                    Span<const int32_t> query_groups, const Reach& reach, const RunParams& how,
                                    MatrixView<double> distances, MatrixView<int64_t> neighbours) const {
  const int64_t k = distances.cols;
  if (k < 1) return {};
  const Judge<T> judge{rows_, queries, params_, largest_, k, {}, row_groups, query_groups, 1};
  const auto emit = [&](int64_t query, auto& kept) {
    if (kept.size() < k)
      throw std::invalid_argument("a query has fewer rows to choose from than neighbours were asked for");
    double* to = distances.row(query);
    int64_t* rows = neighbours.row(query);
    kept.give([&](int64_t i, double distance, int64_t row) {
      to[i] = distance;
      rows[i] = row;
    });
  };
  return k <= Shortlist::kMost ? run<Shortlist>(judge, reach, how, emit) : run<Longlist>(judge, reach, how, emit);
}

template <class T, template <class> class Bounds>
Visits SpaceTree<T, Bounds>::within(MatrixView<const T> queries, Span<const double> radii,
                                    Span<const int32_t> row_groups, Span<const int32_t> query_groups,
                                    const Reach& reach, const RunParams& how, Lists& found) const {
  found.distances.assign(queries.rows, {});
  found.neighbours.assign(queries.rows, {});
  const Judge<T> judge{rows_, queries, params_, largest_, -1, radii, row_groups, query_groups, 1};
  return run<Longlist>(judge, reach, how, [&](int64_t query, Longlist& kept) {
    found.distances[query].reserve(kept.size());
    found.neighbours[query].reserve(kept.size());
    kept.give([&](int64_t, double distance, int64_t row) {
      found.distances[query].push_back(distance);
      found.neighbours[query].push_back(row);
    });
  });
}

// emit(query, what was kept) once per query.
template <class T, template <class> class Bounds>
template <class Kept, class Emit>
Visits SpaceTree<T, Bounds>::run(const Judge<T>& judge, const Reach& reach, const RunParams& how,
                                 const Emit& emit) const {
  const int64_t queries = judge.queries.rows;
  const std::vector<int32_t> order = along_curve(judge.queries, how.threads, how.interrupt);
  std::vector<Workspace> spaces(std::max(1, how.threads));
  for (Workspace& work : spaces) {
    work.queries.assign(kQueriesPerBlock * tree_.dim, 0.0);
    work.values.resize(std::max<int64_t>(tree_.most_in_leaf, kMergeMost));
    work.where.resize(work.values.size());
  }
  // A few queries are spread over the threads; many go in runs that share leaves.
  const int64_t each = std::clamp<int64_t>(queries / (8 * std::max(1, how.threads)), 1, kQueriesPerBlock);
  parallel_for((queries + each - 1) / each, how.threads, how.interrupt, [&](int64_t block, int worker, StopFlag& stop) {
    Workspace& work = spaces[worker];
    const int64_t first = block * each, last = std::min(queries, first + each);
    const auto number = [&](int64_t i) { return order.empty() ? i : order[i]; };
    // All at once, so that memory is waited for once.
    for (int64_t i = first; i < last; ++i)
      std::copy_n(judge.queries.row(number(i)), rows_.cols, work.queries.data() + (i - first) * tree_.dim);
    for (int64_t i = first; i < last; ++i) {
      if ((i - first) % kStopEvery == 0 && stop.should_stop(worker)) return;
      Kept kept(judge.wanted, judge.wanted < 0 ? judge.radii[number(i)] : 0.0);
      descend(judge, number(i), work.queries.data() + (i - first) * tree_.dim, reach, work, kept);
      emit(number(i), kept);
    }
  });
  Visits all;
  for (const Workspace& work : spaces) {
    all.nodes += work.visits.nodes;
    all.leaves += work.visits.leaves;
    all.rows += work.visits.rows;
  }
  return all;
}

template <class T, template <class> class Bounds>
template <class Kept>
void SpaceTree<T, Bounds>::descend(const Judge<T>& judge, int64_t query, const double* asked, const Reach& reach,
                                   Workspace& work, Kept& kept) const {
  const double largest = std::max(largest_, largest_magnitude(asked, rows_.cols));
  const Decider<T> decider(params_.metric, params_.p, rows_.cols, largest);
  if (!ordinary(largest)) {
    for (const TreeLeaf& leaf : tree_.leaves) {
      for (int32_t i = 0; i < leaf.count; ++i) work.where[i] = i;
      decide(leaf, leaf.count, judge, query, decider, false, work, kept);
    }
    return;
  }
  double limit = kept.limit(), most = bounds_.most(reach.eps * limit), most_in_leaf = reduction_.most(limit);
  std::vector<Pending>& stack = work.stack;
  stack.resize(tree_.deepest * kNodeFan + 1);
  stack[0] = {0, 0, 0};
  for (int64_t top = 0; top >= 0;) {
    const Pending next = stack[top--];
    // At the limit a child can still win, by its row numbers.
    if (next.bound > most || (next.least_row > kept.last_row() && bounds_.reaches(next.bound, limit))) continue;
    if (next.child < 0) {
      const TreeLeaf& leaf = tree_.leaves[~next.child];
      const int count =
          leaf_(tree_.panel(leaf), tree_.dim, leaf.count, asked, most_in_leaf, work.values.data(), work.where.data());
      ++work.visits.leaves;
      work.visits.rows += leaf.count;
      if (count > 0) decide(leaf, count, judge, query, decider, reduction_.decides, work, kept);
      if (!reach.backtrack && (kept.full() || judge.wanted < 0)) return;
      if (kept.limit() != limit) {
        limit = kept.limit();
        most = bounds_.most(reach.eps * limit);
        most_in_leaf = reduction_.most(limit);
      }
      continue;
    }
    ++work.visits.nodes;
    const TreeNode& node = tree_.nodes[next.child];
    double bounds[kNodeFan];
    uint32_t left = bounds_(next.child, asked, most, bounds) & ((1u << node.fan) - 1);
    const auto push = [&](int i) { stack[++top] = {bounds[i], node.child[i], node.least_row[i]}; };
    if (limit == std::numeric_limits<double>::infinity()) {
      // On the way down to the first leaves only the nearest matters: most others will be left out when their turn comes.
      int nearest = 0;
      for (int i = 1; i < node.fan; ++i) nearest = bounds[i] < bounds[nearest] ? i : nearest;
      for (int i = node.fan; i-- > 0;)
        if (i != nearest) push(i);
      push(nearest);
      continue;
    }
    // The farthest first, so that the nearest comes out first; of equal bounds the one with the smaller rows.
    while (left != 0) {
      int farthest = std::countr_zero(left);
      for (uint32_t others = left & (left - 1); others != 0; others &= others - 1) {
        const int i = std::countr_zero(others);
        const bool farther = bounds[i] > bounds[farthest] ||
                             (bounds[i] == bounds[farthest] && node.least_row[i] > node.least_row[farthest]);
        farthest = farther ? i : farthest;
      }
      push(farthest);
      left &= ~(1u << farthest);
    }
  }
}

// Adds the rows work.where[0 .. count) of a leaf, with the kernel's values in work.values; known: these decide.
template <class T, template <class> class Bounds>
template <class Kept>
void SpaceTree<T, Bounds>::decide(const TreeLeaf& leaf, int count, const Judge<T>& judge, int64_t query,
                                  const Decider<T>& decider, bool known, Workspace& work, Kept& kept) const {
  const T* asked = judge.queries.row(query);
  const int32_t* numbers = tree_.rows.data() + leaf.first;
  double* values = work.values.data();
  int32_t* where = work.where.data();
  int wanted = 0;
  for (int i = 0; i < count; ++i) {
    const int32_t row = numbers[where[i]];
    values[wanted] = values[i];
    where[wanted] = row;
    wanted += judge.excluded(query, row) ? 0 : 1;
  }
  if (known) {
    for (int i = 0; i < wanted; ++i) values[i] = decider.distance(values[i], where[i], rows_.data, asked);
  } else {
    decider.decide(rows_.data, asked, where, wanted, values);
  }
  double some[kMergeMost];
  int32_t some_rows[kMergeMost];
  for (int first = 0; first < wanted;) {
    int taken = 0;
    const double limit = kept.limit();
    for (; first < wanted && taken < kMergeMost; ++first) {
      some[taken] = values[first];
      some_rows[taken] = where[first];
      taken += values[first] <= limit ? 1 : 0;
    }
    kept.add(some, some_rows, taken);
  }
}

// Queries in the order of a space-filling curve (Morton 1966) through the columns of largest extent.
template <class T, template <class> class Bounds>
std::vector<int32_t> SpaceTree<T, Bounds>::along_curve(MatrixView<const T> queries, int threads,
                                                       const InterruptCheck& interrupt) const {
  if (queries.rows < kCurveFrom || queries.rows > std::numeric_limits<int32_t>::max()) return {};
  std::vector<int64_t> columns(rows_.cols);
  for (int64_t j = 0; j < rows_.cols; ++j) columns[j] = j;
  std::stable_sort(columns.begin(), columns.end(),
                   [&](int64_t a, int64_t b) { return tree_.high[a] - tree_.low[a] > tree_.high[b] - tree_.low[b]; });
  columns.resize(std::min<int64_t>(rows_.cols, kCurveColumns));
  const int width = static_cast<int>(columns.size()), bits = std::min(16, kCurveBits / width);
  struct Placed {
    uint32_t place;
    int32_t query;
  };
  std::vector<Placed> placed(queries.rows), other(queries.rows);
  parallel_for(
      (queries.rows + kRowsPerBlock - 1) / kRowsPerBlock, threads, interrupt, [&](int64_t block, int, StopFlag&) {
        const int64_t last = std::min(queries.rows, (block + 1) * kRowsPerBlock);
        for (int64_t i = block * kRowsPerBlock; i < last; ++i) {
          uint32_t place = 0;
          for (int c = 0; c < width; ++c) {
            const double low = tree_.low[columns[c]], extent = tree_.high[columns[c]] - low;
            const double along = (static_cast<double>(queries.row(i)[columns[c]]) - low) / extent;
            const auto steps =
                static_cast<uint32_t>(along > 0 ? std::min(along, 1 - 0x1p-20) * static_cast<double>(1 << bits) : 0.0);
            for (int b = 0; b < bits; ++b) place |= (steps >> b & 1u) << (b * width + width - 1 - c);
          }
          placed[i] = {place, static_cast<int32_t>(i)};
        }
      });
  for (int shift = 0; shift < kCurveBits; shift += 8) {  // by bytes, the last one first
    int64_t starts[257] = {};
    for (const Placed& p : placed) ++starts[(p.place >> shift & 255) + 1];
    for (int i = 0; i < 256; ++i) starts[i + 1] += starts[i];
    for (const Placed& p : placed) other[starts[p.place >> shift & 255]++] = p;
    placed.swap(other);
  }
  std::vector<int32_t> order(queries.rows);
  for (int64_t i = 0; i < queries.rows; ++i) order[i] = placed[i].query;
  return order;
}

}  // namespace tonari
