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
inline constexpr int64_t kProjectChunk = 128;  // terms that project() sums in float32 before it adds up chunks
inline constexpr int64_t kCodeStep = 4;         // bytes that sweep() takes at a time

// What encode() leaves over: squared lengths of (v - step * code) and of v, and |code|^2 and the sum of codes.
struct Encoded {
  double residual, length;
  int32_t square, sum;
};

// dim bytes, code + 128, of vector - centre in units of step, clamped to [-128, 127] (codes.inl).
template <class T>
using EncodeKernel = Encoded (*)(const T* vector, const T* centre, int64_t dim, double step, uint8_t* bytes);

// A pair (query, row) of codes whose product reached the query's threshold.
struct CodeHit {
  int32_t value;
  int32_t where;  // query within the tile * rows of the run + row within the run
};

// Codes of tile_queries[i] queries against a run of panels. panels [panel][dim / 4][tile_rows][4 bytes],
// start [panel][tile_rows], queries [query][dim]; dim a multiple of kCodeStep. At most size * rows of the run hits.
using SweepKernel = int (*)(const uint8_t* panels, const int32_t* start, int64_t dim, int64_t panel_count,
                            const int8_t* queries, const int32_t* thresholds, CodeHit* hits);

struct CodePair {
  int32_t row, query;
};

// Products of chosen pairs; rows and queries are `stride` bytes apart, a multiple of kCodeStride.
inline constexpr int64_t kCodeStride = 64;
using PairsKernel = void (*)(const uint8_t* rows, const int8_t* queries, int64_t stride, const CodePair* chosen,
                             int64_t count, int32_t* dots);

// Products of a full tile of vectors with a panel of directions [dim][tile_rows]: [tile][tile_rows] (project.inl).
using ProjectKernel = void (*)(const float* panel, int64_t dim, const float* vectors, int64_t stride, float* products);

// c[i][j] += sum_r a[r][i] * b[r][j] in float64, by ascending r; cols a multiple of kProductStep (product.inl).
inline constexpr int64_t kProductStep = 8;
using ProductKernel = void (*)(const double* a, int64_t a_stride, const double* b, int64_t b_stride, int64_t depth,
                               int64_t rows, int64_t cols, double* c, int64_t c_stride);

// exp(-a) for a >= 0, and for margins m: 1 / (1 + exp(m)) and log(1 + exp(-m)) (exponential.inl).
using ExponentialKernel = void (*)(const double* a, int64_t count, double* out);
using LogisticKernel = void (*)(const double* margin, int64_t count, double* wrong, double* loss);

struct Kernels {
  const char* name;
  int tile_rows;                                // rows in a panel
  int tile_queries[kTileSizes];                 // queries of each tile size, ascending; the last is the full tile
  TileKernel tile[kFilters][kTileSizes];
  DecideKernel<float> decide_f32[kReduced];
  DecideKernel<double> decide_f64[kReduced];
  // Nanoseconds per pair: of a dimension in tile() and in sweep(), and of the comparison that ends a sweep.
  double tile_cost, sweep_cost, sweep_end;
  SweepKernel sweep[kTileSizes];
  PairsKernel pairs;
  EncodeKernel<float> encode_f32;
  EncodeKernel<double> encode_f64;
  ProjectKernel project;
  ProductKernel product;
  ExponentialKernel exponential;
  LogisticKernel logistic;
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
