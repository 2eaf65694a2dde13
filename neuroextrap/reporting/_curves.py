"""The accuracy curve of one region, with what is known of its error."""

import numpy as np

from neuroextrap.plotting import plot_accuracy_curve
from neuroextrap.plotting._axes import log_set_sizes
from neuroextrap.reporting._validity import told_in_words

EXTRAPOLATION = "gaussian_mixture"
"""How curves are carried on beyond the classes of the data."""

_FEWEST_CLASSES = 10


def curve_axes(fitted, region):
    """Draw the accuracy curve of one region: band, bound and extrapolation.

    The band is left out where there are no standard errors, the bound where none
    holds, the extrapolation (to ten times the classes) with fewer than ten classes.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        Fitted. Read from a folder it has no data, hence no band.
    region : int or tuple of float
        Index of the region, or (x, y, z) in mm of the nearest centre.

    Returns
    -------
    matplotlib.axes.Axes
        Of a new figure.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, JMLR 19 (average accuracy against the number of
    classes, and beyond).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import curve_axes
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    >>> X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> [line.get_label() for line in curve_axes(fitted, 0).lines]
    ['observed', 'chance', 'lower bound']
    """
    sizes, accuracy = fitted.accuracy_curve(region)
    error = curve_standard_error(fitted, region)
    ax = plot_accuracy_curve(sizes, accuracy, standard_error=error)
    if fitted._results.n_repeats is not None:
        with told_in_words():
            bound_sizes, bound = fitted._results.bound_curve(fitted.find_region(region))
        ax.plot(bound_sizes, bound, "v--", ms=3, color="#D55E00", label="lower bound")
    if len(fitted.classes_) >= _FEWEST_CLASSES:
        targets, beyond = _extrapolated(fitted, region)
        ax.plot(targets, beyond, ":", color="#0072B2", label="extrapolated")
        log_set_sizes(ax)
    ax.legend(frameon=False, fontsize="small")
    return ax


def _extrapolated(fitted, region):
    """Predict the accuracy of one region up to ten times as many classes."""
    from neuroextrap.stats import AccuracyExtrapolator

    n_classes = len(fitted.classes_)
    targets = np.unique(np.geomspace(n_classes, 10 * n_classes, 30).astype(int))
    model = AccuracyExtrapolator(EXTRAPOLATION)
    model.fit_wins(fitted.wins_[fitted.find_region(region)], fitted._results.n_test)
    return targets, model.predict(targets)


def curve_standard_error(fitted, region):
    """Return standard errors of a region's accuracy curve, by leaving classes out.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        Fitted.
    region : int or tuple of float
        Index of the region, or (x, y, z) in mm of the nearest centre.

    Returns
    -------
    standard_error : ndarray, shape (n_set_sizes,), or None
        At ``set_sizes_``, proportions; None with fewer than three classes, with
        distractors that have no test points, and for results read from a folder, which
        have no margins.

    References
    ----------
    Efron & Stein 1981, "The jackknife estimate of variance", Annals of Statistics 9.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import curve_standard_error
    >>> rng = np.random.default_rng(0)
    >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    >>> X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> curve_standard_error(fitted, 0).shape
    (2,)
    """
    y = fitted.test_codes_
    n_classes = len(fitted.classes_)
    if y is None or n_classes < 3 or len(np.unique(y)) < n_classes:
        return None
    from neuroextrap.stats import average_accuracy_jackknife

    margins = fitted.region_margins(region)
    return average_accuracy_jackknife(margins, y, fitted.set_sizes_)[1]
