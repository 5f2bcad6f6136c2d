"""DecisionRegionDisplay: which class a classifier gives where, on two columns or two principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import UsageError
from tonari.base.validation import check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
# Okabe and Ito's colours without the white and black that mean "undecided" and "row".
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_MARGIN = 0.05


class DecisionRegionDisplay:
    """Regions of the classes in a plane, undecided ones white; with the rows, and the Voronoi diagram where wanted.

    Build it with `from_estimator`, then `plot`.

    Parameters
    ----------
    xs, ys : ndarray of float64
        The grid.
    codes : ndarray of int64, shape (len(ys), len(xs))
        Class of every grid point, -1 where none is decided.
    classes : ndarray
    points : ndarray of float64, shape (n_rows, 2)
        The rows, in the plane.
    labels : ndarray
        Their classes.
    names : (str, str)
        Of the axes.
    voronoi : bool, default=False
        Whether `plot` draws the edges of the Voronoi diagram of `points`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    edges_ : matplotlib LineCollection, or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tonari.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(6, ties="undecided", unknown_label=-1).fit(X[:, :2], y)
    >>> display = DecisionRegionDisplay.from_estimator(model, X[:, :2], y, resolution=50)
    >>> sorted(set(display.codes.ravel().tolist()))
    [-1, 0, 1, 2]
    """

    ax_: Axes
    figure_: Figure
    image_: Any
    edges_: Any

    def __init__(
        self, *, xs: Floats, ys: Floats, codes: NDArray[np.int64], classes: NDArray[Any], points: Floats,
        labels: NDArray[Any], names: tuple[str, str], voronoi: bool = False,
    ) -> None:  # fmt: skip
        self.xs = xs
        self.ys = ys
        self.codes = codes
        self.classes = classes
        self.points = points
        self.labels = labels
        self.names = names
        self.voronoi = voronoi

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, columns: tuple[int, int] | None = None, resolution: int = 200,
        voronoi: bool = False,
    ) -> DecisionRegionDisplay:  # fmt: skip
        """Ask a fitted classifier about every point of a grid.

        Parameters
        ----------
        estimator : fitted classifier
            Any with ``predict`` and ``classes_``. Where it gives a label that is no class, nothing is decided.
        X : array-like of shape (n_rows, n_columns)
            The rows to show.
        y : array-like of shape (n_rows,)
        columns : (int, int), default=None
            The two columns that vary; all others stay at their means. None: the two columns there are, or else the
            plane of the two largest principal components through the mean.
        resolution : int, default=200
            Grid points along each axis.
        voronoi : bool, default=False
            Whether the Voronoi diagram of the rows is drawn too: the regions of 1-NN are unions of its cells. Only
            where X has two columns.

        Returns
        -------
        DecisionRegionDisplay
        """
        check_number("resolution", resolution, least=2, whole=True)
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if rows.ndim != 2 or rows.shape[1] < 2 or labels.shape != (len(rows),):
            raise UsageError(
                f"A plane needs rows of at least two columns and one label each; X has shape {rows.shape}."
            )
        if voronoi and rows.shape[1] != 2:
            raise UsageError("The Voronoi diagram is that of the plane: X must have two columns.")
        centre, axes, names = _plane(rows, columns)
        points = (rows - centre) @ axes.T if rows.shape[1] != 2 else rows
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.where(high > low, _MARGIN * (high - low), 1.0)
        xs, ys = (np.linspace(low[i] - room[i], high[i] + room[i], resolution) for i in (0, 1))
        grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        asked = grid if rows.shape[1] == 2 else centre + grid @ axes
        if hasattr(estimator, "feature_names_in_"):
            import pandas as pd

            asked = pd.DataFrame(asked, columns=estimator.feature_names_in_)
        classes = np.asarray(estimator.classes_)
        answers = np.asarray(estimator.predict(asked))
        codes = np.full(len(grid), -1, dtype=np.int64)
        for code, label in enumerate(classes):
            codes[answers == label] = code
        return cls(
            xs=xs, ys=ys, codes=codes.reshape(resolution, resolution), classes=classes, points=points, labels=labels,
            names=names, voronoi=voronoi,
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> DecisionRegionDisplay:
        """Draw regions and rows, and the Voronoi diagram where wanted.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        DecisionRegionDisplay
            Itself, with ``ax_``, ``figure_``, ``image_`` and ``edges_`` set.
        """
        try:
            import matplotlib.pyplot as plt
            from matplotlib.collections import LineCollection
            from matplotlib.colors import to_rgb
        except ImportError:
            raise UsageError("Drawing needs matplotlib.", "Install it with: pip install 'tonari[plot]'") from None
        if ax is None:
            ax = plt.subplots()[1]
        colours = [_COLOURS[code % len(_COLOURS)] for code in range(len(self.classes))]
        # The last colour answers for -1: white.
        palette = np.array([[0.55 + 0.45 * part for part in to_rgb(colour)] for colour in colours] + [[1.0] * 3])
        extent = (self.xs[0], self.xs[-1], self.ys[0], self.ys[-1])
        self.image_ = ax.imshow(
            palette[self.codes], origin="lower", extent=extent, aspect="auto", interpolation="nearest"
        )
        self.edges_ = None
        if self.voronoi:
            self.edges_ = LineCollection(_voronoi_edges(self.points, extent), colors="black", linewidths=0.4, alpha=0.6)
            ax.add_collection(self.edges_)
        for colour, label in zip(colours, self.classes, strict=True):
            own = self.points[self.labels == label]
            ax.plot(*own.T, "o", markersize=4, markerfacecolor=colour, markeredgecolor="black", markeredgewidth=0.5,
                    linestyle="none", label=str(label))  # fmt: skip
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=extent[:2], ylim=extent[2:])
        ax.legend()
        self.ax_ = ax
        figure = ax.get_figure(root=True)
        if figure is not None:
            self.figure_ = figure
        return self


def _plane(rows: Floats, columns: tuple[int, int] | None) -> tuple[Floats, Floats, tuple[str, str]]:
    """A point of the plane, its two axes as rows, and their names."""
    centre = rows.mean(axis=0)
    if columns is None and rows.shape[1] > 2:
        axes = np.linalg.svd(rows - centre, full_matrices=False)[2][:2]
        # The sign of a component is arbitrary: the largest entry is made positive.
        axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, np.newaxis]
        return centre, axes, ("first principal component", "second principal component")
    first, second = columns or (0, 1)
    if rows.shape[1] == 2 and columns not in (None, (0, 1)):
        raise UsageError("With two columns there is one plane: leave columns out.")
    axes = np.zeros((2, rows.shape[1]))
    axes[0, first] = axes[1, second] = 1.0
    centre = centre.copy()
    centre[[first, second]] = 0.0
    return centre, axes, (f"column {first}", f"column {second}")


def _voronoi_edges(points: Floats, extent: tuple[float, float, float, float]) -> list[Floats]:
    """Edges of the Voronoi diagram as far as the picture goes."""
    from scipy.spatial import Voronoi

    different = np.unique(points, axis=0)
    size = 10 * max(extent[1] - extent[0], extent[3] - extent[2], 1e-300)
    middle = np.array([(extent[0] + extent[1]) / 2, (extent[2] + extent[3]) / 2])
    # Four points far outside close every cell; the edges between them lie outside the picture.
    far = middle + size * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    diagram = Voronoi(np.concatenate([different, far]))
    inner = len(different)
    return [
        diagram.vertices[ends]
        for (one, other), ends in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True)
        if -1 not in ends and one < inner and other < inner
    ]
