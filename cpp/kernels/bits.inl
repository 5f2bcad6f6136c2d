// SPDX-License-Identifier: BSD-3-Clause
// Bits in common: a tile of queries against a run of panels, accumulators in registers, 32 bits of every row a step.
//
// A pair survives where common >= slope[query] * count[row] + least[query]. With |x ^ q| = |x| + |q| - 2 common, and the like
// for shares, one count and one straight line serve every metric of sets (cpp/index/bits.hpp).
// Cost    QUERIES * VECTORS times (and, population count, add) per VECTORS loads and QUERIES broadcasts

namespace tonari {
namespace {

template <int N, int VECTORS, int QUERIES>
int common_bits(const int32_t* panels, const float* counts, int64_t words, int64_t panel_count, const int32_t* queries,
                const float* slope, const float* least, CodeHit* hits) {
  constexpr int kRows = N * VECTORS;
  const int32_t run_rows = static_cast<int32_t>(panel_count) * kRows;
  int found = 0;
  for (int64_t panel = 0; panel < panel_count; ++panel) {
    Ints<N> sum[QUERIES][VECTORS];
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v] = Ints<N>::broadcast(0);
    }
    const int32_t* query = queries;
    for (int64_t word = 0; word < words; ++word) {
      Ints<N> row[VECTORS];
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) row[v] = Ints<N>::load(panels + v * N);
      TONARI_UNROLL
      for (int q = 0; q < QUERIES; ++q) {
        const Ints<N> bits = Ints<N>::broadcast(query[q]);
        TONARI_UNROLL
        for (int v = 0; v < VECTORS; ++v) sum[q][v] = add_common_bits(row[v], bits, sum[q][v]);
      }
      panels += kRows;
      query += QUERIES;
    }
    const int32_t first = static_cast<int32_t>(panel) * kRows;
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      const Simd<float, N> a = Simd<float, N>::broadcast(slope[q]), b = Simd<float, N>::broadcast(least[q]);
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        uint32_t mask = at_most(multiply_add(Simd<float, N>::load(counts + v * N), a, b), as_floats(sum[q][v]));
        if (mask == 0) continue;
        int32_t values[N];
        sum[q][v].store(values);
        for (; mask != 0; mask &= mask - 1) {
          const int lane = lowest_bit(mask);
          hits[found++] = {values[lane], q * run_rows + first + v * N + lane};
        }
      }
    }
    counts += kRows;
  }
  return found;
}

}  // namespace
}  // namespace tonari
