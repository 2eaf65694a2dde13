"""What holds on the active set: exact solutions, their gaps, degrees of freedom."""

import numpy as np

MAX_ROUNDS = 20
# relative gap of a system that was solved exactly; nearly singular ones are not
_EXACT = 1e-10


class FeatureProblems:
    """Targets given by features: nothing of size n_features squared is needed.

    `X` of shape (n_samples, n_features), best contiguous in its columns, and `Y` of
    shape (n_targets, n_samples) are centered; `Y` is float64.
    """

    def __init__(self, X, Y):
        self.X, self.Y = X, Y
        self.norm = (Y**2).sum(axis=1)

    def system(self, v, active):
        """X'X and X'y of the active features, float64."""
        columns = self.X.T[active].astype(np.float64)
        return columns @ columns.T, columns @ self.Y[v]

    def fitted(self, which, weights):
        """Return X'(y - Xw) of all features, w'X'y and w'X'(y - Xw).

        Of the targets `which` (n,) with coefficients `weights` (n, n_features).
        """
        predictions = np.empty((len(which), len(self.X)))
        for prediction, w in zip(predictions, weights, strict=True):
            active = np.flatnonzero(w)
            prediction[:] = w[active] @ self.X.T[active].astype(np.float64)
        residuals = self.Y[which] - predictions
        gradient = (residuals.astype(self.X.dtype) @ self.X).astype(np.float64)
        fitted = (predictions * self.Y[which]).sum(axis=1)
        return gradient, fitted, (predictions * residuals).sum(axis=1)


class GramProblems:
    """Targets given by products; cheaper where there are fewer features than samples.

    `gram` is X'X in float64, `products` X'y of shape (n_targets, n_features), `norm`
    y'y of shape (n_targets,).
    """

    def __init__(self, gram, products, norm):
        self.gram, self.products, self.norm = gram, products, norm

    def system(self, v, active):
        """X'X and X'y of the active features."""
        return self.gram[active[:, None], active], self.products[v, active]

    def fitted(self, which, weights):
        """Return X'(y - Xw) of all features, w'X'y and w'X'(y - Xw), as above."""
        products = self.products[which]
        gradient = products - weights @ self.gram
        fitted = (weights * products).sum(axis=1)
        return gradient, fitted, (weights * gradient).sum(axis=1)


def polish(problems, weights, l1, l2):
    """Minimize 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2 exactly, in float64.

    With the support and the signs fixed the elastic net is a linear system. Features
    whose sign flips leave, features that break their optimality condition enter, until
    none does (feature-sign search: Lee, Battle, Raina & Ng 2007, "Efficient sparse
    coding algorithms"; Zou & Hastie 2005, eq. 3). From nearly optimal `weights` of
    shape (n_targets, n_features), and penalties of shape (n_targets,), returns the best
    round of each target by duality gap, or its start if none is better (all are
    singular, or nearly so), and the gaps relative to y'y. A round's gradients of all
    targets are one product.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> problems = FeatureProblems(X, np.array([[2.0, 0.1, -2.1]]))
    >>> start = np.array([[1.0, 0.0]])
    >>> polish(problems, start, np.array([0.5]), np.array([0.0]))[0]
    array([[1.8, 0. ]])
    """
    signs = np.sign(weights).astype(np.float64)
    best, best_gap = np.array(weights, dtype=np.float64), np.full(len(weights), np.inf)
    which = np.arange(len(weights))
    for _ in range(MAX_ROUNDS):
        found = [_solve_signs(problems, v, signs[v], l1[v], l2[v]) for v in which]
        regular = np.array([values is not None for values in found], dtype=bool)
        which = which[regular]
        if not which.size:
            break
        solved = np.stack([values for values in found if values is not None])
        flipped = solved * signs[which] < 0
        trial = np.where(flipped, 0.0, solved)
        gap, gradient = relative_gap(problems, which, trial, l1[which], l2[which])
        better = gap <= best_gap[which]
        best[which[better]], best_gap[which[better]] = trial[better], gap[better]
        limit = l1[which, None] * (1 + 1e-10)
        entering = (signs[which] == 0) & (np.abs(gradient) > limit)
        signs[which] = np.where(flipped, 0.0, signs[which])
        signs[which] = np.where(entering, np.sign(gradient), signs[which])
        which = which[(flipped | entering).any(axis=1)]
    poor = np.flatnonzero(best_gap > _EXACT)  # or there was none, and it is infinite
    if poor.size:
        start = np.array(weights[poor], dtype=np.float64)
        gap = relative_gap(problems, poor, start, l1[poor], l2[poor])[0]
        better = gap < best_gap[poor]
        best[poor[better]], best_gap[poor[better]] = start[better], gap[better]
    return best, best_gap


def relative_gap(problems, which, weights, l1, l2):
    """Duality gaps relative to y'y (n,), and the gradients X'(y - Xw) (n, n_features).

    Of the targets `which` (n,). A gap is at least the excess of the objective over its
    minimum.
    """
    gradient, fitted, left = problems.fitted(which, weights)
    dual_norm = np.abs(gradient - l2[:, None] * weights).max(axis=1)
    gaps = np.empty(len(which))
    for i, v in enumerate(which):
        w = weights[i]
        sums = fitted[i], left[i], np.abs(w).sum(), w @ w
        gap = duality_gap(sums, dual_norm[i], problems.norm[v], l1[i], l2[i])
        gaps[i] = max(gap, 0.0) / problems.norm[v]
    return gaps, gradient


def duality_gap(sums, dual_norm, norm, l1, l2):
    """Bound the excess of the objective over its minimum.

    With q = X'y and g = X'(y - Xw), `sums` are w'q, w'g, |w|_1 and |w|^2, `dual_norm`
    is max |g - l2 w| and `norm` is y'y. (Zou & Hastie 2005, Lemma 1: the elastic net as
    a lasso on augmented data.) A plain function, which ``_acceleration`` compiles.

    >>> duality_gap((0.0, 0.0, 0.0, 0.0), 2.0, 2.0, 2.0, 0.0)
    0.0
    """
    fitted, left, absolute, squares = sums
    # the residual, shrunk where necessary, is a feasible point of the dual problem
    scale = 1.0 if dual_norm <= l1 else l1 / dual_norm
    residual = norm - fitted - left
    primal = 0.5 * residual + l1 * absolute + 0.5 * l2 * squares
    dual = scale * (norm - fitted) - 0.5 * scale**2 * (residual + l2 * squares)
    return primal - dual


def _solve_signs(problems, v, signs, l1, l2):
    """Solve the linear system of the given signs; None when it is singular."""
    active = np.flatnonzero(signs)
    weights = np.zeros(len(signs))
    gram, right = problems.system(v, active)
    gram.flat[:: len(active) + 1] += l2
    try:
        weights[active] = np.linalg.solve(gram, right - l1 * signs[active])
    except np.linalg.LinAlgError:
        return None
    return weights
