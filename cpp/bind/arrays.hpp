// SPDX-License-Identifier: BSD-3-Clause
// How arrays, the GIL and errors cross the boundary. Everything in bind/ spells them this way.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

namespace nb = nanobind;

// Typed, contiguous, never converted: pass with .noconvert().
template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<const T> view(const In1<T>& a) {
  return {a.data(), a.shape(0)};
}
template <class T>
Span<T> view(const Out1<T>& a)
  requires(!std::is_const_v<T>)
{
  return {a.data(), a.shape(0)};
}
template <class T>
MatrixView<const T> view(const In2<T>& a) {
  return {a.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1))};
}
template <class T>
MatrixView<T> view(const Out2<T>& a)
  requires(!std::is_const_v<T>)
{
  return {a.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1))};
}

// Runs `work` with the GIL released: the one place where that happens.
template <class Work>
auto without_gil(Work&& work) {
  nb::gil_scoped_release released;
  return std::forward<Work>(work)();
}

// Polled by the pool on the calling thread; true when Python has a signal (Ctrl-C) to handle.
inline bool python_interrupt() {
  nb::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

// Hands a vector over to NumPy, which frees it.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

}  // namespace tonari
