"""Discriminant analysis by compiled loops: many labelings of a region at a time."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._class_sums import MAX_TABLE
from neuroextrap.margins.algebra._operators import RegionOperators, checked_counts
from neuroextrap.margins.classifiers._lda_algebra import SINGULAR, fixed_constants


def fill_compiled(
    margins: np.ndarray,
    group: RegionOperators,
    design: Design,
    labelings: Labelings,
    rule: str,
) -> None:
    """Fill the margins (n_test, K, n_regions, B), in order, of a group of regions."""
    from neuroextrap.margins.compiled._lda_memory import Out

    flat, (_, K, n_regions, B) = margins.reshape(-1), margins.shape
    none = np.empty((0, 0))
    for s, region in enumerate(group.regions):
        for batch in compiled_batches(labelings, design, rule):
            place = region * B + batch.columns.start
            width = batch.columns.stop - batch.columns.start
            out = Out(flat, place, n_regions * B, K, width, none, False)
            _score(group, s, design, batch, out)


def count_compiled(
    shares: np.ndarray,
    group: RegionOperators,
    design: Design,
    batches: list["CompiledBatch"],
    dtype: np.dtype,
) -> None:
    """Fill the shares (S, B) of best classes of a group, in the same way."""
    from neuroextrap.margins.compiled._lda_memory import Out
    from neuroextrap.margins.compiled._vector import LANES

    # margins are as precise as those of the group, and then as those of all regions
    none, single = np.empty(0, dtype), np.dtype(dtype) == np.float32
    for s, region in enumerate(group.regions):
        for batch in batches:
            of_batch = np.zeros((len(batch.groups.codes), LANES))
            out = Out(none, 0, 0, design.n_classes, 0, of_batch, bool(single))
            _score(group, s, design, batch, out)
            width = batch.columns.stop - batch.columns.start
            shares[region, batch.columns] = of_batch.reshape(-1)[:width]


class CompiledBatch(NamedTuple):
    """Some labelings for compiled loops: all of them in small designs.

    ``groups`` has as many of them together as machine instructions take; the last
    labeling is repeated. ``indicators`` (n, K, B) are given in designs so large that
    products with them are faster than sums over the samples of a class.
    """

    columns: slice
    groups: Any
    indicators: np.ndarray | None


def compiled_batches(
    labelings: Labelings, design: Design, rule: str, weights: Any = 1.0
) -> list[CompiledBatch]:
    """Split labelings for compiled loops; kept for the next region.

    ``weights`` of test points are those of the run: (n_test, B), or a number where all
    points weigh the same.
    """
    equal = np.ndim(weights) == 0

    def make() -> list[CompiledBatch]:
        from neuroextrap.margins.compiled._vector import LANES

        B, few = labelings.n_labelings, design.n_samples**2 <= MAX_TABLE
        width, batches = B if few else LANES, []
        rows = np.empty((0, B)) if equal else weights
        for start in range(0, B, width):
            columns = slice(start, min(start + width, B))
            n_groups = -(-(columns.stop - start) // LANES)
            padded = np.minimum(start + np.arange(n_groups * LANES), columns.stop - 1)
            some = Labelings(labelings.codes[padded], labelings.n_classes)
            groups = _groups(some, design, rule, rows[:, padded])
            indicators = None if few else with_even(some.one_hot(float), 1)
            batches.append(CompiledBatch(columns, groups, indicators))
        return batches

    return labelings.keep(("compiled", rule, equal), make)


def with_even(array: np.ndarray, *axes: int) -> np.ndarray:
    """Return the array with zeros for one more class where their number is odd."""
    more = [(0, array.shape[axis] % 2 * (axis in axes)) for axis in range(array.ndim)]
    return np.pad(array, more)


def grouped_classes(counts: np.ndarray, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return counts (F, K, B) and what is added to margins, for compiled loops."""
    from neuroextrap.margins.compiled._lane_memory import grouped

    constants = fixed_constants(counts, rule)
    return grouped(with_even(counts, 1)), grouped(with_even(constants, 1))


def _groups(some: Labelings, design: Design, rule: str, weights: np.ndarray) -> Any:
    """Return groups of labelings, as many as machine instructions take."""
    from neuroextrap.margins.compiled._lane_memory import grouped
    from neuroextrap.margins.compiled._lda_memory import Groups
    from neuroextrap.margins.compiled._vector import LANES

    members, edges = some.sorted_by_class(np.arange(design.n_samples))
    if some.n_classes % 2:  # one more class, without samples
        edges = np.concatenate([edges, edges[:, -1:]], axis=1)
    return Groups(
        members.reshape(-1, LANES, design.n_samples),
        edges.reshape(-1, LANES, edges.shape[1]),
        grouped(some.codes.T.astype(np.uint8)),
        *grouped_classes(checked_counts(design, some), rule),
        grouped(weights),
        rule == "ridge",
    )


def _score(
    group: RegionOperators, s: int, design: Design, batch: CompiledBatch, out: Any
) -> None:
    """Fill margins or shares of the region at this position of its group."""
    from neuroextrap.margins.compiled._lane_memory import aligned
    from neuroextrap.margins.compiled._lda import score_labelings
    from neuroextrap.margins.compiled._lda_memory import Folds, Region, workspace
    from neuroextrap.margins.compiled._vector import LANES

    n, K, width = design.n_samples, design.n_classes, batch.groups.counts.shape[2]
    if batch.indicators is None:
        blocks = aligned(-(-n // LANES), n)
        blocks[-1] = 0.0
        residuals = aligned(len(blocks) * LANES, width)
        dense = _dense(group, s, n)
    else:
        blocks, dense = aligned(0, n), np.empty((n, 0))
        residuals = aligned(n, width)
        residuals[:] = group.residuals_of(s, batch.indicators)
    region = Region(dense, blocks, residuals, group.flat_inverses[s])
    folds = Folds(*design.flat_folds)
    work = workspace(int(np.diff(folds.edges).max()), K)
    if not score_labelings(region, folds, batch.groups, out, work):
        raise ValueError(SINGULAR)


def _dense(group: RegionOperators, s: int, n_samples: int) -> np.ndarray:
    """Return I - H of the region at this position of its group."""
    if group.dense is not None:
        return group.dense[s]
    u = (group.factors or ())[s]
    return np.eye(n_samples) - u @ u.T
