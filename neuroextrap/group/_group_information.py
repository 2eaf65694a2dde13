"""How much information is there over subjects? Means, their spread, lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import t as student

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.group._analyses import SharedRegions
from neuroextrap.group._group_maps import group_maps
from neuroextrap.group._subjects import MapOptions, check_count
from neuroextrap.stats import average_accuracy, fano_information
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._subject_bounds import (
    population_accuracy_lower_bound,
    subjects_accuracy_lower_bound,
)
from neuroextrap.stats._validation import check_level, random_generator

_BATCH_NUMBERS = 2**22


@takes_options(MapOptions)
def group_information(
    subjects: Sequence,
    *,
    confidence_level: float = 0.95,
    n_bootstrap: int = 2000,
    random_state: int | np.random.Generator | None = 0,
    **options: Any,
) -> RegionMaps:
    """Summarize how much information several subjects' brains carry, with bounds.

    Two different means are bounded from below. ``subjects_bayes_accuracy_bound`` is
    about *these* subjects only: the mean Bayes accuracy of the given classes over them
    is at least that. It comes from the product of their e-values by forward testing,
    and grows with every trial. ``population_bayes_accuracy_bound`` is about the
    *population* from which the subjects were drawn at random; it grows with the number
    of subjects only. By Fano's inequality each gives a bound on the mean information
    about the given classes.

    Parameters
    ----------
    subjects : list of path-like or of fitted analyses
        One analysis of each subject: folders that ``to_directory`` (or the command
        line) wrote, or fitted estimators, all in one space.
    mask : path, image, NiftiMasker, SurfaceMasker or None, default=None
        Where to summarize. If None, wherever all subjects have a region.
    confidence_level : float, default=0.95
        Confidence level of intervals and lower bounds.
    n_bootstrap : int, default=2000
        Number of resamples of subjects behind the interval.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the resamples.

    Returns
    -------
    maps : dict of ndarray of shape (n_regions,), or of images
        ``implied_information`` and ``accuracy``, means over subjects; their bootstrap
        interval ``implied_information_lower`` and ``_upper`` (bits), widened for few
        subjects; ``implied_information_sd``, the standard deviation between subjects;
        ``accuracy_heterogeneity``, the proportion of the variance of accuracies that is
        not due to the noise of single trials (I squared, by the binomial error);
        ``population_bayes_accuracy_bound`` and ``population_class_information_bound``;
        ``subjects_bayes_accuracy_bound`` and ``subjects_class_information_bound`` where
        forward tests were stored for all subjects, of whatever numbers of runs. Every
        bound also with ``_fwe``, for all regions at once, and those of the population
        with ``_fcr``, of the regions that exceed chance (e-BH; at chance elsewhere):
        of these bounds an expected proportion of at most 1 - ``confidence_level`` is
        too high. NaN where a subject has no region.
        Of images, ``maps.generate_report()`` makes a page.

    Raises
    ------
    ValueError
        If there are fewer than two subjects, two analyses are of the same data, grids
        or numbers of classes differ, or anything else that changes the meaning of a
        number and is not allowed to.

    Warns
    -----
    UserWarning
        If the folders of two analyses name the same subject.

    Notes
    -----
    Bounds need what those of a subject need; see the guide. If a subject's design
    has no bound, the bounds are left out.

    The bootstrap interval is approximate. Of simulated 95% intervals .05 missed the
    mean of the population with 8 or more subjects where half of them carried
    information; where information was skewed (SD 1.6 times the mean), .17 missed with
    8 subjects, .14 with 16 and .10 with 32. The lower bounds hold for any
    distribution.

    References
    ----------
    Hesterberg 2015, "What teachers should know about the bootstrap", The American
    Statistician 69, section 5.1 (the widened interval). Higgins & Thompson 2002,
    "Quantifying heterogeneity in a meta-analysis", Statistics in Medicine 21.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.group import group_information
    >>> rng, subjects = np.random.default_rng(0), []
    >>> y, runs = np.tile(np.arange(4), 30), np.repeat(np.arange(6), 20)
    >>> for _ in range(6):
    ...     X = rng.normal(size=(120, 10)) + 2 * np.eye(4, 10)[y]
    ...     subjects.append(IdentificationSearchLight().fit(X, y, groups=runs))
    >>> maps = group_information(subjects)
    >>> bool(maps["accuracy"][0] > maps["population_bayes_accuracy_bound"][0] > 0.25)
    True
    """
    check_level(confidence_level, "confidence_level")
    check_count(n_bootstrap, "n_bootstrap")
    random_generator(random_state)
    given = as_options(MapOptions, group_information, options)
    shared = SharedRegions.read(subjects, given)
    statistics = [result.statistics() for result in shared.results]
    rows = list(zip(statistics, shared.index, strict=True))
    accuracy, information = (
        np.stack([values[name][row] for values, row in rows])
        for name in ("accuracy", "implied_information")
    )
    placed = shared.maps(accuracy, "accuracy")
    columns = np.flatnonzero(placed.usable)
    n_test = np.array([result.n_test for result in shared.results], dtype=float)
    bits = information[:, columns]
    maps = _means(accuracy[:, columns], bits, n_test)
    maps |= _bootstrap(bits, confidence_level, n_bootstrap, random_state)
    maps |= _bounds(shared, columns, confidence_level)
    return group_maps(
        "information",
        maps,
        placed,
        column=shared.column_of,
        options={
            "n_classes": shared.n_classes,
            "confidence_level": confidence_level,
            "n_bootstrap": n_bootstrap,
        },
    )


def _means(accuracy, information, n_test):
    """Return means over subjects and their spread."""
    n_subjects = len(accuracy)
    noise = (accuracy * (1 - accuracy) / n_test[:, np.newaxis]).mean(axis=0)
    between = accuracy.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        heterogeneity = np.where(between > 0, 1 - noise / between, 0.0)
    return {
        "accuracy": accuracy.mean(axis=0),
        "implied_information": information.mean(axis=0),
        "implied_information_sd": information.std(axis=0, ddof=1),
        "accuracy_heterogeneity": np.maximum(heterogeneity, 0.0),
        "n_subjects": np.full(accuracy.shape[1], float(n_subjects)),
    }


def _bootstrap(information, confidence_level, n_bootstrap, random_state):
    """Return the interval of the mean by resampling subjects, the same everywhere.

    Percentiles are moved outward as Student's t moves those of a normal mean.
    """
    n, n_regions = information.shape
    rng = random_generator(random_state)
    picks = rng.multinomial(n, np.full(n, 1 / n), n_bootstrap)
    wider = np.sqrt(n / (n - 1)) * student.isf((1 - confidence_level) / 2, n - 1)
    ends = ndtr([-wider, wider])
    interval = np.empty((2, n_regions))
    width = max(1, _BATCH_NUMBERS // n_bootstrap)
    for first in range(0, n_regions, width):
        batch = slice(first, first + width)
        interval[:, batch] = np.quantile(
            picks @ information[:, batch] / n, ends, axis=0
        )
    names = ("implied_information_lower", "implied_information_upper")
    return dict(zip(names, interval, strict=True))


def _bounds(shared, columns, confidence_level):
    """Return the lower bounds of columns that the subjects' designs allow, by name."""
    if any(result.n_repeats is None for result in shared.results):
        return {}
    n_classes = shared.n_classes
    tested = shared.gather(_bound_accuracy, columns)
    corrections: dict[str, dict] = {
        "": {},
        "_fwe": {"n_regions": len(columns)},
        "_fcr": {"chance": 1 / n_classes},
    }
    maps = {}
    for suffix, correction in corrections.items():
        options = {"confidence_level": confidence_level, **correction}
        bounds = {"population": population_accuracy_lower_bound(tested, **options)}
        if suffix != "_fcr" and all(map(_has_forward_tests, shared.results)):
            bounds["subjects"] = _of_these_subjects(shared, columns, options)
        for whose, bound in bounds.items():
            bound = np.maximum(bound, 1 / n_classes)
            information = fano_information(bound, n_classes)
            maps[f"{whose}_bayes_accuracy_bound{suffix}"] = bound
            maps[f"{whose}_class_information_bound{suffix}"] = information
    return maps


def _bound_accuracy(results):
    """Return the accuracy that bounds may rest on, every fold weighing alike."""
    wins = results.bound_wins
    return average_accuracy(wins, wins.shape[1])


def _has_forward_tests(results):
    """Return whether a subject has forward tests, of equal units."""
    design = results.forward
    return design is not None and np.allclose(design.unit_weights * design.n_units, 1)


def _of_these_subjects(shared, columns, options):
    """Bound the mean Bayes accuracy of these subjects, a batch of regions at a time."""
    designs = [result.forward for result in shared.results]
    width = max(1, _BATCH_NUMBERS // sum(design.n_units.size for design in designs))
    bounds = []
    for first in range(0, len(columns), width):
        rows = shared.index[:, columns[first : first + width]]
        outcomes = list(map(_outcomes, shared.results, rows))
        bounds.append(subjects_accuracy_lower_bound(outcomes, **options))
    return np.concatenate(bounds)


def _outcomes(result, rows):
    """Return outcomes (n_rows, n_orders, n_steps), their units, and first steps."""
    units = result.forward.n_units
    counts = result.scores.n_correct[rows, : units.size]
    return counts.reshape(len(rows), *units.shape), units, result.forward.first_steps
