"""Information over subjects: bounds for these, for their population, intervals."""

import warnings

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.validity.registry import Row, check
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import group_information
from neuroextrap.stats._subject_bounds import population_accuracy_lower_bound

FAMILY = "Information over subjects"
N_REGIONS = 20
REGIONS = np.kron(np.eye(N_REGIONS), np.ones((1, 3)))


def told(distance):
    """Return bits about two classes whose means lie `distance` SD from the middle."""
    x = np.linspace(-9, 9, 2001)
    far = np.asarray(distance)[..., np.newaxis]
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    lost = np.logaddexp(0, -2 * far * (far + x)) / np.log(2)
    return 1 - np.trapezoid(density * lost, x, axis=-1)


def summarize(rng, distances):
    """Return the group's numbers from subjects' `distances` (n_subjects, N_REGIONS)."""
    y, runs = np.tile([0, 0, 1, 1], 8), np.arange(8).repeat(4)
    subjects = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for away in distances:
            x = rng.normal(size=(len(y), 3 * N_REGIONS))
            x[:, ::3] += np.outer(2 * y - 1, away)
            light = IdentificationSearchLight(regions=REGIONS)
            subjects.append(light.fit(x, y, groups=runs))
        return group_information(
            subjects, n_bootstrap=500, random_state=rng.integers(2**31)
        )


@check(FAMILY, n_sets=80, quick=5, mistakes=2)
def subjects_and_population(rng, n_sets, *, mistake=False):
    """Bounds and intervals; mistake: these subjects' bound as the population's."""
    laws = {
        "half of them tell all, half nothing": lambda shape: (
            3.0 * (rng.random(shape) < 0.5)
        ),
        "all tell somewhat, unequally": lambda shape: (
            np.exp(0.6 * rng.normal(size=shape)) * 0.5
        ),
    }
    n_subjects = 4 if mistake else 8
    n_sets = 4 * n_sets if mistake else n_sets
    for law, draw in laws.items():
        if mistake and "half" not in law:
            continue
        every = draw((200_000,))
        grid = np.linspace(0, every.max(), 1000)
        bits = np.interp(every, grid, told(grid))
        population = ndtr(every).mean(), bits.mean()
        truths = {"population": [], "subjects": []}
        found = []
        for _ in range(n_sets):
            distances = draw((n_subjects, N_REGIONS))
            found.append(summarize(rng, distances))
            these = ndtr(distances).mean(axis=0), told(distances).mean(axis=0)
            truths["subjects"].append(these)
            truths["population"].append(np.multiply.outer(population, these[0] ** 0))
        where = f"{n_subjects} subjects, {law}"
        for whose, truth in truths.items():
            yield from _bounds(whose, np.array(truth), found, where, mistake)
        if mistake:
            continue
        bits, low, high = (
            np.array([maps[f"implied_information{end}"] for maps in found])
            for end in ("", "_lower", "_upper")
        )
        # all sets together say what a mean is expected to be
        missed = (bits.mean() < low) | (bits.mean() > high)
        name = "Mean implied information over subjects, 95% interval (approximate)"
        # few subjects of very unequal, skewed information: see the documentation
        scope = "unequally" not in law
        yield Row(name, where, missed.mean(axis=1), nominal=0.1, in_scope=scope)


@check(FAMILY, n_sets=400, quick=10)
def selected_by_their_e_values(rng, n_sets, *, mistake=False):
    """Bounds of what exceeds chance; mistake: bounds of one region for the selected."""
    n_subjects, chance = 20, 0.25
    n_tested, tie = (1000, 0.0) if mistake else (400, 0.5)
    laws = {  # accuracies of the same uniform numbers
        "normal, SD .08": lambda mean, u: (mean + 0.08 * ndtri(u)).clip(0, 1),
        "all or nothing": lambda mean, u: (u < mean) * 1.0,
    }
    for law, draw in laws.items():
        if mistake and law != "all or nothing":
            continue
        for n_told in (0,) if mistake else (4, 120):
            means = np.where(np.arange(n_tested) < n_told, 0.6, chance)
            wrong = []
            for _ in range(n_sets):
                u = rng.random((n_subjects, n_tested))
                tied = rng.random(u.shape) < tie  # regions go up and down together
                u = np.where(tied, rng.random((n_subjects, 1)), u)
                accuracy = draw(means, u)
                chosen = {} if mistake else {"chance": chance}
                bound = population_accuracy_lower_bound(accuracy, **chosen)
                over = (bound > means + 1e-9)[bound >= chance]
                wrong.append(over.mean() if len(over) else 0.0)
            where = f"{n_told} of {n_tested} regions above chance, {law}"
            yield Row("Bounds of selected regions, false coverage", where, wrong)


def _bounds(whose, truth, found, where, mistake):
    """Yield rows of bounds by `truth` (n_sets, 2, N_REGIONS): accuracy and bits."""
    if mistake and whose == "subjects":
        return
    names = "Bayes accuracy", "Information about the classes"
    keys = "bayes_accuracy_bound", "class_information_bound"
    owner = "subjects" if mistake else whose
    for at, (name, key) in enumerate(zip(names, keys, strict=True)):
        for suffix, family in (("", "one region"), ("_fwe", f"{N_REGIONS} at once")):
            bound = np.array([maps[f"{owner}_{key}{suffix}"] for maps in found])
            over = bound > truth[:, at] + 1e-9
            if mistake and (suffix or at):
                continue
            missed = over.any(axis=1) if suffix else over.mean(axis=1)
            yield Row(f"{name}, mean over {whose}, {family}", where, missed)
