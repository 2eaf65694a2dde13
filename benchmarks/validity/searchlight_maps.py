"""Bounds and e-values of forward testing, as the searchlight maps them."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from benchmarks.validity.intervals import truth as gaussian_truth
from benchmarks.validity.population_bounds import far_apart
from benchmarks.validity.registry import Row, check, chosen
from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight

FAMILY = "Maps of the searchlight by forward testing"
N_REGIONS, WIDTH = 20, 5
REGIONS = np.kron(np.eye(N_REGIONS), np.ones((1, WIDTH)))
SIGNALS = np.repeat([0.0, 0.5, 1.0, 2.0], N_REGIONS // 4)
SIGNS = "8 runs of 2 classes x 4, effects of a random sign in each run"
BLOCKS = "6 runs x 3 blocks of 5 alike scans"


class Design(NamedTuple):
    """Labels, runs and blocks of an experiment, and options of the searchlight."""

    y: np.ndarray
    runs: np.ndarray
    options: dict
    blocks: np.ndarray | None = None
    random_signs: bool = False
    signals: np.ndarray = SIGNALS

    def means(self, rng):
        """Return the means of the classes, (n_regions, n_classes, WIDTH)."""
        draws = rng.normal(size=(N_REGIONS, self.y.max() + 1, WIDTH))
        if self.random_signs:
            draws[:, 1] = -draws[:, 0]
        return self.signals[:, np.newaxis, np.newaxis] * draws

    def sample(self, rng, means):
        """Return responses (n_samples, n_features); scans of a block are alike."""
        x = means[:, self.y].swapaxes(0, 1).reshape(len(self.y), -1)
        if self.random_signs:
            signs = rng.choice([-1.0, 1.0], size=(self.runs.max() + 1, N_REGIONS))
            x = x * np.repeat(signs, WIDTH, axis=1)[self.runs]
        if self.blocks is None:
            return x + rng.normal(size=x.shape)
        shared = rng.normal(size=(self.blocks.max() + 1, x.shape[1]))[self.blocks]
        return x + np.sqrt(0.96) * shared + 0.2 * rng.normal(size=x.shape)

    def truth(self, rng, means, n_draws=4000):
        """Return Bayes accuracy and bits about the classes, (n_regions,) each."""
        n_classes = means.shape[1]
        if self.random_signs:  # a scan tells nothing
            return np.full(N_REGIONS, 1 / n_classes), np.zeros(N_REGIONS)
        x = means[:, :, np.newaxis] + rng.normal(
            size=(N_REGIONS, n_classes, n_draws, WIDTH)
        )
        score = x @ means[:, np.newaxis].swapaxes(-1, -2)
        score -= (means**2).sum(axis=-1)[:, np.newaxis, np.newaxis] / 2
        own = np.einsum("rkdk->rkd", score)
        right = (own >= score.max(axis=-1)).mean(axis=(1, 2))
        told = np.log(n_classes) + (own - logsumexp(score, axis=-1)).mean(axis=(1, 2))
        tells = self.signals > 0
        return np.where(tells, right, 1 / n_classes), tells * told / np.log(2)


def designs():
    """Return experiments by name; the last two with what they declare left out."""
    eight = np.tile(np.arange(8), 12), np.repeat(np.arange(12), 8)
    two = np.tile([0, 0, 0, 0, 1, 1, 1, 1], 8), np.repeat(np.arange(8), 8)
    scans = np.tile(np.repeat([0, 1, 2], 5), 6), np.repeat(np.arange(6), 15)
    alike = np.repeat(np.arange(18), 5)
    unequal = [
        [0, 0, 1, 1, 2, 2],
        [0, 1],
        [1, 1, 2],
        [0, 0, 2, 1],
        [2, 0, 1],
        [0, 1, 2],
    ]
    runs = np.repeat(np.arange(6), [len(run) for run in unequal])
    return {
        "12 runs x 8 classes, nearest centroid": Design(*eight, {}),
        "6 runs that lack classes, lda": Design(
            np.concatenate(unequal), runs, {"estimator": "lda"}
        ),
        "8 runs of 2 classes x 4, centered within runs, no signal": Design(
            *two, {"within_runs": "center"}, signals=0 * SIGNALS
        ),
        f"{BLOCKS}, declared": Design(*scans, {"blocks": alike}, alike),
        f"{SIGNS}, runs as test units": Design(
            *two,
            {"bounds": Bounds(test_units="runs")},
            random_signs=True,
            signals=1 + SIGNALS,
        ),
        f"{BLOCKS}, not declared (warned about)": Design(
            *scans, {}, alike, signals=0 * SIGNALS
        ),
        f"{SIGNS}, samples as test units": Design(
            *two, {}, random_signs=True, signals=1 + SIGNALS
        ),
    }


def fit(x, design, regions=REGIONS):
    """Return the numbers behind the maps; warnings about designs are not heard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light = IdentificationSearchLight(regions=regions, **design.options)
        return light.fit(x, design.y, groups=design.runs).region_scores_


@check(FAMILY, n_sets=150, quick=5, mistakes=6)
def forward_maps(rng, n_sets, *, mistake=False):
    """Bounds for the classes; mistake: blocks, or runs as units, not declared."""
    bounds = "bayes_accuracy_bound", "class_information_bound"
    names = "Bayes accuracy", "Information about the classes at hand"
    for where, design in designs().items():
        forgotten = "not declared" in where or "samples as" in where
        if mistake and not forgotten:
            continue
        means = design.means(rng)
        truth = design.truth(rng, means)
        found = [fit(design.sample(rng, means), design) for _ in range(n_sets)]
        for name, key, limit in zip(names, bounds, truth, strict=True):
            over = np.array([scores[key] for scores in found]) > limit + 1e-9
            scope = mistake or not forgotten
            share = over.mean(axis=1)
            yield Row(f"{name}, one region", where, share, in_scope=scope)
            if forgotten:
                continue
            all_found = np.array([scores[f"{key}_fwe"] for scores in found])
            missed = (all_found > limit + 1e-9).any(axis=1)
            yield Row(f"{name}, {N_REGIONS} regions at once", where, missed)


@check(FAMILY, n_sets=150, quick=5, mistakes=14)
def e_value_maps(rng, n_sets, *, mistake=False):
    """E-values and e-BH; mistake: samples counted where runs are the units."""
    two = np.tile([0, 0, 1, 1], 12), np.repeat(np.arange(12), 4)
    active = np.where(np.arange(N_REGIONS) < 5, 2.0, 0.0)
    chosen = {
        "12 runs of 2 classes x 2, 5 of 20 regions active": Design(
            *two, {}, signals=active
        ),
        "12 runs of 2 classes x 2, in time, no signal": Design(
            *two, {"bounds": Bounds(e_value_order="chronological")}, signals=0 * active
        ),
        f"{SIGNS}, runs as test units": designs()[f"{SIGNS}, runs as test units"],
    }
    if mistake:
        where = f"{SIGNS}, samples as test units"
        chosen = {where: designs()[where]}
    for where, design in chosen.items():
        means = design.means(rng)
        nothing = (
            np.ones(N_REGIONS, bool) if design.random_signs else means[:, 0, 0] == 0
        )
        found = [fit(design.sample(rng, means), design) for _ in range(n_sets)]
        e = np.array([scores["e_value"][nothing] for scores in found])
        yield Row("E-value map, 20 or more", where, (e >= 20).mean(axis=1))
        if not mistake:
            yield Row("E-value map, mean", where, e.mean(axis=1), nominal=1)
        said = np.array([scores["e_value_fdr"] for scores in found]) <= 0.05
        false = said[:, nothing].sum(axis=1) / np.maximum(said.sum(axis=1), 1)
        yield Row("E-value map, false discovery rate by e-BH", where, false)


def looks():
    """Return labels and runs, looks and the first tested run of growing experiments."""
    lacking = [[0, 1, 2, 3], [0, 1], [2, 3], [0, 1, 2, 3], [0, 2, 3], [1]] * 2
    runs = np.repeat(np.arange(12), [len(run) for run in lacking])
    eight = np.tile(np.arange(8), 12), np.repeat(np.arange(12), 8)
    many = np.tile([0, 1], 30), np.repeat(np.arange(30), 2)
    return {
        "after each of 12 runs x 8 classes": (*eight, range(2, 13), 2),
        "the same, the first three runs only train": (*eight, range(4, 13), 4),
        "after each of 12 runs that lack classes": (
            *(np.concatenate(lacking), runs),
            *(range(3, 13), 2),
        ),
        "after 10, 15, 20, 25 and 30 runs x 2 classes": (*many, range(10, 31, 5), 2),
    }


@check(FAMILY, n_sets=120, quick=5, mistakes=4)
def runs_added_after_looking(rng, n_sets, *, mistake=False):
    """Chronological e-values without signal; mistake: p-values looked at each time."""
    designs = chosen(looks().items(), n_sets)
    for where, (y, runs, stops, first) in designs[:1] if mistake else designs:
        bounds = Bounds(e_value_order="chronological", first_tested_run=first)
        found = np.empty((len(stops), n_sets, N_REGIONS))
        for n in range(n_sets):
            x = rng.normal(size=(len(y), REGIONS.shape[1]))
            for look, stop in zip(found, stops, strict=True):
                now = runs < stop
                scores = fit(x[now], Design(y[now], runs[now], {"bounds": bounds}))
                look[n] = scores["accuracy" if mistake else "e_value"]
        if mistake:
            n_test = np.array([np.sum(runs < stop) for stop in stops])[:, None, None]
            law = binom(n_test, 1 / (y.max() + 1))
            found = 1 / law.sf(np.ceil(found * n_test - 1e-6) - 1)
        crossed = (found >= 20).any(axis=0).mean(axis=1)
        yield Row("E-value of 20 at any time", where, crossed)
        if not mistake:
            reached = found >= 3
            reached[-1] = True  # stop there at the latest
            stop = reached.argmax(axis=0)[np.newaxis]
            stopped = np.take_along_axis(found, stop, axis=0)[0]
            mean = np.minimum(stopped, 100).mean(axis=1)  # rare values are huge
            name = "E-value (up to 100), mean at the first of 3 or more"
            yield Row(name, where, mean, nominal=1)


def drawn_classes(rng, kind, n_classes, n_runs):
    """Return responses of several regions, with classes drawn anew in each.

    `kind` is "normal", "far apart" (of 5,000 normal ones), or "easy and hard": half of
    the classes, by a coin, are told from all others and half from none. Responses
    (n_samples, 4 * n_features), runs one after the other.
    """
    n_features = 30 if kind == "easy and hard" else 5
    points = rng.normal(size=(4, n_classes, n_features))
    if kind == "far apart":
        pools = rng.normal(size=(4, 5000, n_features))
        points = np.array([far_apart(pool, n_classes) for pool in pools])
    if kind == "easy and hard":
        points *= 4 * (rng.random((4, n_classes, 1)) < 0.5)
    x = np.tile(points, (1, n_runs, 1))
    x = x + 0.7 * rng.normal(size=x.shape)
    return x.swapaxes(0, 1).reshape(n_classes * n_runs, -1)


@check(FAMILY, n_sets=150, quick=5, mistakes=6)
def average_bound_maps(rng, n_sets, *, mistake=False):
    """Bounds for the population; mistake: its stimuli chosen far apart."""
    truth = gaussian_truth(0.7, (100,), n_dims=5)[0], 5 / 2 * np.log2(1 + 0.7**-2)
    laws = {
        "100 classes x 4 runs, normal": ("normal", 100, 4, *truth),
        "20 classes x 6 runs, easy and hard": ("easy and hard", 20, 6, 0.55, np.inf),
        "100 classes x 4 runs, chosen far apart, of 5,000": (
            "far apart",
            100,
            4,
            *truth,
        ),
    }
    for where, (kind, n_classes, n_runs, *truth) in laws.items():
        chosen = kind == "far apart"
        if mistake and not chosen:
            continue
        y, runs = np.tile(np.arange(n_classes), n_runs), np.arange(n_runs)
        design = Design(y, np.repeat(runs, n_classes), {})
        regions = np.kron(np.eye(4), np.ones((1, 30 if kind == "easy and hard" else 5)))
        found = [
            fit(drawn_classes(rng, kind, n_classes, n_runs), design, regions)
            for _ in range(n_sets)
        ]
        keys = "average_bayes_accuracy_bound", "information_bound"
        names = "Average Bayes accuracy", "Information, best of several set sizes"
        for name, key, limit in zip(names, keys, truth, strict=True):
            if np.isinf(limit) or (mistake and key == "information_bound"):
                continue
            over = np.array([scores[key] for scores in found]) > limit + 1e-9
            scope = mistake or not chosen
            row = over.mean(axis=1)
            yield Row(f"{name}, one region", where, row, in_scope=scope)
            if chosen:
                continue
            everywhere = np.array([scores[f"{key}_fwe"] for scores in found])
            missed = (everywhere > limit + 1e-9).any(axis=1)
            yield Row(f"{name}, 4 regions at once", where, missed)
