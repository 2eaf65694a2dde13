"""Searchlights that other analyses take: their options, and what two must share."""

from typing import NamedTuple

import numpy as np

from neuroextrap._parameter_table import RESOURCE, parameters
from neuroextrap.analysis._presentation import find_region
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.maps._records import flat_parameters
from neuroextrap.margins._wins import accuracy_set_size
from neuroextrap.stats._validation import check_choice

_EXTRA = [row for row in parameters("searchlight") if row.extra]
EXTRA = tuple(row.name for row in _EXTRA)
"""Parameters that ask for more than the maps of one whole run."""
OF_FILES = tuple(row.name for row in _EXTRA if row.role == RESOURCE)
"""Those of a run that is kept in files or divided."""

_UNITS = ("sample", "block", "run")
_ENOUGH_RUNS = 6


def check_searchlight(light, name):
    """Raise TypeError unless an argument is an IdentificationSearchLight."""
    if not isinstance(light, IdentificationSearchLight):
        raise TypeError(
            f"{name} must be an IdentificationSearchLight, got {type(light).__name__}; "
            "give one with its options"
        )


def taken_options(light, analysis, unused, name="light"):
    """Return the parameters of a searchlight; raise where one is not of use to it."""
    check_searchlight(light, name)
    taken = flat_parameters(light)
    defaults = flat_parameters(IdentificationSearchLight())
    for option in unused:
        given, plain = taken[option], defaults[option]
        if given is not plain and not (np.isscalar(given) and given == plain):
            raise ValueError(
                f"{name} has {option}={given!r}, which {analysis} does not use; leave "
                "it out"
            )
    return taken


class Shared(NamedTuple):
    """What the planned runs of two decoders are compared by, known before any work.

    Accuracies are among `size` classes, `units` (n_test,) those of test points of both.
    """

    runs: tuple
    pairs: tuple
    size: int
    units: tuple
    unit: str
    same_units: bool

    @classmethod
    def of(cls, runs, *, paired, statistic, regions=None, unit=None):
        """Return it; ValueError where the runs cannot be compared."""
        if any(run.parameters.shard is not None for run in runs):
            raise ValueError("shard: parts of a run cannot be compared; fit both whole")
        one, two = runs
        if paired == "samples":
            _check_same_samples(one, two)
        else:
            _check_runs(one, two, paired)
        size = _common_size(statistic, runs)
        pairs = _region_pairs(runs, regions)
        units, what = _units_of_both(runs, unit, paired)
        shared = cls(runs, pairs, size, units, what, paired is not None)
        if not shared.analyzed.any():
            raise ValueError(
                "no region was analyzed by both searchlights; use a smaller min_voxels"
            )
        return shared

    @property
    def analyzed(self):
        """Which pairs are of regions with enough usable features, (n_pairs,)."""
        analyzed = [
            np.isin(rows, run.analyzed)
            for run, rows in zip(self.runs, self.pairs, strict=True)
        ]
        return np.all(analyzed, axis=0)


def _check_same_samples(one, two):
    """Raise unless two runs have the same samples, classes and folds."""
    if not np.array_equal(one.classes, two.classes):
        raise ValueError(
            f"first has the classes {one.classes.tolist()[:5]} and second "
            f"{two.classes.tolist()[:5]}; fit both to the same labels"
        )
    if not np.array_equal(one.labels.codes, two.labels.codes):
        raise ValueError(
            "first and second were fitted to other labels; fit both to the same "
            "samples in the same order"
        )
    for name in ("groups", "blocks"):
        if not np.array_equal(getattr(one.labels, name), getattr(two.labels, name)):
            raise ValueError(f"first and second have other {name}; give both the same")
    folds = one.plan.design.arrays, two.plan.design.arrays
    if len(folds[0]) != len(folds[1]) or not all(map(np.array_equal, *folds)):
        raise ValueError(
            "first and second have other folds; give both the same cv, with a fixed "
            "random_state where it shuffles"
        )


def _check_runs(one, two, paired):
    """Raise unless two runs on other samples have groups, and the same if paired."""
    both = one.labels.groups, two.labels.groups
    if any(groups is None for groups in both):
        raise ValueError(
            f"paired={paired!r} needs the run of every sample; fit both with groups"
        )
    names = [np.unique(groups) for groups in both]
    if paired == "runs" and not np.array_equal(names[0], names[1]):
        raise ValueError(
            f"first has the runs {names[0].tolist()[:5]} and second "
            f"{names[1].tolist()[:5]} (groups); give both the same names of runs, or "
            "paired=None if each has runs of its own"
        )


def _common_size(statistic, runs):
    """Return the set size of a statistic; ValueError where both have another."""
    sizes = [accuracy_set_size(statistic, len(run.classes)) for run in runs]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"statistic={statistic!r} is accuracy among {sizes[0]} classes in first "
            f"and {sizes[1]} in second; give 'pairwise_accuracy' or a number of classes"
        )
    return sizes[0]


def _region_pairs(runs, regions):
    """Return the regions of the first and of the second that are compared."""
    if regions is not None:
        return _given_pairs(regions, runs)
    n_regions = [run.choice.n_regions for run in runs]
    members = [run.choice.regions for run in runs]
    if members[0].shape != members[1].shape or (members[0] != members[1]).nnz:
        raise ValueError(
            f"first has {n_regions[0]} regions and second {n_regions[1]}, with other "
            "voxels; use the same mask and radius, or give pairs as regions"
        )
    return np.arange(n_regions[0]), np.arange(n_regions[0])


def _given_pairs(regions, runs):
    """Return both columns of pairs of regions, each by index or name."""
    shape = np.asarray(regions, dtype=object).shape  # whatever they are
    if len(shape) != 2 or shape[1] != 2 or not shape[0]:
        raise ValueError(
            f"regions must be pairs of regions of shape (n_pairs, 2), got shape {shape}"
            "; give one of first and one of second each"
        )
    pairs = []
    for pair in regions:
        sides = zip(pair, runs, strict=True)
        pairs.append([find_region(r, run.choice, run.masker, None) for r, run in sides])
    return tuple(np.transpose(pairs))


def _units_of_both(runs, unit, paired):
    """Return the unit of every test point of both, and what a unit is."""
    if paired == "samples":
        place, what = _units(runs[0], unit)
        return (place, place), what
    if unit not in (None, "run"):
        raise ValueError(
            f"unit={unit!r}, but paired={paired!r} compares whole runs; leave it out"
        )
    return tuple(_units(run, "run")[0] for run in runs), "run"


def _units(run, unit):
    """Return the unit of every test point as a number, and what a unit is."""
    labels, samples = run.labels, np.arange(len(run.labels.codes))
    runs = () if labels.groups is None else np.unique(labels.groups)
    smaller = "sample" if labels.blocks is None else "block"
    usual = "run" if len(runs) >= _ENOUGH_RUNS else smaller
    what = check_choice(unit, "unit", (None, *_UNITS)) or usual
    of_samples = {"sample": samples, "block": labels.units, "run": labels.groups}[what]
    if of_samples is None:
        raise ValueError(
            f"unit={unit!r} needs the {what} of every sample; fit with "
            f"{'blocks' if what == 'block' else 'groups'}"
        )
    place = np.unique(of_samples[run.plan.design.test], return_inverse=True)[1]
    if place.max() == 0:
        raise ValueError(
            f"all test points are one {what}, which leaves nothing to exchange; use a "
            "smaller unit"
        )
    return place, what
