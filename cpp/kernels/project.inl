// SPDX-License-Identifier: BSD-3-Clause
// Products of vectors with a panel of directions: products[q][r] = sum_j vectors[q][j] * panel[j][r].
//
// Given  QUERIES vectors, row by row, `stride` values apart; a panel of VECTORS * N directions
// Error  sums of kProjectChunk terms in float32, then a sum of chunks:
//        (kProjectChunk + dim / kProjectChunk + 2) 2^-24 of sum |vector| |direction|

namespace tonari {
namespace {

template <int N, int VECTORS, int QUERIES>
void project(const float* panel, int64_t dim, const float* vectors, int64_t stride, float* products) {
  using V = Simd<float, N>;
  constexpr int kRows = N * VECTORS;
  for (int64_t first = 0; first < dim; first += kProjectChunk) {
    const int64_t last = first + kProjectChunk < dim ? first + kProjectChunk : dim;
    V sum[QUERIES][VECTORS];
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v] = V::broadcast(0.0f);
    }
    for (int64_t j = first; j < last; ++j) {
      V direction[VECTORS];
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) direction[v] = V::load(panel + v * N);
      TONARI_UNROLL
      for (int q = 0; q < QUERIES; ++q) {
        const V value = V::broadcast(vectors[q * stride + j]);
        TONARI_UNROLL
        for (int v = 0; v < VECTORS; ++v) sum[q][v] = multiply_add(direction[v], value, sum[q][v]);
      }
      panel += kRows;
    }
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        float* out = products + q * kRows + v * N;
        (first == 0 ? sum[q][v] : V::load(out) + sum[q][v]).store(out);
      }
    }
  }
}

}  // namespace
}  // namespace tonari
