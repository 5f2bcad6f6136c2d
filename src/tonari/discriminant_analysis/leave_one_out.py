"""Leave-one-out for normal densities: every row is taken out of its own class's covariance by a rank-one downdate.

With W the scatter and N the weight of a class, v = x - mean and w the row's weight, the scatter without the row is
``W - w N / (N - w) v v'`` and the row lies ``N / (N - w) v`` from the mean of the others. In the eigenvectors of W,
which serve every shrinkage, determinant and inverse follow in O(n_features) (Sherman and Morrison 1950). Rows for which
this loses digits, because they alone span a direction or their class is ill-conditioned, are not settled: they are
refitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tonari import _core
from tonari.discriminant_analysis.densities import FLOOR, WELL_CONDITIONED, Densities, Spectra, scores_of
from tonari.discriminant_analysis.sums import Sums

#: 1 - h below this, and the row is refitted: a downdate loses the digits by which h falls short of 1.
LEAST_REST = 1e-6
#: How far above the floor of variances a class must stay for the floor to have no say.
CLEAR = 1e3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Class:
    """Rows of one class, seen from its mean."""

    at: NDArray[np.intp]
    turned: Floats  # (rows, n_features), in the eigenvectors
    weight: Floats  # of each row
    rest: Floats  # of the class without each row
    total: float

    @property
    def kept(self) -> Floats:
        """N / (N - w)."""
        return self.total / self.rest


def without_row(
    rows: NDArray[np.float64], codes: NDArray[np.int32], weights: Floats | None, whole: Sums, spectra: Spectra,
    densities: Densities, amounts: Floats, target: str, given_priors: list[Floats | None], least: float,
    threads: int,
) -> tuple[Floats, NDArray[np.bool_]]:  # fmt: skip
    """Log posteriors of every row by the model of all other rows, for some candidates.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    codes : ndarray of int32
    weights : ndarray or None
    whole : Sums
        Of all rows; every class has some.
    spectra : Spectra
        Of `whole`.
    densities : Densities
        Of `whole` as the candidates have them.
    amounts : ndarray
        Their shrinkages, either all zero or none.
    target : {"mean", "plain mean", "identity"}
        What is mixed in, a multiple of the identity by the mean variance or the identity itself.
    given_priors : list of ndarray or None
        Log priors of each candidate; None for the shares of the rows.
    least : float
        Rows without which a variance might fall to this are not settled.
    threads : int

    Returns
    -------
    scores : ndarray of shape (n_candidates, n_rows, n_classes)
    settled : ndarray of bool
        Rows that need no refit.
    """
    count = len(whole.weight)
    flat = np.zeros((len(amounts), count))
    if not all(_clear(spectra, k, target, amount) for k in range(count) for amount in amounts.tolist()):
        # The floor follows the spread within classes, which every row changes for every class.
        return np.zeros((len(amounts), len(rows), count)), np.zeros(len(rows), dtype=bool)
    scores, _ = scores_of(rows, densities, flat, threads, scores=True, codes=False)
    assert scores is not None
    weight = np.ones(len(rows)) if weights is None else weights
    settled = np.ones(len(rows), dtype=bool)
    scaled = target == "mean" and spectra.kind != "isotropic" and bool(amounts[0] == 0)
    eigen = (spectra.scaled() if scaled else spectra.plain())[0]
    for k in range(count):
        at = np.flatnonzero(codes == k)
        turned = np.empty((len(at), rows.shape[1]))
        own_rows = np.ascontiguousarray(rows[at])
        _core.gauss_turn(own_rows, densities.mean[k], densities.basis[k], turned, threads)
        rest = whole.weight[k] - weight[at]
        alone = rest <= 1e-9 * whole.weight[k]
        settled[at[alone]] = False
        own = _Class(at, turned, weight[at], np.where(alone, 1.0, rest), float(whole.weight[k]))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for c, amount in enumerate(amounts.tolist()):
                if densities.condition[c, k] > WELL_CONDITIONED:
                    settled[at] = False
                elif spectra.kind == "shared":
                    answer = _all_classes(own, rows[at], k, whole, spectra, densities, eigen[0], amount, target, scaled)
                    scores[c, at], sound = answer
                    settled[at] &= sound
                else:
                    scores[c, at, k], sound = _own_class(own, spectra, eigen[k], amount, target, scaled, least)
                    settled[at] &= sound
    settled &= np.isfinite(scores).all(axis=(0, 2))
    shares = np.repeat(np.log(whole.weight)[None], len(rows), axis=0)
    shares[np.arange(len(rows)), codes] = np.log(np.maximum(whole.weight[codes] - weight, 1e-300))
    shares -= np.log(np.maximum(whole.total - weight, 1e-300))[:, None]
    for c, priors in enumerate(given_priors):
        scores[c] += shares if priors is None else priors
    return scores, settled


def _clear(spectra: Spectra, k: int, target: str, amount: float) -> bool:
    """Whether floors have no say in a class, whichever row of another class is left out."""
    if target != "mean":
        return True
    at = 0 if spectra.kind == "shared" else k
    if spectra.kind != "isotropic" and amount == 0:
        return bool(spectra.scaled()[0][at].min() > CLEAR * FLOOR)
    return bool(spectra.mean_variance[at] > CLEAR * FLOOR * spectra.typical)


def _above_floors(
    lowest: Floats, mean: Floats, spectra: Spectra, target: str, scaled: bool, least: float
) -> NDArray[np.bool_]:
    """The same for the class's own rows: `lowest` variance and mean of the variances without each."""
    if target != "mean":
        return np.asarray(lowest > least)
    return np.asarray(lowest > CLEAR * FLOOR if scaled else mean > CLEAR * FLOOR * spectra.typical)


def _mixed(values: Floats, kept: Floats, loss: Floats, length: Floats, amount: float, target: str) -> Floats:
    """Variances before the rank-one part is taken out: shrunk, (rows, n_features)."""
    plain = (1 - amount) * kept[:, None] * np.maximum(values, 0.0)
    if amount == 0:
        return plain
    if target == "identity":
        return plain + amount
    mean = kept * (np.maximum(values, 0.0).sum() / len(values)) - loss * length / len(values)
    return np.asarray(plain + amount * mean[:, None])


def _own_class(
    own: _Class, spectra: Spectra, values: Floats, amount: float, target: str, scaled: bool, least: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Minus half of (log determinant + quadratic form) of each row under its class without it."""
    squares = own.turned**2
    kept = own.kept
    loss = own.weight * kept / own.rest
    length = squares.sum(axis=1)
    if spectra.kind in ("diagonal", "isotropic"):
        plain = kept[:, None] * values
        if spectra.kind == "isotropic":
            variance = plain - (loss * length / len(values))[:, None]
        else:
            mean = (plain.sum(axis=1) - loss * length) / len(values)
            shrunk = amount * (mean[:, None] if target != "identity" else 1.0) if amount else 0.0
            variance = (1 - amount) * (plain - loss[:, None] * squares) + shrunk
        sound = (variance > LEAST_REST * plain).all(axis=1)
        lowest = np.where(spectra.inert & scaled, np.inf, variance).min(axis=1)
        form = kept**2 * (squares / variance).sum(axis=1)
        logdet = np.log(variance).sum(axis=1)
    else:
        variance = _mixed(values, kept, loss, length, amount, target)
        plain_form = (squares / variance).sum(axis=1)
        rest = 1 - (1 - amount) * loss * plain_form
        sound = rest > LEAST_REST
        # A - u u' is at least (1 - h) A, and so are its eigenvalues.
        lowest = rest * variance.min(axis=1)
        form = kept**2 * plain_form / rest
        logdet = np.log(variance).sum(axis=1) + np.log(rest)
    sound &= _above_floors(lowest, kept * values.mean() - loss * length / len(values), spectra, target, scaled, least)
    return -0.5 * (logdet + _units(spectra, scaled, kept) + form), sound


def _units(spectra: Spectra, scaled: bool, kept: Floats) -> Floats | float:
    """Log determinant of the columns' units; columns that are constant have variance 1 whatever is left out."""
    if not scaled:
        return 0.0
    return np.asarray(2 * np.log(spectra.unit).sum() - spectra.inert.sum() * np.log(kept))


def _all_classes(
    own: _Class, rows: NDArray[np.float64], k: int, whole: Sums, spectra: Spectra, densities: Densities,
    values: Floats, amount: float, target: str, scaled: bool,
) -> tuple[Floats, NDArray[np.bool_]]:  # fmt: skip
    """As `_own_class` for one covariance shared by all classes, which every row changes for all of them."""
    rest_of_all = whole.total - own.weight
    kept = whole.total / rest_of_all
    loss = own.weight * own.kept / rest_of_all
    length = (own.turned**2).sum(axis=1)
    variance = _mixed(values, kept, loss, length, amount, target)
    weighted = own.turned / variance
    rest = 1 - (1 - amount) * loss * (weighted * own.turned).sum(axis=1)
    logdet = np.log(variance).sum(axis=1) + np.log(rest) + _units(spectra, scaled, kept)
    answer = np.empty((len(rows), len(whole.weight)))
    basis = densities.basis[k]
    for j in range(len(whole.weight)):
        if j == k:
            turned = own.turned * own.kept[:, None]
        else:
            turned = own.turned + (densities.mean[k] - densities.mean[j]) @ basis
        cross = (weighted * turned).sum(axis=1)
        form = (turned**2 / variance).sum(axis=1) + (1 - amount) * loss * cross**2 / rest
        answer[:, j] = -0.5 * (logdet + form)
    mean = kept * values.mean() - loss * length / len(values)
    clear = _above_floors(rest * variance.min(axis=1), mean, spectra, target, scaled, 0.0)
    return answer, (rest > LEAST_REST) & clear
