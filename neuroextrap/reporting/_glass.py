"""Outlines of a brain seen from three sides, to be drawn over projections."""

import functools

from neuroextrap.reporting._pictures import data_uri


@functools.cache
def glass_outlines():
    """Let nilearn draw the glass brain of MNI space, empty.

    Returns
    -------
    outlines : dict
        For ``x``, ``y`` and ``z``, the axis looked along: ``source``, a data URI with
        a transparent background, and ``frame``, where its left, right, bottom and top
        edges are (mm).
    """
    return {axis: _outline(axis) for axis in "xyz"}


def _outline(axis):
    """Draw one side, the figure's edges at the limits of its axes."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_glass_brain

    figure = plt.figure()
    display = plot_glass_brain(None, display_mode=axis, figure=figure, annotate=False)
    ax = display.axes[axis].ax
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    figure.set_size_inches(4, 4 * (top - bottom) / (right - left))
    ax.set_position([0, 0, 1, 1])
    figure.patch.set_alpha(0)
    frame = [float(edge) for edge in (left, right, bottom, top)]
    return {"source": data_uri(figure), "frame": frame}
