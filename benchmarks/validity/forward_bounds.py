"""Forward testing: bounds by point, block and run, e-values, false discoveries."""

import numpy as np

from benchmarks.validity.registry import Row, check
from neuroextrap import stats

FAMILY = "Forward testing and e-values"
N_RUNS = 12
FIRST = (4, 6)  # a third and a half of the runs


def cyclic(outcomes):
    """Return outcomes (..., n_runs) of each run in every cyclic order."""
    n_runs = outcomes.shape[-1]
    order = (np.arange(n_runs) + np.arange(n_runs)[:, np.newaxis]) % n_runs
    return outcomes[..., order]


def draw(rng, n_sets, unit, accuracy):
    """Return correct outcomes (n_sets, n_runs) of 8 points a run, and units of a run.

    The points of a block (two blocks of four), or of a run, share their outcome.
    """
    n_units = {"point": 8, "block": 2, "run": 1}[unit]
    right = rng.binomial(n_units, accuracy, size=(n_sets, N_RUNS))
    return right.astype(float), n_units


@check(FAMILY, n_sets=40_000, quick=1500)
def forward_bounds(rng, n_sets, *, mistake=False):
    """Bayes accuracy; mistake: points counted where blocks or runs are the units."""
    for unit in ("point", "block", "run"):
        for accuracy in (1 / 8, 0.5, 0.97):
            right, n_units = draw(rng, n_sets, unit, accuracy)
            where = f"12 runs x 8 points, accuracy {accuracy:.3g}"
            if mistake and (unit == "point" or accuracy != 0.5):
                continue
            if mistake:
                right, n_units = right * 8 / n_units, 8
            bound = stats.forward_bayes_accuracy_lower_bound(
                cyclic(right), n_units, first_steps=FIRST
            )
            name = f"Bayes accuracy, forward by {unit}, all cyclic orders"
            yield Row(name, where, bound > accuracy)


@check(FAMILY, n_sets=2000, quick=100)
def forward_bounds_at_once(rng, n_sets, *, mistake=False):
    """A hundred regions; mistake: each order counted as new data."""
    n_regions, accuracy = 100, 0.3
    right, _ = draw(rng, n_sets * n_regions, "point", accuracy)
    orders = cyclic(right)
    if mistake:  # one long experiment
        orders = orders.reshape(len(right), 1, -1)
    bound = stats.forward_bayes_accuracy_lower_bound(
        orders, 8, first_steps=0 if mistake else FIRST, n_regions=n_regions
    )
    missed = (bound.reshape(n_sets, n_regions) > accuracy).any(axis=1)
    name = f"Bayes accuracy, forward by point, {n_regions} regions at once"
    yield Row(name, f"12 runs x 8 points, accuracy {accuracy:g}", missed)


def learned_outcomes(rng, n_sets, n_runs, n_repeats, signal, leak=False):
    """Return correct outcomes (n_sets, n_orders, n_steps), largest weights, and truth.

    Nearest centroids of the runs before a run (and, with a leak, of the run itself),
    in all cyclic orders; `n_repeats` (n_classes,) test points of each class in every
    run, classes averaged.
    """
    n_classes = len(n_repeats)
    y = np.repeat(np.arange(n_classes), n_repeats)
    means = signal * rng.normal(size=(n_classes, 4))
    weight = 1 / (n_classes * n_repeats[y])
    hot = np.eye(n_classes)[y] / n_repeats[y][:, np.newaxis]

    def right(points, centers):
        scores = 2 * points @ np.swapaxes(centers, -1, -2)
        scores -= (centers**2).sum(axis=-1)[..., np.newaxis, :]
        return (scores.argmax(axis=-1) == y) @ weight

    x = means[y] + rng.normal(size=(n_sets, n_runs, len(y), 4))
    sums = np.einsum("nk,srnp->srkp", hot, x)
    outcomes = np.empty((n_sets, n_runs, n_runs - 1))
    for start in range(n_runs):
        before = sums[:, start].copy()
        for step in range(1, n_runs):
            run = (start + step) % n_runs
            centers = (before + leak * sums[:, run]) / (step + leak)
            outcomes[:, start, step - 1] = right(x[:, run], centers)
            before += sums[:, run]
    many = means[y] + rng.normal(size=(50_000, len(y), 4))
    return outcomes / weight.max(), weight.max(), right(many, means).mean()


@check(FAMILY, n_sets=20_000, quick=800)
def forward_learning(rng, n_sets, *, mistake=False):
    """A learned classifier, unequal repeats; mistake: trained on the tested run too."""
    designs = {
        "6 runs x 4 classes, no signal": (np.full(4, 1), 0.0),
        "6 runs x 4 classes": (np.full(4, 2), 1.5),
        "6 runs, 1 to 4 points of each class": (np.array([1, 2, 3, 4]), 1.0),
    }
    for where, (repeats, signal) in designs.items():
        if mistake and signal:
            continue
        right, weight, bayes = learned_outcomes(
            rng, n_sets, 6, repeats, signal, leak=mistake
        )
        bound = stats.forward_bayes_accuracy_lower_bound(
            right, int(repeats.sum()), first_steps=[0, 1], unit_weights=weight
        )
        name = "Bayes accuracy, forward by point, nearest centroid"
        yield Row(name, where, bound > bayes + 1e-9)


@check(FAMILY, n_sets=200_000, quick=4000)
def e_values(rng, n_sets, *, mistake=False):
    """Mean at most 1, and 20 in one of 20 at most; mistake: orders multiplied."""
    for unit in ("point", "block", "run"):
        right, n_units = draw(rng, n_sets, unit, 1 / 8)
        designs = {"in time": right[:, np.newaxis], "all cyclic orders": cyclic(right)}
        for order, outcomes in designs.items():
            if mistake:
                if order == "in time":
                    continue
                outcomes = outcomes.reshape(n_sets, 1, -1)
            e = stats.forward_e_value(
                outcomes, n_units, 1 / 8, first_steps=0 if mistake else FIRST
            )
            where = f"12 runs by {unit}, {order}, at chance"
            yield Row("E-value of 20", where, e >= 20)
            if not mistake:
                yield Row("Mean e-value", where, e, nominal=1)


@check(FAMILY, n_sets=2000, quick=200)
def false_discoveries(rng, n_sets, *, mistake=False):
    """e-BH; mistake: every region whose e-value reaches 20 is reported."""
    n_regions = 100
    for n_active, shared in ((0, 0.0), (20, 0.0), (20, 1.0)):
        chances = np.full(n_regions, 1 / 8)
        chances[:n_active] = 0.5
        uniform = rng.random((n_sets, n_regions, N_RUNS, 8))
        common = rng.random((n_sets, 1, N_RUNS, 8))
        points = np.where(shared, common, uniform) < chances[:, None, None]
        right = points.sum(axis=-1).astype(float)
        e = stats.forward_e_value(cyclic(right), 8, 1 / 8, first_steps=FIRST)
        if mistake:
            reported = e >= 20
        else:
            rate = [stats.e_value_false_discovery_rate(row) for row in e]
            reported = np.array(rate) <= 0.05
        false = reported[:, n_active:].sum(axis=1)
        share = false / np.maximum(reported.sum(axis=1), 1)
        where = f"{n_regions} regions, {n_active} active"
        where += ", all of the same noise" if shared else ", independent"
        if not mistake or not n_active:
            yield Row("False discovery rate by e-BH", where, share)
