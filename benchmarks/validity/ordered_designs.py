"""Orders of classes: balanced over runs, or following time; trials given again."""

import warnings

import numpy as np
import scipy.sparse

from benchmarks.validity.permutation_tests import LEVEL, LOCAL, B, fit
from benchmarks.validity.registry import Row, check
from benchmarks.validity.visible_designs import (
    FAMILY,
    N_FEATURES,
    REGIONS,
    UNMARKED,
    told_rows,
)
from neuroextrap.decoding import IdentificationSearchLight, trial_confound

IN_SILENCE = "p-value, one region, and no word about the design"


def slow_noise(rng, runs, correlation=0.9):
    """Draw noise in which neighbors of a run correlate."""
    x = rng.normal(size=(len(runs), N_FEATURES))
    for i in np.flatnonzero(np.diff(runs) == 0) + 1:
        x[i] = correlation * x[i - 1] + np.sqrt(1 - correlation**2) * x[i]
    return x


def positions(runs):
    """Return where in its run every sample lies, -1 to 1."""
    return np.concatenate([np.linspace(-1, 1, n) for n in np.bincount(runs)])


def trend(rng, runs):
    """Draw noise, and a trend of a standard deviation from the middle to the end."""
    x = rng.normal(size=(len(runs), N_FEATURES))
    return x + positions(runs)[:, None] * rng.normal(size=N_FEATURES)


def squares(n_runs, first):
    """Return a function that lets runs begin with each of four classes in turn."""
    order = (np.array(first) + np.arange(n_runs)[:, None]) % 4
    return lambda _: (order.ravel(), np.repeat(np.arange(n_runs), 4))


def alternating(*period):
    """Return a function that lets runs begin with either class, as many of each."""

    def order(rng):
        first = rng.permutation([0, 0, 0, 1, 1, 1])
        y = first[:, None] ^ np.tile(period, 8 // len(period))
        return y.ravel(), np.repeat(np.arange(6), 8)

    return order


def repeated(rng):
    """Draw runs of eight pictures, each shown for the first or the second time."""
    runs = [rng.permutation(np.repeat(np.arange(8), 2)) for _ in range(6)]
    again = [[x in run[:i] for i, x in enumerate(run)] for run in runs]
    return np.ravel(again).astype(int), np.repeat(np.arange(6), 16)


def slowed(rng):
    """Draw responses that are slow or fast, and on average slower late in a run."""
    runs = np.repeat(np.arange(6), 16)
    seconds = 0.5 * positions(runs) + rng.normal(size=len(runs))
    return (seconds > np.median(seconds)).astype(int), runs


def chosen(rng):
    """Draw choices of two options, of which one is learned to be better."""
    y = np.zeros((6, 20), dtype=int)
    for run in y:
        value = np.zeros(2)
        for i in range(20):
            run[i] = rng.random() < 1 / (1 + np.exp(4 * (value[0] - value[1])))
            reward = rng.random() < (0.3, 0.8)[run[i]]
            value[run[i]] += 0.2 * (reward - value[run[i]])
    return y.ravel(), np.repeat(np.arange(6), 20)


def drawn(order, noise):
    """Return a function that draws a data set of an order in noise."""

    def draw(rng):
        y, runs = order(rng)
        return noise(rng, runs), y, runs, {}

    return draw


CYCLIC, WILLIAMS = (0, 1, 2, 3), (0, 1, 3, 2)
ORDERS = {
    "4 runs, cyclic Latin square": squares(4, CYCLIC),
    "6 runs, cyclic Latin square and half of it": squares(6, CYCLIC),
    "8 runs, Latin square of Williams twice": squares(8, WILLIAMS),
    "6 runs ABABABAB or BABABABA": alternating(0, 1),
    "6 runs ABBAABBA or BAABBAAB": alternating(0, 1, 1, 0),
    "first or second time that a picture is shown": repeated,
}
DESIGNS = {
    f"{order}, {name}": drawn(draw, noise)
    for order, draw in ORDERS.items()
    for name, noise in (("trend", trend), ("noise that changes slowly", slow_noise))
}


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def orders_of_classes(rng, n_sets, *, mistake=False):
    """Rows without a finding are in scope; mistake: one order that is not marked."""
    designs = UNMARKED if mistake else DESIGNS
    yield from told_rows(rng, n_sets, designs, mistake, set())


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def classes_that_follow_time(rng, n_sets, *, mistake=False):
    """Classes that come later on average, by chance too; mistake: nobody reads."""
    orders = {"slow or fast responses, slower late in a run": slowed, "choices": chosen}
    orders = {"second presentations": repeated} if mistake else orders
    for name, order in orders.items():
        silent, exchanged = [], []
        for _ in range(n_sets):
            y, runs = order(rng)
            x, seed = trend(rng, runs), int(rng.integers(2**31))
            light = fit(x, y, runs, regions=REGIONS, random_state=seed)
            told = any(found.grade == "doubtful" for found in light.findings_)
            small = (light.region_scores_["p_value"] <= LEVEL).mean()
            silent.append(0.0 if told and not mistake else small)
            if not mistake:
                exchanged.append(_share_beyond_time(x, y, runs, seed))
        yield Row(IN_SILENCE, f"{name}, trend", silent)
        if not mistake:
            yield Row(LOCAL, f"{name}, trend; position as the confound", exchanged)


def _share_beyond_time(x, y, runs, seed):
    """Return the share of regions found with the position in the run as a confound."""
    search = IdentificationSearchLight(
        regions=scipy.sparse.csr_array(REGIONS),
        n_permutations=B,
        bounds=None,
        random_state=seed,
    )
    with warnings.catch_warnings():  # within strata, too, some come late by chance
        warnings.simplefilter("ignore")
        maps = trial_confound(search, x, y, runs, positions(runs))
    return (maps["p_value"] <= LEVEL).mean()


def given_again(n_times, noise, *, shuffled=True):
    """Return a function that gives every trial several times in its run."""

    def draw(rng):
        y = rng.permuted(np.tile([0, 0, 1, 1], (6, 1)), axis=1).ravel()
        rows = np.repeat(np.arange(24), n_times)
        if shuffled:
            rows = rows[np.argsort(rows // 4 + rng.random(len(rows)))]
        x = rng.normal(size=(24, N_FEATURES))[rows]
        return x + noise * rng.normal(size=x.shape), y[rows], rows // 4, {}

    return draw


def last_run_again(n_runs, correlation):
    """Return a function that gives the last of runs again, in another order."""

    def draw(rng):
        y = rng.permuted(np.tile(np.arange(16) % 4, (n_runs - 1, 1)), axis=1).ravel()
        runs = np.repeat(np.arange(n_runs), 16)
        rows = np.append(np.arange(len(y)), rng.permutation(np.arange(-16, 0)))
        x = rng.normal(size=(len(y), N_FEATURES))[rows]
        noise = np.sqrt(1 / correlation - 1)
        return x + noise * rng.normal(size=x.shape), y[rows], runs, {}

    return draw


COPIED = {
    "trials five times in their run": given_again(5, 0.0),
    "trials five times in their run, nearly equal": given_again(5, 0.1),
    "trials six times in their run, nearly equal": given_again(6, 0.1),
    "trials ten times in succession, nearly equal": given_again(
        10, 0.1, shuffled=False
    ),
    "two runs, one a version in another order (r .5)": last_run_again(2, 0.5),
    "three runs, two of them versions in another order (r .5)": last_run_again(3, 0.5),
}


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def copied_trials(rng, n_sets, *, mistake=False):
    """Rows without a finding are in scope; mistake: one order that is not marked."""
    designs = UNMARKED if mistake else COPIED
    yield from told_rows(rng, n_sets, designs, mistake, set())
