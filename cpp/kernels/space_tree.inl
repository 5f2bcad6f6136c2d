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
      dim, [&]<int D> { return leaf_of<Term, T, N, D>(panels, dim, count, query, threshold, values, where); });
}

template <class Term, class T, int N>
uint32_t boxes(const T* sides, int64_t dim, const double* query, double threshold, double* bounds) {
  return by_dim<Term>(dim, [&]<int D> { return boxes_of<Term, T, N, D>(sides, dim, query, threshold, bounds); });
}

TONARI_INLINE int ones(uint64_t mask) {
#if defined(_MSC_VER) && !defined(__clang__)
  return static_cast<int>(__popcnt64(mask));
#else
  return __builtin_popcountll(mask);
#endif
}

// Every candidate's place is counted, so that hardly a branch depends on a distance.
template <int N>
int merge(double* distances, int32_t* rows, int count, int wanted, double* fresh, const int32_t* fresh_rows,
          int fresh_count) {
  using V = Simd<double, N>;
  const int padded = (fresh_count + N - 1) / N * N;
  for (int i = fresh_count; i < padded; ++i) fresh[i] = std::numeric_limits<double>::infinity();
  double placed[kListMost + 1];
  int32_t placed_rows[kListMost + 1];
  uint64_t taken = 0;
  uint64_t places = 0;
  for (int j = 0; j < fresh_count; ++j) {
    const V mine = V::broadcast(fresh[j]);
    uint64_t listed = 0, not_below = 0, not_above = 0;
    for (int i = 0; i < count; i += N) {
      const V list = V::load(distances + i);
      listed |= static_cast<uint64_t>(at_most(list, mine)) << i;
      not_below |= static_cast<uint64_t>(at_most(mine, list)) << i;
    }
    if ((listed & not_below) != 0) return -1;
    for (int i = 0; i < padded; i += N) not_above |= static_cast<uint64_t>(at_most(V::load(fresh + i), mine)) << i;
    // Equal candidates count one another, and then a place is missing.
    const int rank = ones(not_above) - 1;
    places |= uint64_t{1} << rank;
    const int place = ones(listed) + rank < wanted ? ones(listed) + rank : kListMost;
    placed[place] = fresh[j];
    placed_rows[place] = fresh_rows[j];
    taken |= place < kListMost ? uint64_t{1} << place : 0;
  }
  if (places != (uint64_t{1} << fresh_count) - 1) return -1;
  const int total = count + fresh_count < wanted ? count + fresh_count : wanted;
  double listed[kListMost];
  int32_t listed_rows[kListMost];
  for (int i = 0; i < count; ++i) {
    listed[i] = distances[i];
    listed_rows[i] = rows[i];
  }
  int next = 0;
  for (int i = 0; i < total; ++i) {
    const bool here = (taken >> i & 1) != 0;
    const double* from = here ? placed + i : listed + next;
    const int32_t* from_rows = here ? placed_rows + i : listed_rows + next;
    distances[i] = *from;
    rows[i] = *from_rows;
    next += here ? 0 : 1;
  }
  return total;
}

}  // namespace
}  // namespace tonari
