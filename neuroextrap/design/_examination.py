"""The examination of a design before the work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats.contingency import association

from neuroextrap.design._doubts import continuous_target, findings_of_tests
from neuroextrap.design._findings import EVERYTHING, Finding
from neuroextrap.design._folds import code_labels, counts_of
from neuroextrap.design._tests import BoundOptions, Tests
from neuroextrap.stats._label_checks import checked_entries
from neuroextrap.stats._validation import check_integer


def examine(  # noqa: PLR0913 - what an experiment was
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    X: ArrayLike | None = None,
    cv: Any = None,
    blocks: ArrayLike | None = None,
    order: ArrayLike | None = None,
    conditions: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_permutations: int = 1000,
) -> list[Finding]:
    """Examine a design for what makes p-values, bounds or accuracies doubtful.

    An analysis makes the same examination when it is fitted; here it takes seconds and
    needs no images.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of every sample, in the order of acquisition unless `order` is given.
    groups : array-like of shape (n_samples,) or None, default=None
        Run of every sample.
    X : array-like of shape (n_samples, n_features) or None, default=None
        The samples. Without them copies, and neighbors that depend on each other,
        cannot be seen.
    cv : None, int, splitter or iterable of (train, test), default=None
        How samples are split; None leaves one group out at a time.
    blocks : array-like of shape (n_samples,) or None, default=None
        What moves together in permutations, such as the scans of one block.
    order : array-like of shape (n_samples,) or None, default=None
        Time of every sample in its run.
    conditions : array-like of shape (n_samples,) or None, default=None
        Another factor of the experiment, such as the task or the difficulty of every
        sample, that the classes should not depend on.
    classes : array-like or None, default=None
        Classes to be analyzed; None means all.
    n_permutations : int, default=1000
        Number of permutations that will be requested; 0 if there is no test.

    Returns
    -------
    findings : list of Finding
        Named tuples of ``name`` (what kind it is), ``grade`` ("refused": the analysis
        raises an error; "doubtful": results are marked; "note": worth knowing),
        ``seen`` (the number that was seen), ``maps`` (names of the maps that it
        touches, with wildcards), ``because`` (what was seen, in words), ``effect`` and
        ``remedy``. What is refused comes first.

    Raises
    ------
    TypeError, ValueError
        If lengths differ, or a class that is requested does not exist.

    Examples
    --------
    Four conditions in the same order in all six runs:

    >>> import numpy as np
    >>> y, runs = np.tile(list("abcd"), 6), np.repeat(range(6), 4)
    >>> for found in examine(y, runs):
    ...     print(found.name, found.grade, found.seen)
    same_order doubtful 1.0
    """
    kept = code_labels(y, classes, groups, blocks, order)
    samples = None if X is None else _samples(X, np.shape(y))[kept.keep]
    check_integer(n_permutations, "n_permutations", minimum=0)
    factor = checked_entries(conditions, "conditions", np.asarray(y))
    options = BoundOptions("auto", "samples", "cyclic", 0.95, False, None)
    continuous = continuous_target(kept)
    if continuous is not None and continuous.grade == "refused":
        return [continuous]
    request = SimpleNamespace(cv=cv, n_permutations=n_permutations, random_state=0)
    try:
        tests = Tests.of(kept, options, request)
    except ValueError as error:
        seen = "untestable", "refused", np.nan, EVERYTHING
        return [Finding(*seen, str(error), "the analysis would be refused", "")]
    findings = list(findings_of_tests(tests, samples))
    if factor is not None:
        levels = np.unique(factor[kept.keep], return_inverse=True)[1]
        findings += _confound(kept.codes, levels) + _left_out(tests.design, levels)
    grades = "refused", "doubtful", "note"
    return sorted(findings, key=lambda finding: grades.index(finding.grade))


def _samples(X, shape):
    """Return the features of samples that are finite in all, as an array."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[:1] != shape:
        raise ValueError(
            f"X has shape {X.shape}; give one row for each of the {shape[0]} labels"
        )
    finite = np.isfinite(X).all(axis=0)
    if not finite.any():
        raise ValueError(
            f"X of shape {X.shape} has no feature without NaN in all samples; give "
            "samples, or X=None to examine the labels only"
        )
    return X if finite.all() else X[:, finite]


def _confound(codes, levels):
    """Return Findings, 0 or 1, where classes depend on a factor beyond chance."""
    strength, rng = _association(codes, levels), np.random.default_rng(0)
    chance = [_association(rng.permutation(codes), levels) for _ in range(_SHUFFLES)]
    if strength < _STRONG or strength <= max(chance):
        return []
    how = "depend on" if strength < 1 else "cannot be told apart from"
    because = f"the classes {how} the conditions (Cramér's V {strength:.2f})"
    effect = "what tells the conditions apart looks like a difference between classes"
    remedy = (
        "analyze the levels of the conditions one by one, or leave samples out until "
        "every class has the same share of each"
    )
    seen = "confound", "doubtful", strength, EVERYTHING
    return [Finding(*seen, because, effect, remedy)]


_SHUFFLES = 199
_STRONG = 0.3  # a medium association


def _association(codes, levels):
    """Return Cramér's V of two classifications, 0 to 1."""
    counts = counts_of(codes, levels)
    return association(counts, method="cramer") if min(counts.shape) > 1 else 0.0


def _left_out(design, levels):
    """Return Findings, 0 or 1, on folds that test a level without training on it."""
    folds = [np.setdiff1d(levels[test], levels[train]) for train, test in design.folds]
    n_folds = sum(len(missing) > 0 for missing in folds)
    if not n_folds:
        return []
    because = (
        f"{n_folds} of {len(folds)} folds test conditions on which they did not train"
    )
    effect = "accuracies then say how well the code carries over to other conditions"
    remedy = "make folds that hold every condition, if this is not what is asked"
    seen = "left_out_level", "note", float(n_folds), EVERYTHING
    return [Finding(*seen, because, effect, remedy)]
