// SPDX-License-Identifier: BSD-3-Clause
// vote_classes, vote_means: many (k, weighting) candidates from one list of neighbours.
#include "learn/vote.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

using Given = std::optional<In2<double>>;

Neighbours neighbours_of(const In2<int64_t>& rows, const In2<double>& distances, const Given& weights, int64_t count) {
  const Neighbours out{view(rows), view(distances), weights ? view(*weights) : MatrixView<const double>{}};
  require(out.rows.rows == out.distances.rows && out.rows.cols == out.distances.cols,
          "neighbours and distances must have the same shape");
  require(!weights || (out.weights.rows == out.rows.rows && out.weights.cols == out.rows.cols),
          "weights must have the shape of the neighbours");
  for (int64_t i = 0; i < out.rows.rows * out.rows.cols; ++i)
    require(out.rows.data[i] >= 0 && out.rows.data[i] < count, "a neighbour's row number lies outside the labels");
  return out;
}

Candidates candidates_of(const In1<int32_t>& k, const In1<int32_t>& weighting, const Neighbours& neighbours) {
  const Candidates out{view(k), view(weighting)};
  require(out.k.size() == out.weighting.size(), "k and weighting must have the same length");
  for (size_t i = 0; i < out.k.size(); ++i) {
    require(out.k[i] >= 1 && out.k[i] <= neighbours.rows.cols, "k must lie between 1 and the neighbours given");
    require(out.weighting[i] >= kUniform && out.weighting[i] <= kGiven, "weighting must be 0, 1 or 2");
    require(out.weighting[i] != kGiven || neighbours.weights.data != nullptr, "weighting 2 needs weights");
  }
  return out;
}

void classes(const In2<int64_t>& rows, const In2<double>& distances, const Given& weights, const In1<int32_t>& labels,
             int32_t count, const In1<int32_t>& k, const In1<int32_t>& weighting, const Out2<int32_t>& winners,
             const std::optional<Out3<double>>& shares, int threads) {
  const Neighbours neighbours = neighbours_of(rows, distances, weights, static_cast<int64_t>(labels.shape(0)));
  const Candidates candidates = candidates_of(k, weighting, neighbours);
  const size_t queries = rows.shape(0);
  require(count >= 1 && threads >= 1, "classes and threads must be at least 1");
  for (int32_t label : view(labels)) require(label >= 0 && label < count, "a label lies outside the classes");
  require(winners.shape(0) == k.shape(0) && winners.shape(1) == queries, "winners must be candidates x queries");
  require(!shares || (shares->shape(0) == k.shape(0) && shares->shape(1) == queries &&
                      shares->shape(2) == static_cast<size_t>(count)),
          "shares must be candidates x queries x classes");
  without_gil([&] {
    vote_classes(neighbours, candidates, view(labels), count, threads, python_interrupt, winners.data(),
                 shares ? shares->data() : nullptr);
  });
}

void means(const In2<int64_t>& rows, const In2<double>& distances, const Given& weights, const In2<double>& values,
           const In1<int32_t>& k, const In1<int32_t>& weighting, const Out3<double>& out, int threads) {
  const Neighbours neighbours = neighbours_of(rows, distances, weights, static_cast<int64_t>(values.shape(0)));
  const Candidates candidates = candidates_of(k, weighting, neighbours);
  require(threads >= 1, "threads must be at least 1");
  require(out.shape(0) == k.shape(0) && out.shape(1) == rows.shape(0) && out.shape(2) == values.shape(1),
          "means must be candidates x queries x outputs");
  without_gil([&] { vote_means(neighbours, candidates, view(values), threads, python_interrupt, out.data()); });
}

}  // namespace
}  // namespace tonari

void bind_vote(nanobind::module_& m) {
  using namespace tonari;
  m.def("vote_classes", &classes, "neighbours"_a.noconvert(), "distances"_a.noconvert(), "weights"_a.noconvert().none(),
        "labels"_a.noconvert(), "classes"_a, "k"_a.noconvert(), "weighting"_a.noconvert(), "winners"_a.noconvert(),
        "shares"_a.noconvert().none(), "threads"_a,
        "Winning class code, and optionally class shares, per candidate and query.");
  m.def("vote_means", &means, "neighbours"_a.noconvert(), "distances"_a.noconvert(), "weights"_a.noconvert().none(),
        "values"_a.noconvert(), "k"_a.noconvert(), "weighting"_a.noconvert(), "means"_a.noconvert(), "threads"_a,
        "Weighted mean of the neighbours' values per candidate, query and output.");
}
