"""Which labelings a permutation test compares."""

import warnings
from typing import NamedTuple

import numpy as np

from neuroextrap import stats
from neuroextrap.design._doubts import Doubt
from neuroextrap.design._folds import check_labelings, folds_follow_labels
from neuroextrap.design._labels import row_codes

_COMPARED = 199  # labelings to which the class counts of ready folds are compared
_CONFINED = (
    "cv gives fixed folds whose class counts are more equal than those of folds made "
    "without the labels: labels were exchanged within test folds"
)


class Permuted(NamedTuple):
    """The labelings of a permutation test."""

    #: Class codes, the observed labeling first; (1 + n_permutations, n_samples).
    codes: np.ndarray
    #: Whether the classifier stays as it is, and only labels of test samples move.
    pairing: bool
    #: Doubts about the exchange, and notes on it.
    doubts: tuple = ()
    notes: tuple = ()


def permuted_codes(labels, design, n_permutations, random_state, *, cv=None):
    """Return the observed labeling with its permutations, with doubts and notes.

    There are fewer permutations when there are fewer distinct ones. Labels move within
    groups, and also within test folds if the folds were made from the labels: if `cv`
    depends on them, or gives fixed folds whose class counts are more equal than by
    chance. With one train/test split the classifier can stay as it is: then only the
    labels of test samples are permuted. ValueError when a permuted labeling cannot be
    trained on.
    """
    codes = labels.codes.astype(np.int32)
    if n_permutations == 0:
        return Permuted(codes[None], False)
    pairing = len(design.folds) == 1
    moved = design.test if pairing else np.arange(len(codes))
    follow = folds_follow_labels(labels.codes, cv=cv, groups=labels.groups)
    confined = not pairing and (
        balanced_folds(labels, design) if follow is None else follow
    )
    cells = _cells(labels, design) if confined else labels.groups
    orders = stats.permute_labels(
        codes[moved],
        groups=None if cells is None else cells[moved],
        blocks=None if labels.blocks is None else labels.blocks[moved],
        n_permutations=n_permutations,
        random_state=random_state,
    )
    permuted = np.tile(codes, (len(orders), 1))
    permuted[:, moved] = orders
    if not pairing:
        check_labelings(permuted, design)
    doubts = () if labels.groups is not None else (_without_groups(confined),)
    notes = (_CONFINED,) if confined and follow is None else ()
    return Permuted(np.concatenate([codes[None], permuted]), pairing, doubts, notes)


def balanced_folds(labels, design):
    """Return whether fixed folds have more equal class counts than by chance.

    True if every fold tests its share of every class, to less than one sample, or if at
    most a tenth of freely exchanged labelings are as equal; False if the class counts
    of folds cannot change.
    """
    with warnings.catch_warnings():  # few labelings are enough to compare with
        warnings.simplefilter("ignore", UserWarning)
        others = stats.permute_labels(
            labels.codes,
            groups=labels.groups,
            blocks=labels.blocks,
            n_permutations=_COMPARED,
            random_state=0,
        )
    rows = np.concatenate([labels.codes[None], others])
    sizes = np.array([len(test) for _, test in design.folds])
    unequal, proportional, moves = np.zeros(len(rows)), True, False
    for label in range(design.n_classes):
        of_class = rows == label
        counts = np.stack([of_class[:, test].sum(axis=1) for _, test in design.folds])
        deviation = counts - sizes[:, None] * np.mean(labels.codes == label)
        unequal += (deviation**2).sum(axis=0)
        proportional &= bool((np.abs(deviation[:, 0]) < 1).all())
        moves |= bool((counts != counts[:, :1]).any())
    as_equal = np.mean(unequal[1:] <= unequal[0] * (1 + 1e-9))
    return moves and (proportional or bool(as_equal <= 0.1))


def _without_groups(confined):
    """Return the Doubt that no runs were given, which says where labels move."""
    where = (
        "within the test folds, which cv made from the labels"
        if confined
        else "freely over all samples"
    )
    return Doubt(
        "no runs were given (groups=None), so that labels were exchanged between all "
        "samples as if none belonged together",
        f"groups=None: labels are permuted {where}; if samples were acquired in runs, "
        "give groups so that labels are permuted within runs",
        of_bounds=False,
    )


def _cells(labels, design):
    """Return the group and test folds of every sample as one code, (n_samples,).

    Given the labels and the folds made from them, samples of one cell are exchangeable
    under the null hypothesis; samples of other folds are not, because the folds are
    balanced for the observed labels only.
    """
    tested = np.zeros((len(design.folds), len(labels.codes)), dtype=bool)
    for fold, (_, test) in enumerate(design.folds):
        tested[fold, test] = True
    groups = [] if labels.groups is None else [labels.groups]
    cells = row_codes(*groups, *tested)
    if len(np.unique(row_codes(cells, labels.codes))) == len(np.unique(cells)):
        raise ValueError(
            "no labels can be exchanged: cv made its folds from the labels, and no "
            "test fold of a run holds two classes; leave whole runs out (cv=None), or "
            "use fewer folds"
        )
    units = labels.units
    if units is not None and len(np.unique(row_codes(units, cells))) > units.max() + 1:
        raise ValueError(
            "blocks are split over test folds that cv made from the labels, so that a "
            "block trains and tests; give groups=blocks and "
            "cv=sklearn.model_selection.StratifiedGroupKFold(), or leave runs out"
        )
    return cells
