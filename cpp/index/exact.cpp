// SPDX-License-Identifier: BSD-3-Clause
#include "index/exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "index/nearest.hpp"

namespace tonari {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNothing = -std::numeric_limits<float>::max();  // a threshold that no value passes
constexpr int64_t kChunkBytes = 512 * 1024;  // panels visited by all queries of a block in turn: half of a small L2
constexpr int64_t kWorkspaceBytes = 32 << 20;  // survivors waiting, per thread
constexpr int64_t kMostTiles = 32;  // full tiles of queries per block
constexpr int64_t kScanRows = 256;  // rows decided at once where no filter helps

// A lower bound of the metric as a multiple of the filter's distance.
//   L_p >= L_2 * dim^(1/p - 1/2) for p >= 2, and L_p >= L_1 * dim^(1/p - 1) for p < 2 (power means).
struct FilterChoice {
  Filter filter;
  double factor;  // metric >= factor * filter distance
  bool same;  // the filter's distance is the metric's: filter values give upper bounds too
};

FilterChoice filter_for(const ExactParams& params, int64_t dim) {
  switch (params.metric) {
    case Metric::kManhattan:
      return {kFilterManhattan, 1.0, true};
    case Metric::kChebyshev:
      return {kFilterChebyshev, 1.0, true};
    case Metric::kMinkowski: {
      const double base = params.p < 2 ? 1.0 : 0.5;
      const double factor = std::pow(static_cast<double>(dim), 1 / params.p - base) * (1 - 0x1p-40);
      return {params.p < 2 ? kFilterManhattan : kFilterDot, factor, false};
    }
    default:
      return {kFilterDot, 1.0, true};
  }
}

template <class T>
double largest_magnitude(const T* values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(static_cast<double>(values[i])));
  return largest;
}

}  // namespace

// One search over all rows: a block of queries against a run of panels at a time.
template <class T>
class Scan {
 public:
  Scan(const ExactRows<T>& index, MatrixView<const T> queries, int64_t wanted, double radius,
       Span<const int32_t> row_groups, Span<const int32_t> query_groups)
      : index_(index),
        queries_(queries),
        wanted_(wanted),
        radius_(radius),
        row_groups_(row_groups),
        query_groups_(query_groups),
        choice_(filter_for(index.params_, index.rows_.cols)),
        capacity_(wanted < 0 ? 256 : 2 * wanted + 64),
        tile_rows_(kernels().tile_rows),
        full_tile_(kernels().tile_queries[kTileSizes - 1]) {}

  // emit(query, entries in order) once per query.
  template <class Emit>
  void run(const RunParams& run, const Emit& emit);

 private:
  struct Query {
    PackedQuery packed;
    Nearest nearest;
    double largest = 0;  // magnitude among the rows and the query
    bool filtered = false;  // false: every row is decided
    bool decided = false;  // survivors are decided as soon as the buffer is full
    int64_t waiting = 0;
    float* threshold = nullptr;
    float* values = nullptr;  // [capacity_]
    int32_t* rows = nullptr;  // [capacity_]
  };
  struct Workspace {
    std::vector<Query> queries;
    AlignedVector<float> packed, thresholds, values;
    std::vector<int32_t> rows;
    std::vector<Survivor> survivors;
    std::vector<double> upper, distances;
  };

  static int64_t tile_size(int64_t count);
  void block(int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
             Workspace& work) const;
  void start(Query& query, int64_t number) const;
  void scan_all(Query& query, int64_t number, int64_t row_first, int64_t row_last, int worker, StopFlag& stop,
                Workspace& work) const;
  void tiles(int64_t first, int64_t count, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
             Workspace& work) const;
  void keep(Query& query, int64_t number, float value, int64_t row, Workspace& work) const;
  void digest(Query& query, int64_t number, Workspace& work) const;
  void narrow(Query& query, Workspace& work) const;
  void decide(Query& query, int64_t number, const int32_t* which, int64_t count, Workspace& work) const;
  void tighten(Query& query) const;
  bool excluded(int64_t query, int64_t row) const {
    return !row_groups_.empty() && row_groups_[row] == query_groups_[query];
  }

  const ExactRows<T>& index_;
  MatrixView<const T> queries_;
  int64_t wanted_;
  double radius_;
  Span<const int32_t> row_groups_, query_groups_;
  FilterChoice choice_;
  int64_t capacity_;
  int64_t tile_rows_;
  int64_t full_tile_;
};

template <class T>
template <class Emit>
void Scan<T>::run(const RunParams& run, const Emit& emit) {
  if (queries_.rows == 0) return;
  const int64_t threads = std::max(1, run.threads);
  const int64_t tile_bytes = capacity_ * full_tile_ * static_cast<int64_t>(sizeof(float) + sizeof(int32_t));
  const int64_t most = std::clamp<int64_t>(kWorkspaceBytes / tile_bytes, 1, kMostTiles);
  const int64_t query_tiles = (queries_.rows + full_tile_ - 1) / full_tile_;
  int64_t blocks = std::max((query_tiles + most - 1) / most, std::min(query_tiles, threads));
  blocks = std::min(query_tiles, (blocks + threads - 1) / threads * threads);
  const int64_t per_block = (query_tiles + blocks - 1) / blocks * full_tile_;
  blocks = (queries_.rows + per_block - 1) / per_block;

  // Few queries: the rows are shared out too, and what each part found is merged in the order of parts.
  const int64_t panels = std::max<int64_t>(1, (index_.rows_.rows + tile_rows_ - 1) / tile_rows_);
  const int64_t parts = blocks >= threads ? 1 : std::min(panels, (threads + blocks - 1) / blocks);
  std::vector<std::vector<Entry>> found(parts > 1 ? parts * queries_.rows : 0);
  std::vector<Workspace> workspaces(threads);

  parallel_for(blocks * parts, run.threads, run.interrupt, [&](int64_t piece, int worker, StopFlag& stop) {
    const int64_t part = piece % parts;
    const int64_t first = piece / parts * per_block;
    const int64_t last = std::min(queries_.rows, first + per_block);
    Workspace& work = workspaces[worker];
    block(first, last, panels * part / parts, panels * (part + 1) / parts, worker, stop, work);
    if (stop.stopped()) return;
    for (int64_t q = first; q < last; ++q) {
      Query& query = work.queries[q - first];
      if (parts == 1) {
        emit(q, query.nearest.sorted());
      } else {
        found[part * queries_.rows + q] = std::move(query.nearest.sorted());
      }
    }
  });
  if (parts == 1) return;
  for (int64_t q = 0; q < queries_.rows; ++q) {
    Nearest nearest(wanted_, kInfinity);
    for (int64_t part = 0; part < parts; ++part)
      for (const Entry& entry : found[part * queries_.rows + q]) nearest.add(entry.distance, entry.row);
    emit(q, nearest.sorted());
  }
}

template <class T>
void Scan<T>::block(int64_t first, int64_t last, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
                    Workspace& work) const {
  const int64_t count = last - first;
  const int64_t dim = index_.rows_.cols;
  work.queries.assign(count, Query{});
  const int64_t padded = (count + full_tile_ - 1) / full_tile_ * full_tile_;
  const bool filter = index_.packed_.usable && !(wanted_ >= 0 && 4 * wanted_ >= index_.rows_.rows);
  if (filter) {
    work.packed.assign(padded * dim, 0.0f);
    work.thresholds.assign(padded, kNothing);
    work.values.resize(count * capacity_);
    work.rows.resize(count * capacity_);
    work.survivors.resize(full_tile_ * tile_rows_);
  }
  for (int64_t i = 0; i < count; ++i) {
    Query& query = work.queries[i];
    start(query, first + i);
    if (!filter || !ordinary(query.largest)) continue;
    // Tiles of one size only but for the last, so a query's place follows from its number.
    const int64_t tile_first = i / full_tile_ * full_tile_;
    const int64_t size = tile_size(std::min(full_tile_, count - tile_first));
    query.packed.pack(index_.packed_, queries_.row(first + i), work.packed.data() + tile_first * dim + (i - tile_first),
                      size);
    if (!query.packed.usable()) continue;
    query.filtered = true;
    query.threshold = work.thresholds.data() + i;
    query.values = work.values.data() + i * capacity_;
    query.rows = work.rows.data() + i * capacity_;
    query.decided = !choice_.same || wanted_ < 0;
    *query.threshold = std::numeric_limits<float>::max();
    tighten(query);
  }
  if (filter) tiles(first, count, panel_first, panel_last, worker, stop, work);
  for (int64_t i = 0; i < count && !stop.stopped(); ++i) {
    Query& query = work.queries[i];
    if (query.filtered) {
      if (!query.decided) narrow(query, work);
      decide(query, first + i, query.rows, query.waiting, work);
    } else {
      scan_all(query, first + i, panel_first * tile_rows_, std::min(panel_last * tile_rows_, index_.rows_.rows), worker,
               stop, work);
    }
  }
}

// The smallest tile that holds `count` queries.
template <class T>
int64_t Scan<T>::tile_size(int64_t count) {
  for (int64_t size : kernels().tile_queries)
    if (size >= count) return size;
  return count;
}

template <class T>
void Scan<T>::start(Query& query, int64_t number) const {
  query.largest = std::max(index_.largest_, largest_magnitude(queries_.row(number), queries_.cols));
  query.nearest = Nearest(wanted_, wanted_ < 0 ? radius_ : kInfinity);
}

template <class T>
void Scan<T>::scan_all(Query& query, int64_t number, int64_t row_first, int64_t row_last, int worker, StopFlag& stop,
                       Workspace& work) const {
  int32_t which[kScanRows];
  for (int64_t row = row_first; row < row_last;) {
    int64_t count = 0;
    for (; row < row_last && count < kScanRows; ++row)
      if (!excluded(number, row)) which[count++] = static_cast<int32_t>(row);
    decide(query, number, which, count, work);
    if (stop.should_stop(worker)) return;
  }
}

template <class T>
void Scan<T>::tiles(int64_t first, int64_t count, int64_t panel_first, int64_t panel_last, int worker, StopFlag& stop,
                    Workspace& work) const {
  const PackedRows& rows = index_.packed_;
  const int64_t dim = index_.rows_.cols;
  const int64_t panel_values = dim * tile_rows_;
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (panel_values * static_cast<int64_t>(sizeof(float))));
  const TileKernel* kernel = kernels().tile[rows.filter];
  for (int64_t chunk_first = panel_first; chunk_first < panel_last; chunk_first += chunk) {
    const int64_t chunk_last = std::min(panel_last, chunk_first + chunk);
    for (int64_t tile_first = 0; tile_first < count; tile_first += full_tile_) {
      const int64_t size = tile_size(std::min(full_tile_, count - tile_first));
      int which = 0;
      while (kernels().tile_queries[which] != size) ++which;
      for (int64_t panel = chunk_first; panel < chunk_last; ++panel) {
        const int survivors = kernel[which](
            rows.panels.data() + panel * panel_values, rows.start.data() + panel * tile_rows_, dim,
            work.packed.data() + tile_first * dim, work.thresholds.data() + tile_first, work.survivors.data());
        for (int s = 0; s < survivors; ++s) {
          const Survivor& survivor = work.survivors[s];
          const int64_t i = tile_first + survivor.where / tile_rows_;
          const int64_t row = panel * tile_rows_ + survivor.where % tile_rows_;
          keep(work.queries[i], first + i, survivor.value, row, work);
        }
      }
      if (stop.should_stop(worker)) return;
    }
  }
}

template <class T>
void Scan<T>::keep(Query& query, int64_t number, float value, int64_t row, Workspace& work) const {
  if (value > *query.threshold || excluded(number, row)) return;
  query.values[query.waiting] = value;
  query.rows[query.waiting] = static_cast<int32_t>(row);
  if (++query.waiting == capacity_) digest(query, number, work);
}

// A full buffer: first by bounds alone; where these cannot tell enough rows apart, by deciding.
template <class T>
void Scan<T>::digest(Query& query, int64_t number, Workspace& work) const {
  if (!query.decided) {
    narrow(query, work);
    query.decided = query.waiting > capacity_ * 3 / 4;
  }
  if (query.decided) {
    decide(query, number, query.rows, query.waiting, work);
    query.waiting = 0;
    query.nearest.shrink();
    tighten(query);
  }
}

// Drops the waiting rows that `wanted_` others are surely nearer than.
template <class T>
void Scan<T>::narrow(Query& query, Workspace& work) const {
  if (query.waiting <= wanted_) return;
  work.upper.resize(query.waiting);
  for (int64_t i = 0; i < query.waiting; ++i)
    work.upper[i] = query.packed.upper(index_.packed_, query.values[i], query.rows[i]);
  std::nth_element(work.upper.begin(), work.upper.begin() + (wanted_ - 1), work.upper.end());
  *query.threshold = std::min(*query.threshold, query.packed.threshold_below(index_.packed_, work.upper[wanted_ - 1]));
  int64_t kept = 0;
  for (int64_t i = 0; i < query.waiting; ++i) {
    if (query.values[i] > *query.threshold) continue;
    query.values[kept] = query.values[i];
    query.rows[kept++] = query.rows[i];
  }
  query.waiting = kept;
}

template <class T>
void Scan<T>::decide(Query& query, int64_t number, const int32_t* which, int64_t count, Workspace& work) const {
  work.distances.resize(std::max<size_t>(work.distances.size(), count));
  const Decider<T> decider(index_.params_.metric, index_.params_.p, index_.rows_.cols, query.largest);
  decider.decide(index_.rows_.data, queries_.row(number), which, count, work.distances.data());
  for (int64_t i = 0; i < count; ++i) query.nearest.add(work.distances[i], which[i]);
}

template <class T>
void Scan<T>::tighten(Query& query) const {
  const double limit = query.nearest.limit();
  if (limit == kInfinity) return;
  // A cosine distance is half the square of the filter's distance.
  const double distance = index_.params_.metric == Metric::kCosine ? std::sqrt(2 * limit) : limit / choice_.factor;
  *query.threshold = std::min(*query.threshold, query.packed.threshold_for(index_.packed_, distance));
}

template <class T>
ExactRows<T>::ExactRows(MatrixView<const T> rows, const ExactParams& params, const RunParams& run)
    : rows_(rows), params_(params) {
  if (rows.rows < 1 || rows.cols < 1) throw std::invalid_argument("an index needs at least one row and one column");
  if (rows.rows > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("an index holds at most 2,147,483,647 rows");
  if (params.metric == Metric::kMinkowski && !(params.p >= 1)) throw std::invalid_argument("p must be at least 1");
  largest_ = largest_magnitude(rows.data, rows.rows * rows.cols);
  packed_ = pack_rows(rows, largest_, filter_for(params, rows.cols).filter, run.threads, run.interrupt);
}

template <class T>
void ExactRows<T>::search(MatrixView<const T> queries, Span<const int32_t> row_groups, Span<const int32_t> query_groups,
                          const RunParams& run, MatrixView<double> distances, MatrixView<int64_t> neighbours) const {
  const int64_t k = distances.cols;
  if (k < 1) return;
  Scan<T> scan(*this, queries, k, 0.0, row_groups, query_groups);
  scan.run(run, [&](int64_t q, const std::vector<Entry>& entries) {
    if (static_cast<int64_t>(entries.size()) < k)
      throw std::invalid_argument("a query has fewer rows to choose from than neighbours were asked for");
    for (int64_t i = 0; i < k; ++i) {
      neighbours.row(q)[i] = entries[i].row;
      distances.row(q)[i] = entries[i].distance;
    }
  });
}

template <class T>
void ExactRows<T>::within(MatrixView<const T> queries, double radius, Span<const int32_t> row_groups,
                          Span<const int32_t> query_groups, const RunParams& run,
                          std::vector<std::vector<double>>& distances,
                          std::vector<std::vector<int64_t>>& neighbours) const {
  distances.assign(queries.rows, {});
  neighbours.assign(queries.rows, {});
  Scan<T> scan(*this, queries, -1, radius, row_groups, query_groups);
  scan.run(run, [&](int64_t q, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      distances[q].push_back(entry.distance);
      neighbours[q].push_back(entry.row);
    }
  });
}

template <class T>
AlignedVector<double> unit_rows(MatrixView<const T> rows, bool as_queries) {
  const int64_t cols = rows.cols + 2;
  AlignedVector<double> unit(rows.rows * cols, 0.0);
  std::vector<double> row(rows.cols), zero(rows.cols, 0.0);
  const int32_t first = 0;
  for (int64_t i = 0; i < rows.rows; ++i) {
    double* out = unit.data() + i * cols;
    const double largest = largest_magnitude(rows.row(i), rows.cols);
    if (largest == 0) {
      out[rows.cols + (as_queries ? 1 : 0)] = 1.0;
      continue;
    }
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (int64_t j = 0; j < rows.cols; ++j) row[j] = std::ldexp(static_cast<double>(rows.row(i)[j]), -exponent);
    double square = 0;
    kernels().decide_f64[kSquared](row.data(), rows.cols, zero.data(), &first, 1, &square);
    const double length = std::sqrt(square);
    for (int64_t j = 0; j < rows.cols; ++j) out[j] = row[j] / length;
  }
  return unit;
}

template class ExactRows<float>;
template class ExactRows<double>;
template AlignedVector<double> unit_rows<float>(MatrixView<const float>, bool);
template AlignedVector<double> unit_rows<double>(MatrixView<const double>, bool);

}  // namespace tonari
