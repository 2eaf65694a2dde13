"""Designs whose assumption is visibly false: refused, marked as doubtful, or mended."""

from collections import Counter

import numpy as np
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

from benchmarks.validity.permutation_tests import LEVEL, LOCAL, fit
from benchmarks.validity.registry import Row, check

FAMILY = "Designs whose assumption is visibly false"
REGIONS = np.kron(np.eye(25), np.ones((1, 4)))
N_FEATURES = REGIONS.shape[1]


def drift(y, runs, power, size):
    """Noise of runs that change in their course, in every voxel its own way."""

    def draw(rng):
        position = np.concatenate([np.arange(n) for n in np.bincount(runs)])
        course = (position - position.mean()) ** power
        course = size * course / np.abs(np.diff(course)).max()
        x = rng.normal(size=(len(y), N_FEATURES))
        return x + course[:, None] * rng.normal(size=N_FEATURES), y, runs, {}

    return draw


def random_orders(rng):
    """Draw the drift of the worst design, with classes in random order."""
    runs = np.repeat(np.arange(6), 4)
    y = rng.permuted(np.tile([0, 1, 2, 3], (6, 1)), axis=1).ravel()
    return drift(y, runs, 1, 1.0)(rng)


def ready_folds(n_folds, runs=None):
    """Stratified folds handed over as a PredefinedSplit."""

    def draw(rng):
        y, fold = rng.permutation(np.repeat(np.arange(4), 10)), np.empty(40, dtype=int)
        for number, (_, test) in enumerate(StratifiedKFold(n_folds).split(y, y)):
            fold[test] = number
        x = rng.normal(size=(40, N_FEATURES))
        return x, y, runs, {"cv": PredefinedSplit(fold), "estimator": "ridge"}

    return draw


def blind_folds(rng):
    """Draw folds made without the labels, given as a list."""
    y, x = rng.permutation(np.repeat(np.arange(4), 10)), rng.normal(size=(40, 100))
    return x, y, None, {"cv": list(KFold(5).split(x)), "estimator": "ridge"}


def oversampled(declared):
    """Make the rare class as large as the other by repeating its trials in each run."""

    def draw(rng):
        y, runs = np.tile(np.repeat([0, 1], [9, 9]), 6), np.repeat(np.arange(6), 18)
        blocks = np.arange(len(y))
        for run in range(6):
            blocks[18 * run + 12 : 18 * run + 18] = 18 * run + 9 + np.arange(6) % 3
        x = rng.normal(size=(len(y), N_FEATURES))[blocks]
        order = np.argsort(runs + rng.random(len(y)), kind="stable")
        options = {"blocks": blocks[order]} if declared else {}
        return x[order], y[order], runs, options

    return draw


def second_echo(rng):
    """Draw runs in random order, and one of them again with as much noise."""
    y = rng.permuted(np.tile(np.repeat(np.arange(4), 2), (6, 1)), axis=1).ravel()
    x, runs = rng.normal(size=(48, N_FEATURES)), np.repeat(np.arange(6), 8)
    echo = x[:8] + rng.normal(size=(8, N_FEATURES))
    return np.concatenate([x, echo]), np.append(y, y[:8]), np.append(runs, [6] * 8), {}


def alike_neighbors(rng):
    """Draw trials in random order in noise that changes slowly."""
    x, y, runs, options = random_orders(rng)
    x = rng.normal(size=x.shape)
    for i in range(1, len(x)):
        x[i] = 0.9 * x[i - 1] + np.sqrt(1 - 0.9**2) * x[i]
    return x, y, runs, options


def sorted_table(rng):
    """Draw folds of successive rows of a table that is sorted by class."""
    y = np.repeat(np.arange(4), 12)
    return rng.normal(size=(48, N_FEATURES)), y, None, {"cv": KFold(8)}


ABCD, AABBBBAA = np.tile(np.arange(4), 6), np.tile([0, 0, 1, 1, 1, 1, 0, 0], 6)
DESIGNS = {
    "6 runs A B C D, one order, trend of 1 SD a trial": drift(
        ABCD, np.repeat(np.arange(6), 4), 1, 1.0
    ),
    "8 runs A B C D, one order, trend of .3 SD a trial": drift(
        np.tile(np.arange(4), 8), np.repeat(np.arange(8), 4), 1, 0.3
    ),
    "6 runs AABBBBAA, one order, quadratic trend": drift(
        AABBBBAA, np.repeat(np.arange(6), 8), 2, 1.0
    ),
    "6 runs of four classes, random orders, trend of 1 SD a trial": random_orders,
    "PredefinedSplit of StratifiedKFold(5), ridge": ready_folds(5),
    "PredefinedSplit of StratifiedKFold(10), 2 runs, ridge": ready_folds(
        10, np.repeat([0, 1], 20)
    ),
    "list of KFold(5), ridge": blind_folds,
    "rare class repeated in each run": oversampled(declared=False),
    "rare class repeated in each run, copies declared as blocks": oversampled(
        declared=True
    ),
    "one run given twice, with as much noise of its own": second_echo,
    "trials in random order, noise that changes slowly": alike_neighbors,
    "KFold(8) of a table sorted by class": sorted_table,
}
ONE_ORDER = "6 runs AABBBBAA, one order, quadratic trend"
UNMARKED = {ONE_ORDER: DESIGNS[ONE_ORDER]}


@check(FAMILY, n_sets=300, quick=5, mistakes=4)
def visible_designs(rng, n_sets, *, mistake=False):
    """Rows without a finding are in scope; mistake: one order that is not marked."""
    designs = UNMARKED if mistake else DESIGNS
    # that no runs are given holds for most designs without runs
    yield from told_rows(rng, n_sets, designs, mistake, {"no_groups"})


def told_rows(rng, n_sets, designs, mistake, ignored):
    """Yield levels and misses of designs; marks of .98 of their sets are named.

    So are all marks, where only together they are in that many.
    """
    for design, draw in designs.items():
        local, bound, marks, n_marked = [], [], Counter(), 0
        for _ in range(n_sets):
            x, y, runs, options = draw(rng)
            seed = rng.integers(2**31)
            light = fit(x, y, runs, regions=REGIONS, random_state=seed, **options)
            scores, chance = light.region_scores_, 1 / len(light.classes_)
            local.append((scores["p_value"] <= LEVEL).mean())
            bounds = scores.get("bayes_accuracy_bound", np.zeros(1))
            bound.append((bounds > chance + 1e-9).mean())
            doubts = {
                found.name
                for found in light.findings_
                if found.grade == "doubtful" and found.touches("p_value")
            } - ignored
            marks.update(doubts)
            n_marked += bool(doubts)
        most = 0.98 * n_sets
        named = [name for name in sorted(marks) if marks[name] >= most]
        named = named or (sorted(marks) if n_marked >= most else [])
        doubts = [
            name if marks[name] == n_sets else f"{name} (in {marks[name] / n_sets:.3f})"
            for name in named
        ]
        told = f", marked: {', '.join(doubts)}" if doubts else ""
        in_scope = mistake or not doubts
        yield Row(LOCAL, design + told, local, in_scope=in_scope)
        if any(bound):
            what = "lower bound on Bayes accuracy"
            yield Row(what, design + told, bound, in_scope=in_scope)


def offsets_of_runs(given):
    """Draw runs of unequal classes, each with an offset of its own in every voxel."""

    def draw(rng):
        runs = np.repeat(np.arange(8), 6)
        y = np.tile(np.repeat([0, 1, 0, 1], [5, 1, 1, 5]), 4)
        x = rng.normal(size=(48, N_FEATURES)) + rng.normal(size=(8, N_FEATURES))[runs]
        if given:
            return x, y, runs, {}
        return x, y, None, {"cv": StratifiedKFold(4, shuffle=True, random_state=0)}

    return draw


def blocks_in_slow_noise(rng):
    """Draw runs AAAABBBB or BBBBAAAA, as many of each, in noise that changes slowly."""
    first = rng.permutation(np.repeat([0, 1], 3))
    y = np.stack([first, 1 - first], axis=1).repeat(4, axis=1).ravel()
    x = rng.normal(size=(6, 8, N_FEATURES))
    for i in range(1, 8):
        x[:, i] = 0.9 * x[:, i - 1] + np.sqrt(1 - 0.9**2) * x[:, i]
    return x.reshape(48, N_FEATURES), y, np.repeat(np.arange(6), 8), {}


def shuffled_version(rng):
    """Draw the run that is given twice, the second time in another order."""
    x, y, runs, options = second_echo(rng)
    rows = np.append(np.arange(48), 48 + rng.permutation(8))
    return x[rows], y[rows], runs, options


FURTHER_DESIGNS = {
    "8 runs with offsets, classes 5:1 or 1:5, runs not given": offsets_of_runs(False),
    "8 runs with offsets, classes 5:1 or 1:5, runs given": offsets_of_runs(True),
    "AAAABBBB or BBBBAAAA, noise that changes slowly": blocks_in_slow_noise,
    "one run given twice in another order, as much noise of its own": shuffled_version,
}


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def further_visible_designs(rng, n_sets, *, mistake=False):
    """Rows without a finding are in scope; mistake: one order that is not marked."""
    designs = UNMARKED if mistake else FURTHER_DESIGNS
    yield from told_rows(rng, n_sets, designs, mistake, set())


def copied_run(x, y, runs):
    """Give the first run again as a further one."""
    first = runs == 0
    return (
        np.concatenate([x, x[first]]),
        np.concatenate([y, y[first]]),
        np.concatenate([runs, np.full(first.sum(), runs.max() + 1)]),
        {},
    )


def repeated_across_folds(x, y, _):
    """Repeat half of the samples, without runs, in shuffled folds."""
    half = np.arange(0, len(y), 2)
    rows = np.concatenate([np.arange(len(y)), half])
    return x[rows], y[rows], None, {"cv": KFold(6, shuffle=True, random_state=0)}


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def refused_designs(rng, n_sets, *, mistake=False):
    """Share of designs that are analyzed though they should be refused.

    Mistake: copies that were changed beyond recognition.
    """
    runs, noise = np.repeat(np.arange(6), 4), 1.0 if mistake else 0.0
    for name, copy in (
        ("one run given twice", copied_run),
        ("samples repeated across folds", repeated_across_folds),
        ("one run given twice, once smoothed a little", copied_run),
    ):
        analyzed = []
        for _ in range(n_sets):
            y = rng.permuted(np.tile([0, 1, 2, 3], (6, 1)), axis=1).ravel()
            x, y, groups, options = copy(rng.normal(size=(24, N_FEATURES)), y, runs)
            extra = 0.1 if "smoothed" in name else 0.0
            x = x + (noise + extra) * rng.normal(size=x.shape)
            try:
                fit(x, y, groups, regions=REGIONS, **options)
            except ValueError as error:
                analyzed.append(0.0 if "equal" in str(error) else 1.0)
            else:
                analyzed.append(1.0)
        yield Row("copies in training and test are refused", name, analyzed)
