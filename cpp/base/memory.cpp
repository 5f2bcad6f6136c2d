// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory.hpp"

#include <cstdio>
#include <limits>
#include <string>

#include "base/errors.hpp"

namespace tonari {
namespace {

// One decimal. What is asked rounds up and the limit rounds down, so that the two never read alike.
std::string mebibytes(int64_t bytes, bool up) {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  const int64_t part = bytes % kMebibyte * 10 + (up ? kMebibyte - 1 : 0);
  const int64_t tenths = bytes / kMebibyte * 10 + part / kMebibyte;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

}  // namespace

int64_t checked_bytes(int64_t a, int64_t b, int64_t c, int64_t limit, const char* what) {
  require(a >= 0 && b >= 0 && c >= 0 && limit >= 0, "checked_bytes: a size or the limit is negative");
  if (a == 0 || b == 0 || c == 0) return 0;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (a > kMost / b || a * b > kMost / c) {
    char size[96];
    std::snprintf(size, sizeof size, "%lld x %lld x %lld", static_cast<long long>(a), static_cast<long long>(b),
                  static_cast<long long>(c));
    throw MemoryLimit(std::string(what) + " would need " + size +
                      " bytes, more than any memory holds: pass fewer rows or columns at a time");
  }
  const int64_t bytes = a * b * c;
  if (limit > 0 && bytes > limit) {
    throw MemoryLimit(std::string(what) + " needs " + mebibytes(bytes, true) + ", the limit is " +
                      mebibytes(limit, false) + ": raise working_memory, or pass fewer rows at a time");
  }
  return bytes;
}

}  // namespace tonari
