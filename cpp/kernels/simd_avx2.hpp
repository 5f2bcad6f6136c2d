// SPDX-License-Identifier: BSD-3-Clause
// Simd<T, N> for x86-64-v3 (AVX2 and FMA, 256 bits): the operations of simd_generic.hpp, in the same order.
#pragma once
#include <immintrin.h>

#include "kernels/simd_generic.hpp"

namespace tonari {
namespace {

template <>
struct Simd<float, 8> {
  __m256 lanes;

  static TONARI_INLINE Simd load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static TONARI_INLINE Simd broadcast(float value) { return {_mm256_set1_ps(value)}; }
  TONARI_INLINE void store(float* p) const { _mm256_storeu_ps(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm256_add_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm256_sub_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm256_mul_ps(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<float, 8> multiply_add(Simd<float, 8> a, Simd<float, 8> b, Simd<float, 8> c) {
  return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)};
}
template <>
TONARI_INLINE Simd<float, 8> abs(Simd<float, 8> a) {
  return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 8> max(Simd<float, 8> a, Simd<float, 8> b) {
  return {_mm256_max_ps(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<float, 8> a, Simd<float, 8> b) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.lanes, b.lanes, _CMP_LE_OQ)));
}

template <>
struct Simd<double, 4> {
  __m256d lanes;

  static TONARI_INLINE Simd load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static TONARI_INLINE Simd load_as(const double* p) { return load(p); }
  static TONARI_INLINE Simd load_as(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  static TONARI_INLINE Simd broadcast(double value) { return {_mm256_set1_pd(value)}; }
  TONARI_INLINE void store(double* p) const { _mm256_storeu_pd(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm256_add_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm256_sub_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm256_mul_pd(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<double, 4> multiply_add(Simd<double, 4> a, Simd<double, 4> b, Simd<double, 4> c) {
  return {_mm256_fmadd_pd(a.lanes, b.lanes, c.lanes)};
}
template <>
TONARI_INLINE Simd<double, 4> abs(Simd<double, 4> a) {
  return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.lanes)};
}
template <>
TONARI_INLINE Simd<double, 4> max(Simd<double, 4> a, Simd<double, 4> b) {
  return {_mm256_max_pd(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<double, 4> a, Simd<double, 4> b) {
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_cmp_pd(a.lanes, b.lanes, _CMP_LE_OQ)));
}

}  // namespace
}  // namespace tonari
