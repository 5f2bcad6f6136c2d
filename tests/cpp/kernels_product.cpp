// SPDX-License-Identifier: BSD-3-Clause
// Products and exponentials of every instruction set: against plain arithmetic, and against each other to the bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "kernels/table.hpp"

using namespace tonari;

namespace {

std::vector<double> draw(size_t count, uint64_t stream) {
  const RandomStream random(7, stream);
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 2 * random.uniform(i) - 1;
  return values;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("products add their terms in order, whatever the tile and the instruction set") {
  for (int64_t rows : {1, 2, 3, 7, 8, 9, 17}) {
    for (int64_t cols : {8, 16, 24, 40}) {
      for (int64_t depth : {0, 1, 5, 64}) {
        const int64_t stride = rows + 3;
        const auto a = draw(static_cast<size_t>(depth * stride), 1), b = draw(static_cast<size_t>(depth * cols), 2);
        const auto start = draw(static_cast<size_t>(rows * cols), 3);
        auto expected = start;
        for (int64_t r = 0; r < depth; ++r)
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j) expected[i * cols + j] += a[r * stride + i] * b[r * cols + j];
        for (const char* const* name = kernels_available(); *name != nullptr; ++name) {
          auto found = start;
          kernels_named(*name)->product(a.data(), stride, b.data(), cols, depth, rows, cols, found.data(), cols);
          CHECK_MESSAGE(same(found, expected), *name);
        }
      }
    }
  }
}

TEST_CASE("exponentials and logarithms are right to some units in the last place, and the same everywhere") {
  std::vector<double> margins{0.0, -0.0, 1e-300, -1e-300, 1e-9, 0.3465, 0.3466,
                              1.0, 36.7, 707.0,  -707.0,  -1.0, 4e5,    -4e5};
  for (double value : draw(1001, 4)) margins.push_back(50 * value);
  const auto count = static_cast<int64_t>(margins.size());
  std::vector<double> first_wrong, first_loss;
  for (const char* const* name = kernels_available(); *name != nullptr; ++name) {
    std::vector<double> wrong(margins.size()), loss(margins.size()), power(margins.size()), sizes(margins.size());
    for (size_t i = 0; i < margins.size(); ++i) sizes[i] = std::abs(margins[i]);
    kernels_named(*name)->logistic(margins.data(), count, wrong.data(), loss.data());
    kernels_named(*name)->exponential(sizes.data(), count, power.data());
    for (size_t i = 0; i < margins.size(); ++i) {
      const double m = std::abs(margins[i]) > 708 ? std::copysign(708, margins[i]) : margins[i];
      const double e = std::exp(-std::abs(m));
      CHECK(power[i] == doctest::Approx(e).epsilon(1e-15));
      CHECK(wrong[i] == doctest::Approx(m >= 0 ? e / (1 + e) : 1 / (1 + e)).epsilon(2e-15));
      const double exact = (margins[i] < 0 ? -margins[i] : 0.0) + std::log1p(e);
      CHECK(loss[i] == doctest::Approx(exact).epsilon(2e-15));
    }
    if (first_wrong.empty()) {
      first_wrong = wrong;
      first_loss = loss;
    }
    CHECK(same(wrong, first_wrong));
    CHECK(same(loss, first_loss));
  }
}
