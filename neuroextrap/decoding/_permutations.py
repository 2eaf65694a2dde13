"""Which labelings a permutation test compares."""

import warnings

import numpy as np

from neuroextrap import stats
from neuroextrap.margins._folds import check_labelings


def permuted_codes(labels, design, n_permutations, random_state):
    """Return the observed codes and their permutations.

    Parameters
    ----------
    labels : Labels
    design : Design
    n_permutations : int
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    codes : ndarray of int, shape (1 + n_permutations, n_samples)
        The observed labeling first; fewer rows when there are fewer distinct ones.
    pairing : bool
        Whether only the labels of test samples are permuted: with one train/test split,
        where the classifier can stay as it is.

    Raises
    ------
    ValueError
        When a permuted labeling cannot be trained on.
    """
    codes = labels.codes.astype(np.int32)
    if n_permutations == 0:
        return codes[None], False
    if labels.groups is None:
        warnings.warn(
            "groups=None: labels are permuted freely over all samples; if samples were "
            "acquired in runs, give groups so that labels are permuted within runs",
            stacklevel=4,
        )
    pairing = len(design.folds) == 1
    moved = design.test if pairing else np.arange(len(codes))
    permuted = np.tile(codes, (n_permutations, 1))
    found = stats.permute_labels(
        codes[moved],
        groups=None if labels.groups is None else labels.groups[moved],
        blocks=None if labels.blocks is None else labels.blocks[moved],
        n_permutations=n_permutations,
        random_state=random_state,
    )
    permuted = permuted[: len(found)]
    permuted[:, moved] = found
    if not pairing:
        check_labelings(permuted, design)
    return np.concatenate([codes[None], permuted]), pairing
