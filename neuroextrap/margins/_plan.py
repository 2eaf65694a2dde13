"""What the tasks of a run share, and the data of one of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design, Labelings, TestedRows
from neuroextrap.design._folds import class_weights
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.design._further_tests import SubsetTests
from neuroextrap.margins._kernel import MarginSource, RegionSamples

# numbers in the margins of one pass: small enough for the cache, large enough for BLAS
PASS_SIZE = 2**18
# labelings that compiled loops take together, and as many as share a look at the
# samples where these are many
_TOGETHER, _FEWEST = 64, 8
# margins of a region, of which a compiled loop fills its labelings in any case
_SMALL = 2**14
# indicators of the classes of all labelings, kept for the next region up to this size
_KEPT_INDICATORS = 2**26
# regions of a pass at most, with permutations
_PERMUTED_PASS_REGIONS = 4
# numbers per margin array of a task, and bounds on its regions: fixed, so that neither
# workers nor memory decide where one task ends
_TASK_SIZE = 2**24
_MIN_TASK_REGIONS, _MAX_TASK_REGIONS = 64, 5 * 2**12
_PERMUTED_TASK_REGIONS = 128
_TASK_FITS = 2**12  # of a classifier that is refitted: some seconds
#: what a plan has besides its own tests, when it has none of it
ONLY_TESTS: dict[str, Any] = {"weightings": None, "forward": None, "subsets": ()}


@dataclass(frozen=True)
class Plan:
    """What all tasks of a run share.

    ``kernel`` makes margins, ``design`` says which rows are test points, ``codes`` (1 +
    n_permutations, n_samples) are class codes, the observed ones first; ``statistic``
    turns wins (M, K) into values (M,). With ``pairing`` a classifier is trained once,
    with the observed labels, and the labels of test points only are permuted.
    ``weightings`` (n_weightings, n_test) weigh the test points in further ways under
    the observed labels, ``whitener`` maps (feature indices, x) to a transformed x, and
    ``by_sums`` says whether margins are summed over features (None: `with_path`
    chooses). ``forward`` are the folds of forward tests, ``subsets`` tests of random
    subsets of the classes, both under the observed labels.
    """

    kernel: MarginSource
    design: TestedRows
    codes: np.ndarray
    statistic: Any
    pairing: bool = False
    weightings: np.ndarray | None = None
    whitener: Any = None
    by_sums: bool | None = None
    forward: ForwardFolds | None = None
    subsets: tuple[SubsetTests, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is kept behind when a plan travels to another process."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

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
    def size(self) -> int:
        """Numbers in the margins, or other outputs, of one labeling of one region."""
        n_outputs = self.kernel.n_outputs or self.design.n_classes
        return max(self.design.n_samples, len(self.design.test)) * n_outputs

    @property
    def pass_regions(self) -> int:
        """Number of regions whose margins are made in one pass."""
        size, most = self.size, self.kernel.most_regions
        if self.n_trained > 1:  # with room for several labelings
            size, most = 8 * self.size, min(most, _PERMUTED_PASS_REGIONS)
        if self.forward is not None:
            size = max(size, self.forward_plan.size)
        return max(1, min(most, PASS_SIZE // size))

    @property
    def batch_width(self) -> int:
        """Number of trained labelings in the widest batch."""
        in_a_pass = self.size * self.pass_regions
        width = max(1, PASS_SIZE // in_a_pass, min(_FEWEST, 2 * PASS_SIZE // in_a_pass))
        width = max(width // _TOGETHER * _TOGETHER, min(width, _TOGETHER))
        if self.size <= _SMALL:
            width = max(width, self.kernel.labelings_at_once)
        return self._evenly(width)

    @property
    def counted_width(self) -> int:
        """Number of trained labelings in the widest batch whose margins are counted."""
        each = max(self.design.n_samples, len(self.design.test)) * self.pass_regions
        return self._evenly(max(self.batch_width, PASS_SIZE // each))

    def _evenly(self, width: int) -> int:
        """Return the width of as many batches, about equally large ones."""
        n_batches = -(-self.n_trained // width)
        return -(-self.n_trained // n_batches)

    @property
    def n_kept(self) -> int:
        """Number of trained labelings whose indicators are in memory together."""
        all_fit = self.n_trained * self.size <= _KEPT_INDICATORS
        return self.n_trained if all_fit else self.counted_width

    @property
    def task_size(self) -> int:
        """Number of regions of a task; it depends only on the plan."""
        size = np.clip(_TASK_SIZE // self.size, _MIN_TASK_REGIONS, _MAX_TASK_REGIONS)
        if not self.by_sums or self.n_permutations:
            size = min(size, _PERMUTED_TASK_REGIONS)
        if self.kernel.refits:
            first, each = self.n_fits
            n_fits = first + each * (self.n_trained - 1)
            size = max(1, min(size, _TASK_FITS // n_fits))
        return int(size)

    @property
    def n_fits(self) -> tuple[float, float]:
        """Fits of a region, in first folds, under the first and another labeling."""
        design = cast(Design, self.design)
        tests = [(design, 1), *((t.design, len(t.rows)) for t in self.subsets)]
        if self.forward is not None:
            tests.append((self.forward.design, 1))
        sizes = [
            n * each.n_classes * sum(len(train) for train, _ in each.folds)
            for each, n in tests
        ]
        unit = design.n_classes * len(design.folds[0][0])
        return sum(sizes) / unit, sizes[0] / unit

    @property
    def subset_sizes(self) -> list[int]:
        """Numbers of classes in the subsets, increasing."""
        return sorted({tests.design.n_classes for tests in self.subsets})

    @cached_property
    def forward_plan(self) -> Self:
        """Plan of the forward tests: their folds, the observed labels."""
        design = cast(ForwardFolds, self.forward).design
        return self.of_observed(design, self.codes[:1])

    def of_observed(self, design: Design, codes: np.ndarray) -> Self:
        """Return a plan of other folds, and of the observed labels (1, n_samples)."""
        return replace(self, design=design, codes=codes, pairing=False, **ONLY_TESTS)

    def batches(self, *, counted: bool = False) -> Iterable[Labelings]:
        """Give the trained labelings in batches, which are kept while small.

        Wide ones where margins are `counted` and not kept.
        """
        width = self.counted_width if counted else self.batch_width
        if self.n_kept < self.n_trained:
            return self._new_batches(width)
        if width not in self._kept_batches:
            self._kept_batches[width] = list(self._new_batches(width))
        return self._kept_batches[width]

    @cached_property
    def _kept_batches(self) -> dict[int, list[Labelings]]:
        """The batches of a width."""
        return {}

    def _new_batches(self, width: int) -> Iterator[Labelings]:
        """Yield the batches, with nothing made of them yet."""
        n_batches = -(-self.n_trained // width)
        for part in np.array_split(self.codes[: self.n_trained], n_batches):
            yield Labelings(part, self.design.n_classes)

    @cached_property
    def trains_classes_equally(self) -> bool:
        """Whether classes are equal in every fold of every trained labeling."""
        design = cast(Design, self.design)
        batches = self._new_batches(self.batch_width)
        counts = (some.training_counts(design) for some in batches)
        return all((of_fold == of_fold[:, :1]).all() for of_fold in counts)

    @cached_property
    def test_codes(self) -> np.ndarray:
        """Codes of the test points, (n_test, 1 + n_permutations)."""
        return np.ascontiguousarray(self.codes[:, self.design.test].T)

    @cached_property
    def weights(self) -> Any:
        """Weights of test points, of columns of sum one; a number if all are equal."""
        weights = class_weights(self.test_codes, self.design.n_classes)
        return 1.0 / len(weights) if np.ptp(weights) < 1e-15 else weights

    def weights_of(self, columns: slice, n_regions: int) -> Any:
        """Return weights of labelings, a number or (n_test, n_regions * n_columns)."""
        if np.ndim(self.weights) == 0:
            return self.weights
        return np.tile(self.weights[:, columns], n_regions)


@dataclass(frozen=True)
class TaskData:
    """The regions (n_regions, n_task_features) of a task, and data of their features.

    ``features`` is float32 of shape (n_task_features, n_samples); ``columns`` says
    where these features lie among all.
    """

    features: np.ndarray
    regions: scipy.sparse.csr_array
    columns: np.ndarray

    @property
    def n_regions(self) -> int:
        """Number of regions of the task."""
        return self.regions.shape[0]

    def members(self, region: int) -> np.ndarray:
        """Return where the features of a region lie among those of the task."""
        start, stop = self.regions.indptr[region : region + 2]
        return self.regions.indices[start:stop]

    def samples(self, region: int) -> np.ndarray:
        """Return a region's data, shape (n_samples, n_features of the region)."""
        return self.features[self.members(region)].T

    def samples_of(self, regions: range, whitener: Any) -> RegionSamples:
        """Return the samples of some regions, whitened."""
        if whitener is None:
            return RegionSamples(self.samples(region) for region in regions)
        return RegionSamples(
            whitener(self.columns[self.members(region)], self.samples(region))
            for region in regions
        )
