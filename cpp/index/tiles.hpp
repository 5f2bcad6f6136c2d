// SPDX-License-Identifier: BSD-3-Clause
// The plain filter: every row against a tile of queries in float32 (cpp/kernels/tile.inl), survivors only. Serves Manhattan
// and Chebyshev, and every metric where the cascade does not pay.
#pragma once
#include <cstdint>
#include <vector>

#include "index/judge.hpp"
#include "index/packed.hpp"
#include "kernels/table.hpp"

namespace tonari {

template <class T>
class Tiles {
 public:
  // same: the filter's distance is the metric's, so filter values give upper bounds too.
  Tiles(const PackedRows& packed, const Judge<T>& judge, bool same);

  struct Query {
    PackedQuery packed;
    bool filtered = false;  // false: every row is decided
    bool decided = false;  // survivors are decided as soon as the buffer is full
    int64_t waiting = 0;
    float* threshold = nullptr;
    float* values = nullptr;  // [capacity_]
    int32_t* rows = nullptr;  // [capacity_]
  };
  struct Workspace {
    std::vector<Open> open;
    std::vector<Query> queries;
    AlignedVector<float> packed, thresholds, values;
    std::vector<int32_t> rows;
    std::vector<Survivor> survivors;
    std::vector<double> upper, distances;
  };

  int64_t capacity() const { return capacity_; }
  // Searches queries [first, last) among panels [panel_first, panel_last): work.open holds what was found.
  void sift(int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
            Workspace& work) const;

 private:
  void scan_all(int64_t i, int64_t number, int64_t row_first, int64_t row_last, int worker, StopFlag& stop,
                Workspace& work) const;
  void tiles(int64_t first, int64_t count, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
             Workspace& work) const;
  void keep(int64_t i, int64_t number, float value, int64_t row, Workspace& work) const;
  void digest(int64_t i, int64_t number, Workspace& work) const;
  void narrow(Query& query, Workspace& work) const;
  void tighten(int64_t i, Workspace& work) const;

  const PackedRows& packed_;
  const Judge<T>& judge_;
  bool same_;
  int64_t capacity_;
  int64_t tile_rows_ = kernels().tile_rows;
  int64_t full_tile_ = kernels().tile_queries[kTileSizes - 1];
};

extern template class Tiles<float>;
extern template class Tiles<double>;

}  // namespace tonari
