"""Subjects, the contrast, and the values that can be tested."""

import numpy as np

from neuroextrap.group._contrast import resolve_test
from neuroextrap.group._pairing import check_different, in_order_of, order_of_pairs
from neuroextrap.group._subjects import read_subjects
from neuroextrap.stats._warn import warn

# residuals smaller than this part of the values are rounding
_NOTHING = 1e-10
_FEWEST = 10  # subjects of one variance


def read_second_level(imgs, paired_imgs, mask, asked, **how):
    """Return subjects, and their values (n_subjects, n_features) above the baseline.

    `asked` are SecondLevelOptions; `how` are further options of ``read_subjects``.
    """
    min_subjects, baseline = asked.min_subjects, asked.baseline
    subjects = read_subjects(imgs, mask, "imgs", min_subjects, **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float) - baseline
    if paired_imgs is not None:
        where = mask if subjects.masker is None else subjects.masker
        others = read_subjects(paired_imgs, where, "paired_imgs", min_subjects, **how)
        if others.values.shape != subjects.values.shape:
            raise ValueError(
                f"imgs and paired_imgs have shapes {subjects.values.shape} and "
                f"{others.values.shape}; give two maps of each subject, in one order"
            )
        check_different(others.values, "paired_imgs")
        order = order_of_pairs(subjects.files, others.files, ("imgs", "paired_imgs"))
        second = others.values if order is None else others.values[order]
        values = subjects.values.astype(float) - second - baseline
        least = len(values) if min_subjects is None else min_subjects
        usable = np.isfinite(values).sum(axis=0) >= least
        subjects = subjects._replace(usable=usable)
    return subjects, values


def choose_test(subjects, values, design_matrix, contrast):
    """Return the test of a contrast, and subjects with the features that vary."""
    design = in_order_of(subjects.files, design_matrix, "design_matrix")
    test = resolve_test(design, contrast, len(values))
    usable = subjects.usable.copy()
    usable[usable] = _varies(test, values[:, usable])
    if not usable.any():
        raise ValueError(
            "imgs are the same in all subjects, or the design fits them exactly; check "
            "that maps differ"
        )
    return test, subjects._replace(usable=usable)


def _varies(test, values):
    """Return which features are not fitted exactly by the design."""
    known = np.isfinite(values)
    if known.all():
        rows = test.rows
        residuals = values - rows @ (rows.T @ values)
    else:
        mean = np.nanmean(values, axis=0)
        residuals = np.where(known, values - mean, 0.0)
    size = np.abs(np.where(known, values, 0.0)).max(axis=0)
    return np.abs(residuals).max(axis=0) > _NOTHING * size


def per_subject(values, name, subjects):
    """Return one value per subject of SubjectMaps as an array, or None."""
    if values is None:
        return None
    array = np.asarray(in_order_of(subjects.files, values, name))
    n_subjects = len(subjects.values)
    if array.shape != (n_subjects,):
        raise ValueError(
            f"{name} must have one entry per subject ({n_subjects}); got shape "
            f"{array.shape}"
        )
    return array


def small_variance_groups(groups):
    """Return notes, which are warnings too, on groups of too few subjects."""
    if groups is None:
        return ()
    fewest = np.unique(groups, return_counts=True)[1].min()
    if fewest >= _FEWEST:
        return ()
    note = (
        f"variance_groups has a group of {fewest} subjects, where small p-values are "
        f"too frequent if variances differ; have {_FEWEST} or more in every group, or "
        "leave variance_groups out if variances are alike."
    )
    warn(note)
    return (note,)
