"""Information over subjects: naive twins, what may be mixed, arrays and images."""

import nibabel
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import group_information
from neuroextrap.stats import average_accuracy, fano_information
from tests.group.seam import (
    population_accuracy_lower_bound,
    subjects_accuracy_lower_bound,
)

N_CLASSES, N_RUNS = 4, 6
Y = np.tile(np.arange(N_CLASSES), 5 * N_RUNS)
RUNS = np.repeat(np.arange(N_RUNS), 5 * N_CLASSES)


def samples(rng, strength):
    return rng.normal(size=(len(Y), 10)) + strength * np.eye(N_CLASSES, 10)[Y]


def fitted(rng, strength, **options):
    return IdentificationSearchLight(**options).fit(
        samples(rng, strength), Y, groups=RUNS
    )


@pytest.fixture(scope="module")
def subjects():
    rng = np.random.default_rng(0)
    return [fitted(rng, s) for s in (0.5, 1.0, 1.5, 0.0, 1.2, 2.0, 0.7, 0.9)]


def test_means_and_spread_are_numpys(subjects):
    maps = group_information(subjects)
    for name in ("accuracy", "implied_information"):
        values = np.array([s.region_scores_[name][0] for s in subjects])
        assert maps[name][0] == pytest.approx(values.mean())
    assert maps["implied_information_sd"][0] == pytest.approx(values.std(ddof=1))
    accuracy = np.array([s.region_scores_["accuracy"][0] for s in subjects])
    noise = (accuracy * (1 - accuracy) / len(Y)).mean()
    share = 1 - noise / accuracy.var(ddof=1)
    assert maps["accuracy_heterogeneity"][0] == pytest.approx(share)
    low, high = (maps[f"implied_information_{end}"][0] for end in ("lower", "upper"))
    assert low < maps["implied_information"][0] < high
    error = values.std(ddof=1) / np.sqrt(8)
    assert (high - low) / 2 == pytest.approx(2.36 * error, rel=0.25)


def test_bounds_are_ordered_and_speak_of_bits(subjects):
    maps = group_information(subjects)
    for whose in ("population", "subjects"):
        bound = maps[f"{whose}_bayes_accuracy_bound"][0]
        assert 1 / N_CLASSES < bound < maps["accuracy"][0]
        bits = maps[f"{whose}_class_information_bound"][0]
        assert bits == pytest.approx(float(fano_information(bound, N_CLASSES)))
        assert maps[f"{whose}_bayes_accuracy_bound_fwe"][0] == pytest.approx(bound)
    assert (
        maps["subjects_bayes_accuracy_bound"] > maps["population_bayes_accuracy_bound"]
    )


def test_bounds_of_three_regions_hold_at_once():
    rng, regions = np.random.default_rng(1), np.zeros((3, 10), dtype=bool)
    for row, members in zip(regions, ([0, 1, 2], [1, 2, 3], [7, 8, 9]), strict=True):
        row[members] = True
    some = [
        IdentificationSearchLight(regions=regions).fit(
            samples(rng, 1.5), Y, groups=RUNS
        )
        for _ in range(8)
    ]
    maps = group_information(some)
    accuracy = [average_accuracy(s.results_.bound_wins, N_CLASSES) for s in some]
    counts = [
        s.results_.scores.n_correct.reshape(3, *s.results_.forward.n_units.shape)
        for s in some
    ]
    first = some[0].results_.forward.first_steps
    designs = [(own, N_CLASSES * 5, first) for own in counts]
    of_subjects = {
        ending: subjects_accuracy_lower_bound(designs, **more)
        for ending, more in (("", {}), ("_fwe", {"n_regions": 3}))
    }
    of_population = {
        ending: population_accuracy_lower_bound(accuracy, **more)
        for ending, more in (
            ("", {}),
            ("_fwe", {"n_regions": 3}),
            ("_fcr", {"chance": 1 / N_CLASSES}),
        )
    }
    for whose, bounds in (("subjects", of_subjects), ("population", of_population)):
        for ending, bound in bounds.items():
            found = maps[f"{whose}_bayes_accuracy_bound{ending}"]
            np.testing.assert_allclose(found, np.maximum(bound, 1 / N_CLASSES))
    assert (of_population["_fwe"] < of_population["_fcr"]).any()
    assert (maps["subjects_bayes_accuracy_bound_fwe"] > 1 / N_CLASSES).any()


@pytest.mark.parametrize("n_runs", range(3, 9))
def test_perfect_subjects_are_no_more_than_perfect(n_runs):
    # weights of the folds may add up to a bit more than one
    y, runs = np.tile([0, 0, 1, 1], n_runs), np.arange(n_runs).repeat(4)
    rng, perfect = np.random.default_rng(n_runs), []
    for _ in range(6):
        X = rng.normal(size=(len(y), 3)) + 20 * y[:, np.newaxis]
        perfect.append(IdentificationSearchLight().fit(X, y, groups=runs))
    maps = group_information(perfect)
    assert maps["accuracy"][0] == 1
    assert 0.5 < maps["population_bayes_accuracy_bound"][0] < 1


def test_saved_subjects_give_the_same(subjects, tmp_path):
    folders = []
    for number, subject in enumerate(subjects):
        folders.append(tmp_path / f"sub-{number}")
        subject.to_directory(folders[-1])
    maps, again = group_information(subjects), group_information(folders)
    for name, values in maps.items():
        np.testing.assert_array_equal(again[name], values)


def test_images_are_put_together_where_all_subjects_have_a_region():
    rng = np.random.default_rng(1)
    affine = np.diag([3.0, 3, 3, 1])
    subjects = []
    for number in range(4):
        mask = np.zeros((4, 3, 3), dtype=np.uint8)
        mask[number % 2 : 3 + number % 2] = 1  # the masks differ by a slice
        data = rng.normal(size=(4, 3, 3, len(Y)))
        data[1:3, ..., :] += 2 * np.eye(N_CLASSES, 9)[Y].T.reshape(3, 3, -1)
        light = IdentificationSearchLight(nibabel.Nifti1Image(mask, affine), radius=3.0)
        subjects.append(light.fit(nibabel.Nifti1Image(data, affine), Y, groups=RUNS))
    maps = group_information(subjects)
    accuracy = maps["accuracy"].get_fdata()
    assert np.isnan(accuracy[[0, 3]]).all()
    assert np.isfinite(accuracy[1:3]).all()
    naive = np.mean([s.maps_["accuracy"].get_fdata() for s in subjects], axis=0)
    np.testing.assert_allclose(accuracy, naive, rtol=1e-6)


def test_what_differs_is_named(subjects):
    rng = np.random.default_rng(2)
    other = fitted(rng, 1.0, estimator="lda")
    with pytest.raises(ValueError, match="differ in estimator"):
        group_information([subjects[0], other])
    assert group_information([subjects[0], other], allow_mixed=True)
    with pytest.raises(ValueError, match="at least two subjects"):
        group_information(subjects[:1])
    with pytest.raises(TypeError, match=r"subjects\[1\] is a int"):
        group_information([subjects[0], 3])
    few = IdentificationSearchLight().fit(
        samples(rng, 1.0)[Y < 3], Y[Y < 3], groups=RUNS[Y < 3]
    )
    with pytest.raises(ValueError, match=r"4 classes and .* 3"):
        group_information([subjects[0], few], allow_mixed=True)


@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.parametrize("n_sets", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_nothing_is_claimed_where_there_is_nothing(n_sets):
    rng = np.random.default_rng(3)
    hits = {"population": 0, "subjects": 0}
    for _ in range(n_sets):
        maps = group_information([fitted(rng, 0.0) for _ in range(5)], n_bootstrap=10)
        for whose in hits:
            hits[whose] += maps[f"{whose}_bayes_accuracy_bound"][0] > 1 / N_CLASSES
    assert max(hits.values()) <= 0.05 * n_sets + 3 * np.sqrt(0.05 * n_sets)


def test_accuracies_of_runs_may_exceed_one_by_rounding():
    """They are kept in single precision; more than that is an error."""
    ones = np.ones((2, 6, 4))
    exact, rounded = (
        subjects_accuracy_lower_bound([(ones * more, 1, (0, 1))] * 4)
        for more in (1, 1 + 2e-7)
    )
    np.testing.assert_array_equal(rounded, exact)
    assert (exact > 0.5).all()
    with pytest.raises(ValueError, match="n_correct must lie between 0 and n_units"):
        subjects_accuracy_lower_bound([(ones * 1.001, 1, (0, 1))] * 4)


def test_subjects_with_different_numbers_of_runs_have_a_common_bound():
    rng, subjects = np.random.default_rng(0), []
    for n_runs in (4, 6, 5):
        y, runs = np.tile(np.arange(4), 2 * n_runs), np.repeat(np.arange(n_runs), 8)
        X = rng.normal(size=(8 * n_runs, 10)) + 2 * np.eye(4, 10)[y]
        subjects.append(IdentificationSearchLight().fit(X, y, groups=runs))
    maps = group_information(subjects)
    bound = maps["subjects_bayes_accuracy_bound"][0]
    assert maps["accuracy"][0] > bound > 0.4
    assert bound >= maps["subjects_bayes_accuracy_bound_fwe"][0]
