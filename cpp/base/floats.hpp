// SPDX-License-Identifier: BSD-3-Clause
// The floating-point environment under which the engine computes.
#pragma once
#include <cfenv>

namespace tonari {

// The default rounding and no flushing of subnormal numbers on this thread while it lives. A library built with
// -ffast-math changes both for the thread that loads it, and the threads of one run would then give different bits.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&saved_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace tonari
