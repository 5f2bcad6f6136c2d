// SPDX-License-Identifier: BSD-3-Clause
// How a run goes: the calling thread posts tickets, one for each further thread wanted, and starts on the blocks
// itself. A sleeping thread that wakes takes a ticket, then blocks, until none are left. When the caller finds no block
// left, it withdraws the tickets nobody took, so that it waits only for threads that have truly begun.
//
// The pool is never destroyed and its threads are never joined, for three reasons. A child made by fork() has a copy of
// the object but none of the threads, and a mutex in it may be locked for ever: it is left alone, and a new one made.
// At the end of the process a thread may still be inside a run. And on Windows, joining while a library is unloaded
// hangs. Threads that sleep on memory which stays valid are harmless; the system removes them with the process.
#include "base/pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/errors.hpp"
#include "base/floats.hpp"

#if !defined(_WIN32)
#include <signal.h>
#include <unistd.h>
#endif

namespace tonari {
namespace {

constexpr std::chrono::milliseconds kPollEvery{20};

int64_t now_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
}

// Of the thread, not of the run: a loop of many short runs is polled as often as one long run.
thread_local int64_t next_poll_ns = 0;

int64_t process_id() {
#if defined(_WIN32)
  return 0;  // no fork there
#else
  return static_cast<int64_t>(::getpid());
#endif
}

// Threads started while it lives leave signals such as Ctrl-C to the threads of the caller; faults they keep.
class SignalsBlocked {
 public:
#if defined(_WIN32)
  SignalsBlocked() {}
#else
  SignalsBlocked() {
    sigset_t asynchronous;
    sigfillset(&asynchronous);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
      sigdelset(&asynchronous, fault);
    }
    pthread_sigmask(SIG_BLOCK, &asynchronous, &saved_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t saved_;

 public:
#endif
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
};

class Run;

// The run that this thread is inside of, if any, and as which worker.
thread_local Run* inside = nullptr;
thread_local int inside_worker = 0;

// One call of parallel_for, on the caller's stack.
class Run {
 public:
  Run(int64_t blocks, const InterruptCheck& check, const Block& block)
      : blocks_(blocks), check_(check), block_(block), stop_([this] { return ask(); }) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void work(int worker) noexcept;
  void poll() noexcept;  // on the calling thread, while it waits for the others
  void finish();  // rethrows
  bool nested() const { return outer_ != nullptr; }

 private:
  bool ask();
  void fail() noexcept;

  const int64_t blocks_;
  const InterruptCheck& check_;
  const Block& block_;
  Run* const outer_ = inside;
  // A nested run on a helper's thread must not call a check that belongs to the thread of the outermost caller.
  const bool may_ask_ = outer_ == nullptr || (inside_worker == 0 && outer_->may_ask_);
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr first_;  // written by the thread that set failed_, read once all threads are done
  bool cut_short_ = false;  // written and read on the calling thread only
  StopFlag stop_;
};

bool Run::ask() {
  for (const Run* run = outer_; run != nullptr; run = run->outer_) {
    if (run->stop_.stopped()) return cut_short_ = true;
  }
  if (!may_ask_ || !check_ || !check_()) return false;
  for (Run* run = this; run != nullptr; run = run->outer_) {
    run->cut_short_ = true;
    run->stop_.stop();
  }
  return true;
}

void Run::work(int worker) noexcept {
  Run* const outer = std::exchange(inside, this);
  const int outer_worker = std::exchange(inside_worker, worker);
  try {
    while (!stop_.should_stop(worker)) {
      const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
      if (number >= blocks_) break;
      block_(number, worker, stop_);
    }
  } catch (const Interrupted&) {
    // From a nested run that ended because this one was stopped: a consequence, not a cause.
    if (!stop_.stopped()) fail();
  } catch (...) {
    fail();
  }
  inside = outer;
  inside_worker = outer_worker;
}

void Run::poll() noexcept {
  try {
    stop_.should_stop(0);
  } catch (...) {
    fail();
  }
}

void Run::fail() noexcept {
  if (!failed_.exchange(true)) first_ = std::current_exception();
  stop_.stop();
}

void Run::finish() {
  // The interrupt goes first: the caller has an exception of its own pending, which must not be lost.
  if (cut_short_) throw Interrupted();
  if (first_) std::rethrow_exception(first_);
}

class Pool {
 public:
  explicit Pool(Pool* before) : before_(before) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // This process's pool if nobody uses it, now taken; otherwise null.
  static Pool* take();
  void give_back() { busy_.store(false, std::memory_order_release); }
  void run(Run& run, int threads);

 private:
  static Pool* of_this_process();
  void grow(int helpers) noexcept;
  void serve();

  const int64_t process_ = process_id();
  [[maybe_unused]] Pool* const before_;  // the abandoned pool of the parent process, still reachable for leak checkers
  std::atomic<bool> busy_{false};
  int started_ = 0;  // guarded by busy_
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  Run* run_ = nullptr;  // these three guarded by mutex_
  int tickets_ = 0;
  int active_ = 0;
};

std::atomic<Pool*> current_pool{nullptr};

Pool* Pool::of_this_process() {
  Pool* found = current_pool.load(std::memory_order_acquire);
  while (found == nullptr || found->process_ != process_id()) {
    // No lock here: fork() could leave it locked.
    Pool* const made = new Pool(found);
    if (current_pool.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
    delete made;
  }
  return found;
}

Pool* Pool::take() {
  Pool* const pool = of_this_process();
  return pool->busy_.exchange(true, std::memory_order_acquire) ? nullptr : pool;
}

void Pool::grow(int helpers) noexcept {
  if (started_ >= helpers) return;
  const SignalsBlocked blocked;
  try {
    for (; started_ < helpers; ++started_) std::thread([this] { serve(); }).detach();
  } catch (const std::system_error&) {
    // The system allows no more threads: fewer give the same answer.
  } catch (const std::bad_alloc&) {
  }
}

void Pool::serve() {
  const DefaultFloats floats;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return tickets_ > 0; });
    const int worker = tickets_--;
    Run* const mine = run_;
    ++active_;
    lock.unlock();
    mine->work(worker);
    lock.lock();
    if (--active_ == 0) idle_.notify_one();
  }
}

void Pool::run(Run& run, int threads) {
  grow(threads - 1);
  {
    const std::lock_guard lock(mutex_);
    run_ = &run;
    tickets_ = threads - 1;
  }
  for (int helper = 1; helper < threads; ++helper) wake_.notify_one();
  run.work(0);
  std::unique_lock lock(mutex_);
  tickets_ = 0;
  while (!idle_.wait_for(lock, kPollEvery, [this] { return active_ == 0; })) {
    lock.unlock();
    run.poll();
    lock.lock();
  }
  run_ = nullptr;
}

}  // namespace

StopFlag::StopFlag(InterruptCheck check) : check_(std::move(check)) {}

bool StopFlag::should_stop(int worker) {
  if (stopped()) return true;
  if (worker != 0 || !check_) return false;
  const int64_t now = now_ns();
  if (now < next_poll_ns) return false;
  const bool asked = check_();
  next_poll_ns = now_ns() + std::chrono::nanoseconds(kPollEvery).count();
  if (asked) stop();
  return asked;
}

void parallel_for(int64_t blocks, int threads, const InterruptCheck& check, const Block& run) {
  require(blocks >= 0, "parallel_for: the number of blocks is negative");
  require(threads >= 1, "parallel_for: at least one thread is needed");
  if (blocks == 0) return;
  const DefaultFloats floats;
  const int wanted = static_cast<int>(std::min<int64_t>(threads, blocks));
  Run whole(blocks, check, run);
  Pool* const pool = wanted > 1 && !whole.nested() ? Pool::take() : nullptr;
  if (pool != nullptr) {
    pool->run(whole, wanted);
    pool->give_back();
  } else {
    whole.work(0);
  }
  whole.finish();
}

}  // namespace tonari
