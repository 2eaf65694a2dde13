"""Axes and colours shared by the figures."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart by colour-blind readers."""


def resolve_axes(ax):
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.5, 3.3), layout="constrained")[1]


def same_length(reference, **others):
    """Return arrays of one shape, or say which one differs.

    Parameters
    ----------
    reference : tuple of (str, array-like)
        Name and values that give the shape.
    **others : array-like or None
        Checked against it; None stays None.

    Returns
    -------
    list of ndarray or None
        The reference, then the others.

    Raises
    ------
    ValueError
        If a shape differs from the reference's.
    """
    import numpy as np

    name, values = reference
    values = np.asarray(values, dtype=float)
    found = [values]
    for other, given in others.items():
        array = None if given is None else np.asarray(given, dtype=float)
        if array is not None and array.shape != values.shape:
            raise ValueError(
                f"{other} must have the shape of {name}, {values.shape}; got "
                f"{array.shape}"
            )
        found.append(array)
    return found


def log_set_sizes(ax, label="set size (number of stimuli)"):
    """Label the horizontal axis as set sizes, on a log scale with plain numbers.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    label : str, default="set size (number of stimuli)"
    """
    from matplotlib.ticker import (
        LogLocator,
        MultipleLocator,
        NullFormatter,
        NullLocator,
        ScalarFormatter,
    )

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if high < 13:
        ax.xaxis.set_major_locator(MultipleLocator(1))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(ScalarFormatter())
    elif high / low < 1e5:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(label)
