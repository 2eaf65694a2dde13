"""The distances between classes in all regions, and their agreement with models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

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
from neuroextrap.margins._engine import map_parts
from neuroextrap.stats._name_exchange import NameExchanges
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import check_choice, check_integer, real_array

_BLOCK = 2**22  # inner products of means that are in memory together
_NO_CEILING = (
    "no noise ceiling: it needs two halves of the runs in which every two classes are "
    "together in at least two runs"
)


@dataclass(frozen=True, kw_only=True)
class DissimilarityRun:
    """A planned run over samples and regions, and models to compare distances with.

    `means` (n_runs K, n_features) are those of the classes in every run. The `operator`
    makes distances of their inner products: those of all runs, then those of pairs of
    halves of the runs, (1 + 2 n_splits) K (K - 1) / 2 in all. `features` are those of
    the `models` (K, K), by name, as they are and with classes exchanged.
    """

    samples: DecodingRun
    means: np.ndarray
    operator: Any
    method: str
    models: dict
    features: dict
    n_exchanges: int
    n_runs: int
    findings: tuple
    notes: tuple

    def compare(self, n_jobs):
        """Measure all distances and compare them with the models.

        Returns what was found in all regions, NaN where one was not analyzed: numbers
        by the name of a map (n_regions,), distances (n_regions, K (K - 1) / 2), and the
        largest permuted agreement over regions by the name of a model.
        """
        usable, rows = self.samples.usable, self.samples.analyzed
        n_classes = len(self.samples.classes)
        distances = np.empty((len(rows), n_classes * (n_classes - 1) // 2))
        ceiling = np.empty(len(rows))
        counts = {
            name: NullCounts.start(np.empty(len(rows)), model.shape[1] - 1)
            for name, model in self.features.items()
        }
        run = self.means, usable.regions, self.samples.plan, rows, self.operator
        for some, values in map_parts(_distances, *run, n_jobs=n_jobs):
            values = values.reshape(len(values), -1, distances.shape[1])
            distances[some] = values[:, 0]
            ceiling[some] = ceiling_of_halves(values, self.method)
            compared = comparison_features(values[:, 0], self.method)
            for name, model in self.features.items():
                agreement = round_ties(compared @ model)
                counts[name].score[some] = agreement[:, 0]
                counts[name].add(agreement[:, 1:], 0, some)
        known = np.isin(np.arange(self.samples.choice.n_regions), rows)
        scores = {"mean_dissimilarity": distances.mean(axis=1)}
        if self.operator.shape[0] > distances.shape[1]:
            scores["noise_ceiling"] = ceiling
        for name, count in counts.items():
            numbers = [count.score]
            if len(count.maxima):
                numbers += [count.p_value(), count.p_value_fwe()]
            scores |= dict(zip(dissimilarity_names(name), numbers, strict=False))
        scores["n_voxels"] = usable.n_features[known]
        spread = spread_known(known, scores | {"": distances})
        maxima = {name: count.maxima for name, count in counts.items()}
        return spread, spread.pop(""), maxima


def _distances(plan, data, operator):
    """Return what the operator makes of some regions, (n_regions, n_distances)."""
    found = np.empty((data.n_regions, operator.shape[0]))
    width = max(1, _BLOCK // operator.shape[1])
    for start in range(0, len(found), width):
        regions = range(start, min(start + width, len(found)))
        xs = (x.astype(float) for x in data.samples_of(regions, plan.whitener))
        products = [(x @ x.T).ravel() / x.shape[1] for x in xs]
        found[start : regions.stop] = (operator @ np.stack(products, axis=1)).T
    return found


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
    own = ("models", "method", "n_permutations")
    given = light.get_params().items()
    shared = {name: value for name, value in given if name not in own}
    n_classes, n_permutations = len(labels.classes), light.n_permutations
    exchanges = NameExchanges.of(n_classes, n_permutations, light.random_state)
    features = {
        name: model_features(model, exchanges.names, light.method)
        for name, model in models.items()
    }
    searchlight = IdentificationSearchLight(**shared, bounds=None)
    samples, few = plan_decoding(searchlight, imgs, y, groups, order), ()
    if n_permutations and exchanges.are_all:
        labelings = FewLabelings(len(exchanges), 1, "orders of the classes")
        found = few_exchanges(labelings)
        few = (found._replace(remedy="more classes have more orders"),) if found else ()
        tell(few)
    splits, findings = halves(present, 0), (*samples.findings, *few)
    parts = [present, *(half for split in splits for half in split)]
    means = run_means(samples.rows, labels.codes, run)
    return DissimilarityRun(
        samples=samples,
        means=means.reshape(present.size, -1),
        operator=scipy.sparse.vstack([distance_operator(p) for p in parts], "csr"),
        method=light.method,
        models=models,
        features=features,
        n_exchanges=len(exchanges),
        n_runs=len(present),
        findings=findings,
        notes=(
            *(finding.note for finding in findings),
            *(note for note in samples.notes if "bounds=None" not in note),
            *(() if splits else (_NO_CEILING,)),
        ),
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
    apart = values[np.triu_indices(K, 1)]
    if values.diagonal().min() >= apart.max() > apart.min():
        raise ValueError(
            f"models[{name!r}] has its largest numbers on the diagonal, as "
            "similarities have; give dissimilarities, such as 1 - correlation"
        )
    if np.ptp(apart) == 0:
        raise ValueError(
            f"models[{name!r}] expects the same dissimilarity of all classes, which "
            "cannot be compared; leave it out"
        )
    return values
