"""What the tasks of a run share, and the data of one of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design, Labelings, TestedRows
from neuroextrap.design._folds import class_weights
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.margins._kernel import AdditiveKernel, MarginSource, RegionSamples
from neuroextrap.margins.algebra._overlapping_grams import fill_grams
from neuroextrap.margins.algebra._region_sums import RegionSums, share_sums

# numbers per array in one pass: small enough for the cache, large enough for BLAS
PASS_SIZE = 2**18
# indicators of the classes of all labelings, kept for the next region up to this size
KEPT_INDICATORS = 2**26
_MAX_REGIONS_PER_PASS = 64
# of a pass that stores no margins: what is made once a region is made for all of them
_REGIONS_WITHOUT_MARGINS = 8
# where margins are not stored: labelings together, and numbers in the margins of these
_WIDEST, _WIDE_SIZE = 8, 2**22
# products of samples of a task's regions, kept for forward tests up to this size
KEPT_PRODUCTS = 2**22
# numbers of a task's centered features in float64: kept for all its regions, or counted
# with and dropped
_KEPT_FEATURES, COUNTED_FEATURES = 2**20, 2**22


@dataclass(frozen=True)
class Plan:
    """What all tasks of a run share.

    ``kernel`` makes the margins of regions and ``design`` says which rows of their data
    are test points. ``codes`` of shape (1 + n_permutations, n_samples) are class codes,
    the observed labeling first; ``statistic`` turns win distributions (M, K) into
    values (M,). With ``pairing`` a classifier is trained once, with the observed
    labels, and the labels of test points only are permuted. ``weightings`` of shape
    (n_weightings, n_test) weigh the test points in further ways (one fold, say) under
    the observed labels. ``whitener`` maps (feature indices, x) to a transformed x.
    ``keep_null`` returns every permuted statistic. ``by_sums`` says whether margins are
    summed over features, which an additive plan can do; None is undecided, and
    `with_path` chooses what is faster. ``forward`` are the folds of forward tests, made
    beside the others under the observed labels (by sums if ``forward_by_sums``).
    """

    kernel: MarginSource
    design: TestedRows
    codes: np.ndarray
    statistic: Callable
    pairing: bool = False
    weightings: np.ndarray | None = None
    whitener: Any = None
    keep_null: bool = False
    by_sums: bool | None = None
    forward: ForwardFolds | None = None
    forward_by_sums: bool | None = None
    _kept: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is kept behind when a plan travels to another process."""
        return {**self.__dict__, "_kept": {}}

    @property
    def n_permutations(self) -> int:
        """Number of permuted labelings."""
        return len(self.codes) - 1

    @property
    def n_trained(self) -> int:
        """Number of labelings that a classifier is trained on."""
        return 1 if self.pairing else len(self.codes)

    @property
    def n_weightings(self) -> int:
        """Number of further weightings of the test points."""
        return 0 if self.weightings is None else len(self.weightings)

    @property
    def is_additive(self) -> bool:
        """Whether a region's margins are sums over its features."""
        return isinstance(self.kernel, AdditiveKernel) and self.whitener is None

    @property
    def needs_best_only(self) -> bool:
        """Whether permuted labels need the best class of each test point only."""
        best_only = getattr(self.statistic, "needs_best_only", False)
        return bool(best_only) and not self.pairing and self.n_permutations > 0

    @property
    def stores_no_margins(self) -> bool:
        """Whether best classes of a short design are counted as margins are made."""
        counts_in_place = getattr(self.kernel, "counts_in_place", None)
        if not (self.needs_best_only and isinstance(self.design, Design)):
            return False
        return counts_in_place is not None and counts_in_place(self.design)

    @property
    def size(self) -> int:
        """Numbers in the margins of one labeling of one region."""
        return max(self.design.n_samples, len(self.design.test)) * self.design.n_classes

    @property
    def n_batches(self) -> int:
        """Number of batches of the trained labelings."""
        return -(-self.n_trained // max(1, PASS_SIZE // self.size))

    @property
    def batch_width(self) -> int:
        """Number of trained labelings in the widest batch."""
        return -(-self.n_trained // self.n_batches)

    @property
    def wide_batch(self) -> int:
        """Number of labelings in a batch whose margins are not stored."""
        return min(_WIDEST, max(1, _WIDE_SIZE // self.size))

    @property
    def n_kept(self) -> int:
        """Number of trained labelings whose indicators are in memory together."""
        all_fit = self.n_trained * self.size <= KEPT_INDICATORS
        return self.n_trained if all_fit else self.batch_width

    @property
    def pass_regions(self) -> int:
        """Number of regions whose margins are made in one pass."""
        if self.stores_no_margins:
            return _REGIONS_WITHOUT_MARGINS
        n_regions = PASS_SIZE // (self.size * self.batch_width)
        return max(1, min(_MAX_REGIONS_PER_PASS, n_regions))

    def forward_plan(self) -> Self:
        """Return the plan of the forward tests: their folds, the observed labels."""
        if "forward" not in self._kept:
            self._kept["forward"] = replace(
                self,
                design=cast(ForwardFolds, self.forward).design,
                codes=self.codes[:1],
                pairing=False,
                weightings=None,
                keep_null=False,
                by_sums=self.forward_by_sums,
                forward=None,
            )
        return self._kept["forward"]

    def observed_counter(self) -> Any:
        """Return what counts under the observed labels as it goes over regions.

        It is called with features and regions and gives the counts (beaten, tied) of
        the plan's own tests, then of its forward tests. None where there are
        permutations, or where the classifier has no such thing for these folds.
        """
        if "counter" not in self._kept:
            self._kept["counter"] = self._make_counter()
        return self._kept["counter"]

    def _make_counter(self) -> Any:
        make = getattr(self.kernel, "observed_counter", None)
        by_sums = self.by_sums or (self.forward is not None and self.forward_by_sums)
        if make is None or by_sums or not isinstance(self.design, Design):
            return None
        if self.n_permutations or self.pairing or self.whitener is not None:
            return None
        forward = None if self.forward is None else self.forward.design
        return make(self.design, forward, self.codes[0])

    def batches(self, *, stores_margins: bool = True) -> Iterable[Labelings]:
        """Give the trained labelings in batches whose widths differ by one at most.

        They are kept, with the indicators made of them, for the next regions as long as
        they are small together, and made anew otherwise. Where the margins of a batch
        are not stored, batches of many samples are wider, and never kept.
        """
        if "batches" in self._kept:
            return self._kept["batches"]
        n_batches = self.n_batches
        if not stores_margins:
            n_batches = min(n_batches, -(-self.n_trained // self.wide_batch))
        codes = np.array_split(self.codes[: self.n_trained], n_batches)
        batches = (Labelings(part, self.design.n_classes) for part in codes)
        if self.n_kept < self.n_trained or not stores_margins:
            return batches
        return self._kept.setdefault("batches", list(batches))

    def test_codes(self) -> np.ndarray:
        """Return the codes of the test points, (n_test, 1 + n_permutations)."""
        if "test" not in self._kept:
            codes = self.codes[:, self.design.test]
            self._kept["test"] = np.ascontiguousarray(codes.T)
        return self._kept["test"]

    def weights(self) -> Any:
        """Return weights of the test points by which all classes weigh the same.

        A number when all are equal, else an array (n_test, 1 + n_permutations) whose
        columns sum to one.
        """
        if "weights" not in self._kept:
            weights = class_weights(self.test_codes(), self.design.n_classes)
            equal = bool(np.ptp(weights) < 1e-15)
            self._kept["weights"] = 1.0 / len(weights) if equal else weights
        return self._kept["weights"]

    def weights_of(self, columns: slice, n_regions: int) -> Any:
        """Return the weights of some labelings, repeated for some regions.

        A number or an array (n_test, n_regions * n_labelings), region-major.
        """
        weights = self.weights()
        if np.ndim(weights) == 0:
            return weights
        return np.tile(weights[:, columns], n_regions)


@dataclass(frozen=True)
class TaskData:
    """The regions of one task and the data of just their features.

    ``features`` is float32 of shape (n_task_features, n_samples), ``regions`` a CSR
    array of shape (n_task_regions, n_task_features), and ``columns`` says where these
    features lie among all.
    """

    features: np.ndarray
    regions: scipy.sparse.csr_array
    columns: np.ndarray
    _kept: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def n_regions(self) -> int:
        """Number of regions of the task."""
        return self.regions.shape[0]

    @property
    def may_be_counted(self) -> bool:
        """Whether there are few enough features to count with, for all regions."""
        return self.features.size <= COUNTED_FEATURES

    @property
    def sums(self) -> RegionSums:
        """How features are summed over the regions, with arrays for the work."""
        if "sums" not in self._kept:
            self._kept["sums"] = share_sums(self.regions)
        return self._kept["sums"]

    def members(self, region: int) -> np.ndarray:
        """Return where the features of a region lie among those of the task."""
        start, stop = self.regions.indptr[region : region + 2]
        return self.regions.indices[start:stop]

    def samples(self, region: int) -> np.ndarray:
        """Return a region's data, shape (n_samples, n_features of the region)."""
        return self.features[self.members(region)].T

    def samples_of(self, regions: range, whitener: Any) -> Sequence[np.ndarray]:
        """Return the samples of some regions, whitened.

        They keep what is made of them, if it is small.
        """

        def whitened(place: int) -> np.ndarray:
            region = regions[place]
            x = self.samples(region)
            if whitener is None:
                return x
            return whitener(self.columns[self.members(region)], x)

        if self.n_regions * self.features.shape[1] ** 2 > KEPT_PRODUCTS:
            return [whitened(place) for place in range(len(regions))]
        rows = slice(regions.start, regions.stop)
        fill = None
        if whitener is None and self.features.size <= _KEPT_FEATURES:
            fill = partial(self._fill_grams, regions)
        sizes = np.diff(self.regions.indptr[regions.start : regions.stop + 1])
        kept = self._kept, rows, self.n_regions
        shape = self.features.shape[1], sizes
        return RegionSamples(whitened, shape, kept, fill)

    def _fill_grams(self, regions: range, out: np.ndarray, n_terms: int | None) -> None:
        """Fill the inner products (S, n, n) of the centered samples of some regions."""
        members = self.regions[regions.start : regions.stop]
        members.sort_indices()
        if "centered" not in self._kept:
            self._kept["centered"] = self.centered()
        fill_grams(self._kept["centered"], members, out, n_terms)

    def centered(self) -> np.ndarray:
        """Return the features (n_task_features, n) centered, in float64."""
        centered = self.features.astype(float)
        centered -= centered.mean(axis=1, keepdims=True)
        return centered
