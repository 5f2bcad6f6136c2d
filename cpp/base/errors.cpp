// SPDX-License-Identifier: BSD-3-Clause
#include "base/errors.hpp"

namespace tonari {

const char* Interrupted::what() const noexcept { return "stopped by the caller"; }

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

}  // namespace tonari
