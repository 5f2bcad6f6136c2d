// SPDX-License-Identifier: BSD-3-Clause
// What decides between rows: distances in float64, by direct differences, in one fixed order of additions.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tonari {

// Magnitudes whose squares and sums of squares need no care in float64.
inline bool ordinary(double largest) { return largest == 0 || (largest >= 0x1p-400 && largest <= 0x1p+500); }

// Below this a float64 sum of squares may have lost terms to underflow.
inline constexpr double kTinySquare = 0x1p-900;

enum class Metric { kEuclidean, kManhattan, kChebyshev, kMinkowski, kCosine, kSquaredEuclidean };

// Throws std::invalid_argument for a name the engine does not know.
Metric metric_named(std::string_view name);

// Decides rows against one query: the distances that callers see, and by which rows are ordered.
// Error: L1, L2 and Chebyshev within 4 ULP at any dim and magnitude; Minkowski within a few ULP of pow(); cosine is half
// the squared distance of unit vectors. Squared Euclidean within 4 ULP, where float64 holds the square.
template <class T>
class Decider {
 public:
  // `largest` is the largest magnitude among rows and query. Where its square would leave the range of float64, every sum
  // has its largest difference taken out first.
  Decider(Metric metric, double p, int64_t dim, double largest);

  // distances[i] for row which[i] of `rows` (row-major, dim columns).
  void decide(const T* rows, const T* query, const int32_t* which, int64_t count, double* distances) const;

  // The distance of a row whose sum or maximum is known to the bit: Euclidean, Manhattan or Chebyshev, ordinary magnitudes.
  double distance(double reduced, int32_t row, const T* rows, const T* query) const {
    if (metric_ != Metric::kEuclidean) return reduced;
    if (std::is_same_v<T, float> || reduced >= kTinySquare) return std::sqrt(reduced);
    return root(reduced, rows + row * dim_, query);
  }

 private:
  double root(double squared, const T* row, const T* query) const;
  double decide_minkowski(const T* row, const T* query) const;
  double decide_extreme(const T* row, const T* query) const;

  Metric metric_;
  double p_;
  int64_t dim_;
  bool extreme_;
  double scale_;  // a power of two on both sides, so that differences do not overflow
};

extern template class Decider<float>;
extern template class Decider<double>;

}  // namespace tonari
