"""What a run found in every region, and everything that follows from it."""

from dataclasses import dataclass, field, replace

import numpy as np

from neuroextrap import stats
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._identification import (
    accuracy_statistics,
    bound_set_sizes,
    bound_statistics,
    permutation_statistics,
)
from neuroextrap.margins._engine import RegionScores


@dataclass(frozen=True)
class RegionResults:
    """Scores of regions with the design that gives them meaning.

    Parameters
    ----------
    scores : RegionScores
        Wins and permutation counts of every region.
    choice : RegionChoice
        The regions and where their values go.
    n_voxels : ndarray of int, shape (n_regions,)
        Features analyzed in every region.
    n_test : int
        Number of test points.
    set_sizes : ndarray of int
        Set sizes of curves and of the implied information.
    n_repeats : ndarray of int, shape (n_folds, K), or None
        Test points of every class in every fold; None where the bounds do not hold.
    confidence_level : float
        Of the bounds.
    notes : tuple of str
        What a reader should know of the validity of the numbers.
    p_value_tail : ndarray, shape (n_regions,), or None
        Local p-values with a generalized Pareto tail, when null maps were saved.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.images._region_choice import choose_regions
    >>> from neuroextrap.maps._results import RegionResults
    >>> from neuroextrap.margins._engine import RegionScores
    >>> wins, one = np.array([[0.1, 0.2, 0.7]]), np.ones(1, dtype=int)
    >>> scores = RegionScores(wins, wins[None][:0], one, one, one[:0], None, one > 0)
    >>> regions, sizes = choose_regions(None, 4), np.array([2, 3])
    >>> results = RegionResults(scores, regions, 4 * one, 30, sizes, None, 0.95)
    >>> results.curve(0)
    (array([2, 3]), array([0.8, 0.7]))
    >>> sorted(results.statistics())
    ['accuracy', 'implied_information', 'n_voxels', 'pairwise_accuracy']
    """

    scores: RegionScores
    choice: RegionChoice
    n_voxels: np.ndarray
    n_test: int
    set_sizes: np.ndarray
    n_repeats: np.ndarray | None
    confidence_level: float
    notes: tuple = field(default=())
    p_value_tail: np.ndarray | None = None

    @property
    def bound_wins(self):
        """Wins averaged over folds with fixed weights, shape (n_regions, K)."""
        scores = self.scores
        return scores.weighted_wins[0] if len(scores.weighted_wins) else scores.wins

    def statistics(self):
        """Compute all the named numbers of every region.

        Returns
        -------
        statistics : dict of ndarray, shape (n_regions,)
        """
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
        """Tell whether a generalized Pareto tail fits the permuted maxima.

        Returns
        -------
        accepted : bool or None
            None without permutations.
        """
        if not len(self.scores.maxima) or not self.scores.done.any():
            return None
        top = np.nanmax(self.scores.score)
        return bool(stats.tail_p_value(top, self.scores.maxima)[1])

    def curve(self, region, set_sizes=None):
        """Return a region's accuracy curve.

        Parameters
        ----------
        region : int
            Index of the region.
        set_sizes : array-like of int or None
            None is the run's own.

        Returns
        -------
        set_sizes, accuracy : ndarray
        """
        sizes = self.set_sizes if set_sizes is None else np.asarray(set_sizes)
        return sizes, stats.average_accuracy(self.scores.wins[region], sizes)

    def bound_curve(self, region):
        """Return a region's lower bounds at the pre-declared set sizes.

        Parameters
        ----------
        region : int
            Index of the region.

        Returns
        -------
        set_sizes : ndarray of int
        average_bayes_accuracy : ndarray
            Lower bound at each set size, each by itself.
        """
        if self.n_repeats is None:
            raise ValueError(f"no bound holds for this design: {'; '.join(self.notes)}")
        n_classes = self.scores.wins.shape[1]
        sizes = bound_set_sizes(n_classes)
        return sizes, self.bounds_at(self.bound_wins[region], sizes)

    def bounds_at(self, wins, set_sizes):
        """Bound the average Bayes accuracy at set sizes, each by itself.

        Parameters
        ----------
        wins : ndarray, shape (..., K)
            Win distributions.
        set_sizes : ndarray of int
            Numbers of classes to choose from.

        Returns
        -------
        bounds : ndarray, shape (..., n_set_sizes)
        """
        curves = stats.average_accuracy(wins, set_sizes)
        return self.test_design().average_bayes_accuracy_bound(curves, set_sizes)

    def test_design(self, n_regions=1):
        """Return the :class:`~neuroextrap.stats.TestDesign` behind the bounds.

        Parameters
        ----------
        n_regions : int, default=1
            Number of regions whose bounds hold simultaneously.

        Returns
        -------
        design : TestDesign
        """
        return stats.TestDesign(
            self.scores.wins.shape[1],
            self.n_repeats,
            confidence_level=self.confidence_level,
            n_regions=n_regions,
        )

    def merge(self, other):
        """Join the results of another part (shard) of the same run.

        Parameters
        ----------
        other : RegionResults
            What another part found.

        Returns
        -------
        RegionResults

        Raises
        ------
        ValueError
            When both parts hold the same region, or belong to different runs.
        """
        mine, its = self.scores, other.scores
        if mine.wins.shape != its.wins.shape or mine.maxima.shape != its.maxima.shape:
            raise ValueError(
                "parts to be merged have other regions, classes or permutations; merge "
                "shards of one run only"
            )
        if (mine.done & its.done).any():
            raise ValueError(
                f"{int((mine.done & its.done).sum())} regions are in more than one "
                "part; merge each shard once"
            )
        pick = its.done
        scores = RegionScores(
            wins=np.where(pick[:, None], its.wins, mine.wins),
            weighted_wins=np.where(
                pick[:, None], its.weighted_wins, mine.weighted_wins
            ),
            score=np.where(pick, its.score, mine.score),
            n_reached=np.where(pick, its.n_reached, mine.n_reached),
            maxima=np.maximum(mine.maxima, its.maxima),
            null=None,
            done=mine.done | pick,
        )
        return replace(self, scores=scores)

    def save(self, path):
        """Write everything to one .npz file, arrays only.

        Parameters
        ----------
        path : path-like
            File to write.
        """
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
        for name in _SCORE_FIELDS:
            arrays[name] = getattr(self.scores, name)
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        RegionResults
        """
        import scipy.sparse

        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        members = np.ones(len(found["indices"]), dtype=bool)
        regions = scipy.sparse.csr_array(
            (members, found["indices"], found["indptr"]), shape=tuple(found["shape"])
        )
        names = found.get("names")
        return cls(
            scores=RegionScores(
                **{name: found[name] for name in _SCORE_FIELDS}, null=None
            ),
            choice=RegionChoice(
                regions,
                centers=found.get("centers"),
                owner=found.get("owner"),
                names=None if names is None else names.tolist(),
            ),
            n_voxels=found["n_voxels"],
            n_test=int(found["n_test"]),
            set_sizes=found["set_sizes"],
            n_repeats=found.get("n_repeats"),
            confidence_level=float(found["confidence_level"]),
            notes=tuple(found["notes"].tolist()),
            p_value_tail=found.get("p_value_tail"),
        )


_SCORE_FIELDS = ("wins", "weighted_wins", "score", "n_reached", "maxima", "done")
