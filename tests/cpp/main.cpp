// SPDX-License-Identifier: BSD-3-Clause
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#if defined(TONARI_SANITIZE_ADDRESS)
#include <unistd.h>

// A forked child keeps the memory of threads it does not have; only the first process can be checked for leaks.
static const pid_t first_process = ::getpid();
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return ::getpid() != first_process; }
#endif
