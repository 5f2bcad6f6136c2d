// SPDX-License-Identifier: BSD-3-Clause
// score_hits, score_counts, score_errors, score_ranking: many candidates and splits scored in one call.
#include "learn/score.hpp"

#include <cmath>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

// Row numbers and split borders are the only way out of the arrays, so they are checked; and so is every code.
SplitRows split_rows_of(const In1<int64_t>& order, const In1<int64_t>& starts, size_t rows) {
  const SplitRows out{view(order), view(starts)};
  require(!out.starts.empty() && out.starts.front() == 0 && out.starts.back() == static_cast<int64_t>(out.order.size()),
          "starts must run from 0 to the length of order");
  for (size_t i = 1; i < out.starts.size(); ++i)
    require(out.starts[i - 1] < out.starts[i], "a split must hold at least one row");
  for (int64_t row : out.order)
    require(row >= 0 && row < static_cast<int64_t>(rows), "order names a row outside the answers");
  return out;
}

template <class T>
void require_cells(const T& out, size_t candidates, const SplitRows& rows, size_t width) {
  require(out.shape(0) == candidates && out.shape(1) == static_cast<size_t>(rows.splits()) && out.shape(2) == width,
          "the output must be candidates x splits x what is counted");
}

template <class T>
void require_classes(Span<const T> codes, int32_t classes) {
  for (T code : codes) require(code >= 0 && code < classes, "a class code lies outside the classes");
}

void hits(const In2<int32_t>& codes, const In1<int32_t>& truth, const In1<int64_t>& order, const In1<int64_t>& starts,
          const Out2<int64_t>& out) {
  const SplitRows rows = split_rows_of(order, starts, codes.shape(1));
  require(truth.shape(0) == codes.shape(1), "codes and truth must have the same rows");
  require(out.shape(0) == codes.shape(0) && out.shape(1) == static_cast<size_t>(rows.splits()),
          "hits must be candidates x splits");
  without_gil([&] { score_hits(view(codes), view(truth), rows, out.data()); });
}

void counts(const In2<int32_t>& codes, const In1<int32_t>& truth, const In1<int64_t>& order, const In1<int64_t>& starts,
            int32_t classes, const Out3<int64_t>& hits_out, const Out3<int64_t>& predicted) {
  const SplitRows rows = split_rows_of(order, starts, codes.shape(1));
  require(truth.shape(0) == codes.shape(1), "codes and truth must have the same rows");
  require(classes >= 1, "classes must be at least 1");
  require_classes(Span<const int32_t>{codes.data(), codes.shape(0) * codes.shape(1)}, classes);
  require_classes(view(truth), classes);
  require_cells(hits_out, codes.shape(0), rows, static_cast<size_t>(classes));
  require_cells(predicted, codes.shape(0), rows, static_cast<size_t>(classes));
  without_gil([&] { score_counts(view(codes), view(truth), rows, classes, hits_out.data(), predicted.data()); });
}

void errors(const In2<double>& values, const In1<double>& truth, const In1<int64_t>& order, const In1<int64_t>& starts,
            const Out3<double>& sums) {
  const SplitRows rows = split_rows_of(order, starts, values.shape(1));
  require(truth.shape(0) == values.shape(1), "values and truth must have the same rows");
  require_cells(sums, values.shape(0), rows, kErrorSums);
  without_gil([&] { score_errors(view(values), view(truth), rows, sums.data()); });
}

void ranking(const In2<double>& values, const In1<uint8_t>& positive, const In1<int64_t>& order,
             const In1<int64_t>& starts, const Out3<double>& areas) {
  const SplitRows rows = split_rows_of(order, starts, values.shape(1));
  require(positive.shape(0) == values.shape(1), "values and positive must have the same rows");
  for (uint8_t flag : view(positive)) require(flag <= 1, "positive must hold 0 and 1");
  // A NaN has no rank: sorting with one is undefined.
  for (size_t i = 0; i < values.shape(0) * values.shape(1); ++i)
    require(!std::isnan(values.data()[i]), "a score to rank by is NaN");
  require_cells(areas, values.shape(0), rows, kAreas);
  without_gil([&] { score_ranking(view(values), view(positive), rows, areas.data()); });
}

}  // namespace
}  // namespace tonari

void bind_score(nanobind::module_& m) {
  using namespace tonari;
  m.def("score_hits", &hits, "codes"_a.noconvert(), "truth"_a.noconvert(), "order"_a.noconvert(),
        "starts"_a.noconvert(), "hits"_a.noconvert(), "Rows answered rightly per candidate and split.");
  m.def("score_counts", &counts, "codes"_a.noconvert(), "truth"_a.noconvert(), "order"_a.noconvert(),
        "starts"_a.noconvert(), "classes"_a, "hits"_a.noconvert(), "predicted"_a.noconvert(),
        "Rows answered rightly, and answered at all, per candidate, split and class.");
  m.def("score_errors", &errors, "values"_a.noconvert(), "truth"_a.noconvert(), "order"_a.noconvert(),
        "starts"_a.noconvert(), "sums"_a.noconvert(),
        "Sums of squared, absolute, largest and centred squared errors per candidate and split.");
  m.def("score_ranking", &ranking, "values"_a.noconvert(), "positive"_a.noconvert(), "order"_a.noconvert(),
        "starts"_a.noconvert(), "areas"_a.noconvert(),
        "Area under the ROC curve and average precision per candidate and split.");
}
