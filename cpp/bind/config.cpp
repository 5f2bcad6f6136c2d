// SPDX-License-Identifier: BSD-3-Clause
// config_show: what this build is and what was chosen at start.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/cpu.hpp"
#include "kernels/table.hpp"

namespace nb = nanobind;

void bind_config(nb::module_& m) {
  m.def(
      "config_show",
      []() -> nb::typed<nb::dict, nb::str, nb::any> {
        const tonari::CpuFeatures& cpu = tonari::cpu_features();
        nb::dict out;
        out["isa"] = tonari::kernels().name;
        nb::list available;
        for (const char* const* name = tonari::kernels_available(); *name != nullptr; ++name) available.append(*name);
        out["isa_available"] = available;
        out["cpu"] = cpu.name;
        out["avx512_vnni"] = cpu.avx512_vnni;
        out["avx512_bf16"] = cpu.avx512_bf16;
        out["avx512_vpopcntdq"] = cpu.avx512_vpopcntdq;
#if defined(__VERSION__)
        out["compiler"] = __VERSION__;
#elif defined(_MSC_VER)
        out["compiler"] = "MSVC " + std::to_string(_MSC_VER);
#endif
        return out;
      },
      "Instruction set in use, those available, processor and compiler.");
}
