// SPDX-License-Identifier: BSD-3-Clause
// Ends every isa_*.cpp, which has included a simd_*.hpp and defined
//   TONARI_TABLE     the table's name as a C++ identifier    TONARI_TABLE_NAME  the same for people
//   TONARI_FLOATS    lanes of float32     TONARI_DOUBLES  lanes of float64
//   TONARI_VECTORS   registers of rows in a panel            TONARI_QUERIES  queries in the full tile
//   TONARI_PRODUCT_ROWS  rows of a tile of product()
//   TONARI_COSTS     tile_cost, sweep_cost, sweep_end

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define TONARI_UNROLL
#define TONARI_INLINE_LAMBDA
#elif defined(__clang__)
#define TONARI_UNROLL _Pragma("unroll")
#define TONARI_INLINE_LAMBDA __attribute__((always_inline))
#else
#define TONARI_UNROLL _Pragma("GCC unroll 32")
#define TONARI_INLINE_LAMBDA __attribute__((always_inline))
#endif

#include "kernels/table.hpp"

namespace tonari {
namespace {

TONARI_INLINE int lowest_bit(uint32_t mask) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long position;
  _BitScanForward(&position, mask);
  return static_cast<int>(position);
#else
  return __builtin_ctz(mask);
#endif
}

TONARI_INLINE void prefetch([[maybe_unused]] const void* p) {
#if !defined(_MSC_VER) || defined(__clang__)
  __builtin_prefetch(p);
#endif
}

}  // namespace
}  // namespace tonari

#include "kernels/bits.inl"
#include "kernels/codes.inl"
#include "kernels/decide.inl"
#include "kernels/exponential.inl"
#include "kernels/product.inl"
#include "kernels/project.inl"
#include "kernels/space_tree.inl"
#include "kernels/tile.inl"

#define TONARI_TILES(Step)                                                                     \
  {tile<Step, TONARI_FLOATS, TONARI_VECTORS, 1>, tile<Step, TONARI_FLOATS, TONARI_VECTORS, 2>, \
   tile<Step, TONARI_FLOATS, TONARI_VECTORS, 4>, tile<Step, TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>}
#define TONARI_DECIDE(T)                                                            \
  {decide<SquaredTerm, T, TONARI_DOUBLES>, decide<AbsoluteTerm, T, TONARI_DOUBLES>, \
   decide<LargestTerm, T, TONARI_DOUBLES>}
#define TONARI_LEAVES(T) \
  {leaf<SquaredTerm, T, TONARI_DOUBLES>, leaf<AbsoluteTerm, T, TONARI_DOUBLES>, leaf<LargestTerm, T, TONARI_DOUBLES>}
#define TONARI_BOXES(T) \
  {boxes<SquaredTerm, T, TONARI_DOUBLES>, boxes<AbsoluteTerm, T, TONARI_DOUBLES>, boxes<LargestTerm, T, TONARI_DOUBLES>}
#define TONARI_SWEEPS                                                                \
  {sweep<TONARI_FLOATS, TONARI_VECTORS, 1>, sweep<TONARI_FLOATS, TONARI_VECTORS, 2>, \
   sweep<TONARI_FLOATS, TONARI_VECTORS, 4>, sweep<TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>}
#define TONARI_BITS                                                                              \
  {common_bits<TONARI_FLOATS, TONARI_VECTORS, 1>, common_bits<TONARI_FLOATS, TONARI_VECTORS, 2>, \
   common_bits<TONARI_FLOATS, TONARI_VECTORS, 4>, common_bits<TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>}

namespace tonari {

extern const Kernels TONARI_TABLE = {
    TONARI_TABLE_NAME,
    TONARI_FLOATS * TONARI_VECTORS,
    {1, 2, 4, TONARI_QUERIES},
    {TONARI_TILES(DotStep), TONARI_TILES(ManhattanStep), TONARI_TILES(ChebyshevStep), TONARI_TILES(PowerStep<3>),
     TONARI_TILES(PowerStep<5>), TONARI_TILES(PowerStep<6>), TONARI_TILES(PowerStep<8>)},
    TONARI_DECIDE(float),
    TONARI_DECIDE(double),
    TONARI_COSTS,
    TONARI_SWEEPS,
    closest<TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>,
    code_products<TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>,
    pairs<TONARI_FLOATS>,
    encode<float, TONARI_DOUBLES>,
    encode<double, TONARI_DOUBLES>,
    project<TONARI_FLOATS, TONARI_VECTORS, TONARI_QUERIES>,
    TONARI_BITS,
    TONARI_LEAVES(float),
    TONARI_LEAVES(double),
    TONARI_BOXES(float),
    TONARI_BOXES(double),
    merge<TONARI_DOUBLES>,
    product<TONARI_DOUBLES>,
    exponential,
    logistic};

}  // namespace tonari
