"""When classes come in runs, against definitions and tests known by name."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats as laws

from neuroextrap.decoding import IdentificationSearchLight, trial_confound
from neuroextrap.design import examine
from tests.design.seam import (
    classes_follow_time,
    code_labels,
    drifts,
    position_in_run,
    time_test,
    without_means,
)


def random_order(rng, n_runs=6, n_trials=12, n_classes=3):
    order = np.tile(np.arange(n_trials) % n_classes, (n_runs, 1))
    return rng.permuted(order, axis=1).ravel(), np.repeat(np.arange(n_runs), n_trials)


def repetitions(rng, n_runs=6):
    """Eight pictures are shown twice in each run; which is the second time?"""
    runs = [rng.permutation(np.repeat(np.arange(8), 2)) for _ in range(n_runs)]
    again = [[x in run[:i] for i, x in enumerate(run)] for run in runs]
    return np.ravel(again).astype(int), np.repeat(np.arange(n_runs), 16)


def late(rng, n_runs=6):
    """Slow responses, which are a little more frequent late in a run."""
    time = np.tile(np.linspace(-1, 1, 16), n_runs)
    slow = 0.7 * time + rng.normal(size=len(time)) > 0
    return slow.astype(int), np.repeat(np.arange(n_runs), 16)


def drift(rng, runs, size=1.0, *, alike=True):
    """Noise, and a linear change in each run, with or without one pattern for all."""
    n_runs = runs.max() + 1
    pattern = rng.normal(size=(1 if alike else n_runs, 50))
    time = position_in_run(code_labels(runs % 2, None, runs, None))
    change = size * time[:, None] * (pattern if alike else pattern[runs])
    return rng.normal(size=(len(runs), 50)) + change


def told(y, runs, X=None, **options):
    findings = examine(y, runs, X=X, n_permutations=0, **options)
    return [found for found in findings if found.name == "classes_follow_time"]


def test_positions_are_those_of_times_or_rows():
    runs = np.array(list("bbaabac"))
    labels = code_labels(runs, None, runs, None)
    assert position_in_run(labels).tolist() == [-1, 0, -1, 0, 1, 1, 0]
    time = np.array([9, 8, 3, 2, 7, 1, 4])
    labels = code_labels(runs, None, runs, None, time)
    assert position_in_run(labels).tolist() == [1, 0, 1, 0, -1, -1, 0]


@pytest.mark.parametrize("n_classes", [3, 5])
def test_one_trial_of_a_class_in_each_run_is_friedmans_test(n_classes):
    rng = np.random.default_rng(n_classes)
    y, runs = random_order(rng, 7, n_classes, n_classes)
    labels = code_labels(y, None, runs, None)
    place = position_in_run(labels)
    ours = time_test(place, labels)
    expected = laws.friedmanchisquare(*(place[y == k] for k in range(n_classes)))
    assert ours.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_one_run_is_the_test_of_kruskal_and_wallis():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [4, 9, 6]))
    labels = code_labels(y, None, np.zeros(len(y)), None)
    place = position_in_run(labels)
    ours = time_test(place, labels)
    expected = laws.kruskal(*(place[y == k] for k in range(3)))
    assert ours.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    means = [place[y == k].mean() for k in range(3)]
    explained = sum(n * m**2 for n, m in zip([4, 9, 6], means, strict=True))
    assert ours.share == pytest.approx(explained / (place**2).sum())


@pytest.mark.parametrize("power", [1, 2])
def test_moments_are_those_of_all_labelings_of_blocks(power):
    """Two runs and blocks of unequal length, which move as a whole."""
    blocks = np.array([0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5, 6, 6, 6, 7])
    of_block = np.array([0, 1, 2, 1, 0, 2, 1, 0])
    runs = (blocks > 3).astype(int)
    labels = code_labels(of_block[blocks], None, runs, blocks)
    score = position_in_run(labels) ** power
    means = np.array([score[blocks == b].mean() for b in range(8)])
    means[:4] -= means[:4].mean()
    means[4:] -= means[4:].mean()

    def sums(codes):
        return np.array([means[codes == k].sum() for k in range(3)])

    every = [
        sums(np.array(first + second))
        for first, second in product(
            permutations(of_block[:4].tolist()), permutations(of_block[4:].tolist())
        )
    ]
    observed, covariance = sums(of_block), np.cov(np.transpose(every), ddof=0)
    statistic = observed @ np.linalg.pinv(covariance) @ observed
    ours = time_test(score, labels)
    assert ours.p_value == pytest.approx(laws.chi2.sf(statistic, 2), rel=1e-9)
    np.testing.assert_allclose(ours.scores, means[blocks], atol=1e-12)


@pytest.mark.parametrize("alike", [True, False])
def test_drift_is_what_pairs_of_runs_have_in_common(alike):
    rng = np.random.default_rng(1)
    y, runs = random_order(rng)
    X, labels = drift(rng, runs, 0.25, alike=alike), code_labels(y, None, runs, None)
    time = position_in_run(labels)
    rest = X - np.stack([X[runs == run].mean(axis=0) for run in runs])
    rest -= np.stack([rest[y == k].mean(axis=0) for k in y])
    rest /= rest.std(axis=0)
    patterns = [(rest * time[:, None])[runs == run].sum(axis=0) for run in range(6)]
    products = [patterns[i] @ patterns[j] for i in range(6) for j in range(i)]
    expected = sum(products) / np.sqrt(np.square(products).sum())
    assert drifts(without_means(X, labels), time, labels) == (expected > 2.3) == alike


def test_two_or_three_runs_have_no_drift_for_sure():
    rng = np.random.default_rng(2)
    for n_runs, seen in ((2, False), (3, False), (4, True)):
        y, runs = random_order(rng, n_runs)
        labels = code_labels(y, None, runs, None)
        X = drift(rng, runs, 5.0)
        assert drifts(without_means(X, labels), position_in_run(labels), labels) == seen
    assert not drifts(None, position_in_run(labels), labels)


@pytest.mark.parametrize("seed", range(5))
def test_repetitions_come_late(seed):
    """With samples and without; in the order of times, not of rows."""
    rng = np.random.default_rng(seed)
    y, runs = repetitions(rng)
    (found,) = told(y, runs)
    assert found.grade == "doubtful"
    assert 0.2 < found.seen < 0.6
    assert "if responses change" in found.effect
    assert "give fit(..., order=...)" in found.remedy
    (found,) = told(y, runs, drift(rng, runs))
    assert "the samples do change" in found.because
    assert "if responses" not in found.effect
    rows, time = rng.permutation(len(y)), np.tile(np.arange(16), 6)
    assert not told(y[rows], runs[rows])
    (found,) = told(y[rows], runs[rows], order=time[rows])
    assert found.remedy.startswith("give the position in its run")


def test_a_little_later_is_told_where_samples_drift():
    rng, drifting, steady = np.random.default_rng(0), 0, 0
    for _ in range(15):
        y, runs = late(rng)
        drifting += bool(told(y, runs, drift(rng, runs)))
        steady += bool(told(y, runs, rng.normal(size=(len(y), 50))))
    assert drifting >= 12
    assert steady <= 7


def test_random_orders_are_told_as_often_as_promised():
    """In drift .05 for each of two courses; without drift hardly ever."""
    rng, told_of = np.random.default_rng(1), np.zeros(3)
    for _ in range(150):
        y, runs = random_order(rng)
        labels, steady = code_labels(y, None, runs, None), rng.normal(size=(len(y), 50))
        for i, X in enumerate(
            (drift(rng, runs), steady, drift(rng, runs, alike=False))
        ):
            told_of[i] += (
                classes_follow_time(without_means(X, labels), labels) is not None
            )
    assert 1 <= told_of[0] <= 20
    assert told_of[1:].sum() <= 6


def test_scans_of_blocks_are_not_taken_for_trials():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, runs = random_order(rng, 6, 6, 3)
        y, runs, blocks = np.repeat(y, 9), np.repeat(runs, 9), np.repeat(range(36), 9)
        assert not told(y, runs)
        assert not told(y, runs, blocks=blocks)


@pytest.mark.parametrize("drifting", [True, False])
def test_a_class_in_the_middle_of_runs_is_told(drifting):
    """Also where rows, and responses, are alike at both ends of a run."""
    rng, middle = np.random.default_rng(4), np.abs(np.linspace(-1, 1, 12)) < 0.5
    runs = np.repeat(np.arange(8), 12)
    y = (np.tile(middle, 8) ^ (rng.random(96) < 0.25)).astype(int)
    labels = code_labels(y, None, runs, None)
    course = position_in_run(labels) ** 2
    X = rng.normal(size=(96, 50)) + drifting * np.outer(course, rng.normal(size=50))
    assert time_test(position_in_run(labels), labels).p_value > 0.05
    found = classes_follow_time(without_means(X, labels), labels)
    assert ("the samples do change" in found.because) == drifting


def test_the_course_in_which_samples_drift_is_the_one_that_is_told():
    """Classes follow the middle of runs most, and their beginning too."""
    rng = np.random.default_rng(6)
    runs, time = np.repeat(np.arange(8), 12), np.tile(np.linspace(-1, 1, 12), 8)
    y = (2 * (time**2 - 0.4) + 0.5 * time + rng.normal(size=96) / 2 > 0).astype(int)
    labels = code_labels(y, None, runs, None)
    linear, quadratic = (time_test(time**power, labels) for power in (1, 2))
    assert quadratic.p_value < linear.p_value < 0.05
    X = rng.normal(size=(96, 50)) + np.outer(time, rng.normal(size=50))
    assert classes_follow_time(without_means(X, labels), labels).seen == pytest.approx(
        linear.share
    )
    assert classes_follow_time(None, labels).seen == pytest.approx(quadratic.share)


def test_many_runs_that_drift_each_in_its_way_have_no_drift_in_common():
    rng = np.random.default_rng(5)
    y, runs = random_order(rng, 24)
    labels = code_labels(y, None, runs, None)
    X = drift(rng, runs, 5.0, alike=False)
    assert not drifts(without_means(X, labels), position_in_run(labels), labels)


def test_blocks_are_told_and_candidates_of_a_regression_are_not():
    rng = np.random.default_rng(6)
    y, runs = repetitions(rng)
    blocks = np.repeat(np.arange(96), 5)
    labels = code_labels(y[blocks], None, runs[blocks], blocks)
    assert classes_follow_time(None, labels) is not None
    assert classes_follow_time(None, labels._replace(blocks=None)) is None
    labels = code_labels(y, None, runs, None)
    assert classes_follow_time(None, labels) is not None
    assert classes_follow_time(None, labels._replace(trained=False)) is None


def test_what_is_advised_is_not_doubtful_itself():
    """Pytest turns warnings into errors; without strata there is one."""
    rng = np.random.default_rng(2)
    y, runs = late(rng)
    X, time = drift(rng, runs), np.tile(np.arange(16), 6)
    light = IdentificationSearchLight(
        regions=np.kron(np.eye(5), np.ones(10)), n_permutations=19, bounds=None
    )
    maps = trial_confound(light, X, y, runs, time, order=time)
    assert "classes_follow_time" not in {found.name for found in maps.findings_}
    with pytest.warns(UserWarning, match="some classes come earlier"):
        light.fit(X, y, groups=runs, order=time)


def test_neighbors_in_time_have_the_remedy():
    """Within strata of the position, times of classes hardly differ."""
    rng = np.random.default_rng(3)
    y, runs = repetitions(rng)
    labels = code_labels(y, None, runs, None)
    strata = np.tile(np.arange(16) // 2, 6)
    place = position_in_run(labels)
    assert time_test(place, labels).p_value < 1e-6
    assert time_test(place, labels._replace(strata=strata)).p_value > 1e-3
