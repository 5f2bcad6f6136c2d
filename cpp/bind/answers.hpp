// SPDX-License-Identifier: BSD-3-Clause
// What every index is asked and how it answers: rows of either type and groups in, neighbours out.
#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "index/blocks.hpp"

namespace tonari {

using Rows = std::variant<In2<float>, In2<double>>;
using Groups = std::optional<In1<int32_t>>;

inline RunParams run_params(int threads) {
  require(threads >= 1, "threads must be at least 1");
  return {threads, python_interrupt};
}

inline Exclusion exclusion(int64_t rows, int64_t queries, const Groups& row_groups, const Groups& query_groups) {
  require(row_groups.has_value() == query_groups.has_value(), "give groups of rows and of queries, or neither");
  if (!row_groups) return {};
  require(static_cast<int64_t>(row_groups->shape(0)) == rows, "row_groups must have one number per row");
  require(static_cast<int64_t>(query_groups->shape(0)) == queries, "query_groups must have one number per query");
  return {view(*row_groups), view(*query_groups)};
}

inline NearestOut nearest_out(int64_t rows, int64_t queries, const Out2<double>& distances,
                              const Out2<int64_t>& neighbours) {
  const NearestOut out{view(distances), view(neighbours)};
  require(out.distances.rows == queries && out.neighbours.rows == queries, "outputs must have one row per query");
  require(out.distances.cols == out.neighbours.cols, "distances and neighbours must have the same shape");
  require(out.distances.cols >= 1 && out.distances.cols <= rows, "k must lie between 1 and the number of rows");
  return out;
}

// indptr, rows, distances
using Within = nb::typed<nb::tuple, decltype(give(std::vector<int64_t>{})), decltype(give(std::vector<int64_t>{})),
                         decltype(give(std::vector<double>{}))>;

inline Within give_lists(const Lists& found) {
  std::vector<int64_t> indptr(1, 0), rows;
  std::vector<double> distances;
  for (size_t q = 0; q < found.neighbours.size(); ++q) {
    distances.insert(distances.end(), found.distances[q].begin(), found.distances[q].end());
    rows.insert(rows.end(), found.neighbours[q].begin(), found.neighbours[q].end());
    indptr.push_back(static_cast<int64_t>(rows.size()));
  }
  return nb::make_tuple(give(std::move(indptr)), give(std::move(rows)), give(std::move(distances)));
}

}  // namespace tonari
