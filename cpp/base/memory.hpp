// SPDX-License-Identifier: BSD-3-Clause
// Memory: cache-line aligned arrays without surprises, and the check against a limit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
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

// As above, but what is not given a value is left as it is: for large arrays that threads fill, and whose pages they touch.
template <class T>
struct UnfilledAllocator : AlignedAllocator<T> {
  template <class U>
  struct rebind {
    using other = UnfilledAllocator<U>;
  };
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using UnfilledVector = std::vector<T, UnfilledAllocator<T>>;

// bytes = a * b * c, or a MemoryLimit error when that overflows or exceeds `limit` (0: no limit).
// `what` names the buffer in the message.
int64_t checked_bytes(int64_t a, int64_t b, int64_t c, int64_t limit, const char* what);

}  // namespace tonari
