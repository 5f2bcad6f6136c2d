// SPDX-License-Identifier: BSD-3-Clause
// The fused tile: QUERIES queries against a panel of VECTORS * N rows, accumulators in registers over the whole of dim,
// then one comparison per pair. Values never reach memory unless they survive.
//
// value[q][r] = start[r] (+) step over dim of (panel[j][r], queries[j][q])
// Cost   QUERIES * VECTORS steps per VECTORS loads and QUERIES broadcasts: bound by arithmetic
// Error  a chain of dim steps in float32; cpp/index/packed.hpp holds the bound

namespace tonari {
namespace {

struct DotStep {
  template <class V>
  static TONARI_INLINE V step(V row, V query, V sum) {
    return multiply_add(row, query, sum);
  }
};
// |x - q| = 2 max(x, q) - x - q, and both sums are known: one comparison is left. The units that add also compare, so
// the sum goes to those that multiply (1.9 times the speed of sum + |x - q|).
struct ManhattanStep {
  template <class V>
  static TONARI_INLINE V step(V row, V query, V sum) {
    return multiply_add(larger(row, query), V::broadcast(1.0f), sum);
  }
};
struct ChebyshevStep {
  template <class V>
  static TONARI_INLINE V step(V row, V minus_query, V largest) {
    return larger_magnitude(largest, multiply_add(row, V::broadcast(1.0f), minus_query));
  }
};
// |x - q|^(HALVES / 2). Half powers go by an approximate root, within 2^-11, of what is not below 2^-100.
template <int HALVES>
struct PowerStep {
  template <class V>
  static TONARI_INLINE V step(V row, V query, V sum) {
    const V difference = row - query, size = abs(difference), square = difference * difference;
    if constexpr (HALVES == 6) return multiply_add(square, size, sum);
    if constexpr (HALVES == 8) return multiply_add(square, square, sum);
    const V root = size * inverse_root(max(size, V::broadcast(0x1p-100f)));
    return multiply_add(HALVES == 3 ? size : square, root, sum);
  }
};

template <class Step, int N, int VECTORS, int QUERIES>
int tile(const float* panel, const float* start, int64_t dim, const float* queries, const float* thresholds,
         Survivor* survivors) {
  using V = Simd<float, N>;
  constexpr int kRows = N * VECTORS;
  V sum[QUERIES][VECTORS];
  TONARI_UNROLL
  for (int q = 0; q < QUERIES; ++q) {
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) sum[q][v] = V::load(start + v * N);
  }
  for (int64_t j = 0; j < dim; ++j) {
    V row[VECTORS];
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) row[v] = V::load(panel + v * N);
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      const V query = V::broadcast(queries[q]);
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v] = Step::step(row[v], query, sum[q][v]);
    }
    panel += kRows;
    queries += QUERIES;
  }
  int count = 0;
  TONARI_UNROLL
  for (int q = 0; q < QUERIES; ++q) {
    const V threshold = V::broadcast(thresholds[q]);
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) {
      uint32_t mask = at_most(sum[q][v], threshold);
      if (mask == 0) continue;
      float values[N];
      sum[q][v].store(values);
      do {
        const int lane = lowest_bit(mask);
        mask &= mask - 1;
        survivors[count++] = {values[lane], q * kRows + v * N + lane};
      } while (mask != 0);
    }
  }
  return count;
}

}  // namespace
}  // namespace tonari
