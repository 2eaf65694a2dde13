"""Margins of any scikit-learn classifier, refitted for every region and labeling."""

import json
from importlib import metadata
from typing import Any

import numpy as np

from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.running._described import described


class EstimatorMargins(MarginKernel):
    """The slow, general way: clone, fit, score.

    The classifier has ``decision_function`` (one column per class, or one score for
    two classes) or ``predict_proba``.
    """

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
                f"estimator={estimator!r} has neither decision_function nor "
                "predict_proba; give a scikit-learn classifier that has one of them"
            )
        self.estimator = estimator

    def __repr__(self) -> str:
        """Show the classifier with all its parameters; part of a run's identity."""
        about = described(self.estimator)
        about["version"] = metadata.version("scikit-learn")
        return f"{type(self).__name__}({json.dumps(about, sort_keys=True)})"

    def prepare(self, xs: Any, design: Any) -> Any:
        return xs, design

    def margins(self, state: Any, labelings: Any) -> np.ndarray:
        xs, design = state
        shape = len(design.test), design.n_classes, len(xs) * labelings.n_labelings
        margins = np.empty(shape)
        column = 0
        for x in xs:
            for codes in labelings.codes:
                folds = zip(design.folds, design.fold_slices, strict=True)
                for (train, test), rows in folds:
                    margins[rows, :, column] = self._fold(x, codes, train, test)
                column += 1
        return margins

    def _fold(self, x: Any, codes: Any, train: Any, test: Any) -> np.ndarray:
        """Fit one fold and return its margins, shape (n_test, K)."""
        from sklearn.base import clone

        fitted = clone(self.estimator).fit(x[train], codes[train])
        if hasattr(fitted, "decision_function"):
            scores = np.asarray(fitted.decision_function(x[test]))
        else:
            scores = np.asarray(fitted.predict_proba(x[test]))
        if scores.ndim == 1:  # two classes, one score
            scores = np.column_stack([-scores, scores])
        n_classes = len(fitted.classes_)
        if scores.shape[1] != n_classes:
            raise ValueError(
                f"estimator={self.estimator!r} gives {scores.shape[1]} scores for "
                f"{n_classes} classes; choose one score per class (for an SVC, "
                "decision_function_shape='ovr')"
            )
        return scores


class SVCMargins(EstimatorMargins):
    """A linear support vector machine with l2 penalty, as nilearn's "svc"."""

    name = "svc"

    def __init__(self) -> None:
        from sklearn.svm import LinearSVC

        super().__init__(LinearSVC(penalty="l2", max_iter=10_000, random_state=0))


class LogisticMargins(EstimatorMargins):
    """Logistic regression with a cross-validated l2 penalty, as nilearn's "logistic".

    One class against the rest, as nilearn's Decoder has it: the solver is binary.
    """

    name = "logistic"

    def __init__(self) -> None:
        from inspect import signature

        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.multiclass import OneVsRestClassifier

        options: dict[str, Any] = {"solver": "liblinear", "scoring": "neg_log_loss"}
        # scikit-learn 1.8 names the l2 penalty in another way
        if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters:
            options |= {"l1_ratios": (0,), "use_legacy_attributes": False}
        super().__init__(OneVsRestClassifier(LogisticRegressionCV(**options)))
