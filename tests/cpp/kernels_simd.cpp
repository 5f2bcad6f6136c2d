// SPDX-License-Identifier: BSD-3-Clause
// Every table of kernels that this processor runs, against plain loops, in buffers with guard pages.
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cpu.hpp"
#include "guarded.hpp"
#include "kernels/table.hpp"
#include "oracle.hpp"

using namespace tonari;

namespace {

constexpr int64_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 97, 500};
constexpr float kMost = std::numeric_limits<float>::max();

std::vector<const Kernels*> tables() {
  std::vector<const Kernels*> found;
  for (const char* const* name = kernels_available(); *name != nullptr; ++name) found.push_back(kernels_named(*name));
  return found;
}

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// Rows of which the last ends, or the first begins, at a guard page; every row is decided, in a shuffled order.
template <class T>
void check_decide(const Kernels& table, DecideKernel<T> kernel, Reduced how, int64_t dim, Guard guard, double size) {
  constexpr int64_t kRows = 5;
  Numbers numbers(static_cast<uint64_t>(dim * 10 + how));
  Guarded<T> rows(kRows * dim, guard), query(dim, guard);
  for (T& value : rows.values()) value = static_cast<T>(size * numbers.normal());
  for (T& value : query.values()) value = static_cast<T>(size * numbers.normal());
  std::copy_n(query.data(), dim, rows.data() + 2 * dim);   // row 2 is the query itself
  Guarded<int32_t> which(std::vector<int32_t>{4, 0, 2, 3, 1, 4}, guard);
  Guarded<double> reduced(6, guard);
  kernel(rows.data(), dim, query.data(), which.data(), 6, reduced.data());
  CAPTURE(std::string(table.name));
  CAPTURE(dim);
  CAPTURE(how);
  for (int64_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(same_bits(reduced[i], oracle_sum(how, rows.data() + which[i] * dim, query.data(), dim)));
  }
  CHECK(same_bits(reduced[2], 0.0));
}

struct Tile {
  const Kernels& table;
  Filter filter;
  int size;   // which of tile_queries
  int64_t dim;

  int64_t queries() const { return table.tile_queries[size]; }
  int64_t rows() const { return table.tile_rows; }
};

// A tile on random numbers, every buffer of exactly the size that the header promises.
class TileRun {
 public:
  TileRun(const Tile& tile, Guard guard)
      : tile_(tile),
        panel_(tile.dim * tile.rows(), guard),
        start_(tile.rows(), guard),
        queries_(tile.dim * tile.queries(), guard),
        thresholds_(tile.queries(), guard),
        survivors_(tile.queries() * tile.rows(), guard) {
    Numbers numbers(static_cast<uint64_t>(tile.dim * 100 + tile.filter * 10 + tile.size));
    for (float& value : panel_.values()) value = static_cast<float>(numbers.normal());
    for (float& value : queries_.values()) value = static_cast<float>(numbers.normal());
    for (float& value : start_.values())
      value = tile.filter == kFilterDot ? static_cast<float>(numbers.uniform()) : 0.0f;
    for (float& value : thresholds_.values()) value = kMost;
  }

  std::vector<Survivor> run() {
    const int count = tile_.table.tile[tile_.filter][tile_.size](
        panel_.data(), start_.data(), tile_.dim, queries_.data(), thresholds_.data(), survivors_.data());
    REQUIRE(count >= 0);
    REQUIRE(count <= tile_.queries() * tile_.rows());
    return {survivors_.data(), survivors_.data() + count};
  }

  // The chain of dim float32 steps, one after the other, fused or not.
  float chain(int64_t query, int64_t row, bool fused) {
    float sum = start_[row];
    for (int64_t j = 0; j < tile_.dim; ++j) {
      const float x = panel_[j * tile_.rows() + row], q = queries_[j * tile_.queries() + query];
      if (tile_.filter == kFilterDot) {
        const volatile float product = x * q;
        sum = fused ? std::fmaf(x, q, sum) : sum + product;
      } else if (tile_.filter == kFilterManhattan) {
        sum += std::max(x, q);
      } else if (tile_.filter == kFilterChebyshev) {
        sum = std::max(sum, std::fabs(x + q));
      } else {
        const float difference = x - q;
        const volatile float square = difference * difference;
        const float size = std::fabs(difference);
        const float a = tile_.filter == kFilterThreeHalves ? size : square;
        const float b = tile_.filter == kFilterCube     ? size
                        : tile_.filter == kFilterFourth ? float{square}
                                                        : std::sqrt(size);
        const volatile float term = a * b;
        sum = fused ? std::fmaf(a, b, sum) : sum + term;
      }
    }
    return sum;
  }

  Guarded<float>& start() { return start_; }
  Guarded<float>& thresholds() { return thresholds_; }

 private:
  Tile tile_;
  Guarded<float> panel_, start_, queries_, thresholds_;
  Guarded<Survivor> survivors_;
};

template <class Check>
void for_every_tile(const Check& check) {
  for (const Kernels* table : tables()) {
    CAPTURE(std::string(table->name));
    for (const Filter filter : {kFilterDot, kFilterManhattan, kFilterChebyshev, kFilterThreeHalves, kFilterFiveHalves,
                                kFilterCube, kFilterFourth}) {
      CAPTURE(filter);
      for (int size = 0; size < kTileSizes; ++size) {
        CAPTURE(size);
        for (const int64_t dim : kSizes) {
          CAPTURE(dim);
          check(Tile{*table, filter, size, dim});
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("the tables that the processor runs are known by name, the generic one last") {
  const CpuFeatures& cpu = cpu_features();
  CHECK(kernels_named("nonsense") == nullptr);
  CHECK(kernels_named("") == nullptr);
  CHECK((kernels_named("v2") != nullptr) == cpu.x86_64_v2);
  CHECK((kernels_named("v3") != nullptr) == cpu.x86_64_v3);
  CHECK((kernels_named("v4") != nullptr) == cpu.x86_64_v4);
  CHECK((kernels_named("v4_vnni") != nullptr) == (cpu.avx512_vnni && cpu.avx512_vpopcntdq));
  REQUIRE(!tables().empty());
  CHECK(std::string(tables().back()->name) == "generic");
  for (const Kernels* table : tables()) {
    REQUIRE(table != nullptr);
    CAPTURE(std::string(table->name));
    CHECK(kernels_named(table->name) == table);
    CHECK(table->tile_rows > 0);
    CHECK(table->tile_queries[0] == 1);   // so that any number of queries can be tiled
    for (int size = 1; size < kTileSizes; ++size) CHECK(table->tile_queries[size - 1] < table->tile_queries[size]);
  }
}

TEST_CASE(
    "the table chosen at start is the best, or the one that TONARI_ISA names, or an error that lists the others") {
  const char* const wanted = std::getenv("TONARI_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    CHECK(&kernels() == tables().front());
  } else if (kernels_named(wanted) != nullptr) {
    CHECK(std::string(kernels().name) == wanted);
  } else {
    std::string message;
    try {
      kernels();
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    CHECK(message.find(wanted) != std::string::npos);
    for (const Kernels* table : tables()) CHECK(message.find(table->name) != std::string::npos);
  }
}

// Trap 2: answers that change with the instruction set.
TEST_CASE("what decides gives the same bits in every table, and reads nothing beyond its rows") {
  for (const Kernels* table : tables()) {
    for (const Reduced how : {kSquared, kAbsolute, kLargest}) {
      for (const int64_t dim : kSizes) {
        for (const Guard guard : {Guard::behind, Guard::before}) {
          for (const double size : {1.0, 1e6, 1e-30}) {
            check_decide<float>(*table, table->decide_f32[how], how, dim, guard, size);
            check_decide<double>(*table, table->decide_f64[how], how, dim, guard, size);
          }
          check_decide<double>(*table, table->decide_f64[how], how, dim, guard, 1e-310);   // subnormal
        }
      }
    }
  }
}

TEST_CASE("the last bit too, over many rows: what lanes have lost is added in the end") {
  constexpr int64_t kRows = 20'000, kDim = 31;
  Numbers numbers(17);
  std::vector<double> rows(kRows * kDim), query(kDim), decided(kRows);
  std::vector<int32_t> which(kRows);
  for (double& value : rows) value = numbers.normal();
  for (double& value : query) value = numbers.normal();
  for (std::size_t i = 0; i < which.size(); ++i) which[i] = static_cast<int32_t>(i);
  for (const Kernels* table : tables()) {
    for (const Reduced how : {kSquared, kAbsolute}) {
      table->decide_f64[how](rows.data(), kDim, query.data(), which.data(), kRows, decided.data());
      int wrong = 0;
      for (std::size_t i = 0; i < decided.size(); ++i) {
        wrong += !same_bits(decided[i], oracle_sum(how, rows.data() + i * kDim, query.data(), kDim));
      }
      CAPTURE(std::string(table->name));
      CAPTURE(how);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what decides cancels nothing: integers near 2^24 and 2^53 are told apart") {
  for (const Kernels* table : tables()) {
    CAPTURE(std::string(table->name));
    const int32_t which = 0;
    for (const int64_t dim : kSizes) {
      CAPTURE(dim);
      const std::vector<float> row(static_cast<std::size_t>(dim), 16777215.0f), query(row.size(), 16777214.0f);
      const std::vector<double> wide_row(row.size(), 9007199254740991.0), wide_query(row.size(), 9007199254740990.0);
      for (const Reduced how : {kSquared, kAbsolute, kLargest}) {
        const double expected = how == kLargest ? 1.0 : static_cast<double>(dim);
        double reduced = -1;
        table->decide_f32[how](row.data(), dim, query.data(), &which, 1, &reduced);
        CHECK(reduced == expected);
        table->decide_f64[how](wide_row.data(), dim, wide_query.data(), &which, 1, &reduced);
        CHECK(reduced == expected);
      }
    }
  }
}

TEST_CASE("sums stay within 4 ULP at any dim, equal terms included") {
  Numbers numbers(13);
  for (const int64_t dim : {1, 17, 100, 2000, 100'000}) {
    for (const bool equal : {true, false}) {
      std::vector<double> row(static_cast<std::size_t>(dim)), query(row.size());
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = equal ? 0.1 : 1000 + numbers.normal();
        query[j] = equal ? 0.0 : 1000 + numbers.normal();
      }
      const int32_t which = 0;
      for (const Kernels* table : tables()) {
        for (const Reduced how : {kSquared, kAbsolute}) {
          CAPTURE(std::string(table->name));
          CAPTURE(dim);
          CAPTURE(equal);
          CAPTURE(how);
          double sum = 0;
          table->decide_f64[how](row.data(), dim, query.data(), &which, 1, &sum);
          const double exact = oracle_exact(how, row.data(), query.data(), dim);
          CHECK(std::fabs(sum - exact) <= 4 * (std::nextafter(exact, 2 * exact) - exact));
        }
      }
    }
  }
}

TEST_CASE("deciding no rows touches nothing") {
  for (const Kernels* table : tables()) {
    table->decide_f32[kSquared](nullptr, 4, nullptr, nullptr, 0, nullptr);
    table->decide_f64[kSquared](nullptr, 4, nullptr, nullptr, 0, nullptr);
  }
}

TEST_CASE("a tile gives every pair once, with the chain of float32 steps that the error bound speaks of") {
  for_every_tile([](const Tile& tile) {
    for (const Guard guard : {Guard::behind, Guard::before}) {
      TileRun run(tile, guard);
      const std::vector<Survivor> all = run.run();
      REQUIRE(static_cast<int64_t>(all.size()) == tile.queries() * tile.rows());
      std::set<int32_t> seen;
      int wrong = 0;
      for (const Survivor& survivor : all) {
        REQUIRE(survivor.where >= 0);
        REQUIRE(survivor.where < tile.queries() * tile.rows());
        seen.insert(survivor.where);
        const int64_t query = survivor.where / tile.rows(), row = survivor.where % tile.rows();
        const float plain = run.chain(query, row, false), fused = run.chain(query, row, true);
        const bool rooted = tile.filter == kFilterThreeHalves || tile.filter == kFilterFiveHalves;
        const float off = rooted ? 0x1p-11f * plain : 0.0f;  // roots are approximate
        wrong += std::fabs(survivor.value - plain) > off && survivor.value != fused;
      }
      CHECK(seen.size() == all.size());
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("survivors are exactly the pairs whose value does not exceed their query's threshold") {
  for_every_tile([](const Tile& tile) {
    TileRun run(tile, Guard::behind);
    const std::vector<Survivor> all = run.run();
    for (int64_t query = 0; query < tile.queries(); ++query) {
      // A value that occurs, so that "at most" is told from "less than"; the queries differ in how many pass.
      std::vector<float> values;
      for (const Survivor& survivor : all) {
        if (survivor.where / tile.rows() == query) values.push_back(survivor.value);
      }
      std::sort(values.begin(), values.end());
      run.thresholds()[query] = values[static_cast<std::size_t>(query * 5 % tile.rows())];
    }
    std::vector<Survivor> expected;
    for (const Survivor& survivor : all) {
      if (survivor.value <= run.thresholds()[survivor.where / tile.rows()]) expected.push_back(survivor);
    }
    const std::vector<Survivor> found = run.run();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      REQUIRE(found[i].where == expected[i].where);
      REQUIRE(found[i].value == expected[i].value);
    }
  });
}

TEST_CASE("rows that begin at infinity pad a panel: they never survive; nor does anything under the least threshold") {
  for_every_tile([](const Tile& tile) {
    TileRun run(tile, Guard::behind);
    for (int64_t row = 1; row < tile.rows(); ++row) run.start()[row] = std::numeric_limits<float>::infinity();
    const std::vector<Survivor> found = run.run();
    REQUIRE(static_cast<int64_t>(found.size()) == tile.queries());
    for (const Survivor& survivor : found) REQUIRE(survivor.where % tile.rows() == 0);
    for (float& threshold : run.thresholds().values()) threshold = -kMost;
    REQUIRE(run.run().empty());
  });
}

TEST_CASE("bits in common are counted for every pair, and pairs survive on the line, not below") {
  constexpr int64_t kPanels = 3;
  for (const Kernels* table : tables()) {
    CAPTURE(std::string(table->name));
    const int64_t wide = table->tile_rows;
    for (int size = 0; size < kTileSizes; ++size) {
      for (const int64_t words : {1, 2, 7, 33}) {
        CAPTURE(words);
        const int64_t queries = table->tile_queries[size];
        Numbers numbers(static_cast<uint64_t>(size * 100 + words));
        Guarded<int32_t> panels(kPanels * words * wide), asked(words * queries);
        Guarded<float> counts(kPanels * wide), slope(queries), least(queries);
        Guarded<CodeHit> hits(queries * kPanels * wide);
        const auto draw = [&] { return static_cast<int32_t>(numbers.below(int64_t{1} << 32) - (int64_t{1} << 31)); };
        for (int32_t& word : panels.values()) {
          const int32_t some = draw();
          word = some & draw();
        }
        for (int32_t& word : asked.values()) word = draw();
        const auto row_word = [&](int64_t row, int64_t word) {
          return static_cast<uint32_t>(panels[(row / wide * words + word) * wide + row % wide]);
        };
        for (int64_t row = 0; row < kPanels * wide; ++row) {
          int bits = 0;
          for (int64_t word = 0; word < words; ++word) bits += std::popcount(row_word(row, word));
          counts[row] = row % 5 == 4 ? std::numeric_limits<float>::infinity() : static_cast<float>(bits);
        }
        for (int64_t q = 0; q < queries; ++q) {
          slope[q] = q % 3 == 0 ? 0.0f : 0.5f;
          least[q] = static_cast<float>(q % 4) * 0.5f;
        }
        const int found = table->common_bits[size](panels.data(), counts.data(), words, kPanels, asked.data(),
                                                   slope.data(), least.data(), hits.data());
        std::vector<int32_t> common(static_cast<std::size_t>(queries * kPanels * wide), -1);
        for (int h = 0; h < found; ++h) common[static_cast<std::size_t>(hits[h].where)] = hits[h].value;
        int wrong = 0;
        for (int64_t q = 0; q < queries; ++q) {
          for (int64_t row = 0; row < kPanels * wide; ++row) {
            int32_t bits = 0;
            for (int64_t word = 0; word < words; ++word)
              bits += std::popcount(row_word(row, word) & static_cast<uint32_t>(asked[word * queries + q]));
            const bool passes = slope[q] * counts[row] + least[q] <= static_cast<float>(bits);
            wrong += common[static_cast<std::size_t>(q * kPanels * wide + row)] != (passes ? bits : -1);
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}
