// SPDX-License-Identifier: BSD-3-Clause
#include "base/pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.hpp"
#include "waiting.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

using tonari::Interrupted;
using tonari::parallel_for;
using tonari::StopFlag;

namespace {

const tonari::InterruptCheck never;

// How often each block was run. doctest's checks are slow under threads: count here, check at the end.
class Tally {
 public:
  explicit Tally(int64_t blocks) : counts_(static_cast<std::size_t>(blocks)) {}
  void add(int64_t block) { counts_[static_cast<std::size_t>(block)].fetch_add(1); }
  int64_t total() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }
  bool each_once() const {
    return std::all_of(counts_.begin(), counts_.end(), [](const auto& count) { return count == 1; });
  }

 private:
  std::vector<std::atomic<int>> counts_;
};

// The helper is sure to take part: the caller's block waits for it. Returns whether it came.
template <class Helper>
bool with_a_helper(const tonari::InterruptCheck& check, const Helper& helper) {
  std::atomic<bool> came{false}, in_time{true};
  parallel_for(2, 2, check, [&](int64_t, int worker, StopFlag& stop) {
    if (worker != 0) {
      came = true;
      helper(stop);
    } else if (!soon([&] { return came.load(); })) {
      in_time = false;
    }
  });
  return in_time;
}

void check_that_it_still_works() {
  Tally tally(50);
  parallel_for(50, 3, never, [&](int64_t block, int, StopFlag&) { tally.add(block); });
  CHECK(tally.each_once());
}

}  // namespace

TEST_CASE("every block runs once, and no two threads are the same worker at a time") {
  for (const int threads : {1, 2, 3, 7}) {
    for (const int64_t blocks : {0, 1, 2, 5, 1000}) {
      CAPTURE(threads);
      CAPTURE(blocks);
      Tally tally(blocks);
      std::array<std::atomic<int>, 7> busy{};
      std::atomic<bool> sound{true};
      parallel_for(blocks, threads, never, [&](int64_t block, int worker, StopFlag& stop) {
        if (worker < 0 || worker >= threads || stop.stopped()) {
          sound = false;
          return;
        }
        auto& mine = busy[static_cast<std::size_t>(worker)];
        if (mine.fetch_add(1) != 0) sound = false;
        tally.add(block);
        if (block % 8 == 0) std::this_thread::yield();
        mine.fetch_sub(1);
      });
      CHECK(tally.each_once());
      CHECK(sound);
    }
  }
}

TEST_CASE("the threads that are asked for do run at the same time") {
  for (const int threads : {2, 3, 7}) {
    CAPTURE(threads);
    std::atomic<int> arrived{0};
    std::atomic<bool> together{true};
    parallel_for(threads, threads, never, [&](int64_t, int, StopFlag&) {
      ++arrived;
      if (!soon([&] { return arrived == threads; })) together = false;
    });
    CHECK(together);
  }
}

TEST_CASE("worker 0 is the calling thread, and one thread or one block never leaves it") {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> sound{true};
  parallel_for(200, 3, never, [&](int64_t, int worker, StopFlag&) {
    if ((worker == 0) != (std::this_thread::get_id() == caller)) sound = false;
  });
  const auto stays = [&](int64_t, int worker, StopFlag&) {
    if (worker != 0 || std::this_thread::get_id() != caller) sound = false;
  };
  parallel_for(200, 1, never, stays);
  parallel_for(1, 7, never, stays);
  CHECK(sound);
}

TEST_CASE("sizes that make no sense are refused") {
  const auto nothing = [](int64_t, int, StopFlag&) {};
  CHECK_THROWS_AS(parallel_for(-1, 1, never, nothing), std::invalid_argument);
  CHECK_THROWS_AS(parallel_for(1, 0, never, nothing), std::invalid_argument);
}

TEST_CASE("a run inside a run stays on the thread of its block") {
  Tally tally(20 * 30);
  std::atomic<bool> sound{true};
  parallel_for(20, 3, never, [&](int64_t outer, int, StopFlag&) {
    const auto thread = std::this_thread::get_id();
    parallel_for(30, 3, never, [&](int64_t inner, int worker, StopFlag&) {
      if (worker != 0 || std::this_thread::get_id() != thread) sound = false;
      tally.add(outer * 30 + inner);
    });
  });
  CHECK(tally.each_once());
  parallel_for(3, 1, never, [&](int64_t, int, StopFlag&) {   // nor does it use the pool that its outer run left idle
    const auto thread = std::this_thread::get_id();
    parallel_for(100, 3, never, [&](int64_t, int, StopFlag&) {
      if (std::this_thread::get_id() != thread) sound = false;
      std::this_thread::yield();
    });
  });
  CHECK(sound);
  check_that_it_still_works();
}

TEST_CASE("a second thread that finds the pool busy does its run alone, without waiting") {
  std::atomic<bool> held{false}, release{false}, sound{true};
  std::thread first([&] {
    parallel_for(2, 2, never, [&](int64_t, int, StopFlag&) {
      held = true;
      if (!soon([&] { return release.load(); })) sound = false;
    });
  });
  CHECK(soon([&] { return held.load(); }));
  const auto caller = std::this_thread::get_id();
  Tally tally(100);
  parallel_for(100, 3, never, [&](int64_t block, int, StopFlag&) {
    if (std::this_thread::get_id() != caller) sound = false;
    tally.add(block);
  });
  CHECK(tally.each_once());
  release = true;
  first.join();
  CHECK(sound);
  check_that_it_still_works();
}

// Trap 9: an exception that escapes a thread ends the process.
TEST_CASE("the exception of a helper reaches the caller") {
  std::string message;
  try {
    with_a_helper(never, [](StopFlag&) { throw std::runtime_error("from the helper"); });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message == "from the helper");
  check_that_it_still_works();
}

TEST_CASE("after an exception the remaining blocks are skipped and further exceptions dropped") {
  for (const int threads : {1, 2, 7}) {
    CAPTURE(threads);
    std::atomic<int64_t> ran{0};
    CHECK_THROWS_AS(parallel_for(1'000'000, threads, never,
                                 [&](int64_t, int, StopFlag&) {
                                   ++ran;
                                   throw std::out_of_range("each block");
                                 }),
                    std::out_of_range);
    CHECK(ran <= threads);
    check_that_it_still_works();
  }
}

TEST_CASE("the first exception wins") {
  std::atomic<bool> both{false};
  std::string message;
  try {
    parallel_for(2, 2, never, [&](int64_t, int worker, StopFlag& stop) {
      if (worker != 0) {
        soon([&] { return both.load(); });
        throw std::runtime_error("first");
      }
      both = true;
      soon([&] { return stop.stopped(); });
      throw std::runtime_error("second");
    });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message == "first");
}

// Trap 10: a native loop that ignores Ctrl-C.
TEST_CASE("a check that says stop ends the run with Interrupted, at any number of threads") {
  for (const int threads : {1, 2, 7}) {
    CAPTURE(threads);
    std::atomic<int64_t> ran{0};
    int polls = 0;
    const auto third_time = [&] { return ++polls == 3; };
    CHECK_THROWS_AS(parallel_for(1'000'000'000, threads, third_time, [&](int64_t, int, StopFlag&) { ++ran; }),
                    Interrupted);
    CHECK(polls == 3);
    CHECK(ran < 1'000'000'000);
    check_that_it_still_works();
  }
}

TEST_CASE("one long block stops by looking at the flag") {
  int polls = 0;
  const auto second_time = [&] { return ++polls == 2; };
  bool in_time = false;
  const auto long_block = [&](int64_t, int worker, StopFlag& stop) {
    in_time = soon([&] { return stop.should_stop(worker); });
  };
  CHECK_THROWS_AS(parallel_for(1, 1, second_time, long_block), Interrupted);
  CHECK(in_time);
}

TEST_CASE("the caller goes on polling while it waits for a helper's long block") {
  int polls = 0;
  const auto fifth_time = [&] { return ++polls == 5; };
  std::atomic<bool> in_time{false};
  CHECK_THROWS_AS(
      with_a_helper(fifth_time, [&](StopFlag& stop) { in_time = soon([&] { return stop.should_stop(1); }); }),
      Interrupted);
  CHECK(in_time);
  CHECK(polls == 5);
  check_that_it_still_works();
}

TEST_CASE("the check is called on the calling thread only, at most every 20 ms over many runs") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> polls{0};
  std::atomic<bool> sound{true};
  const auto check = [&] {
    if (std::this_thread::get_id() != caller) sound = false;
    ++polls;
    return false;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::steady_clock::now() - begin; };
  while (elapsed() < std::chrono::milliseconds(150)) {
    parallel_for(64, 2, check, [&](int64_t, int worker, StopFlag& stop) {
      for (int step = 0; step < 10; ++step) stop.should_stop(worker);
    });
  }
  CHECK(sound);
  CHECK(polls >= 1);
  CHECK(polls <= elapsed() / std::chrono::milliseconds(20) + 1);
}

TEST_CASE("an exception of the check itself reaches the caller") {
  for (const int threads : {1, 2}) {
    int polls = 0;
    const auto broken = [&]() -> bool {
      if (++polls == 2) throw std::runtime_error("the check broke");
      return false;
    };
    CHECK_THROWS_WITH_AS(parallel_for(1'000'000'000, threads, broken, [](int64_t, int, StopFlag&) {}),
                         "the check broke", std::runtime_error);
  }
  int polls = 0;
  const auto broken = [&]() -> bool {
    if (++polls == 3) throw std::runtime_error("the check broke");
    return false;
  };
  const auto long_block = [](StopFlag& stop) { soon([&] { return stop.stopped(); }); };
  CHECK_THROWS_WITH_AS(with_a_helper(broken, long_block), "the check broke", std::runtime_error);
  check_that_it_still_works();
}

TEST_CASE("a stop that no check asked for ends the run early and is no error") {
  Tally tally(100);
  parallel_for(100, 1, never, [&](int64_t block, int, StopFlag& stop) {
    tally.add(block);
    if (block == 9) stop.stop();
  });
  CHECK(tally.total() == 10);
}

TEST_CASE("an interrupt seen by a nested run ends the outer run, even where a block swallows it") {
  for (const bool swallow : {false, true}) {
    CAPTURE(swallow);
    std::atomic<int> outer_blocks{0};
    int polls = 0;
    const auto second_time = [&] { return ++polls == 2; };
    const auto block = [&](int64_t, int, StopFlag&) {
      ++outer_blocks;
      try {
        parallel_for(1'000'000'000, 2, second_time, [](int64_t, int, StopFlag&) {});
      } catch (const Interrupted&) {
        if (!swallow) throw;
      }
    };
    CHECK_THROWS_AS(parallel_for(50, 1, never, block), Interrupted);
    CHECK(outer_blocks == 1);
  }
}

TEST_CASE("a nested run on a helper ends with the outer run and leaves the check to the caller") {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> sound{true}, cut_short{false};
  std::atomic<int> polls{0};
  const auto fourth_time = [&] {
    if (std::this_thread::get_id() != caller) sound = false;
    return ++polls == 4;
  };
  const auto endless = [&](int64_t, int, StopFlag&) {};
  CHECK_THROWS_AS(with_a_helper(fourth_time,
                                [&](StopFlag&) {
                                  try {
                                    parallel_for(1, 2, fourth_time, [&](int64_t, int, StopFlag&) {
                                      parallel_for(1'000'000'000'000, 2, fourth_time, endless);
                                    });
                                  } catch (const Interrupted&) {
                                    cut_short = true;
                                    throw;
                                  }
                                }),
                  Interrupted);
  CHECK(sound);
  CHECK(cut_short);
  CHECK(polls == 4);
}

TEST_CASE("a quiet stop stays quiet when it cuts a helper's nested run short") {
  std::atomic<bool> nested_begun{false}, cut_short{false};
  CHECK_NOTHROW(parallel_for(2, 2, never, [&](int64_t, int worker, StopFlag& stop) {
    if (worker == 0) {
      soon([&] { return nested_begun.load(); });
      stop.stop();
      return;
    }
    try {
      parallel_for(1'000'000'000'000, 1, never, [&](int64_t, int, StopFlag&) { nested_begun = true; });
    } catch (const Interrupted&) {
      cut_short = true;
      throw;
    }
  }));
  CHECK(cut_short);
}

// Trap 3: another library's -ffast-math flushes subnormal numbers to zero on the threads that loaded it, not on others.
TEST_CASE("rounding and subnormal numbers are the default in every block, and the caller's own come back") {
  const auto default_floats = [](int threads) {
    std::atomic<int> arrived{0}, right{0};
    parallel_for(threads, threads, never, [&](int64_t, int, StopFlag&) {
      volatile double one = 1, tiny = 0x1p-60, smallest = std::numeric_limits<double>::min();
      volatile double sum = one + tiny, half = smallest / 2, whole = half * 2;
      if (sum == one && whole == smallest) ++right;
      ++arrived;
      soon([&] { return arrived == threads; });
    });
    return right == threads;
  };
  for (const int threads : {1, 2, 7}) {
    CAPTURE(threads);
    std::fesetround(FE_UPWARD);
    const bool rounded = default_floats(threads);
    const int rounding = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(rounded);
    CHECK(rounding == FE_UPWARD);
#if defined(__x86_64__) || defined(_M_X64)
    constexpr unsigned kFlush = 0x8040;   // flush to zero, subnormals are zero
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | kFlush);
    const bool unflushed = default_floats(threads);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(unflushed);
    CHECK((after & kFlush) == kFlush);
#endif
  }
}

TEST_CASE("stress: threads compete for the pool with runs that nest, throw and are interrupted") {
  constexpr int kThreads = 4, kRounds = 150;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int self = 0; self < kThreads; ++self) {
    threads.emplace_back([self, &wrong] {
      for (int round = 0; round < kRounds; ++round) {
        const int wanted = 1 + (round + self) % 5;
        const int64_t blocks = 1 + (round * 7 + self * 13) % 40;
        Tally tally(blocks);
        const bool throws = round % 5 == 0, interrupts = round % 7 == 0;
        const auto check = [interrupts] { return interrupts; };
        try {
          parallel_for(blocks, wanted, check, [&](int64_t block, int, StopFlag&) {
            std::vector<int64_t> parts(10);
            parallel_for(10, 2, never,
                         [&](int64_t part, int, StopFlag&) { parts[static_cast<std::size_t>(part)] = part; });
            if (std::accumulate(parts.begin(), parts.end(), int64_t{0}) == 45) tally.add(block);
            if (throws && block == blocks / 2) throw std::domain_error("stress");
          });
          if (throws || !tally.each_once()) ++wrong;
        } catch (const std::domain_error&) {
          if (!throws) ++wrong;
        } catch (const Interrupted&) {
          if (!interrupts) ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  check_that_it_still_works();
}
