"""From one condition to another, against classifiers that are trained again."""

import functools
import itertools
import json
from html import unescape

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.surface import SurfaceImage
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import NearestCentroid

from neuroextrap.analysis import Keep
from neuroextrap.decoding import IdentificationSearchLight, cross_identification
from neuroextrap.group import group_permutation_test, sign_flip_test
from neuroextrap.maps import read_maps

REGIONS = np.kron(np.eye(3), np.ones(4))
PAIR = {"train": "see", "test": "imagine"}


def simulate(n_classes=4, n_runs=4, *, shared=(), seed=0, signal=1.5):
    """Two trials of every class and condition a run; some regions share one code."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), 4 * n_runs)
    runs = np.repeat(np.arange(n_runs), 4 * n_classes)
    task = np.tile(np.repeat(["see", "imagine"], 2 * n_classes), n_runs)
    codes = signal * rng.normal(size=(2, n_classes, 12))
    for region in shared:
        columns = slice(4 * region, 4 * region + 4)
        codes[1][:, columns] = codes[0][:, columns]
    X = codes[(task == "imagine").astype(int), y] + rng.normal(size=(len(y), 12))
    return X + 2 * (task == "imagine")[:, None] * 0.1, y, runs, task


def unequal(**options):
    """The same with conditions and classes of unequal numbers, and runs of one task."""
    X, y, runs, task = simulate(n_runs=6, **options)
    keep = np.random.default_rng(1).random(len(y)) < 0.8
    keep &= ~((runs == 4) & (task == "see")) & ~((runs == 5) & (task == "imagine"))
    keep &= ~((y == 1) & (task == "imagine") & (runs == 0))
    return X[keep], y[keep], runs[keep], task[keep]


def light(**options):
    return IdentificationSearchLight(regions=REGIONS, **options)


def beaten_by_truth(fitted, X, y):
    """Share of the other classes that are worse than the true one, for every sample."""
    if isinstance(fitted, NearestCentroid):
        margins = -cdist(X, fitted.centroids_)
    else:
        margins = fitted.decision_function(X)
    own = margins[np.arange(len(y)), y][:, np.newaxis]
    return ((margins < own).sum(axis=1)) / (margins.shape[1] - 1)


def refitted(classifier, X, y, runs, task, first, second):
    """Accuracies, and among two classes, of training in one condition, (2, n_regions).

    Run by run, classes weighted equally.
    """
    accuracies = []
    for members in REGIONS.astype(bool):
        truth, said, beaten = [], [], []
        for run in np.unique(runs[task == second]):
            train = (task == first) & (runs != run)
            test = (task == second) & (runs == run)
            fitted = clone(classifier).fit(X[train][:, members], y[train])
            truth += y[test].tolist()
            said += fitted.predict(X[test][:, members]).tolist()
            beaten += beaten_by_truth(fitted, X[test][:, members], y[test]).tolist()
        of_class = [np.mean(np.array(beaten)[np.equal(truth, c)]) for c in set(truth)]
        accuracies.append((balanced_accuracy_score(truth, said), np.mean(of_class)))
    return np.array(accuracies).T


def refitted_both(classifier, X, y, runs, task):
    there = refitted(classifier, X, y, runs, task, "see", "imagine")
    return there, refitted(classifier, X, y, runs, task, "imagine", "see")


LDA = LinearDiscriminantAnalysis(priors=[1 / 3] * 3)


@pytest.mark.parametrize(
    ("make", "estimator", "classifier"),
    [
        (functools.partial(simulate, n_runs=3), "nearest_centroid", NearestCentroid()),
        (functools.partial(unequal, n_classes=3, seed=1), LDA, LDA),
    ],
)
def test_equals_refits_under_every_exchange_of_names(make, estimator, classifier):
    X, y, runs, task = make(shared=[0])
    maps = cross_identification(
        light(estimator=estimator, n_permutations=99), X, y, runs, task, **PAIR
    )
    there, back = refitted_both(classifier, X, y, runs, task)
    np.testing.assert_allclose(maps["train_to_test_accuracy"], there[0], atol=1e-9)
    np.testing.assert_allclose(maps["test_to_train_accuracy"], back[0], atol=1e-9)
    accuracy, pairwise = (there + back) / 2
    np.testing.assert_allclose(maps["accuracy"], accuracy, atol=1e-9)
    np.testing.assert_allclose(maps["pairwise_accuracy"], pairwise, atol=1e-9)
    every = []
    n_classes = y.max() + 1
    for names in itertools.permutations(range(n_classes)):
        renamed = np.where(task == "imagine", np.array(names)[y], y)
        both = refitted_both(classifier, X, renamed, runs, task)
        every.append(np.mean(both, axis=0)[1])
    every = (every - np.mean(every, axis=0)) / np.std(every, axis=0, ddof=0)
    every = np.round(every, 9)
    assert maps.n_permutations_ == len(every) - 1
    np.testing.assert_allclose(
        np.sort(maps.null_maxima_), np.sort(every[1:].max(axis=1)), atol=1e-9
    )
    p = (every >= every[0]).mean(axis=0)
    np.testing.assert_allclose(maps["p_value"], p)
    fwe = (every.max(axis=1)[:, None] >= every[0]).mean(axis=0)
    np.testing.assert_allclose(maps["p_value_fwe"], fwe)
    # the mean over all exchanges is what accuracy is compared with over subjects
    np.testing.assert_allclose(maps["accuracy_above_names"], accuracy - 1 / n_classes)


def test_drawn_names_are_those_of_the_seed_and_of_no_other():
    X, y, runs, task = simulate(n_classes=6, shared=[1])
    found = [
        cross_identification(
            light(n_permutations=200, random_state=seed), X, y, runs, task, **PAIR
        )
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(found[0].null_maxima_, found[1].null_maxima_)
    assert (found[0].null_maxima_ != found[2].null_maxima_).any()
    every = cross_identification(light(n_permutations=719), X, y, runs, task, **PAIR)
    assert every.n_permutations_ == 719
    np.testing.assert_allclose(found[0]["p_value"], every["p_value"], atol=0.1)
    assert found[0]["p_value_fwe"][1] <= 4 / 201  # the names as they are may be drawn
    assert found[0].notes_ == every.notes_
    assert (every["p_value_fwe"] >= every["p_value"]).all()


def test_exchanging_conditions_samples_or_workers_changes_nothing():
    X, y, runs, task = unequal(shared=[2])
    once = light(n_permutations=99)
    maps = cross_identification(once, X, y, runs, task, **PAIR)
    back = cross_identification(
        once, X, y, runs, task, train="imagine", test="see", order=np.arange(len(y))
    )
    order = np.random.default_rng(0).permutation(len(y))
    mixed = cross_identification(
        light(n_permutations=99, n_jobs=2),
        X[order],
        y[order],
        runs[order],
        task[order],
        **PAIR,
    )
    for name, values in maps.items():
        np.testing.assert_allclose(values, mixed[name], atol=1e-6)
        if "_to_" not in name:
            np.testing.assert_allclose(values, back[name], atol=1e-6)
    np.testing.assert_allclose(
        maps["train_to_test_accuracy"], back["test_to_train_accuracy"]
    )
    assert once.n_permutations == 99
    assert once.cv is None


def test_conditions_that_share_no_run_train_as_a_whole():
    X, y, runs, task = simulate(shared=[0])
    runs = 2 * runs + (task == "see")
    maps = cross_identification(light(), X, y, runs, task, **PAIR)
    see = task == "see"
    for region, members in enumerate(REGIONS.astype(bool)):
        fitted = NearestCentroid().fit(X[see][:, members], y[see])
        expected = fitted.score(X[~see][:, members], y[~see])
        assert maps["train_to_test_accuracy"][region] == pytest.approx(expected)
    assert "p_value" not in maps
    assert maps.n_permutations_ == 0


def test_a_condition_of_one_run_needs_that_run_of_the_other_left_out():
    X, y, runs, task = simulate(5, shared=[0])
    once = (task == "see") | (runs == 2)
    data = [each[once] for each in (X, y, runs, task)]
    with pytest.raises(ValueError, match=r"when run 2 .*leave this run of 'see' out"):
        cross_identification(light(), *data, **PAIR)
    own = [each[(data[2] != 2) | (data[3] != "see")] for each in data]
    maps = cross_identification(light(n_permutations=119), *own, **PAIR)
    assert maps["p_value_fwe"][0] <= 0.05


def test_other_conditions_and_classes_are_left_out():
    X, y, runs, task = simulate(n_classes=5)
    some = cross_identification(
        light(classes=[0, 2, 3], n_permutations=9), X, y, runs, task, **PAIR
    )
    keep = np.isin(y, [0, 2, 3])
    alone = cross_identification(
        light(n_permutations=9), X[keep], y[keep], runs[keep], task[keep], **PAIR
    )
    more = np.concatenate([X, 5 * X[:20]]), np.append(y, 20 * [9])
    rest = np.append(runs, 20 * [0]), np.append(task, 20 * ["rest"])
    third = cross_identification(
        light(classes=[0, 2, 3], n_permutations=9), *more, *rest, **PAIR
    )
    for name, values in alone.items():
        np.testing.assert_allclose(some[name], values, atol=1e-6)
        np.testing.assert_allclose(third[name], values, atol=1e-6)
    assert some.classes_.tolist() == [0, 2, 3]


def test_centering_is_within_runs_of_a_condition():
    X, y, runs, task = simulate(shared=[0, 1, 2])
    shifted = (
        X
        + 9 * np.random.default_rng(0).normal(size=(8, 12))[2 * runs + (task == "see")]
    )
    centered = light(within_runs="center")
    expected = cross_identification(centered, X, y, runs, task, **PAIR)
    found = cross_identification(centered, shifted, y, runs, task, **PAIR)
    np.testing.assert_allclose(found["accuracy"], expected["accuracy"], atol=1e-6)
    lost = cross_identification(light(), shifted, y, runs, task, **PAIR)
    assert (lost["accuracy"] < found["accuracy"] - 0.1).all()


SHARED = simulate(shared=[0])


@pytest.mark.parametrize(
    ("options", "change", "error", "message"),
    [
        ({}, {"train": "see", "test": "see"}, ValueError, "the same condition 'see'"),
        ({}, {"test": "hear"}, ValueError, "'hear' is no condition; choose one of 'im"),
        ({}, {"test": ["see"]}, ValueError, r"test=\['see'\] is no condition"),
        ({}, {"groups": None}, ValueError, "groups is None"),
        ({}, {"conditions": SHARED[3][:5]}, ValueError, r"conditions has shape \(5,\)"),
        (
            {},
            {"y": np.where(SHARED[3] == "see", SHARED[1], 7)},
            ValueError,
            r"condition 'see' \(train\) lacks the classes \[7\], it has \[0, 1, 2",
        ),
        (
            {},
            {"y": np.where(SHARED[3] == "see", SHARED[1], SHARED[1].clip(1))},
            ValueError,
            r"condition 'imagine' \(test\) lacks the classes \[0\], it has",
        ),
        ({"classes": [0, 1, 8]}, {}, ValueError, r"\(train\) lacks the classes \[8\]"),
        ({"classes": [1]}, {}, ValueError, "have one class, 1"),
        ({}, {"y": np.where(SHARED[1] == 1, np.nan, 1.0)}, ValueError, "y has NaN"),
        (
            {},
            {"conditions": [None, *SHARED[3][1:]]},
            ValueError,
            "conditions has None in row 0",
        ),
        ({"cv": 3}, {}, ValueError, "light has cv=3, which cross_identification"),
        ({"statistic": 2}, {}, ValueError, "light has statistic=2"),
        ({"shard": "1/2"}, {}, ValueError, "light has shard='1/2'"),
        ({"checkpoint": "here"}, {}, ValueError, "light has checkpoint='here'"),
        ({"keep": Keep(per_fold=True)}, {}, ValueError, "light has per_fold=True"),
        ({}, {"imgs": SHARED[0][:9]}, ValueError, "9"),
        ({}, {"light": "lda"}, TypeError, "must be an IdentificationSearchLight"),
        (
            {},
            {"groups": np.where(SHARED[1] == 2, 0, 1 + SHARED[2])},
            ValueError,
            r"run 0 of condition 'imagine' is tested, no other run of 'see' has the "
            r"classes \[2\] to train on; leave this run of 'imagine' out",
        ),
    ],
)
def test_wrong_calls(options, change, error, message):
    call = dict(zip(("imgs", "y", "groups", "conditions"), SHARED, strict=True))
    call |= {"light": light(**options), **PAIR} | change
    with pytest.raises(error, match=message):
        cross_identification(**call)


@pytest.mark.parametrize(
    ("n_classes", "words"),
    [
        (2, "in 2 ways only: no p-value is below 0.5, and one subject cannot"),
        (4, "hardly"),
    ],
)
def test_few_classes_say_what_one_subject_cannot_show(n_classes, words):
    data = simulate(n_classes, shared=[0])
    maps = cross_identification(light(n_permutations=99), *data, **PAIR)
    (found,) = (f for f in maps.findings_ if f.name == "few_names")
    assert words in found.note
    assert "sign_flip_test" in found.remedy
    assert found.note in maps.notes_
    assert found.touches("p_value_fwe")
    assert not found.touches("accuracy")
    untested = cross_identification(light(), *data, **PAIR)
    assert "few_names" not in {f.name for f in untested.findings_}
    five = cross_identification(light(n_permutations=9), *simulate(5), **PAIR)
    assert "few_names" not in {f.name for f in five.findings_}


def test_what_is_said_of_pairs_is_no_advice_that_would_be_refused():
    found = cross_identification(light(estimator="lda"), *SHARED, **PAIR).findings_
    (pairs,) = (f for f in found if f.name == "not_marginal")
    assert pairs.maps == ("pairwise_accuracy",)
    assert pairs.note.endswith(
        "accuracy among 2 classes is of the classifier trained on all 4 classes: "
        "trained on 2 it may do better or worse, by any amount"
    )


def test_subjects_together_show_what_one_cannot():
    subjects = [
        cross_identification(
            light(n_permutations=9),
            *simulate(2, shared=[0], seed=seed, signal=1.0),
            **PAIR,
        )
        for seed in range(12)
    ]
    assert min(maps["p_value"].min() for maps in subjects) == 0.5
    above = [maps["accuracy_above_names"] for maps in subjects]
    p = sign_flip_test(np.array(above), n_permutations=1000)["p_value_fwe"]
    assert p[0] <= 0.01
    assert p[1:].min() > 0.05


def test_permuted_maps_serve_the_exact_test_over_subjects(tmp_path):
    scores, nulls = [], []
    for seed in range(6):
        path = tmp_path / f"{seed}.npy"
        data = simulate(3, shared=[1], seed=seed)
        maps = cross_identification(light(n_permutations=99, keep=path), *data, **PAIR)
        scores.append(maps["name_agreement"])
        nulls.append(np.load(path))
        np.testing.assert_allclose(nulls[-1].max(axis=1), maps.null_maxima_, atol=1e-6)
    assert np.shape(nulls) == (6, 5, 3)
    tested = group_permutation_test(np.array(scores), nulls, n_permutations=5000)
    assert tested["p_value_fwe"][1] < 0.01
    assert tested["p_value_fwe"][[0, 2]].min() > 0.05


@pytest.fixture(scope="module")
def of_images():
    """Maps of a small volume whose left half shares one code."""
    X, y, runs, task = simulate(5, shared=[0])
    volume = np.random.default_rng(0).normal(size=(4, 3, 3, len(y)))
    volume[:2] += np.moveaxis(np.resize(X[:, :4].T, (18, len(y))), 1, 0).T.reshape(
        2, 3, 3, len(y)
    )
    img = nibabel.Nifti1Image(volume, np.diag([3.0, 3, 3, 1]))
    mask = nibabel.Nifti1Image(np.ones((4, 3, 3)), np.diag([3.0, 3, 3, 1]))
    spheres = IdentificationSearchLight(mask, radius=4.0, n_permutations=119)
    return spheres, (img, y, runs, task)


def test_maps_of_images_are_written_and_read(of_images, tmp_path):
    spheres, data = of_images
    maps = cross_identification(spheres, *data, **PAIR)
    maps.to_directory(tmp_path / "out")
    again = read_maps(tmp_path / "out")
    assert set(again) == set(maps)
    for name, img in maps.items():
        np.testing.assert_allclose(again[name].get_fdata(), img.get_fdata())
    about = json.loads((tmp_path / "out" / "p_value_fwe.json").read_text())
    assert about["parameters"]["train"] == "see"
    assert about["parameters"]["test"] == "imagine"
    above = json.loads((tmp_path / "out" / "accuracy_above_names.json").read_text())
    assert "exchanges of class names" in above["description"]
    table = pd.read_csv(tmp_path / "out" / "regions.tsv", sep="\t")
    assert len(table) == 36
    assert {"x", "p_value_fwe", "train_to_test_accuracy"} <= set(table)


def test_the_page_answers_first(of_images):
    spheres, data = of_images
    maps = cross_identification(spheres, *data, **PAIR)
    n_found = int((maps.region_scores_["p_value_fwe"] <= 0.05).sum())
    assert 0 < n_found < 36
    page = unescape(str(maps.generate_report()))
    assert f"carries over between see and imagine in {n_found} of 36 spheres" in page
    assert "exchanged between the two conditions 119 times" in page
    one = cross_identification(light(n_permutations=99), *SHARED, **PAIR)
    assert "below 0.042, and one subject can hardly" in unescape(
        str(one.generate_report())
    )
    none = cross_identification(light(), *SHARED, **PAIR)
    assert "shown without p-values" in str(none.generate_report("Without a test"))


def test_regions_of_an_atlas_keep_their_names(of_images):
    spheres, (img, y, runs, task) = of_images
    labels = np.repeat([1, 2], [2, 2])[:, None, None] * np.ones((4, 3, 3))
    atlas = nibabel.Nifti1Image(labels.astype(np.int32), img.affine)
    table = cross_identification(
        IdentificationSearchLight(
            spheres.mask, labels_img=atlas, n_permutations=119, noise_covariance=img
        ),
        img,
        y,
        runs,
        task,
        **PAIR,
    ).table_
    assert table["name"].tolist() == ["1", "2"]
    assert table["p_value"][0] == 1 / 120


def test_surfaces_give_surfaces(occipital_mesh):
    _, y, runs, task = simulate(3, n_runs=2)
    rng = np.random.default_rng(0)
    data = {
        side: rng.normal(size=(part.n_vertices, len(y))).astype(np.float32)
        for side, part in occipital_mesh.parts.items()
    }
    img = SurfaceImage(mesh=occipital_mesh, data=data)
    spread = IdentificationSearchLight(radius=4.0, n_permutations=9)
    maps = cross_identification(spread, img, y, runs, task, **PAIR)
    assert isinstance(maps["p_value_fwe"], SurfaceImage)
    assert maps.n_permutations_ == 5


def test_regions_that_cannot_be_analyzed_stay_unknown():
    X, y, runs, task = SHARED
    X = X.copy()
    X[:, 4:8] = np.nan
    maps = cross_identification(light(n_permutations=9), X, y, runs, task, **PAIR)
    for name, values in maps.items():
        if name != "n_voxels":
            np.testing.assert_array_equal(np.isnan(values), [False, True, False])
