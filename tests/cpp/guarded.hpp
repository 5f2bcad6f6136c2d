// SPDX-License-Identifier: BSD-3-Clause
// Arrays that end directly before a page nobody may touch, or begin directly behind one: a kernel that reads or writes
// one byte too far ends the test program. (Where there is no mmap, an ordinary vector.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif

enum class Guard { behind, before };

template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t count, Guard guard = Guard::behind) : count_(static_cast<std::size_t>(count)) {
#if defined(_WIN32)
    values_.resize(count_);
    data_ = values_.data();
#else
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count_ * sizeof(T);
    const std::size_t middle = (bytes + page - 1) / page * page;
    size_ = middle + 2 * page;
    void* const memory = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    if (middle > 0 && ::mprotect(memory_ + page, middle, PROT_READ | PROT_WRITE) != 0) {
      ::munmap(memory_, size_);
      throw std::bad_alloc();
    }
    data_ = reinterpret_cast<T*>(memory_ + page + (guard == Guard::behind ? middle - bytes : 0));
#endif
  }
  Guarded(const std::vector<T>& values, Guard guard = Guard::behind)
      : Guarded(static_cast<int64_t>(values.size()), guard) {
    for (std::size_t i = 0; i < count_; ++i) data_[i] = values[i];
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
#if !defined(_WIN32)
    ::munmap(memory_, size_);
#endif
  }

  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  std::span<T> values() { return {data_, count_}; }

 private:
  std::size_t count_;
  T* data_ = nullptr;
#if defined(_WIN32)
  std::vector<T> values_;
#else
  char* memory_ = nullptr;
  std::size_t size_ = 0;
#endif
};
