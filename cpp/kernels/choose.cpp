// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/cpu.hpp"
#include "kernels/table.hpp"

namespace tonari {
namespace {

struct Choice {
  const Kernels* table;
  bool runs;
};

// Best first; the generic table ends the list and always runs.
const Choice* choices() {
  static const Choice list[] = {
#ifdef TONARI_X86
      {&kernels_v4_vnni, cpu_features().avx512_vnni && cpu_features().avx512_vpopcntdq},
      {&kernels_v4, cpu_features().x86_64_v4},
      {&kernels_v3, cpu_features().x86_64_v3},
      {&kernels_v2, cpu_features().x86_64_v2},
#endif
      {&kernels_generic, true},
      {nullptr, false}};
  return list;
}

const Kernels& choose() {
  const char* wanted = std::getenv("TONARI_ISA");
  if (wanted != nullptr && *wanted != '\0') {
    if (const Kernels* table = kernels_named(wanted)) return *table;
    std::string message =
        std::string("TONARI_ISA is '") + wanted + "', which this processor cannot run; choose one of:";
    for (const char* const* name = kernels_available(); *name != nullptr; ++name) message += std::string(" ") + *name;
    throw std::invalid_argument(message);
  }
  for (const Choice* c = choices(); c->table != nullptr; ++c)
    if (c->runs) return *c->table;
  return kernels_generic;
}

}  // namespace

const Kernels* kernels_named(const char* name) {
  for (const Choice* c = choices(); c->table != nullptr; ++c)
    if (c->runs && std::strcmp(c->table->name, name) == 0) return c->table;
  return nullptr;
}

const char* const* kernels_available() {
  static const char* names[8] = {};
  static const bool filled = [] {
    int count = 0;
    for (const Choice* c = choices(); c->table != nullptr; ++c)
      if (c->runs) names[count++] = c->table->name;
    return true;
  }();
  (void)filled;
  return names;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace tonari
