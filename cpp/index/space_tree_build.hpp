// SPDX-License-Identifier: BSD-3-Clause
// Rows cut into leaves by one coordinate at a time: what the kd-tree and the ball tree are built on.
//
// Given    rows, a rule for the coordinate (widest spread, or cyclic by level), a rule for the threshold (median, or the
//          midpoint of the box that the rows fill) and a leaf size
// Gives    rows in leaf order as panels of kLeafPanel for the leaf kernel, and nodes of up to kNodeFan children: three
//          levels of halving in one, so that one kernel call rejects seven eighths and no bit of structure is a pointer
// Order    rows with the same coordinate go left in the order of their numbers until the left side is full, so heavy
//          duplicates end in leaves like all others, and in every leaf rows ascend. The tree depends on rows and
//          rules alone: threads share subtrees whose number is fixed.
// Time     rows * (dim + a few) steps per level, log2(rows / leaf size) levels
// Memory   panels and 4 bytes per row stay; while it builds, twice as much again (beyond kCarried columns 8 bytes a row)
// After    Friedman, Bentley, Finkel 1977; midpoints: Maneewongvatana, Mount 1999
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"
#include "base/views.hpp"
#include "kernels/table.hpp"

namespace tonari {

enum class SplitRule { kSpread, kCyclic };
enum class ThresholdRule { kMedian, kMidpoint };

struct TreeParams {
  SplitRule split = SplitRule::kSpread;
  ThresholdRule threshold = ThresholdRule::kMedian;
  int64_t leaf_size = 32;  // a node of fewer than twice as many rows is a leaf
};

struct TreeLeaf {
  int32_t first, count;  // positions in leaf order
  int32_t panel;
};

// Children of a node: another node (its number) or a leaf (~ its number). least_row is the least number of a
// child's rows.
struct TreeNode {
  int32_t fan = 0;
  int32_t child[kNodeFan] = {};
  int32_t least_row[kNodeFan] = {};
  int32_t first[kNodeFan] = {}, last[kNodeFan] = {};  // positions in leaf order
};

template <class T>
struct TreeRows {
  int64_t dim = 0;  // coordinates in panels: tree_dim(columns), the last ones zero
  int64_t columns = 0;
  UnsetVector<int32_t> rows;  // row number of a position
  std::vector<TreeLeaf> leaves;
  std::vector<TreeNode> nodes;  // nodes[0] is the root; children come after their parents
  UnsetVector<T> panels;
  std::vector<T> low, high;  // of the columns
  int32_t most_in_leaf = 0;
  int32_t deepest = 1;  // nodes on the longest way down

  const T* panel(const TreeLeaf& leaf) const { return panels.data() + leaf.panel * dim * kLeafPanel; }
};

template <class T>
TreeRows<T> grow_tree(MatrixView<const T> rows, const TreeParams& params, int threads, const InterruptCheck& interrupt);

}  // namespace tonari
