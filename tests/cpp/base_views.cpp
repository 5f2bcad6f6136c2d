// SPDX-License-Identifier: BSD-3-Clause
#include "base/views.hpp"

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

using tonari::MatrixView;

TEST_CASE("a view is row-major and a slice shares the memory") {
  std::array<double, 12> numbers{};
  for (int i = 0; i < 12; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const MatrixView<double> view{numbers.data(), 4, 3};
  CHECK(view.row(0)[2] == 2);
  CHECK(view.row(3)[0] == 9);
  const MatrixView<double> middle = view.slice(1, 3);
  CHECK(middle.rows == 2);
  CHECK(middle.cols == 3);
  CHECK(middle.row(1)[1] == 7);
  middle.row(0)[0] = -1;
  CHECK(numbers[3] == -1);
}

TEST_CASE("empty slices are allowed at both ends") {
  std::array<float, 4> numbers{};
  const MatrixView<float> view{numbers.data(), 2, 2};
  CHECK(view.slice(0, 0).rows == 0);
  CHECK(view.slice(2, 2).rows == 0);
  CHECK(MatrixView<float>{}.slice(0, 0).data == nullptr);
}

TEST_CASE("a view becomes read-only by itself, and never writable again") {
  std::array<int, 2> numbers{5, 6};
  const MatrixView<const int> view = MatrixView<int>{numbers.data(), 1, 2};
  CHECK(view.row(0)[1] == 6);
  static_assert(std::is_convertible_v<MatrixView<int>, MatrixView<const int>>);
  static_assert(!std::is_convertible_v<MatrixView<const int>, MatrixView<int>>);
  static_assert(std::is_trivially_copyable_v<MatrixView<int>>);
}

TEST_CASE("an offset beyond 32 bits is computed in 64") {
  alignas(8) static char origin = 0;
  const MatrixView<char> view{&origin, int64_t{1} << 32, 0};
  CHECK(view.row((int64_t{1} << 32) - 1) == &origin);
  CHECK(view.slice(int64_t{1} << 31, int64_t{1} << 32).rows == int64_t{1} << 31);
}
