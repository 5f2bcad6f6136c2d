// SPDX-License-Identifier: BSD-3-Clause
#include "learn/score.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tonari {
namespace {

// Calls at(candidate's answers, rows of the split, cell number candidate * splits + split) for every cell.
template <class T, class At>
void for_each_cell(MatrixView<const T> answers, const SplitRows& rows, At&& at) {
  const int64_t splits = rows.splits();
  for (int64_t candidate = 0; candidate < answers.rows; ++candidate) {
    const T* answer = answers.row(candidate);
    for (int64_t split = 0; split < splits; ++split) {
      const int64_t begin = rows.starts[split];
      at(answer, rows.order.subspan(begin, rows.starts[split + 1] - begin), candidate * splits + split);
    }
  }
}

struct Areas {
  double roc;
  double average_precision;
};

// Ranks come highest score first. The area counts pairs in integers (doubled, for ties), so it is exact up to one
// division; 2 * positives * negatives stays below 2^63 for any split of fewer than 2^31 rows.
Areas areas_of(std::vector<std::pair<double, uint8_t>>& ranks) {
  std::sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  int64_t positives = 0;
  for (const auto& rank : ranks) positives += rank.second;
  const int64_t total = static_cast<int64_t>(ranks.size());
  int64_t hits = 0, doubled_pairs = 0;
  double precision_sum = 0.0;
  for (int64_t begin = 0, end = 0; begin < total; begin = end) {
    int64_t here = 0;
    for (end = begin; end < total && ranks[end].first == ranks[begin].first; ++end) here += ranks[end].second;
    const int64_t misses_here = end - begin - here;
    doubled_pairs += misses_here * (2 * hits + here);
    hits += here;
    precision_sum += static_cast<double>(here) * (static_cast<double>(hits) / static_cast<double>(end));
  }
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  const int64_t negatives = total - positives;
  return {positives && negatives ? static_cast<double>(doubled_pairs) /
                                       (2.0 * static_cast<double>(positives) * static_cast<double>(negatives))
                                 : undefined,
          positives ? precision_sum / static_cast<double>(positives) : undefined};
}

}  // namespace

void score_hits(MatrixView<const int32_t> codes, Span<const int32_t> truth, const SplitRows& rows, int64_t* hits) {
  for_each_cell(codes, rows, [&](const int32_t* code, Span<const int64_t> own, int64_t cell) {
    int64_t count = 0;
    for (int64_t row : own) count += code[row] == truth[row];
    hits[cell] = count;
  });
}

void score_counts(MatrixView<const int32_t> codes, Span<const int32_t> truth, const SplitRows& rows, int32_t classes,
                  int64_t* hits, int64_t* predicted) {
  const int64_t cells = codes.rows * rows.splits() * classes;
  std::fill(hits, hits + cells, 0);
  std::fill(predicted, predicted + cells, 0);
  for_each_cell(codes, rows, [&](const int32_t* code, Span<const int64_t> own, int64_t cell) {
    int64_t* hit = hits + cell * classes;
    int64_t* named = predicted + cell * classes;
    for (int64_t row : own) {
      assert(code[row] >= 0 && code[row] < classes);
      ++named[code[row]];
      hit[code[row]] += code[row] == truth[row];
    }
  });
}

void score_errors(MatrixView<const double> values, Span<const double> truth, const SplitRows& rows, double* sums) {
  for_each_cell(values, rows, [&](const double* value, Span<const int64_t> own, int64_t cell) {
    double sum = 0.0, squares = 0.0, sizes = 0.0, largest = 0.0;
    for (int64_t row : own) {
      const double error = truth[row] - value[row];
      const double size = std::fabs(error);
      sum += error;
      squares += error * error;
      sizes += size;
      largest = size > largest || std::isnan(size) ? size : largest;
    }
    const double mean = sum / static_cast<double>(own.size());
    double spread = 0.0;
    for (int64_t row : own) {
      const double centred = truth[row] - value[row] - mean;
      spread += centred * centred;
    }
    double* out = sums + cell * kErrorSums;
    out[0] = squares;
    out[1] = sizes;
    out[2] = largest;
    out[3] = spread;
  });
}

void score_ranking(MatrixView<const double> values, Span<const uint8_t> positive, const SplitRows& rows,
                   double* areas) {
  std::vector<std::pair<double, uint8_t>> ranks;
  for_each_cell(values, rows, [&](const double* value, Span<const int64_t> own, int64_t cell) {
    ranks.clear();
    ranks.reserve(own.size());
    for (int64_t row : own) ranks.emplace_back(value[row], positive[row]);
    const Areas found = areas_of(ranks);
    areas[cell * kAreas] = found.roc;
    areas[cell * kAreas + 1] = found.average_precision;
  });
}

}  // namespace tonari
