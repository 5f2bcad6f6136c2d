// SPDX-License-Identifier: BSD-3-Clause
#include "learn/perceptron.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/memory.hpp"
#include "base/random.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

// Eight sums, joined in one order: the same bits wherever this is compiled.
double dot(const double* a, const double* b, int64_t cols) {
  double lane[kProductStep] = {};
  for (int64_t j = 0; j < cols; j += kProductStep)
    for (int64_t i = 0; i < kProductStep; ++i) lane[i] += a[j + i] * b[j + i];
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// One problem on its way through the epochs.
class Run {
 public:
  Run(const PerceptronProblems& given, int64_t problem)
      : given_(given),
        train_(given.train.subspan(given.starts[given.split[problem]],
                                   given.starts[given.split[problem] + 1] - given.starts[given.split[problem]])),
        positive_(given.positive[problem]),
        order_(train_.begin(), train_.end()),
        weights_(given.start.row(problem), given.start.row(problem) + given.start.cols),
        best_(weights_),
        lag_(given.start.cols, 0.0) {
    errors_ = best_errors_ = count_errors();
  }

  bool done() const { return errors_ == 0; }
  int64_t errors() const { return errors_; }

  void epoch(int64_t number) {
    const int64_t cols = given_.rows.cols;
    if (given_.shuffled) shuffle(number);
    for (int64_t row : order_) {
      const double* x = given_.rows.row(row);
      const bool truth = given_.codes[row] == positive_;
      const bool answer = dot(weights_.data(), x, cols) >= 0;
      if (truth != answer) {
        const double sign = truth ? 1.0 : -1.0;
        const auto before = static_cast<double>(steps_);
        for (int64_t j = 0; j < cols; ++j) {
          weights_[j] += sign * x[j];
          lag_[j] += before * (sign * x[j]);
        }
      }
      ++steps_;
    }
    errors_ = count_errors();
    if (errors_ < best_errors_) {
      best_ = weights_;
      best_errors_ = errors_;
    }
  }

  // [kKept][column]
  void keep(double* out) const {
    const int64_t cols = given_.rows.cols;
    std::copy(weights_.begin(), weights_.end(), out + kLast * cols);
    std::copy(best_.begin(), best_.end(), out + kBest * cols);
    // The mean of the weights after every step is the last minus every change times the steps before it.
    const double steps = steps_ == 0 ? 1.0 : static_cast<double>(steps_);
    for (int64_t j = 0; j < cols; ++j) out[kMean * cols + j] = weights_[j] - lag_[j] / steps;
  }

 private:
  int64_t count_errors() const {
    int64_t errors = 0;
    for (int64_t row : train_)
      errors += (dot(weights_.data(), given_.rows.row(row), given_.rows.cols) >= 0) != (given_.codes[row] == positive_);
    return errors;
  }

  void shuffle(int64_t number) {
    const RandomStream draws(given_.seed, static_cast<uint64_t>(number));
    std::copy(train_.begin(), train_.end(), order_.begin());
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draws.below(i, i)]);
  }

  const PerceptronProblems& given_;
  Span<const int64_t> train_;
  int32_t positive_;
  std::vector<int64_t> order_;
  AlignedVector<double> weights_, best_, lag_;
  int64_t errors_ = 0, best_errors_ = 0, steps_ = 0;
};

}  // namespace

void perceptron_run(const PerceptronProblems& problems, int threads, const InterruptCheck& interrupt, double* weights,
                    int64_t* errors, int64_t* stopped) {
  const auto count = static_cast<int64_t>(problems.positive.size());
  const auto asked = static_cast<int64_t>(problems.epochs.size());
  const int64_t cols = problems.rows.cols;
  parallel_for(count, threads, interrupt, [&](int64_t problem, int worker, StopFlag& stop) {
    Run run(problems, problem);
    stopped[problem] = run.done() ? 0 : -1;
    int64_t epoch = 0;
    for (int64_t i = 0; i < asked; ++i) {
      while (epoch < problems.epochs[i] && !run.done()) {
        if (stop.should_stop(worker)) return;
        run.epoch(++epoch);
        if (run.done()) stopped[problem] = epoch;
      }
      run.keep(weights + (problem * asked + i) * kKept * cols);
      errors[problem * asked + i] = run.errors();
    }
  });
}

}  // namespace tonari
