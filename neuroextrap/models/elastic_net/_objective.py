"""Objective and duality gap of an elastic net from a few sums.

Plain functions of numbers or arrays; ``_acceleration`` compiles these same functions.
With q = X'y and g = X'(y - Xw), `sums` are w'q, w'g, |w|_1 and |w|^2.
"""


def objective(sums, l1, l2):
    """Value to minimize, 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2, less 1/2 y'y."""
    fitted, left, absolute, squares = sums
    return -0.5 * (fitted + left) + l1 * absolute + 0.5 * l2 * squares


def duality_gap(sums, dual_norm, norm, l1, l2):
    """Bound the excess of the objective over its minimum.

    `dual_norm` is max |g - l2 w|, `norm` is y'y. (Zou & Hastie 2005, Lemma 1: the
    elastic net as a lasso on augmented data.)

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
