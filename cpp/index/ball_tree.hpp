// SPDX-License-Identifier: BSD-3-Clause
// The ball tree: nodes bounded by a centre and the distance of their farthest row, for any metric that the engine decides
// and that keeps the triangle inequality (Omohundro 1989). See space_tree.hpp for what is promised.
//
// Bound   D(q, x) >= D(q, c) - D(c, x) for every row x of the node; both sides carry 2^-40 of slack, which covers the
//         rounding of every distance (index/decide.hpp)
// Cuts    as the kd-tree's, by one coordinate at a time; centres are means
#pragma once
#include <cstdint>

#include "base/memory.hpp"
#include "index/space_tree.hpp"

namespace tonari {

template <class T>
class Balls {
 public:
  Balls() = default;
  Balls(const TreeRows<T>& tree, MatrixView<const T> rows, const ExactParams& params, int threads,
        const InterruptCheck& interrupt);

  uint32_t operator()(int32_t node, const double* query, double most, double* bounds) const;
  double most(double distance) const { return distance; }
  bool reaches(double bound, double distance) const { return bound >= distance; }

 private:
  ExactParams params_;
  int64_t dim_ = 0;
  AlignedVector<double> centres_;  // [node][child][dim]
  AlignedVector<double> radii_;  // [node][child], rounded up
};

template <class T>
using BallTree = SpaceTree<T, Balls>;

extern template class SpaceTree<float, Balls>;
extern template class SpaceTree<double, Balls>;

}  // namespace tonari
