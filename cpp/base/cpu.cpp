// SPDX-License-Identifier: BSD-3-Clause
#include "base/cpu.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__) || defined(_M_X64)
#define TONARI_CPUID 1
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace tonari {
namespace {

#if defined(TONARI_CPUID)

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
#if defined(_MSC_VER)
  int words[4];
  __cpuidex(words, static_cast<int>(leaf), static_cast<int>(subleaf));
  r.a = static_cast<uint32_t>(words[0]);
  r.b = static_cast<uint32_t>(words[1]);
  r.c = static_cast<uint32_t>(words[2]);
  r.d = static_cast<uint32_t>(words[3]);
#else
  __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
#endif
  return r;
}

// Which registers the system saves when it switches threads. To be asked only where OSXSAVE is set.
uint64_t saved_state() {
#if defined(_MSC_VER)
  return _xgetbv(0);
#else
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
#endif
}

bool all(uint32_t word, std::initializer_list<int> bits) {
  for (const int bit : bits) {
    if (!(word >> bit & 1u)) return false;
  }
  return true;
}

// Without the blanks that makers pad with, at the ends and inside.
std::string squeezed(const char* text) {
  std::string out;
  for (; *text; ++text) {
    if (*text != ' ') {
      out += *text;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string brand(uint32_t last_extended_leaf) {
  constexpr uint32_t kFirst = 0x80000002u, kLast = 0x80000004u;
  if (last_extended_leaf < kLast) return "";
  std::array<char, 49> text{};
  for (uint32_t leaf = kFirst; leaf <= kLast; ++leaf) {
    const Registers r = cpuid(leaf);
    std::memcpy(text.data() + (leaf - kFirst) * sizeof r, &r, sizeof r);
  }
  return squeezed(text.data());
}

CpuFeatures detect() {
  CpuFeatures found;
  const uint32_t last_leaf = cpuid(0).a;
  const uint32_t last_extended_leaf = cpuid(0x80000000u).a;
  const Registers one = cpuid(1);
  const Registers seven = last_leaf >= 7 ? cpuid(7) : Registers{};
  const Registers seven_one = last_leaf >= 7 && seven.a >= 1 ? cpuid(7, 1) : Registers{};
  const Registers extended = last_extended_leaf >= 0x80000001u ? cpuid(0x80000001u) : Registers{};
  const uint64_t saved = all(one.c, {27}) ? saved_state() : 0;
  const bool saves_ymm = (saved & 0x06) == 0x06;
  const bool saves_zmm = (saved & 0xE6) == 0xE6;

  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  found.x86_64_v2 = all(one.c, {0, 9, 13, 19, 20, 23}) && all(extended.c, {0});
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT
  found.x86_64_v3 =
      found.x86_64_v2 && saves_ymm && all(one.c, {12, 22, 28, 29}) && all(seven.b, {3, 5, 8}) && all(extended.c, {5});
  // AVX-512 F, DQ, CD, BW, VL
  found.x86_64_v4 = found.x86_64_v3 && saves_zmm && all(seven.b, {16, 17, 28, 30, 31});
  found.avx512_vnni = found.x86_64_v4 && all(seven.c, {11});
  found.avx512_vpopcntdq = found.x86_64_v4 && all(seven.c, {14});
  found.avx512_bf16 = found.x86_64_v4 && all(seven_one.a, {5});
  found.name = brand(last_extended_leaf);
  if (found.name.empty()) found.name = "x86-64";
  return found;
}

#else

CpuFeatures detect() {
  CpuFeatures found;
#if defined(__aarch64__) || defined(_M_ARM64)
  found.name = "aarch64";
#elif defined(__riscv)
  found.name = "riscv";
#elif defined(__powerpc__)
  found.name = "powerpc";
#elif defined(__s390x__)
  found.name = "s390x";
#elif defined(__wasm__)
  found.name = "wasm";
#else
  found.name = "another processor";
#endif
  return found;
}

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  // Never destroyed: a thread may still ask while the process ends.
  static const CpuFeatures* const features = new CpuFeatures(detect());
  return *features;
}

}  // namespace tonari
