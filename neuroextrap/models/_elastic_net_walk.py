"""Which penalty to try next: the way of one target through its grid."""

import numpy as np


def grid_walk(order, n_alphas, patience, max_rise):
    """Walk through a grid of penalties, told each point's error.

    A generator: ``send`` the error of the point it last yielded. The first path goes
    down from the largest penalty. The next one begins where the one before was lowest
    (the absolute penalty there is the same), goes down from there, then up. A
    direction ends further than `patience` points from the path's lowest, or at an
    error above `max_rise` times the lowest.

    Parameters
    ----------
    order : sequence of int
        Ratios in the order of their paths; the sparsest models first are cheapest.
    n_alphas : int
        Number of penalties a ratio, decreasing.
    patience : int
        Points from the lowest that end a direction.
    max_rise : float
        Error relative to the path's lowest that ends a direction. With np.inf, and a
        patience of `n_alphas`, every point is visited.

    Yields
    ------
    ratio, alpha : int
        The next point.
    restart : bool
        Whether to start there from the best solution so far, not from the last.

    Examples
    --------
    >>> walk = grid_walk([1, 0], 5, 2, 1.5)
    >>> point = next(walk)
    >>> for error in (3.0, 2.0, 2.1, 3.5):
    ...     point = walk.send(error)
    >>> point
    (0, 1, True)
    """
    begin = 0
    for ratio in order:
        errors, lowest, best = {}, np.inf, begin
        for first, stop, step in ((begin, n_alphas, 1), (begin - 1, -1, -1)):
            for alpha in range(first, stop, step):
                risen = errors.get(alpha - step, 0.0) > max_rise * lowest
                if risen or abs(alpha - best) > patience:
                    break
                errors[alpha] = yield ratio, alpha, alpha == first
                if errors[alpha] < lowest:
                    lowest, best = errors[alpha], alpha
        begin = best
