"""Objective and duality gap of an elastic net from a few sums.

Numbers or arrays; the compiled solvers compile these same functions.
"""


def duality_gap(sums, scale, norm, l1, l2):
    """Duality gap of 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2.

    Parameters
    ----------
    sums : tuple of float or ndarray
        With q = X'y and g = X'(y - Xw): w'q, w'g, |w|_1 and |w|^2.
    scale : float or ndarray
        What makes the residual a feasible dual point: l1 over the largest of l1 and
        |g - l2 w|.
    norm : float or ndarray
        y'y.
    l1, l2 : float or ndarray
        Penalties.

    Returns
    -------
    gap : float or ndarray
        At least the excess of the objective over its minimum.

    References
    ----------
    Zou & Hastie 2005, Lemma 1 (the elastic net as a lasso on augmented data).

    Examples
    --------
    >>> duality_gap((0.0, 0.0, 0.0, 0.0), 1.0, 2.0, 2.0, 0.0)
    0.0
    """
    fitted, left, absolute, squares = sums
    residual = norm - fitted - left
    primal = 0.5 * residual + l1 * absolute + 0.5 * l2 * squares
    dual = scale * (norm - fitted) - 0.5 * scale**2 * (residual + l2 * squares)
    return primal - dual


def objective(sums, l1, l2):
    """Value to minimize, up to 1/2 y'y, from the sums of `duality_gap`."""
    fitted, left, absolute, squares = sums
    return -0.5 * (fitted + left) + l1 * absolute + 0.5 * l2 * squares
