"""Sufficient statistics of classes: weight, mean and scatter. Everything that is fitted here is fitted from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from tonari import _core
from tonari.base.errors import DataError
from tonari.base.held_out import Splits


@dataclass(frozen=True)
class Sums:
    """Statistics of some cells (classes, or classes within folds).

    Attributes
    ----------
    weight : ndarray of shape (..., cells)
        Sum of the weights of the rows.
    mean : ndarray of shape (..., cells, n_features)
    scatter : ndarray of shape (..., cells, n_features, n_features)
        Sum of ``weight * (x - mean)(x - mean)'``.
    """

    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    def __getitem__(self, which: Any) -> Sums:
        return Sums(self.weight[which], self.mean[which], self.scatter[which])

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    def merged(self, other: Sums) -> Sums:
        """Statistics of the rows of both (Chan, Golub and LeVeque 1979); nothing is ever subtracted from a total.

        Parameters
        ----------
        other : Sums
            Of the same cells.

        Returns
        -------
        Sums
        """
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        difference = other.mean - self.mean
        mean = self.mean + share[..., None] * difference
        # Where one side is empty the other's mean stands to the bit.
        mean = np.where((self.weight == 0)[..., None], other.mean, mean)
        mean = np.where((other.weight == 0)[..., None], self.mean, mean)
        between = (self.weight * share)[..., None, None] * (difference[..., :, None] * difference[..., None, :])
        return Sums(weight, mean, self.scatter + other.scatter + between)


def sums_of(
    rows: NDArray[np.float32] | NDArray[np.float64], cells: NDArray[np.int32], count: int,
    weights: NDArray[np.float64] | None, threads: int,
) -> Sums:  # fmt: skip
    """Sum the rows of every cell.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    cells : ndarray of int32
        Cell of each row, or -1 for a row that is left out.
    count : int
        Number of cells.
    weights : ndarray or None
    threads : int

    Returns
    -------
    Sums
    """
    dim = rows.shape[1]
    sums = Sums(np.empty(count), np.empty((count, dim)), np.empty((count, dim, dim)))
    _core.gauss_sums(rows, cells, weights, sums.weight, sums.mean, sums.scatter, threads)
    if not np.isfinite(sums.scatter).all():
        column = int(np.argmin(np.isfinite(np.diagonal(sums.scatter, axis1=1, axis2=2)).all(axis=0)))
        raise DataError(
            f"Column {column} spreads so far that its squares exceed float64.", "Divide it by a power of ten."
        )
    return sums


class TrainingSums:
    """Statistics of the training part of every split of one table.

    Where the held-out parts are a partition, the sums of every fold are taken once and those of the other folds merged,
    from the front and from the back; otherwise each training part is summed for itself.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    codes : ndarray of int32
    count : int
        Number of classes.
    weights : ndarray or None
    splits : Splits
    threads : int
    """

    def __init__(
        self, rows: NDArray[np.float64], codes: NDArray[np.int32], count: int, weights: NDArray[np.float64] | None,
        splits: Splits, threads: int,
    ) -> None:  # fmt: skip
        self._rows, self._codes, self._count, self._weights = rows, codes, count, weights
        self._splits, self._threads = splits, threads

    def __iter__(self) -> Iterator[Sums]:
        splits, dim = self._splits, self._rows.shape[1]
        needed = 2 * 8 * len(splits) * self._count * dim * (dim + 1)
        if splits.fold is None or needed > get_config()["working_memory"] * 2**18:
            for split in range(len(splits)):
                yield self.directly(split)
            return
        cells = splits.fold * np.int32(self._count) + self._codes
        flat = sums_of(self._rows, cells, len(splits) * self._count, self._weights, self._threads)
        shape = (len(splits), self._count)
        folds = Sums(flat.weight.reshape(shape), flat.mean.reshape(*shape, dim), flat.scatter.reshape(*shape, dim, dim))
        behind: list[Sums] = [folds[len(splits) - 1]]
        for split in range(len(splits) - 2, 0, -1):
            behind.append(folds[split].merged(behind[-1]))
        before: Sums | None = None
        for split in range(len(splits)):
            after = behind.pop() if behind else None
            if before is None or after is None:
                found = before or after
                # A partition into one part leaves no rows to train on; the drive does not ask for it.
                assert found is not None
                yield found
            else:
                yield before.merged(after)
            before = folds[split] if before is None else before.merged(folds[split])

    def directly(self, split: int) -> Sums:
        """Statistics of one training part from its rows, to the bit those that a fit on them takes.

        Parameters
        ----------
        split : int

        Returns
        -------
        Sums
        """
        train = self._splits.train(split)
        weights = None if self._weights is None else self._weights[train]
        return sums_of(self._rows[train], self._codes[train], self._count, weights, self._threads)
