"""One task of a run: a block of regions under all labelings.

A task is a pure function of its plan and its block, so tasks can run in any order, on
any machine, and be repeated. Block sizes and label chunks depend on the design alone,
never on the number of workers or the memory, so neither can change a result.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._wins import (
    beaten_and_tied,
    class_weights,
    rank_tables,
    win_histogram,
)
from neuroextrap.stats._null_counts import NullCounts

# numbers per array in one pass: small enough for the cache, large enough for BLAS
PASS_SIZE = 2**18
# indicators of the classes of all labelings, kept for the next region up to this size
KEPT_INDICATORS = 2**26
_MAX_REGIONS_PER_PASS = 64


@dataclass(frozen=True)
class Plan:
    """What all tasks of a run share.

    Parameters
    ----------
    kernel : object with ``prepare`` and ``margins``
        And with ``feature_margins``, ``constant`` and ``costs`` if additive.
    design : Design
        Folds of the cross-validation.
    codes : ndarray of int, shape (1 + n_permutations, n_samples)
        Class codes; the first row is the observed labeling.
    statistic : callable
        Win distributions (M, K) -> values (M,).
    pairing : bool
        Train once with the observed labels and permute the labels of test points only.
    weightings : ndarray, shape (n_weightings, n_test)
        Further weightings of the test points (one fold, say) for the observed labels.
    whitener : callable or None
        (feature indices, x) -> transformed x.
    keep_null : bool
        Return every permuted statistic.
    by_sums : bool or None
        Whether margins are summed over features, which an additive plan can do. None is
        undecided; `with_path` chooses what is faster.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> plan.n_permutations, plan.is_additive
    (1, True)
    """

    kernel: Any
    design: Design
    codes: np.ndarray
    statistic: Callable
    pairing: bool = False
    weightings: np.ndarray | None = None
    whitener: Callable | None = None
    keep_null: bool = False
    by_sums: bool | None = None
    _cache: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __getstate__(self):
        """Leave the cache behind when a plan travels to another process."""
        return {**self.__dict__, "_cache": {}}

    @property
    def n_permutations(self):
        """Number of permuted labelings."""
        return len(self.codes) - 1

    @property
    def n_trained(self):
        """Number of labelings that a classifier is trained on."""
        return 1 if self.pairing else len(self.codes)

    @property
    def is_additive(self):
        """Whether a region's margins are sums over its features."""
        return hasattr(self.kernel, "feature_margins") and self.whitener is None

    @property
    def size(self):
        """Numbers in the margins of one labeling of one region."""
        return max(self.design.n_samples, len(self.design.test)) * self.design.n_classes

    @property
    def _n_chunks(self):
        """Number of batches of the trained labelings."""
        return -(-self.n_trained // max(1, PASS_SIZE // self.size))

    @property
    def chunk_width(self):
        """Number of trained labelings in the widest batch."""
        return -(-self.n_trained // self._n_chunks)

    @property
    def n_kept(self):
        """Number of trained labelings whose indicators are in memory together."""
        everything = self.n_trained * self.size <= KEPT_INDICATORS
        return self.n_trained if everything else self.chunk_width

    @property
    def pass_regions(self):
        """Number of regions whose margins are made in one pass."""
        step = PASS_SIZE // (self.size * self.chunk_width)
        return max(1, min(_MAX_REGIONS_PER_PASS, step))

    def chunks(self):
        """Give the trained labelings in batches whose widths differ by one at most.

        The widths depend on the design and the number of labelings alone.

        Returns
        -------
        chunks : iterable of Labelings
            In the order of ``codes``. Kept, with the indicators made of them, for the
            next regions as long as they are small together; made anew otherwise.
        """
        if "chunks" in self._cache:
            return self._cache["chunks"]
        codes = np.array_split(self.codes[: self.n_trained], self._n_chunks)
        chunks = (Labelings(part, self.design.n_classes) for part in codes)
        if self.n_kept < self.n_trained:
            return chunks
        return self._cache.setdefault("chunks", list(chunks))

    def test_codes(self):
        """Return the codes of the test points.

        Returns
        -------
        codes : ndarray of int, shape (n_test, 1 + n_permutations)
            The observed labeling first.
        """
        if "test" not in self._cache:
            self._cache["test"] = np.ascontiguousarray(
                self.codes[:, self.design.test].T
            )
        return self._cache["test"]

    def weights(self):
        """Return the weights of the test points: a number when all are equal.

        Returns
        -------
        weights : float or ndarray, shape (n_test, 1 + n_permutations)
            Classes weigh the same; a column sums to one.
        """
        if "weights" not in self._cache:
            weights = class_weights(self.test_codes(), self.design.n_classes)
            equal = bool(np.ptp(weights) < 1e-15)
            self._cache["weights"] = 1.0 / len(weights) if equal else weights
        return self._cache["weights"]

    def weights_of(self, columns, n_regions):
        """Return the weights for some labelings of each of some regions.

        Parameters
        ----------
        columns : slice
            Which labelings.
        n_regions : int
            Number of regions.

        Returns
        -------
        weights : float or ndarray, shape (n_test, n_regions * n_labelings)
            Region-major.
        """
        weights = self.weights()
        if np.ndim(weights) == 0:
            return weights
        return np.tile(weights[:, columns], n_regions)


@dataclass(frozen=True)
class Block:
    """The regions of one task and the data of their features.

    Parameters
    ----------
    features : ndarray of float32, shape (n_features_here, n_samples)
    regions : scipy.sparse.csr_array, shape (n_regions_here, n_features_here)
    columns : ndarray of int, shape (n_features_here,)
        Where these features lie among all.
    """

    features: np.ndarray
    regions: scipy.sparse.csr_array
    columns: np.ndarray

    @property
    def n_regions(self):
        """Number of regions of the block."""
        return self.regions.shape[0]

    def members(self, region):
        """Return the local feature indices of a region."""
        start, stop = self.regions.indptr[region : region + 2]
        return self.regions.indices[start:stop]

    def samples(self, region):
        """Return a region's data, shape (n_samples, n_features of the region)."""
        return self.features[self.members(region)].T


def run_task(plan, block):
    """Compute the wins of a block's regions and their permuted statistics.

    Parameters
    ----------
    plan : Plan
    block : Block

    Returns
    -------
    result : dict of ndarray
        ``wins`` (n_regions, K); ``weighted_wins`` (n_weightings, n_regions, K);
        ``score`` (n_regions,) the observed statistic; ``n_reached`` (n_regions,) how
        many permuted statistics reach it; ``maxima`` (n_permutations,) the largest
        permuted statistic over the block's regions; ``null`` (n_permutations,
        n_regions) when kept.
    """
    n_regions, n_classes = block.n_regions, plan.design.n_classes
    n_weightings = 0 if plan.weightings is None else len(plan.weightings)
    result = {
        "wins": np.empty((n_regions, n_classes)),
        "weighted_wins": np.empty((n_weightings, n_regions, n_classes)),
        "score": np.empty(n_regions),
        "n_reached": np.zeros(n_regions, dtype=np.int64),
        "maxima": np.full(plan.n_permutations, -np.inf),
    }
    if plan.keep_null:
        result["null"] = np.empty((plan.n_permutations, n_regions), dtype=np.float32)
    for first, n_regions, counts in _all_counts(plan, block):
        _score(plan, slice(first, first + n_regions), counts, result)
    return result


def first_margins(plan, block):
    """Return the margins of a block's first pass under the observed labeling.

    Parameters
    ----------
    plan : Plan
    block : Block

    Returns
    -------
    margins : ndarray, shape (n_test, K, n_regions of the pass)
    """
    observed = replace(plan, codes=plan.codes[:1])
    passes = _additive_passes if observed.by_sums else _region_passes
    _, _, batches = next(passes(observed, block))
    margins, _, _ = next(batches)
    return margins


def _all_counts(plan, block):
    """Yield (first region, number of regions, iterator of their counts).

    The counts are (beaten, tied, first labeling, number of labelings), with arrays of
    shape (n_test, n_regions * n_labelings), region-major.
    """
    passes = _additive_passes if plan.by_sums else _region_passes
    for first, n_regions, batches in passes(plan, block):
        if plan.pairing:
            margins, _, _ = next(batches)
            for region in range(n_regions):
                counts = _pairing_counts(plan, margins[:, :, region])
                yield first + region, 1, counts
        else:
            yield first, n_regions, _label_counts(plan, n_regions, batches)


def _label_counts(plan, n_regions, batches):
    """Count wins where every labeling has margins of its own."""
    for margins, start, width in batches:
        y = np.tile(plan.test_codes()[:, start : start + width], n_regions)
        yield *beaten_and_tied(margins, y), start, width


def _pairing_counts(plan, margins):
    """Count one region's wins when only the labels of its test points are permuted."""
    y = plan.test_codes()
    beaten, tied = rank_tables(margins)
    row = np.arange(len(y))[:, None] * margins.shape[1]
    width = max(1, PASS_SIZE // len(y))
    for start in range(0, y.shape[1], width):
        pick = row + y[:, start : start + width]
        yield beaten.take(pick), tied.take(pick), start, pick.shape[1]


def _additive_passes(plan, block):
    """Yield the margins of all the block's regions as sparse sums over features."""
    members = block.regions.astype(np.float32)
    n_test, n_classes = len(plan.design.test), plan.design.n_classes

    def batches():
        for index, codes in enumerate(plan.codes[: plan.n_trained]):
            own = plan.kernel.feature_margins(block.features.T, codes, plan.design)
            total = members @ own.reshape(len(own), -1)
            total += plan.kernel.constant(codes, plan.design).reshape(1, -1)
            total = np.ascontiguousarray(total.T)
            yield total.reshape(n_test, n_classes, -1), index, 1

    yield 0, block.n_regions, batches()


def _region_passes(plan, block):
    """Yield the margins of a few regions at a time, from each region's own data."""
    step = plan.pass_regions
    for first in range(0, block.n_regions, step):
        some = range(first, min(first + step, block.n_regions))
        xs = [block.samples(region) for region in some]
        if plan.whitener is not None:
            xs = [
                plan.whitener(block.columns[block.members(region)], x)
                for region, x in zip(some, xs, strict=True)
            ]
        yield first, len(xs), _kernel_batches(plan, xs)


def _kernel_batches(plan, xs):
    """Yield one kernel's margins for each chunk of labelings."""
    state = plan.kernel.prepare(xs, plan.design)
    start = 0
    for labelings in plan.chunks():
        yield plan.kernel.margins(state, labelings), start, labelings.n_labelings
        start += labelings.n_labelings


def _score(plan, rows, counts, result):
    """Fill the results of one pass: wins, observed statistic, permuted statistics."""
    n_regions, n_classes = rows.stop - rows.start, plan.design.n_classes
    for beaten, tied, start, width in counts:
        weights = plan.weights_of(slice(start, start + width), n_regions)
        wins = win_histogram(beaten, tied, weights, n_classes)
        scores = plan.statistic(wins).reshape(n_regions, width)
        if start == 0:
            result["wins"][rows] = wins[::width]
            result["score"][rows] = scores[:, 0]
            observed = beaten[:, ::width], tied[:, ::width]
            for f in range(len(result["weighted_wins"])):
                weighting = plan.weightings[f][:, None]
                result["weighted_wins"][f, rows] = win_histogram(
                    *observed, weighting, n_classes
                )
            scores, start = scores[:, 1:], 1
        _compare(scores, start - 1, rows, result)


def _compare(permuted, start, rows, result):
    """Count the permuted statistics that reach the observed one; keep the maxima."""
    names = ("score", "n_reached", "maxima", "null")
    NullCounts(*(result.get(name) for name in names)).add(permuted, start, rows)
