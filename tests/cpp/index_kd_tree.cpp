// SPDX-License-Identifier: BSD-3-Clause
// The trees against exhaustive search, their kernels against plain loops, and the shape that the rules give them.
#include "index/kd_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "guarded.hpp"
#include "index/ball_tree.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr TreeParams kRules[] = {{SplitRule::kSpread, ThresholdRule::kMedian, 1},
                                 {SplitRule::kSpread, ThresholdRule::kMidpoint, 3},
                                 {SplitRule::kCyclic, ThresholdRule::kMedian, 16},
                                 {SplitRule::kCyclic, ThresholdRule::kMidpoint, 9}};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); });
}

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// Rows of few distinct values: ties, duplicates and constant columns.
template <class T>
std::vector<T> coarse(Numbers& numbers, int64_t rows, int64_t dim, int64_t values) {
  std::vector<T> out(at(rows * dim));
  for (T& value : out) value = static_cast<T>(static_cast<double>(numbers.below(values)) / 4 + 100);
  for (int64_t i = 0; i < rows; ++i) out[at(i * dim)] = T(3);
  return out;
}

template <class Index, class T, class... Reaching>
void ask(const Index& index, MatrixView<const T> queries, int64_t k, Span<const int32_t> rows,
         Span<const int32_t> groups, int threads, std::vector<double>& distances, std::vector<int64_t>& neighbours,
         Reaching... reach) {
  distances.assign(at(queries.rows * k), -1);
  neighbours.assign(at(queries.rows * k), -1);
  index.search(queries, rows, groups, reach..., {threads, {}}, {distances.data(), queries.rows, k},
               {neighbours.data(), queries.rows, k});
}

template <class T, template <class> class Bounds>
void check_like_exhaustive(uint64_t seed, int64_t rows, int64_t dim, int64_t values, const ExactParams& params) {
  Numbers numbers(seed);
  const std::vector<T> table = coarse<T>(numbers, rows, dim, values), asked = coarse<T>(numbers, 70, dim, values + 3);
  const MatrixView<const T> view{table.data(), rows, dim}, queries{asked.data(), 70, dim};
  std::vector<int32_t> row_groups(at(rows)), query_groups(70);
  for (int32_t& group : row_groups) group = static_cast<int32_t>(numbers.below(5));
  for (int32_t& group : query_groups) group = static_cast<int32_t>(numbers.below(5));
  const ExactRows<T> exhaustive(view, params, {1, {}});
  for (const TreeParams& rules : kRules) {
    const SpaceTree<T, Bounds> tree(view, params, rules, {2, {}});
    for (const int64_t k : {int64_t{1}, int64_t{9}, std::min<int64_t>(65, rows / 2)}) {
      std::vector<double> expected, found;
      std::vector<int64_t> expected_rows, found_rows;
      for (const bool grouped : {false, true}) {
        const Span<const int32_t> r = grouped ? Span<const int32_t>(row_groups) : Span<const int32_t>();
        const Span<const int32_t> q = grouped ? Span<const int32_t>(query_groups) : Span<const int32_t>();
        ask(exhaustive, queries, k, r, q, 1, expected, expected_rows);
        for (const int threads : {1, 2, 3}) {
          ask(tree, queries, k, r, q, threads, found, found_rows, Reach{});
          CHECK(found_rows == expected_rows);
          CHECK(same_bits(found, expected));
        }
      }
    }
    Lists expected, found;
    std::vector<double> radii(queries.rows, 0.75);
    for (size_t i = 0; i < radii.size(); i += 3) radii[i] = 0.25;
    exhaustive.within(queries, radii, {}, {}, {1, {}}, expected);
    tree.within(queries, radii, {}, {}, Reach{}, {2, {}}, found);
    CHECK(found.neighbours == expected.neighbours);
    CHECK(std::equal(found.distances.begin(), found.distances.end(), expected.distances.begin(),
                     expected.distances.end(), same_bits));
  }
}

// Every row once, panels that hold it, leaves and nodes that cover their range, boxes apart from nothing.
template <class T>
void check_shape(const TreeRows<T>& tree, MatrixView<const T> rows, int64_t leaf_size) {
  std::vector<int32_t> seen(tree.rows.begin(), tree.rows.end());
  std::sort(seen.begin(), seen.end());
  bool once = true;
  for (int64_t i = 0; i < rows.rows; ++i) once &= seen[at(i)] == i;
  REQUIRE(once);
  int32_t next = 0;
  bool ascends = true, held = true;
  for (const TreeLeaf& leaf : tree.leaves) {
    REQUIRE(leaf.first == next);
    REQUIRE(leaf.count >= 1);
    REQUIRE(leaf.count <= std::max<int64_t>(1, 2 * leaf_size - 1));
    next += leaf.count;
    for (int32_t i = 0; i < leaf.count; ++i) {
      const int32_t row = tree.rows[at(leaf.first + i)];
      ascends &= (i == 0 || tree.rows[at(leaf.first + i - 1)] < row);
      for (int64_t j = 0; j < tree.dim; ++j) {
        const T value = tree.panel(leaf)[(i / kLeafPanel * tree.dim + j) * kLeafPanel + i % kLeafPanel];
        held &= value == (j < rows.cols ? rows.row(row)[j] : T(0));
      }
    }
  }
  CHECK(ascends);
  CHECK(held);
  REQUIRE(next == rows.rows);
  std::size_t children = 0;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const TreeNode& node = tree.nodes[n];
    REQUIRE(node.fan >= 1);
    for (int c = 0; c < node.fan; ++c, ++children) {
      REQUIRE((c == 0 || node.first[c] == node.last[c - 1]));
      REQUIRE(node.least_row[c] ==
              *std::min_element(tree.rows.begin() + node.first[c], tree.rows.begin() + node.last[c]));
      if (node.child[c] >= 0) REQUIRE(static_cast<std::size_t>(node.child[c]) > n);
      if (node.child[c] < 0) REQUIRE(tree.leaves[at(~node.child[c])].first == node.first[c]);
    }
  }
  CHECK(children == tree.leaves.size() + tree.nodes.size() - 1);
}

}  // namespace

TEST_CASE("a kd-tree gives the bits of exhaustive search") {
  uint64_t seed = 1;
  for (const int64_t dim : {1, 2, 3, 5, 7, 9, 13, 16, 17, 20})
    for (const Metric metric : {Metric::kEuclidean, Metric::kManhattan, Metric::kChebyshev}) {
      CAPTURE(dim);
      check_like_exhaustive<double, Boxes>(++seed, 300, dim, 6, {metric, 2});
      check_like_exhaustive<float, Boxes>(++seed, 130, dim, 3, {metric, 2});
    }
  for (const double p : {1.5, 3.0, 9.0})
    check_like_exhaustive<double, Boxes>(++seed, 200, 3, 9, {Metric::kMinkowski, p});
}

TEST_CASE("a ball tree gives the bits of exhaustive search") {
  uint64_t seed = 100;
  for (const int64_t dim : {1, 3, 8, 19})
    for (const Metric metric : {Metric::kEuclidean, Metric::kManhattan, Metric::kChebyshev}) {
      CAPTURE(dim);
      check_like_exhaustive<double, Balls>(++seed, 300, dim, 6, {metric, 2});
      check_like_exhaustive<float, Balls>(++seed, 130, dim, 3, {metric, 2});
    }
  check_like_exhaustive<float, Balls>(++seed, 150, 4, 9, {Metric::kMinkowski, 2.5});
}

TEST_CASE("leaves and nodes hold every row once, whatever the rules and the threads") {
  Numbers numbers(7);
  for (const int64_t rows : {1, 2, 31, 64, 3000})
    for (const int64_t dim : {1, 3, 7, 18})
      for (const TreeParams& rules : kRules) {
        std::vector<double> table(at(rows * dim));
        for (double& value : table) value = numbers.below(3) == 0 ? 1.0 : std::exp(8 * numbers.normal());
        const MatrixView<const double> view{table.data(), rows, dim};
        const TreeRows<double> one = grow_tree(view, rules, 1, {}), three = grow_tree(view, rules, 3, {});
        check_shape(one, view, rules.leaf_size);
        CHECK(one.rows == three.rows);
        CHECK(one.panels == three.panels);
        CHECK(one.nodes.size() == three.nodes.size());
      }
}

TEST_CASE("no data make a deep tree") {
  std::vector<double> table(4000);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::ldexp(1.0, -static_cast<int>(i % 1000));
  const MatrixView<const double> view{table.data(), 4000, 1};
  for (const TreeParams& rules : kRules) {
    const TreeRows<double> tree = grow_tree(view, {rules.split, rules.threshold, 1}, 2, {});
    check_shape(tree, view, 1);
    CHECK(tree.deepest <= 30);
  }
}

TEST_CASE_TEMPLATE("the leaf kernel decides as exhaustive search does", T, float, double) {
  Numbers numbers(11);
  for (const int64_t dim : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 40}) {
    const int64_t padded = tree_dim(dim);
    for (const int64_t count : {1, 7, 15, 16, 17, 33}) {
      const int64_t panels = (count + kLeafPanel - 1) / kLeafPanel;
      Guarded<T> panel(panels * padded * kLeafPanel);
      for (T& value : panel.values()) value = T(0);
      std::vector<T> rows(at(count * dim)), asked(at(dim));
      for (T& value : asked) value = static_cast<T>(numbers.normal());
      for (int64_t i = 0; i < count * dim; ++i) {
        rows[at(i)] = static_cast<T>(numbers.normal());
        panel.values()[at((i / dim / kLeafPanel * padded + i % dim) * kLeafPanel + i / dim % kLeafPanel)] = rows[at(i)];
      }
      std::vector<double> query(at(padded), 0.0), values(at(count));
      std::copy(asked.begin(), asked.end(), query.begin());
      std::vector<int32_t> where(at(count));
      for (const Reduced how : {kSquared, kAbsolute, kLargest}) {
        const auto leaf = [&] {
          if constexpr (std::is_same_v<T, float>) {
            return kernels().leaf_f32[how];
          } else {
            return kernels().leaf_f64[how];
          }
        }();
        const double most = oracle_sum(how, rows.data(), asked.data(), dim);
        for (const double threshold : {kInfinity, most, -1.0}) {
          const int kept = leaf(panel.data(), padded, count, query.data(), threshold, values.data(), where.data());
          int expected = 0;
          for (int64_t i = 0; i < count; ++i) {
            const double value = oracle_sum(how, rows.data() + i * dim, asked.data(), dim);
            if (dim > kTreeJoined && how != kLargest) {
              if (threshold == kInfinity) CHECK(values[at(i)] == doctest::Approx(value).epsilon(1e-14));
              continue;
            }
            if (value > threshold) continue;
            REQUIRE(expected < kept);
            CHECK(where[at(expected)] == i);
            CHECK(std::bit_cast<uint64_t>(values[at(expected++)]) == std::bit_cast<uint64_t>(value));
          }
          if (dim <= kTreeJoined) CHECK(kept == expected);
        }
      }
    }
  }
}

TEST_CASE("merged candidates are the least of both in order, and equal distances are refused") {
  Numbers numbers(13);
  for (int round = 0; round < 2000; ++round) {
    const int wanted = 1 + static_cast<int>(numbers.below(kListMost));
    const int count = static_cast<int>(numbers.below(wanted + 1)),
              fresh = static_cast<int>(numbers.below(kMergeMost + 1));
    const bool coarse_numbers = round % 4 == 0;
    const auto draw = [&] { return coarse_numbers ? static_cast<double>(numbers.below(900)) : numbers.uniform(); };
    std::vector<double> list(kListMost, kInfinity), some(kMergeMost, -1.0);
    std::vector<int32_t> rows(kListMost, -1), some_rows(kMergeMost, -1);
    std::vector<std::pair<double, int32_t>> all;
    for (int i = 0; i < count; ++i) list[at(i)] = draw();
    std::sort(list.begin(), list.begin() + count);
    for (int i = 0; i < count; ++i) all.emplace_back(list[at(i)], rows[at(i)] = i);
    for (int i = 0; i < fresh; ++i) all.emplace_back(some[at(i)] = draw(), some_rows[at(i)] = 1000 + i);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    bool tie = false;
    for (std::size_t i = 1; i < all.size(); ++i)
      tie |= all[i].first == all[i - 1].first && (all[i].second >= 1000 || all[i - 1].second >= 1000);
    const std::vector<double> untouched = list;
    const int merged = kernels().merge(list.data(), rows.data(), count, wanted, some.data(), some_rows.data(), fresh);
    if (tie) {
      CHECK(merged == -1);
      CHECK(list == untouched);
      continue;
    }
    REQUIRE(merged == std::min<int>(wanted, count + fresh));
    bool in_order = true;
    for (int i = 0; i < merged; ++i) in_order &= list[at(i)] == all[at(i)].first && rows[at(i)] == all[at(i)].second;
    CHECK(in_order);
  }
}

TEST_CASE("the bound of a box never exceeds the value of a row in it") {
  Numbers numbers(17);
  for (const int64_t dim : {1, 2, 3, 5, 6, 8, 10, 12, 16})
    for (int round = 0; round < 40; ++round) {
      Guarded<double> sides(2 * kNodeFan * dim);
      std::vector<double> query(at(dim)), row(at(dim * kNodeFan));
      for (double& value : query) value = numbers.wide(4, 4);
      for (int64_t j = 0; j < dim; ++j)
        for (int c = 0; c < kNodeFan; ++c) {
          const double a = numbers.wide(4, 4), b = numbers.wide(4, 4), low = std::min(a, b), high = std::max(a, b);
          sides.values()[at(2 * j * kNodeFan + c)] = low;
          sides.values()[at((2 * j + 1) * kNodeFan + c)] = high;
          row[at(c * dim + j)] = std::clamp(numbers.below(2) ? query[at(j)] : numbers.wide(4, 4), low, high);
        }
      for (const Reduced how : {kSquared, kAbsolute, kLargest}) {
        double bounds[kNodeFan];
        const uint32_t all = kernels().boxes_f64[how](sides.data(), dim, query.data(), kInfinity, bounds);
        CHECK(all == (1u << kNodeFan) - 1);
        for (int c = 0; c < kNodeFan; ++c) CHECK(bounds[c] <= oracle_sum(how, row.data() + c * dim, query.data(), dim));
        CHECK((kernels().boxes_f64[how](sides.data(), dim, query.data(), bounds[3], bounds) >> 3 & 1) == 1);
      }
    }
}

TEST_CASE("trees refuse what they cannot serve") {
  const std::vector<double> table(8, 1.0);
  const MatrixView<const double> view{table.data(), 4, 2};
  CHECK_THROWS_AS(KdTree<double>(view, {Metric::kCosine, 2}, {}, {1, {}}), std::invalid_argument);
  CHECK_THROWS_AS(BallTree<double>(view, {Metric::kMinkowski, 0.5}, {}, {1, {}}), std::invalid_argument);
  CHECK_THROWS_AS(KdTree<double>(view, {}, {SplitRule::kSpread, ThresholdRule::kMedian, 0}, {1, {}}),
                  std::invalid_argument);
  CHECK_THROWS_AS(KdTree<double>(MatrixView<const double>{table.data(), 0, 2}, {}, {}, {1, {}}), std::invalid_argument);
}
