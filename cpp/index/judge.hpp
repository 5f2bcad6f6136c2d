// SPDX-License-Identifier: BSD-3-Clause
// What decides in one exhaustive search, whatever filtered before it: who is excluded, how far a row really is, and how
// far a row may be to matter still.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/views.hpp"
#include "index/decide.hpp"
#include "index/nearest.hpp"

namespace tonari {

struct ExactParams {
  Metric metric = Metric::kEuclidean;
  double p = 2.0;
};

template <class T>
double largest_magnitude(const T* values, int64_t count) {
  T largest[16] = {};  // lanes, so that compilers vectorise
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int j = 0; j < 16; ++j) largest[j] = std::max(largest[j], std::fabs(values[i + j]));
  for (; i < count; ++i) largest[0] = std::max(largest[0], std::fabs(values[i]));
  return static_cast<double>(*std::max_element(largest, largest + 16));
}

// One query under way.
struct Open {
  Nearest nearest;
  double largest = 0;  // magnitude among the rows and the query
};

template <class T>
class Judge {
 public:
  MatrixView<const T> rows, queries;
  ExactParams params;
  double largest = 0;  // magnitude among the rows
  int64_t wanted = -1;  // -1: all within the radius
  Span<const double> radii;  // one per query, where all within it are wanted
  Span<const int32_t> row_groups, query_groups;
  double factor = 1;  // metric >= factor * distance of the filter

  Open open(int64_t query) const {
    return {Nearest(wanted, wanted < 0 ? radii[query] : std::numeric_limits<double>::infinity()),
            std::max(largest, largest_magnitude(queries.row(query), queries.cols))};
  }
  bool excluded(int64_t query, int64_t row) const {
    return !row_groups.empty() && row_groups[row] == query_groups[query];
  }
  void decide(Open& open, int64_t query, const int32_t* which, int64_t count, std::vector<double>& distances) const {
    distances.resize(std::max<size_t>(distances.size(), count));
    const Decider<T> decider(params.metric, params.p, rows.cols, open.largest);
    decider.decide(rows.data, queries.row(query), which, count, distances.data());
    for (int64_t i = 0; i < count; ++i) open.nearest.add(distances[i], which[i]);
  }
  // A row farther than this, by the filter's distance, does not matter any more.
  double reach(const Open& open) const {
    const double limit = open.nearest.limit();
    // A cosine distance is half the square of the filter's distance.
    if (params.metric == Metric::kCosine) return std::sqrt(2 * limit);
    // Squares of less than 2^-537 are 0.
    if (params.metric == Metric::kSquaredEuclidean) return std::sqrt(limit) + 0x1p-530;
    return limit / factor;
  }
};

}  // namespace tonari
