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

// The same, but resize() leaves new values unset: for what many threads fill, each its own part, pages and all.
template <class T>
struct UnsetAllocator : AlignedAllocator<T> {
  UnsetAllocator() = default;
  template <class U>
  UnsetAllocator(const UnsetAllocator<U>&) {}
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Values>
  void construct(U* p, Values&&... values) {
    ::new (static_cast<void*>(p)) U(static_cast<Values&&>(values)...);
  }
};

template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

// The least multiple of `unit` that is not below `value`.
inline int64_t padded(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// bytes = a * b * c, or a MemoryLimit error when that overflows or exceeds `limit` (0: no limit).
// `what` names the buffer in the message.
int64_t checked_bytes(int64_t a, int64_t b, int64_t c, int64_t limit, const char* what);

}  // namespace tonari
