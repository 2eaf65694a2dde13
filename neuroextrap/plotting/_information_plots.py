"""Information against size, models and pipelines side by side, a null distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.plotting._axes import (
    COLORS,
    LINES,
    Z95,
    add_legend,
    draws_on_axes,
    log_set_sizes,
    resolve_axes,
    same_length,
)
from neuroextrap.stats._validation import brief, check_level, real_array

_CURVE, _ROW, _LETTER = 2.2, 0.2, 0.06  # inch


def draw_specification_curve(table: Any, options: list[str], maxima: Any) -> Any:
    """Draw pipelines by their largest statistic, above dots that say their options.

    `maxima` (n_permutations,) are the largest statistics over all pipelines.
    """
    import matplotlib.pyplot as plt

    table = table.sort_values("largest_standardized", kind="stable")
    levels = [(option, level) for option in options for level in _levels(table[option])]
    rows = _ROW * max(1, len(levels))
    names = _LETTER * table["pipeline"].str.len().max()  # written aslant
    figure, (above, below) = plt.subplots(
        2,
        1,
        sharex=True,
        figsize=(max(4.5, 0.3 * len(table) + 2.5), _CURVE + rows + names),
        height_ratios=[_CURVE, rows],
        layout="constrained",
    )
    place = np.arange(len(table))
    survives = (table["p_value_fwe"] <= 0.05).to_numpy()
    for chosen, color in ((survives, COLORS[1]), (~survives, "0.6")):
        values = table["largest_standardized"].to_numpy()[chosen]
        above.plot(place[chosen], values, "o", color=color)
    threshold = critical_value(maxima, 0.05)
    if threshold is not None and np.isfinite(threshold):
        above.axhline(threshold, **LINES["threshold"])
    above.set_ylabel("largest\nstandardized\nstatistic")
    for row, (option, level) in enumerate(levels):
        chosen = place[(table[option].astype(str) == level).to_numpy()]
        below.plot(chosen, np.full(len(chosen), row), "s", ms=4, color="0.2")
    words = [f"{option.replace('_', ' ')} {level}" for option, level in levels]
    below.set_yticks(range(len(levels)), words, fontsize=8)
    below.set_ylim(len(levels) - 0.5, -0.5)
    below.set_xticks(place, table["pipeline"], rotation=45, ha="right", fontsize=8)
    return figure


def _levels(column: Any) -> list[str]:
    """Return the values of an option as text: numbers in their order, then words."""
    return [str(v) for v in sorted(set(column), key=lambda v: (isinstance(v, str), v))]


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
    bars = None if standard_error is None else Z95 * standard_error
    ax.errorbar(sizes, information, bars, fmt="o-", ms=3, color=COLORS[0], label=label)
    if lower_bound is not None:
        ax.plot(sizes, lower_bound, "--", color=COLORS[0], label="information bound")
    if truth is not None:
        ax.plot(sizes, truth, color="0.25", label="truth")
    log_set_sizes(ax, "voxels in the region")
    ax.set_ylabel("information (bits)")
    ax.set_ylim(bottom=min(0, ax.get_ylim()[0]))
    add_legend(ax)
    return ax


@draws_on_axes
def plot_null_distribution(
    null_scores: ArrayLike,
    observed: Any = None,
    *,
    level: float = 0.05,
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
    null_scores = real_array(null_scores, "null_scores")
    if null_scores.ndim != 1 or not len(null_scores):
        raise ValueError(
            f"null_scores of shape {null_scores.shape} must hold one score per "
            "permutation; run with n_permutations > 0"
        )
    if not np.isfinite(null_scores).all():
        raise ValueError("null_scores must be finite; drop regions without a score")
    observed = np.ravel(real_array([] if observed is None else observed, "observed"))
    level = check_level(level, "level")
    try:
        edges = np.histogram_bin_edges(null_scores, n_bins)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"n_bins={brief(n_bins)} must be a number of bins, ascending edges, or a "
            "rule of numpy.histogram_bin_edges"
        ) from error
    ax = resolve_axes(ax)
    ax.hist(null_scores, bins=edges, color="0.7", label="permuted labels")
    critical = critical_value(null_scores, level)
    if critical is not None:
        ax.axvline(critical, ls="--", color="0.2", label=f"p ≤ {level:g}")
    for number, value in enumerate(observed):
        name = "observed" if number == 0 else None
        ax.axvline(value, color=COLORS[1], label=name)
    ax.set(xlabel=xlabel, ylabel="permutations")
    add_legend(ax)
    return ax


def critical_value(null_scores, level):
    """Return the score from which on p <= level, or None when there is none."""
    allowed = int(np.floor(level * (len(null_scores) + 1) + 1e-9)) - 1
    if allowed < 0:
        return None
    return np.sort(null_scores)[::-1][min(allowed, len(null_scores) - 1)]
