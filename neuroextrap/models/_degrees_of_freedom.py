"""Degrees of freedom that elastic nets spend."""

import numpy as np


def elastic_net_degrees_of_freedom(X, coef, alpha, l1_ratio):
    """Count the degrees of freedom of fitted elastic nets, intercept included.

    On the active set A the fit is linear in y: df = 1 + trace(X_A (X_A'X_A + l2 I)^-1
    X_A') with l2 = N alpha (1 - l1_ratio), an unbiased estimate given the penalties.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Training features.
    coef : ndarray, shape (n_targets, n_features)
        Coefficients.
    alpha, l1_ratio : ndarray, shape (n_targets,)
        Penalties in scikit-learn's scale.

    Returns
    -------
    degrees_of_freedom : ndarray, shape (n_targets,)
        From 1 (an empty model) to `n_samples`.

    References
    ----------
    Tibshirani & Taylor 2012, "Degrees of freedom in lasso problems", section 3;
    Zou, Hastie & Tibshirani 2007.

    Examples
    --------
    >>> import numpy as np
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
