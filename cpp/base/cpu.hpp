// SPDX-License-Identifier: BSD-3-Clause
// What the processor can do, asked once.
#pragma once
#include <string>

namespace tonari {

struct CpuFeatures {
  bool x86_64_v2 = false;
  bool x86_64_v3 = false;     // AVX2, FMA, BMI2, F16C, and the system saves ymm
  bool x86_64_v4 = false;     // AVX-512 F, BW, CD, DQ, VL, and the system saves zmm
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_vpopcntdq = false;
  std::string name;           // as the processor tells it, or the architecture's name
};

const CpuFeatures& cpu_features();

}  // namespace tonari
