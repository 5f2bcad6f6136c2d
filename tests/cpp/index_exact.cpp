// SPDX-License-Identifier: BSD-3-Clause
// The exact search against a double loop: neighbours and bits of distances, however it is run.
#include "index/exact.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "guarded.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

constexpr Metric kLaneMetrics[] = {Metric::kEuclidean, Metric::kManhattan, Metric::kChebyshev};

Reduced reduced_of(Metric metric) {
  return metric == Metric::kManhattan ? kAbsolute : metric == Metric::kChebyshev ? kLargest : kSquared;
}

struct Answer {
  std::vector<double> distances;
  std::vector<int64_t> neighbours;
  int64_t k = 0;

  bool operator==(const Answer& other) const {   // bits, not values
    return k == other.k && neighbours == other.neighbours &&
           std::equal(distances.begin(), distances.end(), other.distances.begin(), other.distances.end(),
                      [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); });
  }
};

// Rows and queries of one type, in memory with guard pages, and their groups (empty: nothing is excluded).
template <class T>
struct Problem {
  int64_t n, queries_n, dim;
  Guarded<T> rows, queries;
  std::vector<int32_t> row_groups, query_groups;

  Problem(int64_t n_rows, int64_t n_queries, int64_t columns)
      : n(n_rows), queries_n(n_queries), dim(columns), rows(n_rows * columns), queries(n_queries * columns) {}

  MatrixView<const T> rows_view() { return {rows.data(), n, dim}; }
  MatrixView<const T> queries_view() { return {queries.data(), queries_n, dim}; }
  bool excluded(int64_t query, int64_t row) const {
    return !row_groups.empty() &&
           row_groups[static_cast<std::size_t>(row)] == query_groups[static_cast<std::size_t>(query)];
  }

  void fill(Numbers& numbers, double offset, double size) {
    for (T& value : rows.values()) value = static_cast<T>(offset + size * numbers.normal());
    for (T& value : queries.values()) value = static_cast<T>(offset + size * numbers.normal());
  }

  Answer search(Metric metric, int64_t k, int threads, double p = 2) {
    const RunParams run{threads, {}};
    const ExactRows<T> index(rows_view(), {metric, p}, run);
    return search(index, k, threads);
  }
  Answer search(const ExactRows<T>& index, int64_t k, int threads) {
    Answer answer{std::vector<double>(static_cast<std::size_t>(queries_n * k)),
                  std::vector<int64_t>(static_cast<std::size_t>(queries_n * k)), k};
    index.search(queries_view(), row_groups, query_groups, {threads, {}}, {answer.distances.data(), queries_n, k},
                 {answer.neighbours.data(), queries_n, k});
    return answer;
  }

  double distance(Metric metric, int64_t query, int64_t row) {
    const double sum = oracle_sum(reduced_of(metric), rows.data() + row * dim, queries.data() + query * dim, dim);
    return metric == Metric::kEuclidean ? std::sqrt(sum) : sum;
  }
  // All rows that a query may choose, by (distance, row): the double loop.
  std::vector<std::pair<double, int64_t>> sorted(Metric metric, int64_t query) {
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t row = 0; row < n; ++row) {
      if (!excluded(query, row)) all.emplace_back(distance(metric, query, row), row);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  Answer double_loop(Metric metric, int64_t k) {
    Answer answer;
    answer.k = k;
    for (int64_t query = 0; query < queries_n; ++query) {
      const auto all = sorted(metric, query);
      REQUIRE(static_cast<int64_t>(all.size()) >= k);
      for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
        answer.distances.push_back(all[i].first);
        answer.neighbours.push_back(all[i].second);
      }
    }
    return answer;
  }

  void check(int64_t k) {
    CAPTURE(n);
    CAPTURE(queries_n);
    CAPTURE(dim);
    CAPTURE(k);
    for (const Metric metric : kLaneMetrics) {
      CAPTURE(metric);
      const Answer expected = double_loop(metric, k);
      for (const int threads : {1, 2, 3}) {
        CAPTURE(threads);
        CHECK((search(metric, k, threads) == expected));
      }
    }
  }
};

template <class T>
void small_cases(uint64_t seed) {
  Numbers numbers(seed);
  for (const int64_t dim : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 97}) {
    for (const int64_t n : {1, 2, 31, 33, 130}) {
      Problem<T> problem(n, 1 + numbers.below(30), dim);
      const double offsets[] = {0, 1e4, 1e6};
      problem.fill(numbers, offsets[numbers.below(3)], 1);
      problem.check(1);
      problem.check(n);
      if (n > 5) problem.check(5);
    }
  }
}

template <class T>
void ties() {
  Numbers numbers(77);
  for (const int64_t dim : {1, 2, 5, 17}) {
    for (const int64_t levels : {1, 2, 4}) {   // 1: all rows are the same row
      Problem<T> problem(700, 40, dim);
      for (T& value : problem.rows.values()) value = static_cast<T>(1000 + numbers.below(levels));
      for (T& value : problem.queries.values()) value = static_cast<T>(1000 + numbers.below(levels));
      for (const int64_t k : {1, 10, 100}) problem.check(k);
    }
  }
}

template <class T>
void excluding() {
  Numbers numbers(5);
  Problem<T> problem(300, 60, 6);
  problem.fill(numbers, 3, 1);
  for (int64_t i = 0; i < 300; ++i) problem.row_groups.push_back(static_cast<int32_t>(i % 5));
  for (int64_t i = 0; i < 60; ++i) problem.query_groups.push_back(static_cast<int32_t>(i % 7) - 1);  // some match none
  problem.check(1);
  problem.check(20);
  problem.check(240);  // all that the others leave
  Answer room = problem.double_loop(Metric::kEuclidean, 240);
  CHECK_THROWS_AS(problem.search(Metric::kEuclidean, 241, 1), std::invalid_argument);
  CHECK_THROWS_AS(problem.search(Metric::kEuclidean, 241, 2), std::invalid_argument);
  CHECK((problem.search(Metric::kEuclidean, 240, 2) == room));
}

}  // namespace

TEST_CASE("small tables of awkward sizes, float32, offsets up to 1e6") { small_cases<float>(1); }
TEST_CASE("small tables of awkward sizes, float64, offsets up to 1e6") { small_cases<double>(2); }

// Trap 4: ties broken by the algorithm instead of by rule.
TEST_CASE("ties and duplicates come in the order of rows") {
  ties<float>();
  ties<double>();
}

TEST_CASE("rows of a query's own group are left out") {
  excluding<float>();
  excluding<double>();
}

TEST_CASE("the row itself is left out, its duplicates are not") {
  Numbers numbers(9);
  Problem<double> problem(90, 90, 3);
  problem.fill(numbers, 0, 1);
  std::copy_n(problem.rows.data(), 3, problem.rows.data() + 30);  // row 10 repeats row 0
  std::copy_n(problem.rows.data(), 270, problem.queries.data());
  problem.row_groups.resize(90);
  std::iota(problem.row_groups.begin(), problem.row_groups.end(), 0);
  problem.query_groups = problem.row_groups;
  problem.check(4);
  problem.check(89);
  const Answer answer = problem.search(Metric::kEuclidean, 1, 2);
  CHECK(answer.neighbours[0] == 10);
  CHECK(answer.neighbours[10] == 0);
  CHECK(answer.distances[0] == 0);
}

TEST_CASE("many rows: filters, full buffers and merged parts give what the double loop gives") {
  Numbers numbers(21);
  Problem<float> many(4000, 100, 12);
  many.fill(numbers, 50, 2);
  many.check(10);
  Problem<double> few_queries(6000, 2, 20);  // the rows are shared out among the threads
  few_queries.fill(numbers, -1e5, 3);
  few_queries.check(7);
  few_queries.check(400);
}

// Trap 1: a filter in float32 without a proven bound loses the nearest of nearly equal rows. Here rows lie around a
// query at distances that differ by less than float32 can tell; `place` says where the centre of all rows is.
TEST_CASE("rows that differ in distance by less than float32 can tell") {
  enum Place { around_the_query, beside_the_query, far_away };
  for (const Metric metric : kLaneMetrics) {
    for (const Place place : {around_the_query, beside_the_query, far_away}) {
      for (const int64_t dim : {1, 3, 30, 300}) {
        CAPTURE(metric);
        CAPTURE(place);
        CAPTURE(dim);
        Numbers numbers(static_cast<uint64_t>(dim));
        Problem<double> problem(1500, 2, dim);
        for (double& value : problem.queries.values()) value = 5 + 0.1 * numbers.uniform();
        std::copy_n(problem.queries.data(), dim, problem.queries.data() + dim);
        const std::vector<double> origin(static_cast<std::size_t>(dim));
        for (int64_t row = 0; row < problem.n; ++row) {
          double* const x = problem.rows.data() + row * dim;
          for (int64_t j = 0; j < dim; ++j) x[j] = place == beside_the_query ? numbers.uniform() : numbers.normal();
          double length = oracle_sum(reduced_of(metric), x, origin.data(), dim);
          if (metric == Metric::kEuclidean) length = std::sqrt(length);
          // far_away: a small cloud about the query, and as many rows on the other side of the origin.
          const double size = place == far_away ? 1e-5 * (1 + 0.03 * numbers.uniform()) : 1 + 1e-9 * numbers.uniform();
          const double side = place == far_away && row % 2 == 1 ? -1 : 1;
          for (int64_t j = 0; j < dim; ++j) x[j] = side * problem.queries[j] + x[j] * (size / length);
        }
        for (const int64_t k : {1, 20}) CHECK((problem.search(metric, k, 2) == problem.double_loop(metric, k)));
      }
    }
  }
}

TEST_CASE("rows that come nearer and nearer never outrun the threshold") {
  Problem<double> problem(5000, 3, 2);
  for (int64_t row = 0; row < problem.n; ++row) {
    problem.rows[2 * row] = static_cast<double>(problem.n - row) * 1e-3;
    problem.rows[2 * row + 1] = 1;
  }
  problem.check(1);
  problem.check(33);
}

TEST_CASE("wide ranges within one table, and queries far outside of it") {
  Numbers numbers(31);
  Problem<double> problem(600, 40, 5);
  for (double& value : problem.rows.values()) value = numbers.wide(20, 20);
  for (double& value : problem.queries.values()) value = numbers.wide(30, 40);
  problem.check(6);
  Problem<float> floats(600, 40, 5);
  for (float& value : floats.rows.values()) value = static_cast<float>(numbers.wide(40, 40));
  for (float& value : floats.queries.values()) value = static_cast<float>(numbers.wide(40, 60));
  floats.check(6);
}

TEST_CASE("constant columns and a constant table") {
  Numbers numbers(41);
  Problem<float> problem(200, 20, 8);
  problem.fill(numbers, 0, 1);
  for (int64_t row = 0; row < problem.n; ++row) problem.rows[row * 8 + 3] = 1e6f;
  for (int64_t query = 0; query < problem.queries_n; ++query) problem.queries[query * 8 + 3] = 1e6f;
  problem.check(9);
  for (float& value : problem.rows.values()) value = -7;
  problem.check(9);
}

TEST_CASE("one query at a time gives the bits of all at once") {
  Numbers numbers(51);
  Problem<float> problem(900, 45, 10);
  problem.fill(numbers, 1000, 1);
  const ExactRows<float> index(problem.rows_view(), {Metric::kEuclidean, 2}, {1, {}});
  const Answer all = problem.search(index, 6, 2);
  for (int64_t query = 0; query < problem.queries_n; ++query) {
    Answer one{std::vector<double>(6), std::vector<int64_t>(6), 6};
    index.search(problem.queries_view().slice(query, query + 1), {}, {}, {1, {}}, {one.distances.data(), 1, 6},
                 {one.neighbours.data(), 1, 6});
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = static_cast<std::size_t>(query) * 6 + i;
      REQUIRE(one.neighbours[i] == all.neighbours[at]);
      REQUIRE(one.distances[i] == all.distances[at]);
    }
  }
}

TEST_CASE("Minkowski of any p: nearest by a plain loop, distances to rounding, the same bits for any threads") {
  Numbers numbers(61);
  for (const double p : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 7.3}) {
    for (const int64_t dim : {1, 3, 16, 33}) {
      CAPTURE(p);
      CAPTURE(dim);
      Problem<double> problem(300, 12, dim);
      problem.fill(numbers, 100, 1);
      const Answer answer = problem.search(Metric::kMinkowski, 9, 1, p);
      CHECK((problem.search(Metric::kMinkowski, 9, 3, p) == answer));
      for (int64_t query = 0; query < problem.queries_n; ++query) {
        std::vector<double> plain;
        for (int64_t row = 0; row < problem.n; ++row) {
          long double sum = 0;
          for (int64_t j = 0; j < dim; ++j) {
            const long double a = problem.rows[row * dim + j], b = problem.queries[query * dim + j];
            sum += std::pow(std::fabs(a - b), static_cast<long double>(p));
          }
          plain.push_back(static_cast<double>(std::pow(sum, 1 / static_cast<long double>(p))));
        }
        std::vector<double> nearest = plain;
        std::sort(nearest.begin(), nearest.end());
        for (std::size_t i = 0; i < 9; ++i) {
          const std::size_t at = static_cast<std::size_t>(query) * 9 + i;
          CHECK(answer.distances[at] == doctest::Approx(nearest[i]).epsilon(1e-13));
          CHECK(answer.distances[at] ==
                doctest::Approx(plain[static_cast<std::size_t>(answer.neighbours[at])]).epsilon(1e-13));
        }
      }
    }
  }
}

TEST_CASE("extreme exponents neither overflow nor vanish") {
  Numbers numbers(71);
  for (const double size : {1e300, 1e160, 1e-160, 1e-300, 1e-310}) {
    CAPTURE(size);
    Problem<double> plain(120, 10, 7), scaled(120, 10, 7);
    for (int64_t i = 0; i < 120 * 7; ++i) scaled.rows[i] = size * (plain.rows[i] = numbers.normal());
    for (int64_t i = 0; i < 10 * 7; ++i) scaled.queries[i] = size * (plain.queries[i] = numbers.normal());
    for (const Metric metric : {Metric::kEuclidean, Metric::kManhattan, Metric::kChebyshev, Metric::kMinkowski}) {
      CAPTURE(metric);
      const Answer expected = plain.search(metric, 5, 1, 3);
      const Answer found = scaled.search(metric, 5, 2, 3);
      CHECK(found.neighbours == expected.neighbours);
      for (std::size_t i = 0; i < found.distances.size(); ++i) {
        CHECK(found.distances[i] / size ==
              doctest::Approx(expected.distances[i]).epsilon(size < 1e-305 ? 1e-9 : 1e-13));
      }
    }
  }
}

TEST_CASE("cosine of unit rows: 1 - cos to rounding, 0 for the same direction, 1 for rows without direction") {
  Numbers numbers(81);
  constexpr int64_t kRows = 150, kDim = 9;
  std::vector<float> rows(kRows * kDim);
  for (float& value : rows) value = static_cast<float>(numbers.normal());
  for (int64_t j = 0; j < kDim; ++j) {
    rows[static_cast<std::size_t>(j)] = 0;  // row 0: no direction
    rows[static_cast<std::size_t>(2 * kDim + j)] = 4 * rows[static_cast<std::size_t>(kDim + j)];  // row 2 as row 1
  }
  const MatrixView<const float> view{rows.data(), kRows, kDim};
  const AlignedVector<double> unit = unit_rows(view, false), asking = unit_rows(view, true);
  const int64_t columns = kDim + 2;
  const ExactRows<double> index({unit.data(), kRows, columns}, {Metric::kCosine, 2}, {1, {}});
  std::vector<double> distances(kRows * kRows);
  std::vector<int64_t> neighbours(kRows * kRows);
  index.search({asking.data(), kRows, columns}, {}, {}, {2, {}}, {distances.data(), kRows, kRows},
               {neighbours.data(), kRows, kRows});
  for (int64_t query = 0; query < kRows; ++query) {
    for (int64_t i = 0; i < kRows; ++i) {
      const std::size_t at = static_cast<std::size_t>(query * kRows + i);
      const float* const x = rows.data() + neighbours[at] * kDim;
      const float* const q = rows.data() + query * kDim;
      long double dot = 0, xx = 0, qq = 0;
      for (int64_t j = 0; j < kDim; ++j) {
        dot += static_cast<long double>(x[j]) * q[j];
        xx += static_cast<long double>(x[j]) * x[j];
        qq += static_cast<long double>(q[j]) * q[j];
      }
      const double expected = xx == 0 || qq == 0 ? 1 : static_cast<double>(1 - dot / std::sqrt(xx * qq));
      REQUIRE(std::fabs(distances[at] - expected) < 1e-14);
      if (i > 0) REQUIRE(distances[at - 1] <= distances[at]);
    }
  }
  CHECK(neighbours[kRows] == 1);
  CHECK(distances[kRows] == 0);
  CHECK(neighbours[kRows + 1] == 2);
  CHECK(distances[kRows + 1] == 0);
}

TEST_CASE("within a radius: inclusive, in order, without the query's own group, for any threads") {
  Numbers numbers(91);
  Problem<float> problem(800, 30, 2);
  for (float& value : problem.rows.values()) value = static_cast<float>(numbers.below(20));
  for (float& value : problem.queries.values()) value = static_cast<float>(numbers.below(20));
  for (const bool grouped : {false, true}) {
    if (grouped) {
      for (int64_t i = 0; i < 800; ++i) problem.row_groups.push_back(static_cast<int32_t>(i % 3));
      for (int64_t i = 0; i < 30; ++i) problem.query_groups.push_back(static_cast<int32_t>(i % 4));
    }
    for (const Metric metric : kLaneMetrics) {
      const ExactRows<float> index(problem.rows_view(), {metric, 2}, {1, {}});
      for (const double radius : {0.0, 1.0, 5.0, 4.999999, 1e9}) {  // 3, 4, 5: a distance of exactly 5 occurs
        for (const int threads : {1, 2, 7}) {
          CAPTURE(grouped);
          CAPTURE(metric);
          CAPTURE(radius);
          CAPTURE(threads);
          Lists found;
          const std::vector<double> radii(30, radius);
          index.within(problem.queries_view(), radii, problem.row_groups, problem.query_groups, {threads, {}}, found);
          REQUIRE(found.neighbours.size() == 30);
          for (int64_t query = 0; query < 30; ++query) {
            std::vector<double> expected_distances;
            std::vector<int64_t> expected;
            for (const auto& [distance, row] : problem.sorted(metric, query)) {
              if (distance > radius) continue;
              expected_distances.push_back(distance);
              expected.push_back(row);
            }
            REQUIRE(found.neighbours[static_cast<std::size_t>(query)] == expected);
            REQUIRE(found.distances[static_cast<std::size_t>(query)] == expected_distances);
          }
        }
      }
    }
  }
}

// Trap 10: a native loop that ignores Ctrl-C.
TEST_CASE("building and searching stop when asked to, and the index stays usable") {
  Numbers numbers(101);
  Problem<double> problem(20'000, 400, 30);
  problem.fill(numbers, 0, 1);
  const InterruptCheck now = [] { return true; };
  const Answer expected = problem.search(Metric::kEuclidean, 3, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));  // checks are at least 20 ms apart
  CHECK_THROWS_AS(ExactRows<double>(problem.rows_view(), {}, {2, now}), Interrupted);
  const ExactRows<double> index(problem.rows_view(), {}, {2, {}});
  Answer answer = expected;
  for (const int threads : {1, 2}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    CHECK_THROWS_AS(index.search(problem.queries_view(), {}, {}, {threads, now}, {answer.distances.data(), 400, 3},
                                 {answer.neighbours.data(), 400, 3}),
                    Interrupted);
  }
  CHECK((problem.search(index, 3, 2) == expected));
}

TEST_CASE("what cannot be searched is refused") {
  std::vector<double> row{1, 2};
  CHECK_THROWS_AS(ExactRows<double>({row.data(), 0, 2}, {}, {}), std::invalid_argument);
  CHECK_THROWS_AS(ExactRows<double>({row.data(), 2, 0}, {}, {}), std::invalid_argument);
  CHECK_THROWS_AS(ExactRows<double>({row.data(), 1, 2}, {Metric::kMinkowski, 0.5}, {}), std::invalid_argument);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(ExactRows<double>({row.data(), 1, 2}, {Metric::kMinkowski, nan}, {}), std::invalid_argument);
  const ExactRows<double> index({row.data(), 1, 2}, {}, {});
  double distances[2];
  int64_t neighbours[2];
  CHECK_THROWS_AS(index.search({row.data(), 1, 2}, {}, {}, {}, {distances, 1, 2}, {neighbours, 1, 2}),
                  std::invalid_argument);
  CHECK_NOTHROW(index.search({row.data(), 0, 2}, {}, {}, {}, {distances, 0, 1}, {neighbours, 0, 1}));
}
