"""Scores of any decoder: exchange of targets, and two decoders compared."""

import warnings
from dataclasses import replace

import numpy as np
from scipy.special import logit
from scipy.stats import t

from benchmarks.validity.registry import Row, check, chosen
from neuroextrap.scores import score_identification

FAMILY = "Identification by scores of any decoder"
LEVEL = 0.05 + 1e-12


def identify(scores, targets, **options):
    """Identify without warnings, and without larger pools."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return score_identification(scores, targets, set_sizes=[10], **options)


def guesses(rng, design):
    """Scores that know nothing of targets, their targets, and groups of trials."""
    if design == "hubs and ties":
        hubs = 2 * rng.normal(size=30)
        return (rng.normal(size=(30, 30)) + hubs).round(), np.arange(30), None
    if design == "unequal repeats, distractors":
        targets = np.repeat([0, 1, 2, 3], [1, 2, 4, 13])
        return rng.normal(size=(20, 25)) + rng.normal(size=25), targets, None
    runs = np.repeat([0, 1], 12)  # each run has its own candidates, and its own mood
    own = np.arange(12) // 6
    scores = rng.normal(size=(24, 12)) + 2.0 * (own == runs[:, np.newaxis])
    return scores, rng.integers(6, size=24) + 6 * runs, runs


@check(FAMILY, n_sets=800, quick=5, mistakes=12)
def exchanged_targets(rng, n_sets, *, mistake=False):
    """Scores of guesses; mistake: runs that have their own targets are not told."""
    designs = ["hubs and ties", "unequal repeats, distractors", "runs of own targets"]
    for design in designs[2:] if mistake else designs:
        found = []
        for _ in range(n_sets):
            scores, targets, groups = guesses(rng, design)
            found.append(
                identify(
                    scores,
                    targets,
                    groups=None if mistake else groups,
                    n_permutations=39,
                    random_state=int(rng.integers(2**31)),
                ).values["p_value"]
                <= LEVEL
            )
        yield Row("Exchange of targets", design, found)


def decoder(rng, candidates, repeats, kind):
    """Scores of a decoder with noise, and their targets."""
    targets = np.repeat(np.arange(len(candidates)), repeats)
    noise = 1.5 * rng.normal(size=(len(targets), candidates.shape[1]))
    scores = 2 * (candidates[targets] + noise) @ candidates.T
    return identify(scores - (candidates**2).sum(axis=1), targets, statistic=kind)


@check(FAMILY, n_sets=400, quick=8, mistakes=24)
def equal_decoders(rng, n_sets, *, mistake=False):
    """Equally good decoders; mistake: an interval of the noise of trials alone."""
    designs = chosen([(40, 1), (40, 4), (100, 1)], n_sets)
    for n_candidates, repeats in [(12, 60)] if mistake else designs:
        for one_pool in (False,) if mistake else (True, False):
            rejected, missed, missed_bits = [], [], []
            for _ in range(2 * n_sets if mistake else n_sets):
                pools = rng.normal(size=(2, n_candidates, 8))
                pools = pools[[0, 0]] if one_pool else pools
                found = [decoder(rng, pool, repeats, 10) for pool in pools]
                if not one_pool:  # names of their own, so that they are not paired
                    others = (np.arange(n_candidates) + 1000).astype(str)
                    found[1] = replace(found[1], names=others)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    compared = found[0].compare(found[1], n_permutations=99)
                table = compared.table.set_index("quantity")
                row, bits = (
                    table.loc[name]
                    for name in ("accuracy_among_10", "implied_information")
                )
                if mistake:
                    values = np.array([row["first"], row["second"]])
                    variance = values * (1 - values) / (n_candidates * repeats)
                    half = 1.96 * np.sqrt(variance.sum())
                    missed.append(abs(row["difference"]) > half)
                    continue
                rejected.append(compared.p_value <= LEVEL)
                missed.append(not row["lower"] <= 0 <= row["upper"])
                missed_bits.append(not bits["lower"] <= 0 <= bits["upper"])
            pool = "one pool" if one_pool else "two pools"
            where = f"{n_candidates} candidates, {repeats} trials of each, {pool}"
            if one_pool:
                yield Row("Two decoders, flipped outcomes of targets", where, rejected)
            name = "Two decoders, 95% interval of accuracy among 10"
            yield Row(name, where, missed, nominal=0.1)
            if not mistake:
                name = "Two decoders, 95% interval of the difference in bits"
                yield Row(name, where, missed_bits, nominal=0.1)


@check(FAMILY, n_sets=400, quick=6, mistakes=24)
def few_tested(rng, n_sets, *, mistake=False):
    """Few targets among many distractors; mistake: as if all had been targets."""
    n_candidates, truth = 60, []
    for _ in range(40):
        pool = rng.normal(size=(300, 8))
        curve = decoder(rng, pool, 1, 10).curve.set_index("set_size")
        truth.append(curve.loc[2, "accuracy"])
    for n_targets in (2,) if mistake else chosen((2, 4, 10), n_sets):
        missed = []
        for _ in range(7 * n_sets if mistake else n_sets):
            pool = rng.normal(size=(n_candidates, 8))
            targets = np.arange(n_targets).repeat(5)
            noise = 1.5 * rng.normal(size=(len(targets), 8))
            scores = 2 * (pool[targets] + noise) @ pool.T - (pool**2).sum(axis=1)
            row = identify(scores, targets).curve.set_index("set_size").loc[2]
            half = logit(row[["lower", "upper"]].to_numpy(dtype=float))
            if mistake:  # as wide as with the t quantile of all candidates
                wide = t.ppf(0.975, n_candidates - 1) / t.ppf(0.975, n_targets - 1)
                half = half.mean() + wide * (half - half.mean())
            missed.append(not half[0] <= logit(np.mean(truth)) <= half[1])
        where = f"{n_targets} targets of {n_candidates} candidates"
        yield Row("95% interval of pairwise accuracy", where, missed)
