"""What makes margins: the protocol of classifiers in the loop over regions."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from neuroextrap.design._design import Design, Labelings, TestedRows


class BatchedLabelings(Protocol):
    """What a source of margins asks of a plan: rows to test, and labelings."""

    @property
    def design(self) -> TestedRows:
        """Which rows of a region's data are tested."""

    def batches(self) -> Iterable[Labelings]:
        """Give the trained labelings in batches."""


class Batch(NamedTuple):
    """Margins of some regions under consecutive labelings.

    ``margins`` has shape (n_test, K, n_regions * n_labelings), region-major: column
    ``region * n_labelings + labeling``. Where a source `correlates`, there are none but
    ``counts`` of distractors beaten and tied, each (n_test, n_regions * n_labelings),
    and the correlations (n_regions, n_labelings) of decoded with true targets: of all
    labelings what the statistic is, and the other of the observed one, with the first
    batch.
    """

    margins: Any
    first_labeling: int
    n_labelings: int
    correlation: np.ndarray | None = None
    counts: tuple[np.ndarray, np.ndarray] | None = None


class RegionSamples(list[np.ndarray]):
    """Samples of the regions of a pass, with what was made of them without labels.

    What is ``kept`` of the first design serves the next one: forward tests come after
    the plan's own folds.
    """

    def __init__(self, samples: Iterable[np.ndarray]) -> None:
        super().__init__(samples)
        self.kept: dict[str, Any] = {}


def kept_with(xs: Sequence[np.ndarray], name: str, make: Callable[[], Any]) -> Any:
    """Return what was made of the samples under this name, or make it now."""
    if not isinstance(xs, RegionSamples):
        return make()
    if name not in xs.kept:
        xs.kept[name] = make()
    return xs.kept[name]


class MarginSource(ABC):
    """Where the margins of regions come from; all that the loop over regions asks for.

    A classifier is a `MarginKernel`. A model that brings its own predictions is a
    source too: its margins are the same under every labeling.
    """

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
    #: name of the classifier if it may favor classes of many samples, else ""
    frequent_first: str = ""

    @abstractmethod
    def batches(
        self, xs: Sequence[np.ndarray], plan: BatchedLabelings
    ) -> Iterator[Batch]:
        """Yield the margins of some regions, one batch of labelings after the other.

        From their samples, each (n_samples, n_features of the region).
        """

    def workspace(self, n_features: int, n_regions: int, design: TestedRows) -> int:
        """Estimate the memory of a pass besides its samples and its margins.

        Parameters
        ----------
        n_features : int
            Number of features of the largest region.
        n_regions : int
            Number of regions handled together.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        n_bytes : int
            Bytes; by default, those of a few matrices of inner products per region.
        """
        del n_features  # inner products of samples do not depend on it
        return 32 * design.n_samples**2 * n_regions

    def direct_bytes(self, n_features: int, design: TestedRows) -> int | None:
        """Return the bytes of a margin, where none but margins are of their size.

        Parameters
        ----------
        n_features : int
            Number of features of the largest region.
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        n_bytes : int or None
            None where indicators of the classes, or products of the size of margins,
            are in memory too.
        """
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

    Attributes
    ----------
    name : str
        Name of the classifier in the registry.
    shrinks : bool, default=False
        Whether ``__init__`` takes the ``shrinkage`` of the searchlight, so that "auto"
        means a penalty from all samples of a region, without their labels.
    marginal : bool, default=False
        Whether the margin of a class depends only on the training samples of that
        class. Then accuracy among fewer classes is that of classifiers trained on
        fewer; otherwise results say that it is not.
    as_given : bool, default=False
        Whether samples come as they were given. Otherwise every feature is centered
        over all samples and cast to float32, which does not affect
        translation-invariant classifiers.
    prefer : {"threads", "processes"}, default="threads"
        Kind of joblib workers; "processes" where many small steps hold the interpreter.

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

    shrinks: bool = False
    marginal: bool = False
    as_given: bool = False

    @abstractmethod
    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        """Compute what does not depend on labels.

        Parameters
        ----------
        xs : sequence of ndarray of shape (n_samples, n_features of the region)
            Samples of each region, centered per feature.
        design : Design
            Folds of the cross-validation: ``folds``, a tuple of (train, test) index
            arrays, and ``n_samples``, ``n_classes``, ``test``. Only the samples
            ``unlabeled`` (None: all) may decide what is chosen without labels.

        Returns
        -------
        state : object
            What `margins` needs, the design included.

        Raises
        ------
        ValueError
            If a region is constant or a parameter is out of range.
        """

    @abstractmethod
    def margins(self, state: Any, labelings: Any) -> np.ndarray:
        """Compute the out-of-fold margins of every region under every labeling.

        The margins of one region must not depend, to the last bit, on which regions
        and how many labelings come with it.

        Parameters
        ----------
        state : object
            What `prepare` returned for S regions.
        labelings : Labelings
            B labelings of the samples: ``codes``, an array of shape (B, n_samples) of
            class codes 0..K-1, and ``one_hot()``, of shape (n_samples, K, B).

        Returns
        -------
        margins : ndarray of shape (n_test, K, S * B)
            Larger is better. Rows as in ``design.test``; columns region by region,
            all labelings of a region together.

        Raises
        ------
        ValueError
            If a class has no training sample in a fold.
        """

    def batches(
        self, xs: Sequence[np.ndarray], plan: BatchedLabelings
    ) -> Iterator[Batch]:
        """Yield the margins of some regions, one batch of labelings after the other.

        Parameters
        ----------
        xs : sequence of ndarray of shape (n_samples, n_features of the region)
            Samples of each region.
        plan : BatchedLabelings
            Design and labelings of the run.

        Yields
        ------
        batch : Batch
            Margins of shape (n_test, K, n_regions * n_labelings), region-major, with
            the number of the first labeling and the number of labelings.
        """
        state = self.prepare(xs, cast(Design, plan.design))
        first = 0
        for labelings in plan.batches():
            n_labelings = labelings.n_labelings
            yield Batch(self.margins(state, labelings), first, n_labelings)
            first += n_labelings


class AdditiveKernel(MarginKernel):
    """A classifier whose margins are sums over the features of a region.

    Each feature's own margins are then computed once and summed by one sparse product
    over all regions, where that is faster than going region by region.
    """

    @abstractmethod
    def margins_of_folds(
        self, X: np.ndarray, codes: np.ndarray, design: Design, folds: Iterable[slice]
    ) -> Iterator[np.ndarray]:
        """Yield every feature's own margins in some folds, then in the next.

        Under one labeling: from samples of shape (n_samples, n_features) and codes of
        shape (n_samples,); float32 of shape (n_features, n_test, K).
        """

    def feature_margins(
        self, X: np.ndarray, codes: np.ndarray, design: Design
    ) -> np.ndarray:
        """Return the same in all folds."""
        everything = [slice(0, len(design.folds))]
        return next(iter(self.margins_of_folds(X, codes, design, everything)))

    def constant(self, codes: np.ndarray, design: Design) -> np.ndarray:
        """Return what is added once per region, float32 of shape (n_test, K)."""
        del codes
        return np.zeros((len(design.test), design.n_classes), dtype=np.float32)
