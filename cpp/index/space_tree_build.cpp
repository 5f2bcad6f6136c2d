// SPDX-License-Identifier: BSD-3-Clause
#include "index/space_tree_build.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tonari {
namespace {

constexpr int64_t kCarried = 16;  // columns that move with their rows; wider rows are read where they are
constexpr int kSharedLevels = 6;  // 64 subtrees for the threads
constexpr int kMostMidpoints = 48;  // levels; below them medians, so that no data makes a deep tree
constexpr int64_t kSampledKeys = 256;
constexpr int64_t kSampledFrom = 256;  // shorter selections are made as they are
constexpr int64_t kBlockRows = 16384;

// A node of two children while the tree grows.
struct Branch {
  int32_t begin, end;
  int32_t depth = 0;
  int32_t left = -1, right = -1;  // -1: a leaf
  int32_t height = 0;
};

template <class T>
struct Scratch {
  std::vector<T> keys, near, low, high;
  std::vector<int32_t> order;
};

// The value of rank `rank` among keys, and how many lie below it.
template <class T>
std::pair<T, int64_t> value_of_rank(const T* keys, int64_t count, int64_t rank, std::vector<T>& near) {
  int64_t below = 0;
  near.resize(count);
  if (count >= kSampledFrom) {
    // A sample brackets the value, and one pass keeps what lies inside (after Floyd and Rivest 1975).
    T sample[kSampledKeys];
    const int64_t sampled = std::min(kSampledKeys, count / 16), at = rank * sampled / count, margin = 3 + sampled / 12;
    for (int64_t i = 0; i < sampled; ++i) sample[i] = keys[i * count / sampled];
    std::sort(sample, sample + sampled);
    const T low = at < margin ? -std::numeric_limits<T>::infinity() : sample[at - margin];
    const T high = at + margin >= sampled ? std::numeric_limits<T>::infinity() : sample[at + margin];
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T key = keys[i];
      near[kept] = key;
      kept += static_cast<int64_t>(key >= low) & static_cast<int64_t>(key <= high);
      below += static_cast<int64_t>(key < low);
    }
    if (rank >= below && rank < below + kept) {
      const auto wanted = near.begin() + (rank - below);
      std::nth_element(near.begin(), wanted, near.begin() + kept);
      const T value = *wanted;
      return {value, below + std::count_if(near.begin(), wanted, [&](T key) { return key < value; })};
    }
  }
  std::copy_n(keys, count, near.begin());
  std::nth_element(near.begin(), near.begin() + rank, near.begin() + count);
  const T value = near[rank];
  return {value, std::count_if(near.begin(), near.begin() + rank, [&](T key) { return key < value; })};
}

// Half of the rows, in whole panels where there are many.
int64_t middle(int64_t count) {
  return count < 4 * kLeafPanel ? count / 2 : (count / 2 + kLeafPanel / 2) / kLeafPanel * kLeafPanel;
}

template <class T>
class Grower {
 public:
  Grower(MatrixView<const T> rows, const TreeParams& params, int threads, const InterruptCheck& interrupt)
      : rows_(rows), params_(params), threads_(threads), interrupt_(interrupt), carried_(rows.cols <= kCarried) {}

  TreeRows<T> grow() {
    load();
    std::vector<Branch> branches(1, Branch{0, static_cast<int32_t>(rows_.rows)});
    std::vector<int32_t> level(1, 0);
    for (int i = 0; i < kSharedLevels && !level.empty(); ++i) level = grow_level(branches, level);
    std::vector<std::vector<Branch>> subtrees(level.size());
    parallel_for(static_cast<int64_t>(level.size()), threads_, interrupt_, [&](int64_t i, int, StopFlag& stop) {
      subtrees[i].assign(1, branches[level[i]]);
      Scratch<T> scratch;
      for (size_t next = 0; next < subtrees[i].size() && !stop.stopped(); ++next) split(subtrees[i], next, scratch);
    });
    for (size_t i = 0; i < level.size(); ++i) {
      const auto shift = static_cast<int32_t>(branches.size()) - 1;  // branch 0 of a subtree is there already
      for (Branch& branch : subtrees[i]) {
        if (branch.left < 0) continue;
        branch.left += shift;
        branch.right += shift;
      }
      branches[level[i]] = subtrees[i][0];
      branches.insert(branches.end(), subtrees[i].begin() + 1, subtrees[i].end());
    }
    // Children come after their parents.
    for (size_t i = branches.size(); i-- > 0;)
      if (branches[i].left >= 0)
        branches[i].height = 1 + std::max(branches[branches[i].left].height, branches[branches[i].right].height);
    return gather(branches);
  }

 private:
  // Columns and row numbers of the branches at even and odd depths.
  T* column(int depth, int64_t j) { return columns_[depth % 2].data() + j * rows_.rows; }
  int32_t* numbers(int depth) { return numbers_[depth % 2].data(); }

  void load() {
    const int64_t blocks = (rows_.rows + kBlockRows - 1) / kBlockRows, cols = rows_.cols;
    std::vector<T> low(blocks * cols, std::numeric_limits<T>::infinity()), high(blocks * cols, -low[0]);
    for (int side = 0; side < 2; ++side) {
      numbers_[side].resize(rows_.rows);
      if (carried_) columns_[side].resize(rows_.rows * rows_.cols);
    }
    parallel_for(blocks, threads_, interrupt_, [&](int64_t block, int, StopFlag&) {
      const int64_t first = block * kBlockRows, last = std::min(rows_.rows, first + kBlockRows);
      T *least = low.data() + block * cols, *most = high.data() + block * cols;
      for (int64_t i = first; i < last; ++i) {
        numbers(0)[i] = static_cast<int32_t>(i);
        widen(rows_.row(i), least, most);
      }
      for (int64_t j = 0; carried_ && j < rows_.cols; ++j)
        for (int64_t i = first; i < last; ++i) column(0, j)[i] = rows_.row(i)[j];
    });
    low_.assign(low.begin(), low.begin() + cols);
    high_.assign(high.begin(), high.begin() + cols);
    for (int64_t block = 1; block < blocks; ++block) {
      widen(low.data() + block * cols, low_.data(), high_.data());
      widen(high.data() + block * cols, low_.data(), high_.data());
    }
  }

  void widen(const T* row, T* low, T* high) const {
    for (int64_t j = 0; j < rows_.cols; ++j) {
      low[j] = row[j] < low[j] ? row[j] : low[j];
      high[j] = row[j] > high[j] ? row[j] : high[j];
    }
  }

  // Splits the branches of one level; returns those of the next.
  std::vector<int32_t> grow_level(std::vector<Branch>& branches, const std::vector<int32_t>& level) {
    std::vector<std::vector<Branch>> grown(level.size());
    parallel_for(static_cast<int64_t>(level.size()), threads_, interrupt_, [&](int64_t i, int, StopFlag&) {
      grown[i].assign(1, branches[level[i]]);
      Scratch<T> scratch;
      split(grown[i], 0, scratch);
    });
    std::vector<int32_t> next;
    for (size_t i = 0; i < level.size(); ++i) {
      if (grown[i].size() == 1) continue;
      Branch& parent = branches[level[i]];
      parent.left = static_cast<int32_t>(branches.size());
      parent.right = parent.left + 1;
      next.push_back(parent.left);
      next.push_back(parent.right);
      branches.insert(branches.end(), grown[i].begin() + 1, grown[i].end());
    }
    return next;
  }

  // Gives branches[which] two children at the end of `branches`, unless it is a leaf.
  void split(std::vector<Branch>& branches, size_t which, Scratch<T>& scratch) {
    const Branch branch = branches[which];
    const int64_t count = branch.end - branch.begin;
    if (count < 2 * params_.leaf_size || count < 2) return;
    const int64_t left = divide(branch, scratch);
    const auto cut = static_cast<int32_t>(branch.begin + left);
    branches[which].left = static_cast<int32_t>(branches.size());
    branches[which].right = branches[which].left + 1;
    branches.push_back({branch.begin, cut, branch.depth + 1});
    branches.push_back({cut, branch.end, branch.depth + 1});
  }

  // Least and largest coordinate of a column within a branch.
  std::pair<T, T> extent(const Branch& branch, int64_t j) {
    T low = std::numeric_limits<T>::infinity(), high = -low;
    if (carried_) {
      constexpr int kWays = 8;  // so that compilers vectorise
      T lows[kWays], highs[kWays];
      std::fill_n(lows, kWays, low);
      std::fill_n(highs, kWays, high);
      const T* values = column(branch.depth, j);
      int64_t i = branch.begin;
      for (; i + kWays <= branch.end; i += kWays) {
        for (int way = 0; way < kWays; ++way) {
          lows[way] = values[i + way] < lows[way] ? values[i + way] : lows[way];
          highs[way] = values[i + way] > highs[way] ? values[i + way] : highs[way];
        }
      }
      for (; i < branch.end; ++i) {
        lows[0] = std::min(lows[0], values[i]);
        highs[0] = std::max(highs[0], values[i]);
      }
      low = *std::min_element(lows, lows + kWays);
      high = *std::max_element(highs, highs + kWays);
    } else {
      for (int64_t i = branch.begin; i < branch.end; ++i) {
        const T value = rows_.row(numbers(branch.depth)[i])[j];
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    return {low, high};
  }

  // The column to split by and its extent; of equal spreads the first. Rows that are all equal have an extent of zero.
  std::pair<int64_t, std::pair<T, T>> widest(const Branch& branch, Scratch<T>& scratch) {
    const int64_t cols = rows_.cols;
    if (params_.split == SplitRule::kCyclic) {
      for (int64_t step = 0; step < cols; ++step) {
        const int64_t j = (branch.depth + step) % cols;
        const auto found = extent(branch, j);
        if (found.first < found.second) return {j, found};
      }
      return {0, extent(branch, 0)};
    }
    scratch.low.resize(cols);
    scratch.high.resize(cols);
    if (branch.depth == 0) {
      scratch.low = low_;
      scratch.high = high_;
    } else if (carried_) {
      for (int64_t j = 0; j < cols; ++j) std::tie(scratch.low[j], scratch.high[j]) = extent(branch, j);
    } else {
      std::fill(scratch.low.begin(), scratch.low.end(), std::numeric_limits<T>::infinity());
      std::fill(scratch.high.begin(), scratch.high.end(), -std::numeric_limits<T>::infinity());
      for (int64_t i = branch.begin; i < branch.end; ++i)
        widen(rows_.row(numbers(branch.depth)[i]), scratch.low.data(), scratch.high.data());
    }
    int64_t best = 0;
    for (int64_t j = 1; j < cols; ++j)
      if (scratch.high[j] - scratch.low[j] > scratch.high[best] - scratch.low[best]) best = j;
    return {best, {scratch.low[best], scratch.high[best]}};
  }

  // Moves the rows of a branch to the buffers of the next depth, left ones first; returns how many went left.
  int64_t divide(const Branch& branch, Scratch<T>& scratch) {
    const int64_t count = branch.end - branch.begin;
    const auto [j, ends] = widest(branch, scratch);
    const T* keys = nullptr;
    if (carried_) {
      keys = column(branch.depth, j) + branch.begin;
    } else {
      scratch.keys.resize(count);
      for (int64_t i = 0; i < count; ++i) scratch.keys[i] = rows_.row(numbers(branch.depth)[branch.begin + i])[j];
      keys = scratch.keys.data();
    }
    // Left go keys below the threshold, and of those equal to it the first `equal`.
    T threshold = 0;
    int64_t left = middle(count), equal = 0;
    bool ranked = true;
    if (params_.threshold == ThresholdRule::kMidpoint && ends.first < ends.second && branch.depth < kMostMidpoints) {
      threshold = ends.first / 2 + ends.second / 2;
      if (!(threshold < ends.second)) threshold = ends.first;
      if (threshold < ends.first) threshold = ends.first;  // halves of the least numbers lose a bit
      equal = count;
      int64_t below = 0;
      for (int64_t i = 0; i < count; ++i) below += static_cast<int64_t>(keys[i] <= threshold);
      // The cut slides until either side has half a leaf: panels stay at least half as full as leaves.
      const int64_t least = (params_.leaf_size + 1) / 2;
      left = std::clamp(below, least, count - least);
      ranked = left != below;
    }
    if (ranked) {
      const auto [value, below] = value_of_rank(keys, count, left - 1, scratch.near);
      threshold = value;
      equal = left - below;
    }
    scratch.order.resize(count);
    int64_t to_left = 0, to_right = left;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t same = static_cast<int64_t>(keys[i] == threshold);
      const int64_t goes_left = static_cast<int64_t>(keys[i] < threshold) | (same & static_cast<int64_t>(equal > 0));
      equal -= same;
      scratch.order[goes_left != 0 ? to_left : to_right] = static_cast<int32_t>(i);
      to_left += goes_left;
      to_right += 1 - goes_left;
    }
    move(numbers(branch.depth), numbers(branch.depth + 1), branch, scratch.order);
    for (int64_t c = 0; carried_ && c < rows_.cols; ++c)
      move(column(branch.depth, c), column(branch.depth + 1, c), branch, scratch.order);
    return left;
  }

  template <class Value>
  static void move(const Value* from, Value* to, const Branch& branch, const std::vector<int32_t>& order) {
    const int64_t count = branch.end - branch.begin;
    from += branch.begin;
    to += branch.begin;
    for (int64_t i = 0; i < count; ++i) to[i] = from[order[i]];
  }

  // Leaves from left to right, nodes of kNodeFan children from the top down, and panels.
  TreeRows<T> gather(const std::vector<Branch>& branches) {
    TreeRows<T> tree;
    tree.columns = rows_.cols;
    tree.dim = tree_dim(rows_.cols);
    tree.low = low_;
    tree.high = high_;
    tree.rows.resize(rows_.rows);
    std::vector<int32_t> leaf_of(branches.size(), -1), depth_of;
    std::vector<int32_t> pending(1, 0);
    int64_t panels = 0;
    while (!pending.empty()) {
      const int32_t which = pending.back();
      const Branch& branch = branches[which];
      pending.pop_back();
      if (branch.left >= 0) {
        pending.push_back(branch.right);
        pending.push_back(branch.left);
        continue;
      }
      leaf_of[which] = static_cast<int32_t>(tree.leaves.size());
      tree.leaves.push_back({branch.begin, branch.end - branch.begin, static_cast<int32_t>(panels)});
      depth_of.push_back(branch.depth);
      panels += (branch.end - branch.begin + kLeafPanel - 1) / kLeafPanel;
      tree.most_in_leaf = std::max(tree.most_in_leaf, branch.end - branch.begin);
    }
    join(branches, leaf_of, tree);
    tree.panels.resize(panels * tree.dim * kLeafPanel);
    const auto leaves = static_cast<int64_t>(tree.leaves.size());
    constexpr int64_t kLeavesPerBlock = 256;
    parallel_for((leaves + kLeavesPerBlock - 1) / kLeavesPerBlock, threads_, interrupt_,
                 [&](int64_t block, int, StopFlag&) {
                   const int64_t last = std::min(leaves, (block + 1) * kLeavesPerBlock);
                   for (int64_t i = block * kLeavesPerBlock; i < last; ++i) fill(tree, tree.leaves[i], depth_of[i]);
                 });
    for (size_t i = tree.nodes.size(); i-- > 0;) {  // children come after their parents
      TreeNode& node = tree.nodes[i];
      for (int c = 0; c < node.fan; ++c) {
        const TreeNode* below = node.child[c] < 0 ? nullptr : &tree.nodes[node.child[c]];
        node.least_row[c] = below == nullptr ? tree.rows[node.first[c]]
                                             : *std::min_element(below->least_row, below->least_row + below->fan);
      }
    }
    return tree;
  }

  void fill(TreeRows<T>& tree, const TreeLeaf& leaf, int depth) {
    std::copy_n(numbers(depth) + leaf.first, leaf.count, tree.rows.data() + leaf.first);
    // Places beyond the last row, and coordinates beyond the last column, are zero.
    const int64_t panels = (leaf.count + kLeafPanel - 1) / kLeafPanel;
    std::fill_n(tree.panels.data() + leaf.panel * tree.dim * kLeafPanel, panels * tree.dim * kLeafPanel, T(0));
    for (int32_t i = 0; i < leaf.count; ++i) {
      T* to = tree.panels.data() + (leaf.panel + i / kLeafPanel) * tree.dim * kLeafPanel + i % kLeafPanel;
      const T* row = carried_ ? nullptr : rows_.row(numbers(depth)[leaf.first + i]);
      for (int64_t j = 0; j < rows_.cols; ++j)
        to[j * kLeafPanel] = carried_ ? column(depth, j)[leaf.first + i] : row[j];
    }
  }

  // Joins three levels of halving into one node. Cuts lie at heights divisible by three, so that full nodes are at the
  // bottom, where searches spend their time.
  static void join(const std::vector<Branch>& branches, const std::vector<int32_t>& leaf_of, TreeRows<T>& tree) {
    struct Waiting {
      int32_t branch, node, depth;
    };
    std::vector<Waiting> waiting(1, Waiting{0, 0, 1});
    tree.nodes.emplace_back();
    while (!waiting.empty()) {
      const Waiting next = waiting.back();
      waiting.pop_back();
      tree.deepest = std::max(tree.deepest, next.depth);
      const int32_t height = (branches[next.branch].height - 1) / 3 * 3;
      std::vector<int32_t> open(1, next.branch), children;
      while (!open.empty()) {
        const int32_t which = open.back();
        open.pop_back();
        const Branch& branch = branches[which];
        if (branch.left >= 0 && (which == next.branch || branch.height > height)) {
          open.push_back(branch.right);
          open.push_back(branch.left);
        } else {
          children.push_back(which);
        }
      }
      for (const int32_t which : children) {
        const Branch& branch = branches[which];
        int32_t child = ~leaf_of[which];
        if (branch.left >= 0) {
          child = static_cast<int32_t>(tree.nodes.size());
          tree.nodes.emplace_back();
          waiting.push_back({which, child, next.depth + 1});
        }
        TreeNode& node = tree.nodes[next.node];
        node.child[node.fan] = child;
        node.first[node.fan] = branch.begin;
        node.last[node.fan++] = branch.end;
      }
    }
  }

  MatrixView<const T> rows_;
  TreeParams params_;
  int threads_;
  const InterruptCheck& interrupt_;
  bool carried_;
  std::vector<T> low_, high_;
  UnsetVector<T> columns_[2];
  UnsetVector<int32_t> numbers_[2];
};

}  // namespace

template <class T>
TreeRows<T> grow_tree(MatrixView<const T> rows, const TreeParams& params, int threads,
                      const InterruptCheck& interrupt) {
  return Grower<T>(rows, params, threads, interrupt).grow();
}

template TreeRows<float> grow_tree(MatrixView<const float>, const TreeParams&, int, const InterruptCheck&);
template TreeRows<double> grow_tree(MatrixView<const double>, const TreeParams&, int, const InterruptCheck&);

}  // namespace tonari
