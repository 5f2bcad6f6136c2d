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

// What a filter value is. dot: start + x.q (start a norm, q times -2); manhattan: start + sum max(x, q) (start minus half
// the sum of x); chebyshev: max |x + q| (q negated); the others: sum |x - q|^p, p = 1.5, 2.5, 3, 4.
enum Filter : int {
  kFilterDot = 0,
  kFilterManhattan = 1,
  kFilterChebyshev = 2,
  kFilterThreeHalves = 3,
  kFilterFiveHalves = 4,
  kFilterCube = 5,
  kFilterFourth = 6,
  kFilters = 7
};

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

// A pair (query, row) whose product of codes, or bits in common, reached the query's threshold.
inline constexpr int kHitBits = 20;
struct CodeHit {
  int32_t value;
  int32_t where;  // query within the tile << kHitBits | row within the run
  int32_t query() const { return where >> kHitBits; }
  int32_t row() const { return where & ((1 << kHitBits) - 1); }
};

// Codes of tile_queries[i] queries against a run of panels. panels [panel][dim / 4][tile_rows][4 bytes],
// start [panel][tile_rows], queries [query][dim]; dim a multiple of kCodeStep. At most size * rows of the run hits; fewer than 2^kHitBits rows in a run.
using SweepKernel = int (*)(const uint8_t* panels, const int32_t* start, int64_t dim, int64_t panel_count,
                            const int8_t* queries, const int32_t* thresholds, CodeHit* hits);

// A panel's tile_rows rows against `count` queries, a multiple of the full tile, dim bytes apart: best and which
// [tile_rows], or out [query][tile_rows].
using ClosestKernel = void (*)(const uint8_t* panel, int64_t dim, const int8_t* queries, const int32_t* start,
                               int64_t count, int32_t* best, int32_t* which);
using CodeProductsKernel = void (*)(const uint8_t* panel, int64_t dim, const int8_t* queries, const int32_t* start,
                                    int64_t count, int32_t* out);
// Bits of tile_queries[i] queries against a run of panels. panels [panel][words][tile_rows], counts [panel][tile_rows] (infinite
// or NaN: never a hit), queries [words][size of the tile], slope and least [size of the tile]. Hits as of a sweep.
using BitsKernel = int (*)(const int32_t* panels, const float* counts, int64_t words, int64_t panel_count,
                           const int32_t* queries, const float* slope, const float* least, CodeHit* hits);

struct CodePair {
  int32_t row, query;
};

// Products of chosen pairs; rows and queries are `stride` bytes apart, a multiple of kCodeStride.
inline constexpr int64_t kCodeStride = 64;
using PairsKernel = void (*)(const uint8_t* rows, const int8_t* queries, int64_t stride, const CodePair* chosen,
                             int64_t count, int32_t* dots);

// Products of a full tile of vectors with a panel of directions [dim][tile_rows]: [tile][tile_rows] (project.inl).
using ProjectKernel = void (*)(const float* panel, int64_t dim, const float* vectors, int64_t stride, float* products);

// One leaf of a tree against a query: float64 values of `count` rows, panels [count / kLeafPanel][dim][kLeafPanel]. Writes
// value and place of every row whose value is at most the threshold, in the order of places, and returns how many.
inline constexpr int kLeafPanel = 16;
inline constexpr int kTreeJoined = 16;  // up to here leaf() decides; see tree_dim()
template <class T>
using LeafKernel = int (*)(const T* panels, int64_t dim, int64_t count, const double* query, double threshold,
                           double* values, int32_t* where);

// Least values that rows in the boxes of kNodeFan children may have: boxes [dim][low, high][kNodeFan], bounds [kNodeFan].
// Returns a bit for every child whose bound is at most the threshold.
inline constexpr int kNodeFan = 8;
template <class T>
using BoxKernel = uint32_t (*)(const T* boxes, int64_t dim, const double* query, double threshold, double* bounds);

// Merges candidates into a list in the order of distances, of which `wanted` stay; returns how many there are then. Both
// arrays have room for whole registers, the list holds infinities beyond its end. -1, and nothing done, where two distances
// are equal: there rows decide.
inline constexpr int kListMost = 64, kMergeMost = 32;
using MergeKernel = int (*)(double* distances, int32_t* rows, int count, int wanted, double* fresh,
                            const int32_t* fresh_rows, int fresh_count);

// Coordinates that leaf() and boxes() are given for rows of `dim`: the sums that decide exist for some numbers only, and
// coordinates of zero change no sum.
constexpr int64_t tree_dim(int64_t dim) {
  return dim <= 6 ? dim : dim <= 8 ? 8 : dim <= 10 ? 10 : dim <= 12 ? 12 : dim <= 16 ? 16 : dim;
}
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
  ClosestKernel closest;
  CodeProductsKernel code_products;
  PairsKernel pairs;
  EncodeKernel<float> encode_f32;
  EncodeKernel<double> encode_f64;
  ProjectKernel project;
  BitsKernel common_bits[kTileSizes];
  LeafKernel<float> leaf_f32[kReduced];
  LeafKernel<double> leaf_f64[kReduced];
  BoxKernel<float> boxes_f32[kReduced];
  BoxKernel<double> boxes_f64[kReduced];
  MergeKernel merge;
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
