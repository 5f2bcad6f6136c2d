// SPDX-License-Identifier: BSD-3-Clause
// exp(-a) and what logistic regression needs of it, over plain arrays that the compiler vectorises.
//
// Error  exp within 2 ULP, log(1 + e) within 4; the same bits everywhere: multiply, add and divide, lane by lane, and
//        selections by integer masks, because comparisons of floating point numbers would keep a branch per lane
// Range  a >= 0 (infinite too) is cut at 708, below which exp(-a) is no subnormal number

namespace tonari {
namespace {

TONARI_INLINE int64_t bits_of(double x) { return __builtin_bit_cast(int64_t, x); }
TONARI_INLINE double from_bits(int64_t bits) { return __builtin_bit_cast(double, bits); }

// 2^k p with p a Taylor polynomial on |r| <= ln 2 / 2; k from adding 1.5 * 2^52 (Cody and Waite 1980).
TONARI_INLINE double exp_of_minus(double a) {
  const int64_t limit = bits_of(708.0), given = bits_of(a);
  const double x = -from_bits(given < limit ? given : limit);
  const double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52;
  const double k = shifted - 0x1.8p52;
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` are k in two's complement.
  return p * from_bits(static_cast<int64_t>(static_cast<uint64_t>(bits_of(shifted) + 1023) << 52));
}

// log(1 + e) for e in [0, 1] as 2 artanh(e / (2 + e)).
TONARI_INLINE double log_of_one_and(double e) {
  const double z = e / (2.0 + e), square = z * z;
  double p = 1.0 / 35.0;
  p = p * square + 1.0 / 33.0;
  p = p * square + 1.0 / 31.0;
  p = p * square + 1.0 / 29.0;
  p = p * square + 1.0 / 27.0;
  p = p * square + 1.0 / 25.0;
  p = p * square + 1.0 / 23.0;
  p = p * square + 1.0 / 21.0;
  p = p * square + 1.0 / 19.0;
  p = p * square + 1.0 / 17.0;
  p = p * square + 1.0 / 15.0;
  p = p * square + 1.0 / 13.0;
  p = p * square + 1.0 / 11.0;
  p = p * square + 1.0 / 9.0;
  p = p * square + 1.0 / 7.0;
  p = p * square + 1.0 / 5.0;
  p = p * square + 1.0 / 3.0;
  p = p * square + 1.0;
  return 2.0 * z * p;
}

void exponential(const double* a, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = exp_of_minus(a[i]);
}

void logistic(const double* margin, int64_t count, double* wrong, double* loss) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t given = bits_of(margin[i]), negative = given >> 63;
    const double a = from_bits(given & INT64_MAX);
    const double e = exp_of_minus(a);
    const double above = from_bits((bits_of(e) & ~negative) | (bits_of(1.0) & negative));
    wrong[i] = above / (1.0 + e);
    loss[i] = from_bits(bits_of(a) & negative) + log_of_one_and(e);
  }
}

}  // namespace
}  // namespace tonari
