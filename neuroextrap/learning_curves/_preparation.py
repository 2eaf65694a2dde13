"""Preparation of scans before any model sees them; labels are never used."""

import numpy as np


def center_groups(X, groups):
    """Subtract from every scan the mean scan of its subject.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Scans.
    groups : array-like of shape (n_samples,)
        Subject of every scan.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        A new array. Each subject's mean uses that subject alone, so test subjects
        stay independent of training ones.

    Raises
    ------
    ValueError
        For a subject with a single scan, of which nothing would be left.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, "Data sets and CVA labeling schemes".

    Examples
    --------
    >>> from neuroextrap.learning_curves import center_groups
    >>> center_groups([[1.0], [3.0], [10.0], [20.0]], [0, 0, 1, 1]).ravel()
    array([-1.,  1., -5.,  5.])
    """
    X = np.asarray(X, dtype=np.float64)
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"group {names.tolist()[np.argmin(counts)]!r} has one scan: removing its "
            "mean leaves nothing; use center=None"
        )
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    sums = np.add.reduceat(X[order], starts, axis=0)
    return X - (sums / counts[:, None])[codes]


def scale_scans(X):
    """Divide every scan by its mean over the features (voxels of the mask).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Scans in positive units, such as counts or raw BOLD.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        A new array whose rows have mean one.

    Raises
    ------
    ValueError
        For a scan whose mean is not clearly positive (contrasts, centered data), where
        the division would be meaningless.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, "Data sets and CVA labeling schemes".

    Examples
    --------
    >>> from neuroextrap.learning_curves import scale_scans
    >>> scale_scans([[1.0, 3.0], [10.0, 30.0]])
    array([[0.5, 1.5],
           [0.5, 1.5]])
    """
    X = np.asarray(X, dtype=np.float64)
    means, sizes = X.mean(axis=1), np.abs(X).mean(axis=1)
    unusable = means <= 1e-2 * sizes
    if unusable.any():
        raise ValueError(
            f"scan {int(np.argmax(unusable))} has mean {means[unusable][0]:.3g}: scans "
            "can be divided by their mean only when it is clearly positive; use "
            "scale=None for contrasts or centered data"
        )
    return X / means[:, None]


def balanced_scans(y, groups, *, per_label=2):
    """Return the rows of the first `per_label` scans of each label and subject.

    Scans come in the order in which they were made, and so do the rows.
    """
    y, groups = np.asarray(y), np.asarray(groups)
    chosen = []
    for group in np.unique(groups).tolist():
        for label in np.unique(y).tolist():
            rows = np.flatnonzero((groups == group) & (y == label))
            if len(rows) < per_label:
                raise ValueError(
                    f"group {group!r} has {len(rows)} scans labeled {label!r}; "
                    f"per_label={per_label} must be at most that; use a smaller one"
                )
            chosen.append(rows[:per_label])
    return np.sort(np.concatenate(chosen))
