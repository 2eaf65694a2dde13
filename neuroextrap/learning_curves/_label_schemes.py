"""Label schemes: coarse, fine and agnostic labels of the same scans."""

import numpy as np

from neuroextrap.learning_curves._information import check_priors


def agnostic_labels(groups):
    """Label every scan by its place within its subject: 0, 1, 2, ...

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Subject of every scan; scans in the order in which they were made.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        Number of earlier scans of the same subject.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, "Mutual information for hierarchical label
    sets".

    Examples
    --------
    >>> from neuroextrap.learning_curves import agnostic_labels
    >>> agnostic_labels(["s1", "s1", "s2", "s1", "s2"])
    array([0, 1, 0, 2, 1])
    """
    groups = np.asarray(groups)
    labels = np.empty(len(groups), dtype=np.intp)
    for group in np.unique(groups):
        in_group = groups == group
        labels[in_group] = np.arange(in_group.sum())
    return labels


def coarse_of_fine(fine, coarse):
    """Find the coarse label that every fine label belongs to.

    Parameters
    ----------
    fine : array-like of shape (n_samples,)
        Fine label of every scan.
    coarse : array-like of shape (n_samples,)
        Coarse label of the same scans.

    Returns
    -------
    ndarray of int of shape (n_fine,)
        Column number of the coarse label of each fine one, both sorted.

    Raises
    ------
    ValueError
        If a fine label belongs to two coarse ones.

    Examples
    --------
    >>> from neuroextrap.learning_curves import coarse_of_fine
    >>> coarse_of_fine(["a1", "b1", "a2", "b2"], ["a", "b", "a", "b"])
    array([0, 0, 1, 1])
    """
    fine_names, fine_codes = np.unique(fine, return_inverse=True)
    coarse_names, coarse_codes = np.unique(coarse, return_inverse=True)
    table = np.zeros((len(fine_names), len(coarse_names)), dtype=bool)
    table[fine_codes, coarse_codes] = True
    split = table.sum(axis=1) > 1
    if split.any():
        raise ValueError(
            f"the fine label {fine_names[split].tolist()[0]!r} belongs to several "
            f"coarse labels ({coarse_names[table[split][0]].tolist()}); give "
            "nested schemes"
        )
    return np.argmax(table, axis=1)


def fine_probabilities(probabilities, mapping, fine_priors):
    """Translate predictions of coarse labels into predictions of fine labels.

    Each coarse label's probability is divided among its fine labels in proportion to
    their priors, which leaves the information unchanged: models of different label
    schemes can be compared in bits.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_coarse)
        Predicted p(coarse|x).
    mapping : array-like of int of shape (n_fine,)
        Column number of the coarse label of each fine one.
    fine_priors : array-like of shape (n_fine,)
        Known probabilities of the fine labels.

    Returns
    -------
    ndarray of shape (n_samples, n_fine)
        ``p(coarse|x) p(fine) / p(coarse)``.

    Raises
    ------
    ValueError
        If the mapping does not fit, or priors are no probabilities.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eq. 13 (which spreads evenly: the same thing
    for equal fine priors only).

    Examples
    --------
    >>> from neuroextrap.learning_curves import fine_probabilities
    >>> fine_probabilities([[0.8, 0.2]], [0, 0, 1, 1], [0.25] * 4)
    array([[0.4, 0.4, 0.1, 0.1]])
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    mapping = np.asarray(mapping)
    n_coarse = probabilities.shape[-1]
    priors = check_priors(fine_priors, len(mapping))
    if set(mapping.tolist()) != set(range(n_coarse)):
        raise ValueError(
            f"mapping must name each of the coarse columns 0..{n_coarse - 1}, got "
            f"{mapping.tolist()}; make it with coarse_of_fine"
        )
    coarse_priors = np.bincount(mapping, weights=priors)
    return probabilities[..., mapping] * (priors / coarse_priors[mapping])
