"""Multi-class shrinkage discriminant analysis as batched margins, exactly."""

import numpy as np

from neuroextrap.margins._operators import (
    fold_rows,
    residual_operators,
    training_counts,
)


class LDAMargins:
    """Out-of-fold linear discriminant analysis with a ridge-shrunk covariance.

    With W the within-class sum of squares of the training samples, m their mean
    and mu_l the mean of class l, the margin of class l at x is
    ``(x - m)' V (mu_l - m) - (mu_l - m)' V (mu_l - m) / 2``, ``V`` the inverse of
    ``W + lambda I``: the log posterior under equal class priors, up to the factor
    1 / (N - K) and a term shared by all classes (N training samples). The penalty
    lambda comes from the region's total, unlabelled scatter, so nothing but K x K
    inverses is left for each fold and labelling; the result equals refitting.

    Parameters
    ----------
    shrinkage : "auto" or float, default "auto"
        "auto": Ledoit-Wolf intensity of the region's scatter; a float multiplies
        the mean scatter of a feature. See `ridge_penalty`.
    priors : {"equal", "frequency"}, default "equal"
        "frequency" adds ``log(class share of the training samples) / (N - K)``.

    See Also
    --------
    ShrinkageLDA : the same rule for one region, with fit and predict.

    References
    ----------
    Hastie, Tibshirani & Buja 1994, "Flexible discriminant analysis by optimal
    scoring", section 3 (discriminant analysis from indicator regression).
    Treder 2019, "Cross-validation in high-dimensional spaces: a lifeline for least
    squares models and multi-class LDA", section 3 (folds without refitting).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Design, Labelings
    >>> x = np.array([[0.0], [1.0], [0.2], [0.8], [0.1], [0.9]])
    >>> folds = (([0, 1, 2, 3], [4, 5]), ([2, 3, 4, 5], [0, 1]))
    >>> design = Design(folds=folds, n_samples=6, n_classes=2)
    >>> kernel = LDAMargins(shrinkage=0.1)
    >>> state = kernel.prepare([x], design)
    >>> margins = kernel.margins(state, Labelings([[0, 1, 0, 1, 0, 1]], 2))
    >>> margins[:, :, 0].argmax(axis=1)
    array([0, 1, 0, 1])
    """

    def __init__(self, *, shrinkage="auto", priors="equal"):
        self.shrinkage = shrinkage
        self.priors = priors

    def prepare(self, xs, design):
        """Compute each region's residual operator and its held-out inverses.

        Parameters
        ----------
        xs : list of ndarray, shape (n_samples, n_features_s)
            Samples of each region.
        design : Design
            Cross-validation folds.

        Returns
        -------
        state : tuple
            The design, the number of regions and their operators; for `margins`.

        Raises
        ------
        TypeError
            If `shrinkage` is neither a string nor a real number.
        ValueError
            If `shrinkage` is negative, not finite or an unknown word, or too small
            for a region; if a region has a wrong shape or is constant; if `priors`
            is unknown.
        """
        if self.priors not in {"equal", "frequency"}:
            raise ValueError(
                f'priors must be "equal" or "frequency", got {self.priors!r}'
            )
        groups = residual_operators(xs, design, shrinkage=self.shrinkage)
        return design, len(xs), groups

    def margins(self, state, labelings):
        """Compute out-of-fold margins of every region and labelling.

        Parameters
        ----------
        state : tuple
            What `prepare` returned, for S regions.
        labelings : Labelings
            B labellings of K classes.

        Returns
        -------
        margins : ndarray of float64, shape (n_test, K, S * B)
            Region-major batch; rows in the order of ``design.test``.

        Raises
        ------
        ValueError
            If a class is absent from the training samples of a fold, or if the
            within-class scatter of one is singular.
        """
        design, n_regions, groups = state
        counts = training_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, n_regions, B))
        for group in groups:
            _fill(margins, group, (design, labelings, counts, self.priors))
        return margins.reshape(len(design.test), K, n_regions * B)


def _fill(margins, group, task):
    """Write the margins of one group of regions, (n_test, K, n_regions, B)."""
    design, labelings, counts, priors = task
    n_train = counts.sum(axis=1, keepdims=True)
    offsets = np.zeros_like(counts)
    if priors == "frequency":
        offsets = np.log(counts / n_train) / (n_train - labelings.n_classes)
    batch = _Batch(group, labelings)
    for fold, (held, rows, out) in enumerate(fold_rows(design)):
        scores = batch.fold_margins(held, group.inverses[fold], counts[fold])
        scores = scores[..., rows].transpose(3, 2, 0, 1) + offsets[fold][:, None]
        if len(group.regions) == margins.shape[2]:
            margins[out] = scores
        else:
            margins[out, :, group.regions] = scores.transpose(2, 0, 1, 3)


class _Batch:
    """Indicators and residuals of B labellings in a group of S regions.

    Arrays here carry the batch first, (S, B, K, ...), where small matrix products
    are fast; only the K x K inverses run with the batch last.
    """

    def __init__(self, group, labelings):
        codes, K = labelings.codes, labelings.n_classes
        shape = (*codes.shape[:1], K, codes.shape[1])
        classes = np.arange(K)[:, None]
        self.indicators = (codes[:, None, :] == classes).astype(float)
        flat = self.indicators.reshape(-1, shape[2])
        self.residuals = group.residuals(flat).reshape(-1, *shape)
        # Y'E of all samples, (S, B, K, K)
        self.scatter = self.indicators @ self.residuals.swapaxes(2, 3)

    def fold_margins(self, held, inverse, counts):
        """Margins of one fold's held-out samples, shape (S, B, K, n_held).

        inverse : (S, n_held, n_held), inverse block of I - H; counts : (K, B).
        """
        residual = np.ascontiguousarray(self.residuals[..., held])
        S, B, K, m = residual.shape
        # rows of indicators: one product per region for all labellings and classes
        unfitted = (residual.reshape(S, B * K, m) @ inverse).reshape(S, B, K, m)
        counts = counts.T
        shares = counts / counts.sum(axis=1, keepdims=True)
        moment = self.scatter - residual @ unfitted.swapaxes(2, 3)
        moment += counts[:, :, None] * shares[:, None, :]
        precision = _inverse(moment)
        predicted = self.indicators[..., held] - unfitted - shares[..., None]
        margins = precision @ predicted
        self_terms = np.diagonal(precision, axis1=2, axis2=3) - 1.0 / counts
        margins -= 0.5 * self_terms[..., None]
        return margins


def _inverse(matrices):
    """Inverses of symmetric positive definite matrices, shape (S, B, K, K).

    Gauss-Jordan sweeps without pivoting, the batch axis last.
    """
    S, B, K, _ = matrices.shape
    a = np.ascontiguousarray(matrices.reshape(S * B, K, K).transpose(1, 2, 0))
    smallest = 10 * K * np.finfo(float).eps * np.einsum("kkb->kb", a)
    for k in range(K):
        pivot = a[k, k].copy()
        if not (pivot > smallest[k]).all():
            raise ValueError(
                "a within-class scatter is singular (or its data not finite); "
                "use a larger shrinkage"
            )
        row = a[k] / pivot
        a -= a[:, k, None] * row
        a[k] = row
        a[:, k] = row
        a[k, k] = -1.0 / pivot
    np.negative(a, out=a)
    return np.ascontiguousarray(a.transpose(2, 0, 1)).reshape(S, B, K, K)
