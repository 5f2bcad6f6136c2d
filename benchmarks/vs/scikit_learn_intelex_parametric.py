"""scikit-learn-intelex: of these learners it has logistic regression only."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import GridSearchCV

NEEDS = "scikit-learn-intelex"


def logistic_grid(grid: dict[str, list[Any]], cv: Any, threads: int) -> GridSearchCV:
    """The grid over its logistic regression, in scikit-learn's search.

    Parameters
    ----------
    grid : dict
    cv : splitter
    threads : int

    Returns
    -------
    GridSearchCV
    """
    from sklearnex.linear_model import LogisticRegression

    return GridSearchCV(LogisticRegression(), grid, cv=cv, n_jobs=threads)
