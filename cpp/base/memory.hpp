// SPDX-License-Identifier: BSD-3-Clause
// Memory: cache-line aligned arrays without surprises, and the check against a limit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace tonari {

inline constexpr std::size_t kAlignment = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{kAlignment}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{kAlignment}); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// bytes = a * b * c, or a MemoryLimit error when that overflows or exceeds `limit` (0: no limit).
// `what` names the buffer in the message.
int64_t checked_bytes(int64_t a, int64_t b, int64_t c, int64_t limit, const char* what);

}  // namespace tonari
