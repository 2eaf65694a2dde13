"""What a run found in every region, and everything that follows from it."""

from dataclasses import dataclass, replace
from zipfile import BadZipFile

import numpy as np
import scipy.sparse

from neuroextrap import stats
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._identification import (
    accuracy_statistics,
    bound_set_sizes,
    bound_statistics,
    permutation_statistics,
)
from neuroextrap.margins._engine import RegionScores

_BY_REGION = ("wins", "weighted_wins", "score", "n_reached")
_SAVED_SCORES = (*_BY_REGION, "maxima", "done")


@dataclass(frozen=True)
class RegionResults:
    """Scores of regions, with the design that gives them meaning.

    >>> import numpy as np
    >>> from neuroextrap.images._region_choice import choose_regions
    >>> from neuroextrap.margins._engine import RegionScores
    >>> wins, one = np.array([[0.1, 0.2, 0.7]]), np.ones(1, dtype=int)
    >>> scores = RegionScores(wins, wins[None][:0], one, one, one[:0], None, one > 0)
    >>> regions, sizes = choose_regions(None, 4), np.array([2, 3])
    >>> results = RegionResults(scores, regions, 4 * one, 30, sizes, None, 0.95)
    >>> results.curve(0)
    (array([2, 3]), array([0.8, 0.7]))
    """

    scores: RegionScores
    choice: RegionChoice
    n_voxels: np.ndarray  # (n_regions,): usable features of every region
    n_test: int  # number of test points
    set_sizes: np.ndarray  # of curves and of the implied information
    n_repeats: np.ndarray | None  # (n_folds, K) test points; None: no bounds hold
    confidence_level: float  # of the bounds
    notes: tuple = ()  # what a reader should know of the validity of the numbers
    p_value_tail: np.ndarray | None = None  # (n_regions,), when null maps were saved
    fold_wins: np.ndarray | None = None  # (n_folds, n_regions, K), if kept; not saved

    @property
    def bound_wins(self):
        """Wins averaged over folds with fixed weights, shape (n_regions, K)."""
        scores = self.scores
        return scores.weighted_wins[0] if len(scores.weighted_wins) else scores.wins

    def statistics(self):
        """Compute all the named numbers of every region: a dict of (n_regions,)."""
        scores = self.scores
        values = accuracy_statistics(
            scores.wins, n_test=self.n_test, set_sizes=self.set_sizes
        )
        if self.n_repeats is not None:
            values |= bound_statistics(
                self.bound_wins,
                n_repeats=self.n_repeats,
                confidence_level=self.confidence_level,
            )
        if len(scores.maxima):
            values |= permutation_statistics(
                scores.score, scores.n_reached, scores.maxima
            )
        if self.p_value_tail is not None:
            values["p_value_tail"] = self.p_value_tail
        values["n_voxels"] = np.where(scores.done, self.n_voxels, np.nan)
        return values

    def tail_fit_accepted(self):
        """Whether a generalized Pareto tail could be fitted to the permuted maxima.

        None without permutations.
        """
        if not len(self.scores.maxima) or not self.scores.done.any():
            return None
        top = np.nanmax(self.scores.score)
        return bool(stats.tail_p_value(top, self.scores.maxima)[1])

    def curve(self, region, set_sizes=None):
        """Return set sizes (None: those of the run) and a region's accuracy at each."""
        sizes = self.set_sizes if set_sizes is None else np.asarray(set_sizes)
        return sizes, stats.average_accuracy(self.scores.wins[region], sizes)

    def bound_curve(self, region):
        """Return the pre-declared set sizes, and a region's lower bound at each.

        Bounds are on the average Bayes accuracy, each by itself. ValueError where the
        design has none.
        """
        if self.n_repeats is None:
            raise ValueError(f"no bound holds for this design: {'; '.join(self.notes)}")
        n_classes = self.scores.wins.shape[1]
        sizes = bound_set_sizes(n_classes)
        return sizes, self.bounds_at(self.bound_wins[region], sizes)

    def bounds_at(self, wins, set_sizes):
        """Bound the average Bayes accuracy at set sizes, each by itself.

        `wins` (..., K) -> bounds (..., n_set_sizes).
        """
        curves = stats.average_accuracy(wins, set_sizes)
        return self.test_design().average_bayes_accuracy_bound(curves, set_sizes)

    def test_design(self, n_regions=1):
        """Return the TestDesign behind the bounds, simultaneous for so many regions."""
        return stats.TestDesign(
            self.scores.wins.shape[1],
            self.n_repeats,
            confidence_level=self.confidence_level,
            n_regions=n_regions,
        )

    def merge(self, other):
        """Join the results of another part (shard) of the same run.

        ValueError when both hold the same region, or belong to different runs.
        """
        first, second = self.scores, other.scores
        if (
            first.wins.shape != second.wins.shape
            or first.maxima.shape != second.maxima.shape
        ):
            raise ValueError(
                "parts to be merged have other regions, classes or permutations; merge "
                "shards of one run only"
            )
        twice = int((first.done & second.done).sum())
        if twice:
            raise ValueError(
                f"{twice} regions are in more than one part; merge each shard once"
            )
        pick = second.done

        def joined(name):
            one, two = getattr(first, name), getattr(second, name)
            return np.where(pick[:, None] if one.ndim > 1 else pick, two, one)

        scores = RegionScores(
            **{name: joined(name) for name in _BY_REGION},
            maxima=np.maximum(first.maxima, second.maxima),
            null=None,
            done=first.done | pick,
        )
        return replace(self, scores=scores)

    def save(self, path):
        """Write everything but `fold_wins` to one .npz file, arrays only."""
        arrays = {
            "indptr": self.choice.regions.indptr,
            "indices": self.choice.regions.indices,
            "shape": np.array(self.choice.regions.shape),
            "n_voxels": self.n_voxels,
            "n_test": np.array(self.n_test),
            "set_sizes": self.set_sizes,
            "confidence_level": np.array(self.confidence_level),
            "notes": np.array(self.notes, dtype=str),
        }
        optional = {
            "n_repeats": self.n_repeats,
            "centers": self.choice.centers,
            "owner": self.choice.owner,
            "p_value_tail": self.p_value_tail,
            "names": None
            if self.choice.names is None
            else np.array(self.choice.names, dtype=str),
        }
        arrays |= {name: a for name, a in optional.items() if a is not None}
        for name in _SAVED_SCORES:
            arrays[name] = getattr(self.scores, name)
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except (ValueError, EOFError, BadZipFile) as error:
            raise ValueError(f"{path} is damaged; write the results again") from error
        members = np.ones(len(arrays["indices"]), dtype=bool)
        regions = scipy.sparse.csr_array(
            (members, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
        )
        names = arrays.get("names")
        return cls(
            scores=RegionScores(
                **{name: arrays[name] for name in _SAVED_SCORES}, null=None
            ),
            choice=RegionChoice(
                regions,
                centers=arrays.get("centers"),
                owner=arrays.get("owner"),
                names=None if names is None else names.tolist(),
            ),
            n_voxels=arrays["n_voxels"],
            n_test=int(arrays["n_test"]),
            set_sizes=arrays["set_sizes"],
            n_repeats=arrays.get("n_repeats"),
            confidence_level=float(arrays["confidence_level"]),
            notes=tuple(arrays["notes"].tolist()),
            p_value_tail=arrays.get("p_value_tail"),
        )
