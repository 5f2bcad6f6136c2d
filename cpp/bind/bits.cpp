// SPDX-License-Identifier: BSD-3-Clause
// BitIndex: packed bits prepared for exhaustive search. bits_build makes it, bits_search and bits_within ask it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <string>

#include "bind/answers.hpp"
#include "index/bits.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

std::unique_ptr<BitRows> build(const In2<uint8_t>& rows, int64_t columns, const std::string& metric, int threads) {
  const BitMetric how = bit_metric_named(metric);
  require(columns >= 1, "columns must be at least 1");
  require(how == BitMetric::kCategories || static_cast<int64_t>(rows.shape(1)) == (columns + 7) / 8,
          "rows must have one byte for every eight columns");
  const RunParams run = run_params(threads);
  return without_gil([&] { return std::make_unique<BitRows>(view(rows), columns, how, run); });
}

void search(const BitRows& index, const In2<uint8_t>& queries, const Out2<double>& distances,
            const Out2<int64_t>& neighbours, const Groups& row_groups, const Groups& query_groups, int threads) {
  const MatrixView<const uint8_t> asked = view(queries);
  require(asked.cols == index.bytes(), "queries and rows must have the same number of bytes");
  const NearestOut out = nearest_out(index.rows(), asked.rows, distances, neighbours);
  const Exclusion groups = exclusion(index.rows(), asked.rows, row_groups, query_groups);
  const RunParams run = run_params(threads);
  without_gil([&] { index.search(asked, groups, run, out); });
}

Within within(const BitRows& index, const In2<uint8_t>& queries, const In1<double>& radii, const Groups& row_groups,
              const Groups& query_groups, int threads) {
  const MatrixView<const uint8_t> asked = view(queries);
  require(asked.cols == index.bytes(), "queries and rows must have the same number of bytes");
  const Exclusion groups = exclusion(index.rows(), asked.rows, row_groups, query_groups);
  require(radii.shape(0) == queries.shape(0), "radii must have one number per query");
  const RunParams run = run_params(threads);
  Lists found;
  without_gil([&] { index.within(asked, view(radii), groups, run, found); });
  return give_lists(found);
}

}  // namespace
}  // namespace tonari

void bind_bits(nanobind::module_& m) {
  using namespace tonari;
  nb::class_<BitRows>(m, "BitIndex", "Packed bits prepared for exhaustive search; immutable.")
      .def_prop_ro("rows", &BitRows::rows)
      .def_prop_ro("bytes", &BitRows::bytes);
  m.def("bits_build", &build, "rows"_a.noconvert(), "columns"_a, "metric"_a, "threads"_a,
        "Copy rows of bits, eight to a byte, the first in the lowest place (numpy.packbits, bitorder='little').");
  m.def("bits_search", &search, "index"_a, "queries"_a.noconvert(), "distances"_a.noconvert(),
        "neighbours"_a.noconvert(), "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "threads"_a,
        "Fill distances and neighbours (queries x k); rows of a query's own group are left out.");
  m.def("bits_within", &within, "index"_a, "queries"_a.noconvert(), "radii"_a.noconvert(),
        "row_groups"_a.noconvert().none(), "query_groups"_a.noconvert().none(), "threads"_a,
        "Rows within the radius of each query: (indptr, rows, distances), each query's in order of (distance, row).");
}
