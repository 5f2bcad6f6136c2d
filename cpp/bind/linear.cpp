// SPDX-License-Identifier: BSD-3-Clause
// linear_scores, linear_gradient, linear_hessian, linear_perceptron: the linear learners.
#include "learn/linear.hpp"

#include <nanobind/stl/variant.h>

#include <variant>

#include "bind/arrays.hpp"
#include "kernels/table.hpp"
#include "learn/perceptron.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

using Rows = std::variant<In2<float>, In2<double>>;
using In3 = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Out4 = nb::ndarray<double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

void scores(const Rows& rows, const In2<double>& coef, const In1<double>& intercept, const Out2<double>& out,
            int threads) {
  std::visit(
      [&]<class T>(const In2<T>& array) {
        require(coef.shape(1) == array.shape(1), "coef and rows must have the same number of columns");
        require(intercept.shape(0) == coef.shape(0), "intercept must have one value per output");
        require(out.shape(0) == coef.shape(0) && out.shape(1) == array.shape(0), "scores must be outputs x rows");
        require(threads >= 1, "threads must be at least 1");
        without_gil(
            [&] { linear_scores(view(array), view(coef), view(intercept), threads, python_interrupt, out.data()); });
      },
      rows);
}

LogisticProblems problems_of(const In2<double>& rows, const In1<int32_t>& codes, const In2<double>& weights,
                             const In3& coef, int threads) {
  require(rows.shape(1) % static_cast<size_t>(kProductStep) == 0, "rows must be packed to a multiple of 8 columns");
  require(codes.shape(0) == rows.shape(0) && weights.shape(1) == rows.shape(0), "codes and weights must fit the rows");
  require(coef.shape(0) == weights.shape(0) && coef.shape(2) == rows.shape(1), "coef must fit problems and columns");
  require(coef.shape(1) >= 1 && threads >= 1, "outputs and threads must be at least 1");
  const auto outputs = static_cast<int64_t>(coef.shape(1));
  for (int32_t code : view(codes))
    require(code >= 0 && code < (outputs == 1 ? 2 : outputs), "a code lies outside the classes");
  return {view(rows), view(codes), view(weights), coef.data(), outputs};
}

void gradient(const In2<double>& rows, const In1<int32_t>& codes, const In2<double>& weights, const In3& coef,
              const Out1<double>& loss, const Out3<double>& out, const Out1<double>& margin, int threads) {
  const LogisticProblems problems = problems_of(rows, codes, weights, coef, threads);
  require(loss.shape(0) == coef.shape(0) && margin.shape(0) == coef.shape(0), "one loss and margin per problem");
  require(out.shape(0) == coef.shape(0) && out.shape(1) == coef.shape(1) && out.shape(2) == coef.shape(2),
          "gradient must have the shape of coef");
  without_gil([&] { linear_gradient(problems, threads, python_interrupt, loss.data(), out.data(), margin.data()); });
}

void hessian(const In2<double>& rows, const In1<int32_t>& codes, const In2<double>& weights, const In3& coef,
             const Out2<double>& out, int threads) {
  const LogisticProblems problem = problems_of(rows, codes, weights, coef, threads);
  const size_t width = coef.shape(1) * coef.shape(2);
  require(coef.shape(0) == 1, "one problem at a time");
  require(out.shape(0) == width && out.shape(1) == width, "hessian must be square over outputs x columns");
  without_gil([&] { linear_hessian(problem, threads, python_interrupt, out.data()); });
}

void perceptron(const In2<double>& rows, const In1<int32_t>& codes, const In1<int64_t>& starts,
                const In1<int64_t>& train, const In1<int32_t>& split, const In1<int32_t>& positive,
                const In2<double>& start, const In1<int64_t>& epochs, bool shuffled, uint64_t seed, const Out4& weights,
                const Out2<int64_t>& errors, const Out1<int64_t>& stopped, int threads) {
  const PerceptronProblems problems{view(rows),     view(codes), view(starts), view(train), view(split),
                                    view(positive), view(start), view(epochs), shuffled,    seed};
  const size_t count = positive.shape(0), asked = epochs.shape(0), cols = rows.shape(1);
  require(cols % static_cast<size_t>(kProductStep) == 0, "rows must be packed to a multiple of 8 columns");
  require(codes.shape(0) == rows.shape(0), "codes must have one number per row");
  require(!problems.starts.empty() && problems.starts.front() == 0 &&
              problems.starts.back() == static_cast<int64_t>(problems.train.size()),
          "starts must run from 0 to the length of train");
  for (size_t i = 1; i < problems.starts.size(); ++i)
    require(problems.starts[i - 1] <= problems.starts[i], "starts must ascend");
  for (int64_t row : problems.train)
    require(row >= 0 && row < problems.rows.rows, "train names a row outside the table");
  require(split.shape(0) == count && start.shape(0) == count && start.shape(1) == cols, "one split and start each");
  for (int32_t s : problems.split)
    require(s >= 0 && s + 1 < static_cast<int64_t>(problems.starts.size()), "a problem names an unknown split");
  for (size_t i = 0; i < asked; ++i)
    require(problems.epochs[i] >= 1 && (i == 0 || problems.epochs[i - 1] < problems.epochs[i]), "epochs must ascend");
  require(
      weights.shape(0) == count && weights.shape(1) == asked && weights.shape(2) == kKept && weights.shape(3) == cols,
      "weights must be problems x epochs x 3 x columns");
  require(errors.shape(0) == count && errors.shape(1) == asked && stopped.shape(0) == count, "outputs must fit");
  require(threads >= 1, "threads must be at least 1");
  without_gil(
      [&] { perceptron_run(problems, threads, python_interrupt, weights.data(), errors.data(), stopped.data()); });
}

}  // namespace
}  // namespace tonari

void bind_linear(nanobind::module_& m) {
  using namespace tonari;
  m.def("linear_scores", &scores, "rows"_a.noconvert(), "coef"_a.noconvert(), "intercept"_a.noconvert(),
        "scores"_a.noconvert(), "threads"_a, "intercept + coef x per output and row.");
  m.def("linear_gradient", &gradient, "rows"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(),
        "coef"_a.noconvert(), "loss"_a.noconvert(), "gradient"_a.noconvert(), "margin"_a.noconvert(), "threads"_a,
        "Logistic loss, gradient and least margin of many problems over one table.");
  m.def("linear_hessian", &hessian, "rows"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.noconvert(),
        "coef"_a.noconvert(), "hessian"_a.noconvert(), "threads"_a, "Hessian of one problem's logistic loss.");
  m.def("linear_perceptron", &perceptron, "rows"_a.noconvert(), "codes"_a.noconvert(), "starts"_a.noconvert(),
        "train"_a.noconvert(), "split"_a.noconvert(), "positive"_a.noconvert(), "start"_a.noconvert(),
        "epochs"_a.noconvert(), "shuffled"_a, "seed"_a, "weights"_a.noconvert(), "errors"_a.noconvert(),
        "stopped"_a.noconvert(), "threads"_a,
        "Perceptron weights (last, best, mean) of many problems after the epochs asked for.");
}
