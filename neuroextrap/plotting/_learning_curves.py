"""Learning curves, canonical space and confusions, after Kjems et al. 2002."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.plotting._axes import (
    COLORS,
    add_legend,
    class_ticks,
    draws_on_axes,
    resolve_axes,
)
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_flags,
    check_numbers,
    real_array,
)


@draws_on_axes
def plot_canonical_coordinates(
    coordinates: ArrayLike,
    labels: ArrayLike,
    *,
    class_means: ArrayLike | None = None,
    directions: tuple = (0, 1),
    ax: Any = None,
) -> Any:
    """Plot scans in canonical space, each as the symbol of its label.

    A circle of radius one, the standard deviation of the classes, is drawn around the
    mean of every class.

    Parameters
    ----------
    coordinates : array-like of shape (n_samples, n_directions)
        Canonical coordinates, in within-class standard deviations. With a single
        direction the scans are spread by their order.
    labels : array-like of shape (n_samples,)
        Labels of the scans. Their symbol is the first character, or the last, or their
        number: the first of these that tells all labels apart.
    class_means : array-like of shape (n_classes, n_directions) or None, default=None
        Means of the classes, in the order of the sorted labels; None takes them from
        ``coordinates``.
    directions : tuple of int, default=(0, 1)
        The two directions to draw.

    Raises
    ------
    ValueError
        If there is no canonical direction, or not one label per scan.

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

    coordinates, labels, classes, means = _checked(coordinates, labels, class_means)
    points, means, names = _two_axes(coordinates, means, directions)
    ax = resolve_axes(ax)
    for i, (symbol, label) in enumerate(zip(_symbols(classes), classes, strict=True)):
        color, scans = COLORS[i % len(COLORS)], points[labels == label]
        ax.plot(*scans.T, "o", ms=1, color=color)
        for x, y in scans:
            ax.annotate(symbol, (x, y), ha="center", va="center", color=color)
        name = f"{symbol}  {label}"
        ax.add_patch(Circle(means[i], 1, fill=False, color=color, label=name))
    ax.set(xlabel=names[0], ylabel=names[1], aspect="equal")
    ax.autoscale_view()
    return add_legend(ax)


def _checked(coordinates, labels, class_means):
    """Return coordinates, labels, the classes and their means, checked."""
    coordinates = real_array(coordinates, "coordinates")
    labels = check_labels(labels, "labels")
    if coordinates.ndim != 2 or coordinates.shape[1] < 1:
        raise ValueError(
            f"coordinates of shape {coordinates.shape} must have shape (n_samples, "
            "n_directions) with at least one direction"
        )
    if labels.shape != coordinates.shape[:1]:
        raise ValueError(
            f"labels of shape {labels.shape} must hold one label for each of the "
            f"{len(coordinates)} scans"
        )
    classes = np.unique(labels)
    if class_means is None:
        class_means = [coordinates[labels == g].mean(axis=0) for g in classes]
    means = real_array(class_means, "class_means")
    if means.shape != (len(classes), coordinates.shape[1]):
        raise ValueError(
            f"class_means of shape {means.shape} must hold a row for each of the "
            f"{len(classes)} labels, in the directions of coordinates"
        )
    return coordinates, labels, classes, means


def _symbols(labels):
    """Return one character per label that tells them apart, or else their numbers."""
    names = [str(label) for label in labels]
    for characters in ([name[:1] for name in names], [name[-1:] for name in names]):
        if len(set(characters)) == len(names):
            return characters
    return [str(number + 1) for number in range(len(names))]


def _two_axes(coordinates, class_means, directions):
    """Return points, means and axis names; the order of scans replaces a direction."""
    if coordinates.shape[1] == 1:
        spread = np.linspace(-1, 1, len(coordinates))
        points = np.stack([coordinates[:, 0], spread], axis=1)
        means = np.stack([class_means[:, 0], np.zeros(len(class_means))], axis=1)
        return points, means, ("canonical direction 1", "order of scans")
    picked = check_numbers(directions, "directions")
    is_pair = picked.dtype.kind in "iu" and picked.shape == (2,)
    if not is_pair or not (picked >= 0).all() or picked.max() >= class_means.shape[1]:
        raise ValueError(
            f"directions={brief(directions)} must be the numbers of two of the "
            f"{class_means.shape[1]} directions, counting from 0"
        )
    names = [f"canonical direction {i + 1}" for i in picked]
    return coordinates[:, picked], class_means[:, picked], names


_PANELS = {
    "information": ("information (bits)", "label entropy"),
    "error_rate": ("error rate", "guessing the most common label"),
    "reproducibility": ("map reproducibility (correlation)", None),
}
_TRADEOFF = "information_vs_reproducibility"


@draws_on_axes
def plot_learning_curves(
    curves: dict, *, panel: str = "information", spread: bool = True, ax: Any = None
) -> Any:
    """Plot learning curves of one or several models.

    Parameters
    ----------
    curves : dict of str to Bunch
        Results of ``information_learning_curve`` by their names in the legend.
    panel : str, default="information"
        "information", "error_rate" or "reproducibility" against the number of training
        subjects, or "information_vs_reproducibility", where each training size up to
        half of the subjects is a point (the first and the last are labeled).
        Information comes with the label entropy, and with a remark where a curve is
        negative while its error is below the baseline; the error rate with a gray band
        for each baseline, the rate of guessing the most common label.
    spread : bool, default=True
        Whether to draw one standard deviation over splits as a band. Splits share
        subjects: this is not a standard error.

    Raises
    ------
    ValueError
        If the panel is unknown, or needs reproducibility and a curve has none.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, figures 3 and 4.

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
    check_flags(spread=spread)
    check_choice(panel, "panel", (*_PANELS, _TRADEOFF))
    curves = check_curves(curves)
    ax = resolve_axes(ax)
    if panel == _TRADEOFF:
        return _draw_tradeoff(ax, curves)
    for i, (name, curve) in enumerate(curves.items()):
        _draw_curve(ax, curve, panel, name, COLORS[i % len(COLORS)], spread)
    _draw_reference(ax, list(curves.values()), panel)
    ax.set(xlabel="training subjects", ylabel=_PANELS[panel][0])
    ax.xaxis.get_major_locator().set_params(integer=True)
    return add_legend(ax)


def check_curves(curves):
    """Return curves by name; the name of a single curve may be empty."""
    if hasattr(curves, "train_sizes"):
        curves = {"": curves}
    if not isinstance(curves, dict) or not curves:
        raise TypeError(
            "curves must be a result of information_learning_curve, or a dict of them "
            f"by name, got {type(curves).__name__}"
        )
    for name, curve in curves.items():
        check_curve(curve, f"curves[{name!r}]")
    return {str(name): curve for name, curve in curves.items()}


def check_curve(curve, name="curve"):
    """Raise TypeError unless an argument is a learning curve."""
    if not hasattr(curve, "information"):
        raise TypeError(
            f"{name} must come from information_learning_curve, got "
            f"{type(curve).__name__}; give its result"
        )


def _draw_tradeoff(ax, curves):
    """Draw information against reproducibility; the first and last sizes are named."""
    for i, (name, curve) in enumerate(curves.items()):
        finite = np.isfinite(curve.reproducibility).all(axis=1)
        if not finite.any():
            raise ValueError(
                f"curve {name!r} has no reproducibility; compute it with a pattern and "
                "train_sizes up to half of the subjects"
            )
        x = curve.reproducibility[finite].mean(axis=1)
        y = curve.information[finite].mean(axis=1)
        ax.plot(x, y, "o-", ms=3, color=COLORS[i % len(COLORS)], label=name)
        for end in {0, len(x) - 1}:
            place = {"xytext": (3, 3), "textcoords": "offset points", "size": 7}
            ax.annotate(str(curve.train_sizes[finite][end]), (x[end], y[end]), **place)
    ax.axhline(0, ls=":", color="0.5")
    ax.set(xlabel=_PANELS["reproducibility"][0], ylabel=_PANELS["information"][0])
    return add_legend(ax)


def _draw_curve(ax, curve, panel, name, color, spread):
    """Draw one curve with its band, where it is finite."""
    values = curve[panel]
    finite = np.isfinite(values).all(axis=1)
    sizes, values = curve.train_sizes[finite], values[finite]
    mean = values.mean(axis=1)
    ax.plot(sizes, mean, "o-", ms=3, color=color, label=name)
    if spread and values.shape[1] > 1:
        sd = values.std(axis=1, ddof=1)
        ax.fill_between(sizes, mean - sd, mean + sd, color=color, alpha=0.2, lw=0)


def _draw_reference(ax, curves, panel):
    """Draw label entropy or baselines, and a remark on negative information."""
    label = _PANELS[panel][1]
    if panel == "information":
        ax.axhline(0, ls=":", color="0.5")
        most = max(curve.label_entropy for curve in curves)
        ax.axhline(most, ls="--", color="0.5", label=label)
        if any(overfits(curve).any() for curve in curves):
            words = "below 0 bits with error below baseline: overfitting"
            ax.set_title(words, fontsize="small")
    elif panel == "error_rate":
        rates = {
            (rate.min().round(3), rate.max().round(3))
            for rate in (curve.baseline_error_rate.mean(axis=1) for curve in curves)
        }
        for low, high in sorted(rates):
            ax.axhspan(low - 0.006, high + 0.006, color="0.8", lw=0, label=label)
            label = None


def overfits(curve):
    """Return where information is negative although guessing errs more, (n_sizes,)."""
    better = curve.error_rate.mean(axis=1) < curve.baseline_error_rate.mean(axis=1)
    return (curve.information.mean(axis=1) < 0) & better


@draws_on_axes
def plot_confusion_matrix(
    confusion: Any, class_names: Any = None, *, discs: bool = False, ax: Any = None
) -> Any:
    """Plot a confusion matrix, each row as proportions of the true class.

    Mean predicted probabilities may be drawn as discs of proportional area: true
    classes stand from left to right, predicted ones from top to bottom, so that every
    column holds the same area.

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes)
        Counts or proportions; rows are true classes, columns are answers.
    class_names : sequence of str of length n_classes or None, default=None
        Names of the classes; None numbers them.
    discs : bool, default=False
        Whether to draw probabilities as discs, as they are.

    Raises
    ------
    ValueError
        If the matrix is not square, has a negative or non-finite entry or an empty row
        (discs: an entry above one), or there is not one name per class.

    References
    ----------
    Kjems et al. 2002, "The quantitative evaluation of functional neuroimaging
    experiments: mutual information learning curves", NeuroImage 15, 772-786 (discs:
    figure 5).

    Examples
    --------
    >>> from neuroextrap.plotting import plot_confusion_matrix
    >>> ax = plot_confusion_matrix([[8, 2], [1, 9]], ["face", "house"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('answer', 'true class')
    """
    check_flags(discs=discs)
    confusion, names = _checked_matrix(confusion, class_names)
    if discs:
        return _draw_discs(confusion, names, ax)
    totals = confusion.sum(axis=1, keepdims=True)
    if totals.min() <= 0:
        raise ValueError("confusion must have at least one answer in every row")
    ax = resolve_axes(ax)
    image = ax.imshow(confusion / totals, vmin=0, vmax=1, cmap="cividis")
    class_ticks(ax, names)
    ax.set(xlabel="answer", ylabel="true class")
    ax.figure.colorbar(image, ax=ax, label="proportion of the true class")
    return ax


def _draw_discs(confusion, names, ax):
    """Draw probabilities as discs on new axes, or on those given; return the axes."""
    from matplotlib.patches import Circle

    if (most := confusion.max()) > 1 + 1e-9:
        raise ValueError(
            f"confusion must hold probabilities, got {most:g}; divide counts by the "
            "sum of their row"
        )
    ax = resolve_axes(ax)
    for (true, predicted), value in np.ndenumerate(confusion):
        color = COLORS[0] if true == predicted else "0.4"
        ax.add_patch(Circle((true, predicted), 0.48 * np.sqrt(value), color=color))
    class_ticks(ax, names)
    ends = -0.6, len(confusion) - 0.4
    ax.set(xlabel="true class", ylabel="predicted class", aspect="equal")
    ax.set(xlim=ends, ylim=ends[::-1])
    return ax


def _checked_matrix(confusion, class_names):
    """Return a square matrix and the classes' names; check entries and names."""
    confusion = real_array(confusion, "confusion")
    square = confusion.ndim == 2 and confusion.shape[0] == confusion.shape[1]
    if not square or not confusion.size:
        raise ValueError(f"confusion of shape {confusion.shape} must be square")
    if not (np.isfinite(confusion).all() and confusion.min() >= 0):
        raise ValueError("confusion must be finite and not negative")
    if class_names is None:
        class_names = range(len(confusion))
    names = check_labels(class_names, "class_names")
    if len(names) != len(confusion):
        raise ValueError(
            f"class_names must hold {len(confusion)} names, got {len(names)}"
        )
    return confusion, [str(name) for name in names]
