// SPDX-License-Identifier: BSD-3-Clause
// Rows packed as float32 panels for the tile kernels, and the proof that filtering by them loses nothing.
//
// A packed row is x^ = float32(s (x - m)), s a power of two. u = 2^-24, d = dim.
//   |x^ - s (x - m)| <= u |x^| per coordinate, so distances of packed rows differ from s times the true ones by at most
//   u (|x^| + |q^|) in any norm.
// dot        value = start + sum x^ (-2 q^), start = (1 - A) |x^|^2, a chain of d float32 steps:
//            s^2 D^2 >= value + (1 - A) |q^|^2 - tiny      with A = (2 d + 10) u, which covers the chain, the rounding of
//            s^2 D^2 <= value + 2 A |x^|^2 + (1 + A) |q^|^2 + tiny            rows and queries, and float64 deciding
// manhattan  value = start + sum max(x^, q^), start = -sum x^ / 2 - A |x^|; exactly, 2 (sum max - sum x^ / 2) = |x^ - q^| + sum q^.
//            The chain runs through magnitudes up to 1.5 |x^| + |q^|, so it and the packing cost less than A (|x^| + |q^|):
//            s D >= 2 (value - A |q^|) - sum q^ - tiny
//            s D <= 2 (value + 2 A |x^| + A |q^|) - sum q^ + tiny
// powers, chebyshev   value within (1 +- A) (chebyshev: 2 u; half powers: A + 2^-11) of the packed distance to its power, and
//            |packed - s D| <= e_x + e_q, e = u |.|
// Each pair of tests is turned into one float32 threshold per query, rounded up.
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"
#include "base/views.hpp"
#include "kernels/table.hpp"

namespace tonari {

struct PackedRows {
  bool usable = false;  // false: magnitudes or dim are beyond what float32 can filter
  Filter filter = kFilterDot;
  int64_t panel_count = 0;
  AlignedVector<float> panels;  // [panel][dim][tile_rows]
  AlignedVector<float> start;  // [panel][tile_rows]; +inf beyond the last row, which then never survives
  std::vector<double> centre;
  double scale = 1;  // a power of two
  double error = 0;  // A, as above
  double largest_error = 0;  // of the worst row: 2 A |x^| of manhattan, e_x of the others
};

template <class T>
PackedRows pack_rows(MatrixView<const T> rows, double largest, Filter filter, int threads,
                     const InterruptCheck& interrupt);

// One query beside packed rows: its packed coordinates and how its thresholds are computed.
class PackedQuery {
 public:
  // Writes dim values at packed[0], packed[stride], ... and learns the norms. usable() is false when the query lies so far
  // out that float32 would overflow: then it must be decided against every row.
  template <class T>
  void pack(const PackedRows& rows, const T* query, float* packed, int64_t stride);

  bool usable() const { return usable_; }
  // Every row whose filter distance (true units) is at most `distance` has a value at most this.
  float threshold_for(const PackedRows& rows, double distance) const;
  // An upper bound of a row's distance, in a frame of this query's own: larger means farther.
  double upper(const PackedRows& rows, float value, int64_t row) const;
  // Every row that is no farther than a row of that upper bound has a value at most this.
  float threshold_below(const PackedRows& rows, double upper) const;

 private:
  double norm_ = 0;  // |q^|^2 of dot, A |q^| of manhattan, e_q of the others
  double sum_ = 0;  // of q^
  bool usable_ = true;
};

}  // namespace tonari
