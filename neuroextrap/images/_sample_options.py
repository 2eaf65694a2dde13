"""The options by which samples are made, and the cleaning that they ask for."""

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from neuroextrap.images._bids_names import pair_by_name, refuse_same
from neuroextrap.images._loading import series_of
from neuroextrap.images._tables import numbers, read_text_table
from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_number,
    check_numbers,
    check_real,
    real_array,
)

BETAS = ("lsa", "lss")
"""Samples that are estimates of a general linear model, one for each trial."""
SAMPLES = ("blocks", "volumes", *BETAS)
LONGEST = 1e4
"""Seconds between volumes that no scanner needs: what is larger is no time."""
_WIDEST = 100.0
"""Full width in mm from which on a kernel is as wide as a brain."""


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Options by which samples are made of series and their events; checked when made.

    Parameters
    ----------
    samples : {"blocks", "volumes", "lsa", "lss"}, default="blocks"
        What a sample is: the mean of a condition's volumes in a run, one volume, or
        a trial's beta by least squares all or separate. Single volumes follow one
        another too closely to be permuted one by one.
    t_r : float or None, default=None
        Time between volumes in seconds, for BIDS events. If None, it is taken from the
        header of every image, or from ``RepetitionTime`` in the JSON file beside it.
    check_t_r : bool, default=True
        Whether ``t_r`` must agree with what header and JSON file say.
    exclude : str or sequence of str, default=()
        Conditions that give no sample, such as "rest". They still count for detrending
        and standardizing, and models of betas have a regressor for each.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds regressed out, one entry per series: in one regression with the trend
        and the slow drifts, or as regressors of the designs of betas. Files whose names
        tell their run (or session, ...), as BIDS names do, may come in any order, as
        those of events.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept (indices, counting from 0, or booleans), one entry per
        series, as ``load_confounds`` of nilearn returns them. The others enter no
        regression and make no sample; trials with more than half of their expected
        response (its sum of squares) in them give no beta. If None, all are kept.
    smoothing_fwhm : float or None, default=None
        Full width at half maximum in mm of a Gaussian that smooths the volumes. If
        None, they are not smoothed further than the masker does.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed by cosines. If None, 0.01 Hz for
        betas, and none for blocks and volumes; 0 removes none.
    detrend : bool, default=False
        Whether to remove a straight line from every voxel of every run (blocks and
        volumes).
    standardize : bool, default=False
        Whether to give every voxel mean 0 and standard deviation 1 within every run
        (blocks and volumes), before blocks are averaged.
    delay : float, default=0.0
        Seconds by which responses lag behind BIDS events (blocks and volumes).
    label_column : str, default="trial_type"
        Column of the events that gives ``y`` of betas, such as the name of the
        stimulus. Designs are made of ``trial_type`` all the same; trials without an
        entry in the column are modeled and give no sample.
    """

    samples: str = "blocks"
    t_r: float | None = None
    check_t_r: bool = True
    exclude: Any = ()
    confounds: Any = None
    sample_mask: Any = None
    smoothing_fwhm: float | None = None
    high_pass: float | None = None
    detrend: bool = False
    standardize: bool = False
    delay: float = 0.0
    label_column: str = "trial_type"

    def __post_init__(self):
        """Raise before any work if an option is out of range or two exclude another."""
        check_choice(self.samples, "samples", SAMPLES)
        self._check_numbers()
        check_plain_types(self)
        self._check_names()
        if self.of_trials and (self.detrend or self.standardize):
            raise ValueError(
                "detrend and standardize are for blocks and volumes; the model of "
                f"samples={self.samples!r} models drifts itself, leave them out"
            )
        if self.of_trials and self.delay:
            raise ValueError(
                f"delay={self.delay!r} is for blocks and volumes; the model of "
                f"samples={self.samples!r} knows the response's lag, leave it out"
            )

    def _check_names(self):
        """Raise unless conditions to exclude, and a column, are names."""
        names = self.exclude if np.iterable(self.exclude) else [self.exclude]
        if not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"exclude={brief(self.exclude)} must be names of conditions"
            )
        if not self.of_trials and self.label_column != "trial_type":
            raise ValueError(
                f"label_column={self.label_column!r} is for betas; blocks and volumes "
                "are labeled by trial_type, rename the column"
            )

    def _check_numbers(self):
        """Raise for times, cutoffs and widths that are none, and for other scalings."""
        t_r, cutoff = self.t_r, self.high_pass
        is_flag = isinstance(t_r, bool)
        if t_r is not None and (is_flag or not 0 < check_number(t_r, "t_r") <= LONGEST):
            raise ValueError(
                f"t_r={brief(t_r)} must be a positive number of seconds, at most "
                f"{LONGEST:g}; for example 2.0"
            )
        if cutoff is not None and not 0 <= check_number(cutoff, "high_pass") < 1:
            raise ValueError(
                f"high_pass={cutoff!r} must be a frequency in Hz between 0 (no drifts "
                "removed) and 1; for example 0.01"
            )
        if isinstance(self.standardize, str):
            raise ValueError(
                f"standardize={self.standardize!r} must be True (z-scores in every "
                "run, nilearn's 'zscore_sample') or False; percent signal change "
                "('psc') and other scalings are not done, scale the images beforehand"
            )
        check_fwhm(self.smoothing_fwhm, "smoothing_fwhm")

    @property
    def of_trials(self):
        """Whether samples are betas of single trials."""
        return self.samples in BETAS

    @property
    def excluded(self):
        """The conditions to exclude as a tuple; one name may come without a list."""
        one = isinstance(self.exclude, str)
        return (self.exclude,) if one else tuple(self.exclude)

    def given(self, *, without=""):
        """Return the options by name, as they were given, but for those named."""
        names = [f.name for f in fields(self) if f.name not in without.split()]
        return {name: getattr(self, name) for name in names}


def check_fwhm(fwhm, name):
    """Raise unless a width is None or a number of mm that leaves something local."""
    if fwhm is None:
        return
    real = isinstance(fwhm, (int, float, np.integer, np.floating))
    if not real or isinstance(fwhm, bool):
        raise TypeError(
            f"{name}={brief(fwhm)} must be None or a number of mm, got "
            f"{type(fwhm).__name__}; give one width for all directions"
        )
    if not 0 < fwhm <= _WIDEST:
        raise ValueError(
            f"{name}={fwhm!r} must be positive (mm) and at most {_WIDEST:g}, which "
            "is as wide as a brain, or None; 4 to 8 mm are usual"
        )


@dataclass(frozen=True)
class Cleaning:
    """What is removed from every run, for all volumes of all series in a row."""

    options: Any  # SampleOptions
    times: list  # seconds between volumes of each series, or None
    confounds: list  # of each series, float64 (n_volumes, n_columns), or None
    kept: np.ndarray  # volumes that sample_mask keeps, (n_volumes,)
    series: np.ndarray  # number of the series of each volume, (n_volumes,)

    @classmethod
    def of(cls, options, named, times=None):
        """Read what SampleOptions say of images (NamedImage)."""
        members = series_of(named, True)
        n_volumes = [sum(img.n_samples or 1 for img in own) for own in members]
        masks = _one_per_series(options.sample_mask, len(members), "sample_mask")
        kept = _read_each(masks, "sample_mask", n_volumes, _kept_of_series)
        paired = _ordered_confounds(options, named, len(members))
        confounds = _read_each(paired, "confounds", n_volumes, _confounds_of_series)
        series = np.repeat(np.arange(len(members)), n_volumes)
        times = [None] * len(members) if times is None else times
        return cls(options, times, confounds, np.concatenate(kept), series)

    @property
    def changes(self):
        """Whether anything is done to the volumes that stay."""
        regressed = any(entry is not None for entry in self.confounds)
        own = self.options
        return bool(own.detrend or own.standardize or own.high_pass or regressed)

    def of_rows(self, rows):
        """Return the options of nilearn's ``clean`` for the volumes of one run."""
        options: dict[str, Any] = {
            "detrend": bool(self.options.detrend),
            "standardize": "zscore_sample" if self.options.standardize else None,
            "filter": "cosine" if self.options.high_pass else False,
            "high_pass": float(self.options.high_pass or 0) or None,
        }
        numbers_of_series = np.unique(self.series[rows])
        first = numbers_of_series[0]
        if any(self.confounds[i] is not None for i in numbers_of_series):
            if len(numbers_of_series) > 1:
                raise ValueError(
                    f"confounds: one run lies in {len(numbers_of_series)} series of "
                    "images; give one series per run, or each series its own run"
                )
            start = np.flatnonzero(self.series == first)[0]
            options["confounds"] = self.confounds[first][rows - start]
        if self.options.high_pass:
            options["t_r"] = self.times[first]
            if "confounds" in options:
                options |= _with_drifts(options)
        if not self.kept[rows].all():
            options["sample_mask"] = np.flatnonzero(self.kept[rows])
        return options


def _with_drifts(options):
    """Put cosines among confounds: ``clean`` makes none if a confound resembles one."""
    from nilearn.signal import create_cosine_drift

    confounds = options["confounds"]
    times = options["t_r"] * np.arange(len(confounds))
    drifts = create_cosine_drift(options["high_pass"], times)[:, :-1]
    own = {"filter": False, "high_pass": None}
    return own | {"confounds": np.hstack([confounds, drifts])}


def _ordered_confounds(options, named, n_series):
    """Return the confounds of every series as they were given, in order by names."""
    entries = _one_per_series(options.confounds, n_series, "confounds")
    names = [f"confounds[{i}]" for i in range(len(entries))]
    refuse_same(entries, names, "every series has confounds of its own, give them")
    paired = pair_by_name(named, entries, "confounds")
    moved = any(one is not two for one, two in zip(paired, entries, strict=True))
    if moved and isinstance(options.sample_mask, (list, tuple)):
        raise ValueError(
            "confounds are in another order than imgs, by their names, and whether "
            "sample_mask is in that order too is unknown; give all in one order"
        )
    return paired


def _read_each(entries, name, n_volumes, read):
    """Return what ``read(entry, name, n)`` makes of the entry of every series."""
    pairs = enumerate(zip(entries, n_volumes, strict=True))
    return [read(entry, f"{name}[{i}]", n) for i, (entry, n) in pairs]


def _one_per_series(values, n_series, name):
    """Return one entry per series; a lone entry may come without a list."""
    if values is None:
        return [None] * n_series
    entries = list(values) if isinstance(values, (list, tuple)) else [values]
    several_files = any(isinstance(entry, (str, os.PathLike)) for entry in entries)
    if n_series == 1 and len(entries) > 1 and not several_files:
        entries = [values]
    if len(entries) != n_series:
        raise ValueError(
            f"{name} must hold one entry for each of the {n_series} series of images, "
            f"got {len(entries)}; give a list as long as imgs"
        )
    return entries


def clean_runs(data, runs, cleaning):
    """Clean each run in place, but for censored volumes and columns with NaN."""
    if not cleaning.changes:
        return data
    from nilearn.signal import clean

    for run in np.unique(runs):
        rows = np.flatnonzero(runs == run)
        series, kept = data[rows], cleaning.kept[rows]
        if not kept.any():
            continue
        finite = np.isfinite(series).all(axis=0)
        cleaned = np.full((int(kept.sum()), data.shape[1]), np.nan, dtype=data.dtype)
        if finite.any():
            cleaned[:, finite] = clean(series[:, finite], **cleaning.of_rows(rows))
        data[rows[kept]] = cleaned
    return data


def _confounds_of_series(entry, name, n_volumes):
    """Return the confounds of one series as an array, or None."""
    if entry is None:
        return None
    if np.ma.is_masked(entry):
        raise TypeError(
            f"{name} is a masked array; fill its masked entries with numbers, or leave "
            "their volumes out by sample_mask"
        )
    if hasattr(entry, "columns"):
        values = numbers(check_real(entry, name), name)
    elif isinstance(entry, (str, os.PathLike)):
        values = numbers(read_text_table(entry, name), os.fspath(entry))
        name = f"{name} ({entry})"
    else:
        values = real_array(entry, name)
        values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be a table, a row per volume, got {brief(entry)}"
        )
    if len(values) != n_volumes:
        raise ValueError(
            f"{name} has {len(values)} rows for {n_volumes} volumes; give one row per "
            "volume"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has NaN or infinity; give finite numbers")
    return values


def _kept_of_series(entry, name, n_volumes):
    """Return which volumes of one series are kept."""
    if entry is None:
        return np.ones(n_volumes, dtype=bool)
    entry = check_numbers(entry, name)
    if entry.dtype == bool and entry.shape == (n_volumes,):
        return entry
    whole = entry.ndim == 1 and entry.dtype.kind in "iu"
    if not whole or (entry < 0).any() or (entry >= n_volumes).any():
        raise ValueError(
            f"{name} must hold indices of the {n_volumes} volumes that are kept, or a "
            "boolean for each; give what load_confounds returned"
        )
    kept = np.zeros(n_volumes, dtype=bool)
    kept[entry] = True
    return kept
