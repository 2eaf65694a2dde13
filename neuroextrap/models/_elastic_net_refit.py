"""From a nearly right elastic net to the right one: solve on the active set."""

import numpy as np

MAX_ROUNDS = 20


def polish(X, y, weights, l1, l2):
    """Solve the optimality conditions on the active set, in float64.

    With the support and the signs fixed the elastic net is a linear system. Features
    whose sign flips leave, features that break their condition enter, until none does.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Centred features.
    y : ndarray, shape (n_samples,)
        Centred target, float64.
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
    >>> polish(X, np.array([2.0, 0.1, -2.1]), np.array([1.0, 0.0]), 0.5, 0.0)[0]
    array([1.8, 0. ])
    """
    signs = np.sign(weights).astype(np.float64)
    best, best_gap = np.asarray(weights, dtype=np.float64), np.inf
    for _ in range(MAX_ROUNDS):
        solved = _solve_active(X, y, signs, l1, l2)
        if solved is None:
            break
        flipped = solved * signs < 0
        trial = np.where(flipped, 0.0, solved)
        gap, gradient = relative_gap(X, y, trial, l1, l2)
        if gap <= best_gap:
            best, best_gap = trial, gap
        entering = (signs == 0) & (np.abs(gradient) > l1 * (1 + 1e-10))
        if not flipped.any() and not entering.any():
            break
        signs[flipped] = 0.0
        signs[entering] = np.sign(gradient[entering])
    if best_gap == np.inf:
        best_gap = relative_gap(X, y, best, l1, l2)[0]
    return best, best_gap


def relative_gap(X, y, weights, l1, l2):
    """Duality gap of an elastic net, relative to the target's sum of squares.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Centred features.
    y : ndarray, shape (n_samples,)
        Centred target.
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

    References
    ----------
    Zou & Hastie 2005, Lemma 1 (the elastic net as a lasso on augmented data).

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> float(relative_gap(X, y, np.array([0.0]), 2.0, 0.0)[0])
    0.0
    """
    active = np.flatnonzero(weights)
    residual = y - X[:, active].astype(np.float64) @ weights[active]
    gradient = (residual.astype(X.dtype) @ X).astype(np.float64)
    squares = l2 * (weights @ weights)
    dual_norm = np.abs(gradient - l2 * weights).max()
    scale = 1.0 if dual_norm <= l1 else l1 / dual_norm
    left = residual @ residual + squares
    primal = 0.5 * left + l1 * np.abs(weights).sum()
    dual = scale * (residual @ y) - 0.5 * scale**2 * left
    return max(primal - dual, 0.0) / (y @ y), gradient


def _solve_active(X, y, signs, l1, l2):
    """Solve the linear system of the given signs; None when it is singular."""
    active = np.flatnonzero(signs)
    weights = np.zeros(len(signs))
    columns = X[:, active].astype(np.float64)
    gram = columns.T @ columns
    gram.flat[:: len(active) + 1] += l2
    try:
        weights[active] = np.linalg.solve(gram, columns.T @ y - l1 * signs[active])
    except np.linalg.LinAlgError:
        return None
    return weights
