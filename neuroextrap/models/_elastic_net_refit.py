"""From a nearly right elastic net to the right one: solve on the active set."""

import numpy as np

from neuroextrap.models._elastic_net_gap import duality_gap

MAX_ROUNDS = 20


class FeatureProblem:
    """A target given by features: nothing of size n_features squared is needed.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Centered features.
    y : ndarray, shape (n_samples,)
        Centered target, float64.
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

    Parameters
    ----------
    gram : ndarray, shape (n_features, n_features)
        X'X, float64.
    products : ndarray, shape (n_features,)
        X'y.
    norm : float
        y'y.
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
    """Solve the optimality conditions on the active set, in float64.

    With the support and the signs fixed the elastic net is a linear system. Features
    whose sign flips leave, features that break their condition enter, until none does.

    Parameters
    ----------
    problem : FeatureProblem or GramProblem
        The target.
    weights : ndarray, shape (n_features,)
        A nearly optimal start.
    l1, l2 : float
        Penalties of 1/2 ||y - Xw||^2 + l1 ||w||_1 + l2/2 ||w||^2.

    Returns
    -------
    weights : ndarray, shape (n_features,)
        The solution, or the best round by duality gap; the start if all are singular.
    gap : float
        Its duality gap divided by the sum of squares of `y`.

    References
    ----------
    Lee, Battle, Raina & Ng 2007, "Efficient sparse coding algorithms" (feature-sign
    search); Zou & Hastie 2005, "Regularization and variable selection via the elastic
    net", eq. 3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> problem = FeatureProblem(X, np.array([2.0, 0.1, -2.1]))
    >>> polish(problem, np.array([1.0, 0.0]), 0.5, 0.0)[0]
    array([1.8, 0. ])
    """
    signs = np.sign(weights).astype(np.float64)
    best, best_gap = np.asarray(weights, dtype=np.float64), np.inf
    for _ in range(MAX_ROUNDS):
        solved = _solve_active(problem, signs, l1, l2)
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
    """Duality gap of an elastic net, relative to the target's sum of squares.

    Parameters
    ----------
    problem : FeatureProblem or GramProblem
        The target.
    weights : ndarray, shape (n_features,)
        Coefficients.
    l1, l2 : float
        Penalties of 1/2 ||y - Xw||^2 + l1 ||w||_1 + l2/2 ||w||^2.

    Returns
    -------
    gap : float
        At least the excess of the objective over its minimum, over y'y.
    gradient : ndarray, shape (n_features,)
        X'(y - Xw).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> float(relative_gap(FeatureProblem(X, y), np.array([0.0]), 2.0, 0.0)[0])
    0.0
    """
    active = np.flatnonzero(weights)
    gradient, fitted, left = problem.fitted(active, weights[active])
    dual_norm = np.abs(gradient - l2 * weights).max()
    scale = 1.0 if dual_norm <= l1 else l1 / dual_norm
    sums = fitted, left, np.abs(weights).sum(), weights @ weights
    gap = duality_gap(sums, scale, problem.norm, l1, l2)
    return max(gap, 0.0) / problem.norm, gradient


def _solve_active(problem, signs, l1, l2):
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
