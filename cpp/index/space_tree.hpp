// SPDX-License-Identifier: BSD-3-Clause
// Search in a tree of rows: what kd_tree.hpp and ball_tree.hpp share. They differ in how a node is bounded.
//
// Solves   for every query the k rows of least (distance, row number), or all rows within a radius
// Given    rows (float32 or float64, finite), a metric (all but cosine), queries of the same type, groups as in exact.hpp
// Gives    the bits of exhaustive search (exact.hpp) whatever the rules, threads or instruction set; or, where the caller asks
//          for less, an inexact answer (Reach below)
// How      from the root, children are looked at in the order of their bounds, and left out where the bound lies beyond the
//          k-th distance; at equal distance a child is left out too when all its rows come after the k-th. Rows of a leaf
//          are decided in float64 by the leaf kernel (cpp/kernels/space_tree.inl); beyond 16 columns and for Minkowski it
//          filters and index/decide.hpp decides. Queries run in the order of a space-filling curve.
//          Where magnitudes need care (index/decide.hpp) a query is decided against every row.
// Time     few leaves per query in few dimensions, all of them in many; exhaustive search is faster then
// Memory   the rows are borrowed and kept a second time in leaf order, with 4 bytes per row and the bounds of the nodes;
//          20 bytes per query, and per thread 128 queries in float64, one leaf, and 24 bytes per neighbour of one query
#pragma once
#include <cstdint>
#include <vector>

#include "index/exact.hpp"
#include "index/judge.hpp"
#include "index/space_tree_build.hpp"

namespace tonari {

// How far a search reaches. Without backtracking it ends with the leaf that fills the list, and true neighbours may be
// missed. With eps < 1 a node is left out where it lies beyond eps times the k-th distance (the circle shrunk by eps), so
// that the i-th distance is at most 1 / eps times the true i-th one; within a radius r, all rows within eps r are found.
struct Reach {
  bool backtrack = true;
  double eps = 1;
};

// What a search has looked at.
struct Visits {
  int64_t nodes = 0, leaves = 0, rows = 0;
};

// Values of the kernels beside distances. The metric is at least factor * (the distance that belongs to a value).
struct Reduction {
  Reduced how = kSquared;
  bool decides = true;  // the value is what decides, and a distance is its root or itself
  double factor = 1;
  double slack = 0;  // relative error of a value that does not decide
  bool careful = false;  // float64 squares may underflow

  Reduction() = default;
  Reduction(const ExactParams& params, int64_t columns, bool wide);
  // No row within `distance` has a larger value.
  double most(double distance) const;
  // Whether every row of at least this value is at least so far away.
  bool reaches(double value, double distance) const;
};

// Bounds must offer, for the children of a node against a query:
//   Bounds(const TreeRows<T>&, MatrixView<const T> rows, const ExactParams&, int threads, const InterruptCheck&)
//   uint32_t operator()(int32_t node, const double* query, double most, double* bounds)   bits of those at most `most`
//   double most(double distance)                   in units of these bounds
//   bool reaches(double bound, double distance)    as in Reduction
template <class T, template <class> class Bounds>
class SpaceTree {
 public:
  // Borrows `rows`: they must stay where they are, unchanged, as long as this lives.
  SpaceTree(MatrixView<const T> rows, const ExactParams& params, const TreeParams& how, const RunParams& run);

  const MatrixView<const T>& rows() const { return rows_; }

  // As ExactRows::search and within. An inexact search may return fewer rows within a radius, never fewer than k.
  Visits search(MatrixView<const T> queries, Span<const int32_t> row_groups, Span<const int32_t> query_groups,
                const Reach& reach, const RunParams& run, MatrixView<double> distances,
                MatrixView<int64_t> neighbours) const;
  Visits within(MatrixView<const T> queries, Span<const double> radii, Span<const int32_t> row_groups,
                Span<const int32_t> query_groups, const Reach& reach, const RunParams& run, Lists& found) const;

 private:
  struct Pending {
    double bound;
    int32_t child, least_row;
  };
  struct Workspace {
    Visits visits;
    std::vector<double> queries, values;
    std::vector<int32_t> where;
    std::vector<Pending> stack;
  };

  template <class Kept, class Emit>
  Visits run(const Judge<T>& judge, const Reach& reach, const RunParams& run, const Emit& emit) const;
  template <class Kept>
  void descend(const Judge<T>& judge, int64_t query, const double* asked, const Reach& reach, Workspace& work,
               Kept& kept) const;
  template <class Kept>
  void decide(const TreeLeaf& leaf, int count, const Judge<T>& judge, int64_t query, const Decider<T>& decider,
              bool known, Workspace& work, Kept& kept) const;
  std::vector<int32_t> along_curve(MatrixView<const T> queries, int threads, const InterruptCheck& interrupt) const;

  MatrixView<const T> rows_;
  ExactParams params_;
  double largest_ = 0;  // magnitude among the rows
  TreeRows<T> tree_;
  Reduction reduction_;
  LeafKernel<T> leaf_ = nullptr;
  Bounds<T> bounds_;
};

}  // namespace tonari
