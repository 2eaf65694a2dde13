"""Accuracy over time, and from moments of training to moments of test."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroextrap.plotting._axes import (
    COLORS,
    add_legend,
    draws_on_axes,
    resolve_axes,
    same_length,
)
from neuroextrap.stats._validation import check_level, check_number, real_array


@draws_on_axes
def plot_time_course(  # noqa: PLR0913
    times: Any,
    scores: Any,
    *,
    p_value: Any = None,
    level: float = 0.05,
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
    needed = {"times": times, "scores": scores}
    times, scores, p_value, lower_bound = same_length(
        needed, p_value=p_value, lower_bound=lower_bound
    )
    level = check_level(level, "level")
    chance = None if chance is None else check_number(chance, "chance")
    ax = resolve_axes(ax)
    (curve,) = ax.plot(
        times, scores, **({"color": COLORS[0], "label": "observed"} | line)
    )
    color = curve.get_color()
    if lower_bound is not None:
        ax.plot(times, lower_bound, "--", color=color, label="lower bound")
    if p_value is not None:
        survives = p_value <= level
        marks = {"color": color, "ms": 4, "label": f"p ≤ {level:g}"}
        ax.plot(times[survives], scores[survives], "o", **marks)
    if chance is not None:
        ax.axhline(chance, ls=":", color="0.5", label="chance")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    add_legend(ax)
    return ax


@draws_on_axes
def plot_temporal_generalization(  # noqa: PLR0913
    times: Any,
    scores: Any,
    *,
    p_value: Any = None,
    level: float = 0.05,
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
    edges = _edges(times)
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


def _edges(times):
    """Return the edges of equal steps around the times; ValueError if they differ."""
    steps = np.diff(times) if times.ndim == 1 else np.empty(0)
    if len(steps) == 0 or not np.allclose(steps, steps[0]) or steps[0] <= 0:
        raise ValueError(
            "times must be two or more in equal steps; interpolate, or use only times "
            "that are"
        )
    return times[0] + steps[0] * (np.arange(len(times) + 1) - 0.5)
