// SPDX-License-Identifier: BSD-3-Clause
// What decides between rows: distances in float64, by direct differences, in one fixed order of additions.
#pragma once
#include <cstdint>
#include <string_view>

namespace tonari {

enum class Metric { kEuclidean, kManhattan, kChebyshev, kMinkowski, kCosine };

// Throws std::invalid_argument for a name the engine does not know.
Metric metric_named(std::string_view name);

// Decides rows against one query: the distances that callers see, and by which rows are ordered.
// Error: L1, L2 and Chebyshev within 4 ULP at any dim and magnitude; Minkowski within a few ULP of pow(); cosine is half
// the squared distance of unit vectors.
template <class T>
class Decider {
 public:
  // `scale` is a power of two by which both sides are multiplied while summing (1 for ordinary data). It keeps squares of
  // extreme magnitudes inside the range of float64.
  Decider(Metric metric, double p, int64_t dim, double scale);

  // distances[i] for row which[i] of `rows` (row-major, dim columns).
  void decide(const T* rows, const T* query, const int32_t* which, int64_t count, double* distances) const;

 private:
  double root(double squared, const T* row, const T* query) const;
  double decide_minkowski(const T* row, const T* query) const;
  double decide_scaled(const T* row, const T* query) const;

  Metric metric_;
  double p_;
  int64_t dim_;
  double scale_;
};

extern template class Decider<float>;
extern template class Decider<double>;

}  // namespace tonari
