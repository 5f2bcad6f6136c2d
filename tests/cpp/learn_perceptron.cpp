// SPDX-License-Identifier: BSD-3-Clause
#include "learn/perceptron.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace tonari;

TEST_CASE("by hand: one column, the steps of two epochs, and a problem that starts right") {
  // Columns: x, 1, padding. Class 1 lies above 2.
  const std::vector<double> rows{1, 1, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0};
  const std::vector<int32_t> codes{0, 1, 1}, split{0, 1}, positive{1, 1};
  const std::vector<int64_t> starts{0, 3, 5}, train{0, 1, 2, 0, 2}, epochs{1, 2, 9};
  std::vector<double> start(16, 0.0);
  start[8] = 1, start[9] = -2;
  const PerceptronProblems problems{{rows.data(), 3, 8},  codes,  starts, train, split, positive,
                                    {start.data(), 2, 8}, epochs, false,  0};
  std::vector<double> weights(2 * 3 * kKept * 8);
  std::vector<int64_t> errors(6), stopped(2);
  perceptron_run(problems, 2, {}, weights.data(), errors.data(), stopped.data());
  const auto kept = [&](int64_t problem, int64_t epoch, int which, int column) {
    return weights[((problem * 3 + epoch) * kKept + which) * 8 + column];
  };
  // Epoch 1: (0, 0) says + for row 0 -> (-1, -1); - for row 1 -> (2, 0); row 2 is right. Row 0 is wrong at its end.
  CHECK(kept(0, 0, kLast, 0) == 2);
  CHECK(kept(0, 0, kLast, 1) == 0);
  CHECK(errors[0] == 1);
  CHECK(kept(0, 0, kMean, 0) == doctest::Approx((-1 + 2 + 2) / 3.0));
  CHECK(kept(0, 0, kMean, 1) == doctest::Approx(-1 / 3.0));
  // The start makes one error too, and came first.
  CHECK(kept(0, 0, kBest, 0) == 0);
  // Epoch 2: row 0 -> (1, -1), which says + for all: (1, -1) on x = 1 is 0, and sign(0) = +1.
  CHECK(kept(0, 1, kLast, 0) == 1);
  CHECK(kept(0, 1, kLast, 1) == -1);
  CHECK(errors[2] == 0);
  CHECK(stopped[0] > 2);
  CHECK(stopped[1] == 0);
  CHECK(kept(1, 2, kMean, 0) == 1);
  CHECK(kept(1, 2, kBest, 1) == -2);
}

TEST_CASE("a stop that is asked for comes between epochs") {
  const std::vector<double> rows{1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0};
  const std::vector<int32_t> codes{0, 1}, split{0}, positive{1};
  const std::vector<int64_t> starts{0, 2}, train{0, 1}, epochs{int64_t{1} << 60};
  const std::vector<double> start(8, 0.0);
  const PerceptronProblems problems{{rows.data(), 2, 8},  codes,  starts, train, split, positive,
                                    {start.data(), 1, 8}, epochs, false,  0};
  std::vector<double> weights(kKept * 8);
  std::vector<int64_t> errors(1), stopped(1);
  CHECK_THROWS(perceptron_run(problems, 1, [] { return true; }, weights.data(), errors.data(), stopped.data()));
}
