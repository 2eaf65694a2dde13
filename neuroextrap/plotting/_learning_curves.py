"""Figures of information learning curves, after Kjems et al. 2002."""

import numpy as np

from neuroextrap.plotting._axes import COLORS, resolve_axes

_PANELS = {
    "information": ("information (bits)", "label entropy"),
    "error_rate": ("error rate", "guessing the most common label"),
    "reproducibility": ("map reproducibility (correlation)", None),
}


def plot_canonical_coordinates(
    coordinates, labels, *, class_means=None, directions=(0, 1), ax=None
):
    """Plot scans in canonical space, every scan as its label, with class circles.

    Parameters
    ----------
    coordinates : array of shape (n_samples, n_directions)
        Canonical coordinates, in within-class standard deviations. With a single
        direction the scans are spread by their order.
    labels : array of shape (n_samples,)
        Labels; drawn is the first character of each, or the last, or its number:
        the first of these that tells all labels apart.
    class_means : array of shape (n_classes, n_directions), optional
        Means of the sorted labels; None: those of ``coordinates``. The circles have
        radius one, the standard deviation of the classes.
    directions : tuple of int
        Which two directions to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        No canonical direction, or not one label a scan.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.plotting import plot_canonical_coordinates
    >>> c = np.random.default_rng(0).standard_normal((12, 2))
    >>> ax = plot_canonical_coordinates(c, np.tile(["A", "B"], 6))
    >>> len(ax.patches)
    2
    """
    from matplotlib.patches import Circle

    coordinates, labels = np.asarray(coordinates, dtype=float), np.asarray(labels)
    if coordinates.ndim != 2 or coordinates.shape[1] < 1:
        raise ValueError(
            f"coordinates of shape {coordinates.shape} given; (n_samples, "
            "n_directions) with at least one direction needed."
        )
    if labels.shape != coordinates.shape[:1]:
        raise ValueError(
            f"{len(labels)} labels given for {len(coordinates)} scans; one each needed."
        )
    classes = np.unique(labels)
    if class_means is None:
        class_means = [coordinates[labels == g].mean(axis=0) for g in classes]
    points, means, names = _two_axes(coordinates, np.asarray(class_means), directions)
    ax = resolve_axes(ax)
    symbols = _symbols([str(label) for label in classes])
    for i, label in enumerate(classes):
        color, mine = COLORS[i % len(COLORS)], labels == label
        ax.plot(*points[mine].T, "o", ms=1, color=color)
        for x, y in points[mine]:
            ax.annotate(symbols[i], (x, y), ha="center", va="center", color=color)
        name = f"{symbols[i]}  {label}"
        ax.add_patch(Circle(means[i], 1, fill=False, color=color, label=name))
    ax.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    ax.autoscale_view()
    ax.legend(frameon=False, fontsize="small")
    return ax


def _symbols(names):
    """One character a label that tells them apart; their numbers if none does."""
    for characters in ([name[:1] for name in names], [name[-1:] for name in names]):
        if len(set(characters)) == len(names):
            return characters
    return [str(number + 1) for number in range(len(names))]


def _two_axes(coordinates, class_means, directions):
    """Points and means in two directions; the order of scans replaces a missing one."""
    if coordinates.shape[1] == 1:
        spread = np.linspace(-1, 1, len(coordinates))
        points = np.stack([coordinates[:, 0], spread], axis=1)
        means = np.stack([class_means[:, 0], np.zeros(len(class_means))], axis=1)
        return points, means, ("canonical direction 1", "order of scans")
    picked = list(directions)
    names = [f"canonical direction {i + 1}" for i in picked]
    return coordinates[:, picked], class_means[:, picked], names


def plot_sensitivity_map(img, *, background=None, threshold=None, **options):
    """Plot orthogonal slices of a sensitivity map over an anatomical image.

    Parameters
    ----------
    img : 3-D image or path
        Sensitivity map as an image.
    background : 3-D image, path or False, optional
        Anatomy underneath. None: nilearn's template; False: none.
    threshold : float, optional
        Values below are transparent. None: the 95th percentile of the map.
    **options : dict
        Passed on to ``nilearn.plotting.plot_stat_map``.

    Returns
    -------
    nilearn.plotting.displays.OrthoSlicer
        The display.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figure 2.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.plotting import plot_sensitivity_map
    >>> values = np.random.default_rng(0).random((8, 9, 7))
    >>> img = nibabel.Nifti1Image(values, np.eye(4))
    >>> display = plot_sensitivity_map(img, background=False, title="sensitivity")
    >>> display.close()
    """
    from nilearn import plotting
    from nilearn.image import load_img

    img = load_img(img)
    if threshold is None:
        values = img.get_fdata()
        threshold = float(np.percentile(values[np.isfinite(values)], 95))
    if background is not None:
        options["bg_img"] = background or None
    settings = {"cmap": "inferno", "symmetric_cbar": False, "vmin": 0} | options
    return plotting.plot_stat_map(img, threshold=threshold, **settings)


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
    ax.legend(frameon=False, fontsize="small")
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
        error is below the baseline; the error rate with a grey band for each
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
    ax.legend(frameon=False, fontsize="small")
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
        A matrix that is not square, negative or not finite, or names that do not fit.

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
    names = range(len(confusion)) if class_names is None else class_names
    if len(names) != len(confusion):
        raise ValueError(
            f"{len(names)} class_names given for {len(confusion)} classes."
        )
    ax = resolve_axes(ax)
    for (true, predicted), value in np.ndenumerate(confusion):
        color = COLORS[0] if true == predicted else "0.4"
        ax.add_patch(Circle((true, predicted), 0.48 * np.sqrt(value), color=color))
    ticks = np.arange(len(confusion))
    ax.set_xticks(ticks, labels=[str(name) for name in names], rotation=45, ha="right")
    ax.set_yticks(ticks, labels=[str(name) for name in names])
    ax.set(
        xlabel="true class",
        ylabel="predicted class",
        aspect="equal",
        title=title or "",
        xlim=(-0.6, len(confusion) - 0.4),
        ylim=(len(confusion) - 0.4, -0.6),
    )
    return ax
