"""What holds on the active set: the exact solution, its gap, its degrees of freedom."""

import numpy as np

from neuroextrap.models.elastic_net._objective import duality_gap

MAX_ROUNDS = 20


class FeatureProblem:
    """A target given by features: nothing of size n_features squared is needed.

    `X` of shape (n_samples, n_features) and `y` of shape (n_samples,) are centered; `y`
    is float64.
    """

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.norm = y @ y

    def system(self, active):
        """X'X and X'y of the active features, float64."""
        columns = self.X[:, active].astype(np.float64)
        return columns.T @ columns, columns.T @ self.y

    def fitted(self, active, weights):
        """Return X'(y - Xw) of all features, w'X'y and w'X'(y - Xw)."""
        prediction = self.X[:, active].astype(np.float64) @ weights
        residual = self.y - prediction
        gradient = (residual.astype(self.X.dtype) @ self.X).astype(np.float64)
        return gradient, prediction @ self.y, prediction @ residual


class GramProblem:
    """A target given by products; cheaper where there are fewer features than samples.

    `gram` is X'X in float64, `products` X'y, `norm` y'y.
    """

    def __init__(self, gram, products, norm):
        self.gram, self.products, self.norm = gram, products, norm

    def system(self, active):
        """X'X and X'y of the active features."""
        return self.gram[active[:, None], active], self.products[active]

    def fitted(self, active, weights):
        """Return X'(y - Xw) of all features, w'X'y and w'X'(y - Xw)."""
        gradient = self.products - weights @ self.gram[active]
        right = self.products[active]
        return gradient, weights @ right, weights @ gradient[active]


def polish(problem, weights, l1, l2):
    """Minimize 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2 exactly, in float64.

    With the support and the signs fixed the elastic net is a linear system. Features
    whose sign flips leave, features that break their optimality condition enter, until
    none does (feature-sign search: Lee, Battle, Raina & Ng 2007, "Efficient sparse
    coding algorithms"; Zou & Hastie 2005, eq. 3). From nearly optimal `weights` of
    shape (n_features,), returns the best round by duality gap, or the start if all are
    singular, and its gap relative to y'y.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> problem = FeatureProblem(X, np.array([2.0, 0.1, -2.1]))
    >>> polish(problem, np.array([1.0, 0.0]), 0.5, 0.0)[0]
    array([1.8, 0. ])
    """
    signs = np.sign(weights).astype(np.float64)
    best, best_gap = np.asarray(weights, dtype=np.float64), np.inf
    for _ in range(MAX_ROUNDS):
        solved = _solve_signs(problem, signs, l1, l2)
        if solved is None:
            break
        flipped = solved * signs < 0
        trial = np.where(flipped, 0.0, solved)
        gap, gradient = relative_gap(problem, trial, l1, l2)
        if gap <= best_gap:
            best, best_gap = trial, gap
        entering = (signs == 0) & (np.abs(gradient) > l1 * (1 + 1e-10))
        if not flipped.any() and not entering.any():
            break
        signs[flipped] = 0.0
        signs[entering] = np.sign(gradient[entering])
    if best_gap == np.inf:
        best_gap = relative_gap(problem, best, l1, l2)[0]
    return best, best_gap


def relative_gap(problem, weights, l1, l2):
    """Duality gap relative to y'y, and the gradient X'(y - Xw) of shape (n_features,).

    The gap is at least the excess of the objective over its minimum.
    """
    active = np.flatnonzero(weights)
    gradient, fitted, left = problem.fitted(active, weights[active])
    dual_norm = np.abs(gradient - l2 * weights).max()
    sums = fitted, left, np.abs(weights).sum(), weights @ weights
    gap = duality_gap(sums, dual_norm, problem.norm, l1, l2)
    return max(gap, 0.0) / problem.norm, gradient


def _solve_signs(problem, signs, l1, l2):
    """Solve the linear system of the given signs; None when it is singular."""
    active = np.flatnonzero(signs)
    weights = np.zeros(len(signs))
    gram, right = problem.system(active)
    gram.flat[:: len(active) + 1] += l2
    try:
        weights[active] = np.linalg.solve(gram, right - l1 * signs[active])
    except np.linalg.LinAlgError:
        return None
    return weights


def elastic_net_degrees_of_freedom(X, coef, alpha, l1_ratio):
    """Count the degrees of freedom of elastic nets, intercept included, (n_targets,).

    On the active set A the fit is linear in y: df = 1 + trace(X_A (X_A'X_A + l2 I)^-1
    X_A') with l2 = N alpha (1 - l1_ratio), an unbiased estimate given the penalties
    (Tibshirani & Taylor 2012, "Degrees of freedom in lasso problems", section 3; Zou,
    Hastie & Tibshirani 2007). `coef` has shape (n_targets, n_features), the penalties,
    in scikit-learn's scale, (n_targets,).

    >>> X = np.array([[1.0], [-1.0], [0.0]])
    >>> elastic_net_degrees_of_freedom(X, np.array([[1.0], [0.0]]), [1, 1], [1.0, 1.0])
    array([2., 1.])
    """
    centered = X - X.mean(axis=0)
    spent = np.ones(len(coef))
    for v, weights in enumerate(coef):
        active = np.flatnonzero(weights)
        if active.size:
            values = np.linalg.svd(centered[:, active], compute_uv=False) ** 2
            l2 = len(X) * alpha[v] * (1 - l1_ratio[v])
            kept = values > values[0] * 1e-12
            spent[v] += (values[kept] / (values[kept] + l2)).sum()
    return spent
