// SPDX-License-Identifier: BSD-3-Clause
// Times the tile and decide kernels of every table that this processor runs, one thread, data in the second-level cache.
// Prints JSON: table -> kernel -> dim -> Gflop/s, a multiply-add (or a difference, its size and its sum) counted as two.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/memory.hpp"
#include "kernels/table.hpp"

using namespace tonari;

namespace {

constexpr int kRepeats = 7;
constexpr double kFlops = 4e8;  // per timing

// The best of several timings, after one that does not count: a kernel's own speed, not the machine's mood.
double fastest(double flops, const std::function<void()>& work) {
  const int calls = static_cast<int>(kFlops / flops) + 1;
  double best = 1e9;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) work();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (repeat > 0) best = std::min(best, seconds.count());
  }
  return flops * calls / best / 1e9;
}

}  // namespace

int main() {
  const int64_t dims[] = {16, 128, 784};
  const char* filters[] = {"tile_dot",         "tile_manhattan", "tile_chebyshev", "tile_three_halves",
                           "tile_five_halves", "tile_cube",      "tile_fourth"};
  const char* sums[] = {"decide_squared_f32", "decide_absolute_f32", "decide_largest_f32"};
  std::printf("{");
  for (const char* const* name = kernels_available(); *name != nullptr; ++name) {
    const Kernels& table = *kernels_named(*name);
    const int64_t queries = table.tile_queries[kTileSizes - 1];
    std::printf("%s\"%s\": {", name == kernels_available() ? "" : ", ", *name);
    for (int kernel = 0; kernel < kFilters + kReduced; ++kernel) {
      std::printf("%s\"%s\": {", kernel == 0 ? "" : ", ",
                  kernel < kFilters ? filters[kernel] : sums[kernel - kFilters]);
      for (int64_t dim : dims) {
        double speed = 0;
        if (kernel < kFilters) {
          AlignedVector<float> panel(dim * table.tile_rows, 0.5f), start(table.tile_rows, 0.0f),
              packed(dim * queries, 0.25f);
          std::vector<float> thresholds(queries, -1e30f);
          std::vector<Survivor> survivors(queries * table.tile_rows);
          speed = fastest(2.0 * static_cast<double>(dim * queries * table.tile_rows), [&] {
            table.tile[kernel][kTileSizes - 1](panel.data(), start.data(), dim, packed.data(), thresholds.data(),
                                               survivors.data());
          });
        } else {
          constexpr int64_t kRows = 64;
          std::vector<float> rows(dim * kRows, 0.5f), query(dim, 0.25f);
          std::vector<int32_t> which(kRows);
          for (int64_t i = 0; i < kRows; ++i) which[i] = static_cast<int32_t>(i);
          std::vector<double> decided(kRows);
          speed = fastest(2.0 * static_cast<double>(dim * kRows), [&] {
            table.decide_f32[kernel - kFilters](rows.data(), dim, query.data(), which.data(), kRows, decided.data());
          });
        }
        std::printf("%s\"%lld\": %.1f", dim == dims[0] ? "" : ", ", static_cast<long long>(dim), speed);
      }
      std::printf("}");
    }
    std::printf("}");
  }
  std::printf("}\n");
  return 0;
}
