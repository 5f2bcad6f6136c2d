// SPDX-License-Identifier: BSD-3-Clause
#include "index/clusters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/table.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

int32_t squared(const uint8_t* a, const uint8_t* b, int64_t width) {
  int32_t sum = 0;
  for (int64_t j = 0; j < width; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

}  // namespace

TEST_CASE("the nearest centre is the nearest of all, distances are exact, and threads change nothing") {
  Numbers numbers(211);
  for (const int64_t width : {1, 7, 40, 128}) {
    CAPTURE(width);
    const int64_t rows = 700, stride = (width + 3) / 4 * 4, count = 29, wide = kernels().tile_rows;
    std::vector<uint8_t> bytes(rows * stride, 0);
    std::vector<int32_t> squares(rows, 0);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const int64_t code = numbers.below(256) - 128;
        bytes[i * stride + j] = static_cast<uint8_t>(code + 128);
        squares[i] += static_cast<int32_t>(code * code);
      }
    const CodedRows coded{bytes.data(), rows, width, stride};
    const Centres centres(coded, count, 1, {}), again(coded, count, 3, {});
    Centres::Workspace work;
    std::vector<int32_t> which(wide), apart(wide), all(count * wide), other(count * wide);
    for (int64_t first = 0; first < rows; first += wide) {
      const int64_t some = std::min(wide, rows - first);
      const uint8_t* from = bytes.data() + first * stride;
      centres.nearest(from, squares.data() + first, some, work, which.data(), apart.data());
      centres.distances(from, squares.data() + first, some, work, all.data(), wide);
      again.distances(from, squares.data() + first, some, work, other.data(), wide);
      int wrong = 0;
      for (int64_t i = 0; i < some; ++i) {
        wrong += all[which[i] * wide + i] != apart[i];
        for (int64_t c = 0; c < count; ++c)
          wrong += all[c * wide + i] < apart[i] - 1 || all[c * wide + i] != other[c * wide + i];
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("rows that are centres lie at distance 0, and every pair obeys the triangle inequality over its centre") {
  Numbers numbers(212);
  const int64_t width = 6, stride = 8, kinds = 5, rows = 40 * kinds, wide = kernels().tile_rows;
  std::vector<uint8_t> bytes(rows * stride, 0);
  std::vector<int32_t> squares(rows, 0);
  std::vector<uint8_t> kind(kinds * width);
  for (uint8_t& byte : kind) byte = static_cast<uint8_t>(numbers.below(256));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j) {
      bytes[i * stride + j] = kind[i % kinds * width + j];
      const int32_t code = bytes[i * stride + j] - 128;
      squares[i] += code * code;
    }
  const Centres centres({bytes.data(), rows, width, stride}, kinds, 2, {});
  Centres::Workspace work;
  std::vector<int32_t> all(kinds * wide);
  const int64_t some = std::min(wide, rows);
  centres.distances(bytes.data(), squares.data(), some, work, all.data(), wide);
  for (int64_t a = 0; a < some; ++a)
    for (int64_t b = 0; b < a; ++b)
      for (int64_t c = 0; c < kinds; ++c) {
        const double direct = std::sqrt(squared(bytes.data() + a * stride, bytes.data() + b * stride, width));
        const double round = std::sqrt(all[c * wide + a]) + std::sqrt(all[c * wide + b]);
        REQUIRE(direct <= round * (1 + 1e-12));
      }
}
