"""Every factor of a lower bound, through the searchlight, against its formula."""

import numpy as np
import pytest
import scipy.sparse
from scipy import optimize
from scipy.stats import beta

from neuroextrap import stats
from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight

K, N_RUNS, N_REGIONS, ALPHA = 40, 4, 3, 0.1
SIZES = np.array([2, 5, 10, 20, K])
RNG = np.random.default_rng(0)
CENTERS = 3 * RNG.normal(size=(K, 60))
REPEATS = {"equal": np.ones(K, dtype=int), "unequal": np.tile([1, 1, 2, 4], K // 4)}


def draw(repeats):
    """Return samples of three regions, classes and runs.

    ``repeats`` (K,) or (N_RUNS, K) are the samples of each class in each run.
    """
    repeats = np.broadcast_to(repeats, (N_RUNS, K))
    y = np.tile(np.arange(K), N_RUNS).repeat(repeats.ravel())
    runs = np.repeat(np.arange(N_RUNS), repeats.sum(axis=1))
    X = CENTERS[y] + RNG.normal(size=(len(y), 60)) * np.repeat([2, 4, 6], 20)
    return X, y, runs


def fit_samples(X, y, runs, where):
    regions = scipy.sparse.csr_array(np.kron(np.eye(N_REGIONS), np.ones((1, 20))))
    cv = (
        [(np.flatnonzero(runs < 2), np.flatnonzero(runs > 1))]
        if where == "split"
        else None
    )
    bounds = Bounds("auto" if where == "split" else where, confidence_level=1 - ALPHA)
    light = IdentificationSearchLight(regions=regions, cv=cv, bounds=bounds)
    return light.fit(X, y, groups=runs)


def fit(repeats, where):
    return fit_samples(*draw(repeats), where)


def fano(p):
    """Least bits about which of K equally frequent classes, at Bayes accuracy p."""
    return np.log2(K) + p * np.log2(p) + (1 - p) * np.log2((1 - p) / (K - 1))


# Four runs; two of them are tested in each order, one in each fold, two in the split.
# Steps of an order average over test points that are not the same, folds need not.
N_TESTED = {"forward": 2, "folds": 1, "split": 2}


@pytest.mark.parametrize("where", N_TESTED)
@pytest.mark.parametrize("repeats", REPEATS.values(), ids=REPEATS)
def test_bounds_are_their_formulas(where, repeats):
    light = fit(repeats, where)
    found, wins = light.region_scores_, light.results_.bound_wins
    curves = stats.average_accuracy(wins, SIZES)
    noise = np.mean(1 / repeats) / N_TESTED[where]
    for n_regions, ending in ((1, ""), (N_REGIONS, "_fwe")):
        log_term = np.log(n_regions / ALPHA)
        margin = np.sqrt((1 + noise) * log_term / (2 * K))
        average = np.maximum(curves[:, -1] - margin, 1 / K)
        assert (average > 1 / K).any()
        name = f"average_bayes_accuracy_bound{ending}"
        np.testing.assert_allclose(found[name], average, rtol=1e-6)
        log_term += np.log(len(SIZES))
        margin = np.sqrt((1 + noise) * log_term / (2 * K))
        bits = stats.min_information(np.maximum(curves - margin, 1 / SIZES), SIZES)
        name = f"information_bound{ending}"
        np.testing.assert_allclose(found[name], bits.max(axis=1), atol=1e-5)
        assert bits.max() > 0.5
        bayes = found[f"bayes_accuracy_bound{ending}"]
        if where != "forward":
            margin = np.sqrt(noise * np.log(n_regions / ALPHA) / (2 * K))
            expected = np.maximum(curves[:, -1] - margin, 1 / K)
            if where == "split" and repeats.max() == 1:  # points that can be counted
                right = np.rint(curves[:, -1] * 2 * K)
                expected = beta.ppf(ALPHA / n_regions, right, 2 * K - right + 1)
            np.testing.assert_allclose(bayes, expected, rtol=1e-6)
        name = f"class_information_bound{ending}"
        np.testing.assert_allclose(found[name], fano(bayes), atol=1e-5)


def naive_bound(counts, n_regions):
    """Where the mean bet on two steps (4 orders), the heaviest of K, is as unlikely."""

    def excess(accuracy):
        growth = np.array([1.2, 1.5, 2, 3, 5, 10, 20])[:, np.newaxis]
        fair = (1 + (growth - 1) * accuracy) ** (2 * K)
        bets = growth ** counts.sum(axis=1) / fair
        return np.log(bets.mean() * ALPHA / n_regions)

    return optimize.brentq(excess, 0, 1)


@pytest.mark.parametrize("repeats", REPEATS.values(), ids=REPEATS)
def test_given_classes_are_bounded_by_forward_tests_of_weighted_points(repeats):
    """Points of a class share its weight; so many regions share the error."""
    light = fit(repeats, "forward")
    counts = light.results_.scores.n_correct.reshape(N_REGIONS, N_RUNS, 2)
    accuracy = light.region_scores_["accuracy"]
    np.testing.assert_allclose(counts.mean(axis=(1, 2)) / K, accuracy, atol=0.15)
    for n_regions, ending in ((1, ""), (N_REGIONS, "_fwe")):
        bound = [naive_bound(own.astype(float), n_regions) for own in counts]
        found = light.region_scores_[f"bayes_accuracy_bound{ending}"]
        np.testing.assert_allclose(found, np.maximum(bound, 1 / K), rtol=1e-6)
        assert found.max() > 0.5


def naive_accuracies(X, y, train, test):
    """Accuracy of nearest class means, in every region."""
    found = []
    for of_region in np.split(X.astype(np.float32).astype(float), N_REGIONS, axis=1):
        means = np.stack([of_region[train & (y == k)].mean(axis=0) for k in range(K)])
        far = ((of_region[test][:, None] - means) ** 2).sum(axis=2)
        found.append((far.argmin(axis=1) == y[test]).mean())
    return np.array(found)


@pytest.mark.filterwarnings("ignore:some classes come earlier in runs")
@pytest.mark.parametrize("where", ["forward", "folds"])
def test_runs_of_unequal_length_weigh_as_they_should(where):
    """Folds weigh by their size, steps of an order by the inverse of their noise."""
    repeats = np.outer([1, 2, 1, 3], REPEATS["equal"])
    X, y, runs = draw(repeats)
    light = fit_samples(X, y, runs, where)
    noises = np.mean(1 / repeats, axis=1)
    if where == "folds":
        parts = [naive_accuracies(X, y, runs != r, runs == r) for r in range(N_RUNS)]
        share = repeats.sum(axis=1) / repeats.sum()
        accuracy, noise = share @ parts, (share @ np.sqrt(noises)) ** 2
    else:
        of_orders, errors = [], []
        for start in range(N_RUNS):
            order = np.roll(np.arange(N_RUNS), -start)
            parts = [
                naive_accuracies(X, y, np.isin(runs, order[:step]), runs == order[step])
                for step in (2, 3)
            ]
            precision = 1 / noises[order[2:]]
            of_orders.append(precision @ parts / precision.sum())
            errors.append(precision.sum() ** -0.5)
        accuracy, noise = np.mean(of_orders, axis=0), np.mean(errors) ** 2
    found = light.region_scores_
    for n_regions, ending in ((1, ""), (N_REGIONS, "_fwe")):
        log_term = np.log(n_regions / ALPHA)
        expected = accuracy - np.sqrt((1 + noise) * log_term / (2 * K))
        name = f"average_bayes_accuracy_bound{ending}"
        np.testing.assert_allclose(found[name], np.maximum(expected, 1 / K), rtol=1e-6)
        assert (expected > 1 / K).any()
        if where == "folds":
            expected = accuracy - np.sqrt(noise * log_term / (2 * K))
            name = f"bayes_accuracy_bound{ending}"
            np.testing.assert_allclose(
                found[name], np.maximum(expected, 1 / K), rtol=1e-6
            )


def test_two_classes_have_bounds():
    y, runs = np.tile([0, 1], 40), np.repeat(np.arange(8), 10)
    X = RNG.normal(size=(80, 5)) + 2 * y[:, None]
    light = IdentificationSearchLight().fit(X, y, groups=runs)
    assert light.region_scores_["bayes_accuracy_bound"][0] > 0.7


def test_folds_that_lack_a_class_have_no_bounds():
    """Otherwise a rule that says the class rarest in training would be above chance."""
    y, runs = np.tile([0, 1], 40), np.repeat(np.arange(8), 10)
    X = RNG.normal(size=(80, 5)) + 2 * y[:, None]
    test = np.flatnonzero(runs == 0), np.flatnonzero((runs == 1) & (y == 1))
    folds = [(np.setdiff1d(np.arange(80), rows), rows) for rows in test]
    light = IdentificationSearchLight(cv=folds).fit(X, y, groups=runs)
    assert "bayes_accuracy_bound" not in light.region_scores_
    assert any("does not test every class" in note for note in light.notes_)
