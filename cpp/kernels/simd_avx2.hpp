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
TONARI_INLINE Simd<float, 8> inverse_root(Simd<float, 8> a) {
  return {_mm256_rsqrt_ps(a.lanes)};
}
template <>
TONARI_INLINE Simd<float, 8> larger(Simd<float, 8> a, Simd<float, 8> b) {
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

template <>
struct Ints<8> {
  __m256i lanes;

  static TONARI_INLINE Ints load(const int32_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static TONARI_INLINE Ints broadcast(int32_t value) { return {_mm256_set1_epi32(value)}; }
  TONARI_INLINE void store(int32_t* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), lanes); }
};
template <>
TONARI_INLINE uint32_t at_most(Ints<8> a, Ints<8> b) {
  return static_cast<uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.lanes, b.lanes))) & 0xFF);
}
template <>
TONARI_INLINE int32_t sum_of_lanes(Ints<8> a) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(a.lanes), _mm256_extracti128_si256(a.lanes, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1)));
}
template <>
TONARI_INLINE Ints<8> operator+(Ints<8> a, Ints<8> b) {
  return {_mm256_add_epi32(a.lanes, b.lanes)};
}
template <>
TONARI_INLINE Ints<8> add_common_bits(Ints<8> a, Ints<8> b, Ints<8> sum) {
  // Bits of every half byte from a table of sixteen (Mula 2008), then bytes summed in fours.
  const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4)),
                low = _mm256_set1_epi8(0x0F);
  const __m256i bits = _mm256_and_si256(a.lanes, b.lanes);
  const __m256i bytes = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(bits, low)),
                                        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bits, 4), low)));
  const __m256i fours = _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
  return {_mm256_add_epi32(sum.lanes, fours)};
}
template <>
TONARI_INLINE Simd<float, 8> as_floats(Ints<8> a) {
  return {_mm256_cvtepi32_ps(a.lanes)};
}
template <>
struct Quads<8> {
  __m256i bytes;

  static TONARI_INLINE Quads load(const void* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static TONARI_INLINE Quads broadcast(const int8_t* four) { return {_mm256_set1_epi32(four_bytes(four))}; }
};
template <>
TONARI_INLINE Ints<8> multiply_add(Quads<8> rows, Quads<8> query, Ints<8> sum) {
  // Even and odd bytes widened to 16 bits: two products each, summed in pairs.
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(rows.bytes, _mm256_set1_epi16(0xFF)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(query.bytes, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(rows.bytes, 8), _mm256_srai_epi16(query.bytes, 8));
  return {_mm256_add_epi32(sum.lanes, _mm256_add_epi32(even, odd))};
}

}  // namespace
}  // namespace tonari
