"""Permutations of labels: units that move together, within groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._validation import (
    Seed,
    check_integer,
    check_real,
    random_generator,
    warn,
)

_MOST_ENTRIES = 10**9  # of permuted labels at once, 8 GB
_LISTED = 8  # list all labelings when they are at most this many times those asked

Codes = NDArray[np.intp]


class _Units(NamedTuple):
    """Labels of the units, and where each unit's samples are."""

    labels: NDArray  # distinct labels
    of_sample: Codes  # unit of each sample
    code: Codes  # label number of each unit
    groups: list[Codes]  # units of each group

    @property
    def counts(self) -> list[list[int]]:
        """How often each label occurs in each group."""
        n = len(self.labels)
        return [np.bincount(self.code[m], minlength=n).tolist() for m in self.groups]


def permute_labels(
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    n_permutations: int,
    random_state: int | np.random.Generator | None = None,
) -> NDArray:
    """Return permuted copies of the labels, all different and none the observed.

    Permute what the experiment randomized. `blocks` are the units whose samples
    move their labels together (several scans of one stimulus block; single scans
    of an autocorrelated series are not exchangeable). `groups` are the
    exchangeability blocks, usually runs, within which units are exchanged. If
    fewer other labelings exist than are requested, each is returned once.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of the samples.
    groups : array-like of shape (n,) or None, default=None
        Group of each sample. If None, labels are exchanged freely.
    blocks : array-like of shape (n,) or None, default=None
        Unit of each sample. If None, every sample is a unit of its own. The same
        number in two groups means two units.
    n_permutations : int
        Requested number of labelings, at least 1.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the permutations; an int makes the result repeatable.

    Returns
    -------
    permuted : ndarray of shape (n_permutations, n), or fewer rows
        Labels, of the type of `y`. With the observed labeling in front, a random sample
        without replacement of all labelings, so the permutation test is exact.

    Raises
    ------
    TypeError, ValueError
        If `n_permutations` is not an integer of at least 1, lengths differ, the labels
        of a unit differ, or no other labeling exists.

    Warns
    -----
    UserWarning
        If fewer labelings exist than requested; says how small p can get, also for
        statistics that renaming the classes leaves as they are.

    References
    ----------
    Winkler et al. 2015, "Multi-level block permutation". Phipson & Smyth 2010,
    "Permutation p-values should never be zero", section 3.

    Examples
    --------
    Two runs of two blocks; the labels of a block stay together:

    >>> y = ["cat", "cat", "dog", "dog", "cat", "dog"]
    >>> permute_labels(
    ...     y,
    ...     groups=[1, 1, 1, 1, 2, 2],
    ...     blocks=[0, 0, 1, 1, 0, 1],
    ...     n_permutations=3,
    ...     random_state=0,
    ... )
    array([['dog', 'dog', 'cat', 'cat', 'cat', 'dog'],
           ['cat', 'cat', 'dog', 'dog', 'dog', 'cat'],
           ['dog', 'dog', 'cat', 'cat', 'dog', 'cat']], dtype='<U3')
    """
    y = check_real(y, "y")
    permuted, few = draw_labelings(y, groups, blocks, n_permutations, random_state)
    _warn_of_few(few, n_permutations)
    return permuted


class FewLabelings(NamedTuple):
    """That all other labelings are used, because there are fewer than requested."""

    n_others: int
    n_renamings: int  # labelings that differ only in the names of classes
    what: str = "labelings"  # what they are called

    @property
    def exist(self) -> str:
        """How many labelings there are, as a clause."""
        return f"only {self.n_others} other {self.what} exist"

    @property
    def limit(self) -> str:
        """How small p-values can get, as a clause."""
        p = f"no p-value can be below {1 / (self.n_others + 1):.3g}"
        if self.n_renamings == 1:
            return p
        return (
            f"{p}, nor below {self.smallest:.3g} for statistics that do not depend on "
            f"the names of the classes (cross-validated accuracy): {self.n_renamings} "
            "labelings differ only in the names"
        )

    @property
    def smallest(self) -> float:
        """Smallest p-value of a cross-validated accuracy."""
        return self.n_renamings / (self.n_others + 1)


def _warn_of_few(few: FewLabelings | None, n_permutations: int) -> None:
    """Warn where fewer labelings exist than were requested."""
    if few is not None:
        warn(
            f"{few.exist}, {n_permutations} were requested; all are used and "
            f"{few.limit}"
        )


def draw_labelings(
    y: ArrayLike,
    groups: ArrayLike | None,
    blocks: ArrayLike | None,
    n_permutations: int,
    random_state: Seed,
    *,
    if_none: str = "labels have no other labeling, as every group holds a single one; "
    "use groups that hold several conditions (or none)",
) -> tuple[NDArray, FewLabelings | None]:
    """Draw what :func:`permute_labels` returns, and say if all labelings are in it."""
    n_permutations = check_integer(n_permutations, "n_permutations", minimum=1)
    units = _units(y, groups, blocks)
    others = _count(units) - 1
    if others == 0:
        raise ValueError(if_none)
    n_entries = min(others, n_permutations) * len(units.of_sample)
    if n_entries > _MOST_ENTRIES:
        raise ValueError(
            f"n_permutations={n_permutations} of {len(units.of_sample)} labels are "
            f"{n_entries:,} entries; ask for {_MOST_ENTRIES:,} at most"
        )
    draw = _listed if others <= _LISTED * n_permutations else _drawn
    codes = draw(units, min(others, n_permutations), random_generator(random_state))
    few = None
    if others < n_permutations:  # exchanges of names turn each labeling into another
        _, alike = np.unique(np.array(units.counts), axis=1, return_counts=True)
        few = FewLabelings(others, math.prod(map(math.factorial, alike.tolist())))
    return units.labels[codes[:, units.of_sample]], few


def permute_rows(
    rows: ArrayLike, groups: ArrayLike | None, n_permutations: int, random_state: Seed
) -> NDArray:
    """Draw other orders of the rows of a design, with words for subjects."""
    changed, few = draw_labelings(
        rows,
        groups,
        None,
        n_permutations,
        random_state,
        if_none="exchanging changes nothing: all subjects of a block, or all blocks of "
        "a size, are alike in what is tested; use blocks that hold several values",
    )
    ways = few and FewLabelings(few.n_others, 1, "ways to exchange the subjects")
    _warn_of_few(ways, n_permutations)
    return changed


def shift_rows(
    n: int, groups: ArrayLike | None, n_permutations: int, random_state: Seed
) -> Codes:
    """Draw circular shifts of rows, within groups, as orders (n_permutations, n)."""
    n_permutations = check_integer(n_permutations, "n_permutations", minimum=1)
    group = np.zeros(n) if groups is None else _distinct(groups, "groups", n)[1]
    every = [np.flatnonzero(group == g) for g in np.unique(group)]
    runs = [run for run in every if len(run) > 1]  # one row stays where it is
    sizes = [len(run) for run in runs]
    others = math.prod(sizes) - 1
    if others == 0:
        raise ValueError("nothing can be shifted: give groups of several rows, or none")
    if others < n_permutations:
        _warn_of_few(FewLabelings(others, 1, "shifts"), n_permutations)
    if others <= n_permutations:
        offsets = np.stack(np.unravel_index(np.arange(1, others + 1), sizes), axis=1)
    else:
        rng = random_generator(random_state)
        offsets = rng.integers(sizes, size=(n_permutations, len(sizes)))
    orders = np.tile(np.arange(n), (len(offsets), 1))
    for run, offset in zip(runs, offsets.T, strict=True):
        orders[:, run] = run[(np.arange(len(run)) - offset[:, None]) % len(run)]
    return orders


def _units(y: ArrayLike, groups: ArrayLike | None, blocks: ArrayLike | None) -> _Units:
    """Check the arguments and find the units."""
    values = np.asarray(y)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"y must have shape (n,), n >= 1; got {values.shape}")
    n = len(values)
    labels, code = _distinct(values, "y", n)
    group = np.zeros(n, int) if groups is None else _distinct(groups, "groups", n)[1]
    block = np.arange(n) if blocks is None else _distinct(blocks, "blocks", n)[1]
    unit = group * n + block
    _, first, of_sample = np.unique(unit, return_index=True, return_inverse=True)
    mixed = code != code[first][of_sample]
    if mixed.any():
        at = int(np.flatnonzero(mixed)[0])
        raise ValueError(
            f"y must be constant within a unit of blocks; sample {at} is "
            f"{values[at]!r} where its unit began with "
            f"{values[first[of_sample[at]]]!r}: number the blocks so that each holds "
            "one condition"
        )
    unit_group = group[first]
    members = [np.flatnonzero(unit_group == g) for g in np.unique(unit_group)]
    return _Units(labels, of_sample, code[first], members)


def _distinct(values: ArrayLike, name: str, n: int) -> tuple[NDArray, Codes]:
    """Return the sorted distinct entries, and the number of each of the n entries."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal length
        array = np.empty((n, 0))
    if array.shape != (n,):
        raise ValueError(
            f"{name} must have one entry per label ({n}); got shape {array.shape}"
        )
    try:
        return np.unique(array, return_inverse=True)
    except TypeError as error:  # None, or text beside numbers
        raise TypeError(
            f"{name} has entries that cannot be sorted ({error}); give all as numbers, "
            "or all as text"
        ) from error


def _count(units: _Units) -> int:
    """Count distinct labelings exactly."""
    total = 1
    for counts in units.counts:
        total *= math.factorial(sum(counts))
        total //= math.prod(map(math.factorial, counts))
    return total


def _drawn(units: _Units, n: int, rng: np.random.Generator) -> Codes:
    """Draw n distinct labelings other than the observed, as unit codes."""
    seen = {units.code.tobytes()}
    rows: list[Codes] = []
    while len(rows) < n:
        batch = np.tile(units.code, (n - len(rows), 1))
        for members in units.groups:
            batch[:, members] = rng.permuted(batch[:, members], axis=1)
        for row in batch:
            key = row.tobytes()
            if key not in seen:
                seen.add(key)
                rows.append(row)
    return np.stack(rows)


def _listed(units: _Units, n: int, rng: np.random.Generator) -> Codes:
    """Choose n of the other labelings from the full list, in its order."""
    per_group = [np.array(list(_orders(counts))) for counts in units.counts]
    observed, radix = 0, 1
    for members, orders in zip(units.groups, per_group, strict=True):
        is_observed = (orders == units.code[members]).all(axis=1)
        observed += radix * int(np.flatnonzero(is_observed)[0])
        radix *= len(orders)
    index = np.sort(rng.choice(radix - 1, size=n, replace=False))
    index += index >= observed
    codes = np.tile(units.code, (n, 1))
    for members, orders in zip(units.groups, per_group, strict=True):
        index, position = np.divmod(index, len(orders))
        codes[:, members] = orders[position]
    return codes


def _orders(counts: list[int]) -> Iterator[list[int]]:
    """Yield every distinct order of codes that occur so often, lexicographically."""
    if not any(counts):
        yield []
    for code, count in enumerate(counts):
        if count:
            rest = [*counts[:code], count - 1, *counts[code + 1 :]]
            yield from ([code, *later] for later in _orders(rest))
