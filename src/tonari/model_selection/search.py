"""scikit-learn's grid search, in which learners that can share work between candidates and splits do."""

from __future__ import annotations

import time
from typing import Any, Self

from sklearn.base import _fit_context, clone, is_classifier
from sklearn.model_selection import GridSearchCV as _ReferenceSearch
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from tonari.base.held_out import Splits
from tonari.model_selection.cv_results import cv_results
from tonari.model_selection.drive import Drive, Task
from tonari.model_selection.pipeline import why_not_shared
from tonari.model_selection.splitting import AscendingTraining, draw_splits


class GridSearchCV(_ReferenceSearch):
    """Exhaustive search over parameter values, at the price of few fits where the learner can share work.

    Signature, attributes and results are those of scikit-learn's class of this name. Where the estimator (or the last
    step of a pipeline) implements the held-out protocol, it answers all candidates on all splits together, with the
    same predictions as fitting each of them from scratch; well-known metrics are then computed natively, any other
    scorer is shown the answers, and one that looks at more gets its candidates fitted one by one. Steps that learn
    before the learner are fitted once per split and per setting of their own parameters, on training rows only.
    Training rows are brought into ascending order before any fit, so that ties fall the same way however it is done.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict or list of dict
    scoring : str, callable, list, tuple or dict, default=None
    n_jobs : int or None, default=None
        Processes for what is fitted one by one. Learners that share work use threads of their own.
    refit : bool, str or callable, default=True
    cv : int, splitter or iterable, default=None
    verbose : int, default=0
    pre_dispatch : int or str, default="2*n_jobs"
    error_score : "raise" or float, default=nan
    return_train_score : bool, default=False
        True makes every candidate be fitted one by one: shared answers are about held-out rows only.

    Attributes
    ----------
    cv_results_ : dict
        As scikit-learn's. The time of work that was shared is divided evenly among what it answered.
    best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As scikit-learn's; ``best_estimator_`` is an ordinary fit on all rows.
    work_ : dict
        What the search cost, the final refit apart. ``fits_asked``: candidates times splits. ``fits_done``: passes in
        which a learner answered many of them at once, plus fits of a single one. ``shared``: whether there was such a
        pass. ``reason``: why something was fitted one by one, in words, or None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tonari.model_selection import GridSearchCV
    >>> from tonari.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 9], "weights": ["uniform", "distance"]})
    >>> search.fit(X, y).best_params_
    {'n_neighbors': 5, 'weights': 'uniform'}
    >>> search.work_
    {'fits_asked': 30, 'fits_done': 1, 'shared': True, 'reason': None}
    """

    cv: Any
    cv_results_: dict[str, Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The parent passes on what the estimator takes for X, and forgets y of several columns.
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Run fit with all sets of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        **params : dict
            Given to the estimator's ``fit``, the scorer and the splitter, as scikit-learn's search does.

        Returns
        -------
        self
        """
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        reason = self._why_not_shared(y)
        if reason is None:
            return self._fit_together(X, y, splitter, params)
        cv = self.cv
        # The parent asks self.cv; it gets the same splits, with their training rows in order.
        self.cv = AscendingTraining(splitter)
        try:
            super().fit(X, y, **params)
        finally:
            self.cv = cv
        asked = len(self.cv_results_["params"]) * self.n_splits_
        self.work_ = {"fits_asked": asked, "fits_done": asked, "shared": False, "reason": reason}
        return self

    def _why_not_shared(self, y: Any) -> str | None:
        """Why all is left to scikit-learn, as far as no data need be looked at."""
        estimators = [self.estimator]
        if type(self.estimator) is Pipeline:
            estimators += [step for _, step in self.estimator.steps]
        if any(getattr(one, "_skl_callbacks", None) for one in [self, *estimators]):
            return "callbacks follow every single fit"
        if type(self)._run_search is not _ReferenceSearch._run_search:
            return f"{type(self).__name__} chooses candidates in a way of its own"
        if self.return_train_score:
            return "training scores need every fit"
        if y is None:
            return "there is no y"
        return why_not_shared(estimators[-1])

    def _fit_together(self, X: Any, y: Any, splitter: Any, params: dict[str, Any]) -> Self:
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        candidates = list(ParameterGrid(self.param_grid))
        splits = self._draw_splits(splitter, X, y, routed.splitter.split)
        asked = len(candidates) * len(splits)
        if asked == 0:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        self._say(f"Fitting {len(splits)} folds for each of {len(candidates)} candidates, totalling {asked} fits")
        drive = Drive(
            Task(
                self.estimator, candidates, X, y, splits, scorers, routed.estimator.fit, routed.scorer.score,
                self.error_score, self.n_jobs, self.pre_dispatch, self.verbose,
            )
        )  # fmt: skip
        marks = drive.run()
        done = drive.passes + drive.single_fits
        self._say(f"{drive.passes} shared passes and {drive.single_fits} single fits were done")
        reason = "; ".join(marks.reasons) or None
        self.work_ = {"fits_asked": asked, "fits_done": done, "shared": drive.passes > 0, "reason": reason}
        self.cv_results_ = cv_results(candidates, marks)
        self.multimetric_ = marks.multimetric
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(marks.scores)
            refit_metric = self.refit
        self.scorer_ = drive.scoring.scorers if drive.scoring.several else scorers
        self._choose(refit_metric)
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        return self

    def _draw_splits(self, splitter: Any, X: Any, y: Any, parameters: dict[str, Any]) -> Splits:
        self.n_splits_ = splitter.get_n_splits(X, y, **parameters)
        splits = draw_splits(splitter, X, y, _num_samples(X), parameters)
        if len(splits) != self.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits returned inconsistent results. "
                f"Expected {self.n_splits_} splits, got {len(splits)}"
            )
        return splits

    def _choose(self, refit_metric: str) -> None:
        if not self.refit and self.multimetric_:
            return
        self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
        if not callable(self.refit):
            self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _refit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        self.best_estimator_.fit(X, y, **fit_params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _say(self, text: str) -> None:
        if self.verbose > 0:
            print(text)  # noqa: T201
