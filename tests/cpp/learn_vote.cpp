// SPDX-License-Identifier: BSD-3-Clause
// Votes against plain double arithmetic: Gaussian weights, ties, lists of unequal length.
#include "learn/vote.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace tonari {
namespace {

bool never() { return false; }

Decision by(int32_t ties) {
  Decision decision;
  decision.ties = ties;
  return decision;
}

struct Problem {
  std::vector<int64_t> indptr, rows;
  std::vector<double> distances;
  std::vector<int32_t> labels, k, weighting;

  Neighbours neighbours() const { return {indptr, rows, distances, {}, {}}; }

  std::vector<int32_t> winners(const Decision& decision, std::vector<double>* shares = nullptr, double h = 0) const {
    std::vector<int32_t> out(k.size() * (indptr.size() - 1));
    if (shares != nullptr) shares->resize(out.size() * 2);
    vote_classes(neighbours(), {k, weighting, h}, decision, labels, 2, 2, never, out.data(),
                 shares == nullptr ? nullptr : shares->data());
    return out;
  }
};

TEST_CASE("Gaussian weights agree with the library's exp") {
  Problem p{{0, 2}, {0, 1}, {0.0, 0.0}, {0, 1}, {2}, {kGaussian}};
  double worst = 0;
  for (int step = 0; step < 1057; ++step) {
    const double d = 0.001 * std::pow(1.01, step);  // up to 37
    p.distances = {0.0, d};
    std::vector<double> shares;
    p.winners({}, &shares, 1.0);
    worst = std::max(worst, std::abs(shares[1] / shares[0] / std::exp(-d * d / 2) - 1));
  }
  CHECK(worst < 1e-14);
}

TEST_CASE("every rule for ties") {
  const Problem p{{0, 4}, {0, 1, 2, 3}, {1, 2, 2, 2}, {1, 0, 1, 0}, {2, 4}, {kUniform, kUniform}};
  CHECK(p.winners({}) == std::vector<int32_t>{0, 0});
  CHECK(p.winners(by(kNearest)) == std::vector<int32_t>{1, 1});
  CHECK(p.winners(by(kUndecided)) == std::vector<int32_t>{kNobody, kNobody});
}

TEST_CASE("no neighbour, no winner; no mean") {
  const Problem p{{0, 0, 1}, {0}, {2.0}, {1}, {5}, {kInverseDistance}};
  CHECK(p.winners({}) == std::vector<int32_t>{kNobody, 1});
  const std::vector<double> values{7.0};
  std::vector<double> means(2);
  vote_means(p.neighbours(), {p.k, p.weighting}, {values.data(), 1, 1}, 1, never, means.data());
  CHECK(std::isnan(means[0]));
  CHECK(means[1] == 7.0);
}

}  // namespace
}  // namespace tonari
