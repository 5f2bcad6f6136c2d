// SPDX-License-Identifier: BSD-3-Clause
// SparseIndex: sparse rows prepared for exhaustive search, in CSR form; cosine owns unit vectors. sparse_build makes it,
// sparse_search and sparse_within ask it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <string>
#include <variant>

#include "bind/answers.hpp"
#include "index/sparse.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

using Values = std::variant<In1<float>, In1<double>>;

// A view that can be walked safely: offsets ascend within the arrays, columns ascend within each row and the table.
template <class T>
SparseView<T> checked(const In1<int64_t>& indptr, const In1<int32_t>& columns, const In1<T>& values, int64_t cols) {
  const SparseView<T> table{view(indptr), view(columns), view(values), cols};
  require(indptr.shape(0) >= 1 && table.indptr.front() == 0, "indptr must start with 0");
  require(cols >= 1 && cols <= 2'147'483'000, "a sparse table has between 1 and 2,147,483,000 columns");
  require(columns.shape(0) == values.shape(0), "columns and values must have the same length");
  for (int64_t row = 0; row < table.rows(); ++row)
    require(table.indptr[row] <= table.indptr[row + 1], "indptr must not descend");
  require(table.indptr.back() == static_cast<int64_t>(columns.shape(0)), "indptr must end with the number of values");
  for (int64_t row = 0; row < table.rows(); ++row) {
    int64_t before = -1;
    for (const int32_t column : table.columns_of(row)) {
      require(column > before && column < cols, "columns must ascend within a row and lie within the table");
      before = column;
    }
  }
  return table;
}

struct SparseIndex {
  In1<int64_t> indptr;  // keep the borrowed rows alive
  In1<int32_t> columns;
  Values values;
  int64_t row_count = 0, cols = 0;
  bool cosine = false;
  SparseUnits units;  // cosine only
  std::variant<std::monostate, SparseRows<float>, SparseRows<double>> rows;
};

std::unique_ptr<SparseIndex> build(In1<int64_t> indptr, In1<int32_t> columns, Values values, int64_t cols,
                                   const std::string& metric, int threads) {
  auto index = std::make_unique<SparseIndex>();
  const Metric how = metric_named(metric);
  const RunParams run = run_params(threads);
  index->indptr = std::move(indptr);
  index->columns = std::move(columns);
  index->values = std::move(values);
  index->cols = cols;
  index->cosine = how == Metric::kCosine;
  std::visit(
      [&]<class T>(const In1<T>& array) {
        const SparseView<T> source = checked(index->indptr, index->columns, array, cols);
        index->row_count = source.rows();
        without_gil([&] {
          if (index->cosine) {
            index->units = sparse_units(source, false);
            index->rows.template emplace<SparseRows<double>>(index->units.view(), how, run);
          } else {
            index->rows.template emplace<SparseRows<T>>(source, how, run);
          }
        });
      },
      index->values);
  return index;
}

// Calls ask(rows, queries) with both sides in the type that decides, without the interpreter's lock.
template <class Ask>
void ask_rows(const SparseIndex& index, const In1<int64_t>& indptr, const In1<int32_t>& columns, const Values& values,
              const Ask& ask) {
  std::visit(
      [&]<class T>(const In1<T>& array) {
        const SparseView<T> queries = checked(indptr, columns, array, index.cols);
        if (index.cosine) {
          without_gil([&] {
            const SparseUnits units = sparse_units(queries, true);
            ask(std::get<SparseRows<double>>(index.rows), units.view());
          });
          return;
        }
        const auto* rows = std::get_if<SparseRows<T>>(&index.rows);
        require(rows != nullptr, "queries must have the type of the rows (float32 or float64)");
        without_gil([&] { ask(*rows, queries); });
      },
      values);
}

void search(const SparseIndex& index, const In1<int64_t>& indptr, const In1<int32_t>& columns, const Values& values,
            const Out2<double>& distances, const Out2<int64_t>& neighbours, const Groups& row_groups,
            const Groups& query_groups, int threads) {
  const int64_t queries = static_cast<int64_t>(indptr.shape(0)) - 1;
  const NearestOut out = nearest_out(index.row_count, queries, distances, neighbours);
  const Exclusion groups = exclusion(index.row_count, queries, row_groups, query_groups);
  const RunParams run = run_params(threads);
  ask_rows(index, indptr, columns, values,
           [&](const auto& rows, const auto& asked) { rows.search(asked, groups, run, out); });
}

Within within(const SparseIndex& index, const In1<int64_t>& indptr, const In1<int32_t>& columns, const Values& values,
              const In1<double>& radii, const Groups& row_groups, const Groups& query_groups, int threads) {
  const int64_t queries = static_cast<int64_t>(indptr.shape(0)) - 1;
  require(static_cast<int64_t>(radii.shape(0)) == queries, "radii must have one number per query");
  const Exclusion groups = exclusion(index.row_count, queries, row_groups, query_groups);
  const RunParams run = run_params(threads);
  Lists found;
  ask_rows(index, indptr, columns, values,
           [&](const auto& rows, const auto& asked) { rows.within(asked, view(radii), groups, run, found); });
  return give_lists(found);
}

}  // namespace
}  // namespace tonari

void bind_sparse(nanobind::module_& m) {
  using namespace tonari;
  nb::class_<SparseIndex>(m, "SparseIndex", "Sparse rows prepared for exhaustive search; immutable.")
      .def_prop_ro("rows", [](const SparseIndex& index) { return index.row_count; })
      .def_prop_ro("dim", [](const SparseIndex& index) { return index.cols; });
  m.def("sparse_build", &build, "indptr"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(), "cols"_a,
        "metric"_a, "threads"_a, "Prepare rows in CSR form, columns ascending; they are borrowed and must not change.");
  m.def("sparse_search", &search, "index"_a, "indptr"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
        "distances"_a.noconvert(), "neighbours"_a.noconvert(), "row_groups"_a.noconvert().none(),
        "query_groups"_a.noconvert().none(), "threads"_a,
        "Fill distances and neighbours (queries x k); rows of a query's own group are left out.");
  m.def("sparse_within", &within, "index"_a, "indptr"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
        "radii"_a.noconvert(), "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "threads"_a,
        "Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).");
}
