"""Which labelings a permutation test compares."""

import warnings

import numpy as np

from neuroextrap import stats
from neuroextrap.margins._folds import check_labelings


def permuted_codes(labels, design, n_permutations, random_state):
    """Return the observed codes with their permutations, and whether these only pair.

    Codes have shape (1 + n_permutations, n_samples), the observed labeling first; fewer
    rows when there are fewer distinct ones. With one train/test split the classifier
    can stay as it is: then only the labels of test samples are permuted (True).
    ValueError when a permuted labeling cannot be trained on.
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
    orders = stats.permute_labels(
        codes[moved],
        groups=None if labels.groups is None else labels.groups[moved],
        blocks=None if labels.blocks is None else labels.blocks[moved],
        n_permutations=n_permutations,
        random_state=random_state,
    )
    permuted = np.tile(codes, (len(orders), 1))
    permuted[:, moved] = orders
    if not pairing:
        check_labelings(permuted, design)
    return np.concatenate([codes[None], permuted]), pairing
