// SPDX-License-Identifier: BSD-3-Clause
// gauss_sums, gauss_scores, gauss_turn: sufficient statistics of cells of rows, and quadratic scores from them.
#include "learn/gauss.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <variant>

#include "bind/arrays.hpp"

using namespace nanobind::literals;

namespace tonari {
namespace {

using Rows = std::variant<In2<float>, In2<double>>;
using In3 = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void sums(const Rows& rows, const In1<int32_t>& cells, const std::optional<In1<double>>& weights,
          const Out1<double>& weight, const Out2<double>& mean, const Out3<double>& scatter, int threads) {
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> table = view(array);
        const auto count = static_cast<int64_t>(weight.shape(0));
        const auto dim = static_cast<size_t>(table.cols);
        require(static_cast<int64_t>(cells.shape(0)) == table.rows, "cells must have one number per row");
        require(!weights || static_cast<int64_t>(weights->shape(0)) == table.rows, "weights must have one per row");
        for (int32_t cell : view(cells)) require(cell >= -1 && cell < count, "a cell lies outside the sums");
        require(mean.shape(0) == weight.shape(0) && mean.shape(1) == dim, "mean must be cells x columns");
        require(scatter.shape(0) == weight.shape(0) && scatter.shape(1) == dim && scatter.shape(2) == dim,
                "scatter must be cells x columns x columns");
        require(threads >= 1, "threads must be at least 1");
        const Span<const double> given = weights ? view(*weights) : Span<const double>{};
        without_gil([&] {
          gauss_sums(table, view(cells), given, count, threads, python_interrupt, weight.data(), mean.data(),
                     scatter.data());
        });
      },
      rows);
}

void scores(const Rows& rows, const In2<double>& mean, const In3& basis, const In3& precision,
            const In2<double>& offset, const std::optional<Out3<double>>& scores_out,
            const std::optional<Out2<int32_t>>& codes, int threads) {
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> table = view(array);
        const size_t classes = mean.shape(0), candidates = offset.shape(0), dim = mean.shape(1);
        const auto count = static_cast<size_t>(table.rows);
        require(dim == static_cast<size_t>(table.cols), "rows and means must have the same number of columns");
        require(basis.shape(0) == classes && basis.shape(1) == dim && basis.shape(2) == dim,
                "basis must be classes x columns x columns");
        require(precision.shape(0) == candidates && precision.shape(1) == classes && precision.shape(2) == dim,
                "precision must be candidates x classes x columns");
        require(offset.shape(1) == classes && classes >= 1, "offset must be candidates x classes");
        require(!scores_out || (scores_out->shape(0) == candidates && scores_out->shape(1) == count &&
                                scores_out->shape(2) == classes),
                "scores must be candidates x rows x classes");
        require(!codes || (codes->shape(0) == candidates && codes->shape(1) == count),
                "codes must be candidates x rows");
        require(threads >= 1, "threads must be at least 1");
        const GaussClasses given{view(mean), basis.data(), precision.data(), view(offset)};
        without_gil([&] {
          gauss_scores(table, given, threads, python_interrupt, scores_out ? scores_out->data() : nullptr,
                       codes ? codes->data() : nullptr);
        });
      },
      rows);
}

void turn(const Rows& rows, const In1<double>& mean, const In2<double>& basis, const Out2<double>& turned,
          int threads) {
  std::visit(
      [&]<class T>(const In2<T>& array) {
        const MatrixView<const T> table = view(array);
        const auto dim = static_cast<size_t>(table.cols);
        require(mean.shape(0) == dim && basis.shape(0) == dim && basis.shape(1) == dim,
                "mean and basis must have the columns of the rows");
        require(turned.shape(0) == array.shape(0) && turned.shape(1) == dim, "turned must have the shape of the rows");
        require(threads >= 1, "threads must be at least 1");
        without_gil([&] { gauss_turn(table, view(mean), basis.data(), threads, python_interrupt, turned.data()); });
      },
      rows);
}

}  // namespace
}  // namespace tonari

void bind_gauss(nanobind::module_& m) {
  using namespace tonari;
  m.def("gauss_sums", &sums, "rows"_a.noconvert(), "cells"_a.noconvert(), "weights"_a.noconvert().none(),
        "weight"_a.noconvert(), "mean"_a.noconvert(), "scatter"_a.noconvert(), "threads"_a,
        "Weight, mean and scatter of every cell of rows; cell -1 is left out.");
  m.def("gauss_scores", &scores, "rows"_a.noconvert(), "mean"_a.noconvert(), "basis"_a.noconvert(),
        "precision"_a.noconvert(), "offset"_a.noconvert(), "scores"_a.noconvert().none(), "codes"_a.noconvert().none(),
        "threads"_a, "offset - 1/2 sum precision z^2 per candidate, row and class, and the class of the largest.");
  m.def("gauss_turn", &turn, "rows"_a.noconvert(), "mean"_a.noconvert(), "basis"_a.noconvert(), "turned"_a.noconvert(),
        "threads"_a, "Rows minus a mean, turned into a basis.");
}
