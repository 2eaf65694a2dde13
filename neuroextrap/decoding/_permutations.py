"""Which labelings a permutation test compares."""

import numpy as np

from neuroextrap import stats
from neuroextrap.decoding._labels import row_codes
from neuroextrap.margins._folds import check_labelings, folds_follow_labels
from neuroextrap.stats._warn import warn


def permuted_codes(labels, design, n_permutations, random_state, *, cv=None):
    """Return the observed codes with their permutations, and whether these only pair.

    Codes have shape (1 + n_permutations, n_samples), the observed labeling first; fewer
    rows when there are fewer distinct ones. Labels move within groups, and within test
    folds too where `cv` made the folds from the labels. With one train/test split the
    classifier can stay as it is: then only the labels of test samples are permuted
    (True). ValueError when a permuted labeling cannot be trained on.
    """
    codes = labels.codes.astype(np.int32)
    if n_permutations == 0:
        return codes[None], False
    pairing = len(design.folds) == 1
    moved = design.test if pairing else np.arange(len(codes))
    follow = folds_follow_labels(labels.codes, cv=cv, groups=labels.groups)
    confined = bool(follow) and not pairing
    if labels.groups is None:
        _warn_about_groups(confined)
    cells = _cells(labels, design) if confined else labels.groups
    if confined and len(np.unique(row_codes(cells, codes))) == len(np.unique(cells)):
        raise ValueError(
            "no labels can be exchanged: cv made its folds from the labels, and no "
            "test fold of a run holds two classes; leave whole runs out (cv=None), or "
            "use fewer folds"
        )
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
        if follow is None:
            _warn_about_counts(codes, permuted, design)
    return np.concatenate([codes[None], permuted]), pairing


def _warn_about_groups(confined):
    """Say between which samples labels are exchanged when no runs are given."""
    where = (
        "within the test folds, which cv made from the labels"
        if confined
        else "freely over all samples"
    )
    warn(
        f"groups=None: labels are permuted {where}; if samples were acquired in runs, "
        "give groups so that labels are permuted within runs"
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
    units = labels.units
    if units is not None and len(np.unique(row_codes(units, cells))) > units.max() + 1:
        raise ValueError(
            "blocks are split over test folds that cv made from the labels, so that a "
            "block trains and tests; give groups=blocks and "
            "cv=sklearn.model_selection.StratifiedGroupKFold(), or leave runs out"
        )
    return cells


def _warn_about_counts(codes, permuted, design):
    """Warn when permuted labels are spread over folds unlike the observed ones."""
    for _, test in design.folds:
        observed, others = codes[test], permuted[:, test]
        if any(
            ((others == label).sum(axis=1) != (observed == label).sum()).any()
            for label in range(design.n_classes)
        ):
            warn(
                "cv is a list of folds, and permuted labels change how many samples of "
                "a class a fold tests: if the folds were made from the labels "
                "(stratified), p-values are too small; give the splitter itself as cv, "
                "or groups within which class counts stay"
            )
            return
