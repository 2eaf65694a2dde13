"""The classifiers that have names, any of scikit-learn, and rules for new samples."""

import itertools
import json
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel, MarginSource
from neuroextrap.margins.algebra._grams import ridge_penalty
from neuroextrap.margins.classifiers._lda import LDAMargins
from neuroextrap.margins.classifiers._naive_bayes import GaussianNBMargins
from neuroextrap.margins.classifiers._nearest_centroid import (
    NearestCentroidMargins,
    NearestNeighborMargins,
)
from neuroextrap.margins.classifiers._qda import QDAMargins
from neuroextrap.margins.classifiers._ridge import RidgeMargins
from neuroextrap.margins.running._checkpoint import described
from neuroextrap.stats._validation import brief


class EstimatorMargins(MarginKernel):
    """The slow, general way: clone, fit, score."""

    #: the same results as outside, of rules that mind where the origin is
    as_given = True
    #: fits hold the interpreter, so threads would wait for one another
    prefer = "processes"
    refits = True
    indicator_bytes = 0

    def __init__(self, estimator: Any) -> None:
        methods = ("decision_function", "predict_proba")
        scores = any(hasattr(estimator, name) for name in methods)
        if not scores or not hasattr(estimator, "fit"):
            raise ValueError(
                f"estimator={brief(estimator)} has neither decision_function nor "
                "predict_proba; give a scikit-learn classifier that has one of them"
            )
        self.estimator = estimator

    @property
    def frequent_first(self) -> str:  # type: ignore[override]
        """The classifier, unless its classes have weights or priors."""
        ends = "class_weight", "priors"
        given = self.estimator.get_params().items()
        balanced = any(k.endswith(ends) and v is not None for k, v in given)
        return "" if balanced else type(self.estimator).__name__

    def __repr__(self) -> str:
        """Show the classifier with all its parameters; part of a run's identity."""
        about = described(self.estimator)
        about["version"] = metadata.version("scikit-learn")
        return f"{type(self).__name__}({json.dumps(about, sort_keys=True)})"

    def prepare(self, xs: Any, design: Any) -> Any:
        return xs, design

    def margins(self, state: Any, labelings: Any) -> np.ndarray:
        xs, design = state
        fits = list(itertools.product(xs, labelings.codes))
        margins = np.empty((len(design.test), design.n_classes, len(fits)))
        folds = list(zip(design.folds, design.fold_slices, strict=True))
        for column, (x, codes) in enumerate(fits):
            for (train, test), rows in folds:
                margins[rows, :, column] = self._fold(x, codes, train, test)
        return margins

    def _scores(self, x: Any, codes: Any, test: Any) -> np.ndarray:
        """Train on samples; return the scores of others, as scikit-learn has them."""
        fitted = clone(self.estimator).fit(x, codes)
        if hasattr(fitted, "decision_function"):
            return np.asarray(fitted.decision_function(test))
        return np.asarray(fitted.predict_proba(test))

    def _fold(self, x: Any, codes: Any, train: Any, test: Any) -> np.ndarray:
        """Fit one fold and return its margins, shape (n_test, K)."""
        scores = self._scores(x[train], codes[train], x[test])
        if scores.ndim == 1:  # two classes, one score
            scores = np.column_stack([-scores, scores])
        n_classes = len(np.unique(codes[train]))
        if scores.shape[1] != n_classes:
            raise ValueError(
                f"estimator={self.estimator!r} gives {scores.shape[1]} scores for "
                f"{n_classes} classes; choose one score per class (for an SVC, "
                "decision_function_shape='ovr')"
            )
        return scores


def _class_weights(codes: Any) -> Any:
    """Weigh samples so that classes count equally; None where they do anyway."""
    counts = np.bincount(codes)
    weights = len(codes) / (len(counts) * counts)[codes]
    return None if (counts == counts[0]).all() else weights


class SVCMargins(EstimatorMargins):
    """A linear support vector machine, as nilearn's "svc"; classes count equally."""

    name = "svc"
    frequent_first = ""

    def __init__(self) -> None:
        from sklearn.svm import LinearSVC

        super().__init__(LinearSVC(penalty="l2", max_iter=10_000, random_state=0))

    def _scores(self, x: Any, codes: Any, test: Any) -> np.ndarray:
        fitted = clone(self.estimator).fit(x, codes, _class_weights(codes))
        return np.asarray(fitted.decision_function(test))


class LogisticMargins(EstimatorMargins):
    """One-vs-rest logistic regression, as nilearn's; classes count equally."""

    name = "logistic"
    frequent_first = ""

    def __init__(self) -> None:
        from inspect import signature

        from sklearn.linear_model import LogisticRegressionCV

        options: dict[str, Any] = {"solver": "liblinear", "scoring": "neg_log_loss"}
        # scikit-learn 1.8 names the l2 penalty in another way
        if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters:
            options |= {"l1_ratios": (0,), "use_legacy_attributes": False}
        super().__init__(LogisticRegressionCV(**options))

    def _scores(self, x: Any, codes: Any, test: Any) -> np.ndarray:
        labels, counts = np.unique(codes, return_counts=True)
        if counts.min() < 2:
            raise ValueError(
                "estimator='logistic' chooses its penalty by cross-validation, but a "
                "class has a single training sample; give more, or use 'lda' or 'svc'"
            )
        model = clone(self.estimator).set_params(cv=min(5, counts.min()))
        weights = _class_weights(codes)
        scores = [
            clone(model).fit(x, codes == label, weights).decision_function(test)
            for label in (labels if len(labels) > 2 else labels[1:])
        ]
        return np.stack(scores, axis=-1) if len(labels) > 2 else scores[0]


_KERNELS: tuple[type[MarginKernel], ...] = (
    NearestCentroidMargins,
    GaussianNBMargins,
    LDAMargins,
    RidgeMargins,
    QDAMargins,
    NearestNeighborMargins,
    SVCMargins,
    LogisticMargins,
)

CLASSIFIERS = {kernel.name: kernel for kernel in _KERNELS}


def resolve_classifier(classifier: Any, *, shrinkage: Any = "auto") -> MarginKernel:
    """Return the kernel that a name, a kernel or a classifier stands for."""
    if isinstance(classifier, MarginKernel):
        return classifier
    if not isinstance(classifier, str):
        return EstimatorMargins(classifier)
    if classifier not in CLASSIFIERS:
        raise ValueError(
            f"estimator={classifier!r} is not known; use one of "
            f"{', '.join(CLASSIFIERS)}, a MarginKernel or a scikit-learn classifier"
        )
    kernel: Any = CLASSIFIERS[classifier]
    return kernel(shrinkage=shrinkage) if kernel.shrinks else kernel()


LINEAR = ("nearest_centroid", "ridge", "lda")
"""Names of the classifiers that are linear."""


class LinearRule(NamedTuple):
    """Scores ``x @ weights + offsets``: weights (n_features, K), offsets (K,)."""

    weights: np.ndarray
    offsets: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of samples (n, n_features), shape (n, K)."""
        return x @ self.weights + self.offsets


def linear_rule(
    kernel: MarginSource, x: np.ndarray, codes: np.ndarray
) -> LinearRule | None:
    """Train a linear classifier, None if it is another, on samples (n, n_features).

    The scores are its margins, up to a term shared by all classes.
    """
    kind, x = kernel.name, np.asarray(x, dtype=float)
    if kind not in LINEAR:
        return None
    counts = np.bincount(codes)
    n, n_classes = len(x), len(counts)
    means = np.stack([x[codes == c].mean(axis=0) for c in range(n_classes)])
    about, rest = x - x.mean(axis=0), x - means[codes]
    apart = (means - means.mean(axis=0)).T
    noise = 1.0 / counts - 1.0 / counts.min()
    if kind == "nearest_centroid":
        cost = x.var(axis=0, ddof=1).sum()
        return LinearRule(2 * means.T, cost * noise - np.square(means).sum(axis=1))
    penalty = ridge_penalty(x, shrinkage=getattr(kernel, "shrinkage", "auto"))
    explained = _explained(about, penalty)
    if kind == "ridge":
        share = n / n_classes
        weights = share * _solve(about, penalty, apart)
        offsets = share * explained / n_classes * noise - means.mean(axis=0) @ weights
        return LinearRule(weights, offsets)
    weights = _solve(rest, penalty, apart)
    offsets = -0.5 * (apart * weights).sum(axis=0) - means.mean(axis=0) @ weights
    if getattr(kernel, "priors", "equal") == "frequency":
        return LinearRule(weights, offsets + np.log(counts) / (n - n_classes))
    return LinearRule(weights, offsets + 0.5 * explained / (1 - explained) * noise)


def regression_rule(x: np.ndarray, targets: np.ndarray, shrinkage: Any) -> LinearRule:
    """Fit ridge regression of targets (n, n_columns), with a free intercept."""
    x = np.asarray(x, dtype=float)
    location, mean = x.mean(axis=0), targets.mean(axis=0)
    about = x - location
    penalty = ridge_penalty(x, shrinkage=shrinkage)
    weights = _solve(about, penalty, about.T @ (targets - mean))
    return LinearRule(weights, mean - location @ weights)


def margins_of_new(
    kernel: Any, x: np.ndarray, codes: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """Return the margins (n_new, K) of new samples, none of which affects another's."""
    rule = linear_rule(kernel, x, codes)
    if rule is not None:
        return rule.scores(np.asarray(new, dtype=float))
    n, n_new = len(x), len(new)
    fold = np.arange(n), np.arange(n, n + n_new)
    design = Design((fold,), n + n_new, int(codes.max()) + 1, unlabeled=fold[0])
    labels = np.concatenate([codes, np.zeros(n_new, dtype=codes.dtype)])
    labelings = Labelings(labels[np.newaxis], design.n_classes)
    state = kernel.prepare([np.concatenate([x, new])], design)
    return np.asarray(kernel.margins(state, labelings)[:, :, 0])


def _solve(x: np.ndarray, penalty: float, b: np.ndarray) -> np.ndarray:
    """Return (x'x + penalty I)^-1 b, by the smaller of x'x and xx'."""
    n, p = x.shape
    if p <= n or not penalty:
        return np.linalg.solve(x.T @ x + penalty * np.eye(p), b)
    inner = np.linalg.solve(x @ x.T + penalty * np.eye(n), x @ b)
    return (b - x.T @ inner) / penalty


def _explained(x: np.ndarray, penalty: float) -> float:
    """Return the trace of the smoother of centered samples over their number - 1."""
    values = np.linalg.svd(x, compute_uv=False) ** 2
    values = values[values > 1e-12 * values[0]]
    return float((values / (values + penalty)).sum() / (len(x) - 1))
