// SPDX-License-Identifier: BSD-3-Clause
// Simd<T, N> for x86-64-v2 (128 bits, no fused multiply-add): the operations of simd_generic.hpp, in the same order.
#pragma once
#include <immintrin.h>

#include "kernels/simd_generic.hpp"

namespace tonari {
namespace {

template <>
struct Simd<float, 4> {
  __m128 lanes;

  static TONARI_INLINE Simd load(const float* p) { return {_mm_loadu_ps(p)}; }
  static TONARI_INLINE Simd broadcast(float value) { return {_mm_set1_ps(value)}; }
  TONARI_INLINE void store(float* p) const { _mm_storeu_ps(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm_add_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm_sub_ps(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm_mul_ps(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<float, 4> multiply_add(Simd<float, 4> a, Simd<float, 4> b, Simd<float, 4> c) {
  return {_mm_add_ps(_mm_mul_ps(a.lanes, b.lanes), c.lanes)};
}
template <>
TONARI_INLINE Simd<float, 4> abs(Simd<float, 4> a) {
  return {_mm_andnot_ps(_mm_set1_ps(-0.0f), a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 4> max(Simd<float, 4> a, Simd<float, 4> b) {
  return {_mm_max_ps(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE Simd<float, 4> inverse_root(Simd<float, 4> a) {
  return {_mm_rsqrt_ps(a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 4> larger(Simd<float, 4> a, Simd<float, 4> b) {
  return {_mm_max_ps(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<float, 4> a, Simd<float, 4> b) {
  return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmple_ps(a.lanes, b.lanes)));
}

template <>
struct Simd<double, 2> {
  __m128d lanes;

  static TONARI_INLINE Simd load(const double* p) { return {_mm_loadu_pd(p)}; }
  static TONARI_INLINE Simd load_as(const double* p) { return load(p); }
  static TONARI_INLINE Simd load_as(const float* p) {
    return {_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadu_si64(p)))};  // 8 bytes, aligned as floats are
  }
  static TONARI_INLINE Simd broadcast(double value) { return {_mm_set1_pd(value)}; }
  TONARI_INLINE void store(double* p) const { _mm_storeu_pd(p, lanes); }
  TONARI_INLINE Simd operator+(Simd b) const { return {_mm_add_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator-(Simd b) const { return {_mm_sub_pd(lanes, b.lanes)}; }
  TONARI_INLINE Simd operator*(Simd b) const { return {_mm_mul_pd(lanes, b.lanes)}; }
};
template <>
TONARI_INLINE Simd<double, 2> multiply_add(Simd<double, 2> a, Simd<double, 2> b, Simd<double, 2> c) {
  return {_mm_add_pd(_mm_mul_pd(a.lanes, b.lanes), c.lanes)};
}
template <>
TONARI_INLINE Simd<double, 2> abs(Simd<double, 2> a) {
  return {_mm_andnot_pd(_mm_set1_pd(-0.0), a.lanes)};
}
template <>
TONARI_INLINE Simd<double, 2> max(Simd<double, 2> a, Simd<double, 2> b) {
  return {_mm_max_pd(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE uint32_t at_most(Simd<double, 2> a, Simd<double, 2> b) {
  return static_cast<uint32_t>(_mm_movemask_pd(_mm_cmple_pd(a.lanes, b.lanes)));
}

template <>
struct Ints<4> {
  __m128i lanes;

  static TONARI_INLINE Ints load(const int32_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static TONARI_INLINE Ints broadcast(int32_t value) { return {_mm_set1_epi32(value)}; }
  TONARI_INLINE void store(int32_t* p) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), lanes); }
};
template <>
TONARI_INLINE uint32_t at_most(Ints<4> a, Ints<4> b) {
  return static_cast<uint32_t>(~_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(a.lanes, b.lanes))) & 0xF);
}
template <>
TONARI_INLINE Ints<4> add_common_bits(Ints<4> a, Ints<4> b, Ints<4> sum) {
  // Bits of every half byte from a table of sixteen (Mula 2008), then bytes summed in fours.
  const __m128i table = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4), low = _mm_set1_epi8(0x0F);
  const __m128i bits = _mm_and_si128(a.lanes, b.lanes);
  const __m128i bytes = _mm_add_epi8(_mm_shuffle_epi8(table, _mm_and_si128(bits, low)),
                                     _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(bits, 4), low)));
  const __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(bytes, _mm_set1_epi8(1)), _mm_set1_epi16(1));
  return {_mm_add_epi32(sum.lanes, fours)};
}
template <>
TONARI_INLINE Simd<float, 4> as_floats(Ints<4> a) {
  return {_mm_cvtepi32_ps(a.lanes)};
}
template <>
struct Quads<4> {
  __m128i bytes;

  static TONARI_INLINE Quads load(const void* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static TONARI_INLINE Quads broadcast(const int8_t* four) { return {_mm_set1_epi32(four_bytes(four))}; }
};
template <>
TONARI_INLINE Ints<4> multiply_add(Quads<4> rows, Quads<4> query, Ints<4> sum) {
  // Even and odd bytes widened to 16 bits: two products each, summed in pairs.
  const __m128i even = _mm_madd_epi16(_mm_and_si128(rows.bytes, _mm_set1_epi16(0xFF)),
                                      _mm_srai_epi16(_mm_slli_epi16(query.bytes, 8), 8));
  const __m128i odd = _mm_madd_epi16(_mm_srli_epi16(rows.bytes, 8), _mm_srai_epi16(query.bytes, 8));
  return {_mm_add_epi32(sum.lanes, _mm_add_epi32(even, odd))};
}

}  // namespace
}  // namespace tonari
