// SPDX-License-Identifier: BSD-3-Clause
// The one thread pool. Work comes as numbered blocks; which thread takes a block never changes an answer.
//
// Given   a number of blocks, a function of (block, worker), the number of threads wanted, an interrupt to poll
// Gives   every block run once; the first exception is rethrown on the calling thread
// Fork    a child has none of its parent's threads: the pool notices the new process id and starts afresh
//         (a fork from inside a run is not supported: such a child may only exec or exit)
// Nesting a run inside a run, or from a second thread while the pool is busy, happens on the calling thread
// Floats  blocks run with the default rounding and with subnormal numbers, whatever another library has switched
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace tonari {

// Called on the calling thread only, at most every 20 ms, however many runs there are; true means stop.
using InterruptCheck = std::function<bool()>;

// Shared by the threads of one run. Long blocks call should_stop(worker) between their own steps and return early.
class StopFlag {
 public:
  explicit StopFlag(InterruptCheck check);
  bool should_stop(int worker);   // worker 0 is the calling thread: it polls; the others only look
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  InterruptCheck check_;
  std::atomic<bool> stopped_{false};
};

using Block = std::function<void(int64_t block, int worker, StopFlag& stop)>;

// Runs block 0 .. blocks-1 on at most `threads` threads (the caller is one). worker is in [0, threads).
// Throws Interrupted when the check asked to stop. After an exception, or stop() from a block, the blocks not yet begun
// are skipped; stop() alone is no error.
void parallel_for(int64_t blocks, int threads, const InterruptCheck& check, const Block& run);

}  // namespace tonari
