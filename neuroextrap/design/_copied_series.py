"""Runs that are one acquisition: an echo, a part, another version of its series."""

from itertools import combinations

import numpy as np

_MOST_SERIES_COLUMNS = 500
_FEWEST_VOLUMES = 20
_FEWEST_DIRECTIONS = 8  # in which changes vary; fewer are those of a noiseless model
_LONGEST_OFFSET = 10  # volumes that one of two copies may lack at its beginning
_SHARED = 0.3  # mean correlation of changes that marks copies among other runs,
_SHARED_BY_ALL = 0.7  # and where all are alike, as events at the same times make them
_ERRORS = 6.0


def some_columns(series):
    """Return few enough columns of a series (n_volumes, n_columns) to be compared."""
    return np.array(series[:, :: -(-series.shape[1] // _MOST_SERIES_COLUMNS)], float)


def check_series_apart(series, names):
    """Raise where two runs are one acquisition: an echo, a part, another version.

    `series` are arrays (n_volumes, n_columns) of the same columns, a run each. Changes
    from volume to volume of copies correlate over columns in most volumes, although
    noise was added, or one was smoothed, scaled, or begins some volumes later. Those
    of independent runs do so in few volumes only, where the same event begins or ends.
    """
    changes = [_changes(each) for each in series]
    found = {
        (i, j): _shared_changes(changes[i], changes[j])
        for i, j in combinations(range(len(series)), 2)
    }
    least = min(found.values(), default=0.0)
    for (i, j), shared in found.items():
        if shared > (_SHARED if least < shared / 2 else _SHARED_BY_ALL):
            raise ValueError(
                f"{names[i]} and {names[j]} are one acquisition (changes from volume "
                f"to volume correlate by {shared:.2f} over voxels), so that one would "
                "train and the other be tested; give every acquisition once (no echo, "
                "part or other version of a run)"
            )


def _changes(series):
    """Return the changes of every column from row to row, without those of a trend.

    Columns have length one, or are NaN where they are constant or not finite.
    """
    changes = np.diff(series, axis=0)
    changes = changes - changes.mean(axis=0)
    length = np.linalg.norm(changes, axis=0)
    return changes / np.where(length > 0, length, np.nan)


def _shared_changes(first, second):
    """Return the median correlation over columns of two runs' changes in one volume.

    The largest of small offsets; 0 where chance, or few patterns, would give as much.
    """
    n_rows = min(len(first), len(second))
    known = np.isfinite(first[:1] + second[:1]).ravel()
    if n_rows < _FEWEST_VOLUMES or known.sum() < _FEWEST_DIRECTIONS:
        return 0.0
    first, second = (_directions(each[:, known]) for each in (first, second))
    n_directions = min(1 / np.square(each @ each.T).mean() for each in (first, second))
    products = first @ second.T
    offsets = range(-_LONGEST_OFFSET, _LONGEST_OFFSET + 1)
    shared = max(np.median(np.diagonal(products, offset)) for offset in offsets)
    chance = _ERRORS * (n_rows * n_directions) ** -0.5
    return shared if n_directions >= _FEWEST_DIRECTIONS and shared > chance else 0.0


def _directions(changes):
    """Return rows of length one, zero where nothing changes."""
    length = np.linalg.norm(changes, axis=1, keepdims=True)
    return changes / np.where(length > 0, length, 1)
