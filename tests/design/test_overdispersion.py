"""Runs whose accuracies differ by more than chance."""

import re
import warnings
from html import unescape

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight
from tests.design.seam import (
    code_labels,
    identification_sections,
    make_design,
    run_dispersion,
    shared_classifiers,
)

SENTENCE = "accuracy differs between runs by more than chance"


def recorded(seed, *, attentive, n_runs=8, n_trials=20, n_regions=10):
    """Return samples of two classes, whole runs attentive or not, labels and runs."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation(n_trials) % 2 for _ in range(n_runs)])
    runs = np.repeat(np.arange(n_runs), n_trials)
    gain = (
        rng.integers(0, 2, size=(n_runs, n_regions))
        if attentive
        else np.ones((n_runs, n_regions))
    )
    signal = (2 * y - 1)[:, None] * gain[runs] * 0.9
    noise = rng.normal(size=(len(y), n_regions, 2))
    return (signal[:, :, None] + noise).reshape(len(y), -1), y, runs


def searchlight(n_regions=10, **options):
    """Return a searchlight of pairs of columns."""
    pairs = scipy.sparse.csr_array(np.kron(np.eye(n_regions), np.ones((1, 2))))
    return IdentificationSearchLight(regions=pairs, **options)


def fitted(*data, **options):
    """Return a fitted searchlight and its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        light = searchlight(**options).fit(*data)
    return light, " ".join(str(warning.message) for warning in seen)


def test_every_other_run_tests_the_classifier_of_the_others():
    """In the order of the first rows."""
    y, runs = np.tile([0, 1], 8), np.repeat([5, 3, 9, 1], 4)
    labels = code_labels(y, None, runs, None)
    halves = shared_classifiers(labels, make_design(y, 2, groups=runs))
    (train, test), (other, tested) = halves.folds
    assert set(runs[train]) == set(runs[tested]) == {3, 1}
    assert set(runs[test]) == set(runs[other]) == {5, 9}


def test_a_single_split_is_taken_as_it_is():
    """Its classifier is tested on all runs of the test set."""
    y, runs = np.tile([0, 1], 8), np.repeat(range(4), 4)
    labels = code_labels(y, None, runs, None)
    split = make_design(y, 2, cv=[(np.arange(8), np.arange(8, 16))], groups=runs)
    assert shared_classifiers(labels, split) is split


@pytest.mark.parametrize(
    ("y", "runs"),
    [
        ([0, 1] * 4, None),
        ([0, 1] * 4, [0] * 4 + [1] * 4),
        ([0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]),
    ],
)
def test_designs_that_tell_nothing(y, runs):
    """No runs, one run in each half, and halves that lack a class."""
    labels = code_labels(y, None, runs, None)
    folds = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
    assert shared_classifiers(labels, make_design(labels.codes, 2, cv=folds)) is None


def test_dispersion_is_the_ratio_of_the_formula():
    """Over its mean under all exchanges, here from the variances of class means."""
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1], 60), np.repeat(range(6), 20)
    labels = code_labels(y, None, runs, None)
    design = shared_classifiers(labels, make_design(y, 2, groups=runs))
    tested = runs[design.test]
    outcomes = (rng.random((3, 120)) < np.where(tested % 3, 0.9, 0.5)).astype(float)
    found = []
    for row in outcomes:
        between = within = 0.0
        for fold in (0, 1):
            chosen = design.fold_of_test == fold
            codes, values = y[design.test][chosen], row[chosen].copy()
            for label in (0, 1):
                values[codes == label] -= values[codes == label].mean()
            for run in np.unique(tested[chosen]):
                between += values[tested[chosen] == run].sum() ** 2 / 20
            within += (values**2).sum()
        found.append(between / within)
    # 2 x 3 runs in cells of 30: 10 of them are drawn without replacement
    expected = 6 / 120 * (30 / 29) * (1 - 10 / 30)
    ratio = run_dispersion(outcomes, labels, design)
    assert ratio == pytest.approx(np.mean(found) / expected, rel=0.1)


def test_a_block_counts_once():
    """Copies of the outcomes of a block change nothing."""
    rng = np.random.default_rng(1)
    y, runs = np.tile([0, 1], 40), np.repeat(range(8), 10)
    outcomes = rng.random((2, 80)) < np.where(runs % 4 < 2, 0.95, 0.4)
    once = code_labels(y, None, runs, None)
    blocks = np.repeat(np.arange(80), 3)
    often = code_labels(y[blocks], None, runs[blocks], blocks)
    ratios = []
    for labels, rows in ((once, np.arange(80)), (often, blocks)):
        design = shared_classifiers(
            labels, make_design(labels.codes, 2, groups=labels.groups)
        )
        chances = outcomes[:, rows][:, design.test].astype(float)
        ratios.append(run_dispersion(chances, labels, design))
    assert ratios[0] == pytest.approx(ratios[1])


def test_attentive_runs_are_found(tmp_path):
    """After the maps, in all places where findings are told; the remedy is silent."""
    data = recorded(0, attentive=True)
    light, warned = fitted(*data, n_permutations=19)
    (found,) = (f for f in light.findings_ if f.name == "overdispersed_runs")
    assert found.grade == "doubtful"
    assert found.touches("bayes_accuracy_bound_fwe")
    assert not found.touches("p_value")
    assert found.note in warned
    assert found.note in light.notes_
    light.to_directory(tmp_path)
    assert type(light).from_directory(tmp_path).findings_ == light.findings_
    answer = unescape(dict(identification_sections(light))["What was found"])
    verdict = re.search(r'<p class="verdict">(.*?)</p>', answer).group(1)
    assert f"{found.effect}, because {found.because}" in verdict
    remedied, warned = fitted(*data, bounds=Bounds(test_units="runs"))
    assert SENTENCE not in warned
    bounds = [fit.region_scores_["bayes_accuracy_bound"] for fit in (light, remedied)]
    assert (bounds[1] <= bounds[0]).all()


def test_parts_say_the_same():
    """The regions that are examined do not depend on the part of the run."""
    data = recorded(1, attentive=True)
    whole, _ = fitted(*data)
    part, _ = fitted(*data, shard="1/2")
    found = [n for n in whole.notes_ if n.startswith(SENTENCE)]
    assert found
    assert found == [n for n in part.notes_ if n.startswith(SENTENCE)]


def test_independent_outcomes_are_accepted():
    """10 sets with a signal."""
    warned = [fitted(*recorded(s, attentive=False))[1] for s in range(10)]
    assert not any(SENTENCE in text for text in warned)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["nearest_centroid", "lda"])
def test_level_and_power(estimator):
    """At most 1% of 300 sets without dependence, most of 60 with it."""
    alarms = {
        attentive: np.mean(
            [
                SENTENCE
                in fitted(*recorded(s, attentive=attentive), estimator=estimator)[1]
                for s in range(n_sets)
            ]
        )
        for attentive, n_sets in ((False, 300), (True, 60))
    }
    assert alarms[False] <= 0.01 + 2 * 0.005
    assert alarms[True] > 0.9
