// SPDX-License-Identifier: BSD-3-Clause
// What the engine throws. bind/ turns each into one Python exception.
#pragma once
#include <stdexcept>
#include <string>

namespace tonari {

// A long call was stopped by the caller (Ctrl-C). Objects stay usable.
struct Interrupted : std::exception {
  const char* what() const noexcept override;
};

// A buffer would exceed the limit that the caller gave. The message says how much was asked and what to change.
struct MemoryLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws std::invalid_argument(message) unless the condition holds: the safety checks of bind/.
void require(bool holds, const char* message);

}  // namespace tonari
