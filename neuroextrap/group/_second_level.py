"""Does a contrast over subjects differ from zero? Permutations of subjects' maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.group._comparison import Comparison
from neuroextrap.group._pairing import order_of_pairs
from neuroextrap.group._second_level_options import SecondLevelOptions
from neuroextrap.group._subjects import check_different, read_subjects
from neuroextrap.stats._shared_options import as_options, takes_options


@takes_options(SecondLevelOptions)
def second_level_test(
    imgs: Any,
    design_matrix: Any = None,
    *,
    contrast: Any = None,
    blocks: ArrayLike | None = None,
    **options: Any,
) -> RegionMaps:
    """Test a contrast over subjects by permutations, corrected over the whole map.

    Subjects are the rows of a linear model, as in nilearn's second level. Residuals
    under the null hypothesis are rearranged over subjects, the same in all voxels
    (Freedman-Lane), so the largest statistic, the largest cluster and the largest
    enhanced value control the family-wise error whatever the correlation of voxels.

    ============================  =====================================================
    question                      call
    ============================  =====================================================
    mean over subjects            ``second_level_test(imgs)``
    difference of two conditions  ``second_level_test(imgs, paired_imgs=others)``
    difference of two groups      ``design_matrix`` with one column of 0 and 1 a group,
                                  ``contrast="patients - controls"``
    slope on a covariate          ``design_matrix`` with the covariate, nuisance
                                  covariates and an intercept; ``contrast="age"``
    any difference of several     ``contrast=["a - b", "b - c"]`` (F)
    ============================  =====================================================

    Parameters
    ----------
    imgs : array-like of shape (n_subjects, n_features), images, or paths
        One map of each subject: 3-D images, surface images, or one 4-D image.
    design_matrix : DataFrame, array-like of shape (n_subjects, n_columns), or None
        Linear model of the subjects. If None (the default), the mean over subjects is
        tested. All columns that are not tested are nuisance. A column or index level
        ``participant_id``, or an index of labels ("sub-08", "08" or 8), puts rows into
        the order of images with ``sub-<label>`` in their names. Rows that count 0, 1, 2
        ..., arrays, and rows of images without such names are in the order of `imgs`.
    contrast : str, Series, dict, array-like, list of str or None, default=None
        What is tested: a column, or an expression of columns, numbers, ``+ - * /`` and
        parentheses (names that are no plain words in backticks); weights by the names
        of columns, 0 for those that are not named; or one weight per column, in their
        order. May be None if the design has one column. Several contrasts, as a list of
        expressions or an array (n_contrasts, n_columns), are tested at once by F.
    blocks : array-like of shape (n_subjects,) or None, default=None
        Exchangeability block of each row: rows are rearranged within blocks (scanners,
        families). A Series with labels of subjects is put into the order of `imgs`, as
        the design is.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``effect`` (estimate of the contrast), ``t`` (Student's), the statistic if it is
        another (``v``, ``pseudo_t``, ``median``; of several contrasts only ``f``),
        ``p_value`` (each voxel by itself), ``p_value_fwe`` (family-wise, by the largest
        statistic) and, unless all arrangements were listed, ``p_value_fwe_tail`` (small
        ones refined by a generalized Pareto tail, see
        :func:`neuroextrap.stats.tail_p_value`). With clusters ``cluster_extent``
        (voxels), ``cluster_mass`` (sum of the excess over the threshold),
        ``p_value_fwe_cluster_extent`` and
        ``p_value_fwe_cluster_mass``; with TFCE ``tfce`` and ``p_value_fwe_tfce``; with
        `min_subjects` ``n_subjects``; with at least 37 permutations
        ``true_discovery_proportion``, see ``maps.true_discoveries(region)``. NaN where
        nothing can be tested. Of images, ``maps.generate_report()`` makes a page.

    Raises
    ------
    ValueError
        If a file or a map is there twice, names of subjects disagree, images lie on
        different grids, the design does not determine the contrast, rearrangements
        cannot change it, or options contradict one another.

    Warns
    -----
    UserWarning
        If all distinct rearrangements are used; says how small a p-value can get. If a
        variance group has fewer than 20 subjects.

    Notes
    -----
    A p-value of a cluster says that somewhere in it there is an effect, not where.
    Permutations are exact where residuals under the null hypothesis are exchangeable;
    with nuisance covariates they are nearly so (Winkler et al. 2014).

    References
    ----------
    Winkler et al. 2014, "Permutation inference for the general linear model",
    NeuroImage 92 (algorithm 1, equation 8). Nichols & Holmes 2002, "Nonparametric
    permutation tests for functional neuroimaging", Human Brain Mapping 15. Smith &
    Nichols 2009, "Threshold-free cluster enhancement", NeuroImage 44.

    Examples
    --------
    Sixteen subjects, three features; the first differs between the groups:

    >>> import numpy as np, pandas as pd
    >>> from neuroextrap.group import second_level_test
    >>> patients = np.repeat([1.0, 0.0], 8)
    >>> design = pd.DataFrame({"patients": patients, "controls": 1 - patients})
    >>> imgs = np.random.default_rng(0).normal(size=(16, 3))
    >>> imgs[:8, 0] += 4
    >>> maps = second_level_test(
    ...     imgs, design, contrast="patients - controls", n_permutations=999
    ... )
    >>> float(maps["p_value_fwe"][0]), bool((maps["p_value_fwe"][1:] > 0.05).all())
    (0.001, True)
    """
    asked = as_options(SecondLevelOptions, second_level_test, options)
    return compare(imgs, asked, design_matrix, contrast, blocks)


def compare(imgs, asked, design_matrix=None, contrast=None, blocks=None):
    """Return the RegionMaps of a contrast over subjects, as SecondLevelOptions say."""
    subjects = _read(imgs, asked, repeated=blocks is not None)
    return Comparison.of(subjects, asked, design_matrix, contrast, blocks).maps()


def _read(imgs, asked, *, repeated):
    """Return SubjectMaps of one map of each subject, or of the differences of pairs."""
    how = {"min_subjects": asked.min_subjects, "repeated": repeated}
    subjects = read_subjects(imgs, asked, "imgs", **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float)
    if asked.paired_imgs is None:
        return subjects._replace(values=values)
    if subjects.masker is not None:
        asked = replace(asked, mask=subjects.masker)
    others = read_subjects(asked.paired_imgs, asked, "paired_imgs", **how)
    values = values - _paired_values(subjects, others)
    least = asked.min_subjects or len(values)
    usable = np.isfinite(values).sum(axis=0) >= least
    return subjects._replace(usable=usable, values=values)


def _paired_values(subjects, others):
    """Return the values of the others in the order of the subjects."""
    values = others.values
    if values.shape != subjects.values.shape:
        raise ValueError(
            f"imgs and paired_imgs have shapes {subjects.values.shape} and "
            f"{values.shape}; give two maps of each subject, in one order"
        )
    check_different(values, "paired_imgs")
    order = order_of_pairs(subjects.files, others.files, ("imgs", "paired_imgs"))
    return values if order is None else values[order]
