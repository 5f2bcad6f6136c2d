// SPDX-License-Identifier: BSD-3-Clause
// Coded rows grouped around centres, so that a search meets its nearest rows first and leaves far groups out.
//
// How     a few rounds of k-means on a sample of rows, then every row to its nearest centre
// Time    rows * centres * dim multiply-adds
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"

namespace tonari {

// Centres in code units, and lower bounds of the distances of coded vectors from them.
class Centres {
 public:
  Centres() = default;
  // bytes: rows x dim codes + 128.
  Centres(const uint8_t* bytes, int64_t rows, int64_t dim, int64_t count, int threads, const InterruptCheck& interrupt);

  int64_t count() const { return count_; }

  struct Workspace {
    AlignedVector<float> vectors, products;
  };
  // The nearest centre of each of up to a full tile of coded vectors, `dim` bytes apart, and, where wanted, lower bounds
  // of the distances from all: [vector][count].
  void nearest(const uint8_t* bytes, int64_t vectors, Workspace& work, int32_t* which, float* distances) const;
  // An upper bound of the distance of a coded vector from centre `which`.
  double farthest(const uint8_t* bytes, int32_t which) const;

 private:
  void pack(const std::vector<float>& centres);

  int64_t dim_ = 0, count_ = 0;
  std::vector<float> centres_;
  AlignedVector<float> panels_;  // [panel][dim][tile_rows]
  std::vector<float> square_;
};

}  // namespace tonari
