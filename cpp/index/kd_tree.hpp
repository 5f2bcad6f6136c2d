// SPDX-License-Identifier: BSD-3-Clause
// The kd-tree: nodes bounded by the boxes that their rows fill (Bentley 1975; Friedman, Bentley, Finkel 1977).
// Serves Euclidean, Manhattan, Chebyshev and Minkowski distances. See space_tree.hpp for what is promised.
#pragma once
#include <cstdint>

#include "base/memory.hpp"
#include "index/space_tree.hpp"

namespace tonari {

// Boxes of the children of every node, in the type of the rows: [node][dim][low, high][child].
template <class T>
class Boxes {
 public:
  Boxes() = default;
  Boxes(const TreeRows<T>& tree, MatrixView<const T> rows, const ExactParams& params, int threads,
        const InterruptCheck& interrupt);

  uint32_t operator()(int32_t node, const double* query, double most, double* bounds) const {
    return kernel_(sides_.data() + node * stride(), dim_, query, most, bounds);
  }
  double most(double distance) const { return reduction_.most(distance); }
  bool reaches(double bound, double distance) const { return reduction_.reaches(bound, distance); }

 private:
  int64_t stride() const { return 2 * kNodeFan * dim_; }

  int64_t dim_ = 0;
  AlignedVector<T> sides_;
  Reduction reduction_;
  BoxKernel<T> kernel_ = nullptr;
};

template <class T>
using KdTree = SpaceTree<T, Boxes>;

extern template class SpaceTree<float, Boxes>;
extern template class SpaceTree<double, Boxes>;

}  // namespace tonari
