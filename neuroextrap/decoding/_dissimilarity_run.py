"""The distances between classes in all regions, and their agreement with models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from neuroextrap.decoding._decoding_run import DecodingRun, plan_decoding
from neuroextrap.decoding._dissimilarities import (
    METHODS,
    ceiling_of_halves,
    comparison_features,
    distance_operator,
    halves,
    model_features,
    run_means,
    runs_together,
)
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._findings import tell
from neuroextrap.design._labels import code_labels
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.maps._named_records import dissimilarity_names
from neuroextrap.stats._name_exchange import NameExchanges
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import check_choice, check_integer, real_array

_BLOCK = 2**22  # inner products of means that are in memory together
_NO_CEILING = (
    "no noise ceiling: it needs two halves of the runs in which every two classes are "
    "together in at least two runs"
)


class Compared(NamedTuple):
    """What was found in all regions; NaN where a region was not analyzed."""

    scores: dict  # by the name of a map, (n_regions,)
    distances: np.ndarray  # (n_regions, K (K - 1) / 2)
    maxima: dict  # largest permuted agreement over regions, by the name of a model


@dataclass(frozen=True, kw_only=True)
class DissimilarityRun:
    """A planned run over samples and regions, and models to compare distances with.

    `means` (n_runs, K, n_features) are those of the classes in every run, and `present`
    (n_runs, K) says which there are; `features` are those of the models (K, K), as they
    are and with classes exchanged.
    """

    samples: DecodingRun
    means: np.ndarray
    present: np.ndarray
    method: str
    models: dict
    features: dict
    n_exchanges: int
    few: tuple  # of Finding

    @property
    def findings(self):
        """What is doubtful about the design, its samples, or the exchanges."""
        return (*self.samples.findings, *self.few)

    @property
    def notes(self):
        """What a reader should know about the validity of the numbers."""
        of_ceiling = () if self._splits else (_NO_CEILING,)
        notes = (finding.note for finding in self.findings)
        of_samples = (n for n in self.samples.notes if "bounds=None" not in n)
        return (*notes, *of_samples, *of_ceiling)

    @cached_property
    def _operator(self):
        return distance_operator(self.present)

    @cached_property
    def _splits(self):
        """Operators of pairs of halves of the runs."""
        return [
            tuple(distance_operator(half) for half in split)
            for split in halves(self.present, 0)
        ]

    def compare(self, n_jobs):
        """Measure all distances and compare them with the models; return Compared."""
        rows = self.samples.analyzed
        known = np.zeros(self.samples.choice.n_regions, dtype=bool)
        known[rows] = True
        width = max(1, _BLOCK // self.present.size**2)
        starts = range(0, len(rows), width)
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        parts = parallel(delayed(self._block)(rows[a : a + width]) for a in starts)
        distances = np.empty((len(rows), self._operator.shape[0]))
        ceiling = np.empty(len(rows))
        counts = {
            name: NullCounts.start(np.empty(len(rows)), model.shape[1] - 1)
            for name, model in self.features.items()
        }
        for start, (part, reached) in zip(starts, parts, strict=True):
            some = slice(start, start + len(part))
            distances[some], ceiling[some] = part, reached
            compared = comparison_features(part, self.method)
            for name, model in self.features.items():
                agreement = round_ties(compared @ model)
                counts[name].score[some] = agreement[:, 0]
                counts[name].add(agreement[:, 1:], 0, some)
        values = {"mean_dissimilarity": distances.mean(axis=1)}
        values |= {"noise_ceiling": ceiling} if self._splits else {}
        for name, count in counts.items():
            numbers = [count.score]
            if len(count.maxima):
                numbers += [count.p_value(), count.p_value_fwe()]
            values |= dict(zip(dissimilarity_names(name), numbers, strict=False))
        values["n_voxels"] = self.samples.usable.n_features[known]
        spread = spread_known(known, values | {"": distances})
        maxima = {name: count.maxima for name, count in counts.items()}
        return Compared(distances=spread.pop(""), scores=spread, maxima=maxima)

    def _block(self, rows):
        """Return the distances of some regions, and the noise ceiling (or NaN)."""
        products = np.stack([self._products(row) for row in rows], axis=1)
        distances = (self._operator @ products).T
        if not self._splits:
            return distances, np.nan
        halved = [
            tuple((half @ products).T for half in split) for split in self._splits
        ]
        return distances, ceiling_of_halves(distances, halved, self.method)

    def _products(self, row):
        """Return inner products of a region's means over its voxels, flat."""
        regions, whitener = self.samples.usable.regions, self.samples.plan.whitener
        features = regions.indices[slice(*regions.indptr[row : row + 2])]
        patterns = self.means[..., features].reshape(self.present.size, -1)
        patterns = patterns.astype(float)
        if whitener is not None:
            patterns = whitener(features, patterns)
        return (patterns @ patterns.T).ravel() / len(features)


def plan_dissimilarities(light, imgs, y, groups, order):
    """Check everything, then read the samples and choose regions (DissimilarityRun).

    The arguments are those of :meth:`DissimilaritySearchLight.fit`; ValueError when
    they do not fit one another.
    """
    check_choice(light.method, "method", METHODS)
    if groups is None:
        raise ValueError(
            "distances are cross-validated over runs, but groups is None; give "
            "fit(..., groups=runs)"
        )
    labels = code_labels(y, None, groups, None, order)
    run = np.unique(labels.groups, return_inverse=True)[1]
    present = _checked_pairs(labels, run)
    models = _checked_models(light.models, labels.classes)
    check_integer(light.n_permutations, "n_permutations", minimum=0)
    if light.n_permutations and not models:
        raise ValueError("n_permutations tests models; give models, or 0")
    given = light.get_params()
    own = ("models", "method", "n_permutations")
    shared = {name: value for name, value in given.items() if name not in own}
    searchlight = IdentificationSearchLight(**shared, bounds=None)
    n_classes, n_permutations = len(labels.classes), light.n_permutations
    exchanges = NameExchanges.of(n_classes, n_permutations, light.random_state)
    features = {
        name: model_features(model, exchanges.names, light.method)
        for name, model in models.items()
    }
    samples = plan_decoding(searchlight, imgs, y, groups, order)
    few = ()
    if n_permutations and exchanges.are_all:
        labelings = FewLabelings(len(exchanges), 1, "orders of the classes")
        found = few_exchanges(labelings)
        few = (found._replace(remedy="more classes have more orders"),) if found else ()
        tell(few)
    return DissimilarityRun(
        samples=samples,
        means=run_means(samples.rows, labels.codes, run),
        present=present,
        method=light.method,
        models=models,
        features=features,
        n_exchanges=len(exchanges),
        few=few,
    )


def _checked_pairs(labels, run):
    """Return the classes of runs (n_runs, K), every two together in at least two."""
    present = np.zeros((run.max() + 1, len(labels.classes)), dtype=bool)
    present[run, labels.codes] = True
    rare = np.flatnonzero(runs_together(present) < 2)
    if len(rare):
        pair = np.transpose(np.triu_indices(len(labels.classes), 1))[rare[0]]
        first, second = labels.classes[pair].tolist()
        raise ValueError(
            f"classes {first!r} and {second!r} are together in fewer than two runs "
            f"({len(rare)} such pairs in all), so that their distance cannot be "
            "cross-validated; leave one of them out"
        )
    return present


def _checked_models(models, classes):
    """Return models as symmetric float arrays (K, K), in the order of classes."""
    if models is None:
        return {}
    if not isinstance(models, Mapping):
        models = {"model": models}
    return {str(n): _checked_model(str(n), m, classes) for n, m in models.items()}


def _checked_model(name: str, model: Any, classes: np.ndarray) -> np.ndarray:
    """Return one of them; ValueError if it is none."""
    if hasattr(model, "columns"):  # a DataFrame, by the names of its rows
        named = [*model.index], [*model.columns]
        if any(sorted(names) != sorted(classes.tolist()) for names in named):
            raise ValueError(
                f"models[{name!r}] has rows {named[0][:5]} and columns {named[1][:5]}; "
                f"give the classes {classes.tolist()[:5]}"
            )
        model = model.loc[classes.tolist(), classes.tolist()]
    values, K = real_array(model, f"models[{name!r}]"), len(classes)
    if values.shape != (K, K) or not np.isfinite(values).all():
        raise ValueError(
            f"models[{name!r}] must be finite dissimilarities of shape ({K}, {K}), in "
            f"the order of the classes; got shape {values.shape}"
        )
    if not np.allclose(values, values.T):
        raise ValueError(f"models[{name!r}] must be symmetric")
    if np.ptp(values[np.triu_indices(K, 1)]) == 0:
        raise ValueError(
            f"models[{name!r}] expects the same dissimilarity of all classes, which "
            "cannot be compared; leave it out"
        )
    return values
