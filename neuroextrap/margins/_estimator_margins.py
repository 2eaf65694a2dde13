"""Margins of any scikit-learn classifier, refitted for every region and labeling."""

import numpy as np


class EstimatorMargins:
    """The slow, general way: clone, fit, score.

    Parameters
    ----------
    estimator : scikit-learn classifier
        With ``decision_function`` (one column a class, or one score for two classes) or
        ``predict_proba``.

    Raises
    ------
    ValueError
        When the classifier has neither method, or scores pairs of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from neuroextrap.margins._design import Labelings
    >>> from neuroextrap.margins._estimator_margins import EstimatorMargins
    >>> from neuroextrap.margins._folds import make_design
    >>> codes = np.array([0, 1, 2, 0, 1, 2])
    >>> design = make_design(codes, 3, groups=[1, 1, 1, 2, 2, 2])
    >>> kernel = EstimatorMargins(RidgeClassifier())
    >>> state = kernel.prepare([np.eye(3)[codes]], design)
    >>> kernel.margins(state, Labelings([codes], 3)).argmax(axis=1).T
    array([[0, 1, 2, 0, 1, 2]])
    """

    #: fits hold the interpreter, so threads would wait for one another
    prefer = "processes"

    def __init__(self, estimator):
        has = [
            name
            for name in ("decision_function", "predict_proba")
            if hasattr(estimator, name)
        ]
        if not has or not hasattr(estimator, "fit"):
            raise ValueError(
                f"classifier={estimator!r} has neither decision_function nor "
                "predict_proba; give a scikit-learn classifier that has one of them"
            )
        self.estimator = estimator

    def __repr__(self):
        """Show the estimator; part of a checkpoint's identity."""
        return f"EstimatorMargins({self.estimator!r})"

    def prepare(self, xs, design):
        """Return the regions' data as they are.

        Parameters
        ----------
        xs : sequence of ndarray, each of shape (n_samples, n_features of the region)
            Samples of every region.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        state : tuple of (xs, design)
        """
        return xs, design

    def margins(self, state, labelings):
        """Return the margins of every region under every labeling.

        Parameters
        ----------
        state : tuple of (xs, design)
            What ``prepare`` returned.
        labelings : Labelings
            A batch of labelings.

        Returns
        -------
        margins : ndarray of float64, shape (n_test, K, n_regions * n_labelings)
        """
        xs, design = state
        out = np.empty(
            (len(design.test), design.n_classes, len(xs) * labelings.n_labelings)
        )
        column = 0
        for x in xs:
            for codes in labelings.codes:
                folds = zip(design.folds, design.fold_slices, strict=True)
                for (train, test), rows in folds:
                    out[rows, :, column] = self._fold(x, codes, train, test)
                column += 1
        return out

    def _fold(self, x, codes, train, test):
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
                f"classifier={self.estimator!r} gives {scores.shape[1]} scores for "
                f"{n_classes} classes; choose one score a class (for an SVC, "
                "decision_function_shape='ovr')"
            )
        return scores
