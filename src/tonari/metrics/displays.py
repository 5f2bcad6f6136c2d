"""Pictures of results with matplotlib (the extra ``plot``), in the manner of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tonari.base.errors import UsageError
from tonari.metrics.intervals import corrected_standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, in an order in which neighbours also differ in lightness; line and marker repeat the coding.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P")


class NeighborCurveDisplay:
    """Error against the number of neighbours, one line for each setting of the other parameters.

    Build it with `from_cv_results` or `from_curve`, then `plot`.

    Parameters
    ----------
    series : sequence of dict
        Each with ``name``, ``x``, ``y`` and, where a band of one standard error is wanted, ``se``.
    x_label, y_label, title : str
    marked : (float, float) or None, default=None
        The chosen point.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each series.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5], "weights": ["uniform", "distance"]})
    >>> display = NeighborCurveDisplay.from_cv_results(search.fit(X, y).cv_results_)
    >>> [series["name"] for series in display.series]
    ['weights=distance', 'weights=uniform']
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]

    def __init__(
        self,
        *,
        series: Sequence[Mapping[str, Any]],
        x_label: str = "k",
        y_label: str = "error",
        title: str = "",
        marked: tuple[float, float] | None = None,
    ) -> None:
        self.series = series
        self.x_label = x_label
        self.y_label = y_label
        self.title = title
        self.marked = marked

    @classmethod
    def from_cv_results(
        cls, cv_results: Mapping[str, Any], *, parameter: str = "n_neighbors", metric: str = "score"
    ) -> NeighborCurveDisplay:
        """Take the curve from the ``cv_results_`` of a grid search over k, tonari's or scikit-learn's.

        Parameters
        ----------
        cv_results : mapping
            `cv_results_` of a fitted search whose metric lies in [0, 1], greater being better: the error is 1 - score.
        parameter : str, default="n_neighbors"
            Name of k in the grid, such as ``"knn__n_neighbors"`` in a pipeline.
        metric : str, default="score"
            Name of the metric where the search has several.

        Returns
        -------
        NeighborCurveDisplay
        """
        params = cv_results["params"]
        if not params or any(parameter not in candidate for candidate in params):
            raise UsageError(f"Not every candidate of the search sets {parameter!r}.", "Give its name as parameter=.")
        folds = sum(key.startswith("split") and key.endswith(f"_test_{metric}") for key in cv_results)
        scores = np.column_stack([cv_results[f"split{i}_test_{metric}"] for i in range(folds)])
        lines: dict[str, list[int]] = {}
        for i, candidate in enumerate(params):
            others = ", ".join(f"{name}={candidate[name]}" for name in sorted(candidate) if name != parameter)
            lines.setdefault(others, []).append(i)
        series = []
        for name in sorted(lines):
            points = sorted(lines[name], key=lambda i: params[i][parameter])
            series.append({
                "name": name,
                "x": [params[i][parameter] for i in points],
                "y": [1 - float(scores[i].mean()) for i in points],
                "se": [corrected_standard_error(scores[i]) for i in points],
            })  # fmt: skip
        best = int(np.argmin(cv_results[f"rank_test_{metric}"]))
        return cls(
            series=series, x_label=parameter, y_label=f"error, {folds}-fold",
            marked=(params[best][parameter], 1 - float(scores[best].mean())),
        )  # fmt: skip

    @classmethod
    def from_curve(cls, curve: Mapping[str, Any]) -> NeighborCurveDisplay:
        """Take one of the ``curves`` of a result of `tonari.compare`, as `result.json` holds them.

        Parameters
        ----------
        curve : mapping
            With ``series`` and, where known, ``title``, ``x_label``, ``y_label`` and ``marked``.

        Returns
        -------
        NeighborCurveDisplay
        """
        marked = curve.get("marked")
        return cls(
            series=curve["series"], x_label=curve.get("x_label", "k"), y_label=curve.get("y_label", "error"),
            title=curve.get("title", ""), marked=None if marked is None else (marked["x"], marked["y"]),
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> NeighborCurveDisplay:
        """Draw every series with its band of one standard error, and mark the chosen point.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        NeighborCurveDisplay
            Itself, with ``ax_``, ``figure_`` and ``lines_`` set.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise UsageError("Drawing needs matplotlib.", "Install it with: pip install 'tonari[plot]'") from None
        if ax is None:
            ax = plt.subplots()[1]
        self.lines_ = []
        for i, one in enumerate(self.series):
            colour = _COLOURS[i % len(_COLOURS)]
            (line,) = ax.plot(
                one["x"], one["y"], label=one["name"] or None, color=colour, linestyle=_LINES[i % len(_LINES)],
                marker=_MARKERS[i % len(_MARKERS)], markersize=4,
            )  # fmt: skip
            if one.get("se") is not None:
                y, error = np.asarray(one["y"], dtype=float), np.asarray(one["se"], dtype=float)
                ax.fill_between(one["x"], y - error, y + error, color=colour, alpha=0.12, linewidth=0)
            self.lines_.append(line)
        if self.marked is not None:
            ax.plot(*self.marked, marker="o", markersize=11, markerfacecolor="none", markeredgecolor="black",
                    linestyle="none", label="chosen")  # fmt: skip
        ax.set(xlabel=self.x_label, ylabel=self.y_label, title=self.title)
        if ax.get_legend_handles_labels()[0]:
            ax.legend()
        self.ax_ = ax
        figure = ax.get_figure(root=True)
        if figure is not None:
            self.figure_ = figure
        return self
