"""From neighbours to answers: votes and means for many (k, weights) settings at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari import _core
from tonari.base.errors import UsageError

_NATIVE_WEIGHTS = {None: 0, "uniform": 0, "distance": 1}
_GIVEN = 2


def check_weights(weights: Any) -> None:
    """Refuse weights that are no name and no callable.

    Parameters
    ----------
    weights : {"uniform", "distance"}, callable or None
    """
    if not callable(weights) and weights not in ("uniform", "distance", None):
        raise UsageError(
            f"The 'weights' parameter is {weights!r}, which is not known.",
            "Choose 'uniform', 'distance', or give a callable.",
        )


def vote(
    distances: NDArray[np.float64], neighbours: NDArray[np.int64], settings: Sequence[tuple[int, Any]],
    labels: NDArray[np.int32], n_classes: int, threads: int, *, shares: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:  # fmt: skip
    """The winning class of every setting and query, and the class shares if asked.

    Parameters
    ----------
    distances, neighbours : ndarray of shape (n_queries, kmax)
        Nearest first.
    settings : sequence of (k, weights)
    labels : ndarray of int32, shape (n_rows,)
        Class codes of the fitted rows.
    n_classes : int
    threads : int
    shares : bool
        Whether class shares are wanted too.

    Returns
    -------
    winners : ndarray of int32, shape (n_settings, n_queries)
    shares : ndarray of float64, shape (n_settings, n_queries, n_classes), or None
    """
    queries = len(neighbours)
    winners = np.empty((len(settings), queries), dtype=np.int32)
    wanted = np.empty((len(settings), queries, n_classes)) if shares else None
    labels = np.ascontiguousarray(labels)
    for part, cut, k, weighting, given in _runs(distances, settings):
        out = np.empty((len(part), queries), dtype=np.int32)
        out_shares = np.empty((len(part), queries, n_classes)) if shares else None
        _core.vote_classes(
            np.ascontiguousarray(neighbours[:, :cut]), np.ascontiguousarray(distances[:, :cut]), given, labels,
            n_classes, k, weighting, out, out_shares, threads,
        )  # fmt: skip
        winners[part] = out
        if wanted is not None:
            wanted[part] = out_shares
    return winners, wanted


def average(
    distances: NDArray[np.float64], neighbours: NDArray[np.int64], settings: Sequence[tuple[int, Any]],
    values: NDArray[np.float64], threads: int,
) -> NDArray[np.float64]:  # fmt: skip
    """The weighted mean of the neighbours' values for every setting, query and output.

    Parameters
    ----------
    distances, neighbours : ndarray of shape (n_queries, kmax)
        Nearest first.
    settings : sequence of (k, weights)
    values : ndarray of float64, shape (n_rows, n_outputs)
    threads : int

    Returns
    -------
    ndarray of float64, shape (n_settings, n_queries, n_outputs)
    """
    means = np.empty((len(settings), len(neighbours), values.shape[1]))
    for part, cut, k, weighting, given in _runs(distances, settings):
        out = np.empty((len(part), *means.shape[1:]))
        _core.vote_means(
            np.ascontiguousarray(neighbours[:, :cut]), np.ascontiguousarray(distances[:, :cut]), given, values, k,
            weighting, out, threads,
        )  # fmt: skip
        means[part] = out
    return means


def _runs(distances: NDArray[np.float64], settings: Sequence[tuple[int, Any]]) -> Any:
    """Settings that the engine answers in one pass: all named weightings together, every callable by itself."""
    named = [i for i, (_, weights) in enumerate(settings) if not callable(weights)]
    if named:
        k = np.array([settings[i][0] for i in named], dtype=np.int32)
        weighting = np.array([_NATIVE_WEIGHTS[settings[i][1]] for i in named], dtype=np.int32)
        yield named, int(k.max()), k, weighting, None
    for i, (k_one, weights) in enumerate(settings):
        if callable(weights):
            given = _given_weights(weights, distances[:, :k_one])
            yield [i], k_one, np.array([k_one], dtype=np.int32), np.array([_GIVEN], dtype=np.int32), given


def _given_weights(weights: Any, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    given = np.ascontiguousarray(weights(distances.copy()), dtype=np.float64)
    if given.shape != distances.shape:
        raise UsageError(
            f"The callable given as weights returned shape {given.shape} for distances of shape {distances.shape}.",
            "It must return one weight per distance.",
        )
    if np.isnan(given).any() or (given < 0).any():
        raise UsageError("The callable given as weights returned a negative weight or NaN.")
    if len(given) and (given == 0).all(axis=1).any():
        raise UsageError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
            "are using a user-defined function."
        )
    return given
