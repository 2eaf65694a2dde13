"""Figures of information learning curves, after Kjems et al. 2002."""

import numpy as np

from neuroextrap.plotting._axes import COLORS, add_legend, class_ticks, resolve_axes

_PANELS = {
    "information": ("information (bits)", "label entropy"),
    "error_rate": ("error rate", "guessing the most common label"),
    "reproducibility": ("map reproducibility (correlation)", None),
}


def plot_information_vs_reproducibility(curves, *, ax=None):
    """Plot information against reproducibility, one line a data set or model.

    Parameters
    ----------
    curves : dict of str to Bunch
        Results of ``information_learning_curve``; each training size up to half of
        the subjects is a point; its number is written beside the first and the last.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        A curve without reproducibility.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 3.

    Examples
    --------
    >>> from neuroextrap.learning_curves import information_learning_curve
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> from neuroextrap.plotting import plot_information_vs_reproducibility
    >>> data = simulate_hierarchical_scans(n_subjects=8)
    >>> curve = information_learning_curve(data.X, data.coarse, data.groups, n_splits=5)
    >>> ax = plot_information_vs_reproducibility({"two labels": curve})
    >>> ax.get_ylabel()
    'information (bits)'
    """
    ax = resolve_axes(ax)
    for i, (name, curve) in enumerate(curves.items()):
        known = np.isfinite(curve.reproducibility).all(axis=1)
        if not known.any():
            raise ValueError(
                f"curve {name!r} has no reproducibility; compute it with a pattern and "
                "train_sizes up to half of the subjects."
            )
        x = curve.reproducibility[known].mean(axis=1)
        y = curve.information[known].mean(axis=1)
        ax.plot(x, y, "o-", ms=3, color=COLORS[i % len(COLORS)], label=name)
        for end in {0, len(x) - 1}:
            size = str(curve.train_sizes[known][end])
            place = {"xytext": (3, 3), "textcoords": "offset points", "size": 7}
            ax.annotate(size, (x[end], y[end]), **place)
    ax.axhline(0, ls=":", color="0.5")
    ax.set(
        xlabel="map reproducibility (correlation)",
        ylabel="information (bits)",
    )
    add_legend(ax)
    return ax


def plot_learning_curves(curves, *, panel="information", spread=True, ax=None):
    """Plot learning curves of one or several models.

    Parameters
    ----------
    curves : dict of str to Bunch
        Results of ``information_learning_curve``.
    panel : {"information", "error_rate", "reproducibility"}
        What is drawn against the number of training subjects. Information comes
        with the label entropy and with a remark where a curve is negative while its
        error is below the baseline; the error rate with a gray band for each
        baseline, the rate of guessing the most common label.
    spread : bool
        Draw one standard deviation over splits as a band. Splits share subjects:
        this is no standard error.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        An unknown panel.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 4.

    Examples
    --------
    >>> from neuroextrap.learning_curves import information_learning_curve
    >>> from neuroextrap.learning_curves import simulate_hierarchical_scans
    >>> from neuroextrap.plotting import plot_learning_curves
    >>> data = simulate_hierarchical_scans(n_subjects=6)
    >>> curve = information_learning_curve(data.X, data.coarse, data.groups, n_splits=5)
    >>> ax = plot_learning_curves({"two labels": curve}, panel="error_rate")
    >>> ax.get_xlabel()
    'training subjects'
    """
    if panel not in _PANELS:
        raise ValueError(
            f"panel={panel!r} is unknown; allowed: 'information', 'error_rate', "
            "'reproducibility'."
        )
    ax = resolve_axes(ax)
    for i, (name, curve) in enumerate(curves.items()):
        _draw_curve(ax, curve, panel, name, COLORS[i % len(COLORS)], spread)
    _draw_reference(ax, list(curves.values()), panel)
    ax.set(xlabel="training subjects", ylabel=_PANELS[panel][0])
    add_legend(ax)
    return ax


def _draw_curve(ax, curve, panel, name, color, spread):
    """One curve with its band, where it is finite."""
    values = curve[panel]
    known = np.isfinite(values).all(axis=1)
    sizes, values = curve.train_sizes[known], values[known]
    mean = values.mean(axis=1)
    ax.plot(sizes, mean, "o-", ms=3, color=color, label=name)
    if spread and values.shape[1] > 1:
        sd = values.std(axis=1, ddof=1)
        ax.fill_between(sizes, mean - sd, mean + sd, color=color, alpha=0.2, lw=0)


def _draw_reference(ax, curves, panel):
    """Label entropy, baseline band, or nothing; and what negative values mean."""
    label = _PANELS[panel][1]
    if panel == "information":
        ax.axhline(0, ls=":", color="0.5")
        ax.axhline(
            max(c.label_entropy for c in curves), ls="--", color="0.5", label=label
        )
        if any(_overfits(curve) for curve in curves):
            ax.set_title(
                "below 0 bits with error below baseline: overfitting", fontsize="small"
            )
    elif panel == "error_rate":
        rates = {
            (rate.min().round(3), rate.max().round(3))
            for rate in (curve.baseline_error_rate.mean(axis=1) for curve in curves)
        }
        for low, high in sorted(rates):
            ax.axhspan(low - 0.006, high + 0.006, color="0.8", lw=0, label=label)
            label = None


def _overfits(curve):
    """Whether information is negative somewhere with the error below the baseline."""
    negative = curve.information.mean(axis=1) < 0
    better = curve.error_rate.mean(axis=1) < curve.baseline_error_rate.mean(axis=1)
    return bool(np.any(negative & better))


def plot_confusion_discs(confusion, class_names=None, *, title=None, ax=None):
    """Plot mean predicted probabilities as discs, their area the probability.

    Parameters
    ----------
    confusion : array of shape (n_classes, n_classes)
        Mean predicted probabilities; row = true class, column = predicted.
    class_names : sequence of str, optional
        Names of the classes.
    title : str, optional
        Title, such as the number of training subjects.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; true classes from left to right, predicted ones from top
        to bottom, so that every column holds the same area.

    Raises
    ------
    ValueError
        A matrix that is not square, negative, not finite or above one, or names that
        do not fit.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 5.

    Examples
    --------
    >>> from neuroextrap.plotting import plot_confusion_discs
    >>> ax = plot_confusion_discs([[0.9, 0.1], [0.3, 0.7]], ["rest", "task"])
    >>> ax.get_xlabel()
    'true class'
    """
    from matplotlib.patches import Circle

    confusion = np.asarray(confusion, dtype=float)
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
        raise ValueError(f"confusion must be square; got shape {confusion.shape}.")
    if not (np.isfinite(confusion).all() and confusion.min() >= 0):
        raise ValueError("confusion must be finite and not negative.")
    if confusion.max() > 1 + 1e-9:
        raise ValueError(
            f"confusion must hold probabilities, got {confusion.max():g}; divide "
            "counts by their row's sum."
        )
    names = range(len(confusion)) if class_names is None else class_names
    if len(names) != len(confusion):
        raise ValueError(
            f"{len(names)} class_names given for {len(confusion)} classes."
        )
    ax = resolve_axes(ax)
    for (true, predicted), value in np.ndenumerate(confusion):
        color = COLORS[0] if true == predicted else "0.4"
        ax.add_patch(Circle((true, predicted), 0.48 * np.sqrt(value), color=color))
    class_ticks(ax, names)
    ax.set(
        xlabel="true class",
        ylabel="predicted class",
        aspect="equal",
        title=title or "",
        xlim=(-0.6, len(confusion) - 0.4),
        ylim=(len(confusion) - 0.4, -0.6),
    )
    return ax
