// SPDX-License-Identifier: BSD-3-Clause
// A frame of few dimensions for vectors of many:  z = (B (x - m), |x - m - P (x - m)|), P the projection on the span of B.
//
// The directions B come from a sample of rows by orthogonal iteration; the length of the rest rides along as one more
// coordinate, so that by Cauchy and Schwarz
//     |z_x - z_q| <= stretch scale |x - q|,   stretch = sqrt(1 + departure of B from orthonormality),
// for any two vectors, whatever B is. What float32 loses on the way is bounded and given back with every z.
// Time    sample * dim * head multiply-adds per round; dim * head per vector placed
#pragma once
#include <cstdint>
#include <vector>

#include "base/memory.hpp"
#include "base/pool.hpp"
#include "base/views.hpp"

namespace tonari {

template <class T>
class Frame {
 public:
  Frame() = default;
  // As many directions as `head` says, from the sample's largest spreads, in their order. `scale` is a power of two that
  // brings every difference from the centre to a magnitude of about 1: z is in these units.
  Frame(MatrixView<const T> sample, std::vector<T> centre, double scale, int64_t head, int threads,
        const InterruptCheck& interrupt);

  int64_t head() const { return head_; }
  int64_t size() const { return head_ + 1; }
  double stretch() const { return stretch_; }
  // The space of the first directions, turned at random: no coordinate then spreads much more than the others, and bytes
  // of one step hold them with a residual several times smaller.
  Frame turned(int64_t head) const;

  struct Workspace {
    AlignedVector<float> centred, products;
  };
  // z[i] and an upper bound of its distance from the true one, for up to a full tile of vectors given by address.
  void place(const T* const* vectors, int64_t count, Workspace& work, float* z, double* error) const;

 private:
  void learn(MatrixView<const T> sample, int threads, const InterruptCheck& interrupt);
  void settle(const std::vector<double>& directions);

  int64_t dim_ = 0, head_ = 0;
  std::vector<T> centre_;
  double scale_ = 1;
  AlignedVector<float> panels_;  // [panel][dim][tile_rows]
  double stretch_ = 1, departure_ = 0;
};

extern template class Frame<float>;
extern template class Frame<double>;

}  // namespace tonari
