"""Confounds of trials that explain what is decoded, and other comparisons."""

import warnings

import numpy as np
import scipy.sparse

from benchmarks.validity.registry import Row, check, chosen
from neuroextrap.decoding import (
    IdentificationSearchLight,
    compare_decoders,
    trial_confound,
)
from neuroextrap.group import second_level_test

FAMILY = "Confounds of trials, and comparisons of other samples"
LEVEL = 0.05 + 1e-12
N_REGIONS, WIDTH, N_RUNS = 10, 10, 8
REGIONS = scipy.sparse.csr_array(np.kron(np.eye(N_REGIONS), np.ones((1, WIDTH))))


def light(rng, **options):
    """Return a searchlight of the regions, with a seed of its own."""
    seed = int(rng.integers(2**31))
    return IdentificationSearchLight(regions=REGIONS, random_state=seed, **options)


def trials(rng, n_classes, n_trials):
    """Return classes in random order within runs, and runs."""
    order = [rng.permutation(np.arange(n_trials) % n_classes) for _ in range(N_RUNS)]
    return np.concatenate(order), np.repeat(np.arange(N_RUNS), n_trials)


def driven(rng, drive):
    """Return responses to a drive (n_samples,) of random size, and noise."""
    gain = rng.normal(size=N_REGIONS * WIDTH)
    return drive[:, None] * gain + rng.normal(size=(len(drive), gain.size))


def confounds(rng, y):
    """Yield confounds that go along with classes, what drives responses, and words."""
    far = (y - y.mean()) / max(1, y.max())
    time = far + rng.normal(size=len(y))
    yield time, time, "reaction time, classes 1 SD apart, linear responses"
    yield time, np.sign(time), "reaction time, classes 1 SD apart, a step"
    level = np.where(rng.random(len(y)) < 0.5 + 0.3 * np.sign(far), "hard", "easy")
    yield level, level == "hard", "two levels, .8 and .2 hard"


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def confounded_classes(rng, n_sets, *, mistake=False):
    """Only the confound drives responses; mistake: labels exchanged within runs."""
    prefix = "unrestricted_" if mistake else ""
    for n_classes, n_trials in ((2, 20),) if mistake else ((2, 20), (4, 20)):
        found: dict[str, list] = {}
        for _ in range(n_sets):
            y, runs = trials(rng, n_classes, n_trials)
            for confound, drive, where in confounds(rng, y):
                search = light(rng, n_permutations=99, bounds=None)
                x = driven(rng, drive)
                with warnings.catch_warnings():  # some classes come late by chance
                    warnings.simplefilter("ignore")
                    maps = trial_confound(search, x, y, runs, confound)
                broken = [
                    (maps[f"{prefix}p_value"] <= LEVEL).mean(),
                    maps[f"{prefix}p_value_fwe"].min() <= LEVEL,
                ]
                found.setdefault(where, []).append(broken)
        for where, values in found.items():
            local, family = np.transpose(values)
            design = f"{n_classes} classes, {N_RUNS} runs x {n_trials}, {where}"
            yield Row("Exchange within strata, one region", design, local)
            yield Row(
                f"Exchange within strata, {N_REGIONS} regions at once", design, family
            )


@check(FAMILY, n_sets=400, quick=10)
def information_beyond(rng, n_sets, *, mistake=False):
    """Bounds beyond a level that drives everything; mistake: the level ignored."""
    found = []
    for _ in range(n_sets):
        y, runs = trials(rng, 2, 20)
        level = (rng.random(len(y)) < 0.15 + 0.7 * y).astype(int)
        x = driven(rng, 2.0 * level)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if mistake:
                fitted = light(rng).fit(x, y, groups=runs).region_scores_
                bits = fitted["class_information_bound_fwe"]
            else:
                search = light(rng, n_permutations=1)
                maps = trial_confound(search, x, y, runs, level)
                bits = maps["information_bound_beyond_fwe"]
        found.append(bits.max() > 0)
    where = (
        f"2 classes, {N_RUNS} runs x 20, .85 and .15 of the hard level, 0 bits beyond"
    )
    yield Row(f"Bits beyond a confound, {N_REGIONS} regions at once", where, found)


def equally_good(rng, signal, sizes, n_classes, n_trials, noises):
    """Return two fitted searchlights, each with codes and runs of its own.

    The codes differ by a permutation and by signs of the features of every region.
    """
    code = signal * rng.normal(size=(n_classes, N_REGIONS, WIDTH))
    fitted = []
    for n_runs, noise in zip(sizes, noises, strict=True):
        order = rng.permutation(WIDTH)
        own = code[:, :, order] * rng.choice([-1, 1], size=WIDTH)
        y = np.tile(np.arange(n_classes), n_trials // n_classes * n_runs)
        runs = np.repeat(np.arange(n_runs), n_trials)
        x = own.reshape(n_classes, -1)[y]
        x = x + noise * rng.normal(size=x.shape)
        search = light(rng, bounds=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.append(search.fit(x, y, groups=runs))
    return fitted


@check(FAMILY, n_sets=300, quick=6, mistakes=8)
def equal_conditions(rng, n_sets, *, mistake=False):
    """Codes equally good in both; mistake: one of them is noisier."""
    designs = [
        (2, 16, 0.0, (8, 8)),
        (2, 16, 0.5, (8, 8)),
        (4, 16, 0.4, (6, 6)),
        (8, 16, 0.4, (12, 12)),
        (2, 40, 0.25, (4, 4)),
    ]
    for paired in ("runs", None):
        more = [] if paired else [(4, 16, 0.4, (5, 10))]
        some = designs[1:2] if mistake else chosen([*designs, *more], n_sets)
        for n_classes, n_trials, signal, sizes in some:
            local, family = [], []
            noises = (4 if mistake else 1, 1)
            for _ in range(n_sets):
                both = equally_good(rng, signal, sizes, n_classes, n_trials, noises)
                maps = compare_decoders(
                    *both,
                    paired=paired,
                    n_permutations=199,
                    random_state=int(rng.integers(2**31)),
                )
                local.append((maps["p_value"] <= LEVEL).mean())
                family.append(maps["p_value_fwe"].min() <= LEVEL)
            what = "conditions in the same runs" if paired else "sessions"
            where = f"{n_classes} classes x {n_trials // n_classes}, "
            where += f"{sizes[0]} and {sizes[1]} runs, unrelated codes of {signal:g} SD"
            yield Row(f"Two {what}, one region (approximate)", where, local)
            yield Row(
                f"Two {what}, {N_REGIONS} regions at once (approximate)", where, family
            )


@check(FAMILY, n_sets=1500, quick=60)
def pairs_over_subjects(rng, n_sets, *, mistake=False):
    """Two regions or decoders of subjects; mistake: no correction for the pairs."""
    for where, shift in (("equal means", 0.0), ("subjects differ by 3 SD", 3.0)):
        found = []
        for _ in range(n_sets):
            level = shift * rng.normal(size=(12, 1))
            first, second = level + rng.standard_t(5, size=(2, 12, N_REGIONS))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                maps = second_level_test(
                    first,
                    paired_imgs=second,
                    two_sided=True,
                    n_permutations=199,
                    random_state=int(rng.integers(2**31)),
                )
            p = maps["p_value" if mistake else "p_value_fwe"]
            found.append(p.min() <= LEVEL)
        name = f"Paired accuracies over subjects, {N_REGIONS} pairs at once"
        yield Row(name, f"12 subjects, {where}", found)
