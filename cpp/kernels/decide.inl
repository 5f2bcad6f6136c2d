// SPDX-License-Identifier: BSD-3-Clause
// What decides: direct differences, float64, 16 lanes (coordinate j goes to lane j mod 16), multiply then add, lanes
// joined as ((0 + 8) + (4 + 12)) + ... by halving. Every instruction set adds in this order and gives the same bits.

namespace tonari {
namespace {

inline constexpr int kLanes = 16;

struct SquaredTerm {
  template <class V>
  static TONARI_INLINE V add(V sum, V difference) {
    return sum + difference * difference;
  }
  static TONARI_INLINE double join(double a, double b) { return a + b; }
};
struct AbsoluteTerm {
  template <class V>
  static TONARI_INLINE V add(V sum, V difference) {
    return sum + abs(difference);
  }
  static TONARI_INLINE double join(double a, double b) { return a + b; }
};
struct LargestTerm {
  template <class V>
  static TONARI_INLINE V add(V sum, V difference) {
    return max(sum, abs(difference));
  }
  static TONARI_INLINE double join(double a, double b) { return a < b ? b : a; }
};

template <class Term, class T, int N>
double decide_one(const T* row, const T* query, int64_t dim) {
  using V = Simd<double, N>;
  constexpr int kRegisters = kLanes / N;
  V sum[kRegisters];
  TONARI_UNROLL
  for (int r = 0; r < kRegisters; ++r) sum[r] = V::broadcast(0.0);
  int64_t j = 0;
  for (; j + kLanes <= dim; j += kLanes) {
    TONARI_UNROLL
    for (int r = 0; r < kRegisters; ++r)
      sum[r] = Term::add(sum[r], V::load_as(row + j + r * N) - V::load_as(query + j + r * N));
  }
  if (j < dim) {  // the tail, padded with zero differences
    double difference[kLanes] = {};
    for (int64_t i = j; i < dim; ++i) difference[i - j] = static_cast<double>(row[i]) - static_cast<double>(query[i]);
    TONARI_UNROLL
    for (int r = 0; r < kRegisters; ++r) sum[r] = Term::add(sum[r], V::load(difference + r * N));
  }
  double lane[kLanes];
  TONARI_UNROLL
  for (int r = 0; r < kRegisters; ++r) sum[r].store(lane + r * N);
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = Term::join(lane[i], lane[i + half]);
  return lane[0];
}

template <class Term, class T, int N>
void decide(const T* rows, int64_t dim, const T* query, const int32_t* which, int64_t count, double* reduced) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + 1 < count) prefetch(rows + static_cast<int64_t>(which[i + 1]) * dim);
    reduced[i] = decide_one<Term, T, N>(rows + static_cast<int64_t>(which[i]) * dim, query, dim);
  }
}

}  // namespace
}  // namespace tonari
