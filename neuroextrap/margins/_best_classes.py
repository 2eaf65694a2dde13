"""Best classes of the test points under many labelings, without ranks and wins.

The accuracy among all classes is the share of test points whose class is the best, and
nothing else of the margins is needed under permuted labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import Batch, MarginKernel
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._wins import best_share


class Shares(NamedTuple):
    """Shares of best classes of some regions under consecutive labelings.

    ``share`` has shape (n_regions * n_labelings,), region-major. ``observed`` are the
    margins (n_test, K, n_regions) of the first labeling of all, None in other batches.
    """

    share: np.ndarray
    first_labeling: int
    n_labelings: int
    observed: np.ndarray | None


class BestClasses(ABC):
    """What a classifier adds that finds best classes without storing margins."""

    def counts_in_place(self, design: Design) -> bool:
        """Whether no margins are stored in a design of few samples."""
        del design
        return False

    def stores_margins(self, state: Any) -> bool:
        """Whether margins of many samples may have to be stored after all."""
        del state
        return True

    @abstractmethod
    def best_shares(
        self, state: Any, labelings: Labelings, weights: Any
    ) -> np.ndarray | None:
        """Return the weight of the points whose class is the best, shape (S * B,).

        ``weights`` (n_test, B), or a number, are the same for each of the S regions of
        the ``state``. To the last bit what `best_share` returns for the margins; None
        where these have to be made.
        """


def sort_by_class(
    labelings: Labelings, design: Design, order: np.ndarray, weights: Any = 1.0
) -> Any:
    """Return labelings for compiled loops; kept for the next region.

    Samples are numbered by their place in ``order``. ``weights`` are those of the run:
    (n_test, B), or a number, by which counts are yet to be multiplied.
    """
    from neuroextrap.margins.compiled._best import Sorted

    equal = np.ndim(weights) == 0

    def make() -> Any:
        rows = np.empty((labelings.n_labelings, 0)) if equal else np.transpose(weights)
        truth = labelings.codes[:, design.test].astype(np.int32)
        members, edges = labelings.sorted_by_class(order)
        return Sorted(members, edges, truth, np.ascontiguousarray(rows))

    return labelings.keep(("sorted", equal), make)


def times_equal_weight(counts: np.ndarray, weights: Any) -> np.ndarray:
    """Turn counts of best classes into shares where all points weigh the same."""
    return weights * counts if np.ndim(weights) == 0 else counts


def shares_of_regions(plan: Plan, xs: Sequence[np.ndarray]) -> Iterator[Shares]:
    """Yield the shares of some regions, one batch of labelings after the other."""
    kernel = plan.kernel
    if not isinstance(kernel, BestClasses):
        yield from shares_of_margins(plan, len(xs), kernel.batches(xs, plan))
        return
    assert isinstance(kernel, MarginKernel)
    state, start = kernel.prepare(xs, plan.design), 0
    stores_margins = kernel.stores_margins(state)
    for labelings in plan.batches(stores_margins=stores_margins):
        width = labelings.n_labelings
        weights = plan.weights_of(slice(start, start + width), 1)
        share = kernel.best_shares(state, labelings, weights)
        if share is None:
            margins = Batch(kernel.margins(state, labelings), start, width)
            yield from shares_of_margins(plan, len(xs), iter([margins]))
        else:
            observed = None
            if start == 0:
                observed = kernel.margins(state, labelings.first())
            yield Shares(share, start, width, observed)
        start += width


def shares_of_margins(
    plan: Plan, n_regions: int, batches: Iterator[Batch]
) -> Iterator[Shares]:
    """Yield the shares of margins that are made already."""
    for margins, start, width in batches:
        columns = slice(start, start + width)
        y = np.tile(plan.test_codes()[:, columns], n_regions)
        share = best_share(margins, y, plan.weights_of(columns, n_regions))
        observed = margins[:, :, ::width] if start == 0 else None
        yield Shares(share, start, width, observed)
