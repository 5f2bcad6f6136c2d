"""All benchmarks, one after the other, saved: what `make bench` runs. `--quick` tries them out on toys, unsaved."""

from __future__ import annotations

import sys

from benchmarks import audit, import_time, kernels, model_selection, neighbors, parametric, pass_rates, plots, table


def main(arguments: list[str]) -> int:
    """Run every benchmark with the same options; the first that fails ends it. What was saved is shown and drawn."""
    options = arguments if {"--quick", "--save", "--help", "-h"} & set(arguments) else ["--save", *arguments]
    for benchmark in (import_time, kernels, neighbors, pass_rates, model_selection, parametric, audit):
        code = benchmark.main(options)
        if code:
            return code
    if "--save" in options:
        return table.main([]) or plots.main([])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
