// SPDX-License-Identifier: BSD-3-Clause
// The kernels for x86-64-v3.
#include "kernels/simd_avx2.hpp"

#define TONARI_TABLE kernels_v3
#define TONARI_TABLE_NAME "v3"
#define TONARI_FLOATS 8
#define TONARI_DOUBLES 4
#define TONARI_VECTORS 2
#define TONARI_QUERIES 6  // 6 x 2 accumulators, 2 rows, 1 query: 15 of 16 registers
#define TONARI_PRODUCT_ROWS 4  // 4 x 2 accumulators, 2 columns, 1 row, 1 product: 12 of 16 registers
#define TONARI_COSTS 0.0175, 0.0175, 0.03
#include "kernels/export.inl"
