// SPDX-License-Identifier: BSD-3-Clause
#include "index/kd_tree.hpp"

#include <algorithm>
#include <type_traits>

#include "index/space_tree_search.inl"

namespace tonari {

template <class T>
Boxes<T>::Boxes(const TreeRows<T>& tree, MatrixView<const T>, const ExactParams& params, int threads,
                const InterruptCheck& interrupt)
    : dim_(tree.dim), reduction_(params, tree.columns, std::is_same_v<T, double>) {
  if constexpr (std::is_same_v<T, float>) {
    kernel_ = kernels().boxes_f32[reduction_.how];
  } else {
    kernel_ = kernels().boxes_f64[reduction_.how];
  }
  const auto nodes = static_cast<int64_t>(tree.nodes.size());
  sides_.assign(nodes * stride(), T(0));
  constexpr int64_t kNodesPerBlock = 64;
  parallel_for((nodes + kNodesPerBlock - 1) / kNodesPerBlock, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    for (int64_t i = block * kNodesPerBlock; i < std::min(nodes, (block + 1) * kNodesPerBlock); ++i) {
      const TreeNode& node = tree.nodes[i];
      for (int c = 0; c < node.fan; ++c) {
        if (node.child[c] >= 0) continue;
        const TreeLeaf& leaf = tree.leaves[~node.child[c]];
        T* sides = sides_.data() + i * stride() + c;
        for (int64_t j = 0; j < dim_; ++j, sides += 2 * kNodeFan) {
          const T* values = tree.panel(leaf) + j * kLeafPanel;
          T low = values[0], high = values[0];
          for (int32_t r = 1; r < leaf.count; ++r) {
            const T value = values[r / kLeafPanel * dim_ * kLeafPanel + r % kLeafPanel];
            low = std::min(low, value);
            high = std::max(high, value);
          }
          sides[0] = low;
          sides[kNodeFan] = high;
        }
      }
    }
  });
  // Children come after their parents.
  for (int64_t i = nodes; i-- > 0;) {
    const TreeNode& node = tree.nodes[i];
    for (int c = 0; c < node.fan; ++c) {
      if (node.child[c] < 0) continue;
      const TreeNode& below = tree.nodes[node.child[c]];
      T* sides = sides_.data() + i * stride() + c;
      const T* inner = sides_.data() + node.child[c] * stride();
      for (int64_t j = 0; j < dim_; ++j, sides += 2 * kNodeFan, inner += 2 * kNodeFan) {
        sides[0] = *std::min_element(inner, inner + below.fan);
        sides[kNodeFan] = *std::max_element(inner + kNodeFan, inner + kNodeFan + below.fan);
      }
    }
  }
}

template class Boxes<float>;
template class Boxes<double>;
template class SpaceTree<float, Boxes>;
template class SpaceTree<double, Boxes>;

}  // namespace tonari
