"""Labels of the samples, and what the lower bounds need of the cross-validation."""

from typing import NamedTuple

import numpy as np

from neuroextrap.analysis._region_run import POPULATION_NOTE, BoundDesign
from neuroextrap.margins._folds import fold_weightings
from neuroextrap.margins._wins import class_weights
from neuroextrap.stats import TestDesign
from neuroextrap.stats._labels import check_labels


class Labels(NamedTuple):
    """Labels of the n_kept samples that are analyzed, and which these are."""

    codes: np.ndarray  # class codes 0..K-1 of shape (n_kept,)
    classes: np.ndarray  # the class of every code of shape (K,)
    groups: np.ndarray | None  # runs of shape (n_kept,)
    blocks: np.ndarray | None  # what moves together in permutations, (n_kept,)
    keep: np.ndarray  # whether a sample is analyzed of shape (n_samples,)

    @property
    def units(self):
        """Number of the block of every sample, (n_kept,); None without blocks.

        Blocks are numbered within groups, as in permutations.
        """
        if self.blocks is None:
            return None
        return row_codes(self.blocks, *([] if self.groups is None else [self.groups]))


def row_codes(*columns):
    """Return one code per distinct combination of values, shape (n_samples,)."""
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    return np.unique(np.stack(coded), axis=1, return_inverse=True)[1].ravel()


def code_labels(y, classes, groups, blocks):
    """Turn labels into codes, and leave out classes that are not asked for.

    `y`, `groups` and `blocks` have shape (n_samples,); the latter two and `classes` may
    be None. ValueError when lengths differ, a class is not there, or fewer than two
    are left.
    """
    y = check_labels(y, "y")
    groups, blocks = _checked(groups, "groups", y), _checked(blocks, "blocks", y)
    present = np.unique(y)
    chosen = present if classes is None else np.unique(check_labels(classes, "classes"))
    unknown = np.setdiff1d(chosen, present)
    if len(unknown):
        raise ValueError(
            f"classes has {unknown.tolist()[:5]}, which y does not; choose of "
            f"{present.tolist()[:10]}"
        )
    if len(chosen) < 2:
        raise ValueError(
            f"y has {len(chosen)} class ({chosen.tolist()}); give at least two classes"
        )
    keep = np.isin(y, chosen)
    return Labels(
        codes=np.searchsorted(chosen, y[keep]),
        classes=chosen,
        groups=None if groups is None else groups[keep],
        blocks=None if blocks is None else blocks[keep],
        keep=keep,
    )


def _checked(values, name, y):
    """Return runs or blocks of the samples, or None; raise unless they fit."""
    if values is None:
        return None
    if np.shape(values) != y.shape:
        raise ValueError(
            f"{name} has shape {np.shape(values)}, y has {y.shape}; give one entry "
            "for every sample"
        )
    return check_labels(values, name)


def bound_design(labels, design, *, automatic_penalty, confidence_level):
    """Find out whether and how the lower bounds hold for a cross-validation.

    Every fold must test every class: a rule that predicts the class rarest in training
    would otherwise score 1 on labels that say nothing. Where samples come in blocks
    that depend on one another within, a block is one test unit, however many samples it
    has. `automatic_penalty` says that the classifier's penalty comes from all samples,
    test points included.
    """
    codes, units = labels.codes, labels.units
    weightings, repeats = fold_weightings(codes, design, units)
    none = np.empty((0, len(design.test)))
    if units is not None and _are_split(units, design):
        note = (
            "no lower bounds: a block has samples in training and test set of one "
            "fold, which the bounds take to be independent"
        )
        return BoundDesign(None, none, (note,))
    if not repeats.all():
        note = (
            "no lower bounds: a fold does not test every class, so that accuracy says "
            "nothing of the Bayes accuracy"
        )
        return BoundDesign(None, none, (note,))
    notes = []
    if automatic_penalty:
        notes.append(
            "the bounds assume a penalty fixed without the test points, but "
            "shrinkage='auto' takes it from all samples (no label enters); for bounds "
            "that hold to the letter give shrinkage a number"
        )
    notes.append(POPULATION_NOTE.format(classes="classes"))
    tested = TestDesign(design.n_classes, repeats, confidence_level=confidence_level)
    if tested.is_vacuous:
        notes.append(
            f"average_bayes_accuracy_bound is at chance everywhere: with "
            f"{design.n_classes} classes even perfect accuracy says too little of "
            "classes that were not drawn; read bayes_accuracy_bound, which holds for "
            "the given classes"
        )
    share = repeats.sum(axis=1) / repeats.sum()
    weighting = share @ weightings
    pooled = class_weights(codes[design.test][:, None], design.n_classes)[:, 0]
    same = np.allclose(weighting, pooled, rtol=1e-9, atol=0)
    return BoundDesign(repeats, none if same else weighting[None], tuple(notes))


def _are_split(units, design):
    """Return whether a fold trains and tests on samples of one unit."""
    return any(np.isin(units[test], units[train]).any() for train, test in design.folds)
