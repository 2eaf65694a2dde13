"""The reference solver: scikit-learn's ``enet_path`` on shared fold Grams."""

import numpy as np

from neuroextrap.models._elastic_net_folds import predict_fold
from neuroextrap.models._elastic_net_refit import FeatureProblem


class ReferenceSolver:
    """Solves one target after another, one fold at a time.

    The naive counterpart of the other solvers, whose methods it has: one call of
    ``sklearn.linear_model.enet_path`` a fold and grid point.

    Parameters
    ----------
    folds : FoldGrams
        What all targets share.
    targets : Targets
        The block's targets.
    settings : Settings
        `tol` and `max_iter` in scikit-learn's meaning.
    """

    def __init__(self, folds, targets, settings):
        self._folds, self._targets, self._settings = folds, targets, settings
        self._shape = (len(folds.count) - 1, len(folds.gram[0]))

    def groups(self):
        """Yield the targets to search together: each alone."""
        for v in range(len(self._targets.norm)):
            self._last, self._best = np.zeros((2, *self._shape))
            yield np.array([v])

    def solve(self, which, l1, l2, restart):
        """Solve every fold; return out-of-fold predictions and the stalled problems."""
        start = self._best if restart[0] else self._last
        self._last, predictions, stalled = np.empty(self._shape), [], 0
        for f in range(self._shape[0]):
            weights, closed = self._enet(which[0], f, l1[0], l2[0], start[f])
            self._last[f] = weights
            stalled += not closed
            predictions.append(
                predict_fold(self._folds, self._targets, f, which, weights[None])
            )
        return np.concatenate(predictions, axis=1), np.array([stalled])

    def keep(self, which):
        """Keep the last solution to restart from, if it is named."""
        if which.size:
            self._best = self._last.copy()

    def average(self, which):  # noqa: ARG002
        """Mean of the solution kept over folds, shape (1, n_features)."""
        return self._best.mean(axis=0, keepdims=True)

    def refit(self, start, l1, l2):
        """Solve all targets on all samples; return coefficients."""
        last = self._shape[0]
        solved = [
            self._enet(v, last, l1[v], l2[v], start[v])[0] for v in range(len(start))
        ]
        return np.stack(solved)

    def problem(self, v):
        """Target `v` on all samples, for the exact solution."""
        # feature-major, rows in the order of the folds: columns are contiguous
        return FeatureProblem(self._folds.features.T, self._targets.values[v])

    def _enet(self, v, f, l1, l2, start):
        """Call enet_path with the Gram matrix of one fold; features are never read."""
        import sklearn
        from sklearn.linear_model import enet_path

        gram = self._folds.gram[f]
        # only its length and its sum of squares are used when a Gram matrix is given
        target = np.zeros(self._folds.count[f], dtype=gram.dtype)
        target[0] = np.sqrt(self._targets.norm[v, f])
        shape_only = np.broadcast_to(gram.dtype.type(0), (len(target), len(gram)))
        with sklearn.config_context(skip_parameter_validation=True):
            _, coefs, _, n_iter = enet_path(
                shape_only,
                target,
                l1_ratio=l1 / (l1 + l2),
                alphas=np.array([l1 + l2], dtype=gram.dtype),
                precompute=gram,
                Xy=np.ascontiguousarray(self._targets.products[v, f]),
                coef_init=np.asarray(start, dtype=gram.dtype),
                copy_X=False,
                check_input=False,
                return_n_iter=True,
                tol=self._settings.tol,
                max_iter=self._settings.max_iter,
            )
        return coefs[:, 0].astype(np.float64), n_iter[0] < self._settings.max_iter
