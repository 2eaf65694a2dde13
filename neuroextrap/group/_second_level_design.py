"""What is asked of a second-level test: its options, and its contrast of a design."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from neuroextrap.design._findings import P_VALUES, Finding
from neuroextrap.group._subjects import MapOptions, check_count
from neuroextrap.images._sample_options import check_fwhm
from neuroextrap.stats._linear_scores import linear_test
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_flags,
    check_n_jobs,
    check_number,
    random_generator,
)

_STATISTICS = ("t", "mean", "median")
_ERRORS = (None, "exchangeable", "symmetric")
_LARGEST_P = 0.5
_FEWEST = 20  # subjects of one variance with whom the level holds at .001


@dataclass(frozen=True, kw_only=True)
class SecondLevelOptions(MapOptions):
    """What :func:`second_level_test` is told beside maps, design and contrast, checked.

    Parameters
    ----------
    two_sided : bool, default=False
        Whether a contrast below zero counts as evidence too.
    cluster_threshold : float or None, default=None
        Cluster-forming threshold, as the p-value of Student's t at a voxel (0.001).
        If None, clusters are not tested.
    tfce : bool, default=False
        Whether to test threshold-free cluster enhancement (extent power 0.5, height
        power 2, integrated exactly).
    n_permutations : int, default=10000
        Number of rearrangements. If no more distinct ones exist, each is used once.
    paired_imgs : like `imgs`, default=None
        A second map of each subject, subtracted from the first. Pairs go by the
        ``sub-<label>`` in names, in whatever order; by the order if names are
        lacking, or share no subject (patients and the controls matched to them).
    baseline : float, default=0.0
        Value subtracted from every map (the chance level of accuracies).
    whole_blocks : bool, default=False
        Whether blocks are rearranged as wholes instead (several maps of a subject
        that are compared between subjects). Blocks of one size change places; rows
        keep their order.
    errors : {"exchangeable", "symmetric"} or None, default=None
        What the null hypothesis says of residuals. Exchangeable ones are permuted,
        symmetric ones change their sign. If None, "symmetric" for a mean over
        subjects, where permutations change nothing, and with `variance_groups`, whose
        residuals cannot be exchanged; else "exchangeable".
    variance_groups : array-like of shape (n_subjects,) or None, default=None
        Rows of one group have one variance; t becomes the Aspin-Welch v, and residuals
        change their sign (`errors`). A Series is matched by its labels, as in `blocks`.
        Every group needs 20 subjects or more; fewer cause a warning, a finding, and a
        doubt in the first sentence of the page. Of null voxels, .008 had p <= .001 with
        6 subjects of 4 times the noise of 14 others, .004 with 8 and 12, .0024 with 10
        and 10, .0021 with 12 and 12, .0015 with 15 and 15, .0010 with 20 and 20; p <=
        .05 had .05 with all of these numbers.
    statistic : {"t", "mean", "median"}, default="t"
        What is compared: Student's t (v with `variance_groups`), the estimate of the
        contrast, or the median over subjects (without a design only).
    variance_fwhm : float or None, default=None
        Full width at half maximum, in mm, of the Gaussian that smooths the variance of
        t in volumes (pseudo-t): gains power with few subjects.
    step_down : bool, default=False
        Whether to add step-down p-values (``p_value_fwe_step_down``), never larger.
    adjacency : sparse matrix of shape (n_features, n_features) or None, default=None
        Which features are neighbors, for clusters of arrays. Images have theirs:
        voxels that share a face, vertices that share an edge.
    min_subjects : int or None, default=None
        Test voxels that are finite in at least this many subjects, each voxel using the
        subjects that have data there (only without a design). If None, all subjects.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the rearrangements.
    n_jobs : int or None, default=1
        Number of threads; does not affect results.
    verbose : int, default=0
        If positive, terminals and notebooks show a progress bar; elsewhere progress
        is logged at level INFO.
    """

    two_sided: bool = False
    cluster_threshold: float | None = None
    tfce: bool = False
    n_permutations: int = 10_000
    paired_imgs: Any = None
    baseline: float = 0.0
    whole_blocks: bool = False
    errors: str | None = None
    variance_groups: ArrayLike | None = None
    statistic: str = "t"
    variance_fwhm: float | None = None
    step_down: bool = False
    adjacency: Any = None
    min_subjects: int | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    verbose: int = 0

    def __post_init__(self):
        """Check what needs no data."""
        flags = ("two_sided", "step_down", "tfce", "whole_blocks")
        check_flags(**{name: getattr(self, name) for name in flags})
        check_choice(self.statistic, "statistic", _STATISTICS)
        named = self.errors is None or isinstance(self.errors, str)
        if not named or self.errors not in _ERRORS:
            raise ValueError(
                f"errors={brief(self.errors)} must be 'exchangeable' (permutations), "
                "'symmetric' (sign flips) or None"
            )
        check_n_jobs(self.n_jobs)
        random_generator(self.random_state)
        check_count(self.n_permutations, "n_permutations")
        if self.min_subjects is not None:
            check_count(self.min_subjects, "min_subjects", least=2)
        self._check_numbers()
        self._check_statistic()
        super().__post_init__()

    def _check_statistic(self):
        """Check that options go with the statistic."""
        for name in ("variance_fwhm", "cluster_threshold"):
            if getattr(self, name) is not None and self.statistic != "t":
                raise ValueError(
                    f"{name}={getattr(self, name)!r} goes with statistic='t' only; "
                    "leave it out, or use tfce=True for clusters of another statistic"
                )
        grouped = self.variance_groups is not None
        if grouped and (self.statistic != "t" or self.variance_fwhm is not None):
            raise ValueError(
                "variance_groups make t the Aspin-Welch v; leave out variance_fwhm and "
                "use statistic='t'"
            )
        if self.min_subjects is not None and (grouped or self.statistic == "median"):
            raise ValueError(
                "min_subjects goes with the statistics 't' and 'mean', without "
                "variance_groups; leave one of them out"
            )

    def _check_numbers(self):
        """Check thresholds, widths and the baseline."""
        check_fwhm(self.variance_fwhm, "variance_fwhm")
        p = self.cluster_threshold
        if p is not None and not 0 < check_number(p, "cluster_threshold") < _LARGEST_P:
            raise ValueError(
                f"cluster_threshold={p!r} must be the p-value of a voxel, between 0 "
                f"and {_LARGEST_P} (0.001 is usual)"
            )
        if not np.isfinite(check_number(self.baseline, "baseline")):
            raise ValueError(f"baseline={self.baseline!r} must be a finite number")


def findings_of_variances(groups):
    """Return a Finding about groups of too few subjects, if there are any."""
    sizes = () if groups is None else np.unique(groups, return_counts=True)[1]
    fewest = int(min(sizes, default=_FEWEST))
    if fewest >= _FEWEST:
        return ()
    few = Finding(
        "small_variance_groups",
        "doubtful",
        fewest,
        P_VALUES,
        f"variance_groups has a group of {fewest} subjects",
        "small p-values are too frequent if variances differ",
        f"have {_FEWEST} or more in every group, or leave variance_groups out if "
        "variances are alike",
    )
    return (few,)


def resolve_test(design_matrix, contrast, n_subjects):
    """Return the `LinearTest` of a design (None: the mean) and a contrast."""
    if design_matrix is None:
        if contrast is not None:
            raise ValueError(
                f"contrast={brief(contrast)} needs a design_matrix; without one the "
                "mean over subjects is tested"
            )
        design_matrix, contrast = np.ones((n_subjects, 1)), [1.0]
    names = [str(name) for name in getattr(design_matrix, "columns", ())]
    matrix = _as_numbers(design_matrix)
    if matrix.ndim != 2 or len(matrix) != n_subjects:
        raise ValueError(
            f"design_matrix has shape {matrix.shape}, and imgs hold {n_subjects} "
            "subjects; give one row per subject, in the order of imgs"
        )
    weights = _weights(contrast, names, matrix.shape[1])
    return linear_test(matrix, weights)


def _as_numbers(design_matrix):
    """Return the design as floating point numbers."""
    try:
        return np.asarray(design_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "design_matrix must hold numbers only; code groups as columns of 0 and 1 "
            "(pandas.get_dummies, or nilearn's make_second_level_design_matrix)"
        ) from None


def as_expression(contrast):
    """Return weights with names (a Series or a dict) as an expression of columns."""
    if isinstance(contrast, Mapping):
        contrast = pd.Series(dict(contrast))
    if not isinstance(contrast, pd.Series):
        return contrast
    if contrast.index.equals(pd.RangeIndex(len(contrast))):
        return contrast
    return " + ".join(f"{float(w)!r} * `{name}`" for name, w in contrast.items())


def _weights(contrast, names, n_columns):
    """Return one weight per column."""
    if contrast is None:
        if n_columns == 1:
            return np.ones(1)
        columns = ", ".join(names) or f"{n_columns} columns"
        raise ValueError(
            "contrast=None is only for a design of one column; name what is tested: a "
            f"column, an expression, or a weight for each of: {columns}"
        )
    if isinstance(contrast, (list, tuple)) and isinstance(contrast[0], str):
        return np.stack([_weights(each, names, n_columns) for each in contrast])
    if isinstance(contrast, str):
        return _named_weights(contrast, names)
    return np.asarray(contrast, dtype=np.float64)


def _named_weights(contrast, names):
    """Return the weights of a column's name or an expression of columns."""
    if not names:
        raise ValueError(
            f"contrast={contrast!r} is a name, and design_matrix is an array; give a "
            "DataFrame, or one weight per column"
        )
    if len(set(names)) < len(names):
        raise ValueError(
            f"design_matrix has two columns of one name ({', '.join(names)}), so "
            f"contrast={contrast!r} is not clear; rename one, or give weights"
        )
    if contrast in names:
        return (np.array(names) == contrast).astype(np.float64)
    return _expressed(contrast, names)


def _expressed(contrast, names):
    """Return the weights of an expression, which must be linear in the columns."""
    try:
        *weights, constant = _read(contrast, names)
        if constant:
            raise ArithmeticError
    except ArithmeticError:
        raise ValueError(
            f"contrast={contrast!r} must be a sum of columns with weights, such as "
            f"{' - '.join(names[:2])!r}; leave out constants, powers and products"
        ) from None
    except (LookupError, SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"contrast={contrast!r} is neither a column of design_matrix "
            f"({', '.join(names)}) nor an expression of columns by + - * / ( ) and "
            f"numbers, such as {' - '.join(names[:2])!r}; put names that are no plain "
            "words into backticks"
        ) from None
    return np.array(weights)


def _read(contrast, names):
    """Return the weights of the columns, and last the constant, of an expression."""
    *units, one = np.eye(len(names) + 1)
    vectors = dict(zip(names, units, strict=True))
    pieces, mark = contrast.split("`"), "_"
    if len(pieces) % 2 == 0:
        raise SyntaxError
    while mark in contrast:
        mark += "_"
    for number in range(1, len(pieces), 2):
        word = f"{mark}{number}"
        vectors[word] = vectors[pieces[number]]
        pieces[number] = f" {word} "
    tree = ast.parse("".join(pieces).strip(), mode="eval").body
    with np.errstate(over="raise", invalid="raise"):
        return _evaluated(tree, vectors, one)


def _evaluated(node, vectors, one):
    """Return the weights of the columns, and last the constant, of a syntax tree.

    LookupError or SyntaxError for what is no expression of columns, ArithmeticError for
    what is not linear in them.
    """
    if isinstance(node, ast.Name):
        return vectors[node.id]
    number = node.value if isinstance(node, ast.Constant) else None
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return float(number) * one
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluated(node.operand, vectors, one)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp):
        raise SyntaxError
    sides = (node.left, node.right)
    return _combined(node.op, *(_evaluated(side, vectors, one) for side in sides))


def _combined(operator, left, right):
    """Return what two sides make; ArithmeticError unless it is linear in columns."""
    if isinstance(operator, (ast.Add, ast.Sub)):
        return left + right if isinstance(operator, ast.Add) else left - right
    if isinstance(operator, ast.Mult) and not left[:-1].any():
        left, right = right, left
    if right[:-1].any() or not isinstance(operator, (ast.Mult, ast.Div)):
        raise ArithmeticError
    if isinstance(operator, ast.Mult):
        return left * right[-1]
    if not right[-1]:
        raise ZeroDivisionError
    return left / right[-1]
