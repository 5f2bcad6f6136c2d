// SPDX-License-Identifier: BSD-3-Clause
// Coded rows grouped around centres, so that a search meets its nearest rows first and leaves far ones out.
//
// How     a few rounds of k-means on a sample of rows, then every row to its nearest centre; centres are codes themselves,
//         so that every distance from them is a whole number, exact
// Time    rows * centres * dim multiply-adds of bytes
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"

namespace tonari {

// Lays `dim` bytes, a multiple of kCodeStep, into a panel of the sweep's form; `place` is the row's first byte there.
inline void put_in_panel(const uint8_t* bytes, int64_t dim, int64_t tile_rows, uint8_t* place) {
  for (int64_t j = 0; j < dim; j += 4, place += 4 * tile_rows) std::memcpy(place, bytes + j, 4);
}

// Codes + 128, one row after the other, `stride` bytes apart; of these `width` hold codes and the rest are 0.
struct CodedRows {
  const uint8_t* bytes = nullptr;
  int64_t rows = 0, width = 0, stride = 0;
};

class Centres {
 public:
  Centres() = default;
  Centres(const CodedRows& coded, int64_t count, int threads, const InterruptCheck& interrupt);

  int64_t count() const { return count_; }

  struct Workspace {
    AlignedVector<uint8_t> panel;
    AlignedVector<int32_t> products;
  };
  // The nearest centre of each of up to tile_rows coded vectors (halves are lost: perhaps one whose square is larger by 1)
  // and the squared distance from it.
  void nearest(const uint8_t* bytes, const int32_t* squares, int64_t vectors, Workspace& work, int32_t* which,
               int32_t* apart) const;
  // Squared distances of up to tile_rows coded vectors from all centres: apart[centre * stride + vector].
  void distances(const uint8_t* bytes, const int32_t* squares, int64_t vectors, Workspace& work, int32_t* apart,
                 int64_t stride) const;

 private:
  void settle(const std::vector<uint8_t>& codes);
  void pack(const uint8_t* bytes, int64_t vectors, Workspace& work) const;

  int64_t width_ = 0, dim_ = 0, count_ = 0, padded_ = 0;
  AlignedVector<int8_t> codes_;  // [padded_][dim_]
  std::vector<int32_t> square_, shift_, start_;
};

}  // namespace tonari
