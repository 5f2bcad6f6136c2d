"""Fisher's linear discriminant from sums: scikit-learn's three solvers, without a look at the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tonari.base.threads import one_blas_thread
from tonari.discriminant_analysis.densities import WELL_CONDITIONED
from tonari.discriminant_analysis.quadratic import estimated
from tonari.discriminant_analysis.sums import Sums


@dataclass(frozen=True)
class Discriminant:
    """What a solver finds; names are those of the estimator's attributes."""

    priors: NDArray[np.float64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    components: int
    xbar: NDArray[np.float64] | None = None
    scalings: NDArray[np.float64] | None = None
    explained_variance_ratio: NDArray[np.float64] | None = None
    covariance: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Shapes:
    """Covariances that something other than plain sums has estimated.

    Attributes
    ----------
    classes : list of ndarray
        Of each class.
    overall : ndarray
        Of all rows.
    """

    classes: list[NDArray[np.float64]]
    overall: NDArray[np.float64]

    @classmethod
    def estimated(cls, rows: NDArray[Any], codes: NDArray[np.int32], shrinkage: Any, estimator: Any) -> Shapes:
        """Ask a covariance estimator, or Ledoit and Wolf, about every class and about all rows.

        Parameters
        ----------
        rows : ndarray
        codes : ndarray of int32
        shrinkage : "auto" or None
        estimator : estimator or None

        Returns
        -------
        Shapes
        """
        classes = [estimated(rows[codes == k], shrinkage, estimator) for k in range(int(codes.max()) + 1)]
        return cls(classes, estimated(rows, shrinkage, estimator))

    @classmethod
    def of_sums(cls, sums: Sums, shrinkage: float) -> Shapes:
        """Maximum likelihood, mixed with a multiple of the identity.

        Parameters
        ----------
        sums : Sums
        shrinkage : float

        Returns
        -------
        Shapes
        """
        mean = sums.weight @ sums.mean / sums.total
        apart = sums.mean - mean
        total = sums.scatter.sum(axis=0) + np.einsum("k,ki,kj->ij", sums.weight, apart, apart)
        classes = [_shrunk(sums.scatter[k] / sums.weight[k], shrinkage) for k in range(len(sums.weight))]
        return cls(classes, _shrunk(total / sums.total, shrinkage))

    @staticmethod
    def well_conditioned(sums: Sums) -> bool:
        """Whether merged sums surely give what sums of the rows give, to 1e-9.

        Parameters
        ----------
        sums : Sums

        Returns
        -------
        bool
        """
        within = sums.scatter.sum(axis=0)
        spread = np.sqrt(np.diagonal(within))
        if not (spread > 0).all():
            return False
        with one_blas_thread():
            values = np.linalg.eigvalsh(within / spread[:, None] / spread)
        return bool(values[0] * WELL_CONDITIONED > values[-1] and spread.max() < 1e3 * spread.min())


def discriminant(
    sums: Sums, priors: NDArray[np.float64], solver: str, shrinkage: float, tol: float, components: int,
    shapes: Shapes | None, *, store_covariance: bool,
) -> Discriminant:  # fmt: skip
    """Directions and boundary of one training part.

    Parameters
    ----------
    sums : Sums
        Of the classes that are present.
    priors : ndarray of shape (n_classes,)
    solver : {"svd", "lsqr", "eigen"}
    shrinkage : float
    tol : float
    components : int
    shapes : Shapes or None
        Covariances estimated otherwise.
    store_covariance : bool

    Returns
    -------
    Discriminant
    """
    with np.errstate(divide="ignore"), one_blas_thread():
        log_priors = np.log(priors)
        found: dict[str, Any]
        if solver == "svd":
            found = _by_deviations(sums, priors, log_priors, tol, components)
            if store_covariance:
                found["covariance"] = np.einsum("k,kij->ij", priors, np.array(Shapes.of_sums(sums, 0.0).classes))
        else:
            shapes = shapes or Shapes.of_sums(sums, shrinkage)
            within = np.einsum("k,kij->ij", priors, np.array(shapes.classes))
            if solver == "lsqr":
                found = {"coef": scipy.linalg.lstsq(within, sums.mean.T)[0].T}
            else:
                found = _by_eigenvectors(sums.mean, within, shapes.overall, components)
            found["covariance"] = within
            found["intercept"] = log_priors - 0.5 * (sums.mean * found["coef"]).sum(axis=1)
    if len(priors) == 2:
        found["coef"] = found["coef"][1:] - found["coef"][:1]
        found["intercept"] = found["intercept"][1:] - found["intercept"][:1]
    return Discriminant(priors=priors, components=components, **found)


def _by_deviations(
    sums: Sums, priors: NDArray[np.float64], log_priors: NDArray[np.float64], tol: float, components: int
) -> dict[str, Any]:
    """Solver "svd": whiten within classes, drop directions without deviation, then turn to the class means."""
    within = sums.scatter.sum(axis=0) / sums.total
    spread = np.sqrt(np.diagonal(within))
    spread = np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(within / spread[:, None] / spread)
    deviation = np.sqrt(np.maximum(values, 0.0))[::-1]
    kept = deviation > tol
    scalings = (vectors[:, ::-1] / spread[:, None])[:, kept] / deviation[kept]
    xbar = priors @ sums.mean
    factor = 1.0 / max(len(priors) - 1, 1)
    apart = sums.mean - xbar
    centres = np.sqrt(sums.total * priors * factor)[:, None] * (apart @ scalings)
    _, singular, turned = scipy.linalg.svd(centres, full_matrices=False)
    with np.errstate(invalid="ignore"):
        explained = (singular**2 / (singular**2).sum())[:components] if components else np.empty(0)
    rank = int((singular > tol * (singular[0] if len(singular) else 0.0)).sum())
    directions = scalings @ turned.T[:, :rank]
    projected = apart @ directions
    coef = projected @ directions.T
    intercept = -0.5 * (projected**2).sum(axis=1) + log_priors - coef @ xbar
    return {
        "coef": coef, "intercept": intercept, "xbar": xbar, "scalings": directions,
        "explained_variance_ratio": explained,
    }  # fmt: skip


def _by_eigenvectors(
    means: NDArray[np.float64], within: NDArray[np.float64], overall: NDArray[np.float64], components: int
) -> dict[str, Any]:
    """Solver "eigen": the directions in which classes differ most for their spread."""
    values, vectors = scipy.linalg.eigh(overall - within, within)
    with np.errstate(invalid="ignore"):
        explained = np.sort(values / values.sum())[::-1][:components]
    vectors = vectors[:, np.argsort(values)[::-1]]
    return {"coef": means @ vectors @ vectors.T, "scalings": vectors, "explained_variance_ratio": explained}


def _shrunk(covariance: NDArray[np.float64], shrinkage: float) -> NDArray[np.float64]:
    if shrinkage == 0:
        return covariance
    mean = np.trace(covariance) / len(covariance)
    return np.asarray((1 - shrinkage) * covariance + shrinkage * mean * np.eye(len(covariance)))
