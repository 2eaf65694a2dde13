"""Intervals of accuracies extrapolated to more classes than were measured."""

import warnings
from functools import lru_cache

import numpy as np

from benchmarks.populations import HELD_OUT
from benchmarks.validity.registry import Row, check, chosen
from neuroextrap import stats

FAMILY = "Extrapolation to more classes (approximate)"
RATIOS = np.array([2, 4, 10])


@lru_cache
def population(name, level, n_classes):
    """Return a population that nothing was tuned on, and its accuracies."""
    law = HELD_OUT[name](level, seed=1)
    return law, law.truth(n_classes * RATIOS, 2, n_pool=4000, n_targets=1500)


def intervals(margins, y, sizes):
    """Return 90% intervals from scores and from wins, by name."""
    from_scores = stats.AccuracyExtrapolator().fit(margins, y)
    wins = stats.win_distribution(margins, y)
    from_wins = stats.AccuracyExtrapolator().fit_wins(wins, len(y))
    return {
        "scores": from_scores.predict_interval(sizes),
        "wins": from_wins.predict_interval(sizes),
    }


def measured(margins, y):
    """Return the interval of the accuracy among the measured classes: the mistake."""
    ends = stats.average_accuracy_interval(
        margins, y, margins.shape[1], confidence_level=0.9
    )
    return {"the measured accuracy": ends}


@check(FAMILY, n_sets=30, quick=1)
def extrapolation_intervals(rng, n_sets, *, mistake=False):
    """90% intervals, populations together; mistake: of the measured accuracy.

    A data set is one experiment with one of eleven populations, at one of three levels
    of noise; `n_sets` is the number of experiments with each population.
    """
    for n_classes in (100,) if mistake else chosen((20, 50, 100), n_sets):
        sizes, missed = n_classes * RATIOS, {}
        for level in np.arange(n_sets) % 3:
            for name in HELD_OUT:
                law, truth = population(name, int(level), n_classes)
                margins, y = law.sample(n_classes, rng.integers(2**31))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = (
                        measured(margins, y)
                        if mistake
                        else intervals(margins, y, sizes)
                    )
                for source, (low, high) in found.items():
                    wrong = ((truth < low) | (truth > high)).mean()
                    missed.setdefault(source, []).append(wrong)
        for source, values in missed.items():
            where = f"from {n_classes} classes, by {source}, 11 populations"
            name = "Extrapolated accuracy, 90% interval, 2, 4 and 10 times as many"
            yield Row(name, where, values, nominal=0.15)
