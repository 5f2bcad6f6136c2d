"""How many threads a call may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import Any

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from tonari.base.errors import UsageError


def thread_count(n_jobs: Any) -> int:
    """Number of native threads for `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        None: all cores allowed to this process, and one inside a joblib worker (which has its share already) or what an
        active ``joblib.parallel_config(n_jobs=...)`` says. Negative: all cores but ``-1 - n_jobs``.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> thread_count(1)
    1
    """
    if n_jobs is None:
        backend, configured = get_active_backend()
        if (backend.nesting_level or 0) > 0:
            return 1
        # joblib's own default is one job; only a number that somebody chose is followed.
        return _allowed() if configured in (1, None) else thread_count(configured)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be a whole number or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise UsageError("n_jobs=0 has no meaning.", "Use None or -1 for all cores, or a number of at least 1.")
    jobs = int(n_jobs)
    return jobs if jobs > 0 else max(1, _allowed() + 1 + jobs)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """LAPACK under one BLAS thread while the ``with`` block runs: its bits then do not depend on the machine's cores.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Found once, which takes milliseconds; importing SciPy's linear algebra loads its library and NumPy's."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def _allowed() -> int:
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(joblib.cpu_count())
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
