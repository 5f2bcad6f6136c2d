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
TONARI_INLINE Simd<float, 16> inverse_root(Simd<float, 16> a) {
  return {_mm512_rsqrt14_ps(a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 16> larger(Simd<float, 16> a, Simd<float, 16> b) {
  return {_mm512_max_ps(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE Simd<float, 16> larger_magnitude(Simd<float, 16> a, Simd<float, 16> b) {
  return {_mm512_range_ps(a.lanes, b.lanes, 0b1011)};  // the larger of both magnitudes, its sign cleared
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

template <>
struct Ints<16> {
  __m512i lanes;

  static TONARI_INLINE Ints load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
  static TONARI_INLINE Ints broadcast(int32_t value) { return {_mm512_set1_epi32(value)}; }
  TONARI_INLINE void store(int32_t* p) const { _mm512_storeu_si512(p, lanes); }
};
template <>
TONARI_INLINE uint32_t at_most(Ints<16> a, Ints<16> b) {
  return static_cast<uint32_t>(_mm512_cmp_epi32_mask(a.lanes, b.lanes, _MM_CMPINT_LE));
}
template <>
TONARI_INLINE int32_t sum_of_lanes(Ints<16> a) {
  return _mm512_reduce_add_epi32(a.lanes);
}
template <>
TONARI_INLINE Ints<16> operator+(Ints<16> a, Ints<16> b) {
  return {_mm512_add_epi32(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE Ints<16> add_common_bits(Ints<16> a, Ints<16> b, Ints<16> sum) {
#ifdef TONARI_VPOPCNT
  return {_mm512_add_epi32(sum.lanes, _mm512_popcnt_epi32(_mm512_and_si512(a.lanes, b.lanes)))};
#else
  // Bits of every half byte from a table of sixteen (Mula 2008), then bytes summed in fours.
  const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)),
                low = _mm512_set1_epi8(0x0F);
  const __m512i bits = _mm512_and_si512(a.lanes, b.lanes);
  const __m512i bytes = _mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(bits, low)),
                                        _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(bits, 4), low)));
  const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
  return {_mm512_add_epi32(sum.lanes, fours)};
#endif
}
template <>
TONARI_INLINE Simd<float, 16> as_floats(Ints<16> a) {
  return {_mm512_cvtepi32_ps(a.lanes)};
}
template <>
struct Quads<16> {
  __m512i bytes;

  static TONARI_INLINE Quads load(const void* p) { return {_mm512_loadu_si512(p)}; }
  static TONARI_INLINE Quads broadcast(const int8_t* four) { return {_mm512_set1_epi32(four_bytes(four))}; }
};
template <>
TONARI_INLINE Ints<16> multiply_add(Quads<16> rows, Quads<16> query, Ints<16> sum) {
#if defined(TONARI_VNNI) && defined(__GNUC__)
  // In place: GCC copies every accumulator around the intrinsic, which halves the rate.
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.lanes) : "v"(rows.bytes), "v"(query.bytes));
  return sum;
#elif defined(TONARI_VNNI)
  return {_mm512_dpbusd_epi32(sum.lanes, rows.bytes, query.bytes)};
#else
  // Even and odd bytes widened to 16 bits: two products each, summed in pairs.
  const __m512i even = _mm512_madd_epi16(_mm512_and_si512(rows.bytes, _mm512_set1_epi16(0xFF)),
                                         _mm512_srai_epi16(_mm512_slli_epi16(query.bytes, 8), 8));
  const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(rows.bytes, 8), _mm512_srai_epi16(query.bytes, 8));
  return {_mm512_add_epi32(sum.lanes, _mm512_add_epi32(even, odd))};
#endif
}

}  // namespace
}  // namespace tonari
