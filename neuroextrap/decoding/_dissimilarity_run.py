"""The distances between classes in all regions, and their agreement with models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.decoding._dissimilarities import (
    METHODS,
    ceiling_of_halves,
    class_exchanges,
    comparison_features,
    distance_operator,
    halves,
    model_features,
    run_means,
)
from neuroextrap.decoding._reading import make_whitener, read_labeled_samples
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._copies import copied_samples
from neuroextrap.design._doubts import same_order
from neuroextrap.design._folds import make_design
from neuroextrap.design._labels import code_labels
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import random_generator

_BLOCK = 2**22  # inner products of means that are in memory together
# parameters that mean what they mean in a searchlight, and are read as there
_SHARED = (
    "mask",
    "radius",
    "labels_img",
    "regions",
    "process_mask_img",
    "noise_covariance",
    "n_permutations",
    "memory",
    "n_jobs",
    "random_state",
)

_AS_LIGHT = SimpleNamespace(as_given=False)  # samples as searchlights get them
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
    """Patterns of classes in runs, regions, and models to compare distances with.

    `means` are (n_runs, K, n_features), and `present` (n_runs, K) says which there are;
    `features` are those of the models, as they are and with classes exchanged.
    """

    means: np.ndarray
    present: np.ndarray
    choice: Any
    usable: Any
    whitener: Any
    method: str
    features: dict
    n_permutations: int
    classes: np.ndarray
    masker: Any
    findings: tuple
    sample_notes: tuple

    @property
    def notes(self):
        """What a reader should know about the validity of the numbers."""
        notes = (*(finding.note for finding in self.findings), *self.sample_notes)
        return notes if self._splits else (*notes, _NO_CEILING)

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
        known = np.diff(self.usable.regions.indptr) > 0
        rows = np.flatnonzero(known)
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
        if self._splits:
            values["noise_ceiling"] = ceiling
        for name, count in counts.items():
            values[f"{name}_correlation"] = count.score
            if self.n_permutations:
                values[f"{name}_p_value"] = count.p_value()
                values[f"{name}_p_value_fwe"] = count.p_value_fwe()
        values["n_voxels"] = self.usable.n_features[known]
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
        regions = self.usable.regions
        features = regions.indices[slice(*regions.indptr[row : row + 2])]
        patterns = self.means[..., features].reshape(self.present.size, -1)
        patterns = patterns.astype(float)
        if self.whitener is not None:
            patterns = self.whitener(features, patterns)
        return (patterns @ patterns.T).ravel() / len(features)


def plan_dissimilarities(light, imgs, y, groups, order):
    """Check everything, then read the samples and choose regions (DissimilarityRun).

    The arguments are those of :meth:`DissimilaritySearchLight.fit`; ValueError when
    they do not fit one another.
    """
    shared = {name: getattr(light, name) for name in _SHARED}
    searchlight = IdentificationSearchLight(**shared)
    parameters = RunParameters.of(searchlight)
    labels, models = _checked(light, y, groups, order)
    n_classes = len(labels.classes)
    orders, few = _exchanges(n_classes, parameters)
    features = {
        name: model_features(model, orders, light.method)
        for name, model in models.items()
    }
    samples = read_labeled_samples(searchlight, _AS_LIGHT, imgs, labels)
    n_features = samples.X.shape[1]
    choice = parameters.choose_regions(samples.masker, n_features)
    run = np.unique(labels.groups, return_inverse=True)[1]
    means, counts = run_means(samples.X, labels.codes, run)
    return DissimilarityRun(
        means=means,
        present=counts > 0,
        choice=choice,
        usable=parameters.usable_regions(choice, samples.usable),
        whitener=make_whitener(light.noise_covariance, samples.masker, n_features),
        method=light.method,
        features=features,
        n_permutations=len(orders),
        classes=labels.classes,
        masker=samples.masker,
        findings=_findings(samples, labels, few),
        sample_notes=samples.notes,
    )


def _checked(light, y, groups, order):
    """Return Labels and the models; ValueError if they cannot be compared."""
    if light.method not in METHODS:
        raise ValueError(f"method={light.method!r} must be one of {METHODS}")
    if groups is None:
        raise ValueError(
            "distances are cross-validated over runs, but groups is None; give "
            "fit(..., groups=runs)"
        )
    labels = code_labels(y, None, groups, None, order)
    _check_pairs(labels)
    models = _checked_models(light.models, labels.classes)
    if light.n_permutations and not models:
        raise ValueError("n_permutations tests models; give models, or 0")
    return labels, models


def _check_pairs(labels):
    """Raise unless every two classes are together in at least two runs."""
    run = np.unique(labels.groups, return_inverse=True)[1]
    present = np.zeros((run.max() + 1, len(labels.classes)), dtype=bool)
    present[run, labels.codes] = True
    i, j = np.triu_indices(len(labels.classes), 1)
    rare = np.flatnonzero((present.T.astype(int) @ present)[i, j] < 2)
    if len(rare):
        pair = labels.classes[[i[rare[0]], j[rare[0]]]].tolist()
        raise ValueError(
            f"classes {pair[0]!r} and {pair[1]!r} are together in fewer than two runs "
            f"({len(rare)} such pairs in all), so that their distance cannot be "
            "cross-validated; leave one of them out"
        )


def _exchanges(n_classes, parameters):
    """Return other orders of the classes, and FewLabelings if these are all."""
    n_permutations = parameters.n_permutations
    if not n_permutations:
        return np.empty((0, n_classes), dtype=int), None
    rng = random_generator(parameters.random_state)
    orders, every = class_exchanges(n_classes, n_permutations, rng)
    few = FewLabelings(len(orders), 1, "orders of the classes")
    return orders, few if every else None


def _findings(samples, labels, few):
    """Return Findings about the order of classes, copies of samples, and exchanges."""
    design = make_design(labels.codes, len(labels.classes), groups=labels.groups)
    exchanges = few_exchanges(few)
    if exchanges is not None:
        exchanges = exchanges._replace(remedy="more classes have more orders")
    found = (
        same_order(labels.codes, labels.groups, labels.order),
        copied_samples(samples.X[:, samples.usable], labels, design),
        exchanges,
    )
    return tuple(finding for finding in found if finding is not None)


def _checked_models(models, classes):
    """Return models as symmetric float arrays (K, K), in the order of classes."""
    if models is None:
        return {}
    if not isinstance(models, Mapping):
        models = {"model": models}
    return {str(n): _checked_model(str(n), m, classes) for n, m in models.items()}


def _checked_model(name, model, classes):
    """Return one of them; ValueError if it is none."""
    if hasattr(model, "reindex"):  # a DataFrame, by the names of its rows
        named = [*model.index], [*model.columns]
        if any(sorted(names) != sorted(classes.tolist()) for names in named):
            raise ValueError(
                f"models[{name!r}] has rows {named[0][:5]} and columns {named[1][:5]}; "
                f"give the classes {classes.tolist()[:5]}"
            )
        model = model.loc[classes.tolist(), classes.tolist()]
    values, K = np.asarray(model, dtype=float), len(classes)
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
