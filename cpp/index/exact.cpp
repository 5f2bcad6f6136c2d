// SPDX-License-Identifier: BSD-3-Clause
#include "index/exact.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "index/tiles.hpp"

namespace tonari {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// From here on the largest difference says more than the sum of fourth powers (normal, 100 columns).
constexpr double kFlatPower = 6;
constexpr struct {
  double p;
  Filter filter;
} kPowers[] = {{1, kFilterManhattan},    {1.5, kFilterThreeHalves}, {2, kFilterDot},
               {2.5, kFilterFiveHalves}, {3, kFilterCube},          {4, kFilterFourth}};
constexpr int64_t kAhead = 192;  // queries that show whether codes pay

// A lower bound of the metric as a multiple of the filter's distance.
//   L_p >= L_r * dim^(1/p - 1/r) for p >= r (power means), and L_p >= L_infinity.
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
      if (params.p >= kFlatPower) return {kFilterChebyshev, 1 - 0x1p-40, false};
      const auto* base = std::begin(kPowers);  // the nearest below
      while (base + 1 != std::end(kPowers) && base[1].p <= params.p) ++base;
      if (base->p == params.p) return {base->filter, 1.0, true};
      return {base->filter, std::pow(static_cast<double>(dim), 1 / params.p - 1 / base->p) * (1 - 0x1p-40), false};
    }
    default:
      return {kFilterDot, 1.0, true};
  }
}

Effort effort() {
  const char* wanted = std::getenv("TONARI_FILTER");
  const std::string name = wanted == nullptr ? "" : wanted;
  if (name.empty() || name == "auto") return Effort::kAuto;
  if (name == "plain") return Effort::kPlain;
  if (name == "flat") return Effort::kFlat;
  if (name == "heads") return Effort::kHeads;
  throw std::invalid_argument("TONARI_FILTER is '" + name + "'; choose one of: auto plain flat heads");
}

template <class T>
double largest_of(MatrixView<const T> rows, const RunParams& run) {
  constexpr int64_t kBlockRows = 1024;
  std::vector<double> largest((rows.rows + kBlockRows - 1) / kBlockRows);
  parallel_for(static_cast<int64_t>(largest.size()), run.threads, run.interrupt, [&](int64_t block, int, StopFlag&) {
    const int64_t first = block * kBlockRows, last = std::min(rows.rows, first + kBlockRows);
    largest[block] = largest_magnitude(rows.row(first), (last - first) * rows.cols);
  });
  return *std::max_element(largest.begin(), largest.end());
}

}  // namespace

// One search over all rows: a block of queries against a part of the rows at a time.
template <class T>
class Scan {
 public:
  Scan(const ExactRows<T>& index, MatrixView<const T> queries, int64_t wanted, Span<const double> radii,
       Span<const int32_t> row_groups, Span<const int32_t> query_groups)
      : index_(index),
        choice_(filter_for(index.params_, index.rows_.cols)),
        judge_{index.rows_, queries,    index.params_, index.largest_, wanted,
               radii,       row_groups, query_groups,  choice_.factor} {}

  // emit(query, entries in order) once per query.
  template <class Emit>
  void run(const RunParams& run, Emit&& emit) const {
    const Cascade<T>* cascade = index_.cascade_.get();
    const int64_t queries = judge_.queries.rows, wanted = judge_.wanted;
    const bool coded = cascade != nullptr && !(wanted >= 0 && 4 * wanted >= judge_.rows.rows);
    // A few queries go ahead: should codes not pay for them, the others do without.
    int64_t first = 0, next = kAhead;
    for (; coded && cascade->pays() && first < queries; next = cascade->most_asked()) {
      const int64_t last = std::min(queries, first + next);
      run_cascade(*cascade, first, last, run, emit);
      first = last;
    }
    if (first < queries) run_tiles(first, run, emit);
  }

 private:
  template <class Emit>
  void run_cascade(const Cascade<T>& cascade, int64_t first, int64_t last, const RunParams& run, Emit& emit) const {
    const auto asked = cascade.ask(judge_.queries, first, last, run.threads, run.interrupt);
    std::vector<typename Cascade<T>::Workspace> spaces(std::max(1, run.threads));
    const int64_t bytes = 4 * (std::max<int64_t>(judge_.wanted, 0) + 64) + 256;
    const Cut how(last - first, tile_, bytes, cascade.groups(), run.threads);
    run_blocks(
        last - first, judge_.wanted, how, run,
        [&](int64_t begin, int64_t end, int64_t part, int worker, StopFlag& stop) -> std::vector<Open>& {
          cascade.sift(judge_, asked, begin, end, part, how.parts, worker, stop, spaces[worker]);
          return spaces[worker].open;
        },
        [&](int64_t i, const std::vector<Entry>& entries) { emit(first + asked.order[i], entries); });
  }

  template <class Emit>
  void run_tiles(int64_t from, const RunParams& run, Emit& emit) const {
    const PackedRows& packed = index_.packed(run);
    const Tiles<T> tiles(packed, judge_, choice_.same);
    std::vector<typename Tiles<T>::Workspace> spaces(std::max(1, run.threads));
    const int64_t wide = kernels().tile_rows;
    const int64_t panels = std::max<int64_t>(1, (judge_.rows.rows + wide - 1) / wide);
    const int64_t bytes = tiles.capacity() * static_cast<int64_t>(sizeof(float) + sizeof(int32_t));
    const Cut how(judge_.queries.rows - from, tile_, bytes, panels, run.threads);
    run_blocks(
        judge_.queries.rows - from, judge_.wanted, how, run,
        [&](int64_t begin, int64_t end, int64_t part, int worker, StopFlag& stop) -> std::vector<Open>& {
          tiles.sift(from + begin, from + end, panels * part / how.parts, panels * (part + 1) / how.parts, worker, stop,
                     spaces[worker]);
          return spaces[worker].open;
        },
        [&](int64_t i, const std::vector<Entry>& entries) { emit(from + i, entries); });
  }

  const ExactRows<T>& index_;
  FilterChoice choice_;
  Judge<T> judge_;
  int64_t tile_ = kernels().tile_queries[kTileSizes - 1];
};

template <class T>
ExactRows<T>::ExactRows(MatrixView<const T> rows, const ExactParams& params, const RunParams& run)
    : rows_(rows), params_(params) {
  if (rows.rows < 1 || rows.cols < 1) throw std::invalid_argument("an index needs at least one row and one column");
  if (rows.rows > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("an index holds at most 2,147,483,647 rows");
  if (params.metric == Metric::kMinkowski && !(params.p >= 1)) throw std::invalid_argument("p must be at least 1");
  largest_ = largest_of(rows, run);
  if (filter_for(params, rows.cols).filter == kFilterDot)
    cascade_ = Cascade<T>::build(rows, largest_, effort(), run.threads, run.interrupt);
  if (cascade_ == nullptr) packed(run);
}

template <class T>
const PackedRows& ExactRows<T>::packed(const RunParams& run) const {
  std::call_once(packing_, [&] {
    packed_ = pack_rows(rows_, largest_, filter_for(params_, rows_.cols).filter, run.threads, run.interrupt);
  });
  return packed_;
}

template <class T>
void ExactRows<T>::search(MatrixView<const T> queries, Span<const int32_t> row_groups, Span<const int32_t> query_groups,
                          const RunParams& run, MatrixView<double> distances, MatrixView<int64_t> neighbours) const {
  const int64_t k = distances.cols;
  if (k < 1) return;
  Scan<T> scan(*this, queries, k, {}, row_groups, query_groups);
  scan.run(run, NearestOut{distances, neighbours});
}

template <class T>
void ExactRows<T>::within(MatrixView<const T> queries, Span<const double> radii, Span<const int32_t> row_groups,
                          Span<const int32_t> query_groups, const RunParams& run, Lists& found) const {
  found.resize(queries.rows);
  Scan<T> scan(*this, queries, -1, radii, row_groups, query_groups);
  scan.run(run, found);
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

void map_rows(MatrixView<const double> rows, Span<const double> middle, MatrixView<const double> matrix,
              const RunParams& run, MatrixView<double> mapped) {
  constexpr int64_t kBlockRows = 64;
  parallel_for((rows.rows + kBlockRows - 1) / kBlockRows, run.threads, run.interrupt,
               [&](int64_t block, int, StopFlag&) {
                 const int64_t last = std::min(rows.rows, (block + 1) * kBlockRows);
                 for (int64_t i = block * kBlockRows; i < last; ++i) {
                   double* out = mapped.row(i);
                   std::fill(out, out + mapped.cols, 0.0);
                   for (int64_t j = 0; j < rows.cols; ++j) {
                     const double value = rows.row(i)[j] - middle[j];
                     const double* line = matrix.row(j);
                     for (int64_t m = 0; m < mapped.cols; ++m) out[m] += value * line[m];
                   }
                 }
               });
}

template class ExactRows<float>;
template class ExactRows<double>;
template AlignedVector<double> unit_rows<float>(MatrixView<const float>, bool);
template AlignedVector<double> unit_rows<double>(MatrixView<const double>, bool);

}  // namespace tonari
