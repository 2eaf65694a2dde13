"""Numbers of a run, what follows from them, and the arrays they are stored as."""

import json
import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse

from neuroextrap import stats
from neuroextrap.design._findings import Finding
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._identification import (
    MEASURED,
    TRAINED_ON_ALL,
    accuracy_statistics,
    bound_set_sizes,
    bound_statistics,
    information_notes,
    permutation_statistics,
)
from neuroextrap.margins._engine import RegionScores
from neuroextrap.stats._forward import ForwardDesign
from neuroextrap.stats._true_discoveries import DiscoveryBounds


@dataclass(frozen=True)
class RegionResults:
    """Scores of regions, with the design that gives them meaning."""

    scores: RegionScores
    choice: RegionChoice
    n_voxels: np.ndarray  # (n_regions,): usable features of every region
    n_test: int  # number of test points
    set_sizes: np.ndarray  # of curves and of the implied information
    n_repeats: Any  # an array, see BoundDesign; None: no bounds hold
    confidence_level: float  # of the bounds
    notes: tuple = ()  # what a reader should know about the validity of the numbers
    # whether curves below K, and beyond, are those of classifiers trained on k classes
    marginal: bool = True
    findings: tuple = ()  # of Finding: what is doubtful, and about which maps
    # (n_regions,), when the permuted statistics of every region were saved
    p_value_tail: np.ndarray | None = None
    p_value_fwe_step_down: np.ndarray | None = None
    null_information: np.ndarray | None = None  # mean over permutations, bits
    fold_wins: np.ndarray | None = None  # (n_folds, n_regions, K); not saved
    forward: ForwardDesign | None = None  # units of the forward tests, if there are
    identity: dict = field(default_factory=dict)  # hash or text of what makes the run
    parts: tuple = ((1, 1),)  # parts (i, N) of the run that are in here

    @property
    def bound_wins(self):
        """Wins averaged over folds with fixed weights, shape (n_regions, K)."""
        scores = self.scores
        if self.forward is not None:
            return scores.forward_wins
        return scores.weighted_wins[0] if len(scores.weighted_wins) else scores.wins

    @property
    def n_classes(self):
        """Number of classes, K."""
        return self.scores.wins.shape[1]

    @property
    def n_units(self):
        """Number of independent test points; one for every class if it is unknown."""
        repeats = np.asarray(1 if self.n_repeats is None else self.n_repeats)
        units = repeats.sum() if repeats.ndim else repeats * self.n_classes
        return int(min(units, self.n_test))

    def statistics(self):
        """Compute all the named numbers of every region: a dict of (n_regions,)."""
        scores = self.scores
        values = accuracy_statistics(
            scores.wins,
            n_test=self.n_test,
            set_sizes=self.set_sizes,
            curves=None if scores.measured is None else self.curves(),
        )
        if scores.correlation is not None:
            values["correlation"] = scores.correlation
        if self.n_repeats is not None:
            values |= bound_statistics(
                self.bound_wins,
                n_repeats=self.n_repeats,
                confidence_level=self.confidence_level,
                forward=self.forward,
                n_correct=scores.n_correct,
                n_best=self._n_best,
            )
        if len(scores.maxima):
            values |= permutation_statistics(scores)
        if self.discoveries is not None:
            values["true_discovery_proportion"] = self.discoveries.proportions()
        for name in ("p_value_tail", "p_value_fwe_step_down"):
            if getattr(self, name) is not None:
                values[name] = getattr(self, name)
        if self.null_information is not None and scores.measured is None:
            values["implied_information_corrected"] = (
                values["implied_information"] - self.null_information
            )
        values["n_voxels"] = np.where(scores.done, self.n_voxels, np.nan)
        return values

    @cached_property
    def discoveries(self):
        """Bounds on the number of informative regions in any set; None if unknown."""
        scores, level = self.scores, self.confidence_level
        return DiscoveryBounds.of(scores.score, scores.largest, level)

    @property
    def _n_best(self):
        """Correct outcomes of a single split of independent points, or None."""
        units = np.atleast_2d(self.n_repeats)
        n_units = np.broadcast_to(units, (len(units), self.n_classes)).sum()
        return self.scores.n_best if self.is_split and n_units == self.n_test else None

    @property
    def is_split(self):
        """Whether bounds come from one train/test split; pages say so."""
        return self.forward is None and len(np.atleast_2d(self.n_repeats)) == 1

    def tail_fit_accepted(self):
        """Whether a generalized Pareto tail fits the permuted maxima; None without."""
        if not len(self.scores.maxima) or not self.scores.done.any():
            return None
        top = np.nanmax(self.scores.score)
        return bool(stats.tail_p_value(top, self.scores.maxima)[1])

    def curve(self, region, set_sizes=None):
        """Return set sizes (None: those of the run) and a region's accuracy at each."""
        if set_sizes is None:
            return self.set_sizes, self._accuracy(region, self.set_sizes)
        sizes, n_classes = np.atleast_1d(set_sizes), self.n_classes
        if np.issubdtype(sizes.dtype, np.number) and (sizes > n_classes).any():
            raise ValueError(
                f"set_sizes={sizes.tolist()} must not exceed the {n_classes} classes "
                "of the data; use extrapolate(set_sizes), or "
                "extrapolator(region).predict(set_sizes), for more"
            )
        return sizes, self._accuracy(region, sizes)

    def curves(self):
        """Return the accuracy of every region at the set sizes of the run."""
        return self._accuracy(slice(None), self.set_sizes)

    def _accuracy(self, regions, sizes):
        """Return accuracy (..., n_sizes), measured where training sets were."""
        accuracy = stats.average_accuracy(self.scores.wins[regions], sizes)
        if self.scores.measured is None:
            return accuracy
        below, measured = sizes < self.n_classes, self.measured_sizes
        unknown = np.setdiff1d(sizes[below], measured)
        if len(unknown):
            raise ValueError(
                f"set_sizes={unknown.tolist()} were not measured, but "
                f"{measured.tolist()} were; fit with "
                "set_sizes=Curves([...], curves='measured')"
            )
        columns = np.searchsorted(measured, sizes[below])
        accuracy[..., below] = self.scores.measured[regions][..., columns, 0]
        return accuracy

    @property
    def measured_sizes(self):
        """Set sizes whose classifiers were trained on as many classes, increasing."""
        n_classes = 0 if self.scores.measured is None else self.n_classes
        return np.unique(self.set_sizes[self.set_sizes < n_classes])

    @property
    def n_classes_trained(self):
        """Number of classes that classifiers were trained on, at every set size."""
        measured = np.isin(self.set_sizes, self.measured_sizes)
        return np.where(measured, self.set_sizes, self.n_classes)

    def trained(self, set_size):
        """Say of which classifiers accuracy among classes is; "" where all agree."""
        n_classes = self.n_classes
        if self.marginal or set_size == n_classes:
            return ""
        if set_size in self.measured_sizes:
            return f"; {MEASURED}"
        doubtful = "; doubtful:" if set_size > n_classes else ";"
        return f"{doubtful} {TRAINED_ON_ALL.format(n_classes=n_classes)}"

    def bound_curve(self, region):
        """Return set sizes, and a region's bound on average Bayes accuracy at each."""
        if self.n_repeats is None:
            raise ValueError(f"no bound holds for this design: {'; '.join(self.notes)}")
        sizes = bound_set_sizes(self.n_classes)
        return sizes, self.bounds_at(self.bound_wins[region], sizes)

    def bounds_at(self, wins, set_sizes):
        """Bound the average Bayes accuracy (..., n_set_sizes), each by itself."""
        curves = stats.average_accuracy(wins, set_sizes)
        return self.test_design(1).average_bayes_accuracy_bound(curves, set_sizes)

    def test_design(self, n_regions):
        """Return the TestDesign behind the bounds, simultaneous over `n_regions`."""
        about = {"n_repeats": self.n_repeats, "n_regions": n_regions}
        level = self.confidence_level
        return stats.TestDesign(self.n_classes, confidence_level=level, **about)

    @property
    def missing_parts(self):
        """Parts "i/N" of the run that are not in here, as a list."""
        return missing_parts(self.parts)

    def notes_of(self, values):
        """Return all that a reader should know, of named numbers and lost parts too."""
        notes = (
            *self.notes,
            *information_notes(
                values["implied_information"],
                n_classes=self.n_classes,
                n_test=self.n_test,
                set_sizes=self.set_sizes,
            ),
        )
        missing = self.missing_parts
        if not missing:
            return notes
        n_done, n_regions = int(self.scores.done.sum()), len(self.scores.done)
        partial = (
            f"partial result: {n_done} of {n_regions} regions are in it, the run lacks "
            f"{listed_parts(missing)}; family-wise and false-discovery-rate p-values "
            "and simultaneous bounds hold over these regions only"
        )
        return *notes, partial

    def save(self, path):
        """Write everything but `fold_wins` to one .npz file, arrays only."""
        named = _fields(self, *_NESTED, "fold_wins") | _fields(self.scores, "null")
        if self.forward is not None:
            named |= {_FORWARD + n: each for n, each in _fields(self.forward).items()}
        choice, regions = self.choice, self.choice.regions
        named |= {"indptr": regions.indptr, "indices": regions.indices}
        named |= {"shape": np.array(regions.shape)} | _fields(choice, "regions")
        if choice.names is not None:
            named["names"] = list(map(str, choice.names))
        arrays = {
            name: _packed(each) for name, each in named.items() if each is not None
        }
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote."""
        values = {name: _unpacked(array) for name, array in read_npz(path).items()}
        try:
            return cls._of(values)
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{path} lacks {error}; it was written by another version, write the "
                "results again"
            ) from error

    @classmethod
    def _of(cls, values):
        """Return the results whose fields, those of its parts too, are `values`."""
        members = np.ones(len(values["indices"]), dtype=bool)
        regions = scipy.sparse.csr_array(
            (members, values["indices"], values["indptr"]), shape=tuple(values["shape"])
        )
        if "names" in values:
            values["names"] = list(values["names"])
        values.setdefault("n_repeats", None)  # not written if no bounds hold
        values["findings"] = tuple(Finding(*f) for f in values.get("findings", ()))
        forward: dict[str, Any] = _fields_among(ForwardDesign, values, _FORWARD)
        return cls(
            scores=RegionScores(null=None, **_fields_among(RegionScores, values)),
            choice=RegionChoice(regions, **_fields_among(RegionChoice, values)),
            forward=ForwardDesign(**forward) if forward else None,
            **_fields_among(cls, values),
        )


def read_npz(path):
    """Return the arrays of a file by name; ValueError if it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is damaged; write the results again") from error


_NESTED = {"scores", "choice", "forward"}
_JSON = "json:"
_FORWARD = "forward_design_"


def _fields(record, *left_out):
    """Return the values of a dataclass by name, but for those `left_out`."""
    names = [field.name for field in fields(record) if field.name not in left_out]
    return {name: getattr(record, name) for name in names}


def _fields_among(kind, values, prefix=""):
    """Return the fields of a dataclass that are among values, which have a prefix."""
    names = [field.name for field in fields(kind) if prefix + field.name in values]
    return {name: values[prefix + name] for name in names}


def _packed(value):
    """Return a value as an array; lists and dicts as JSON text."""
    if isinstance(value, (dict, tuple, list)):
        return np.array(_JSON + json.dumps(value))
    return np.asarray(value)


def _unpacked(array):
    """Return what :func:`_packed` packed; lists come back as tuples."""
    if array.ndim:
        return array
    value = array.item()
    if not (isinstance(value, str) and value.startswith(_JSON)):
        return value
    value = json.loads(value.removeprefix(_JSON))
    return _tuples(value) if isinstance(value, list) else value


def _tuples(value):
    """Turn lists into tuples, all the way down."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_MOST_PARTS = 10**6
_SHOWN = 8  # parts in a line


def missing_parts(parts):
    """Return the parts "i/N" that are needed beside `parts`, pairs (i, N), as a list.

    Part i of N has the tasks i, i + N, ..., as parts of a common multiple.
    """
    n_parts = common_parts(parts)
    held = held_parts(parts, n_parts)
    return [f"{i}/{n_parts}" for i in range(1, n_parts + 1) if i not in held]


def common_parts(parts):
    """Return a number of parts in which all parts can be counted."""
    n_parts = math.lcm(*(n for _, n in parts))
    if n_parts > _MOST_PARTS:
        raise ValueError(
            f"parts of {sorted({n for _, n in parts})} cannot be merged with one "
            "another; split a run into one number of parts"
        )
    return n_parts


def held_parts(parts, n_parts):
    """Return what parts (i, N) are among `n_parts` parts, numbers from 1."""
    return {k for i, n in parts for k in range(i, n_parts + 1, n)}


def listed_parts(parts):
    """Return parts as words, not too many."""
    if not parts:
        return "no part"
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return f"{'part' if len(parts) == 1 else 'parts'} {', '.join(parts[:_SHOWN])}{more}"
