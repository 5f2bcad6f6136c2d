// SPDX-License-Identifier: BSD-3-Clause
// Borrowed, row-major views of memory that somebody else owns. Nothing here allocates.
#pragma once
#include <cassert>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tonari {

template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;

  T* row(int64_t i) const {
    assert(i >= 0 && i < rows);
    return data + i * cols;
  }
  MatrixView slice(int64_t begin, int64_t end) const {
    assert(0 <= begin && begin <= end && end <= rows);
    return {data + begin * cols, end - begin, cols};
  }
  operator MatrixView<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, rows, cols};
  }
};

template <class T>
using Span = std::span<T>;

}  // namespace tonari
