"""Information against the size of a region; values of several models side by side."""

from __future__ import annotations

from typing import Any

from neuroextrap.plotting._axes import (
    COLORS,
    Z95,
    add_legend,
    draws_on_axes,
    log_set_sizes,
    resolve_axes,
    same_length,
)
from neuroextrap.stats._validation import real_array


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

    Raises
    ------
    ValueError
        If the arrays differ in shape.

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
        ("n_voxels", n_voxels),
        information=real_array(information, "information"),
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
