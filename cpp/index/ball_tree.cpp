// SPDX-License-Identifier: BSD-3-Clause
#include "index/ball_tree.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "index/space_tree_search.inl"

namespace tonari {
namespace {

constexpr double kSlack = 0x1p-40;
constexpr double kOrdinary = 1;  // searches come here with magnitudes that need no care

}  // namespace

template <class T>
Balls<T>::Balls(const TreeRows<T>& tree, MatrixView<const T> rows, const ExactParams& params, int threads,
                const InterruptCheck& interrupt)
    : params_(params), dim_(tree.columns) {
  const auto nodes = static_cast<int64_t>(tree.nodes.size());
  centres_.assign(nodes * kNodeFan * dim_, 0.0);
  radii_.assign(nodes * kNodeFan, 0.0);
  const Decider<double> decider(params.metric, params.p, dim_, kOrdinary);
  parallel_for(nodes, threads, interrupt, [&](int64_t i, int, StopFlag& stop) {
    const TreeNode& node = tree.nodes[i];
    std::vector<double> row(dim_);
    const int32_t only = 0;
    for (int c = 0; c < node.fan && !stop.stopped(); ++c) {
      double* centre = centres_.data() + (i * kNodeFan + c) * dim_;
      const auto count = static_cast<double>(node.last[c] - node.first[c]);
      for (int32_t at = node.first[c]; at < node.last[c]; ++at)
        for (int64_t j = 0; j < dim_; ++j) centre[j] += static_cast<double>(rows.row(tree.rows[at])[j]) / count;
      double farthest = 0;
      for (int32_t at = node.first[c]; at < node.last[c]; ++at) {
        std::copy_n(rows.row(tree.rows[at]), dim_, row.data());
        double distance = 0;
        decider.decide(row.data(), centre, &only, 1, &distance);
        farthest = std::max(farthest, distance);
      }
      radii_[i * kNodeFan + c] = farthest * (1 + kSlack);
    }
  });
}

template <class T>
uint32_t Balls<T>::operator()(int32_t node, const double* query, double most, double* bounds) const {
  static constexpr int32_t kAll[kNodeFan] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Decider<double> decider(params_.metric, params_.p, dim_, kOrdinary);
  decider.decide(centres_.data() + node * kNodeFan * dim_, query, kAll, kNodeFan, bounds);
  uint32_t mask = 0;
  for (int c = 0; c < kNodeFan; ++c) {
    bounds[c] = std::max(0.0, bounds[c] * (1 - kSlack) - radii_[node * kNodeFan + c]);
    mask |= static_cast<uint32_t>(bounds[c] <= most) << c;
  }
  return mask;
}

template class Balls<float>;
template class Balls<double>;
template class SpaceTree<float, Balls>;
template class SpaceTree<double, Balls>;

}  // namespace tonari
