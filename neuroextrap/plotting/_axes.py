"""Axes and colors shared by the figures."""

import numpy as np

from neuroextrap.stats._shared_options import Thing, described_by
from neuroextrap.stats._validation import brief, real_array

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colors, told apart by color-blind readers."""

LINES = {
    "chance": {"linestyle": ":", "color": "0.5"},
    "bound": {"color": COLORS[1], "marker": "^", "linestyle": "none"},
    "threshold": {"linestyle": "--", "color": COLORS[1]},
    "extrapolation": {"linestyle": ":", "color": COLORS[0]},
}
"""How lines and marks beside an accuracy curve are drawn."""

_LOOKS = {":": "dotted", "--": "dashed", "0.5": "gray", "^": "triangle"}
_LOOKS |= {COLORS[0]: "blue", COLORS[1]: "orange"}

_RETURNED = """
Returns
-------
ax : matplotlib.axes.Axes
    Axes with the figure.
"""
_RAISES = """
Raises
------
ValueError
    If the arrays differ in shape.
"""
_LONG_LEGEND, _MOST_TICKS = 3, 20


def resolve_axes(ax):
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a new figure.
    """
    if ax is not None and not hasattr(ax, "set_xlabel"):
        raise TypeError(f"ax must be axes of matplotlib or None, got {brief(ax)}")
    return new_axes(4.5, 3.3) if ax is None else ax


def new_axes(width, height, *shape, **options):
    """Return the axes of a new figure, its sides in inches, one or of a shape."""
    import matplotlib.pyplot as plt

    size = width, height
    return plt.subplots(*shape, figsize=size, layout="constrained", **options)[1]


def draws_on_axes(function: Thing) -> Thing:
    """Describe the axes that a figure is drawn on, and the error of unequal shapes."""
    described_by(resolve_axes)(function)
    if function.__doc__ is not None:
        raises = "" if "\nRaises\n" in function.__doc__ else _RAISES
        head = "\nReferences\n" if raises else "\nRaises\n"
        before, head, after = function.__doc__.partition(head)
        function.__doc__ = before + _RETURNED + raises + head + after
    return function


def line_words(name):
    """Return in words how a line of ``LINES`` looks: ``"dotted gray"``."""
    return " ".join(_LOOKS[look] for look in LINES[name].values() if look in _LOOKS)


def check_color(color):
    """Raise ValueError unless matplotlib knows a color."""
    from matplotlib.colors import is_color_like

    if not is_color_like(color):
        raise ValueError(f"color={brief(color)} is no color of matplotlib; name one")


def same_length(needed, **others):
    """Return arrays of the shape of the first, as floats; `others` may be None."""
    given: dict = {name: real_array(values, name) for name, values in needed.items()}
    given |= {n: v if v is None else real_array(v, n) for n, v in others.items()}
    name, first = next(iter(given.items()))
    if not first.size:
        raise ValueError(f"{name} is empty; give at least one number")
    for other, array in given.items():
        if array is not None and array.shape != first.shape:
            raise ValueError(
                f"{other} of shape {array.shape} must have the shape of {name}, "
                f"{first.shape}"
            )
    return [*given.values()]


def add_legend(ax):
    """Draw the legend, readable over lines, below axes when long; return the axes."""
    # "best" by name: otherwise matplotlib warns that the search is slow
    look = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none", "loc": "best"}
    n_names = len(ax.get_legend_handles_labels()[1])
    if n_names > _LONG_LEGEND:
        look |= {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
    if n_names:  # otherwise matplotlib warns
        ax.legend(**look)
    return ax


def class_ticks(ax, names):
    """Label both axes with classes, or with some of them if all would overlap."""
    ticks = np.arange(0, len(names), -(-len(names) // _MOST_TICKS))
    labels = [str(names[tick]) for tick in ticks]
    size = "small" if len(ticks) > _MOST_TICKS // 2 else "medium"
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(ticks, labels=labels, fontsize=size, **slanted)
    ax.set_yticks(ticks, labels=labels, fontsize=size)


def log_set_sizes(ax, label="set size (number of stimuli)"):
    """Label the horizontal axis as set sizes, on a log scale with plain numbers."""
    from matplotlib import ticker

    ax.set_xscale("log")
    ax.set_xlabel(label)
    low, high = ax.get_xlim()
    if high < 13:
        ax.xaxis.set_major_locator(ticker.MultipleLocator(1))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.xaxis.set_major_formatter(_plain)
    elif high / low < 1e5:
        subs = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
        ax.xaxis.set_major_locator(ticker.LogLocator(subs=subs))
        ax.xaxis.set_major_formatter(_plain)
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())


def _plain(number, _position):
    """Write a tick without powers of ten."""
    return f"{number:g}" if number < 1e5 else f"{number:.0f}"
