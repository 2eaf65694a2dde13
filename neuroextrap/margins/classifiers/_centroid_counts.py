"""The nearest centroid under the observed labels: counted as inner products are made.

A map without permutations needs each region's inner products once, for the plan's own
folds and for its forward tests. Compiled loops make them, count with them and go on
to the next region, so that no more than one region's are ever in memory.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._class_sums import exact_digits
from neuroextrap.margins.algebra._cyclic_windows import no_windows
from neuroextrap.margins.algebra._overlapping_grams import overlap_of
from neuroextrap.margins.classifiers._centroid_growing import compiled_windows

# counts of distractors beaten and tied, each (n_test, S)
Counts = tuple[np.ndarray, np.ndarray]


class Tests(NamedTuple):
    """The test points of some folds, in the order in which they are counted.

    ``rows`` (n_test,) says where they lie among those of the plan, ``truth`` (n_test,)
    are their classes, and ``factors`` what sums over the training samples of a class
    and their squared lengths are multiplied by, each (F, K).
    """

    rows: np.ndarray
    truth: np.ndarray
    factors: tuple[np.ndarray, ...]


class CentroidCounter:
    """Counts what the true class of every test point beats, region after region.

    ``codes`` (n,) are the observed labels. ``design`` tests each sample once, by the
    fold that holds it out; the tests of ``forward``, if there are any, are windows in a
    circle of parts. `make_counter` returns None for other folds.
    """

    def __init__(
        self, samples: np.ndarray, design: Design, forward: Any, codes: np.ndarray
    ) -> None:
        self.samples, self.n_classes = samples, design.n_classes
        tests, windows = forward
        # folds in the order in which their samples lie, which are those that they test
        begins = _places(samples)[[test[0] for _, test in design.folds]]
        folds = np.argsort(begins)
        rows = [design.fold_slices[fold] for fold in folds]
        edges = np.array([0, *np.cumsum([r.stop - r.start for r in rows])], np.uint32)
        points = np.concatenate([np.arange(r.start, r.stop) for r in rows])
        factors = tuple(factor[folds] for factor in _factors(design, codes))
        own = Tests(points, codes[samples].astype(np.uint32), factors)
        if tests is None:
            others = Tests(points[:0], own.truth[:0], factors)
        else:
            truth = codes[tests.test].astype(np.uint32)
            others = Tests(np.arange(len(truth)), truth, _factors(tests, codes))
        self.design = codes[samples].astype(np.uint32), edges, windows
        self.tests = own, others

    def __call__(
        self, features: np.ndarray, regions: scipy.sparse.csr_array
    ) -> tuple[Counts, Counts]:
        """Count in all regions: under the plan's own folds, and in forward tests.

        ``features`` (n_features, n) are centered float64, ``regions`` (S, n_features)
        have their indices sorted.
        """
        from neuroextrap.margins.compiled._centroid_counts import count_regions

        kind = np.int8 if self.n_classes < 128 else np.int32
        shapes = [(len(tests.rows), regions.shape[0]) for tests in self.tests]
        beaten, up_to = ([np.empty(shape, kind) for shape in shapes] for _ in range(2))
        overlap, sums = overlap_of(features[:, self.samples], regions)
        digits = exact_digits(4 * len(self.samples) ** 2)
        out = beaten[0], up_to[0], beaten[1], up_to[1]
        if not count_regions(overlap, sums, digits, self.design, self.tests, out):
            raise ValueError(NAN_MARGINS)
        own, forward = (
            (low, high - low - 1) for low, high in zip(beaten, up_to, strict=True)
        )
        return own, forward


def make_counter(
    design: Design, forward: Design | None, codes: np.ndarray
) -> CentroidCounter | None:
    """Return what counts in such folds and forward tests, None if they are others."""
    windows: Any = design.order, no_windows()
    if forward is not None:
        windows = compiled_windows(forward)
    if windows is None:
        return None
    samples, of_folds = windows
    places = _places(samples)
    in_order = all((np.diff(places[test]) == 1).all() for _, test in design.folds)
    trained = [_trained(part, codes) for part in (design, forward) if part is not None]
    if not in_order or min(counts.min() for counts in trained) < 1:
        return None
    return CentroidCounter(samples, design, (forward, of_folds), codes)


def _places(samples: np.ndarray) -> np.ndarray:
    """Return where each sample lies in an order of them."""
    places = np.empty(len(samples), dtype=np.int64)
    places[samples] = np.arange(len(samples))
    return places


def _trained(design: Design, codes: np.ndarray) -> np.ndarray:
    """Count training samples of each fold and class, (F, K)."""
    labelings = Labelings(codes[np.newaxis], design.n_classes)
    return labelings.training_counts(design)[:, :, 0].astype(float)


def _factors(design: Design, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what sums over classes and their squared lengths are multiplied by."""
    counts = _trained(design, codes)
    return 2.0 / counts, 1.0 / counts**2
