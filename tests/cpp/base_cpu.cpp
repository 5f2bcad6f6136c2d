// SPDX-License-Identifier: BSD-3-Clause
#include "base/cpu.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using tonari::cpu_features;
using tonari::CpuFeatures;

TEST_CASE("each level includes the one below it") {
  const CpuFeatures& cpu = cpu_features();
  CHECK((!cpu.x86_64_v3 || cpu.x86_64_v2));
  CHECK((!cpu.x86_64_v4 || cpu.x86_64_v3));
  const bool extras = cpu.avx512_vnni || cpu.avx512_bf16 || cpu.avx512_vpopcntdq;
  CHECK((!extras || cpu.x86_64_v4));
}

TEST_CASE("the name is there and has no padding") {
  const std::string& name = cpu_features().name;
  REQUIRE(!name.empty());
  CHECK(name.front() != ' ');
  CHECK(name.back() != ' ');
  CHECK(name.find("  ") == std::string::npos);
  CHECK(name.find('\0') == std::string::npos);
}

TEST_CASE("it is asked once, from any thread") {
  std::vector<const CpuFeatures*> answers(4);
  std::vector<std::thread> threads;
  for (auto& answer : answers) threads.emplace_back([&answer] { answer = &cpu_features(); });
  for (auto& thread : threads) thread.join();
  for (const CpuFeatures* answer : answers) CHECK(answer == &cpu_features());
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
TEST_CASE("the compiler's own detection agrees") {
  const CpuFeatures& cpu = cpu_features();
  CHECK(cpu.x86_64_v2 == (__builtin_cpu_supports("x86-64-v2") != 0));
  CHECK(cpu.x86_64_v3 == (__builtin_cpu_supports("x86-64-v3") != 0));
  CHECK(cpu.x86_64_v4 == (__builtin_cpu_supports("x86-64-v4") != 0));
}
#endif

#if defined(__x86_64__) && defined(__linux__)
TEST_CASE("the kernel's list of flags agrees") {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  std::string line, model;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    std::string word;
    if (line.starts_with("flags") && flags.empty()) {
      while (words >> word) flags.insert(word);
    } else if (line.starts_with("model name") && model.empty()) {
      while (words >> word) model += (model.empty() ? "" : " ") + word;
    }
  }
  if (flags.empty()) return;   // a sandbox that hides the file
  const auto has = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!flags.contains(name)) return false;
    }
    return true;
  };
  const bool v2 = has({"pni", "ssse3", "cx16", "sse4_1", "sse4_2", "popcnt", "lahf_lm"});
  const bool v3 = v2 && has({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"});
  const bool v4 = v3 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  const CpuFeatures& cpu = cpu_features();
  CHECK(cpu.x86_64_v2 == v2);
  CHECK(cpu.x86_64_v3 == v3);
  CHECK(cpu.x86_64_v4 == v4);
  CHECK(cpu.avx512_vnni == (v4 && has({"avx512_vnni"})));
  CHECK(cpu.avx512_bf16 == (v4 && has({"avx512_bf16"})));
  CHECK(cpu.avx512_vpopcntdq == (v4 && has({"avx512_vpopcntdq"})));
  CHECK(cpu.name == model);
}
#endif
