"""Labels of the samples: classes, runs and blocks as codes."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.stats._label_checks import check_labels, checked_entries


class Labels(NamedTuple):
    """Labels of the n_kept samples that are analyzed, and which samples these are."""

    codes: np.ndarray  # class codes 0..K-1 of shape (n_kept,)
    classes: np.ndarray  # the class of every code of shape (K,)
    groups: np.ndarray | None  # runs of shape (n_kept,)
    blocks: np.ndarray | None  # what moves together in permutations, (n_kept,)
    keep: np.ndarray  # whether a sample is analyzed of shape (n_samples,)
    order: np.ndarray | None = None  # time of every sample in its run, (n_kept,)
    # whether every class must have training samples; candidates need not
    trained: bool = True
    strata: np.ndarray | None = None  # levels of a confound, 0..S-1 of shape (n_kept,)

    @property
    def units(self):
        """Block of every sample, within groups, (n_kept,); None without blocks."""
        return None if self.blocks is None else self._in_groups(self.blocks)

    @property
    def exchanged(self):
        """Runs (or their strata) within which labels are exchanged, (n_kept,)."""
        return self.groups if self.strata is None else self._in_groups(self.strata)

    def _in_groups(self, values):
        return row_codes(values, *([] if self.groups is None else [self.groups]))

    @property
    def weighed(self):
        """Codes of class and stratum that weigh equally in bounds, and their number."""
        if self.strata is None:
            return self.codes, len(self.classes)
        n_strata = self.strata.max() + 1
        return self.codes * n_strata + self.strata, len(self.classes) * n_strata


def row_codes(*columns):
    """Return one code per distinct combination of values, shape (n_samples,)."""
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    return np.unique(np.stack(coded), axis=1, return_inverse=True)[1].ravel()


def is_nested(inner, outer):
    """Return whether samples of one `inner` code also have one `outer` code."""
    return row_codes(inner, outer).max() == row_codes(inner).max()


def in_order(values):
    """Return numbers of distinct values (n_samples,) in the order of their first."""
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[code.ravel()]


def runs_in_time(groups, order=None):
    """Return the rows in the order of runs and of time in these, and their runs."""
    run = row_codes(groups)
    rows = np.lexsort((np.zeros(len(run)) if order is None else order, run))
    return rows, run[rows]


def means_of(values, codes):
    """Return the mean rows of codes 0, 1, ..., shape (n_codes, n_columns)."""
    return (members(codes) @ values) / np.bincount(codes)[:, np.newaxis]


def members(codes):
    """Return which rows have a code, a sparse array of shape (n_codes, n_rows)."""
    return scipy.sparse.csr_array((np.ones(len(codes)), (codes, range(len(codes)))))


def counts_of(first, second):
    """Return how often codes come together, int of shape (n_first, n_second)."""
    return (members(first) @ members(second).T).toarray().astype(int)


def without_means(X, codes, groups=None):
    """Return standardized samples without the means of their run and class."""
    rest = centered_within(X, codes, groups)
    spread = rest.std(axis=0)
    return rest[:, spread > 0] / spread[spread > 0]


def of_unit_length(values, axis, of_zero=1):
    """Divide columns (axis 0) or rows by their length, zeros by a given number."""
    length = np.linalg.norm(values, axis=axis, keepdims=True)
    return values / np.where(length > 0, length, of_zero)


def centered_within(X, codes, groups=None):
    """Subtract from rows of `X` the mean of their run, then that of their class."""
    rest = np.asarray(X, dtype=np.float64)
    for column in (np.zeros(len(rest), dtype=int) if groups is None else groups, codes):
        _, member = np.unique(column, return_inverse=True)
        rest = rest - means_of(rest, member)[member]
    return rest


def code_labels(y, classes, groups, blocks, order=None):
    """Turn labels into codes, and leave out classes that are not requested."""
    y = check_labels(y, "y")
    given = _checked(y, groups=groups, blocks=blocks, order=order)
    present = np.unique(y)
    chosen = present if classes is None else np.unique(check_labels(classes, "classes"))
    unknown = np.setdiff1d(chosen, present)
    if len(unknown):
        raise ValueError(
            f"classes has {unknown.tolist()[:5]}, which y does not; choose from "
            f"{present.tolist()[:10]}"
        )
    if len(chosen) < 2:
        raise ValueError(
            f"y has {len(chosen)} class ({chosen.tolist()}); give at least two classes"
        )
    keep = np.isin(y, chosen)
    given = {name: v if v is None else v[keep] for name, v in given.items()}
    return Labels(np.searchsorted(chosen, y[keep]), chosen, keep=keep, **given)


def _checked(y, of="y", **given) -> dict[str, Any]:
    """Return by name what is given for every sample, or None."""
    return {name: checked_entries(v, name, y, of) for name, v in given.items()}


def codes_of(classes, y):
    """Return the codes of labels among sorted classes; ValueError for others."""
    y = check_labels(y, "y")
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"y has {unknown.tolist()[:5]}, which were not fitted; the classes are "
            f"{classes.tolist()[:10]}"
        )
    return np.searchsorted(classes, y)


def code_targets(targets, groups, blocks, order=None):
    """Return Labels of targets (n_samples, n_columns), and their distinct rows."""
    candidates, codes = np.unique(targets, axis=0, return_inverse=True)
    if len(candidates) < 2:
        raise ValueError("targets are the same for all samples; give at least two")
    given = {"groups": groups, "blocks": blocks, "order": order}
    given = _checked(targets[:, 0], "targets", **given)
    single, keep = targets.shape[1] == 1, np.ones(len(targets), dtype=bool)
    classes = candidates[:, 0] if single else np.arange(len(candidates))
    coded = {"codes": codes.ravel(), "classes": classes, "keep": keep}
    return Labels(**coded, **given, trained=False), candidates
