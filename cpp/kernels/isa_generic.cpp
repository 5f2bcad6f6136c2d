// SPDX-License-Identifier: BSD-3-Clause
// The kernels for any processor: plain C++, as the compiler vectorises it.
#include "kernels/simd_generic.hpp"

#define TONARI_TABLE kernels_generic
#define TONARI_TABLE_NAME "generic"
#define TONARI_FLOATS 4
#define TONARI_DOUBLES 2
#define TONARI_VECTORS 2
#define TONARI_QUERIES 5  // 5 x 2 accumulators of 4 lanes: 10 registers of 16
#define TONARI_PRODUCT_ROWS 2  // 2 x 2 accumulators of 2 lanes: few registers anywhere
#define TONARI_COSTS 0.11, 0.17, 0.05
#include "kernels/export.inl"
