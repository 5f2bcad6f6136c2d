// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/errors.hpp"

using tonari::AlignedVector;
using tonari::checked_bytes;
using tonari::MemoryLimit;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

std::string refusal(int64_t a, int64_t b, int64_t c, int64_t limit) {
  try {
    checked_bytes(a, b, c, limit, "the table of distances");
  } catch (const MemoryLimit& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("aligned vectors begin on a cache line at every size and are zeroed") {
  for (std::size_t count = 1; count < 200; ++count) {
    const AlignedVector<float> numbers(count);
    REQUIRE(reinterpret_cast<std::uintptr_t>(numbers.data()) % tonari::kAlignment == 0);
    for (const float number : numbers) REQUIRE(number == 0);
  }
}

TEST_CASE("aligned vectors grow, move and keep what they hold") {
  AlignedVector<int64_t> numbers;
  for (int64_t i = 0; i < 10'000; ++i) numbers.push_back(i);
  const int64_t* const place = numbers.data();
  const AlignedVector<int64_t> moved = std::move(numbers);
  CHECK(moved.data() == place);
  CHECK(reinterpret_cast<std::uintptr_t>(moved.data()) % tonari::kAlignment == 0);
  for (int64_t i = 0; i < 10'000; ++i) REQUIRE(moved[static_cast<std::size_t>(i)] == i);
}

// Trap 11: a size that wraps around becomes a small allocation and a write behind its end.
TEST_CASE("a count whose bytes overflow is refused") {
  const std::size_t count = std::numeric_limits<std::size_t>::max() / sizeof(double) + 2;
  CHECK_THROWS_AS(AlignedVector<double>{}.resize(count), std::length_error);
}

TEST_CASE("bytes are the product, and a limit is the last size allowed") {
  CHECK(checked_bytes(3, 5, 8, 0, "x") == 120);
  CHECK(checked_bytes(3, 5, 8, 120, "x") == 120);
  CHECK_THROWS_AS(checked_bytes(3, 5, 8, 119, "x"), MemoryLimit);
  CHECK(checked_bytes(kMost, 1, 1, 0, "x") == kMost);
}

TEST_CASE("nothing asked is nothing, beside factors of any size") {
  CHECK(checked_bytes(0, kMost, kMost, 1, "x") == 0);
  CHECK(checked_bytes(kMost, 0, kMost, 1, "x") == 0);
  CHECK(checked_bytes(kMost, kMost, 0, 1, "x") == 0);
}

TEST_CASE("an overflow is refused with and without a limit, in every position") {
  for (const int64_t limit : {int64_t{0}, kMost}) {
    CHECK_THROWS_AS(checked_bytes(kMost, 2, 1, limit, "x"), MemoryLimit);
    CHECK_THROWS_AS(checked_bytes(kMost, 1, 2, limit, "x"), MemoryLimit);
    CHECK_THROWS_AS(checked_bytes(int64_t{1} << 32, int64_t{1} << 31, 1, limit, "x"), MemoryLimit);
    CHECK_THROWS_AS(checked_bytes(int64_t{1} << 21, int64_t{1} << 21, int64_t{1} << 21, limit, "x"), MemoryLimit);
  }
  CHECK(refusal(kMost, 2, 8, 0).find("9223372036854775807 x 2 x 8 bytes") != std::string::npos);
}

TEST_CASE("negative sizes are an error of the caller") {
  CHECK_THROWS_AS(checked_bytes(-1, 1, 1, 0, "x"), std::invalid_argument);
  CHECK_THROWS_AS(checked_bytes(1, -1, 1, 0, "x"), std::invalid_argument);
  CHECK_THROWS_AS(checked_bytes(1, 1, -1, 0, "x"), std::invalid_argument);
  CHECK_THROWS_AS(checked_bytes(1, 1, 1, -1, "x"), std::invalid_argument);
}

TEST_CASE("the refusal says what, how much, the limit and what to do") {
  CHECK(refusal(20'000, 20'000, 8, 1024 * kMiB) ==
        "the table of distances needs 3051.8 MiB, the limit is 1024.0 MiB: "
        "raise working_memory, or pass fewer rows at a time");
}

TEST_CASE("asked and allowed never read alike") {
  CHECK(refusal(kMiB + 1, 1, 1, kMiB).find("needs 1.1 MiB, the limit is 1.0 MiB") != std::string::npos);
  CHECK(refusal(2 * kMiB, 1, 1, 2 * kMiB - 1).find("needs 2.0 MiB, the limit is 1.9 MiB") != std::string::npos);
  CHECK(refusal(kMost, 1, 1, kMost - 1).find("needs 8796093022208.0 MiB, the limit is 8796093022207.9") !=
        std::string::npos);
}

TEST_CASE("require throws with its message only when the condition fails") {
  CHECK_NOTHROW(tonari::require(true, "never"));
  CHECK_THROWS_WITH_AS(tonari::require(false, "rows disagree"), "rows disagree", std::invalid_argument);
  CHECK(std::strlen(tonari::Interrupted().what()) > 0);
}
