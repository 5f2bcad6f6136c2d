// SPDX-License-Identifier: BSD-3-Clause
// ExactIndex: rows prepared for exhaustive search. Plain metrics borrow the caller's array and keep it alive; cosine owns
// unit vectors. exact_build makes it, exact_search and exact_within ask it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <string>
#include <type_traits>
#include <variant>

#include "bind/answers.hpp"
#include "index/exact.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

struct ExactIndex {
  Rows source;  // keeps the borrowed rows alive
  int64_t row_count = 0;
  int64_t dim = 0;
  bool cosine = false;
  AlignedVector<double> unit;  // cosine only
  std::variant<std::monostate, ExactRows<float>, ExactRows<double>> rows;
};

std::unique_ptr<ExactIndex> build(Rows rows, const std::string& metric, double p, int threads) {
  auto index = std::make_unique<ExactIndex>();
  const ExactParams params{metric_named(metric), p};
  const RunParams run = run_params(threads);
  index->cosine = params.metric == Metric::kCosine;
  index->source = std::move(rows);
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> source = view(array);
        index->row_count = source.rows;
        index->dim = source.cols;
        without_gil([&] {
          if (index->cosine) {
            index->unit = unit_rows(source, false);
            index->rows.template emplace<ExactRows<double>>(
                MatrixView<const double>{index->unit.data(), source.rows, source.cols + 2}, params, run);
          } else {
            index->rows.template emplace<ExactRows<T>>(source, params, run);
          }
        });
      },
      index->source);
  return index;
}

// Calls ask(rows, queries) with both sides in the type that decides.
template <class T, class Ask>
void ask_rows(const ExactIndex& index, MatrixView<const T> queries, const Ask& ask) {
  require(queries.cols == index.dim, "queries and rows must have the same number of columns");
  if (index.cosine) {
    const AlignedVector<double> unit = unit_rows(queries, true);
    ask(std::get<ExactRows<double>>(index.rows), MatrixView<const double>{unit.data(), queries.rows, queries.cols + 2});
    return;
  }
  const auto* rows = std::get_if<ExactRows<T>>(&index.rows);
  require(rows != nullptr, "queries must have the type of the rows (float32 or float64)");
  ask(*rows, queries);
}

void search(const ExactIndex& index, const Rows& queries, const Out2<double>& distances,
            const Out2<int64_t>& neighbours, const Groups& row_groups, const Groups& query_groups, int threads) {
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> asked = view(array);
        const NearestOut out = nearest_out(index.row_count, asked.rows, distances, neighbours);
        const Exclusion groups = exclusion(index.row_count, asked.rows, row_groups, query_groups);
        const RunParams run = run_params(threads);
        without_gil([&] {
          ask_rows(index, asked, [&](const auto& exact, const auto& view_of_queries) {
            exact.search(view_of_queries, groups.rows, groups.queries, run, out.distances, out.neighbours);
          });
        });
      },
      queries);
}

Within within(const ExactIndex& index, const Rows& queries, const In1<double>& radii, const Groups& row_groups,
              const Groups& query_groups, int threads) {
  Lists found;
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> asked = view(array);
        const Exclusion groups = exclusion(index.row_count, asked.rows, row_groups, query_groups);
        require(radii.shape(0) == array.shape(0), "radii must have one number per query");
        const RunParams run = run_params(threads);
        without_gil([&] {
          ask_rows(index, asked, [&](const auto& exact, const auto& view_of_queries) {
            exact.within(view_of_queries, view(radii), groups.rows, groups.queries, run, found);
          });
        });
      },
      queries);
  return give_lists(found);
}

// What the cascade has done so far: for those who measure it.
nb::typed<nb::dict, std::string, nb::object> work(const ExactIndex& index) {
  const CascadeWork done = std::visit(
      []<class Index>(const Index& rows) {
        if constexpr (std::is_same_v<Index, std::monostate>) {
          return CascadeWork{};
        } else {
          return rows.work();
        }
      },
      index.rows);
  nb::typed<nb::dict, std::string, nb::object> found;
  found["heads"] = done.heads;
  found["width"] = done.width;
  found["pairs"] = done.pairs;
  found["swept"] = done.swept;
  found["compared"] = done.compared;
  found["judged"] = done.judged;
  return found;
}

void map(const In2<double>& rows, const In1<double>& middle, const In2<double>& matrix, const Out2<double>& mapped,
         int threads) {
  require(middle.shape(0) == rows.shape(1) && matrix.shape(0) == rows.shape(1),
          "middle and matrix must have one row per column");
  require(mapped.shape(0) == rows.shape(0) && mapped.shape(1) == matrix.shape(1),
          "mapped must have the rows of rows and the columns of matrix");
  const RunParams run = run_params(threads);
  without_gil([&] { map_rows(view(rows), view(middle), view(matrix), run, view(mapped)); });
}

}  // namespace
}  // namespace tonari

void bind_exact(nanobind::module_& m) {
  using namespace tonari;
  nb::class_<ExactIndex>(m, "ExactIndex", "Rows prepared for exhaustive search; immutable.")
      .def_prop_ro("rows", [](const ExactIndex& index) { return index.row_count; })
      .def_prop_ro("dim", [](const ExactIndex& index) { return index.dim; })
      .def_prop_ro("work", &work, "Pairs asked for so far, and how many came to each level of the cascade.");
  m.def("exact_build", &build, "rows"_a.noconvert(), "metric"_a, "p"_a, "threads"_a,
        "Prepare rows (float32 or float64, C order, finite); they are borrowed and must not change.");
  m.def("exact_search", &search, "index"_a, "queries"_a.noconvert(), "distances"_a.noconvert(),
        "neighbours"_a.noconvert(), "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "threads"_a,
        "Fill distances and neighbours (queries x k); rows of a query's own group are left out.");
  m.def("exact_within", &within, "index"_a, "queries"_a.noconvert(), "radii"_a.noconvert(),
        "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "threads"_a,
        "Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).");
  m.def("exact_map", &map, "rows"_a.noconvert(), "middle"_a.noconvert(), "matrix"_a.noconvert(), "mapped"_a.noconvert(),
        "threads"_a, "Fill mapped with (rows - middle) matrix, every row in the same order of additions.");
}
