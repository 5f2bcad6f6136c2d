"""From statistics to densities: covariances of every kind, their regularisation, and scores for whole grids.

A covariance is kept as directions with variances, ``root @ diag(variance) @ root.T``; the eigenvectors of the plain
covariance serve every shrinkage. Without shrinkage columns are first divided by their spread, so that units do not
matter; with it they do, as in scikit-learn, because a multiple of the identity is mixed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tonari import _core
from tonari.base.threads import one_blas_thread
from tonari.discriminant_analysis.sums import Sums

#: In no direction is a variance taken for less than this share of the spread within classes (deviation: 1e-5 of it).
FLOOR = 1e-10
#: Columns whose spreads differ by more than this get their eigenvectors from a singular value decomposition.
LIKE_SPREADS = 1e3
#: Above this condition merged sums and downdates no longer agree with a fit to 1e-9, and rows are summed again.
WELL_CONDITIONED = 1e6


@dataclass(frozen=True)
class Densities:
    """One normal density per class, up to class shares, for one or several candidates.

    Attributes
    ----------
    mean : ndarray of shape (n_classes, n_features)
    basis : ndarray of shape (n_classes, n_features, n_features)
        ``basis.T @ (x - mean)`` has independent coordinates, the same for every candidate.
    root : ndarray of shape (n_classes, n_features, n_features)
        The way back: the covariance is ``root @ diag(variance) @ root.T``.
    variance : ndarray of shape (n_candidates, n_classes, n_features)
        Of these coordinates.
    logdet : ndarray of shape (n_candidates, n_classes)
        Logarithm of the determinant of the covariance.
    condition : ndarray of shape (n_candidates, n_classes)
        Largest over least variance before regularisation; infinite where that had to raise one.
    """

    mean: NDArray[np.float64]
    basis: NDArray[np.float64]
    root: NDArray[np.float64]
    variance: NDArray[np.float64]
    logdet: NDArray[np.float64]
    condition: NDArray[np.float64]

    def covariance(self, candidate: int = 0) -> NDArray[np.float64]:
        """Covariances of all classes as one candidate has them."""
        scaled = self.root * self.variance[candidate][:, None, :]
        # Products in NumPy's own order would differ from themselves transposed in the last bit.
        found = np.einsum("kij,klj->kil", scaled, self.root)
        return np.asarray((found + found.transpose(0, 2, 1)) / 2)


class Spectra:
    """Eigenvectors of the class covariances of one training part, each kind taken when first asked for.

    Parameters
    ----------
    sums : Sums
        Of the classes that are present.
    covariance : {"full", "shared", "diagonal", "isotropic"}
    """

    def __init__(self, sums: Sums, covariance: str) -> None:
        self.sums = sums
        self.kind = covariance
        dim = sums.mean.shape[1]
        within = sums.scatter.sum(axis=0)
        spread = np.diagonal(within) / sums.total
        overall = sums.weight @ sums.mean / sums.total
        # Columns are compared exactly: what is constant must not get the rounding of a mean as its spread.
        apart = (sums.mean != sums.mean[0]).any(axis=0)
        between = np.where(apart, sums.weight @ (sums.mean - overall) ** 2 / sums.total, 0.0)
        spread = np.where(spread > 0, spread, between)
        #: Columns that are constant over all rows; they say nothing and count nothing.
        self.inert = spread == 0
        self.unit = np.sqrt(np.where(self.inert, 1.0, spread))
        self.typical = float(spread.mean()) or 1.0
        if covariance == "full":
            self.matrix = sums.scatter / sums.weight[:, None, None]
        elif covariance == "shared":
            self.matrix = (within / sums.total)[None]
        elif covariance == "diagonal":
            self.matrix = np.diagonal(sums.scatter, axis1=1, axis2=2) / sums.weight[:, None]
        else:
            traces = np.trace(sums.scatter, axis1=1, axis2=2) / sums.weight / dim
            self.matrix = np.repeat(traces[:, None], dim, axis=1)
        self._plain: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._scaled: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def densities(self, shrinkages: NDArray[np.float64]) -> list[tuple[NDArray[np.intp], Densities]]:
        """Densities for ``(1 - s) covariance + s (mean variance) identity``, for many s.

        Parameters
        ----------
        shrinkages : ndarray

        Returns
        -------
        list of (positions, Densities)
            Which shrinkages, and their densities: those of 0 apart from the others.
        """
        groups = [np.flatnonzero(shrinkages == 0), np.flatnonzero(shrinkages != 0)]
        if self.kind == "isotropic":
            groups = [np.array([], dtype=np.intp), np.arange(len(shrinkages))]
        parts = []
        for of_zero, positions in zip((True, False), groups, strict=True):
            if len(positions):
                parts.append((positions, self._unshrunk() if of_zero else self._shrunk(shrinkages[positions])))
        return parts

    def mixed(self, shares: NDArray[np.float64], target: NDArray[np.float64]) -> Densities:
        """Densities for ``(1 - r) covariance + r target identity``, for many r, with variances as they come out.

        Parameters
        ----------
        shares : ndarray
        target : ndarray of shape (n_classes,)

        Returns
        -------
        Densities
        """
        values, vectors = self.plain()
        r = shares[:, None, None]
        variance = (1 - r) * np.maximum(values, 0.0) + r * target[:, None]
        return self._made(vectors, vectors, variance, variance, np.zeros(len(vectors)))

    @property
    def mean_variance(self) -> NDArray[np.float64]:
        """Mean of the variances of the columns, for every class (or one for all)."""
        if self.kind in ("full", "shared"):
            return np.asarray(np.trace(self.matrix, axis1=1, axis2=2) / self.matrix.shape[1])
        return np.asarray(self.matrix.mean(axis=1))

    def _unshrunk(self) -> Densities:
        values, vectors = self.scaled()
        basis = np.where(self.inert[:, None], 0.0, vectors / self.unit[:, None])
        root = vectors * self.unit[:, None]
        logdet = np.full(len(vectors), 2 * np.log(self.unit).sum())
        return self._made(basis, root, np.maximum(values, FLOOR)[None], values[None], logdet)

    def _shrunk(self, shrinkages: NDArray[np.float64]) -> Densities:
        values, vectors = self.plain()
        target = np.maximum(self.mean_variance, FLOOR * self.typical)[None, :, None]
        s = shrinkages[:, None, None]
        mixed = (1 - s) * np.maximum(values, 0.0) + s * target
        variance = np.maximum(mixed, FLOOR * (self.typical if self.kind == "isotropic" else target))
        return self._made(vectors, vectors, variance, mixed, np.zeros(len(vectors)))

    def _made(
        self, basis: NDArray[np.float64], root: NDArray[np.float64], variance: NDArray[np.float64],
        plain: NDArray[np.float64], logdet: NDArray[np.float64],
    ) -> Densities:  # fmt: skip
        classes = len(self.sums.weight)
        largest, least = plain.max(axis=2), plain.min(axis=2)
        raised = (plain < variance).any(axis=2) | (least <= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            condition = np.where(raised, np.inf, largest / least)
            logdet = np.log(variance).sum(axis=2) + logdet
        each = np.zeros(classes, dtype=np.intp) if len(basis) == 1 < classes else np.arange(classes)
        return Densities(
            self.sums.mean, np.ascontiguousarray(basis[each]), root[each], variance[:, each], logdet[:, each],
            condition[:, each],
        )  # fmt: skip

    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues and eigenvectors after every column is divided by its spread; 1 for columns that are constant."""
        if self._scaled is None:
            dim = self.sums.mean.shape[1]
            if self.kind == "diagonal":
                values = np.where(self.inert, 1.0, self.matrix / self.unit**2)
                self._scaled = values, np.broadcast_to(np.eye(dim), (len(values), dim, dim))
            else:
                matrix = self.matrix / self.unit[:, None] / self.unit
                matrix[:, self.inert, self.inert] = 1.0
                with one_blas_thread():
                    self._scaled = np.linalg.eigh(matrix)
        return self._scaled

    def plain(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues and eigenvectors of the covariances as they are."""
        if self._plain is None:
            dim = self.sums.mean.shape[1]
            used = self.unit[~self.inert]
            if self.kind in ("diagonal", "isotropic"):
                self._plain = self.matrix, np.broadcast_to(np.eye(dim), (len(self.matrix), dim, dim))
            elif len(used) == 0 or used.max() <= LIKE_SPREADS * used.min():
                with one_blas_thread():
                    self._plain = np.linalg.eigh(self.matrix)
            else:
                self._plain = self._graded_eigen()
        return self._plain

    def _graded_eigen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues of very unlike columns: as squares of singular values small ones keep their digits."""
        values, vectors = self.scaled()
        spread = np.sqrt(np.maximum(values, 0.0))
        factor = np.where(self.inert[:, None], 0.0, self.unit[:, None] * vectors) * spread[:, None, :]
        found_values, found_vectors = np.empty_like(values), np.empty_like(vectors)
        with one_blas_thread():
            for k in range(len(factor)):
                left, singular, _ = scipy.linalg.svd(factor[k])
                found_values[k], found_vectors[k] = singular**2, left
        return found_values, found_vectors


def offsets(densities: Densities, log_priors: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is added to a quadratic form: log prior minus half the log determinant, (candidates, classes)."""
    return np.ascontiguousarray(log_priors - 0.5 * densities.logdet)


def scores_of(
    rows: NDArray[np.float64], densities: Densities, log_priors: NDArray[np.float64], threads: int, *,
    scores: bool, codes: bool,
) -> tuple[NDArray[np.float64] | None, NDArray[np.int32] | None]:  # fmt: skip
    """Log posterior up to a constant of the row, and the class where it is largest.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    densities : Densities
    log_priors : ndarray of shape (n_candidates, n_classes)
    threads : int
    scores, codes : bool
        What is wanted.

    Returns
    -------
    scores : ndarray of shape (n_candidates, n_rows, n_classes), or None
    codes : ndarray of int32, shape (n_candidates, n_rows), or None
    """
    candidates, classes, _ = densities.variance.shape
    found = np.empty((candidates, len(rows), classes)) if scores else None
    winner = np.empty((candidates, len(rows)), dtype=np.int32) if codes else None
    precision = np.ascontiguousarray(1.0 / densities.variance)
    offset = offsets(densities, log_priors)
    _core.gauss_scores(rows, densities.mean, densities.basis, precision, offset, found, winner, threads)
    if found is not None:
        # A row so far off that its squares overflow is as unlikely in one class as in the other; no minus infinity.
        np.maximum(found, -np.finfo(np.float64).max / 4, out=found)
    return found, winner


def posterior(scores: NDArray[np.float64], *, log: bool = False) -> NDArray[np.float64]:
    """Probabilities of classes from log posteriors up to a constant, along the last axis."""
    relative = scores - scores.max(axis=-1, keepdims=True)
    chances = np.exp(relative)
    total = chances.sum(axis=-1, keepdims=True)
    return np.asarray(relative - np.log(total) if log else chances / total)
