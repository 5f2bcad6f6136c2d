// SPDX-License-Identifier: BSD-3-Clause
// Codes: vectors as bytes. A row's bytes are unsigned (code + 128), a query's signed, products are exact in int32.
//
// encode    v = vector - centre as bytes on a lattice of one step, and what that leaves over
// sweep     a tile of queries against a run of panels, accumulators in registers over the whole of dim, four bytes a step;
//           a pair survives where start[row] + sum row * query >= threshold[query]
// closest   for every row of a panel the query with the greatest start[query] + sum row * query, the first of equals
// code_products  start[query] + sum row * query of a panel with many queries
// pairs     products of chosen pairs (row, query) out of rows and queries that lie row by row
// Cost      sweep: QUERIES * VECTORS steps per VECTORS loads and QUERIES broadcasts, 4 N multiply-adds a step

namespace tonari {
namespace {

template <class T, int N>
Encoded encode(const T* vector, const T* centre, int64_t dim, double step, uint8_t* bytes) {
  using V = Simd<double, N>;
  constexpr int64_t kRun = 64;
  constexpr double kRound = 0x1.8p+52;  // adding it and taking it away rounds to a whole number
  const V zero = V::broadcast(0.0), most = V::broadcast(255.0), half = V::broadcast(128.0);
  const V round = V::broadcast(kRound), size = V::broadcast(step), inverse = V::broadcast(1 / step);
  V left = zero, length = zero, square = zero, sum = zero;
  for (int64_t first = 0; first < dim; first += kRun) {
    const int count = static_cast<int>(dim - first < kRun ? dim - first : kRun);
    T some[kRun] = {}, middle[kRun] = {};
    const T* from = vector + first;
    const T* origin = centre + first;
    if (count < kRun) {
      for (int i = 0; i < count; ++i) some[i] = from[i], middle[i] = origin[i];
      from = some;
      origin = middle;
    }
    double found[kRun];
    TONARI_UNROLL
    for (int i = 0; i < kRun; i += N) {
      const V v = V::load_as(from + i) - V::load_as(origin + i);
      const V floored = max(v * inverse + half, zero);
      const V byte = (most - max(most - floored, zero) + round) - round;
      const V code = byte - half;
      const V rest = v - size * code;
      byte.store(found + i);
      left = left + rest * rest;
      length = length + v * v;
      square = square + code * code;
      sum = sum + code;
    }
    if (count == kRun) {
      for (int i = 0; i < kRun; ++i) bytes[first + i] = static_cast<uint8_t>(static_cast<int32_t>(found[i]));
    } else {
      for (int i = 0; i < count; ++i) bytes[first + i] = static_cast<uint8_t>(static_cast<int32_t>(found[i]));
    }
  }
  return {sum_of_lanes(left), sum_of_lanes(length), static_cast<int32_t>(sum_of_lanes(square)),
          static_cast<int32_t>(sum_of_lanes(sum))};
}

// sum += products of a panel's rows with QUERIES queries that lie dim bytes apart.
template <int N, int VECTORS, int QUERIES>
TONARI_INLINE void add_products(const uint8_t* panel, const int8_t* queries, int64_t dim,
                                Ints<N> (&sum)[QUERIES][VECTORS]) {
  for (int64_t j = 0; j < dim; j += 4) {
    Quads<N> row[VECTORS];
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) row[v] = Quads<N>::load(panel + 4 * v * N);
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      const Quads<N> query = Quads<N>::broadcast(queries + q * dim + j);
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v] = multiply_add(row[v], query, sum[q][v]);
    }
    panel += 4 * N * VECTORS;
  }
}

template <int N, int VECTORS, int QUERIES>
TONARI_INLINE void add_products(const uint8_t* panel, const int8_t* queries, const int32_t* start, int64_t dim,
                                Ints<N> (&sum)[QUERIES][VECTORS]) {
  TONARI_UNROLL
  for (int q = 0; q < QUERIES; ++q) {
    TONARI_UNROLL
    for (int v = 0; v < VECTORS; ++v) sum[q][v] = Ints<N>::broadcast(start[q]);
  }
  add_products<N, VECTORS, QUERIES>(panel, queries, dim, sum);
}

template <int N, int VECTORS, int QUERIES>
int sweep(const uint8_t* panels, const int32_t* start, int64_t dim, int64_t panel_count, const int8_t* queries,
          const int32_t* thresholds, CodeHit* hits) {
  constexpr int kRows = N * VECTORS;
  int count = 0;
  for (int64_t panel = 0; panel < panel_count; ++panel) {
    Ints<N> sum[QUERIES][VECTORS];
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v] = Ints<N>::load(start + v * N);
    }
    add_products<N, VECTORS, QUERIES>(panels, queries, dim, sum);
    panels += dim * kRows;
    start += kRows;
    const int32_t first = static_cast<int32_t>(panel) * kRows;
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      const Ints<N> threshold = Ints<N>::broadcast(thresholds[q]);
      uint32_t mask[VECTORS], any = 0;
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) any |= mask[v] = at_most(threshold, sum[q][v]);
      if (any == 0) continue;
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        int32_t values[N];
        sum[q][v].store(values);
        for (; mask[v] != 0; mask[v] &= mask[v] - 1) {
          const int lane = lowest_bit(mask[v]);
          hits[count++] = {values[lane], (q << kHitBits) | (first + v * N + lane)};
        }
      }
    }
  }
  return count;
}

template <int N, int VECTORS, int QUERIES>
void closest(const uint8_t* panel, int64_t dim, const int8_t* queries, const int32_t* start, int64_t count,
             int32_t* best, int32_t* which) {
  constexpr uint32_t kAll = static_cast<uint32_t>((uint64_t{1} << N) - 1);
  for (int i = 0; i < N * VECTORS; ++i) best[i] = INT32_MIN, which[i] = 0;
  for (int64_t first = 0; first < count; first += QUERIES) {
    Ints<N> sum[QUERIES][VECTORS];
    add_products<N, VECTORS, QUERIES>(panel, queries + first * dim, start + first, dim, sum);
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        uint32_t better = kAll & ~at_most(sum[q][v], Ints<N>::load(best + v * N));
        if (better == 0) continue;
        int32_t values[N];
        sum[q][v].store(values);
        for (; better != 0; better &= better - 1) {
          const int lane = lowest_bit(better);
          best[v * N + lane] = values[lane];
          which[v * N + lane] = static_cast<int32_t>(first) + q;
        }
      }
    }
  }
}

template <int N, int VECTORS, int QUERIES>
void code_products(const uint8_t* panel, int64_t dim, const int8_t* queries, const int32_t* start, int64_t count,
                   int32_t* out) {
  for (int64_t first = 0; first < count; first += QUERIES) {
    Ints<N> sum[QUERIES][VECTORS];
    add_products<N, VECTORS, QUERIES>(panel, queries + first * dim, start + first, dim, sum);
    TONARI_UNROLL
    for (int q = 0; q < QUERIES; ++q) {
      TONARI_UNROLL
      for (int v = 0; v < VECTORS; ++v) sum[q][v].store(out + ((first + q) * VECTORS + v) * N);
    }
  }
}

template <int N>
void pairs(const uint8_t* rows, const int8_t* queries, int64_t stride, const CodePair* chosen, int64_t count,
           int32_t* dots) {
  constexpr int64_t kAhead = 3;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const uint8_t* later = rows + chosen[i + kAhead].row * stride;
      for (int64_t j = 0; j < stride; j += 64) prefetch(later + j);
    }
    const uint8_t* row = rows + chosen[i].row * stride;
    const int8_t* query = queries + chosen[i].query * stride;
    Ints<N> even = Ints<N>::broadcast(0), odd = Ints<N>::broadcast(0);
    int64_t j = 0;
    for (; j + 8 * N <= stride; j += 8 * N) {
      even = multiply_add(Quads<N>::load(row + j), Quads<N>::load(query + j), even);
      odd = multiply_add(Quads<N>::load(row + j + 4 * N), Quads<N>::load(query + j + 4 * N), odd);
    }
    for (; j < stride; j += 4 * N) even = multiply_add(Quads<N>::load(row + j), Quads<N>::load(query + j), even);
    dots[i] = sum_of_lanes(even + odd);
  }
}

}  // namespace
}  // namespace tonari
