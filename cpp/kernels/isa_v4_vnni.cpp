// SPDX-License-Identifier: BSD-3-Clause
// The kernels for x86-64-v4 with VNNI and VPOPCNTDQ (Ice Lake, Zen 4 and later).
#define TONARI_VPOPCNT
#define TONARI_VNNI
#include "kernels/simd_avx512.hpp"

#define TONARI_TABLE kernels_v4_vnni
#define TONARI_TABLE_NAME "v4_vnni"
#define TONARI_FLOATS 16
#define TONARI_DOUBLES 8
#define TONARI_VECTORS 2
#define TONARI_QUERIES 12  // 12 x 2 accumulators, 2 rows, 1 query: 27 of 32 registers
#define TONARI_PRODUCT_ROWS 8  // 8 x 2 accumulators, 2 columns, 1 row, 1 product: 20 of 32 registers
#define TONARI_COSTS 0.0107, 0.0027, 0.02
#include "kernels/export.inl"
