"""The distances between classes in all regions, and their agreement with models."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.stats import rankdata

from neuroextrap._parameter_table import taken_by
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import code_labels, counts_of, members, row_codes
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.maps._named_records import dissimilarity_names
from neuroextrap.margins._engine import map_parts
from neuroextrap.stats._arrangements import NameExchanges
from neuroextrap.stats._null_counts import NullCounts, round_ties, spread_known
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._validation import check_choice, check_integer, real_array

METHODS = ("spearman", "kendall", "cosine")
"""How dissimilarities are compared with those of a model; "kendall" is tau-a."""

_MOST_SPLITS, _MOST_TRIED = 10, 200  # of the runs into halves
_MOST_FEATURES = 2**27  # numbers in the features of a model under all exchanges


def run_means(X, codes, run):
    """Average samples of classes in runs, (n_runs K, n_features); zero for none."""
    n_classes = codes.max() + 1
    cell, n_cells = run * n_classes + codes, (run.max() + 1) * n_classes
    size = np.maximum(np.bincount(cell, minlength=n_cells), 1)[:, np.newaxis]
    return members(cell, n_cells, X.dtype) @ X / size.astype(X.dtype)


def distance_operator(present):
    """Return the matrix that turns inner products of means into squared distances.

    With G the products of the means b_mi of run m and class i, the distance of classes
    i and j is the mean over ordered pairs of runs m != n that hold both (`present`) ::

        d_ij = mean_(m != n) (b_mi - b_mj)' (b_ni - b_nj)

    A sparse array (K (K - 1) / 2, (n_runs K)^2), in the order of ``np.triu_indices``.
    """
    n_runs, n_classes = present.shape
    pairs = np.transpose(np.triu_indices(n_classes, 1))
    both = present[:, pairs].all(axis=2)
    apart = ~np.eye(n_runs, dtype=bool)[..., np.newaxis]
    first, second, pair = np.nonzero(both[:, np.newaxis] & both & apart)
    share = 1 / np.bincount(pair, minlength=len(pairs))[pair]
    size = n_runs * n_classes
    total = scipy.sparse.csr_array((len(pairs), size * size))
    for one, other in itertools.product((0, 1), repeat=2):
        where = (first * n_classes + pairs[pair, one]) * size
        where += second * n_classes + pairs[pair, other]
        entries = share if one == other else -share, (pair, where)
        total += scipy.sparse.csr_array(entries, shape=total.shape)
    return total


def halves(present):
    """Return up to ten splits of the runs into halves that both have all distances."""
    n_runs, rng, splits = len(present), np.random.default_rng(0), {}
    for _ in range(_MOST_TRIED):
        one = np.isin(np.arange(n_runs), rng.permutation(n_runs)[: n_runs // 2])
        one = ~one if 2 * one.sum() == n_runs and not one[0] else one
        parts = tuple(present & half[:, np.newaxis] for half in (one, ~one))
        if all((runs_together(part) >= 2).all() for part in parts):
            splits[one.tobytes()] = parts
        if len(splits) == _MOST_SPLITS:
            break
    return list(splits.values())


def runs_together(present):
    """Count the runs that hold both classes of every pair, (K (K - 1) / 2,)."""
    together = present.T.astype(int) @ present
    return together[np.triu_indices(len(together), 1)]


def comparison_features(values, method):
    """Turn dissimilarities (n, n_pairs) into vectors whose products compare them."""
    if method == "kendall":
        first, second = np.triu_indices(values.shape[1], 1)
        signs = np.sign(values[:, first] - values[:, second])
        return signs / np.sqrt(max(1, len(first)))
    if method == "spearman":
        values = rankdata(values, axis=1)
        values = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    return values / np.where(length > 0, length, np.inf)


def model_features(model, orders, method):
    """Return features (n_features, 1 + n_permutations) of a model and of exchanges."""
    i, j = np.triu_indices(len(model), 1)
    size = len(i) * (len(i) - 1) // 2 if method == "kendall" else len(i)
    if size * (1 + len(orders)) > _MOST_FEATURES:
        raise ValueError(
            f"method={method!r} needs too much memory for {len(model)} classes and "
            f"{len(orders)} permutations; use method='spearman'"
        )
    every = np.concatenate([np.arange(len(model))[np.newaxis], orders])
    return comparison_features(model[every[:, i], every[:, j]], method).T


def ceiling_of_halves(values, method):
    """Return the agreement with measured distances that a true model reaches, (n,).

    `values` (n, 1 + 2 n_splits, n_pairs) are distances, then those of halves of runs,
    whose products are on average those of the true distances.
    """
    if values.shape[1] == 1:
        return np.full(len(values), np.nan)
    about = values - (method != "cosine") * values.mean(axis=2, keepdims=True)
    true = (about[:, 1::2] * about[:, 2::2]).sum(axis=2).mean(axis=1)
    total = np.square(about[:, 0]).sum(axis=1)
    share = np.divide(true, total, out=np.zeros_like(total), where=total > 0)
    return np.sqrt(np.clip(share, 0, 1))


_BLOCK = 2**22  # inner products of means that are in memory together
_NO_CEILING = (
    "no noise ceiling: it needs two halves of the runs in which every two classes are "
    "together in at least two runs"
)


def measure_dissimilarities(light, imgs, y, groups, order):
    """Check everything, then read the samples, and measure and compare distances.

    Returns the planned DecodingRun; maps (n_regions,), distances (n_regions, n_pairs)
    and null maxima; and the rest by the name of its attribute.
    """
    check_choice(light.method, "method", METHODS)
    if groups is None:
        raise ValueError(
            "distances are cross-validated over runs, but groups is None; give "
            "fit(..., groups=runs)"
        )
    labels = code_labels(y, None, groups, None, order)
    cell = row_codes(labels.groups)
    present = _checked_pairs(labels, cell)
    models, exchanges, features = _exchanged_models(light, labels.classes)
    shared = taken_by(IdentificationSearchLight, light.get_params(deep=False))
    plain = shared | {"n_permutations": 0, "bounds": None}
    run = plan_decoding(IdentificationSearchLight(**plain), imgs, y, groups, order)
    few: tuple = ()
    if exchanges.are_all:
        doubt = few_exchanges(FewLabelings(len(exchanges), 1, "orders of the classes"))
        few = (doubt._replace(remedy="more classes have more orders"),)
    tell(few)
    splits = halves(present)
    parts = [present, *(half for split in splits for half in split)]
    operator = scipy.sparse.vstack([distance_operator(part) for part in parts], "csr")
    means = replace(run, rows=run_means(run.rows, labels.codes, cell))
    about = {
        "models_": models,
        "n_permutations_": len(exchanges),
        "n_runs_": len(present),
        "findings_": [*run.findings, *few],
        "notes_": [*run.all_notes(few), *([] if splits else [_NO_CEILING])],
    }
    return run, _compared(light, means, operator, features), about


def _compared(light, run, operator, features):
    """Return maps, distances and null maxima of a run whose rows are means in runs.

    The `operator` makes distances of products of means: of all runs, then of halves.
    `features` are those of models under all exchanges.
    """
    usable, rows, n_classes = run.usable, run.analyzed, len(run.classes)
    distances = np.empty((len(rows), n_classes * (n_classes - 1) // 2))
    ceiling = np.empty(len(rows))
    counts = {
        name: NullCounts.start(np.empty(len(rows)), model.shape[1] - 1)
        for name, model in features.items()
    }
    given = *run.data, rows, operator
    for some, values in map_parts(_distances, *given, n_jobs=light.n_jobs):
        values = values.reshape(len(values), -1, distances.shape[1])
        distances[some] = values[:, 0]
        ceiling[some] = ceiling_of_halves(values, light.method)
        compared = comparison_features(values[:, 0], light.method)
        for name, model in features.items():
            agreement = round_ties(compared @ model)
            counts[name].score[some] = agreement[:, 0]
            counts[name].add(agreement[:, 1:], 0, some)
    analyzed = np.isin(np.arange(run.choice.n_regions), rows)
    scores = {"mean_dissimilarity": distances.mean(axis=1)}
    if operator.shape[0] > distances.shape[1]:
        scores["noise_ceiling"] = ceiling
    for name, count in counts.items():
        numbers = [count.score]
        if len(count.maxima):
            numbers += [count.p_value(), count.p_value_fwe()]
        scores |= dict(zip(dissimilarity_names(name), numbers, strict=False))
    scores["n_voxels"] = usable.n_features[analyzed]
    spread = spread_known(analyzed, scores | {"": distances})
    maxima = {name: count.maxima for name, count in counts.items()}
    return spread, spread.pop(""), maxima


def _distances(plan, data, operator):
    """Return what the operator makes of some regions, (n_regions, n_distances)."""
    distances = np.empty((data.n_regions, operator.shape[0]))
    width = max(1, _BLOCK // operator.shape[1])
    for start in range(0, len(distances), width):
        regions = range(start, min(start + width, len(distances)))
        xs = (x.astype(float) for x in data.samples_of(regions, plan.whitener))
        products = [(x @ x.T).ravel() / x.shape[1] for x in xs]
        distances[start : regions.stop] = (operator @ np.stack(products, axis=1)).T
    return distances


def _exchanged_models(light, classes):
    """Return checked models (K, K), exchanges of classes, and features under these."""
    given = {} if light.models is None else light.models
    given = given if isinstance(given, Mapping) else {"model": given}
    models = {str(name): _checked(str(name), m, classes) for name, m in given.items()}
    n_permutations = check_integer(light.n_permutations, "n_permutations", minimum=0)
    if n_permutations and not models:
        raise ValueError("n_permutations tests models; give models, or 0")
    exchanges = NameExchanges.of(len(classes), n_permutations, light.random_state)
    features = {
        name: model_features(model, exchanges.names, light.method)
        for name, model in models.items()
    }
    return models, exchanges, features


def _checked_pairs(labels, run):
    """Return the classes of runs (n_runs, K), every two together in at least two."""
    present = counts_of(run, labels.codes) > 0
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


def _checked(name: str, model: Any, classes: np.ndarray) -> np.ndarray:
    """Return a model as a symmetric float array (K, K), in the order of classes."""
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
