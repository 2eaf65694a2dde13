"""Nearest class mean: sums over features for one labeling, Grams for many."""

import numpy as np

from neuroextrap.margins._operators import centered_gram


class NearestCentroidMargins:
    """Margins of the nearest class mean: 2 x'mu_l - mu_l'mu_l.

    Larger is nearer: this is minus the squared Euclidean distance to the mean of
    class l of the training samples, plus a number that is the same for every class.
    Labels enter only after the Gram matrix of a region is known, so that one region's
    thousand labelings are one matrix product.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Labelings
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> codes = np.array([0, 1, 0, 1])
    >>> x = np.array([[0.0], [1.0], [0.2], [0.8]])
    >>> design = make_design(codes, 2, groups=[1, 1, 2, 2])
    >>> kernel = NearestCentroidMargins()
    >>> state = kernel.prepare([x - x.mean()], design)
    >>> kernel.margins(state, Labelings([codes], 2)).argmax(axis=1).T
    array([[0, 1, 0, 1]])
    """

    def __repr__(self):
        """Name the classifier; part of a checkpoint's identity."""
        return "NearestCentroidMargins()"

    def feature_margins(self, X, codes, design):
        """Return every feature's own margins, to be summed over a region.

        Parameters
        ----------
        X : ndarray, shape (n_samples, n_features)
            Samples in rows.
        codes : ndarray of int, shape (n_samples,)
            Class codes 0..K-1.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        margins : ndarray of float32, shape (n_features, n_test, K)
        """
        features = np.ascontiguousarray(X.T, dtype=np.float32)
        out = np.empty(
            (len(features), len(design.test), design.n_classes), dtype=np.float32
        )
        for start in range(0, len(features), _FEATURES_AT_ONCE):
            some = slice(start, start + _FEATURES_AT_ONCE)
            _additive_margins(features[some], codes, design, out[some])
        return out

    def constant(self, codes, design):
        """Return what is added to a region's margins once: nothing, by a zero array.

        Parameters
        ----------
        codes : ndarray of int, shape (n_samples,)
            Class codes 0..K-1.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        constant : ndarray of float32, shape (n_test, K)
        """
        del codes
        return np.zeros((len(design.test), design.n_classes), dtype=np.float32)

    def costs(self, work, design):
        """Estimate what a task takes by sums over features, and region by region.

        Parameters
        ----------
        work : Work
            What the task has to do.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        by_sums, by_regions : float
            Nanoseconds, to be compared with one another.
        """
        n, n_test, n_classes = design.n_samples, len(design.test), design.n_classes
        by_sums = n_test * work.n_labelings * (10 + 4 * n_classes) * work.n_features
        by_sums += n_test * work.n_labelings * n_classes * work.n_memberships / 4
        by_regions = work.n_memberships * n * (4 + n / 25) + 4e4 * work.n_regions
        products = n_classes * (4 * n_test + n * n / 40)
        return by_sums, by_regions + work.n_regions * work.n_labelings * products

    def prepare(self, xs, design):
        """Return the centered Gram matrices of regions.

        Parameters
        ----------
        xs : sequence of ndarray, each of shape (n_samples, n_features of the region)
            Samples of every region.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        state : tuple of (grams, design)
            Grams are float32 of shape (n_regions, n_samples, n_samples), the samples
            in the design's order.
        """
        grams = np.empty((len(xs), design.n_samples, design.n_samples))
        for gram, x in zip(grams, xs, strict=True):
            gram[:] = centered_gram(x, design.order)
        return grams.astype(np.float32), design

    def margins(self, state, labelings):
        """Return the margins of every region under every labeling.

        Parameters
        ----------
        state : tuple of (grams, design)
            What ``prepare`` returned.
        labelings : Labelings
            A batch of labelings.

        Returns
        -------
        margins : ndarray of float32, shape (n_test, K, n_regions * n_labelings)
        """
        grams, design = state
        one_hot = labelings.ordered_one_hot(design)
        flat = one_hot.reshape(design.n_samples, -1)
        counts = np.tile(labelings.training_counts(design), len(grams))
        equal = counts.min() == counts.max()
        if equal:  # put the factor of the inner products where it costs nothing
            grams = grams * np.float32(2.0 / counts.min())
        products = batch_last(np.matmul(grams, flat), one_hot.shape)
        members = one_hot if len(grams) == 1 else np.tile(one_hot, len(grams))
        total = None
        if not design.is_partition:
            total = np.einsum("tlm,tlm->lm", members, products)
        out = np.empty((len(design.test), *products.shape[1:]), dtype=np.float32)
        for folds, held in design.fold_batches:
            own, cross = rows_of(members, held), rows_of(products, held)
            sums = np.einsum("fhlm,fhlm->flm", own, cross)
            squares = (sums.sum(axis=0) if total is None else total) - sums
            cross = cross - _within(grams, flat, held, one_hot.shape).reshape(
                cross.shape
            )
            squares -= np.einsum("fhlm,fhlm->flm", own, cross)
            _to_margins(cross, squares, counts[folds], equal)
            if total is None and design.tests_in_order:
                return cross.reshape(out.shape)
            for fold, found in zip(folds, cross, strict=True):
                out[design.fold_slices[fold]] = found[design.fold_views[fold][1]]
        return out


def _within(grams, flat, held, shape):
    """Inner products with the sums of held-out samples, shape (F * h, K, M)."""
    products = np.matmul(
        grams[:, held[:, :, None], held[:, None, :]], rows_of(flat, held)
    )
    products = products.reshape(len(grams), held.size, -1)
    return batch_last(products, (held.size, *shape[1:]))


def _to_margins(cross, squares, counts, equal):
    """Turn sums into margins, in place in ``cross``.

    Parameters
    ----------
    cross : ndarray, shape (F, h, K, M)
        Inner products of held-out samples with the sum of a class's training samples.
    squares : ndarray, shape (F, K, M)
        Squared length of that sum.
    counts : ndarray, shape (F, K, M)
        Number of training samples.
    equal : bool
        All counts are the same, and both sums hold the factor 2 / count already.
    """
    if equal:
        squares /= 2.0 * counts
    else:
        squares /= counts
        squares /= counts
        cross *= (2.0 / counts)[:, None]
    cross -= squares[:, None]


def rows_of(array, held):
    """Return the rows of held-out samples, a view when they are all rows in order.

    Parameters
    ----------
    array : ndarray, shape (n_samples, ...)
    held : ndarray of int, shape (F, h)

    Returns
    -------
    ndarray, shape (F, h, ...)
    """
    if held.size == len(array) and (np.diff(held.ravel()) == 1).all():
        return array.reshape(*held.shape, *array.shape[1:])
    return array[held]


def batch_last(stacked, shape):
    """Move a leading region axis behind the labelings: (S, n, K * B) -> (n, K, S * B).

    Parameters
    ----------
    stacked : ndarray, shape (S, n, K * B)
    shape : tuple
        (n, K, B).

    Returns
    -------
    ndarray, shape (n, K, S * B)
        Region-major: column s * B + b. A view when there is one region.
    """
    n, n_classes, n_labelings = shape
    split = stacked.reshape(len(stacked), n, n_classes, n_labelings)
    return np.moveaxis(split, 0, 2).reshape(n, n_classes, -1)


# features whose margins of one fold stay in the cache
_FEATURES_AT_ONCE = 2048


def _additive_margins(features, codes, design, out):
    """Fill (n_features, n_test, K) with (2 x - mu) mu, fold by fold."""
    n_classes = design.n_classes
    everything = np.arange(design.n_samples)
    total = _class_sums(features, codes, everything, n_classes)
    counts = np.bincount(codes, minlength=n_classes)
    folds = zip(design.folds, design.held_out, design.fold_slices, strict=True)
    for (_, test), held, rows in folds:
        n_train = counts - np.bincount(codes[held], minlength=n_classes)
        sums = total - _class_sums(features, codes, held, n_classes)
        means = np.tile((sums / n_train).astype(np.float32), (1, len(test)))
        # one long row a feature: test points x classes
        found = np.repeat(2.0 * features[:, test], n_classes, axis=1)
        found -= means
        found *= means
        out[:, rows] = found.reshape(len(features), len(test), n_classes)


def _class_sums(features, codes, samples, n_classes):
    """Sum every feature (rows) over some samples of each class, in float64."""
    ordered = samples[np.argsort(codes[samples], kind="stable")]
    present, starts = np.unique(codes[ordered], return_index=True)
    sums = np.zeros((len(features), n_classes))
    sums[:, present] = np.add.reduceat(
        features[:, ordered], starts, axis=1, dtype=np.float64
    )
    return sums
