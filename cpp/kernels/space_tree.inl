// SPDX-License-Identifier: BSD-3-Clause
// What the trees ask of the processor: a leaf of rows against one query, and the boxes of one node's children against it.
// Float64 throughout. Up to kTreeJoined coordinates the terms are joined as decide_one joins its lanes, so that a row's
// value is what decides, to the bit; and since every step is monotone, a box's value never exceeds that of a row in it.
// Beyond, and for maxima, terms are added one after another: a filter within (dim + 4) 2^-53 of the true sum.

namespace tonari {
namespace {

// term(0) .. term(D - 1), joined by halving sixteen lanes of which the last are zero.
template <class Term, class V, int D, class At>
TONARI_INLINE V joined(At term) {
  V lane[D];
  TONARI_UNROLL
  for (int j = 0; j < D; ++j) lane[j] = term(j);
  TONARI_UNROLL
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    TONARI_UNROLL
    for (int i = 0; i < half; ++i)
      if (i + half < D) lane[i] = Term::join(lane[i], lane[i + half]);
  }
  return lane[0];
}

// The sum over D coordinates, or over dim where D is 0.
template <class Term, class V, int D, class At>
TONARI_INLINE V total(int64_t dim, At term) {
  if constexpr (D > 0) {
    return joined<Term, V, D>(term);
  } else {
    V sum = term(0);
    for (int64_t j = 1; j < dim; ++j) sum = Term::join(sum, term(j));
    return sum;
  }
}

template <class Term, class T, int N, int D>
TONARI_INLINE int leaf_of(const T* panels, int64_t dim, int64_t count, const double* query, double threshold,
                          double* values, int32_t* where) {
  using V = Simd<double, N>;
  const V most = V::broadcast(threshold);
  int kept = 0;
  for (int64_t first = 0; first < count; first += kLeafPanel) {
    uint32_t mask = 0;
    double value[kLeafPanel];
    TONARI_UNROLL
    for (int v = 0; v < kLeafPanel; v += N) {
      const V sum = total<Term, V, D>(dim, [&](int64_t j) TONARI_INLINE_LAMBDA {
        return Term::of(V::load_as(panels + j * kLeafPanel + v) - V::broadcast(query[j]));
      });
      mask |= at_most(sum, most) << v;
      sum.store(value + v);
    }
    panels += dim * kLeafPanel;
    if (count - first < kLeafPanel) mask &= (1u << (count - first)) - 1;
    for (; mask != 0; mask &= mask - 1) {
      const int lane = lowest_bit(mask);
      values[kept] = value[lane];
      where[kept++] = static_cast<int32_t>(first) + lane;
    }
  }
  return kept;
}

template <class Term, class T, int N, int D>
TONARI_INLINE uint32_t boxes_of(const T* boxes, int64_t dim, const double* query, double threshold, double* bounds) {
  using V = Simd<double, N>;
  const V most = V::broadcast(threshold), zero = V::broadcast(0.0);
  uint32_t mask = 0;
  TONARI_UNROLL
  for (int v = 0; v < kNodeFan; v += N) {
    const V sum = total<Term, V, D>(dim, [&](int64_t j) TONARI_INLINE_LAMBDA {
      const V at = V::broadcast(query[j]);
      const T* low = boxes + 2 * j * kNodeFan + v;
      // At most one of the two is above zero; max() of a negative lane and zero is zero.
      return Term::of(max(max(V::load_as(low) - at, zero), max(at - V::load_as(low + kNodeFan), zero)));
    });
    mask |= at_most(sum, most) << v;
    sum.store(bounds + v);
  }
  return mask;
}

// Calls with<D>(): D coordinates are joined as sixteen lanes; D = 0 takes any number, one after another.
template <class Term, class With>
TONARI_INLINE auto by_dim(int64_t dim, With with) {
  if constexpr (Term::kOrderMatters) {
    switch (dim) {
      case 1:
        return with.template operator()<1>();
      case 2:
        return with.template operator()<2>();
      case 3:
        return with.template operator()<3>();
      case 4:
        return with.template operator()<4>();
      case 5:
        return with.template operator()<5>();
      case 6:
        return with.template operator()<6>();
      case 8:
        return with.template operator()<8>();
      case 10:
        return with.template operator()<10>();
      case 12:
        return with.template operator()<12>();
      case 16:
        return with.template operator()<16>();
      default:
        break;
    }
  }
  return with.template operator()<0>();
}

template <class Term, class T, int N>
int leaf(const T* panels, int64_t dim, int64_t count, const double* query, double threshold, double* values,
         int32_t* where) {
  return by_dim<Term>(
      dim, [&]<int D>() { return leaf_of<Term, T, N, D>(panels, dim, count, query, threshold, values, where); });
}

template <class Term, class T, int N>
uint32_t boxes(const T* sides, int64_t dim, const double* query, double threshold, double* bounds) {
  return by_dim<Term>(dim, [&]<int D>() { return boxes_of<Term, T, N, D>(sides, dim, query, threshold, bounds); });
}

}  // namespace
}  // namespace tonari
