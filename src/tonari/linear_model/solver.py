"""Minimises  sum_i weight_i loss_i(W x_i) + l2 / 2 |W|^2,  the intercepts left free of the penalty.

Newton  exact Hessian, Cholesky, halving until the objective falls enough (Armijo); for problems of at most NEWTON_SIZE
        parameters. Larger ones: L-BFGS (Nocedal 1980) whose first metric is the bound of Boehning (1992).
Many    problems over one table (folds) at once: L-BFGS whose first metric is the Hessian at the solution for all rows,
        from which the folds' Hessians differ little: a step gains one or two digits and costs one pass for all of them
Stops   when the largest element of the gradient is at most `goal`; weights sum to 1, so it is scikit-learn's measure
Without penalty a positive margin on all rows proves that no minimum exists (Albert and Anderson 1984).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tonari.base.threads import one_blas_thread
from tonari.linear_model.rows import DenseRows, Rows

Floats = NDArray[np.float64]
Solve = Callable[[Floats], Floats]

#: Parameters up to which Newton's Hessian is made: 2,000 take 32 MB and 0.2 s a step.
NEWTON_SIZE = 2_000
#: Columns up to which L-BFGS starts from the Gram matrix, not only from its diagonal.
GRAM_SIZE = 3_000
#: Pairs that L-BFGS remembers.
MEMORY = 10
#: Of the first decrease that a step promises, the share that it must keep.
ENOUGH = 1e-4
HALVINGS = 40
#: Added to a Hessian of unit diagonal that Cholesky finds singular, or nearly so without a penalty.
FLAT = 1e-6


@dataclass
class Solution:
    """Coefficients with their certificate.

    Attributes
    ----------
    coef : ndarray of shape (outputs, width)
    norm : float
        Largest element of the gradient.
    steps : int
    separable : bool
        Whether it was stopped because the classes are separable and nothing penalises large coefficients.
    divide : callable or None
        Division by the Hessian of the last step, where Newton's method was used.
    """

    coef: Floats
    norm: float
    steps: int
    separable: bool = False
    divide: Solve | None = None


class Objective:
    """One problem: rows, weights that sum to 1, and the strength of the penalty.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    weights : ndarray of shape (n_rows,)
    l2 : float
    """

    def __init__(self, rows: Rows, weights: Floats, l2: float) -> None:
        self.rows = rows
        self.weights = weights
        self.l2 = l2

    def value(self, coef: Floats) -> tuple[float, Floats, float]:
        """Objective, gradient and least margin."""
        loss, gradient, margin = self.rows.value(self.weights[None], coef[None])
        return self.penalised(float(loss[0]), gradient[0], coef) + (float(margin[0]),)

    def penalised(self, loss: float, gradient: Floats, coef: Floats) -> tuple[float, Floats]:
        """Loss and gradient with the penalty added."""
        own = coef[:, : self.rows.dim]
        gradient[:, : self.rows.dim] += self.l2 * own
        return loss + 0.5 * self.l2 * float((own * own).sum()), gradient

    def newton_metric(self, coef: Floats) -> Solve:
        """Division by the Hessian there."""
        return solver_of(self.rows.hessian(self.weights, coef), self.rows.outputs, self.rows.dim, self.l2)

    def bound_metric(self) -> Solve:
        """Division by a bound of the Hessian that holds everywhere, the same for every output."""
        rows = self.rows
        if rows.width > GRAM_SIZE:
            squares = rows.table.multiply(rows.table) if not isinstance(rows, DenseRows) else rows.table**2
            diagonal = 0.5 * (self.weights @ squares) + self.l2
            diagonal = np.where(diagonal > 0, diagonal, 1.0)
            return lambda gradient: np.asarray(gradient / diagonal)
        bound = rows.quarter_gram(self.weights)
        return solver_of(bound if rows.outputs == 1 else 2.0 * bound, 1, rows.dim, self.l2)


def solver_of(hessian: Floats, outputs: int, dim: int, l2: float) -> Solve:
    """Division by a Hessian to which the penalty is added; directions without curvature are held in place.

    Parameters
    ----------
    hessian : ndarray of shape (outputs * width, outputs * width)
        Overwritten. That of one output also divides gradients of several, each by itself.
    outputs : int
    dim : int
        Columns under the penalty.
    l2 : float

    Returns
    -------
    callable
    """
    width = len(hessian) // outputs
    diagonal = hessian.reshape(-1)[:: len(hessian) + 1]
    penalty = np.zeros((outputs, width))
    penalty[:, :dim] = l2
    diagonal += penalty.reshape(-1)
    typical = float(diagonal.max()) or 1.0
    # Packed columns, and columns of zeros: nothing pulls at them.
    diagonal[diagonal <= 0] = typical
    if outputs > 1:
        # Adding the same to all classes changes no probability; gradients have no part in that direction.
        blocks = hessian.reshape(outputs, width, outputs, width)
        for j in range(width):
            blocks[:, j, :, j] += np.trace(blocks[:, j, :, j]) / outputs**2
    scale = 1.0 / np.sqrt(diagonal)
    hessian *= scale[:, None]
    hessian *= scale
    with one_blas_thread():
        for ridge in (0.0, FLAT, 1e-3):
            diagonal += ridge
            try:
                factor = scipy.linalg.cholesky(hessian, lower=True, check_finite=False)
            except scipy.linalg.LinAlgError:
                continue
            # Without a penalty a direction may have no curvature; what rounding leaves there would be a giant step.
            if l2 > 0 or ridge > 0 or np.diagonal(factor).min() ** 2 > FLAT**2:
                break

    def solve(gradient: Floats) -> Floats:
        with one_blas_thread():
            sides = gradient.reshape(-1, len(scale)) * scale
            found = scipy.linalg.cho_solve((factor, True), sides.T, check_finite=False).T
        return np.asarray((found * scale).reshape(gradient.shape))

    return solve


def minimise(problem: Objective, start: Floats, goal: float, most: int) -> Solution:
    """Solve one problem.

    Parameters
    ----------
    problem : Objective
    start : ndarray of shape (outputs, width)
    goal : float
    most : int
        Steps.

    Returns
    -------
    Solution
    """
    small = start.size <= NEWTON_SIZE
    metric = None if small else problem.bound_metric()
    memory = _Memory()
    coef = start.copy()
    value, gradient, margin = problem.value(coef)
    divide: Solve | None = metric
    for step in range(most + 1):
        norm = float(np.abs(gradient).max())
        separable = problem.l2 == 0 and margin > 0
        if norm <= goal or separable or step == most:
            return Solution(coef, norm, step, separable, divide if small else None)
        divide = problem.newton_metric(coef) if metric is None else metric
        direction = -(divide(gradient) if small else memory.after(divide(memory.before(gradient))))
        promised = float((direction * gradient).sum())
        length = 1.0
        for _ in range(HALVINGS):
            trial = coef + length * direction
            found, slope, margin = problem.value(trial)
            if _good(value, found, length * promised, gradient, slope):
                break
            length *= 0.5
        else:
            # Rounding hides any further decrease.
            return Solution(coef, norm, step, False)
        memory.add(trial - coef, slope - gradient)
        coef, value, gradient = trial, found, slope
    raise AssertionError("unreachable")


def minimise_together(
    rows: Rows, weights: Floats, l2: Floats, start: Floats, divide: Solve, goal: float, most: int
) -> list[Solution]:
    """Solve several problems over one table, one pass over the rows for a step of all that are left.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    weights : ndarray of shape (n_problems, n_rows)
        Each line sums to 1.
    l2 : ndarray of shape (n_problems,)
    start : ndarray of shape (n_problems, outputs, width)
    divide : callable
        Division by a metric near all their Hessians.
    goal : float
    most : int

    Returns
    -------
    list of Solution
    """
    problems = [Objective(rows, line, float(strength)) for line, strength in zip(weights, l2, strict=True)]
    runs = [_Run(coef.copy()) for coef in start]
    live = list(range(len(runs)))
    for _ in range(most):
        chosen = weights[live] if len(live) < len(runs) else weights
        losses, gradients, _ = rows.value(np.ascontiguousarray(chosen), np.stack([runs[p].trial for p in live]))
        still = []
        for i, p in enumerate(live):
            value, gradient = problems[p].penalised(float(losses[i]), gradients[i], runs[p].trial)
            if runs[p].judge(value, gradient, goal):
                still.append(p)
        live = still
        if not live:
            break
        # One division for all of them: its matrix is read once.
        moving = [(runs[p], rest) for p in live if (rest := runs[p].rest) is not None]
        if moving:
            divided = divide(np.stack([rest for _, rest in moving]))
            for (run, _), part in zip(moving, divided, strict=True):
                run.turn(part)
    return [Solution(run.coef, run.norm, run.steps) for run in runs]


class _Memory:
    """The pairs of L-BFGS."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
        self._shares: list[float] = []

    def add(self, step: Floats, change: Floats) -> None:
        curvature = float((step * change).sum())
        if curvature > 1e-14 * float(np.sqrt((step * step).sum() * (change * change).sum())):
            self._pairs.append((step, change, curvature))

    def before(self, gradient: Floats) -> Floats:
        """The first of Nocedal's two loops: what is left to be divided by the metric."""
        rest = gradient.copy()
        self._shares = []
        for step, change, curvature in reversed(self._pairs):
            share = float((step * rest).sum()) / curvature
            rest -= share * change
            self._shares.append(share)
        return rest

    def after(self, divided: Floats) -> Floats:
        """The second loop: the gradient over the metric as the pairs have corrected it."""
        found = divided
        for (step, change, curvature), share in zip(self._pairs, reversed(self._shares), strict=True):
            found = found + step * (share - float((change * found).sum()) / curvature)
        return found


class _Run:
    """One of several problems on its way."""

    def __init__(self, start: Floats) -> None:
        self.coef = self.trial = start
        self.norm = np.inf
        self.steps = 0
        self.rest: Floats | None = None
        self._memory = _Memory()
        self._value = np.inf
        self._gradient: Floats | None = None
        self._direction = np.zeros_like(start)
        self._promised = 0.0
        self._length = 1.0
        self._halved = 0

    def judge(self, value: float, gradient: Floats, goal: float) -> bool:
        """Take or shorten the step that was tried; whether it goes on. `rest` waits to be divided if it was taken."""
        self.rest = None
        if self._gradient is not None:
            if not _good(self._value, value, self._length * self._promised, self._gradient, gradient):
                self._halved += 1
                self._length *= 0.5
                self.trial = self.coef + self._length * self._direction
                return self._halved < HALVINGS
            self._memory.add(self.trial - self.coef, gradient - self._gradient)
            self.steps += 1
        self.coef, self._value, self._gradient = self.trial, value, gradient
        self.norm = float(np.abs(gradient).max())
        if self.norm <= goal:
            return False
        self.rest = self._memory.before(gradient)
        return True

    def turn(self, divided: Floats) -> None:
        """Set out along the direction that the division gives."""
        assert self._gradient is not None
        self._direction = -self._memory.after(divided)
        self._promised = float((self._direction * self._gradient).sum())
        self._length, self._halved = 1.0, 0
        self.trial = self.coef + self._direction


def _good(before: float, after: float, promised: float, gradient: Floats, slope: Floats) -> bool:
    """Whether a step gains enough; near the minimum, where the objective only rounds, whether the gradient shrinks."""
    if not np.isfinite(after):
        return False
    if after <= before + ENOUGH * promised:
        return True
    flat = abs(after - before) <= 1e-12 * max(1.0, abs(before))
    return bool(flat and np.abs(slope).max() < 0.9 * np.abs(gradient).max())
