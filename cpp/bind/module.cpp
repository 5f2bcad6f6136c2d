// SPDX-License-Identifier: BSD-3-Clause
// The table of contents of tonari._core. One line per family; every bound name is <family>_<verb>.
#include <nanobind/nanobind.h>

#include "base/errors.hpp"

namespace nb = nanobind;

void bind_bits(nb::module_&);
void bind_config(nb::module_&);
void bind_exact(nb::module_&);
void bind_gauss(nb::module_&);
void bind_linear(nb::module_&);
void bind_score(nb::module_&);
void bind_space_tree(nb::module_&);
void bind_sparse(nb::module_&);
void bind_vote(nb::module_&);

NB_MODULE(_core, m) {
  m.doc() = "The native engine of tonari. Private: use the public classes.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const tonari::Interrupted& e) {
      // The signal handler has usually raised already (KeyboardInterrupt); keep what it raised.
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
    } catch (const tonari::MemoryLimit& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    }
  });
  bind_bits(m);
  bind_config(m);
  bind_exact(m);
  bind_gauss(m);
  bind_linear(m);
  bind_score(m);
  bind_space_tree(m);
  bind_sparse(m);
  bind_vote(m);
}
