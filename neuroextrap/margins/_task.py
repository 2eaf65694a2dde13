"""One task of a run: some regions under all labelings.

A task is a pure function of its plan and its data, so tasks can run in any order, on
any machine, and be repeated. It goes over its regions in passes, a pass over the
labelings in batches; all sizes depend on the design alone, so no result on workers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
import scipy.sparse

from neuroextrap.margins._design import Design, Labelings, TestedRows
from neuroextrap.margins._forward_folds import ForwardFolds
from neuroextrap.margins._kernel import AdditiveKernel, Batch, MarginSource
from neuroextrap.margins._outcomes import correct_outcomes
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

# (beaten, tied, first labeling, number of labelings)
Counts = tuple[np.ndarray, np.ndarray, int, int]


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
    def size(self) -> int:
        """Numbers in the margins of one labeling of one region."""
        return max(self.design.n_samples, len(self.design.test)) * self.design.n_classes

    @property
    def _n_batches(self) -> int:
        """Number of batches of the trained labelings."""
        return -(-self.n_trained // max(1, PASS_SIZE // self.size))

    @property
    def batch_width(self) -> int:
        """Number of trained labelings in the widest batch."""
        return -(-self.n_trained // self._n_batches)

    @property
    def n_kept(self) -> int:
        """Number of trained labelings whose indicators are in memory together."""
        all_fit = self.n_trained * self.size <= KEPT_INDICATORS
        return self.n_trained if all_fit else self.batch_width

    @property
    def pass_regions(self) -> int:
        """Number of regions whose margins are made in one pass."""
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

    def batches(self) -> Iterable[Labelings]:
        """Give the trained labelings in batches whose widths differ by one at most.

        They are kept, with the indicators made of them, for the next regions as long as
        they are small together, and made anew otherwise.
        """
        if "batches" in self._kept:
            return self._kept["batches"]
        codes = np.array_split(self.codes[: self.n_trained], self._n_batches)
        batches = (Labelings(part, self.design.n_classes) for part in codes)
        if self.n_kept < self.n_trained:
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


def run_task(plan: Plan, data: TaskData) -> dict[str, np.ndarray]:
    """Compute the wins of a task's regions and their permuted statistics.

    The result has ``wins`` (n_regions, K); ``weighted_wins`` (n_weightings, n_regions,
    K); ``score`` (n_regions,) the observed statistic; ``n_reached`` (n_regions,) how
    many permuted statistics reach it; ``n_best`` (n_regions,) how many test points have
    their class strictly best; ``maxima`` (n_permutations,) the largest permuted
    statistic over the task's regions; ``null`` (n_permutations, n_regions) when kept;
    with forward tests their ``n_correct`` (n_regions, n_sums) and ``forward_wins``
    (n_regions, K).
    """
    n_regions, n_classes = data.n_regions, plan.design.n_classes
    result = {
        "wins": np.empty((n_regions, n_classes)),
        "weighted_wins": np.empty((plan.n_weightings, n_regions, n_classes)),
        "score": np.empty(n_regions),
        "n_reached": np.zeros(n_regions, dtype=np.int64),
        "n_best": np.empty(n_regions),
        "maxima": np.full(plan.n_permutations, -np.inf),
    }
    if plan.keep_null:
        result["null"] = np.empty((plan.n_permutations, n_regions), dtype=np.float32)
    for first, n_regions, counts in _all_counts(plan, data):
        _score(plan, slice(first, first + n_regions), counts, result)
    if plan.forward is not None:
        result |= _run_forward(plan, data)
    return result


def _run_forward(plan: Plan, data: TaskData) -> dict[str, np.ndarray]:
    """Count the correct outcomes of the forward tests, and their average wins.

    Margins that are summed over features are made some folds at a time, as many as the
    plan's own tests, so that they take no more memory than these.
    """
    forward, tests = cast(ForwardFolds, plan.forward), plan.forward_plan()
    n_classes = plan.design.n_classes
    n_correct = np.zeros((data.n_regions, forward.outcomes.n_sums), dtype=np.float32)
    wins = np.zeros((data.n_regions, n_classes))
    for some in _fold_batches(plan):
        design = forward.design.some_folds(some)
        points = slice(
            forward.design.fold_slices[some.start].start,
            forward.design.fold_slices[some.stop - 1].stop,
        )
        whole = design is forward.design
        part = tests if whole else replace(tests, design=design)
        for first, n_regions, counts in _all_counts(part, data):
            rows = slice(first, first + n_regions)
            beaten, tied, _, _ = next(counts)
            outcomes = correct_outcomes(beaten, tied, n_classes)
            n_correct[rows, some] = (forward.sums[some, points] @ outcomes).T
            weights = forward.weighting[points, np.newaxis]
            wins[rows] += win_histogram(beaten, tied, weights, n_classes)
    return {"n_correct": n_correct, "forward_wins": wins}


def _fold_batches(plan: Plan) -> list[slice]:
    """Return which folds of the forward tests are made together."""
    design = cast(ForwardFolds, plan.forward).design
    if not plan.forward_by_sums:
        return [slice(0, len(design.folds))]
    most, batches, start = len(plan.design.test), [], 0
    stops = [rows.stop for rows in design.fold_slices]
    for fold, stop in enumerate(stops):
        if fold > start and stop - design.fold_slices[start].start > most:
            batches.append(slice(start, fold))
            start = fold
    return [*batches, slice(start, len(stops))]


def largest_batch(plan: Plan) -> int:
    """Return how many margins of a feature forward tests by sums make at once."""
    slices = cast(ForwardFolds, plan.forward).design.fold_slices
    batches = _fold_batches(replace(plan, forward_by_sums=True))
    points = max(slices[b.stop - 1].stop - slices[b.start].start for b in batches)
    return max(points, plan.design.n_samples) * plan.design.n_classes


def first_margins(plan: Plan, data: TaskData) -> np.ndarray:
    """Return the observed margins (n_test, K, n_regions) of a task's first pass."""
    observed = replace(plan, codes=plan.codes[:1])
    _, _, batches = next(_passes(observed, data))
    return next(batches).margins


def observed_margins(
    plan: Plan, data: TaskData
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (first region, number of regions, margins) under the observed labeling.

    Margins have shape (n_test, K, n_regions), a few regions of the task at a time.
    """
    observed = replace(plan, codes=plan.codes[:1])
    for first, n_regions, batches in _passes(observed, data):
        yield first, n_regions, next(batches).margins


def _all_counts(
    plan: Plan, data: TaskData
) -> Iterator[tuple[int, int, Iterator[Counts]]]:
    """Yield (first region, number of regions, iterator of their counts).

    Counts have shape (n_test, n_regions * n_labelings), region-major.
    """
    for first, n_regions, batches in _passes(plan, data):
        if plan.pairing:
            margins = next(batches).margins
            for region in range(n_regions):
                counts = _pairing_counts(plan, margins[:, :, region])
                yield first + region, 1, counts
        else:
            yield first, n_regions, _label_counts(plan, n_regions, batches)


def _label_counts(
    plan: Plan, n_regions: int, batches: Iterator[Batch]
) -> Iterator[Counts]:
    """Count wins where every labeling has margins of its own."""
    for margins, start, width in batches:
        y = np.tile(plan.test_codes()[:, start : start + width], n_regions)
        yield *beaten_and_tied(margins, y), start, width


def _pairing_counts(plan: Plan, margins: np.ndarray) -> Iterator[Counts]:
    """Count one region's wins when only the labels of its test points are permuted."""
    y = plan.test_codes()
    beaten, tied = rank_tables(margins)
    row = np.arange(len(y))[:, None] * margins.shape[1]
    width = max(1, PASS_SIZE // len(y))
    for start in range(0, y.shape[1], width):
        pick = row + y[:, start : start + width]
        yield beaten.take(pick), tied.take(pick), start, pick.shape[1]


def _passes(plan: Plan, data: TaskData) -> Iterator[tuple[int, int, Iterator[Batch]]]:
    """Yield (first region, number of regions, their batches) of every pass."""
    if plan.by_sums:
        yield 0, data.n_regions, _summed_batches(plan, data)
        return
    for first in range(0, data.n_regions, plan.pass_regions):
        regions = range(first, min(first + plan.pass_regions, data.n_regions))
        xs = [data.samples(region) for region in regions]
        if plan.whitener is not None:
            xs = [
                plan.whitener(data.columns[data.members(region)], x)
                for region, x in zip(regions, xs, strict=True)
            ]
        yield first, len(xs), plan.kernel.batches(xs, plan)


def _summed_batches(plan: Plan, data: TaskData) -> Iterator[Batch]:
    """Yield the margins of all the task's regions as sparse sums over features."""
    members = data.regions.astype(np.float32)
    kernel, design = cast(AdditiveKernel, plan.kernel), cast(Design, plan.design)
    for labeling, codes in enumerate(plan.codes[: plan.n_trained]):
        margins = kernel.feature_margins(data.features.T, codes, design)
        total = members @ margins.reshape(len(margins), -1)
        total += kernel.constant(codes, design).reshape(1, -1)
        total = np.ascontiguousarray(total.T)
        yield Batch(total.reshape(*margins.shape[1:], -1), labeling, 1)


def _score(
    plan: Plan, rows: slice, counts: Iterator[Counts], result: dict[str, np.ndarray]
) -> None:
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
            result["n_best"][rows] = (observed[0] == n_classes - 1).sum(axis=0)
            for f in range(len(result["weighted_wins"])):
                weighting = cast(np.ndarray, plan.weightings)[f][:, None]
                result["weighted_wins"][f, rows] = win_histogram(
                    *observed, weighting, n_classes
                )
            scores, start = scores[:, 1:], 1
        _compare(scores, start - 1, rows, result)


def _compare(
    permuted: np.ndarray, start: int, rows: slice, result: dict[str, np.ndarray]
) -> None:
    """Count the permuted statistics that reach the observed one; keep the maxima."""
    counts = NullCounts(
        result["score"], result["n_reached"], result["maxima"], result.get("null")
    )
    counts.add(permuted, start, rows)
