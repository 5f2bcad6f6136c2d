// SPDX-License-Identifier: BSD-3-Clause
// Simd<T, N> for x86-64-v4 (AVX-512 F, BW, CD, DQ, VL, 512 bits): the operations of simd_generic.hpp, in the same order.
#pragma once
#include <immintrin.h>

#include "kernels/simd_generic.hpp"

namespace tonari {
namespace {

template <>
struct Simd<float, 16> {
  __m512 lanes;

  static TONARI_INLINE Simd load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static TONARI_INLINE Simd broadcast(float value) { return {_mm512_set1_ps(value)}; }
  TONARI_INLINE void store(float* p) const { _mm512_storeu_ps(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm512_add_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm512_sub_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm512_mul_ps(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<float, 16> multiply_add(Simd<float, 16> a, Simd<float, 16> b, Simd<float, 16> c) {
  return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)};
}
template <>
TONARI_INLINE Simd<float, 16> abs(Simd<float, 16> a) {
  return {_mm512_abs_ps(a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 16> max(Simd<float, 16> a, Simd<float, 16> b) {
  return {_mm512_max_ps(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<float, 16> a, Simd<float, 16> b) {
  return static_cast<uint32_t>(_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_LE_OQ));
}

template <>
struct Simd<double, 8> {
  __m512d lanes;

  static TONARI_INLINE Simd load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static TONARI_INLINE Simd load_as(const double* p) { return load(p); }
  static TONARI_INLINE Simd load_as(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
  static TONARI_INLINE Simd broadcast(double value) { return {_mm512_set1_pd(value)}; }
  TONARI_INLINE void store(double* p) const { _mm512_storeu_pd(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm512_add_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm512_sub_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm512_mul_pd(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<double, 8> multiply_add(Simd<double, 8> a, Simd<double, 8> b, Simd<double, 8> c) {
  return {_mm512_fmadd_pd(a.lanes, b.lanes, c.lanes)};
}
template <>
TONARI_INLINE Simd<double, 8> abs(Simd<double, 8> a) {
  return {_mm512_abs_pd(a.lanes)};
}
template <>
TONARI_INLINE Simd<double, 8> max(Simd<double, 8> a, Simd<double, 8> b) {
  return {_mm512_max_pd(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<double, 8> a, Simd<double, 8> b) {
  return static_cast<uint32_t>(_mm512_cmp_pd_mask(a.lanes, b.lanes, _CMP_LE_OQ));
}

}  // namespace
}  // namespace tonari
