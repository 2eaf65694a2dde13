"""Information against size, models, pipelines, distances, a null distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import squareform
from scipy.special import ndtri, stdtrit

from neuroextrap.plotting._axes import (
    COLORS,
    LINES,
    add_legend,
    draws_on_axes,
    log_set_sizes,
    new_axes,
    resolve_axes,
    same_length,
)
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._validation import brief, check_level, real_array

_CURVE, _ROW, _LETTER = 2.2, 0.2, 0.06  # inch
# a legend above the axes: dots of a whole brain leave no free corner to search for
_ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
_ABOVE |= {"frameon": False, "fontsize": "small", "ncols": 2}


def draw_specification_curve(table: Any, options: list[str], maxima: Any) -> Any:
    """Draw pipelines by their largest statistic, above dots that say their options.

    `maxima` (n_permutations,) are the largest statistics over all pipelines.
    """
    table = table.sort_values("largest_standardized", kind="stable")
    levels = [(option, level) for option in options for level in _levels(table[option])]
    rows = _ROW * max(1, len(levels))
    names = _LETTER * table["pipeline"].str.len().max()  # written aslant
    size = max(4.5, 0.3 * len(table) + 2.5), _CURVE + rows + names
    two = {"sharex": True, "height_ratios": [_CURVE, rows]}
    above, below = new_axes(*size, 2, 1, **two)
    _draw_statistics(above, table, maxima)
    place = np.arange(len(table))
    for row, (option, level) in enumerate(levels):
        chosen = place[(table[option].astype(str) == level).to_numpy()]
        below.plot(chosen, np.full(len(chosen), row), "s", ms=4, color="0.2")
    words = [f"{option.replace('_', ' ')} {level}" for option, level in levels]
    below.set_yticks(range(len(levels)), words, fontsize=8)
    below.set_ylim(len(levels) - 0.5, -0.5)
    below.set_xticks(place, table["pipeline"], rotation=45, ha="right", fontsize=8)
    return below.figure


def _draw_statistics(ax, table, maxima):
    """Draw the largest statistics of pipelines, those that survive apart."""
    place, values = np.arange(len(table)), table["largest_standardized"].to_numpy()
    survives = (table["p_value_fwe"] <= LEVEL).to_numpy()
    for chosen, color in ((survives, COLORS[1]), (~survives, "0.6")):
        ax.plot(place[chosen], values[chosen], "o", color=color)
    threshold = critical_value(maxima, LEVEL)
    if threshold is not None and np.isfinite(threshold):
        ax.axhline(threshold, **LINES["threshold"])
    ax.set_ylabel("largest\nstandardized\nstatistic")


def _levels(column: Any) -> list[str]:
    """Return the values of an option as text: numbers in their order, then words."""
    return [str(v) for v in sorted(set(column), key=lambda v: (isinstance(v, str), v))]


def draw_both_accuracies(first, second, survives, names):
    """Draw accuracies (n_regions,) of two decoders against each other."""
    ax = new_axes(4.2, 4)
    for rows, color, size, label in (
        (~survives & np.isfinite(second - first), "0.65", 6, "not shown to differ"),
        (survives, COLORS[1], 10, "survive correction"),
    ):
        if rows.any():
            look = {"s": size, "color": color, "rasterized": rows.sum() > 500}
            ax.scatter(second[rows], first[rows], lw=0, label=label, **look)
    ends = np.nanmin([first, second]), np.nanmax([first, second])
    ax.plot(ends, ends, color="0.4", lw=0.8)
    xlabel, ylabel = (f"accuracy of {name}" for name in names[::-1])
    ax.set(xlabel=xlabel, ylabel=ylabel, aspect="equal")
    ax.legend(**_ABOVE)
    return ax.figure


def draw_distances(maps, region):
    """Draw the distances of one region of maps beside those of the models."""
    n_classes = len(maps.classes_)
    panels = {"measured": squareform(maps.dissimilarities_[region])} | maps.models_
    side = float(np.clip(0.22 * n_classes, 2.4, 5))
    size = (side + 1.2) * len(panels), side + 0.6
    axes = new_axes(*size, 1, len(panels), squeeze=False)[0]
    names = [str(each) for each in maps.classes_] if n_classes <= 40 else []
    for ax, (name, distances) in zip(axes, panels.items(), strict=True):
        masked = np.where(np.eye(n_classes, dtype=bool), np.nan, distances)
        picture = ax.imshow(masked, cmap="viridis")
        ax.set_title(name)
        ax.figure.colorbar(picture, ax=ax, shrink=0.8)
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        ax.set_yticks(range(len(names)), names, fontsize=7)
    return axes[0].figure


_WITHOUT_SPREAD = 3  # fewer subjects have no interval


def draw_subjects(ax, values, column, tested=None):
    """Draw subjects' values in a column, by what is `tested`, or with their mean."""
    finite = np.isfinite(values)
    own, label = values[finite], "one subject" if column == 0 else None
    across = np.linspace(-0.22, 0.22, len(own))
    if tested is not None:
        across = 0.3 * tested[finite] / np.abs(tested[finite]).max()
    ax.plot(column + across, own, "o", ms=4, color=COLORS[0], alpha=0.6, label=label)
    if tested is None and len(own) >= _WITHOUT_SPREAD:
        reach = stdtrit(len(own) - 1, 0.975) * own.std(ddof=1) / len(own) ** 0.5
        label = "mean, 95% interval" if column == 0 else None
        look = {"fmt": "D", "color": COLORS[1], "label": label}
        ax.errorbar(column + 0.33, own.mean(), reach, **look)


@draws_on_axes
def plot_information_vs_size(
    n_voxels: Any,
    information: Any,
    *,
    standard_error: Any = None,
    lower_bound: Any = None,
    truth: Any = None,
    label: str = "implied information",
    ax: Any = None,
) -> Any:
    """Plot information against the number of voxels analyzed together.

    Parameters
    ----------
    n_voxels : array-like of int of shape (n_sizes,)
        Number of voxels (or vertices) per region.
    information : array-like of shape (n_sizes,)
        Information in bits.
    standard_error : array-like of shape (n_sizes,) or None, default=None
        Standard errors of the information in bits, drawn as 95% bars.
    lower_bound : array-like of shape (n_sizes,) or None, default=None
        Lower confidence bound on the information in bits, drawn dashed.
    truth : array-like of shape (n_sizes,) or None, default=None
        True information in bits, where it is known.
    label : str, default="implied information"
        Name of the curve in the legend.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error" (the implied information).

    Examples
    --------
    >>> from neuroextrap.plotting import plot_information_vs_size
    >>> ax = plot_information_vs_size([1, 10, 100], [0.1, 0.9, 4.0])
    >>> ax.get_ylabel()
    'information (bits)'
    """
    sizes, information, standard_error, lower_bound, truth = same_length(
        {"n_voxels": n_voxels, "information": information},
        standard_error=standard_error,
        lower_bound=lower_bound,
        truth=truth,
    )
    ax = resolve_axes(ax)
    bars = None if standard_error is None else ndtri(0.975) * standard_error
    ax.errorbar(sizes, information, bars, fmt="o-", ms=3, color=COLORS[0], label=label)
    if lower_bound is not None:
        ax.plot(sizes, lower_bound, "--", color=COLORS[0], label="information bound")
    if truth is not None:
        ax.plot(sizes, truth, color="0.25", label="truth")
    log_set_sizes(ax, "voxels in the region")
    ax.set(ylabel="information (bits)", ylim=(min(0, ax.get_ylim()[0]), None))
    return add_legend(ax)


@draws_on_axes
def plot_null_distribution(
    null_scores: ArrayLike,
    observed: Any = None,
    *,
    level: float = LEVEL,
    xlabel: str = "largest accuracy over regions",
    n_bins: Any = "auto",
    ax: Any = None,
) -> Any:
    """Plot a histogram of permuted scores, the critical value and the observed score.

    Parameters
    ----------
    null_scores : array-like of shape (n_permutations,)
        Permuted scores; for a family-wise test the maxima over regions.
    observed : float, array-like or None, default=None
        Observed score or scores, drawn as vertical lines.
    level : float, default=0.05
        Level of the test. The smallest score with p <= level is marked, p = (1 + #>=) /
        (B + 1); nothing is marked when no score can get that small a p-value.
    xlabel : str, default="largest accuracy over regions"
        Name of the score, with its unit.
    n_bins : int or str, default="auto"
        Number of bins, or a rule of ``numpy.histogram_bin_edges``.

    Raises
    ------
    ValueError
        If there are no permuted scores or one is not finite.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging", Human Brain Mapping 15, 1-25 (the maximum statistic).

    Examples
    --------
    >>> from neuroextrap.plotting import plot_null_distribution
    >>> ax = plot_null_distribution([0.2, 0.25, 0.3], 0.6, level=0.5)
    >>> ax.get_ylabel()
    'permutations'
    """
    null_scores, edges = _binned(null_scores, n_bins)
    observed = np.ravel(real_array([] if observed is None else observed, "observed"))
    level = check_level(level, "level")
    ax = resolve_axes(ax)
    ax.hist(null_scores, bins=edges, color="0.7", label="permuted labels")
    critical = critical_value(null_scores, level)
    if critical is not None:
        ax.axvline(critical, ls="--", color="0.2", label=f"p ≤ {level:g}")
    for number, value in enumerate(observed):
        name = "observed" if number == 0 else None
        ax.axvline(value, color=COLORS[1], label=name)
    ax.set(xlabel=xlabel, ylabel="permutations")
    return add_legend(ax)


def _binned(null_scores, n_bins):
    """Return permuted scores (n_permutations,) and the edges of bins, checked."""
    null_scores = real_array(null_scores, "null_scores")
    if null_scores.ndim != 1 or not len(null_scores):
        raise ValueError(
            f"null_scores of shape {null_scores.shape} must hold one score per "
            "permutation; run with n_permutations > 0"
        )
    if not np.isfinite(null_scores).all():
        raise ValueError("null_scores must be finite; drop regions without a score")
    try:
        return null_scores, np.histogram_bin_edges(null_scores, n_bins)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"n_bins={brief(n_bins)} must be a number of bins, ascending edges, or a "
            "rule of numpy.histogram_bin_edges"
        ) from error


def critical_value(null_scores, level):
    """Return the score from which on p <= level, or None when there is none."""
    allowed = int(np.floor(level * (len(null_scores) + 1) + 1e-9)) - 1
    if allowed < 0:
        return None
    return np.sort(null_scores)[::-1][min(allowed, len(null_scores) - 1)]
