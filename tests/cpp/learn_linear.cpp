// SPDX-License-Identifier: BSD-3-Clause
#include "learn/linear.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"

using namespace tonari;

TEST_CASE("loss, gradient and Hessian of two rows by hand; a row without weight does not count") {
  const std::vector<double> rows{1, 2, 0, 0, 0, 0, 0, 0, 3, -1, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0};
  const std::vector<int32_t> codes{1, 0, 1};
  const std::vector<double> weights{1, 0.5, 0};
  const std::vector<double> coef{0.5, 0.25, 0, 0, 0, 0, 0, 0};  // scores 1, 1.25
  const LogisticProblems given{{rows.data(), 3, 8}, codes, {weights.data(), 1, 3}, coef.data(), 1};
  double loss = 0, margin = 0;
  std::vector<double> gradient(8), hessian(64);
  linear_gradient(given, 2, {}, &loss, gradient.data(), &margin);
  linear_hessian(given, 2, {}, hessian.data());
  const double p = 1 / (1 + std::exp(-1.0)), q = 1 / (1 + std::exp(-1.25));
  CHECK(loss == doctest::Approx(-std::log(p) - 0.5 * std::log(1 - q)).epsilon(1e-14));
  CHECK(gradient[0] == doctest::Approx((p - 1) * 1 + 0.5 * q * 3).epsilon(1e-14));
  CHECK(gradient[1] == doctest::Approx((p - 1) * 2 - 0.5 * q).epsilon(1e-14));
  CHECK(margin == doctest::Approx(-1.25));
  CHECK(hessian[1] == doctest::Approx(2 * p * (1 - p) - 0.5 * 3 * q * (1 - q)).epsilon(1e-14));
  CHECK(hessian[8] == hessian[1]);
  CHECK(hessian[63] == 0);
}

TEST_CASE("many problems at once are the problems one by one, for any number of threads") {
  const int64_t rows = 1300, outputs = 3, problems = 4;
  const RandomStream random(3, 0);
  std::vector<double> table(rows * 8), weights(problems * rows), coef(problems * outputs * 8);
  std::vector<int32_t> codes(rows);
  for (int64_t i = 0; i < rows * 8; ++i) table[i] = random.uniform(i) - 0.5;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 5 == 0 ? 0.0 : random.uniform(1000000 + i);
  for (size_t i = 0; i < coef.size(); ++i) coef[i] = random.uniform(2000000 + i);
  for (int64_t i = 0; i < rows; ++i) codes[i] = static_cast<int32_t>(i % outputs);
  const auto run = [&](int64_t first, int64_t count, int threads, double* loss, double* gradient, double* margin) {
    linear_gradient({{table.data(), rows, 8},
                     codes,
                     {weights.data() + first * rows, count, rows},
                     coef.data() + first * outputs * 8,
                     outputs},
                    threads, {}, loss, gradient, margin);
  };
  std::vector<double> loss(problems), margin(problems), gradient(coef.size());
  run(0, problems, 3, loss.data(), gradient.data(), margin.data());
  for (int64_t p = 0; p < problems; ++p) {
    double one = 0, least = 0;
    std::vector<double> own(outputs * 8);
    run(p, 1, 1, &one, own.data(), &least);
    CHECK(one == loss[p]);
    CHECK(least == margin[p]);
    CHECK(std::vector<double>(gradient.begin() + p * outputs * 8, gradient.begin() + (p + 1) * outputs * 8) == own);
  }
}
