// SPDX-License-Identifier: BSD-3-Clause
#include "index/decide.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/table.hpp"

namespace tonari {
namespace {

constexpr int64_t kLanes = 16;  // as in cpp/kernels/decide.inl
constexpr double kMostPower = 32;  // whole and half powers up to here are multiplied out: pow() costs 20 times as much

// base^power for a whole power >= 0, by squaring.
double whole_power(double base, int power) {
  double result = 1;
  for (; power > 0; power >>= 1, base *= base)
    if (power & 1) result *= base;
  return result;
}

// Joins lanes as the kernels do.
double join_lanes(double* lane) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2)
    for (int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

template <class T>
double largest_difference(const T* row, const T* query, int64_t dim, double scale) {
  double largest = 0;
  for (int64_t j = 0; j < dim; ++j)
    largest = std::max(largest, std::fabs(static_cast<double>(row[j]) * scale - static_cast<double>(query[j]) * scale));
  return largest;
}

// term(|difference|) summed as cpp/kernels/decide.inl sums: compensated lanes, joined by halving.
template <class T, class Term>
double sum_of_terms(const T* row, const T* query, int64_t dim, double scale, Term term) {
  double lane[kLanes] = {}, lost[kLanes] = {};
  for (int64_t j = 0; j < dim; ++j) {
    const int64_t i = j % kLanes;
    const double value = term(std::fabs(static_cast<double>(row[j]) * scale - static_cast<double>(query[j]) * scale));
    const double corrected = value - lost[i];
    const double next = lane[i] + corrected;
    lost[i] = (next - lane[i]) - corrected;
    lane[i] = next;
  }
  return join_lanes(lane) - join_lanes(lost);
}

// Squares of differences as multiples of the largest one.
template <class T>
double sum_of_squares(const T* row, const T* query, int64_t dim, double scale, double largest) {
  return sum_of_terms(row, query, dim, scale, [&](double d) { return (d / largest) * (d / largest); });
}

}  // namespace

Metric metric_named(std::string_view name) {
  if (name == "euclidean") return Metric::kEuclidean;
  if (name == "manhattan") return Metric::kManhattan;
  if (name == "chebyshev") return Metric::kChebyshev;
  if (name == "minkowski") return Metric::kMinkowski;
  if (name == "cosine") return Metric::kCosine;
  if (name == "sqeuclidean") return Metric::kSquaredEuclidean;
  throw std::invalid_argument("unknown metric '" + std::string(name) + "'");
}

template <class T>
Decider<T>::Decider(Metric metric, double p, int64_t dim, double largest)
    : metric_(metric), p_(p), dim_(dim), extreme_(!ordinary(largest)), scale_(largest > 0x1p+1000 ? 0.5 : 1.0) {}

template <class T>
void Decider<T>::decide(const T* rows, const T* query, const int32_t* which, int64_t count, double* distances) const {
  if (metric_ == Metric::kMinkowski || extreme_) {
    for (int64_t i = 0; i < count; ++i) {
      const T* row = rows + static_cast<int64_t>(which[i]) * dim_;
      distances[i] =
          (metric_ == Metric::kMinkowski ? decide_minkowski(row, query) : decide_extreme(row, query)) / scale_;
      if (metric_ == Metric::kSquaredEuclidean) distances[i] *= distances[i];
    }
    return;
  }
  const int how = metric_ == Metric::kManhattan ? kAbsolute : metric_ == Metric::kChebyshev ? kLargest : kSquared;
  if constexpr (std::is_same_v<T, float>) {
    kernels().decide_f32[how](rows, dim_, query, which, count, distances);
  } else {
    kernels().decide_f64[how](rows, dim_, query, which, count, distances);
  }
  if (metric_ == Metric::kCosine) {
    for (int64_t i = 0; i < count; ++i) distances[i] /= 2;
  } else if (metric_ == Metric::kEuclidean) {
    for (int64_t i = 0; i < count; ++i)
      distances[i] = root(distances[i], rows + static_cast<int64_t>(which[i]) * dim_, query);
  }
}

// The p-norm with its largest term taken out, so that no exponent can overflow or vanish:  m (sum (d / m)^p)^(1/p).
template <class T>
double Decider<T>::decide_minkowski(const T* row, const T* query) const {
  const double largest = largest_difference(row, query, dim_, scale_);
  if (largest == 0) return 0;
  double sum = 0;
  if (p_ <= kMostPower && p_ == std::floor(p_)) {
    const int whole = static_cast<int>(p_);
    sum = sum_of_terms(row, query, dim_, scale_, [&](double d) { return whole_power(d / largest, whole); });
  } else if (p_ <= kMostPower && 2 * p_ == std::floor(2 * p_)) {
    const int whole = static_cast<int>(p_);
    sum = sum_of_terms(row, query, dim_, scale_,
                       [&](double d) { return whole_power(d / largest, whole) * std::sqrt(d / largest); });
  } else {
    sum = sum_of_terms(row, query, dim_, scale_, [&](double d) { return std::pow(d / largest, p_); });
  }
  return largest * std::pow(sum, 1.0 / p_);
}

template <class T>
double Decider<T>::decide_extreme(const T* row, const T* query) const {
  const double largest = largest_difference(row, query, dim_, scale_);
  if (metric_ == Metric::kChebyshev || largest == 0) return largest;
  if (metric_ == Metric::kManhattan)
    return largest * sum_of_terms(row, query, dim_, scale_, [&](double d) { return d / largest; });
  return largest * std::sqrt(sum_of_squares(row, query, dim_, scale_, largest));
}

// The root of a sum of squares. Where the squares may have underflowed, the pair is summed again with its largest
// difference taken out: differences of 1e-170 are no duplicates.
template <class T>
double Decider<T>::root(double squared, const T* row, const T* query) const {
  if (std::is_same_v<T, float> || squared >= kTinySquare) return std::sqrt(squared);
  const double largest = largest_difference(row, query, dim_, scale_);
  if (largest == 0) return 0;
  return largest * std::sqrt(sum_of_squares(row, query, dim_, scale_, largest));
}

template class Decider<float>;
template class Decider<double>;

}  // namespace tonari
