"""Accuracy against the number of stimuli and over time, with extrapolations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.plotting._axes import (
    COLORS,
    LINES,
    add_legend,
    check_color,
    draws_on_axes,
    log_set_sizes,
    resolve_axes,
    same_length,
)
from neuroextrap.stats._pvalues import LEVEL
from neuroextrap.stats._validation import (
    brief,
    check_flags,
    check_level,
    check_number,
    real_array,
)

_BOUND = "average Bayes\naccuracy bound"


@draws_on_axes
def plot_accuracy_curve(  # noqa: PLR0913
    set_sizes: ArrayLike,
    accuracy: ArrayLike,
    *,
    interval: tuple | None = None,
    lower_bound: ArrayLike | None = None,
    chance: bool = True,
    label: str | None = None,
    color: Any = COLORS[0],
    ax: Any = None,
) -> Any:
    """Plot identification accuracy against set size, with band, bound and chance.

    Parameters
    ----------
    set_sizes : array-like of int of shape (n_sizes,)
        Numbers of stimuli k to choose from.
    accuracy : array-like of shape (n_sizes,)
        Average accuracy A_k at each set size, as a proportion.
    interval : tuple of two array-like of shape (n_sizes,) or None, default=None
        Lower and upper ends of the 95% interval at each set size, as
        ``stats.average_accuracy_interval`` and ``accuracy_interval`` of a fitted
        analysis give them, drawn as a band.
    lower_bound : array-like of shape (n_sizes,) or None, default=None
        Lower confidence bound on the average Bayes accuracy, drawn dashed.
    chance : bool, default=True
        Whether to draw the accuracy of guessing, 1 / k.
    label : str or None, default=None
        Name of the curve in the legend; None is "observed".
    color : str or tuple, default="#0072B2"
        Color of curve, band and bound, as matplotlib takes it.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", JMLR 19, figures of average accuracy against k.

    Examples
    --------
    >>> from neuroextrap.plotting import plot_accuracy_curve
    >>> ax = plot_accuracy_curve([2, 4, 8], [0.9, 0.8, 0.7])
    >>> ax.get_ylabel()
    'identification accuracy'
    """
    check_flags(chance=chance)
    check_color(color)
    needed = {"set_sizes": set_sizes, "accuracy": accuracy}
    sizes, accuracy, lower_bound = same_length(needed, lower_bound=lower_bound)
    ax = resolve_axes(ax)
    label = "observed" if label is None else str(label)
    ax.plot(sizes, accuracy, "o-", color=color, ms=3, label=label)
    if interval is not None:
        draw_interval(ax, sizes, interval, 0.95, of="set_sizes", color=color)
    if lower_bound is not None:
        ax.plot(sizes, lower_bound, "--", color=color, label=_BOUND)
    return _finish(ax, sizes, chance)


@draws_on_axes
def plot_extrapolation_fan(  # noqa: PLR0913
    set_sizes: ArrayLike,
    accuracy: ArrayLike,
    target_sizes: ArrayLike,
    predictions: dict,
    *,
    interval: tuple | None = None,
    confidence_level: float = 0.9,
    truth: ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """Plot an observed accuracy curve and its extrapolations by several methods.

    Parameters
    ----------
    set_sizes : array-like of int of shape (n_sizes,)
        Set sizes at which accuracy was observed.
    accuracy : array-like of shape (n_sizes,)
        Observed average accuracy, as a proportion.
    target_sizes : array-like of int of shape (n_targets,)
        Set sizes of the predictions.
    predictions : dict of str to array-like of shape (n_targets,)
        Predicted accuracy by the name of the method.
    interval : tuple of two array-like of shape (n_targets,) or None, default=None
        Lower and upper ends, as ``AccuracyExtrapolator.predict_interval`` gives them,
        drawn as a band.
    confidence_level : float, default=0.9
        Confidence level of the interval, for the legend.
    truth : array-like of shape (n_targets,) or None, default=None
        True accuracy at the target sizes, where it is known.

    Raises
    ------
    ValueError
        If arrays that belong together differ in shape.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, JMLR 19 (several methods side by side).

    Examples
    --------
    >>> from neuroextrap.plotting import plot_extrapolation_fan
    >>> ax = plot_extrapolation_fan(
    ...     [2, 8], [0.9, 0.6], [20, 50], {"gaussian": [0.5, 0.4]}
    ... )
    >>> [line.get_label() for line in ax.lines][:2]
    ['gaussian', 'observed']
    """
    sizes, accuracy = same_length({"set_sizes": set_sizes, "accuracy": accuracy})
    targets, truth = same_length({"target_sizes": target_sizes}, truth=truth)
    level = check_level(confidence_level, "confidence_level")
    if not isinstance(predictions, dict):
        raise TypeError(
            f"predictions={brief(predictions)} must be a dict of curves by name"
        )
    ax = resolve_axes(ax)
    if interval is not None:
        draw_interval(ax, targets, interval, level)
    styles = ("-", "--", ":", "-.")
    for number, (name, prediction) in enumerate(predictions.items()):
        _, curve = same_length({"target_sizes": targets, name: prediction})
        color = COLORS[number % len(COLORS)]
        style = styles[number // len(COLORS) % len(styles)]
        ax.plot(targets, curve, style, color=color, label=name)
    ax.plot(sizes, accuracy, "o", color="0.25", ms=3, label="observed")
    if truth is not None:
        ax.plot(targets, truth, color="0.25", lw=2.5, alpha=0.5, label="truth")
    ax.axvline(sizes.max(), color="0.7", lw=0.8)
    return _finish(ax, np.concatenate([sizes, targets]), chance=True)


def draw_interval(
    ax, sizes, interval, confidence_level, *, of="target_sizes", color=COLORS[0]
):
    """Draw an interval (lower, upper) at each of the sizes `of` a name, as a band."""
    ends = real_array(interval, "interval")
    if ends.shape != (2, *np.shape(sizes)):
        raise ValueError(
            f"interval of shape {ends.shape} must hold lower and upper ends for each "
            f"of {of}, {np.shape(sizes)}"
        )
    label = f"{confidence_level:.0%} interval"
    ax.fill_between(sizes, *ends, color=color, alpha=0.15, lw=0, label=label)


def _finish(ax, sizes, chance):
    """Draw chance; label the axes, and return them."""
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ValueError("set_sizes and target_sizes must be numbers above 0")
    if chance:
        grid = np.geomspace(sizes.min(), sizes.max(), 100)
        ax.plot(grid, 1 / grid, label="chance", **LINES["chance"])
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("identification accuracy")
    log_set_sizes(ax)
    return add_legend(ax)


@draws_on_axes
def plot_time_course(  # noqa: PLR0913
    times: Any,
    scores: Any,
    *,
    p_value: Any = None,
    level: float = LEVEL,
    lower_bound: Any = None,
    chance: float | None = None,
    xlabel: str = "time",
    ylabel: str = "identification accuracy",
    ax: Any = None,
    **line: Any,
) -> Any:
    """Plot a score over time, with the moments that survive correction.

    Parameters
    ----------
    times : array-like of shape (n_moments,)
        Time of every moment.
    scores : array-like of shape (n_moments,)
        Score at every moment, such as accuracy (a proportion) or information (bits).
    p_value : array-like of shape (n_moments,) or None, default=None
        P-values, best those corrected for all moments; moments at which they are at
        most `level` are marked by dots.
    level : float, default=0.05
        Level of the test.
    lower_bound : array-like of shape (n_moments,) or None, default=None
        Lower confidence bound of the score, drawn dashed.
    chance : float or None, default=None
        Score of guessing, drawn as a line; None draws none.
    xlabel : str, default="time"
        Name of the time axis, with its unit.
    ylabel : str, default="identification accuracy"
        Name of the score, with its unit.
    **line
        Further options of matplotlib's ``plot`` for the curve, such as ``color`` and
        ``label``, its name in the legend ("observed" if it is not given).

    References
    ----------
    Grootswagers, Wardle & Carlson 2017, "Decoding dynamic brain patterns from evoked
    responses", Journal of Cognitive Neuroscience 29.

    Examples
    --------
    >>> from neuroextrap.plotting import plot_time_course
    >>> ax = plot_time_course(
    ...     [0, 10, 20], [0.2, 0.6, 0.3], p_value=[1, 0.01, 0.2], chance=0.25
    ... )
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('time', 'identification accuracy')
    """
    times, scores, p_value, lower_bound = same_length(
        {"times": times, "scores": scores}, p_value=p_value, lower_bound=lower_bound
    )
    level = check_level(level, "level")
    chance = None if chance is None else check_number(chance, "chance")
    ax = resolve_axes(ax)
    line = {"color": COLORS[0], "label": "observed"} | line
    color = ax.plot(times, scores, **line)[0].get_color()
    if lower_bound is not None:
        ax.plot(times, lower_bound, "--", color=color, label="lower bound")
    if p_value is not None:
        places, heights = np.array([times, scores])[:, p_value <= level]
        ax.plot(places, heights, "o", color=color, ms=4, label=f"p ≤ {level:g}")
    if chance is not None:
        ax.axhline(chance, ls=":", color="0.5", label="chance")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return add_legend(ax)


@draws_on_axes
def plot_temporal_generalization(  # noqa: PLR0913
    times: Any,
    scores: Any,
    *,
    p_value: Any = None,
    level: float = LEVEL,
    xlabel: str = "time of the test",
    ylabel: str = "time of training",
    label: str = "identification accuracy",
    ax: Any = None,
) -> Any:
    """Plot scores by moment of training and moment of test.

    Parameters
    ----------
    times : array-like of shape (n_times,)
        Time of every moment, in equal steps.
    scores : array-like of shape (n_times, n_times)
        Scores; rows are moments of training, columns those of the test.
    p_value : array-like of shape (n_times, n_times) or None, default=None
        P-values, best those corrected for all pairs of moments; a line surrounds those
        that are at most `level`.
    level : float, default=0.05
        Level of the test.
    xlabel, ylabel : str, default="time of the test" and "time of training"
        Names of the axes, with the unit.
    label : str, default="identification accuracy"
        Name of the score, with its unit.

    Raises
    ------
    ValueError
        If scores or p-values are not one row and one column for every time, or the
        times are not in equal steps.

    References
    ----------
    King & Dehaene 2014, "Characterizing the dynamics of mental representations: the
    temporal generalization method", Trends in Cognitive Sciences 18.

    Examples
    --------
    >>> from neuroextrap.plotting import plot_temporal_generalization
    >>> ax = plot_temporal_generalization([0, 10], [[0.9, 0.2], [0.3, 0.8]])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('time of the test', 'time of training')
    """
    times, level = real_array(times, "times"), check_level(level, "level")
    steps = np.diff(times) if times.ndim == 1 else np.empty(0)
    if len(steps) == 0 or not np.allclose(steps, steps[0]) or steps[0] <= 0:
        raise ValueError(
            "times must be two or more in equal steps; interpolate, or use only times "
            "that are"
        )
    edges = times[0] + steps[0] * (np.arange(len(times) + 1) - 0.5)
    needed = {"times": np.empty((len(times),) * 2), "scores": scores}
    _, scores, p_value = same_length(needed, p_value=p_value)
    ax = resolve_axes(ax)
    image = ax.pcolormesh(edges, edges, scores, cmap="plasma")
    if p_value is not None:
        _outline(ax, edges, p_value <= level)
    ax.set(xlabel=xlabel, ylabel=ylabel, aspect="equal")
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def _outline(ax, edges, survives):
    """Draw a line between squares that survive and those that do not."""
    from matplotlib.collections import LineCollection

    lines = []
    for turn, squares in ((1, survives), (-1, survives.T)):
        inside = np.pad(squares, ((1, 1), (0, 0)))
        for row, column in np.argwhere(inside[1:] != inside[:-1]):
            ends = [(edges[at], edges[row])[::turn] for at in (column, column + 1)]
            lines.append(ends)
    if lines:
        outline = LineCollection(lines, colors="white", capstyle="projecting")
        ax.add_collection(outline, autolim=False)
