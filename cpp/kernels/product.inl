// SPDX-License-Identifier: BSD-3-Clause
// Products of float64 matrices in one fixed order: c[i][j] += sum_r a[r][i] * b[r][j].
//
// Given  rows r of a and b, `a_stride` and `b_stride` values apart; cols a multiple of kProductStep (pad b and c)
// Order  every c[i][j] takes its terms by ascending r, multiply then add, starting from what it holds. Lanes run over j
//        and never meet, so every instruction set, tile shape and cut of the depth gives the same bits.

namespace tonari {
namespace {

template <int N, int ROWS, int VECTORS>
TONARI_INLINE void product_tile(const double* a, int64_t a_stride, const double* b, int64_t b_stride, int64_t depth,
                                double* c, int64_t c_stride) {
  using V = Simd<double, N>;
  V sum[ROWS][VECTORS];
  TONARI_UNROLL
  for (int i = 0; i < ROWS; ++i) {
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) sum[i][v] = V::load(c + i * c_stride + v * N);
  }
  for (int64_t r = 0; r < depth; ++r) {
    V right[VECTORS];
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) right[v] = V::load(b + r * b_stride + v * N);
    TONARI_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      const V left = V::broadcast(a[r * a_stride + i]);
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[i][v] = sum[i][v] + left * right[v];
    }
  }
  TONARI_UNROLL
  for (int i = 0; i < ROWS; ++i) {
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) sum[i][v].store(c + i * c_stride + v * N);
  }
}

template <int N, int VECTORS>
TONARI_INLINE void product_columns(const double* a, int64_t a_stride, const double* b, int64_t b_stride, int64_t depth,
                                   int64_t rows, double* c, int64_t c_stride) {
  int64_t i = 0;
  for (; i + TONARI_PRODUCT_ROWS <= rows; i += TONARI_PRODUCT_ROWS)
    product_tile<N, TONARI_PRODUCT_ROWS, VECTORS>(a + i, a_stride, b, b_stride, depth, c + i * c_stride, c_stride);
  for (; i + 2 <= rows; i += 2)
    product_tile<N, 2, VECTORS>(a + i, a_stride, b, b_stride, depth, c + i * c_stride, c_stride);
  if (i < rows) product_tile<N, 1, VECTORS>(a + i, a_stride, b, b_stride, depth, c + i * c_stride, c_stride);
}

template <int N>
void product(const double* a, int64_t a_stride, const double* b, int64_t b_stride, int64_t depth, int64_t rows,
             int64_t cols, double* c, int64_t c_stride) {
  int64_t j = 0;
  for (; j + 2 * N <= cols; j += 2 * N)
    product_columns<N, 2>(a, a_stride, b + j, b_stride, depth, rows, c + j, c_stride);
  for (; j < cols; j += N) product_columns<N, 1>(a, a_stride, b + j, b_stride, depth, rows, c + j, c_stride);
}

}  // namespace
}  // namespace tonari
