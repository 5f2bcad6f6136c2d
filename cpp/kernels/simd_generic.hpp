// SPDX-License-Identifier: BSD-3-Clause
// Simd<T, N>: N lanes of T. This is the plain form that any processor runs; simd_sse.hpp, simd_avx2.hpp and
// simd_avx512.hpp specialise it with the same operations in the same order. Everything lives in an anonymous
// namespace: each instruction set has its private copy and exports nothing of it.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(_MSC_VER) && !defined(__clang__)
#define TONARI_INLINE __forceinline
#else
#define TONARI_INLINE inline __attribute__((always_inline))
#endif

namespace tonari {
namespace {

template <class T, int N>
struct Simd {
  T lane[N];

  static TONARI_INLINE Simd load(const T* p) {
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = p[i];
    return out;
  }
  template <class From>
  static TONARI_INLINE Simd load_as(const From* p) {  // each lane converted exactly to T
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = static_cast<T>(p[i]);
    return out;
  }
  static TONARI_INLINE Simd broadcast(T value) {
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = value;
    return out;
  }
  TONARI_INLINE void store(T* p) const {
    for (int i = 0; i < N; ++i) p[i] = lane[i];
  }
  TONARI_INLINE Simd operator+(Simd b) const {
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = lane[i] + b.lane[i];
    return out;
  }
  TONARI_INLINE Simd operator-(Simd b) const {
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = lane[i] - b.lane[i];
    return out;
  }
  TONARI_INLINE Simd operator*(Simd b) const {
    Simd out;
    for (int i = 0; i < N; ++i) out.lane[i] = lane[i] * b.lane[i];
    return out;
  }
};

// a * b + c, fused where the processor can: for filters only, never for what decides.
template <class T, int N>
TONARI_INLINE Simd<T, N> multiply_add(Simd<T, N> a, Simd<T, N> b, Simd<T, N> c) {
  return a * b + c;
}
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T, int N>
TONARI_INLINE Simd<T, N> abs(Simd<T, N> a) {
  Simd<T, N> out;
  for (int i = 0; i < N; ++i)
    out.lane[i] =
        __builtin_bit_cast(T, __builtin_bit_cast(BitsOf<T>, a.lane[i]) & std::numeric_limits<BitsOf<T>>::max());
  return out;
}
// Of lanes that are at least 0, whose bits then are in the order of their values: compilers vectorise that.
template <class T, int N>
TONARI_INLINE Simd<T, N> max(Simd<T, N> a, Simd<T, N> b) {
  Simd<T, N> out;
  for (int i = 0; i < N; ++i) {
    const BitsOf<T> x = __builtin_bit_cast(BitsOf<T>, a.lane[i]), y = __builtin_bit_cast(BitsOf<T>, b.lane[i]);
    out.lane[i] = __builtin_bit_cast(T, x < y ? y : x);
  }
  return out;
}
// Of any lanes: the bits of negative ones turned round are in the order of their values too.
template <class T, int N>
TONARI_INLINE Simd<T, N> larger(Simd<T, N> a, Simd<T, N> b) {
  using Bits = BitsOf<T>;
  constexpr int kSign = 8 * sizeof(T) - 1;
  Simd<T, N> out;
  for (int i = 0; i < N; ++i) {
    const Bits x = __builtin_bit_cast(Bits, a.lane[i]), y = __builtin_bit_cast(Bits, b.lane[i]);
    const Bits x_order = x ^ ((x >> kSign) & std::numeric_limits<Bits>::max());
    const Bits y_order = y ^ ((y >> kSign) & std::numeric_limits<Bits>::max());
    out.lane[i] = __builtin_bit_cast(T, x_order < y_order ? y : x);
  }
  return out;
}
// max(a, |b|), a at least 0.
template <class T, int N>
TONARI_INLINE Simd<T, N> larger_magnitude(Simd<T, N> a, Simd<T, N> b) {
  return max(a, abs(b));
}
// About 1 / sqrt(a) of lanes above 2^-120, within 2^-11 of it: from half the exponent, by Newton's steps.
template <int N>
TONARI_INLINE Simd<float, N> inverse_root(Simd<float, N> a) {
  Simd<float, N> out;
  for (int i = 0; i < N; ++i) {
    float root = __builtin_bit_cast(float, 0x5F3759DF - (__builtin_bit_cast(int32_t, a.lane[i]) >> 1));
    root *= 1.5f - 0.5f * a.lane[i] * root * root;
    root *= 1.5f - 0.5f * a.lane[i] * root * root;
    out.lane[i] = root;
  }
  return out;
}
// Bit i is set where a[i] <= b[i].
template <class T, int N>
TONARI_INLINE uint32_t at_most(Simd<T, N> a, Simd<T, N> b) {
  uint32_t mask = 0;
  for (int i = 0; i < N; ++i) mask |= static_cast<uint32_t>(a.lane[i] <= b.lane[i]) << i;
  return mask;
}

template <class T, int N>
TONARI_INLINE T sum_of_lanes(Simd<T, N> a) {
  T lane[N], sum = 0;
  a.store(lane);
  for (int i = 0; i < N; ++i) sum += lane[i];
  return sum;
}

// N lanes of int32.
template <int N>
struct Ints {
  int32_t lane[N];

  static TONARI_INLINE Ints load(const int32_t* p) {
    Ints out;
    for (int i = 0; i < N; ++i) out.lane[i] = p[i];
    return out;
  }
  static TONARI_INLINE Ints broadcast(int32_t value) {
    Ints out;
    for (int i = 0; i < N; ++i) out.lane[i] = value;
    return out;
  }
  TONARI_INLINE void store(int32_t* p) const {
    for (int i = 0; i < N; ++i) p[i] = lane[i];
  }
};
template <int N>
TONARI_INLINE uint32_t at_most(Ints<N> a, Ints<N> b) {
  uint32_t mask = 0;
  for (int i = 0; i < N; ++i) mask |= static_cast<uint32_t>(a.lane[i] <= b.lane[i]) << i;
  return mask;
}
template <int N>
TONARI_INLINE int32_t sum_of_lanes(Ints<N> a) {
  int32_t lane[N], sum = 0;
  a.store(lane);
  for (int i = 0; i < N; ++i) sum += lane[i];
  return sum;
}

template <int N>
TONARI_INLINE Ints<N> operator+(Ints<N> a, Ints<N> b) {
  int32_t x[N], y[N];
  a.store(x);
  b.store(y);
  for (int i = 0; i < N; ++i) x[i] += y[i];
  return Ints<N>::load(x);
}

// sum + the number of bits that both have.
template <int N>
TONARI_INLINE Ints<N> add_common_bits(Ints<N> a, Ints<N> b, Ints<N> sum) {
  int32_t x[N], y[N], total[N];
  a.store(x);
  b.store(y);
  sum.store(total);
  for (int i = 0; i < N; ++i) {
    uint32_t bits = static_cast<uint32_t>(x[i] & y[i]);
    bits -= (bits >> 1) & 0x55555555u;
    bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0Fu;
    total[i] += static_cast<int32_t>((bits * 0x01010101u) >> 24);
  }
  return Ints<N>::load(total);
}
// The same numbers as float32, exact up to 2^24.
template <int N>
TONARI_INLINE Simd<float, N> as_floats(Ints<N> a) {
  int32_t from[N];
  float to[N];
  a.store(from);
  for (int i = 0; i < N; ++i) to[i] = static_cast<float>(from[i]);
  return Simd<float, N>::load(to);
}

// Four bytes on their way into one register, aligned or not.
TONARI_INLINE int32_t four_bytes(const int8_t* p) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint8_t>(p[0])) |
                              static_cast<uint32_t>(static_cast<uint8_t>(p[1])) << 8 |
                              static_cast<uint32_t>(static_cast<uint8_t>(p[2])) << 16 |
                              static_cast<uint32_t>(static_cast<uint8_t>(p[3])) << 24);
}

// N lanes of four bytes: of rows unsigned, of queries signed.
template <int N>
struct Quads {
  uint8_t byte[4 * N];

  template <class Byte>
  static TONARI_INLINE Quads load(const Byte* p) {
    Quads out;
    for (int i = 0; i < 4 * N; ++i) out.byte[i] = static_cast<uint8_t>(p[i]);
    return out;
  }
  static TONARI_INLINE Quads broadcast(const int8_t* four) {
    Quads out;
    for (int i = 0; i < 4 * N; ++i) out.byte[i] = static_cast<uint8_t>(four[i % 4]);
    return out;
  }
};
// sum + the four products of every lane, exact (VPMADDUBSW would saturate).
template <int N>
TONARI_INLINE Ints<N> multiply_add(Quads<N> rows, Quads<N> query, Ints<N> sum) {
  for (int i = 0; i < 4 * N; ++i)
    sum.lane[i / 4] += static_cast<int32_t>(rows.byte[i]) * static_cast<int32_t>(static_cast<int8_t>(query.byte[i]));
  return sum;
}

}  // namespace
}  // namespace tonari
