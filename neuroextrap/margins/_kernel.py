"""What makes margins: the protocol of classifiers in the loop over regions."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Keeping, TestedRows


class Batch(NamedTuple):
    """Margins (n_test, K, n_regions * n_labelings) of consecutive labelings.

    Columns are region-major: ``region * n_labelings + labeling``. Where a source
    `correlates`, there are correlations (n_regions, n_labelings) of decoded with true
    targets, too: of all labelings what the statistic is, the rest of the observed one.
    """

    margins: Any
    first_labeling: int
    n_labelings: int
    correlation: np.ndarray | None = None


# (beaten, tied, first labeling, number of labelings)
Counts = tuple[np.ndarray, np.ndarray, int, int]


class RegionSamples(Keeping, list[np.ndarray]):
    """Samples of the regions of a pass, with what was made of them without labels."""


def kept_with(xs: Sequence[np.ndarray], name: str, make: Callable[[], Any]) -> Any:
    """Return what was made of the samples under this name, or make it now."""
    return xs.keep(name, make) if isinstance(xs, RegionSamples) else make()


class MarginSource(ABC):
    """Where the margins of regions come from: a classifier, or given predictions."""

    #: name under which the registry and the table of ways know it
    name: str = ""
    #: kind of joblib workers: "threads", or "processes" where many small steps hold
    #: the interpreter
    prefer: str = "threads"
    #: whether every fold of every labeling of every region is a fit of its own
    refits: bool = False
    #: bytes of an indicator of a class, in some orders and precisions, that may be kept
    indicator_bytes: int = 12
    #: whether the margin of a class depends on that class's training data only, so
    #: that wins give the accuracy of classifiers trained on any number of classes
    marginal: bool = True
    #: whether batches have correlations of decoded with true targets
    correlates: bool = False
    #: numbers made of a test point, None where these are its margins
    n_outputs: int | None = None
    #: regions of a pass at most, fewer where much is kept of each
    most_regions: int = 64
    #: labelings that its compiled loops take together, whether there are as many or not
    labelings_at_once: int = 1
    #: name of the classifier if it may favor classes of many samples, else ""
    frequent_first: str = ""

    @abstractmethod
    def batches(self, xs: Sequence[np.ndarray], plan: Any) -> Iterator[Batch]:
        """Yield the margins of samples (n_samples, n_features), by labelings."""

    def keeps_margins(self, n_features: int, plan: Any) -> bool:
        """Return whether margins of a batch are there together, to be counted."""
        del n_features, plan
        return True

    def counts(self, xs: Sequence[np.ndarray], plan: Any) -> Iterator[Counts]:
        """Yield `beaten_and_tied` of all batches, whose margins are not kept."""
        raise NotImplementedError

    def workspace(self, n_features: int, n_regions: int, design: TestedRows) -> int:
        """Estimate the bytes of a pass besides its samples and its margins."""
        del n_features  # inner products of samples do not depend on it
        return 32 * design.n_samples**2 * n_regions

    def direct_bytes(self, n_features: int, design: TestedRows) -> int | None:
        """Return the bytes of a margin; None where indicators take memory too."""
        del n_features, design
        return None

    def __repr__(self) -> str:
        """Show the class and its parameters; part of a checkpoint's identity."""
        names = inspect.signature(type(self)).parameters
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({options})"


class MarginKernel(MarginSource):
    """A classifier for the searchlight: the margins of many regions and labelings.

    Subclass it, define `prepare` and `margins`, and give an instance as the
    ``estimator`` of `neuroextrap.decoding.IdentificationSearchLight`. A margin is a
    score of one class for one test point; the class with the largest margin is the
    prediction. `prepare` sees the samples but no labels, so that what it computes
    serves every permutation of the labels; `margins` trains on the labels of the
    training samples of each fold only.

    Parameters of ``__init__`` are kept as attributes of the same names. They appear in
    ``repr``, by which a checkpoint tells one classifier from another.

    Examples
    --------
    A classifier by the correlation with the training mean of each class:

    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.margins._kernel import MarginKernel
    >>> class CorrelationMargins(MarginKernel):
    ...     name = "correlation"
    ...
    ...     def prepare(self, xs, design):
    ...         return xs, design
    ...
    ...     def margins(self, state, labelings):
    ...         xs, design = state
    ...         columns = [
    ...             np.concatenate([self.fold(x, y, *fold) for fold in design.folds])
    ...             for x in xs
    ...             for y in labelings.codes
    ...         ]
    ...         return np.stack(columns, axis=-1)
    ...
    ...     def fold(self, x, y, train, test):
    ...         means = [x[train][y[train] == label].mean(axis=0) for label in set(y)]
    ...         return np.corrcoef(x[test], means)[: len(test), len(test) :]
    >>> y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    >>> X = np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(12, 3))
    >>> light = IdentificationSearchLight(estimator=CorrelationMargins())
    >>> light.fit(X, y, groups=runs).region_scores_["accuracy"]
    array([1.])
    """

    #: whether ``__init__`` takes the ``shrinkage`` of the searchlight, so that "auto"
    #: means a penalty from all samples of a region, without their labels
    shrinks: bool = False
    marginal: bool = False
    #: whether samples come as they were given; otherwise every feature is centered over
    #: all samples and cast to float32, which does not affect translation-invariant
    #: classifiers
    as_given: bool = False

    @abstractmethod
    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        """Compute the state of S regions, all that does not depend on labels.

        ``xs`` are samples (n_samples, n_features of the region), centered per feature.
        The design has ``folds``, a tuple of (train, test) index arrays, ``n_samples``,
        ``n_classes`` and ``test``; only the samples ``unlabeled`` (None: all) may
        decide what is chosen without labels. ValueError if a region is constant or a
        parameter out of range.
        """

    @abstractmethod
    def margins(self, state: Any, labelings: Any) -> np.ndarray:
        """Compute the out-of-fold margins (n_test, K, S * B) under B labelings.

        ``labelings`` has ``codes`` (B, n_samples) of classes 0..K-1. Rows are as in
        ``design.test``, columns region by region, all labelings of a region together.
        The margins of one region must not depend, to the last bit, on which regions and
        how many labelings come with it. ValueError if a class has no training sample in
        a fold.
        """

    def batches(self, xs: Sequence[np.ndarray], plan: Any) -> Iterator[Batch]:
        """Yield the margins of some regions, one batch of labelings after the other."""
        state, first = self.prepare(xs, plan.design), 0
        for labelings in plan.batches():
            n_labelings = labelings.n_labelings
            yield Batch(self.margins(state, labelings), first, n_labelings)
            first += n_labelings


class AdditiveKernel(MarginKernel):
    """A classifier whose margins are sums over features, which regions can share."""

    @abstractmethod
    def margins_of_folds(
        self, X: np.ndarray, codes: np.ndarray, design: Design, folds: Iterable[slice]
    ) -> Iterator[np.ndarray]:
        """Yield float32 margins (n_features, n_test, K) of some folds after others."""

    def constant(self, codes: np.ndarray, design: Design) -> np.ndarray:
        """Return what is added once per region, float32 of shape (n_test, K)."""
        del codes
        return np.zeros((len(design.test), design.n_classes), dtype=np.float32)
