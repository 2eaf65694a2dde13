"""Two conditions, sessions or tasks compared, against loops, and what is refused."""

import itertools

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from tests.decoding.seam import two_sample_exchange_test

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
REGIONS = np.kron(np.eye(3), np.ones(4))


def simulate(seed, n_runs=6, n_classes=3, first_run=0, signal=1.0):
    rng = np.random.default_rng(seed)
    order = [rng.permutation(np.tile(np.arange(n_classes), 2)) for _ in range(n_runs)]
    y = np.concatenate(order)
    runs = np.repeat(first_run + np.arange(n_runs), 2 * n_classes)
    X = rng.normal(size=(len(y), 12))
    X[:, :4] += signal * rng.normal(size=(n_classes, 4))[y]
    return X, y, runs


def fitted(X, y, runs, **options):
    light = IdentificationSearchLight(regions=REGIONS, bounds=None, **options)
    return light.fit(X, y, groups=runs)


def run_accuracies(X, y, runs):
    """Accuracy of every run that is left out, (n_regions, n_runs)."""
    found = []
    for members in REGIONS.astype(bool):
        for run in np.unique(runs):
            train, test = runs != run, runs == run
            model = NearestCentroid().fit(X[train][:, members], y[train])
            found.append(np.mean(model.predict(X[test][:, members]) == y[test]))
    return np.reshape(found, (len(REGIONS), -1))


def corrected(score, explained, total, n):
    """Divide t by the root of 2 (n - 1) / (n - 3), and return the score that has it."""
    t_squared = explained / (total - explained) * (n - 3) / (2 * (n - 1))
    smaller = total * t_squared / (1 + t_squared)
    share = np.divide(smaller, explained, np.zeros(len(score)), where=explained > 0)
    return score * np.sqrt(share)


def naive_paired(first, second):
    """Flip the signs of all runs, in every way, and correct the observed sum."""
    d = first - second
    n = d.shape[1]
    score = d.mean(axis=1)
    seen = corrected(score, n * score**2, (d**2).sum(axis=1), n)
    flips = np.array(list(itertools.product([1, -1], repeat=n)))
    others = np.delete(np.abs(flips @ d.T / n), 0, axis=0)  # without the observed
    return score, seen, others


def naive_unpaired(first, second):
    """Exchange runs between both in every way, and correct the observed difference."""
    every, n, k = np.hstack([first, second]), first.shape[1], second.shape[1]
    score = first.mean(axis=1) - second.mean(axis=1)
    total = ((every - every.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    seen = corrected(score, score**2 * n * k / (n + k), total, min(n, k))
    others = []
    for chosen in itertools.combinations(range(n + k), n):
        rest = np.setdiff1d(np.arange(n + k), chosen)
        others.append(every[:, list(chosen)].mean(axis=1) - every[:, rest].mean(axis=1))
    return score, seen, np.abs(others)[1:]


@pytest.mark.parametrize("paired", ["runs", None])
def test_equals_exchanges_of_the_accuracies_of_runs(paired):
    n_second = 6 if paired else 5
    one, two = simulate(0), simulate(1, n_second, first_run=0 if paired else 10)
    maps = compare_decoders(
        fitted(*one), fitted(*two), paired=paired, n_permutations=1000
    )
    naive = naive_paired if paired else naive_unpaired
    first, second = run_accuracies(*one), run_accuracies(*two)
    score, seen, others = naive(first, second)
    np.testing.assert_allclose(maps["first_accuracy"], first.mean(axis=1))
    np.testing.assert_allclose(maps["second_accuracy"], second.mean(axis=1))
    np.testing.assert_allclose(maps["accuracy_difference"], score)
    floor = np.abs(seen) - 1e-9
    p = (1 + (others >= floor).sum(axis=0)) / (1 + len(others))
    if paired:  # half of the flips are used, because a flip of all changes nothing
        assert maps.n_permutations_ == len(others) // 2
    else:
        assert maps.n_permutations_ == len(others)
    largest = others.max(axis=1)[:, None]
    p_fwe = (1 + (largest >= floor).sum(axis=0)) / (1 + len(others))
    np.testing.assert_allclose(maps["p_value"], p, atol=1 / len(others))
    np.testing.assert_allclose(maps["p_value_fwe"], p_fwe, atol=1 / len(others))
    assert maps.n_units_ == (6 if paired else 11)
    assert maps.approximate_


def test_other_orders_of_rows_are_the_same():
    one, two = simulate(0), simulate(1)
    rows = np.random.default_rng(0).permutation(len(one[1]))
    shuffled = tuple(values[rows] for values in one)
    expected = compare_decoders(fitted(*one), fitted(*two), paired="runs")
    found = compare_decoders(fitted(*shuffled), fitted(*two), paired="runs")
    for name in ("accuracy_difference", "p_value", "p_value_fwe"):
        np.testing.assert_allclose(found[name], expected[name])


def test_tasks_of_other_numbers_of_classes_are_compared_at_one():
    one, two = fitted(*simulate(0)), fitted(*simulate(1, n_classes=5))
    with pytest.raises(ValueError, match="among 3 classes in first and 5 in second"):
        compare_decoders(one, two, paired="runs")
    found = compare_decoders(one, two, paired="runs", statistic="pairwise_accuracy")
    np.testing.assert_allclose(
        found["accuracy_difference"],
        one.region_scores_["pairwise_accuracy"]
        - two.region_scores_["pairwise_accuracy"],
    )


def test_a_difference_is_found_by_runs_and_by_sessions():
    one, two = simulate(0, 8, signal=3.0), simulate(1, 8, first_run=20, signal=0.0)
    both = fitted(*one), fitted(*two)
    sessions = compare_decoders(*both, paired=None)
    assert sessions["p_value_fwe"][0] <= 0.05 < sessions["p_value_fwe"][1]
    pair = fitted(*one), fitted(two[0], two[1], two[2] - 20)
    runs = compare_decoders(*pair, paired="runs", two_sided=False, step_down=True)
    assert runs["p_value_fwe"][0] <= 0.05 < runs["p_value_fwe_step_down"][1]
    assert "trained" in sessions.notes_[0] or "train" in " ".join(sessions.notes_)


def test_refusals():
    one, two = simulate(0), simulate(1, first_run=10)
    both = fitted(*one), fitted(*two)
    with pytest.raises(ValueError, match="same names of runs"):
        compare_decoders(*both, paired="runs")
    with pytest.raises(ValueError, match="fit both to the same"):
        compare_decoders(*both)
    with pytest.raises(ValueError, match="paired='session' must be"):
        compare_decoders(*both, paired="session")
    with pytest.raises(ValueError, match="compares whole runs"):
        compare_decoders(*both, paired=None, unit="sample")
    again = fitted(*one)
    for paired in ("samples", "runs", None):  # a second fit replaces the first
        with pytest.raises(ValueError, match="first and second are one searchlight"):
            compare_decoders(again, again.fit(*two), paired=paired)
    alone = fitted(one[0], one[1], None, cv=3)
    with pytest.raises(ValueError, match="fit both with groups"):
        compare_decoders(alone, both[1], paired=None)


def test_two_samples_step_down_and_one_sided():
    values = np.random.default_rng(0).normal(size=(4, 12))
    values[0, :6] += 3
    test = two_sample_exchange_test(
        values, 6, n_permutations=300, two_sided=False, step_down=True
    )
    assert (test.p_value_fwe_step_down <= test.p_value_fwe).all()
    np.testing.assert_allclose(
        test.score, values[:, :6].mean(axis=1) - values[:, 6:].mean(axis=1)
    )
    assert test.p_value[0] == 1 / 301
