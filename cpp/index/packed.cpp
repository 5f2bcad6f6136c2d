// SPDX-License-Identifier: BSD-3-Clause
#include "index/packed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index/decide.hpp"

namespace tonari {
namespace {

constexpr double kUnit = 0x1p-24;            // float32 rounding
constexpr double kWiden = 1.02;              // covers the second-order terms of the bounds
constexpr double kRootError = 0x1.1p-11;     // of an approximate root, its product and second-order terms
constexpr double kTiny = 0x1p-110;           // per coordinate: what underflow of float32 may lose
constexpr double kFarQuery = 0x1p+20;        // a packed query coordinate beyond this is not filtered
constexpr double kDecideError = 0x1p-30;     // float64 deciding, any dim below 2^20, and the arithmetic below
constexpr int64_t kBlockRows = 1024;

float rounded_up(double value) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (!(value < kMost)) return kMost;
  const float nearest = static_cast<float>(value);
  return nearest < value ? std::nextafter(nearest, kMost) : nearest;
}

float rounded_down(double value) { return -rounded_up(-value); }

// A filter's value is the distance to this power.
double exponent_of(Filter filter) {
  switch (filter) {
    case kFilterThreeHalves:
      return 1.5;
    case kFilterFiveHalves:
      return 2.5;
    case kFilterCube:
      return 3;
    case kFilterFourth:
      return 4;
    default:
      return 1;
  }
}
double power(Filter filter, double distance) { return std::pow(distance, exponent_of(filter)); }
double root(Filter filter, double value) { return std::pow(value, 1 / exponent_of(filter)); }

double error_of(Filter filter, int64_t dim) {
  if (filter == kFilterChebyshev) return 2 * kUnit * kWiden;
  const double chain = static_cast<double>(2 * dim + 10) * kUnit * kWiden;
  return filter == kFilterThreeHalves || filter == kFilterFiveHalves ? chain + kRootError : chain;
}

// Norms of packed coordinates.
struct Norms {
  double sum = 0, magnitudes = 0, squares = 0, most = 0;

  void add(double value) {
    const double magnitude = std::fabs(value);
    sum += value;
    magnitudes += magnitude;
    squares += magnitude * magnitude;
    most = std::max(most, magnitude);
  }
  // What packing, and the chain of manhattan, may add to a distance by this vector; A is the chain's error.
  double error(Filter filter, double A) const {
    if (filter == kFilterManhattan) return A * magnitudes;
    if (filter == kFilterChebyshev) return kUnit * kWiden * most;
    // |v|_p <= |v|_1^(1/p) |v|_infinity^(1 - 1/p)
    const double share = 1 / exponent_of(filter);
    return kUnit * kWiden * std::pow(magnitudes, share) * std::pow(most, 1 - share);
  }
};

// The mean of every column: sums per block of rows, added in block order.
template <class T>
std::vector<double> column_means(MatrixView<const T> rows, int threads, const InterruptCheck& interrupt) {
  const int64_t blocks = (rows.rows + kBlockRows - 1) / kBlockRows;
  std::vector<double> sums(blocks * rows.cols);
  parallel_for(blocks, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    double* sum = sums.data() + block * rows.cols;
    const int64_t end = std::min(rows.rows, (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i)
      for (int64_t j = 0; j < rows.cols; ++j) sum[j] += static_cast<double>(rows.row(i)[j]);
  });
  std::vector<double> mean(rows.cols);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t j = 0; j < rows.cols; ++j) mean[j] += sums[block * rows.cols + j];
  for (double& value : mean) value /= static_cast<double>(rows.rows);
  return mean;
}

template <class T>
double largest_from(MatrixView<const T> rows, const std::vector<double>& centre, int threads,
                    const InterruptCheck& interrupt) {
  const int64_t blocks = (rows.rows + kBlockRows - 1) / kBlockRows;
  std::vector<double> largest(blocks);
  parallel_for(blocks, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    double found = 0;
    const int64_t end = std::min(rows.rows, (block + 1) * kBlockRows);
    for (int64_t i = block * kBlockRows; i < end; ++i)
      for (int64_t j = 0; j < rows.cols; ++j)
        found = std::max(found, std::fabs(static_cast<double>(rows.row(i)[j]) - centre[j]));
    largest[block] = found;
  });
  return *std::max_element(largest.begin(), largest.end());
}

}  // namespace

template <class T>
PackedRows pack_rows(MatrixView<const T> rows, double largest, Filter filter, int threads,
                     const InterruptCheck& interrupt) {
  PackedRows packed;
  const int64_t dim = rows.cols;
  packed.filter = filter;
  packed.error = error_of(filter, dim);
  // Beyond these float64 itself needs care (index/exact.cpp), or the bound says nothing.
  if (!ordinary(largest) || packed.error > 0.25) return packed;
  packed.usable = true;
  packed.centre = column_means(rows, threads, interrupt);
  const double farthest = largest_from(rows, packed.centre, threads, interrupt);
  int exponent = 0;
  if (farthest > 0) std::frexp(farthest, &exponent);
  packed.scale = std::ldexp(1.0, -std::max(exponent, -900));

  const int64_t tile_rows = kernels().tile_rows;
  packed.panel_count = (rows.rows + tile_rows - 1) / tile_rows;
  packed.panels.resize(packed.panel_count * dim * tile_rows);
  packed.start.resize(packed.panel_count * tile_rows, std::numeric_limits<float>::infinity());
  std::vector<double> worst(packed.panel_count);
  parallel_for(packed.panel_count, threads, interrupt, [&](int64_t panel, int, StopFlag&) {
    float* out = packed.panels.data() + panel * dim * tile_rows;
    const int64_t count = std::min(tile_rows, rows.rows - panel * tile_rows);
    for (int64_t r = 0; r < count; ++r) {
      const T* row = rows.row(panel * tile_rows + r);
      Norms norms;
      for (int64_t j = 0; j < dim; ++j) {
        const float value = static_cast<float>((static_cast<double>(row[j]) - packed.centre[j]) * packed.scale);
        out[j * tile_rows + r] = value;
        norms.add(static_cast<double>(value));
      }
      float& start = packed.start[panel * tile_rows + r] = 0.0f;
      if (filter == kFilterDot) start = rounded_down((1 - packed.error) * norms.squares);
      if (filter == kFilterManhattan) start = rounded_down(-norms.sum / 2 - packed.error * norms.magnitudes);
      worst[panel] = std::max(worst[panel], norms.error(filter, packed.error));
    }
    for (int64_t r = count; r < tile_rows; ++r)
      for (int64_t j = 0; j < dim; ++j) out[j * tile_rows + r] = 0.0f;
  });
  const double rounding = (filter == kFilterManhattan ? 2.0 : 1.0) * *std::max_element(worst.begin(), worst.end());
  packed.largest_error = rounding + static_cast<double>(dim) * kTiny;
  return packed;
}

template <class T>
void PackedQuery::pack(const PackedRows& rows, const T* query, float* packed, int64_t stride) {
  const int64_t dim = static_cast<int64_t>(rows.centre.size());
  Norms norms;
  const double factor = rows.filter == kFilterDot ? -2.0 : rows.filter == kFilterChebyshev ? -1.0 : 1.0;
  for (int64_t j = 0; j < dim; ++j) {
    const double exact = (static_cast<double>(query[j]) - rows.centre[j]) * rows.scale;
    usable_ = usable_ && std::fabs(exact) <= kFarQuery;
    const double value = usable_ ? static_cast<double>(static_cast<float>(exact)) : 0.0;
    packed[j * stride] = static_cast<float>(factor * value);
    norms.add(value);
  }
  sum_ = norms.sum;
  norm_ = rows.filter == kFilterDot ? norms.squares
                                    : norms.error(rows.filter, rows.error) + static_cast<double>(dim) * kTiny;
}

float PackedQuery::threshold_for(const PackedRows& rows, double distance) const {
  const double scaled = distance * rows.scale * (1 + kDecideError);
  const double tiny = static_cast<double>(rows.centre.size()) * kTiny;
  if (rows.filter == kFilterDot) return rounded_up(scaled * scaled - (1 - rows.error) * norm_ + tiny);
  if (rows.filter == kFilterManhattan) return rounded_up((scaled + sum_) / 2 + norm_ + tiny);
  return rounded_up(power(rows.filter, scaled + rows.largest_error + norm_) * (1 + rows.error) + tiny);
}

double PackedQuery::upper(const PackedRows& rows, float value, int64_t row) const {
  if (rows.filter != kFilterDot) return value;
  return value + 2 * rows.error / (1 - rows.error) * static_cast<double>(rows.start[row]) * (1 + kDecideError);
}

float PackedQuery::threshold_below(const PackedRows& rows, double upper) const {
  const double tiny = static_cast<double>(rows.centre.size()) * kTiny;
  if (rows.filter == kFilterDot)
    return rounded_up(upper + 2 * rows.error * norm_ * (1 + kDecideError) + std::fabs(upper) * 0x1p-40 + 2 * tiny);
  double farthest = 2 * (upper + rows.largest_error + norm_ + tiny) - sum_;
  if (rows.filter != kFilterManhattan)
    farthest = root(rows.filter, upper * (1 + 2 * rows.error) + tiny) + rows.largest_error + norm_;
  return threshold_for(rows, std::max(farthest, 0.0) / rows.scale);
}

template PackedRows pack_rows<float>(MatrixView<const float>, double, Filter, int, const InterruptCheck&);
template PackedRows pack_rows<double>(MatrixView<const double>, double, Filter, int, const InterruptCheck&);
template void PackedQuery::pack<float>(const PackedRows&, const float*, float*, int64_t);
template void PackedQuery::pack<double>(const PackedRows&, const double*, float*, int64_t);

}  // namespace tonari
