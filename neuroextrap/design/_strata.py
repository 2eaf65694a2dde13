"""Strata of trials that are alike in a confound."""

from typing import NamedTuple

import numpy as np

from neuroextrap.design._labels import checked_entries, row_codes

_LEVELS = np.array(["low", "middle", "high"])  # of numbers, which are decoded


class Strata(NamedTuple):
    """A confound of the n samples: strata to exchange within, levels to decode."""

    codes: np.ndarray  # stratum of every sample, 0, 1, ..., of shape (n,)
    levels: np.ndarray  # name of the level of every sample, (n,)
    columns: np.ndarray  # the confound as features, (n, n_columns)
    of_numbers: bool  # whether values within a stratum still differ


def confound_strata(confound, labels, stratum_size):
    """Return Strata of a confound (n_samples,) of the samples with Labels.

    Categories are strata by themselves, and so are numbers that occur in a run
    `stratum_size` times each, on average. Other numbers are ranked within runs, where
    `stratum_size` neighbors are a stratum. ValueError where class and confound cannot
    be told apart.
    """
    given = checked_entries(confound, "confound", np.zeros(len(labels.keep)))
    given = given[labels.keep]
    units = np.arange(len(given)) if labels.units is None else labels.units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    values = given[first]
    if (values[unit] != given).any():
        raise ValueError(
            "confound differs between samples of one block, whose labels move "
            "together; give every block one value, its mean say"
        )
    runs = np.zeros(len(values)) if labels.groups is None else labels.groups[first]
    names, codes = np.unique(values, return_inverse=True)
    if len(names) == 1:
        raise ValueError(
            f"confound is {names.tolist()[0]!r} in all samples, so that it explains "
            "nothing; give a value that differs between samples"
        )
    of_numbers = values.dtype.kind in "iuf"
    if of_numbers and not np.isfinite(values).all():
        raise ValueError("confound has infinite numbers; leave these samples out")
    repeated = len(values) / len(np.unique(row_codes(codes, runs)))
    of_numbers = of_numbers and repeated < stratum_size
    strata, levels = codes, values.astype(str)
    if of_numbers:
        strata = _by_rank(values, runs, lambda n: max(1, n // stratum_size))
        levels = _LEVELS[_by_rank(values, runs, lambda n: min(n, len(_LEVELS)))]
    cells = row_codes(strata, runs)
    if len(np.unique(row_codes(cells, labels.codes[first]))) == cells.max() + 1:
        raise ValueError(
            "the confound and the class cannot be told apart: in no run do samples of "
            "two classes have the same level of the confound; no label can be "
            "exchanged, whatever is found may be the confound (it has "
            f"{len(names)} levels; numbers that are given as text are names of levels)"
        )
    columns = values[:, None].astype(float) if of_numbers else np.eye(len(names))[codes]
    return Strata(strata[unit], levels[unit], columns[unit], of_numbers)


def _by_rank(values, runs, n_parts):
    """Cut numbers within runs into equally filled parts, numbered from the lowest."""
    part = np.empty(len(values), dtype=int)
    for run in np.unique(runs):
        rows = np.flatnonzero(runs == run)
        rank = np.argsort(np.argsort(values[rows], kind="stable"), kind="stable")
        part[rows] = rank * n_parts(len(rows)) // len(rows)
    return part
