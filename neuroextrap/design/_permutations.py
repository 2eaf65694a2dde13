"""Which labelings a permutation test compares, and strata to exchange within."""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from neuroextrap import stats
from neuroextrap.design._design import Design, Labelings
from neuroextrap.design._findings import EVERYTHING, P_VALUES, TOO_SMALL, Finding
from neuroextrap.design._folds import (
    is_nested,
    resolve_cv,
    row_codes,
    rows_by_run,
)
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._permutation import draw_labelings, shift_rows
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._true_discoveries import fewest_permutations
from neuroextrap.stats._validation import brief

_COMPARED = 199  # labelings to which the class counts of folds are compared
_CHECKED = 2**22  # class codes of labelings that are checked together
_SORTED = 6.0  # standard deviations above their mean, at which a table is sorted


class Permuted(NamedTuple):
    """The labelings of a permutation test."""

    codes: np.ndarray  # of classes, observed first; (1 + n_permutations, n_samples)
    pairing: bool  # whether only labels of test samples move, the classifier stays
    findings: tuple = ()  # about the exchange


def permuted_codes(
    labels, design, n_permutations, random_state, *, cv=None, exchange="rows"
):
    """Return the observed labeling with its permutations, with Findings.

    Labels move within groups, and also within test folds that were made from them; by
    "shifts" as whole series. With one train/test split only those of test samples move.
    """
    codes, seed = labels.codes.astype(np.int32), (n_permutations, random_state)
    if exchange == "shifts" and n_permutations:
        orders = shift_rows(len(codes), labels.groups, *seed)
        return Permuted(np.concatenate([codes[None], codes[orders]]), False)
    # candidates of a regression are too many for folds to be made from them
    given = cv is not None and labels.trained
    balance = fold_balance(labels, design) if given else Balance()
    findings = [_sorted_folds(balance)]
    if n_permutations == 0:
        return Permuted(codes[None], False, tuple(filter(None, findings)))
    pairing = labels.trained and len(design.folds) == 1
    moved = design.test if pairing else np.arange(len(codes))
    follow = folds_follow_labels(labels.codes, cv=cv, groups=labels.groups)
    confined = not pairing and (balance.of_labels if follow is None else follow)
    cells = _cells(labels, design) if confined else labels.exchanged
    cells, blocks = (
        each if each is None else each[moved] for each in (cells, labels.blocks)
    )
    orders, few = draw_labelings(codes[moved], cells, blocks, *seed)
    permuted = np.tile(codes, (len(orders), 1))
    permuted[:, moved] = orders
    if labels.trained and not pairing:
        check_labelings(permuted, design)
    where = _IN_FOLDS if confined else _FREELY
    findings = [
        without_groups(where) if labels.groups is None else None,
        _LABEL_MADE if confined and follow is None else None,
        *findings,
        few_exchanges(few),
    ]
    codes = np.concatenate([codes[None], permuted])
    return Permuted(codes, pairing, tuple(filter(None, findings)))


_EQUAL_FOLDS = (
    "cv gives fixed folds whose class counts are more equal than those of folds made "
    "without the labels"
)
_WITHIN = "labels were exchanged within test folds"
_LABEL_MADE = Finding(
    "label_made_folds", "note", 1.0, P_VALUES, _EQUAL_FOLDS, _WITHIN, ""
)


def few_exchanges(few):
    """Return a Finding from FewLabelings, where every other labeling is used."""
    if few is None:
        return None
    grade = "doubtful" if few.smallest > LEVEL else "note"
    remedy = "more runs, or more samples in each run, give more labelings"
    seen = "few_exchanges", grade, few.smallest, P_VALUES
    return Finding(*seen, few.exist, few.limit, remedy)


def few_permutations(n_permutations, confidence_level):
    """Return the Finding that regions of a set cannot be counted, if so: 0 or 1."""
    needed = fewest_permutations(confidence_level)
    if not 0 < n_permutations < needed:
        return ()
    because = f"{n_permutations} permutations are fewer than the {needed} needed"
    effect = "how many regions of a set are informative is not bounded"
    seen = "few_permutations", "note", float(n_permutations), ("true_discovery*",)
    return (Finding(*seen, because, effect, "take more permutations"),)


class Balance(NamedTuple):
    """Class counts of folds beside those of the same folds under other labelings."""

    proportional: bool = False  # whether folds test their shares of every class
    as_equal: float | None = None  # share of labelings as equal; None: all are alike
    # how much more unequal the observed are, in standard deviations of the others; 0
    # where folds leave samples out: training need not lack what is tested
    excess: float = 0.0

    @property
    def of_labels(self):
        """Whether folds are so equal that they must have been made from the labels."""
        return self.as_equal is not None and (self.proportional or self.as_equal <= 0.1)


def fold_balance(labels, design):
    """Compare the class counts of folds with those of freely exchanged labelings."""
    codes, first = labels.codes, [fold.start for fold in design.fold_slices]
    others, _ = draw_labelings(codes, labels.exchanged, labels.blocks, _COMPARED, 0)
    tested = np.concatenate([codes[None], others])[:, design.test].T
    sizes = np.bincount(design.fold_of_test)[:, None]
    unequal, proportional, moves = np.zeros(tested.shape[1]), True, False
    for label in range(design.n_classes):
        counts = np.add.reduceat(tested == label, first, dtype=int)  # (n_folds, n)
        deviation = counts - sizes * np.mean(codes == label)
        unequal += (deviation**2).sum(axis=0)
        proportional &= bool((np.abs(deviation[:, 0]) < 1).all())
        moves |= bool((counts != counts[:, :1]).any())
    if not moves:
        return Balance(proportional)
    as_equal = np.mean(unequal[1:] <= unequal[0] * (1 + 1e-9))
    excess = (unequal[0] - unequal[1:].mean()) / max(unequal[1:].std(), 1e-9)
    excess = float(excess) if design.leaves_nothing_out else 0.0
    return Balance(proportional, float(as_equal), excess)


def _sorted_folds(balance):
    """Return a Finding where folds follow the order of a sorted table, else None."""
    if balance.excess < _SORTED:
        return None
    because = (
        "folds follow the order of a table that is sorted by class, so that training "
        "sets hold few samples of the classes that are tested"
    )
    remedy = (
        "shuffle the folds (scikit-learn's shuffle=True with a random_state), make "
        "them from the labels (StratifiedKFold), or give groups and cv=None"
    )
    seen = "sorted_folds", "doubtful", balance.excess, EVERYTHING
    return Finding(*seen, because, "accuracies may be too low", remedy)


def folds_follow_labels(
    codes: np.ndarray, *, cv: Any = None, groups: Any = None
) -> bool | None:
    """Return whether other labels would give other folds; None for fixed folds.

    Labels must not be exchanged between folds that are balanced for the observed ones.
    A splitter that splits at random counts as following.
    """
    groups = None if groups is None else np.asarray(groups)
    splitter = resolve_cv(cv, groups)
    if _is_ready(splitter, codes, groups):
        return None

    def folds_of(labels: np.ndarray) -> bytes | None:
        digest = blake2b()  # many folds of many samples are not all kept
        try:
            for fold in _split_again(splitter, labels, groups):
                for part in fold:
                    digest.update(np.sort(part).tobytes())
                    digest.update(b"|")
        except ValueError:  # a splitter that refuses labels has looked at them
            return None
        return digest.digest()

    expected = folds_of(codes)
    orders = (codes[::-1], np.sort(codes), np.roll(codes, 1), codes)
    return any(folds_of(order) != expected for order in orders)


def _split_again(splitter: Any, labels: Any, groups: Any) -> Iterator[Any]:
    """Yield the folds of a copy, without what the splitter has already warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        samples = np.zeros((len(labels), 1))
        yield from deepcopy(splitter).split(samples, labels, groups)


def _is_ready(splitter: Any, codes: np.ndarray, groups: np.ndarray | None) -> bool:
    """Return whether a splitter ignores an additional sample, as fixed folds do."""
    more = np.append(codes, codes[-1])
    of_more = None if groups is None else np.append(groups, groups[-1])
    try:
        folds = _split_again(splitter, more, of_more)
        return all(len(codes) not in part for fold in folds for part in fold)
    except (TypeError, ValueError, IndexError):
        return True


def check_labelings(codes: np.ndarray, design: Design) -> None:
    """Raise when a labeling leaves a class without training samples in a fold.

    ``codes`` (n_labelings, n_samples) are class codes 0..K-1.
    """
    for batch in np.array_split(codes, -(-codes.size // _CHECKED)):
        if Labelings(batch, design.n_classes).training_counts(design).min() < 1:
            raise ValueError(
                "a permuted labeling leaves a class without training samples in a "
                "fold; give groups so that labels are permuted within runs, or use "
                "stratified folds with more samples"
            )


_FREELY = "freely over all samples"
_IN_FOLDS = "within the test folds, which cv made from the labels"


def without_groups(where, what="labels", of="samples", groups="groups"):
    """Return the Finding that no runs were given, which says what was exchanged."""
    because = f"no runs were given (groups=None) and {what} were exchanged {where}"
    effect = f"{TOO_SMALL} if {of} were acquired in runs"
    remedy = f"give {groups}, so that {what} are exchanged within runs"
    return Finding("no_groups", "doubtful", 0.0, P_VALUES, because, effect, remedy)


def _cells(labels, design):
    """Return the group and test folds, balanced for the labels, of every sample."""
    tested = [np.isin(range(len(labels.codes)), test) for _, test in design.folds]
    within = [] if labels.exchanged is None else [labels.exchanged]
    cells = row_codes(*within, *tested)
    if is_nested(cells, labels.codes):
        raise ValueError(
            "no labels can be exchanged: cv made its folds from the labels, and no "
            "test fold of a run holds two classes; leave whole runs out (cv=None), or "
            "use fewer folds"
        )
    if labels.units is not None and not is_nested(labels.units, cells):
        raise ValueError(
            "blocks are split over test folds that cv made from the labels, so that a "
            "block trains and tests; give groups=blocks and "
            "cv=sklearn.model_selection.StratifiedGroupKFold(), or leave runs out"
        )
    return cells


_LEVELS = np.array(["low", "middle", "high"])  # of numbers, which are decoded


class Strata(NamedTuple):
    """A confound of the n samples: strata to exchange within, levels to decode."""

    codes: np.ndarray  # stratum of every sample, 0, 1, ..., of shape (n,)
    levels: np.ndarray  # name of the level of every sample, (n,)
    columns: np.ndarray  # the confound as features, (n, n_columns)
    of_numbers: bool  # whether values within a stratum still differ


def confound_strata(confound, labels, stratum_size):
    """Return Strata of a confound (n_samples,): categories, or neighbors in rank."""
    given = checked_entries(confound, "confound", np.zeros(len(labels.keep)))
    given = given[labels.keep]
    units = np.arange(len(given)) if labels.units is None else labels.units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    values = given[first]
    if (values[unit] != given).any():
        raise ValueError(
            "confound differs between samples of one block, whose labels move "
            "together; give every block one value, its mean say"
        )
    runs = np.zeros(len(values)) if labels.groups is None else labels.groups[first]
    names, codes = np.unique(values, return_inverse=True)
    if len(names) == 1:
        raise ValueError(
            f"confound is {names.tolist()[0]!r} in all samples, so that it explains "
            "nothing; give a value that differs between samples"
        )
    of_numbers = values.dtype.kind in "iuf"
    if of_numbers and not np.isfinite(values).all():
        raise ValueError("confound has infinite numbers; leave these samples out")
    repeated = len(values) / len(np.unique(row_codes(codes, runs)))
    of_numbers = of_numbers and repeated < stratum_size
    strata, levels = codes, values.astype(str)
    if of_numbers:
        strata = _by_rank(values, runs, lambda n: max(1, n // stratum_size))
        levels = _LEVELS[_by_rank(values, runs, lambda n: min(n, len(_LEVELS)))]
    cells = row_codes(strata, runs)
    if is_nested(cells, labels.codes[first]):
        raise ValueError(
            "the confound and the class cannot be told apart: in no run do samples of "
            "two classes have the same level of the confound; no label can be "
            "exchanged, whatever is found may be the confound (it has "
            f"{len(names)} levels; numbers that are given as text are names of levels)"
        )
    columns = values[:, None].astype(float) if of_numbers else np.eye(len(names))[codes]
    return Strata(strata[unit], levels[unit], columns[unit], of_numbers)


def _by_rank(values, runs, n_parts):
    """Cut numbers within runs into equally filled parts, numbered from the lowest."""
    part = np.empty(len(values), dtype=int)
    for run in np.unique(runs):
        rows = np.flatnonzero(runs == run)
        rank = np.argsort(np.argsort(values[rows], kind="stable"), kind="stable")
        part[rows] = rank * n_parts(len(rows)) // len(rows)
    return part


EXCHANGES = ("rows", "shifts")


def check_exchange(exchange):
    """Raise ValueError unless `exchange` is a name or a number of rows."""
    named = isinstance(exchange, str) and exchange in EXCHANGES
    whole = isinstance(exchange, (int, np.integer)) and not isinstance(exchange, bool)
    if not named and not (whole and exchange > 0):
        raise ValueError(
            f"exchange={brief(exchange)} is unknown; choose one of {EXCHANGES}, or a "
            "whole number of rows that are exchanged as one block"
        )


def exchanged(codes, *, exchange, groups, n_permutations, random_state):
    """Return other pairings (n_permutations, n_test) of responses and stimuli.

    Stimuli `codes` (n_test,) change places by "rows", repeats together, by "shifts" of
    whole series, or by blocks of so many rows.
    """
    check_exchange(exchange)
    given = {"n_permutations": n_permutations, "random_state": random_state}
    repeated = len(np.unique(codes)) < len(codes)
    if exchange == "rows":
        blocks = codes if repeated else None
        return stats.permute_labels(codes, groups=groups, blocks=blocks, **given)
    if repeated:
        raise ValueError(
            f"exchange={exchange!r} needs one response to each stimulus, because "
            "repeats of a series must move together; give repeats='average' (and "
            "groups=None if the repeats are the runs)"
        )
    if exchange == "shifts":
        return codes[shift_rows(len(codes), groups, **given)]
    return _exchanged_blocks(codes, exchange, groups, given)


def _exchanged_blocks(codes, length, groups, given):
    """Return pairings by the exchange of blocks of consecutive rows within runs."""
    rows, run = rows_by_run(len(codes), groups)
    place = np.arange(len(rows)) - np.searchsorted(run, run)  # in the run
    first = np.flatnonzero(place % length == 0)
    blocks = np.split(rows, first[1:])
    orders = stats.permute_labels(range(len(blocks)), groups=run[first], **given)
    pairings = np.empty((len(orders), len(codes)), codes.dtype)
    for order, pairing in zip(orders, pairings, strict=True):
        pairing[rows] = codes[np.concatenate([blocks[i] for i in order])]
    return pairings
