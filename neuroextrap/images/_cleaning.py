"""Cleaning over time, run by run: drifts and confounds in one regression."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.images._bids_names import pair_by_name, refuse_same
from neuroextrap.images._loading import series_of
from neuroextrap.images._tables import numbers, read_text_table
from neuroextrap.stats._validation import brief, check_numbers, check_real, real_array


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
        paired = _ordered_confounds(options, members)
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


def _ordered_confounds(options, members):
    """Return the confounds of every series as they were given, in order by names."""
    entries = _one_per_series(options.confounds, len(members), "confounds")
    names = [f"confounds[{i}]" for i in range(len(entries))]
    refuse_same(entries, names, "every series has confounds of its own, give them")
    named = [img for own in members for img in own]
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


STRATEGIES = (
    "motion",
    "high_pass",
    "wm_csf",
    "global_signal",
    "compcor",
    "ica_aroma",
    "tedana",
    "scrub",
)
"""Names that ``nilearn.interfaces.fmriprep.load_confounds`` takes."""


def fmriprep_confounds(files, strategy):
    """Return confounds (table or None) and kept volumes (indices or None) per file."""
    from nilearn.interfaces.fmriprep import load_confounds

    strategy = tuple(strategy)
    unknown = sorted(set(strategy) - set(STRATEGIES))
    if unknown or not strategy:
        raise ValueError(
            f"confounds={list(strategy)} must be names of nilearn's load_confounds: "
            f"{', '.join(STRATEGIES)}; correct {', '.join(unknown) or 'the empty list'}"
        )
    confounds, masks = [], []
    for file in files:
        try:
            table, mask = load_confounds(str(file), strategy=strategy)
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(
                f"confounds of {file} cannot be read by strategy {' '.join(strategy)} "
                f"({' '.join(str(error).split())}); choose others, or give tables"
            ) from error
        confounds.append(table if table is not None and table.shape[1] else None)
        masks.append(mask)
    return confounds, masks
