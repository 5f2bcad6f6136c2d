// SPDX-License-Identifier: BSD-3-Clause
// vote_classes, vote_means: many (k, weighting) candidates from one list of neighbours per query.
#include "learn/vote.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

template <class T>
using Maybe1 = std::optional<In1<T>>;

template <class T>
Span<const T> view_or_empty(const Maybe1<T>& a) {
  return a ? view(*a) : Span<const T>{};
}

bool all_positive(const double* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!(values[i] > 0) || !std::isfinite(values[i])) return false;
  return true;
}

Neighbours neighbours_of(const In1<int64_t>& indptr, const In1<int64_t>& rows, const In1<double>& distances,
                         const Maybe1<double>& weights, const Maybe1<double>& row_weights, int64_t count) {
  const Neighbours out{view(indptr), view(rows), view(distances), view_or_empty(weights), view_or_empty(row_weights)};
  const auto size = static_cast<int64_t>(out.rows.size());
  require(out.rows.size() == out.distances.size(), "neighbours and distances must have the same length");
  require(!weights || out.weights.size() == out.rows.size(), "weights must have the length of the neighbours");
  require(!out.indptr.empty() && out.indptr.front() == 0 && out.indptr.back() == size,
          "indptr must go from 0 to the number of neighbours");
  for (size_t q = 1; q < out.indptr.size(); ++q) require(out.indptr[q - 1] <= out.indptr[q], "indptr must not fall");
  for (int64_t row : out.rows) require(row >= 0 && row < count, "a neighbour's row number lies outside the labels");
  require(!row_weights || static_cast<int64_t>(out.row_weights.size()) == count, "one weight per labelled row");
  require(all_positive(out.row_weights.data(), out.row_weights.size()), "weights of rows must be positive and finite");
  return out;
}

Candidates candidates_of(const In1<int32_t>& k, const In1<int32_t>& weighting, double bandwidth, bool given) {
  const Candidates out{view(k), view(weighting), bandwidth};
  require(out.k.size() == out.weighting.size(), "k and weighting must have the same length");
  require(bandwidth >= 0, "bandwidth must not be negative");
  for (size_t i = 0; i < out.k.size(); ++i) {
    require(out.k[i] >= 1, "k must be at least 1");
    require(out.weighting[i] >= kUniform && out.weighting[i] <= kGaussian, "weighting must be 0, 1, 2 or 3");
    require(out.weighting[i] != kGiven || given, "weighting 2 needs weights");
  }
  return out;
}

Decision decision_of(const std::optional<In2<double>>& class_weights, const Maybe1<int32_t>& part, int32_t ties,
                     double least_share, uint64_t seed, const Maybe1<uint64_t>& draws, int64_t queries,
                     int32_t classes) {
  require(ties >= kFirst && ties <= kUndecided, "ties must be 0, 1, 2 or 3");
  require(!class_weights || class_weights->shape(1) == static_cast<size_t>(classes), "one weight per class and part");
  require(!class_weights || all_positive(class_weights->data(), class_weights->size()),
          "weights of classes must be positive and finite");
  const auto parts = class_weights ? static_cast<int64_t>(class_weights->shape(0)) : 0;
  require(!class_weights || parts > 0, "class weights need at least one part");
  require(!part || static_cast<int64_t>(part->shape(0)) == queries, "one part per query");
  for (int32_t own : view_or_empty(part))
    require(own >= 0 && (!class_weights || own < parts), "a query's part has no class weights");
  require(ties != kRandom || (draws && static_cast<int64_t>(draws->shape(0)) == queries), "one draw per query");
  return {class_weights ? view(*class_weights) : MatrixView<const double>{},
          view_or_empty(part),
          ties,
          least_share,
          seed,
          view_or_empty(draws)};
}

void classes(const In1<int64_t>& indptr, const In1<int64_t>& rows, const In1<double>& distances,
             const Maybe1<double>& weights, const Maybe1<double>& row_weights, const In1<int32_t>& labels,
             int32_t count, const In1<int32_t>& k, const In1<int32_t>& weighting, double bandwidth,
             const std::optional<In2<double>>& class_weights, const Maybe1<int32_t>& part, int32_t ties,
             double least_share, uint64_t seed, const Maybe1<uint64_t>& draws, const Out2<int32_t>& winners,
             const std::optional<Out3<double>>& shares, int threads) {
  const Neighbours neighbours =
      neighbours_of(indptr, rows, distances, weights, row_weights, static_cast<int64_t>(labels.shape(0)));
  const Candidates candidates = candidates_of(k, weighting, bandwidth, weights.has_value());
  const auto queries = static_cast<size_t>(neighbours.queries());
  require(count >= 1 && threads >= 1, "classes and threads must be at least 1");
  const Decision decision =
      decision_of(class_weights, part, ties, least_share, seed, draws, neighbours.queries(), count);
  for (int32_t label : view(labels)) require(label >= 0 && label < count, "a label lies outside the classes");
  require(winners.shape(0) == k.shape(0) && winners.shape(1) == queries, "winners must be candidates x queries");
  require(!shares || (shares->shape(0) == k.shape(0) && shares->shape(1) == queries &&
                      shares->shape(2) == static_cast<size_t>(count)),
          "shares must be candidates x queries x classes");
  without_gil([&] {
    vote_classes(neighbours, candidates, decision, view(labels), count, threads, python_interrupt, winners.data(),
                 shares ? shares->data() : nullptr);
  });
}

void means(const In1<int64_t>& indptr, const In1<int64_t>& rows, const In1<double>& distances,
           const Maybe1<double>& weights, const Maybe1<double>& row_weights, const In2<double>& values,
           const In1<int32_t>& k, const In1<int32_t>& weighting, double bandwidth, const Out3<double>& out,
           int threads) {
  const Neighbours neighbours =
      neighbours_of(indptr, rows, distances, weights, row_weights, static_cast<int64_t>(values.shape(0)));
  const Candidates candidates = candidates_of(k, weighting, bandwidth, weights.has_value());
  require(threads >= 1, "threads must be at least 1");
  require(out.shape(0) == k.shape(0) && static_cast<int64_t>(out.shape(1)) == neighbours.queries() &&
              out.shape(2) == values.shape(1),
          "means must be candidates x queries x outputs");
  without_gil([&] { vote_means(neighbours, candidates, view(values), threads, python_interrupt, out.data()); });
}

}  // namespace
}  // namespace tonari

void bind_vote(nanobind::module_& m) {
  using namespace tonari;
  m.def("vote_classes", &classes, "indptr"_a.noconvert(), "neighbours"_a.noconvert(), "distances"_a.noconvert(),
        "weights"_a.noconvert().none(), "row_weights"_a.noconvert().none(), "labels"_a.noconvert(), "classes"_a,
        "k"_a.noconvert(), "weighting"_a.noconvert(), "bandwidth"_a, "class_weights"_a.noconvert().none(),
        "part"_a.noconvert().none(), "ties"_a, "least_share"_a, "seed"_a, "draws"_a.noconvert().none(),
        "winners"_a.noconvert(), "shares"_a.noconvert().none(), "threads"_a,
        "Winning class code (-1: nobody), and optionally class shares, per candidate and query.");
  m.def("vote_means", &means, "indptr"_a.noconvert(), "neighbours"_a.noconvert(), "distances"_a.noconvert(),
        "weights"_a.noconvert().none(), "row_weights"_a.noconvert().none(), "values"_a.noconvert(), "k"_a.noconvert(),
        "weighting"_a.noconvert(), "bandwidth"_a, "means"_a.noconvert(), "threads"_a,
        "Weighted mean of the neighbours' values per candidate, query and output; NaN where there is no neighbour.");
}
