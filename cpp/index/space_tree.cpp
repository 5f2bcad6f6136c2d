// SPDX-License-Identifier: BSD-3-Clause
#include "index/space_tree.hpp"

#include <algorithm>
#include <cmath>

namespace tonari {
namespace {

constexpr double kRounded = 0x1p-50;  // covers a product, and that a root may round to the distance itself

}  // namespace

// A Minkowski distance is bounded by its neighbours among the kernels: L_p >= L_2 for p < 2, else L_p >= L_inf and
// L_p >= L_2 columns^(1/p - 1/2) (power means), whichever is nearer.
Reduction::Reduction(const ExactParams& params, int64_t columns, bool wide) : careful(wide) {
  const auto size = static_cast<double>(columns);
  if (params.metric == Metric::kManhattan) how = kAbsolute;
  if (params.metric == Metric::kChebyshev || (params.metric == Metric::kMinkowski && params.p > 4)) how = kLargest;
  if (params.metric == Metric::kMinkowski && params.p > 2 && params.p <= 4) factor = std::pow(size, 1 / params.p - 0.5);
  decides = params.metric != Metric::kMinkowski && (columns <= kTreeJoined || how == kLargest);
  slack = decides ? 0 : (size + 64) * kRounded;
}

double Reduction::most(double distance) const {
  const double reached = distance / factor;
  if (how != kSquared) return reached * (1 + slack);
  const double square = reached * reached * (1 + kRounded + 2 * slack);
  return careful ? std::max(square, kTinySquare) : square;
}

bool Reduction::reaches(double value, double distance) const {
  if (distance == 0) return true;
  if (!decides) return false;
  if (how != kSquared) return value >= distance;
  if (careful && value < kTinySquare) return false;
  const double square = distance * distance;
  return value >= square * (1 + kRounded) || (value >= square * (1 - kRounded) && std::sqrt(value) >= distance);
}

}  // namespace tonari
