// SPDX-License-Identifier: BSD-3-Clause
#include "learn/vote.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tonari {
namespace {

constexpr int64_t kBlockQueries = 512;
// Below this 1/distance overflows; weights are then taken relative to the nearest.
constexpr double kTinyDistance = 1e-300;

// One pass per weighting: candidates of that weighting by ascending k, so that sums only grow.
struct Order {
  int32_t weighting;
  std::vector<int32_t> candidates;
};

std::vector<Order> order_of(const Candidates& candidates) {
  std::vector<Order> orders;
  for (int32_t weighting : {kUniform, kInverseDistance, kGiven}) {
    Order order{weighting, {}};
    for (size_t c = 0; c < candidates.k.size(); ++c)
      if (candidates.weighting[c] == weighting) order.candidates.push_back(static_cast<int32_t>(c));
    std::stable_sort(order.candidates.begin(), order.candidates.end(),
                     [&](int32_t a, int32_t b) { return candidates.k[a] < candidates.k[b]; });
    if (!order.candidates.empty()) orders.push_back(std::move(order));
  }
  return orders;
}

// The weight of neighbour i of query q. Neighbours come nearest first, so exact matches are known from the first.
double weight_of(const Neighbours& neighbours, int32_t weighting, int64_t q, int64_t i) {
  if (weighting == kUniform) return 1.0;
  if (weighting == kGiven) return neighbours.weights.row(q)[i];
  const double* distance = neighbours.distances.row(q);
  if (distance[0] == 0) return distance[i] == 0 ? 1.0 : 0.0;
  if (distance[0] < kTinyDistance) return distance[0] / distance[i];
  return 1.0 / distance[i];
}

template <class Visit>
void over_queries(int64_t queries, int threads, const InterruptCheck& interrupt, const Visit& visit) {
  parallel_for((queries + kBlockQueries - 1) / kBlockQueries, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    visit(block * kBlockQueries, std::min(queries, (block + 1) * kBlockQueries));
  });
}

}  // namespace

void vote_classes(const Neighbours& neighbours, const Candidates& candidates, Span<const int32_t> labels,
                  int32_t classes, int threads, const InterruptCheck& interrupt, int32_t* winners, double* shares) {
  const int64_t queries = neighbours.rows.rows;
  const std::vector<Order> orders = order_of(candidates);
  over_queries(queries, threads, interrupt, [&](int64_t first, int64_t last) {
    std::vector<double> sum(classes);
    for (int64_t q = first; q < last; ++q) {
      const int64_t* rows = neighbours.rows.row(q);
      for (const Order& order : orders) {
        std::fill(sum.begin(), sum.end(), 0.0);
        int32_t counted = 0;
        for (int32_t candidate : order.candidates) {
          for (; counted < candidates.k[candidate]; ++counted)
            sum[labels[rows[counted]]] += weight_of(neighbours, order.weighting, q, counted);
          const int64_t place = candidate * queries + q;
          winners[place] = static_cast<int32_t>(std::max_element(sum.begin(), sum.end()) - sum.begin());
          if (shares == nullptr) continue;
          double total = 0;
          for (double value : sum) total += value;
          for (int32_t c = 0; c < classes; ++c) shares[place * classes + c] = total == 0 ? sum[c] : sum[c] / total;
        }
      }
    }
  });
}

void vote_means(const Neighbours& neighbours, const Candidates& candidates, MatrixView<const double> values,
                int threads, const InterruptCheck& interrupt, double* means) {
  const int64_t queries = neighbours.rows.rows;
  const int64_t outputs = values.cols;
  const std::vector<Order> orders = order_of(candidates);
  over_queries(queries, threads, interrupt, [&](int64_t first, int64_t last) {
    std::vector<double> sum(outputs);
    for (int64_t q = first; q < last; ++q) {
      const int64_t* rows = neighbours.rows.row(q);
      for (const Order& order : orders) {
        std::fill(sum.begin(), sum.end(), 0.0);
        double total = 0;
        int32_t counted = 0;
        for (int32_t candidate : order.candidates) {
          for (; counted < candidates.k[candidate]; ++counted) {
            const double weight = weight_of(neighbours, order.weighting, q, counted);
            const double* value = values.row(rows[counted]);
            for (int64_t o = 0; o < outputs; ++o) sum[o] += weight * value[o];
            total += weight;
          }
          for (int64_t o = 0; o < outputs; ++o) means[(candidate * queries + q) * outputs + o] = sum[o] / total;
        }
      }
    }
  });
}

}  // namespace tonari
