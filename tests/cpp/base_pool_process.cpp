// SPDX-License-Identifier: BSD-3-Clause
// The pool and its process: forks, signals, the end of the process, and a system that gives no more threads.
#include "base/pool.hpp"

#include <doctest/doctest.h>

#if !defined(_WIN32)

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "waiting.hpp"

#if defined(__linux__)
#include <dirent.h>
#endif

using tonari::parallel_for;
using tonari::StopFlag;

namespace {

const tonari::InterruptCheck never;

// Uses the pool with two threads that must both come. A child has no doctest: it answers true or false.
bool pool_works() {
  std::atomic<int> arrived{0};
  std::vector<int64_t> squares(100);
  bool sound = true;
  parallel_for(2, 2, never, [&](int64_t, int, StopFlag&) {
    ++arrived;
    soon([&] { return arrived == 2; });
  });
  sound = sound && arrived == 2;
  parallel_for(100, 2, never,
               [&](int64_t block, int, StopFlag&) { squares[static_cast<std::size_t>(block)] = block * block; });
  return sound && std::accumulate(squares.begin(), squares.end(), int64_t{0}) == 328'350;
}

enum class Ending { at_once, through_exit };

// Runs `task` in a forked child that is killed after 30 s. True when the task was true and the child ended by itself.
bool child_succeeds(const std::function<bool()>& task, Ending ending = Ending::at_once) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(30);
    const int code = task() ? 0 : 1;
    if (ending == Ending::through_exit) std::exit(code);
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  INFO("signal ", WIFSIGNALED(status) ? WTERMSIG(status) : 0, ", code ", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  CHECK(WIFEXITED(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The number of threads of this process, or 0 where it cannot be told.
int threads_of_process() {
#if defined(__linux__)
  DIR* const folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
#else
  return 0;
#endif
}

// ThreadSanitizer cannot follow a child that starts threads; the sanitizers' shadow memory needs all addresses.
#if defined(TONARI_SANITIZE_THREAD)
constexpr bool kNoForks = true, kNoLimitOfAddresses = true;
#elif defined(TONARI_SANITIZE_ADDRESS)
constexpr bool kNoForks = false, kNoLimitOfAddresses = true;
#else
constexpr bool kNoForks = false, kNoLimitOfAddresses = false;
#endif

}  // namespace

// Trap 9: a pool used after fork waits for threads that the child does not have.
TEST_CASE("a child of fork has a pool of its own, and the parent keeps its pool" * doctest::skip(kNoForks)) {
  for (int round = 0; round < 20; ++round) {
    REQUIRE(pool_works());
    REQUIRE(child_succeeds(pool_works));
  }
  CHECK(pool_works());
}

TEST_CASE("a child of a child too" * doctest::skip(kNoForks)) {
  REQUIRE(pool_works());
  CHECK(child_succeeds([] { return pool_works() && child_succeeds(pool_works); }));
  CHECK(pool_works());
}

TEST_CASE("a fork while another thread is inside a run leaves a child that works" * doctest::skip(kNoForks)) {
  std::atomic<bool> end{false};
  std::atomic<int> runs{0};
  std::thread other([&] {
    while (!end) {
      parallel_for(64, 3, never, [&](int64_t, int, StopFlag&) { std::this_thread::yield(); });
      ++runs;
    }
  });
  CHECK(soon([&] { return runs > 0; }));
  int good = 0;
  for (int round = 0; round < 30; ++round) good += child_succeeds(pool_works);
  CHECK(good == 30);
  end = true;
  other.join();
  CHECK(pool_works());
}

#if defined(__linux__)
TEST_CASE("threads start with the first run that can use them, and not before" * doctest::skip(kNoForks)) {
  CHECK(child_succeeds([] {
    const int before = threads_of_process();
    const auto nothing = [](int64_t, int, StopFlag&) {};
    parallel_for(100, 1, never, nothing);
    parallel_for(1, 8, never, nothing);
    parallel_for(0, 8, never, nothing);
    if (threads_of_process() != before) return false;
    parallel_for(100, 3, never, nothing);
    parallel_for(100, 2, never, nothing);
    return threads_of_process() == before + 2;
  }));
}

TEST_CASE("where the system gives no more threads, fewer do the work" * doctest::skip(kNoLimitOfAddresses)) {
  CHECK(child_succeeds([] {
    const rlimit small{std::size_t{1} << 20, std::size_t{1} << 20};
    if (::setrlimit(RLIMIT_AS, &small) != 0) return false;
    std::atomic<int64_t> sum{0};
    parallel_for(100, 50, never, [&](int64_t block, int, StopFlag&) { sum += block; });
    return sum == 4950 && threads_of_process() < 50;   // the stacks of the parent's threads serve again
  }));
}
#endif

TEST_CASE("helpers leave Ctrl-C to the caller's threads and keep faults; the caller's mask is untouched") {
  std::atomic<bool> interrupt_blocked{false}, fault_blocked{true}, came{false};
  parallel_for(2, 2, never, [&](int64_t, int worker, StopFlag&) {
    if (worker == 0) {
      soon([&] { return came.load(); });
      return;
    }
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    interrupt_blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
    fault_blocked = sigismember(&mask, SIGSEGV) == 1 || sigismember(&mask, SIGBUS) == 1;
    came = true;
  });
  CHECK(came);
  CHECK(interrupt_blocked);
  CHECK(!fault_blocked);
  sigset_t mine;
  pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGINT) == 0);
}

TEST_CASE("a process ends in order while helpers sleep" * doctest::skip(kNoForks)) {
  for (int round = 0; round < 5; ++round) REQUIRE(child_succeeds(pool_works, Ending::through_exit));
}

TEST_CASE("a process ends in order while another thread is inside a run" * doctest::skip(kNoForks)) {
  for (int round = 0; round < 5; ++round) {
    REQUIRE(child_succeeds(
        [] {
          static std::atomic<bool> inside{false};
          std::thread([] {
            for (;;) parallel_for(1000, 3, never, [](int64_t, int, StopFlag&) { inside = true; });
          }).detach();
          return soon([] { return inside.load(); });
        },
        Ending::through_exit));
  }
}

#endif
