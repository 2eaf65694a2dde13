"""Labels of the samples as codes, and from a splitter to a checked design."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.models._splitters import check_cv_argument
from neuroextrap.stats._label_checks import check_labels, checked_labels
from neuroextrap.stats._validation import brief


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
        return None if self.blocks is None else self.in_groups(self.blocks)

    @property
    def exchanged(self):
        """Runs (or their strata) within which labels are exchanged, (n_kept,)."""
        return self.groups if self.strata is None else self.in_groups(self.strata)

    @property
    def in_time(self):
        """Rows in the order of runs and of time in these, and their runs."""
        return runs_in_time(self.groups, self.order)

    @property
    def cells(self):
        """Class within its group of every sample, (n_kept,)."""
        return self.in_groups(self.codes)

    @property
    def class_counts(self):
        """How often runs (one, if none are given) show classes, (n_runs, K)."""
        one = np.zeros(len(self.codes))
        return counts_of(
            row_codes(one if self.groups is None else self.groups), self.codes
        )

    def in_groups(self, values):
        """Return codes of values (n_kept,) of which none belongs to two groups."""
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


def rows_by_run(n_rows, groups):
    """Return the rows ordered by run, and the run of each, as codes."""
    return runs_in_time(np.zeros(n_rows) if groups is None else groups)


def means_of(values, codes):
    """Return the mean rows of codes 0, 1, ..., shape (n_codes, n_columns)."""
    return (members(codes) @ values) / np.bincount(codes)[:, np.newaxis]


def members(codes, n_codes=None, dtype=float):
    """Return which rows have a code, a sparse array of shape (n_codes, n_rows)."""
    n_codes = codes.max() + 1 if n_codes is None else n_codes
    ends = np.cumsum(np.bincount(codes, minlength=n_codes))
    entries = np.ones(len(codes), dtype), np.argsort(codes, kind="stable"), [0, *ends]
    return scipy.sparse.csr_array(entries, (n_codes, len(codes)))


def counts_of(first, second):
    """Return how often codes come together, int of shape (n_first, n_second)."""
    counts = np.zeros((first.max() + 1, second.max() + 1), dtype=int)
    np.add.at(counts, (first, second), 1)
    return counts


def some_columns(X, most):
    """Return evenly spaced columns of `X`, at most so many."""
    return X[:, :: -(-X.shape[1] // most)]


def without_means(X, labels):
    """Return standardized samples without the means of their run and class."""
    rest = centered_within(X, labels.codes, labels.groups)
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
    y, given = checked_labels(y, groups=groups, blocks=blocks, order=order)
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
    given = {"groups": groups, "blocks": blocks, "order": order}
    _, given = checked_labels(targets[:, 0], "targets", **given)
    single, keep = targets.shape[1] == 1, np.ones(len(targets), dtype=bool)
    classes = candidates[:, 0] if single else np.arange(len(candidates))
    coded = {"codes": codes.ravel(), "classes": classes, "keep": keep}
    return Labels(**coded, **given, trained=False), candidates


def make_design(
    codes: np.ndarray,
    n_classes: int,
    *,
    cv: Any = None,
    groups: Any = None,
    trained: bool = True,
) -> Design:
    """Split samples into folds and check that every fold can be trained and tested."""
    splitter = resolve_cv(cv, groups)
    samples = np.zeros((len(codes), 1))
    try:
        folds = tuple(splitter.split(samples, codes, groups))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"cv={brief(cv)} cannot split these samples "
            f"({str(error).rstrip('.')}); choose fewer folds or another splitter"
        ) from error
    numbered = enumerate(folds, start=1)
    folds = tuple(_checked_fold(*each, len(codes)) for each in numbered)
    _check_folds(folds, codes, n_classes if trained else 0)
    return Design(folds, len(codes), n_classes)


def resolve_cv(cv: Any, groups: np.ndarray | None) -> Any:
    """Return a splitter object for what the user gave."""
    from sklearn import model_selection

    if cv is None:
        if groups is None:
            raise ValueError(
                "cv=None leaves one group out at a time, but groups is None; give "
                "fit(..., groups=runs), or a splitter as cv"
            )
        if len(np.unique(groups)) < 2:
            raise ValueError(
                "leave-one-group-out needs at least two groups (runs), got one; give "
                "cv, for example sklearn.model_selection.StratifiedKFold()"
            )
        return model_selection.LeaveOneGroupOut()
    check_cv_argument(cv)
    if isinstance(cv, (int, np.integer)):
        stratified = model_selection.StratifiedKFold
        return (stratified if groups is None else model_selection.GroupKFold)(cv)
    return model_selection.check_cv(cv)


def _checked_fold(
    number: int, fold: Any, n_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (train, test) of a fold as indices of samples."""
    where = f"fold {number} of cv"
    try:
        train, test = (np.asarray(part) for part in fold)
    except (TypeError, ValueError):
        raise TypeError(
            f"{where}={fold!r} must be a pair of index arrays; give a list of (train, "
            "test)"
        ) from None
    train = _checked_part(train, f"{where} has", "train", n_samples)
    return train, _checked_part(test, f"{where} has", "test", n_samples)


def _checked_part(part: Any, fold_has: str, name: str, n_samples: int) -> np.ndarray:
    """Return the training or test samples of a fold, which may be a mask, as int."""
    part = np.flatnonzero(part) if part.dtype.kind == "b" else part
    if len(part) and part.dtype.kind not in "iu":
        raise TypeError(
            f"{fold_has} {name} indices of dtype {part.dtype}; give whole numbers"
        )
    wrong = part[(part < 0) | (part >= n_samples)]
    if len(wrong):
        raise ValueError(
            f"{fold_has} the {name} index {wrong[-1]}, samples are 0 to "
            f"{n_samples - 1}; count samples of the classes that are analyzed"
        )
    return part.astype(int)


def _check_folds(folds: tuple, codes: np.ndarray, n_classes: int) -> None:
    """Raise when a fold cannot be trained or tested."""
    if not folds:
        raise ValueError("cv made no folds; give a splitter that yields (train, test)")
    for number, (train, test) in enumerate(folds, start=1):
        has = f"fold {number} of cv has"
        if len(test) == 0 or len(train) == 0:
            raise ValueError(f"{has} no training or no test samples; leave it out")
        if len(np.intersect1d(train, test)):
            raise ValueError(
                f"{has} samples in both training and test set; leave them out of one"
            )
        lacking = np.setdiff1d(np.arange(n_classes), codes[train])
        if len(lacking):
            raise ValueError(
                f"classes {lacking.tolist()[:5]} (by sorted order) have no training "
                f"sample in fold {number}; every class needs samples in at least two "
                "groups, or choose classes=... or another cv"
            )


def class_weights(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Weigh points (n_test, M) so that classes count equally, then points of a class.

    >>> class_weights(np.array([[0], [0], [1]]), 2).ravel()
    array([0.25, 0.25, 0.5 ])
    """
    n_batch = y.shape[1]
    flat_index = y.astype(np.intp) * n_batch + np.arange(n_batch)
    counts = np.bincount(flat_index.ravel(), minlength=n_classes * n_batch)
    counts = counts.reshape(n_classes, n_batch)
    present = (counts > 0).sum(axis=0)
    with np.errstate(divide="ignore"):  # of classes without points
        weights = 1.0 / (present * counts)
    return weights.reshape(-1)[flat_index]
