// SPDX-License-Identifier: BSD-3-Clause
#include "index/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace tonari {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kTiny = 0x1p-1000;  // per stored number: what underflow may lose
constexpr double kSafe = 1 + 0x1p-40;  // the arithmetic of the bounds themselves
constexpr int64_t kLanes = 16;
constexpr int64_t kPollRows = 4096;

// Squares summed as cpp/kernels/decide.inl sums them, given only those that are not zero, by ascending column.
class Lanes {
 public:
  explicit Lanes(int64_t dim) : rounds_((dim + kLanes - 1) / kLanes) {}

  void add_square(int64_t column, double difference) {
    const int64_t i = column % kLanes, round = column / kLanes;
    add_zeros(i, round - next_[i]);
    next_[i] = round + 1;
    add(i, difference * difference);
  }
  double sum() {
    for (int64_t i = 0; i < kLanes; ++i) add_zeros(i, rounds_ - next_[i]);
    for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
      for (int64_t i = 0; i < half; ++i) {
        sum_[i] += sum_[i + half];
        lost_[i] += lost_[i + half];
      }
    }
    return sum_[0] - lost_[0];
  }

 private:
  void add(int64_t i, double term) {
    const double corrected = term - lost_[i];
    const double next = sum_[i] + corrected;
    lost_[i] = (next - sum_[i]) - corrected;
    sum_[i] = next;
  }
  // A zero may move what was lost into the sum; once nothing moves, no further one does.
  void add_zeros(int64_t i, int64_t count) {
    for (; count > 0; --count) {
      const double sum = sum_[i], lost = lost_[i];
      add(i, 0.0);
      if (sum_[i] == sum && lost_[i] == lost) return;
    }
  }

  double sum_[kLanes] = {}, lost_[kLanes] = {};
  int64_t next_[kLanes] = {};
  int64_t rounds_;
};

template <class T>
double largest_in(Span<const T> values) {
  return values.empty() ? 0.0 : largest_magnitude(values.data(), static_cast<int64_t>(values.size()));
}

template <class T>
double square_of(Span<const T> values) {
  double square = 0;
  for (const T value : values) square += static_cast<double>(value) * static_cast<double>(value);
  return square;
}

template <class T>
void write_out(const SparseView<T>& table, int64_t row, std::vector<T>& dense) {
  dense.assign(table.cols, T{0});
  const Span<const int32_t> columns = table.columns_of(row);
  const Span<const T> values = table.values_of(row);
  for (size_t i = 0; i < columns.size(); ++i) dense[columns[i]] = values[i];
}

}  // namespace

template <class T>
SparseUnits sparse_units(const SparseView<T>& rows, bool as_queries) {
  SparseUnits units;
  units.cols = rows.cols + 2;
  units.indptr.push_back(0);
  for (int64_t row = 0; row < rows.rows(); ++row) {
    const Span<const int32_t> columns = rows.columns_of(row);
    const Span<const T> values = rows.values_of(row);
    const double largest = largest_in(values);
    if (largest == 0) {
      units.columns.push_back(static_cast<int32_t>(rows.cols + (as_queries ? 1 : 0)));
      units.values.push_back(1.0);
    } else {
      int exponent = 0;
      std::frexp(largest, &exponent);
      Lanes lanes(rows.cols);
      for (size_t i = 0; i < columns.size(); ++i)
        lanes.add_square(columns[i], std::ldexp(static_cast<double>(values[i]), -exponent));
      const double length = std::sqrt(lanes.sum());
      for (size_t i = 0; i < columns.size(); ++i) {
        units.columns.push_back(columns[i]);
        units.values.push_back(std::ldexp(static_cast<double>(values[i]), -exponent) / length);
      }
    }
    units.indptr.push_back(static_cast<int64_t>(units.columns.size()));
  }
  return units;
}

template <class T>
struct SparseRows<T>::Asked {
  SparseView<T> queries;
  int64_t wanted;  // -1: all within the radius
  Span<const double> radii;
  Exclusion groups;
};

template <class T>
struct SparseRows<T>::Workspace {
  std::vector<Open> open;
  AlignedVector<double> value;
  std::vector<T> row, query;  // written out
  int64_t written = -1;  // the query that is
};

template <class T>
SparseRows<T>::SparseRows(const SparseView<T>& rows, Metric metric, const RunParams& run)
    : rows_(rows), metric_(metric) {
  const int64_t count = rows.rows();
  if (count < 1 || rows.cols < 1) throw std::invalid_argument("an index needs at least one row and one column");
  if (count > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("an index holds at most 2,147,483,647 rows");
  if (metric != Metric::kEuclidean && metric != Metric::kCosine)
    throw std::invalid_argument("sparse rows are searched under euclidean or cosine");
  largest_ = largest_in(rows.values);
  int64_t longest = 0;
  for (int64_t row = 0; row < count; ++row) longest = std::max(longest, rows.length(row));
  error_ = static_cast<double>(2 * longest + 16) * kUnit * kSafe;
  norm_.resize(count);
  parallel_for((count + kPollRows - 1) / kPollRows, run.threads, run.interrupt, [&](int64_t block, int, StopFlag&) {
    for (int64_t row = block * kPollRows; row < std::min(count, (block + 1) * kPollRows); ++row)
      norm_[row] = (1 - error_) * square_of(rows.values_of(row));
  });
  starts_.assign(rows.cols + 1, 0);
  for (const int32_t column : rows.columns) ++starts_[column + 1];
  for (int64_t column = 0; column < rows.cols; ++column) starts_[column + 1] += starts_[column];
  row_of_.resize(rows.columns.size());
  value_of_.resize(rows.columns.size());
  std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
      const int64_t place = next[rows.columns[i]]++;
      row_of_[place] = static_cast<int32_t>(row);
      value_of_[place] = rows.values[i];
    }
  }
}

template <class T>
double SparseRows<T>::decide(const Asked& asked, int64_t query, int64_t row, double largest, Workspace& work) const {
  const auto written_out = [&] {
    if (work.written != query) write_out(asked.queries, query, work.query);
    work.written = query;
    write_out(rows_, row, work.row);
    const int32_t first = 0;
    double distance = 0;
    Decider<T>(metric_, 2.0, rows_.cols, largest).decide(work.row.data(), work.query.data(), &first, 1, &distance);
    return distance;
  };
  if (!ordinary(largest)) return written_out();
  const Span<const int32_t> a = rows_.columns_of(row), b = asked.queries.columns_of(query);
  const Span<const T> x = rows_.values_of(row), q = asked.queries.values_of(query);
  Lanes lanes(rows_.cols);
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (j == b.size() || (i < a.size() && a[i] < b[j])) {
      lanes.add_square(a[i], static_cast<double>(x[i]));
      ++i;
    } else if (i == a.size() || b[j] < a[i]) {
      lanes.add_square(b[j], static_cast<double>(q[j]));
      ++j;
    } else {
      lanes.add_square(a[i], static_cast<double>(x[i]) - static_cast<double>(q[j]));
      ++i;
      ++j;
    }
  }
  const double squared = lanes.sum();
  if (metric_ == Metric::kCosine) return squared / 2;
  // Squares that may have underflowed are taken with more care, as ExactRows does.
  return std::is_same_v<T, float> || squared >= kTinySquare ? std::sqrt(squared) : written_out();
}

template <class T>
void SparseRows<T>::look(const Asked& asked, int64_t query, int worker, StopFlag& stop, Nearest& nearest,
                         Workspace& work) const {
  const int64_t count = rows_.rows();
  const Span<const int32_t> columns = asked.queries.columns_of(query);
  const Span<const T> values = asked.queries.values_of(query);
  const double largest = std::max(largest_, largest_in(values));
  const auto decide_row = [&](int64_t row) {
    nearest.add(decide(asked, query, row, largest, work), static_cast<int32_t>(row));
  };
  if (!ordinary(largest) || error_ > 0.25 || asked.wanted >= count) {
    for (int64_t row = 0; row < count; ++row) {
      if (!asked.groups.excluded(query, row)) decide_row(row);
      if (row % kPollRows == 0 && stop.should_stop(worker)) return;
    }
    return;
  }
  work.value = norm_;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double twice = -2 * static_cast<double>(values[i]);
    for (int64_t place = starts_[columns[i]]; place < starts_[columns[i] + 1]; ++place)
      work.value[row_of_[place]] += twice * static_cast<double>(value_of_[place]);
  }
  const double norm = square_of(values), length = static_cast<double>(columns.size());
  const double error = std::max(error_, (2 * length + 16) * kUnit * kSafe);
  const double tiny = (2 * length + static_cast<double>(rows_.cols)) * kTiny;
  double least = 0;  // no row of a larger value matters
  if (asked.wanted < 0) {
    const double radius = std::max(asked.radii[query], 0.0);
    const double square = metric_ == Metric::kCosine ? 2 * radius : radius * radius;
    least = square * kSafe - (1 - error) * norm + norm * 0x1p-50 + tiny;
  } else {
    // The wanted least upper bounds: no row beyond the largest of them matters.
    Nearest bounds(asked.wanted, std::numeric_limits<double>::infinity());
    const double slack = 2 * error_ / (1 - error_) * kSafe;
    for (int64_t row = 0; row < count; ++row) {
      const double upper = work.value[row] + slack * norm_[row];
      if (upper <= bounds.limit() && !asked.groups.excluded(query, row)) bounds.add(upper, static_cast<int32_t>(row));
    }
    bounds.shrink();
    const double limit = bounds.limit();
    least = limit + (std::fabs(limit) + norm) * 0x1p-40 + 2 * error * norm + 2 * tiny;
  }
  for (int64_t row = 0; row < count; ++row) {
    if (work.value[row] <= least && !asked.groups.excluded(query, row)) decide_row(row);
    if (row % kPollRows == 0 && stop.should_stop(worker)) return;
  }
}

template <class T>
template <class Emit>
void SparseRows<T>::run(const Asked& asked, const RunParams& run, Emit&& emit) const {
  const int64_t queries = asked.queries.rows();
  if (queries < 1) return;
  std::vector<Workspace> spaces(std::max(1, run.threads));
  const Cut how(queries, 1, 32 * (std::max<int64_t>(asked.wanted, 0) + 32), 1, run.threads);
  run_blocks(
      queries, asked.wanted, how, run,
      [&](int64_t begin, int64_t end, int64_t, int worker, StopFlag& stop) -> std::vector<Open>& {
        Workspace& work = spaces[worker];
        work.open.resize(end - begin);
        for (int64_t query = begin; query < end && !stop.should_stop(worker); ++query) {
          const double limit = asked.wanted < 0 ? asked.radii[query] : std::numeric_limits<double>::infinity();
          work.open[query - begin] = {Nearest(asked.wanted, limit), 0};
          look(asked, query, worker, stop, work.open[query - begin].nearest, work);
        }
        return work.open;
      },
      [&](int64_t query, const std::vector<Entry>& entries) { emit(query, entries); });
}

template <class T>
void SparseRows<T>::search(const SparseView<T>& queries, const Exclusion& groups, const RunParams& how,
                           NearestOut out) const {
  if (out.distances.cols >= 1) run({queries, out.distances.cols, {}, groups}, how, out);
}

template <class T>
void SparseRows<T>::within(const SparseView<T>& queries, Span<const double> radii, const Exclusion& groups,
                           const RunParams& how, Lists& found) const {
  found.resize(queries.rows());
  run({queries, -1, radii, groups}, how, found);
}

template class SparseRows<float>;
template class SparseRows<double>;
template SparseUnits sparse_units<float>(const SparseView<float>&, bool);
template SparseUnits sparse_units<double>(const SparseView<double>&, bool);

}  // namespace tonari
