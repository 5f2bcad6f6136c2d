// SPDX-License-Identifier: BSD-3-Clause
// SpaceTree: rows in a kd-tree or a ball tree. It borrows the caller's array and keeps it alive. space_tree_build makes it,
// space_tree_search and space_tree_within ask it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <string>
#include <variant>

#include "bind/answers.hpp"
#include "index/ball_tree.hpp"
#include "index/kd_tree.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

struct SpaceTreeIndex {
  Rows source;  // keeps the borrowed rows alive
  int64_t row_count = 0;
  int64_t dim = 0;
  std::variant<std::monostate, KdTree<float>, KdTree<double>, BallTree<float>, BallTree<double>> tree;
};

TreeParams tree_params(const std::string& split, const std::string& threshold, int64_t leaf_size) {
  require(split == "spread" || split == "cyclic", "split must be spread or cyclic");
  require(threshold == "median" || threshold == "midpoint", "threshold must be median or midpoint");
  return {split == "spread" ? SplitRule::kSpread : SplitRule::kCyclic,
          threshold == "median" ? ThresholdRule::kMedian : ThresholdRule::kMidpoint, leaf_size};
}

std::unique_ptr<SpaceTreeIndex> build(Rows rows, const std::string& kind, const std::string& metric, double p,
                                      const std::string& split, const std::string& threshold, int64_t leaf_size,
                                      int threads) {
  require(kind == "kd_tree" || kind == "ball_tree", "kind must be kd_tree or ball_tree");
  auto index = std::make_unique<SpaceTreeIndex>();
  const ExactParams params{metric_named(metric), p};
  const TreeParams how = tree_params(split, threshold, leaf_size);
  const RunParams run = run_params(threads);
  index->source = std::move(rows);
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> source = view(array);
        index->row_count = source.rows;
        index->dim = source.cols;
        without_gil([&] {
          if (kind == "kd_tree") {
            index->tree.template emplace<KdTree<T>>(source, params, how, run);
          } else {
            index->tree.template emplace<BallTree<T>>(source, params, how, run);
          }
        });
      },
      index->source);
  return index;
}

// Calls ask(tree, queries) without the interpreter's lock; queries and rows must be of one type.
template <class T, class Ask>
void ask_tree(const SpaceTreeIndex& index, MatrixView<const T> queries, const Ask& ask) {
  require(queries.cols == index.dim, "queries and rows must have the same number of columns");
  const auto* kd = std::get_if<KdTree<T>>(&index.tree);
  const auto* ball = std::get_if<BallTree<T>>(&index.tree);
  require(kd != nullptr || ball != nullptr, "queries must have the type of the rows (float32 or float64)");
  without_gil([&] { kd != nullptr ? ask(*kd) : ask(*ball); });
}

Reach reach_of(bool backtrack, double eps) {
  require(eps > 0 && eps <= 1, "eps must lie in (0, 1]");
  return {backtrack, eps};
}

nb::typed<nb::tuple, int64_t, int64_t, int64_t> search(const SpaceTreeIndex& index, const Rows& queries,
                                                       const Out2<double>& distances, const Out2<int64_t>& neighbours,
                                                       const Groups& row_groups, const Groups& query_groups,
                                                       bool backtrack, double eps, int threads) {
  Visits visits;
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> asked = view(array);
        const NearestOut out = nearest_out(index.row_count, asked.rows, distances, neighbours);
        const Exclusion groups = exclusion(index.row_count, asked.rows, row_groups, query_groups);
        const RunParams run = run_params(threads);
        const Reach reach = reach_of(backtrack, eps);
        ask_tree(index, asked, [&](const auto& tree) {
          visits = tree.search(asked, groups.rows, groups.queries, reach, run, out.distances, out.neighbours);
        });
      },
      queries);
  return nb::make_tuple(visits.nodes, visits.leaves, visits.rows);
}

Within within(const SpaceTreeIndex& index, const Rows& queries, const In1<double>& radii, const Groups& row_groups,
              const Groups& query_groups, bool backtrack, double eps, int threads) {
  Lists found;
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> asked = view(array);
        const Exclusion groups = exclusion(index.row_count, asked.rows, row_groups, query_groups);
        require(radii.shape(0) == array.shape(0), "radii must have one number per query");
        const RunParams run = run_params(threads);
        const Reach reach = reach_of(backtrack, eps);
        ask_tree(index, asked, [&](const auto& tree) {
          tree.within(asked, view(radii), groups.rows, groups.queries, reach, run, found);
        });
      },
      queries);
  return give_lists(found);
}

}  // namespace
}  // namespace tonari

void bind_space_tree(nanobind::module_& m) {
  using namespace tonari;
  nb::class_<SpaceTreeIndex>(m, "SpaceTree", "Rows in a kd-tree or a ball tree; immutable.")
      .def_prop_ro("rows", [](const SpaceTreeIndex& index) { return index.row_count; })
      .def_prop_ro("dim", [](const SpaceTreeIndex& index) { return index.dim; });
  m.def("space_tree_build", &build, "rows"_a.noconvert(), "kind"_a, "metric"_a, "p"_a, "split"_a, "threshold"_a,
        "leaf_size"_a, "threads"_a,
        "Put rows (float32 or float64, C order, finite) into a tree; they are borrowed and must not change.");
  m.def("space_tree_search", &search, "index"_a, "queries"_a.noconvert(), "distances"_a.noconvert(),
        "neighbours"_a.noconvert(), "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(),
        "backtrack"_a, "eps"_a, "threads"_a,
        "Fill distances and neighbours (queries x k); returns how many nodes, leaves and rows were looked at.");
  m.def("space_tree_within", &within, "index"_a, "queries"_a.noconvert(), "radii"_a.noconvert(),
        "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "backtrack"_a, "eps"_a, "threads"_a,
        "Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).");
}
