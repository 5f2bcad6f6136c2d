// SPDX-License-Identifier: BSD-3-Clause
// What every index is asked with and answers in: rows of either type, groups, threads, lists of neighbours.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "index/exact.hpp"

namespace tonari {

using Rows = std::variant<In2<float>, In2<double>>;
using Groups = std::optional<In1<int32_t>>;

inline RunParams run_params(int threads) {
  require(threads >= 1, "threads must be at least 1");
  return {threads, python_interrupt};
}

struct GroupViews {
  Span<const int32_t> rows, queries;
};

inline GroupViews group_views(int64_t rows, int64_t queries, const Groups& row_groups, const Groups& query_groups) {
  require(row_groups.has_value() == query_groups.has_value(), "give groups of rows and of queries, or neither");
  if (!row_groups) return {};
  require(static_cast<int64_t>(row_groups->shape(0)) == rows, "row_groups must have one number per row");
  require(static_cast<int64_t>(query_groups->shape(0)) == queries, "query_groups must have one number per query");
  return {view(*row_groups), view(*query_groups)};
}

// Shapes of what a search for k fills agree with each other and with what was asked.
inline void check_outputs(int64_t rows, int64_t queries, MatrixView<double> distances, MatrixView<int64_t> neighbours) {
  require(distances.rows == queries && neighbours.rows == queries, "outputs must have one row per query");
  require(distances.cols == neighbours.cols, "distances and neighbours must have the same shape");
  require(distances.cols >= 1 && distances.cols <= rows, "k must lie between 1 and the number of rows");
}

// indptr, rows, distances
using Within = nb::typed<nb::tuple, decltype(give(std::vector<int64_t>{})), decltype(give(std::vector<int64_t>{})),
                         decltype(give(std::vector<double>{}))>;

inline Within give_lists(const std::vector<std::vector<double>>& distances,
                         const std::vector<std::vector<int64_t>>& neighbours) {
  std::vector<int64_t> indptr(1, 0);
  std::vector<double> all_distances;
  std::vector<int64_t> all_rows;
  for (size_t q = 0; q < neighbours.size(); ++q) {
    all_distances.insert(all_distances.end(), distances[q].begin(), distances[q].end());
    all_rows.insert(all_rows.end(), neighbours[q].begin(), neighbours[q].end());
    indptr.push_back(static_cast<int64_t>(all_rows.size()));
  }
  return nb::make_tuple(give(std::move(indptr)), give(std::move(all_rows)), give(std::move(all_distances)));
}

}  // namespace tonari
