// SPDX-License-Identifier: BSD-3-Clause
#include "learn/vote.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.hpp"

namespace tonari {
namespace {

constexpr int64_t kBlockQueries = 512;
// Below this 1/distance overflows; weights are then taken relative to the nearest.
constexpr double kTinyDistance = 1e-300;
constexpr uint64_t kTieStream = 0x7469'6573;

// One pass per weighting: candidates of that weighting by ascending k, so that sums only grow.
struct Order {
  int32_t weighting;
  bool adaptive;  // every candidate has weights of its own, so sums start again
  std::vector<int32_t> candidates;
};

std::vector<Order> order_of(const Candidates& candidates) {
  std::vector<Order> orders;
  for (int32_t weighting : {kUniform, kInverseDistance, kGiven, kGaussian}) {
    Order order{weighting, weighting == kGaussian && candidates.bandwidth == 0, {}};
    for (size_t c = 0; c < candidates.k.size(); ++c)
      if (candidates.weighting[c] == weighting) order.candidates.push_back(static_cast<int32_t>(c));
    std::stable_sort(order.candidates.begin(), order.candidates.end(),
                     [&](int32_t a, int32_t b) { return candidates.k[a] < candidates.k[b]; });
    if (!order.candidates.empty()) orders.push_back(std::move(order));
  }
  return orders;
}

// e^-x for x >= 0 within 1 ULP or so. The library's exp differs between machines in the last bit; this one does not.
double exp_of_minus(double x) {
  if (!(x < 708)) return x > 0 ? 0.0 : x;
  // x = n ln 2 + r, |r| <= ln 2 / 2; ln 2 in two parts (Cody and Waite), e^-r by its series.
  const double n = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double sum = 1.0;
  for (int term = 14; term >= 1; --term) sum = 1.0 - r * sum / term;
  return std::ldexp(sum, -static_cast<int>(n));
}

// One query's neighbours, nearest first, so that exact matches and the last distance are known at once.
struct List {
  const int64_t* rows;
  const double* distances;
  const double* weights;
  int64_t count;

  double inverse(int64_t i) const {
    if (distances[0] == 0) return distances[i] == 0 ? 1.0 : 0.0;
    if (distances[0] < kTinyDistance) return distances[0] / distances[i];
    return 1.0 / distances[i];
  }

  // Relative to the nearest, which changes no share and cannot vanish for all.
  double gaussian(int64_t i, double bandwidth) const {
    const double gap = distances[i] - distances[0];
    if (!(gap > 0)) return 1.0;
    return exp_of_minus(0.5 * (gap / bandwidth) * (distances[i] / bandwidth + distances[0] / bandwidth));
  }

  double weight(int32_t weighting, int64_t i, double bandwidth) const {
    switch (weighting) {
      case kInverseDistance:
        return inverse(i);
      case kGiven:
        return weights[i];
      case kGaussian:
        return gaussian(i, bandwidth);
      default:
        return 1.0;
    }
  }
};

List list_of(const Neighbours& neighbours, int64_t q) {
  const int64_t begin = neighbours.indptr[q];
  return {neighbours.rows.data() + begin, neighbours.distances.data() + begin,
          neighbours.weights.empty() ? nullptr : neighbours.weights.data() + begin, neighbours.indptr[q + 1] - begin};
}

// Runs add(i, weight) for each neighbour that votes, restart() where sums begin, done(candidate) where they are complete.
template <class Restart, class Add, class Done>
void over_candidates(const Neighbours& neighbours, const Candidates& candidates, const std::vector<Order>& orders,
                     int64_t q, const Restart& restart, const Add& add, const Done& done) {
  const List list = list_of(neighbours, q);
  for (const Order& order : orders) {
    restart();
    int64_t counted = 0;
    for (int32_t candidate : order.candidates) {
      const int64_t cut = std::min<int64_t>(candidates.k[candidate], list.count);
      double bandwidth = candidates.bandwidth;
      if (order.adaptive) {
        restart();
        counted = 0;
        bandwidth = cut > 0 ? list.distances[cut - 1] : 0.0;
      }
      for (; counted < cut; ++counted) {
        double weight = list.weight(order.weighting, counted, bandwidth);
        if (!neighbours.row_weights.empty()) weight *= neighbours.row_weights[list.rows[counted]];
        add(list.rows[counted], list.distances[counted], weight);
      }
      done(candidate);
    }
  }
}

// The votes of one query and what follows from them.
class Ballot {
 public:
  Ballot(const Decision& decision, int32_t classes)
      : decision_(decision), votes_(classes), score_(classes), away_(classes), tied_(classes) {}

  void restart() {
    std::fill(votes_.begin(), votes_.end(), 0.0);
    std::fill(away_.begin(), away_.end(), 0.0);
    voters_ = 0;
  }

  void add(int32_t label, double distance, double weight) {
    votes_[label] += weight;
    away_[label] += distance;
    ++voters_;
  }

  int32_t decide(int64_t q) {
    const double* scale = decision_.class_weights.rows == 0 ? nullptr : decision_.class_weights.row(part(q));
    total_ = 0;
    for (size_t c = 0; c < votes_.size(); ++c) {
      score_[c] = scale == nullptr ? votes_[c] : votes_[c] * scale[c];
      total_ += score_[c];
    }
    const auto best = static_cast<int32_t>(std::max_element(score_.begin(), score_.end()) - score_.begin());
    if (voters_ == 0) return kNobody;
    if (share(best) < decision_.least_share) return kNobody;
    return winner(best, q);
  }

  double share(size_t c) const { return total_ == 0 ? score_[c] : score_[c] / total_; }

 private:
  int64_t part(int64_t q) const { return decision_.part.empty() ? 0 : decision_.part[q]; }

  // Equal shares tie, not equal sums: the winner is then always a largest of the shares that are reported.
  int32_t winner(int32_t best, int64_t q) {
    const double close = score_[best] * (1 - 1e-15);
    int32_t count = 0;
    for (size_t c = 0; c < score_.size(); ++c)
      if (score_[c] >= close && share(c) == share(best)) tied_[count++] = static_cast<int32_t>(c);
    if (count <= 1) return best;
    switch (decision_.ties) {
      case kNearest:
        return *std::min_element(tied_.begin(), tied_.begin() + count,
                                 [&](int32_t a, int32_t b) { return away_[a] < away_[b]; });
      case kRandom:
        return tied_[RandomStream(decision_.seed, kTieStream).below(decision_.draws[q], count)];
      case kUndecided:
        return kNobody;
      default:
        return tied_[0];
    }
  }

  const Decision& decision_;
  std::vector<double> votes_, score_, away_;
  std::vector<int32_t> tied_;
  double total_ = 0;
  int64_t voters_ = 0;
};

template <class Visit>
void over_queries(int64_t queries, int threads, const InterruptCheck& interrupt, const Visit& visit) {
  parallel_for((queries + kBlockQueries - 1) / kBlockQueries, threads, interrupt, [&](int64_t block, int, StopFlag&) {
    visit(block * kBlockQueries, std::min(queries, (block + 1) * kBlockQueries));
  });
}

}  // namespace

void vote_classes(const Neighbours& neighbours, const Candidates& candidates, const Decision& decision,
                  Span<const int32_t> labels, int32_t classes, int threads, const InterruptCheck& interrupt,
                  int32_t* winners, double* shares) {
  const int64_t queries = neighbours.queries();
  const std::vector<Order> orders = order_of(candidates);
  over_queries(queries, threads, interrupt, [&](int64_t first, int64_t last) {
    Ballot ballot(decision, classes);
    for (int64_t q = first; q < last; ++q) {
      over_candidates(
          neighbours, candidates, orders, q, [&] { ballot.restart(); },
          [&](int64_t row, double distance, double weight) { ballot.add(labels[row], distance, weight); },
          [&](int32_t candidate) {
            const int64_t place = candidate * queries + q;
            winners[place] = ballot.decide(q);
            if (shares == nullptr) return;
            for (int32_t c = 0; c < classes; ++c) shares[place * classes + c] = ballot.share(c);
          });
    }
  });
}

void vote_means(const Neighbours& neighbours, const Candidates& candidates, MatrixView<const double> values,
                int threads, const InterruptCheck& interrupt, double* means) {
  const int64_t queries = neighbours.queries();
  const int64_t outputs = values.cols;
  const std::vector<Order> orders = order_of(candidates);
  over_queries(queries, threads, interrupt, [&](int64_t first, int64_t last) {
    std::vector<double> sum(outputs);
    double total = 0;
    for (int64_t q = first; q < last; ++q) {
      over_candidates(
          neighbours, candidates, orders, q,
          [&] {
            std::fill(sum.begin(), sum.end(), 0.0);
            total = 0;
          },
          [&](int64_t row, double, double weight) {
            const double* value = values.row(row);
            for (int64_t o = 0; o < outputs; ++o) sum[o] += weight * value[o];
            total += weight;
          },
          [&](int32_t candidate) {
            for (int64_t o = 0; o < outputs; ++o) means[(candidate * queries + q) * outputs + o] = sum[o] / total;
          });
    }
  });
}

}  // namespace tonari
