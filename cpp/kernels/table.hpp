// SPDX-License-Identifier: BSD-3-Clause
// The table of hot loops that each instruction set exports, and the one that was chosen at start.
#pragma once
#include <cstdint>

namespace tonari {

// A pair (query, row) whose filter value did not exceed the query's threshold.
struct Survivor {
  float value;
  int32_t where;  // query within the tile * tile_rows + row within the panel
};

// What a filter value is. dot: start + x.q (start a norm, q times -2); manhattan: sum |x - q|; chebyshev: max |x - q|.
enum Filter : int { kFilterDot = 0, kFilterManhattan = 1, kFilterChebyshev = 2, kFilters = 3 };

// What decides. squared: sum (x - q)^2; absolute: sum |x - q|; largest: max |x - q|.
enum Reduced : int { kSquared = 0, kAbsolute = 1, kLargest = 2, kReduced = 3 };

// One tile: up to kTileSizes[i] queries against one panel of tile_rows rows.
// panel [dim][tile_rows], start [tile_rows], queries [dim][size of the tile], thresholds [size of the tile].
// Writes at most size * tile_rows survivors and returns how many.
using TileKernel = int (*)(const float* panel, const float* start, int64_t dim, const float* queries,
                           const float* thresholds, Survivor* survivors);

// Sums (or maxima) over the differences of rows which[0..count) to one query, float64, in the engine's fixed order of lanes.
template <class T>
using DecideKernel = void (*)(const T* rows, int64_t dim, const T* query, const int32_t* which, int64_t count,
                              double* decided);

inline constexpr int kTileSizes = 4;

struct Kernels {
  const char* name;
  int tile_rows;                                // rows in a panel
  int tile_queries[kTileSizes];                 // queries of each tile size, ascending; the last is the full tile
  TileKernel tile[kFilters][kTileSizes];
  DecideKernel<float> decide_f32[kReduced];
  DecideKernel<double> decide_f64[kReduced];
};

extern const Kernels kernels_generic;
#ifdef TONARI_X86
extern const Kernels kernels_v2;
extern const Kernels kernels_v3;
extern const Kernels kernels_v4;
extern const Kernels kernels_v4_vnni;
#endif

// The best table that this processor runs, or the one that TONARI_ISA names (generic, v2, v3, v4, v4_vnni).
// Throws std::invalid_argument when TONARI_ISA names a table that is unknown or that this processor cannot run.
const Kernels& kernels();

// A table by name, or nullptr when it is unknown here or this processor cannot run it.
const Kernels* kernels_named(const char* name);

// Names of all tables that this processor runs, best first, ending with a null pointer.
const char* const* kernels_available();

}  // namespace tonari
