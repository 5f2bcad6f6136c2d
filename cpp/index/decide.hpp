// SPDX-License-Identifier: BSD-3-Clause
// What decides between rows: reduced distances in float64, by direct differences, in one fixed order of additions.
#pragma once
#include <cstdint>
#include <string_view>

namespace tonari {

enum class Metric { kEuclidean, kManhattan, kChebyshev, kMinkowski, kCosine };

// Throws std::invalid_argument for a name the engine does not know.
Metric metric_named(std::string_view name);

// Decides rows against one query. Reduced means: squared for Euclidean and cosine (of unit vectors), the distance
// itself for the others. finish() turns a reduced value into the distance that callers see.
template <class T>
class Decider {
 public:
  // `scale` is a power of two by which both sides are multiplied first (1 for ordinary data); then the reduced values
  // are those of the scaled data. It keeps squares of extreme magnitudes inside the range of float64.
  Decider(Metric metric, double p, int64_t dim, double scale);

  // reduced[i] for row which[i] of `rows` (row-major, dim columns).
  void decide(const T* rows, const T* query, const int32_t* which, int64_t count, double* reduced) const;

  // The distance of a decided pair. The pair itself is looked at again only where a squared difference underflowed.
  double finish(double reduced, const T* row, const T* query) const;

 private:
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
