"""Gaussian naive Bayes as batched margins: sums over features."""

import numpy as np

from neuroextrap.margins._operators import check_regions, checked_counts

FEATURES = 1024  # features handled together for one labeling; changes no result
REGION_FEATURES = 256  # the same for many labelings
LABELINGS = 64  # labelings handled together


class GaussianNBMargins:
    """Out-of-fold log densities of independent Gaussian features.

    The margin of class l is the sum over features of
    ``-((x - mean_l)**2 / var_l + log var_l) / 2``, plus the log prior of the class
    once. Means and variances (divided by the count) are those of the class's training
    samples. A constant feature adds nothing.

    Parameters
    ----------
    variance_floor : float, default 1e-3
        No class variance falls below this multiple of the feature's variance over
        all samples, which no label enters. With 0, a feature that is constant within
        a class is an error.
    priors : {"frequency", "equal"}, default "frequency"
        "frequency": share of the class among the training samples.

    See Also
    --------
    NaiveBayesClassifier : The same rule for one region, with fit and predict.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 6.6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Design, Labelings
    >>> x = np.array([[0.0], [1.0], [0.2], [0.8], [0.1], [0.9]])
    >>> folds = (([0, 1, 2, 3], [4, 5]), ([2, 3, 4, 5], [0, 1]))
    >>> design = Design(folds=folds, n_samples=6, n_classes=2)
    >>> kernel = GaussianNBMargins()
    >>> state = kernel.prepare([x], design)
    >>> margins = kernel.margins(state, Labelings([[0, 1, 0, 1, 0, 1]], 2))
    >>> margins[:, :, 0].argmax(axis=1)
    array([0, 1, 0, 1])
    """

    def __init__(self, *, variance_floor=1e-3, priors="frequency"):
        self.variance_floor = variance_floor
        self.priors = priors

    def __repr__(self):
        """Name the kernel and its options."""
        return (
            f"GaussianNBMargins(variance_floor={self.variance_floor!r}, "
            f"priors={self.priors!r})"
        )

    def feature_margins(self, X, codes, design):
        """Compute every feature's own margins, to be summed over a region.

        Parameters
        ----------
        X : ndarray, shape (n_samples, n_features)
            All features at once.
        codes : ndarray of int, shape (n_samples,)
            Class codes 0..K-1.
        design : Design
            Cross-validation folds.

        Returns
        -------
        margins : ndarray of float32, shape (n_features, n_test, K)
            Log densities; the log prior is in `constant`.

        Raises
        ------
        ValueError
            If an option is out of range, a class is absent from the training samples
            of a fold, or a class variance is zero with ``variance_floor=0``.
        """
        self._check()
        members, counts = _members(codes, design)
        n_features = X.shape[1]
        margins = np.empty(
            (n_features, len(design.test), design.n_classes), dtype=np.float32
        )
        for start in range(0, n_features, FEATURES):
            block = slice(start, start + FEATURES)
            x, floor = self._features(X[:, block])
            statistics = _statistics(x, floor, members, counts, design)
            for fold, (mean, variance) in enumerate(statistics):
                test = x[design.folds[fold][1]].T.astype(np.float32)
                part = margins[block, design.fold_slices[fold]]
                _log_density(test, mean, variance, out=part)
        return margins

    def constant(self, codes, design):
        """Compute the log prior, added once per region.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Class codes 0..K-1.
        design : Design
            Cross-validation folds.

        Returns
        -------
        constant : ndarray of float32, shape (n_test, K)

        Raises
        ------
        ValueError
            If an option is out of range or a class is absent from the training
            samples of a fold.
        """
        self._check()
        _, counts = _members(codes, design)
        return self._log_priors(counts)[design.fold_of_test].astype(np.float32)

    def costs(self, work, design):
        """Estimate what a task takes by sums over features, and region by region.

        Parameters
        ----------
        work : Work
            What the task has to do.
        design : Design
            Cross-validation folds.

        Returns
        -------
        by_sums, by_regions : float
            Nanoseconds, to be compared with one another.
        """
        n_test, n_classes = len(design.test), design.n_classes
        by_sums = n_test * work.n_labelings * (45 + 5 * n_classes) * work.n_features
        by_sums += n_test * work.n_labelings * n_classes * work.n_memberships / 4
        classes = len(design.folds) * n_classes * work.n_labelings
        by_regions = 15 * classes * work.n_memberships
        by_regions += 8 * n_test * n_classes * work.n_labelings * work.n_regions
        batches = np.ceil(work.n_labelings / LABELINGS) * work.n_regions
        return by_sums, by_regions + 2.5e4 * len(design.folds) * batches

    def prepare(self, xs, design):
        """Check the options and the regions; nothing is computed without labels.

        Parameters
        ----------
        xs : list of ndarray, shape (n_samples, n_features_s)
            Samples of each region.
        design : Design
            Cross-validation folds.

        Returns
        -------
        state : tuple
            The design and the samples; for `margins`.

        Raises
        ------
        ValueError
            If an option is out of range or a region has a wrong shape.
        """
        self._check()
        check_regions(xs, design)
        return design, xs

    def margins(self, state, labelings):
        """Compute out-of-fold margins of every region and labeling.

        Parameters
        ----------
        state : tuple
            What `prepare` returned, for S regions.
        labelings : Labelings
            B labelings of K classes.

        Returns
        -------
        margins : ndarray of float64, shape (n_test, K, S * B)
            Region-major batch; rows in the order of ``design.test``.

        Raises
        ------
        ValueError
            If a class is absent from the training samples of a fold, or a class
            variance is zero with ``variance_floor=0``.
        """
        design, regions = state
        counts = checked_counts(design, labelings)
        members = labelings.one_hot(np.float64)
        n, K, B = members.shape
        priors = self._log_priors(counts)
        margins = np.empty((len(design.test), K, len(regions), B))
        for start in range(0, B, LABELINGS):
            part = slice(start, start + LABELINGS)
            flat = members[:, :, part].reshape(n, -1)
            flat_counts = counts[:, :, part].reshape(len(counts), -1)
            for s, x in enumerate(regions):
                scores = self._region_scores(x, flat, flat_counts, design)
                margins[:, :, s, part] = scores.reshape(len(scores), K, -1)
        margins += priors[design.fold_of_test][:, :, None]
        return margins.reshape(len(design.test), K, -1)

    def _region_scores(self, x, members, counts, design):
        """Sum log densities over a region's features, shape (n_test, c)."""
        scores = np.zeros((len(design.test), members.shape[1]))
        for start in range(0, x.shape[1], REGION_FEATURES):
            some, floor = self._features(x[:, start : start + REGION_FEATURES])
            statistics = _statistics(some, floor, members, counts, design)
            for fold, (mean, variance) in enumerate(statistics):
                test = some[design.folds[fold][1]]
                rows = design.fold_slices[fold]
                scores[rows] += _region_log_density(test, mean, variance)
        return scores

    def _check(self):
        """Raise unless the options are in range."""
        if not 0 <= self.variance_floor < np.inf:
            raise ValueError(
                f"variance_floor must be finite and >= 0, got {self.variance_floor!r}"
            )
        if self.priors not in {"equal", "frequency"}:
            raise ValueError(
                f'priors must be "equal" or "frequency", got {self.priors!r}'
            )

    def _features(self, x):
        """Center features and return their least class variance, (n_features,)."""
        x = np.asarray(x, dtype=float)
        x = x - x.mean(axis=0)
        variance = np.square(x).mean(axis=0)
        # a constant feature gets variance 1 in every class: log density 0
        return x, np.where(variance > 0, self.variance_floor * variance, 1.0)

    def _log_priors(self, counts):
        """Log prior of each class, the shape of `counts` (F, K, ...)."""
        if self.priors == "equal":
            return np.full(counts.shape, -np.log(counts.shape[1]))
        return np.log(counts / counts.sum(axis=1, keepdims=True))


def _members(codes, design):
    """Return indicators (n_samples, K) and training counts (F, K) of one labeling."""
    from neuroextrap.margins._design import Labelings

    labelings = Labelings(np.asarray(codes)[None], design.n_classes)
    counts = checked_counts(design, labelings)
    return labelings.one_hot(np.float64)[:, :, 0], counts[:, :, 0]


def _statistics(x, floor, members, counts, design):
    """Yield means and variances of the training samples, fold by fold.

    x : (n, p); floor : (p,); members : (n, c), the columns classes or classes times
    labelings; counts : (F, c). Each yielded array is (p, c).
    """
    squares = x * x
    sums, square_sums = x.T @ members, squares.T @ members
    for fold, (held, _) in enumerate(design.fold_views):
        mean = (sums - x[held].T @ members[held]) / counts[fold]
        variance = (square_sums - squares[held].T @ members[held]) / counts[fold]
        variance -= mean * mean
        np.maximum(variance, floor[:, None], out=variance)
        if not variance.min() > 0:
            raise ValueError(
                "a feature does not vary within a class of training samples; use "
                "variance_floor > 0"
            )
        yield mean, variance


def _log_density(test, mean, variance, *, out):
    """Write log densities of each feature; test (p, m), the others (p, K)."""
    precision = (-0.5 / variance).astype(np.float32)
    level = (-0.5 * np.log(variance)).astype(np.float32)
    np.subtract(test[:, :, None], mean.astype(np.float32)[:, None], out=out)
    out *= out
    out *= precision[:, None]
    out += level[:, None]


def _region_log_density(test, mean, variance):
    """Log density summed over features: test (m, p), the others (p, c) -> (m, c)."""
    level = np.log(variance).sum(axis=0)
    precision = np.divide(1.0, variance, out=variance)
    weighted = mean * precision
    level += np.einsum("pc,pc->c", mean, weighted)
    scores = 2.0 * (test @ weighted) - (test * test) @ precision
    return 0.5 * (scores - level)
