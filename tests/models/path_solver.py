"""The twin of the compiled solvers: scikit-learn's ``enet_path`` on shared Grams."""

import numpy as np

from tests.models.seam import SOLVERS, Solver, predict_fold


class ScikitLearnSolver(Solver):
    """Calls ``sklearn.linear_model.enet_path`` once per target, fold and grid point.

    The naive counterpart of the compiled solvers.
    """

    def begin(self, which):
        self._last, self._best = np.zeros((2, self._n_folds, len(self._folds.gram[0])))

    def solve(self, which, l1, l2, restart):
        start = self._best if restart[0] else self._last
        self._last, predictions, stalled = np.empty_like(start), [], 0
        for f in range(self._n_folds):
            weights, closed = self._enet(which[0], f, l1[0], l2[0], start[f])
            self._last[f] = weights
            stalled += not closed
            predictions.append(
                predict_fold(self._folds, self._targets, f, which, weights[None])
            )
        return np.concatenate(predictions, axis=1), np.array([stalled])

    def keep(self, which):
        if which.size:
            self._best = self._last.copy()

    def average(self, which):
        return self._best.mean(axis=0, keepdims=True)

    def refit(self, start, l1, l2):
        return np.stack(
            [self._enet(v, 0, l1[v], l2[v], start[v])[0] for v in range(len(start))]
        )

    def _enet(self, v, f, l1, l2, start):
        """Solve target `v` in fold `f`; return coefficients and whether it converged.

        enet_path gets the Gram matrix and never reads the features.
        """
        import sklearn
        from sklearn.linear_model import enet_path

        gram = self._folds.gram[f]
        # only its length and its sum of squares are used when a Gram matrix is given
        target = np.zeros(self._folds.n_rows[f], dtype=gram.dtype)
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
                tol=self._options.tol,
                max_iter=self._options.max_sweeps,
            )
        return coefs[:, 0].astype(np.float64), n_iter[0] < self._options.max_sweeps


SOLVERS["scikit-learn"] = ScikitLearnSolver
