"""Accuracy among k classes as it is measured: by classifiers trained on k classes."""

import itertools
import json

import nibabel
import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from neuroextrap.analysis import Curves
from neuroextrap.decoding import (
    IdentificationSearchLight,
    lesion_identification,
    temporal_generalization,
)
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.stats import implied_information
from tests.decoding.seam import _plan
from tests.margins.seam import MarginKernel

MEASURED = Curves(curves="measured")
LOGISTIC = LogisticRegression(max_iter=1000)


def common_noise(n_classes=6, n_runs=4, n_features=12, seed=0):
    """Classes in an order of its own in every run; common noise of two directions."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation(n_classes) for _ in range(n_runs)])
    X = 0.7 * rng.normal(size=(n_classes, n_features))[y]
    X += rng.normal(size=(len(y), 2)) @ rng.normal(size=(2, n_features))
    X += 0.6 * rng.normal(size=X.shape)
    return X, y, np.repeat(np.arange(n_runs), n_classes)


def two_regions():
    return sparse.csr_array(np.kron(np.eye(2), np.ones(6)).astype(bool))


def fitted(estimator="ridge", curves=MEASURED, data=None, **options):
    X, y, runs = common_noise() if data is None else data
    light = IdentificationSearchLight(
        **{"bounds": None, "set_sizes": curves, "estimator": estimator} | options
    )
    return light.fit(X, y, groups=runs)


def subsets(light, y):
    """Return the classes of every subset by their number, from the plan of the run."""
    found = {}
    for tests in light.run_.plan.subsets:
        classes = [np.unique(y[rows]) for rows in tests.rows]
        found.setdefault(len(classes[0]), []).extend(classes)
    return found


@pytest.mark.filterwarnings("ignore:classes are unequal")
@pytest.mark.parametrize(
    ("estimator", "unequal"),
    [
        *itertools.product(["ridge", "lda", "qda"], [False, True]),
        (GaussianNB(), True),
    ],
)
def test_it_is_the_mean_over_analyses_of_the_classes_of_every_subset(
    estimator, unequal
):
    X, y, runs = common_noise()
    if unequal:  # another trial of one class in three runs
        X, y, runs = (np.append(a, a[[1, 7, 13]], axis=0) for a in (X, y, runs))
        X[-3:] += np.random.default_rng(1).normal(size=(3, X.shape[1]))
    light = fitted(estimator, data=(X, y, runs), regions=two_regions())
    assert light.set_sizes_.tolist() == [2, 3, 4, 5, 6]
    drawn = subsets(light, y)
    for size, classes in drawn.items():
        assert len(classes) == 2 * (6 // size)
        each = [
            fitted(estimator, None, (X, y, runs), regions=two_regions(), classes=c)
            for c in classes
        ]
        values = np.array([one.region_scores_["accuracy"] for one in each])
        for region in range(2):
            curve = dict(zip(*light.accuracy_curve(region), strict=True))
            assert curve[size] == pytest.approx(values[:, region].mean(), abs=1e-12)
            if size <= 3:
                error = values[:, region].std(ddof=1) / np.sqrt(6 // size)
                place = light.set_sizes_ == size
                assert light.standard_error(region)[place] == pytest.approx(error)


def test_a_foreign_classifier_is_fitted_by_scikit_learn_to_each_subset():
    X, y, runs = common_noise(seed=2)
    light = fitted(LOGISTIC, Curves([3, 6], "measured"), (X, y, runs))
    right = []
    for classes in subsets(light, y)[3]:
        member = np.isin(y, classes)
        for run in range(4):
            train, test = member & (runs != run), member & (runs == run)
            model = clone(LOGISTIC).fit(X[train], y[train])
            right += list(model.predict(X[test]) == y[test])
    assert light.accuracy_curve(0, 3)[1] == pytest.approx(np.mean(right))


def test_subsets_are_disjoint_and_those_of_a_seed():
    data = common_noise(n_classes=7)
    first, again, other = (
        subsets(fitted(data=data, random_state=seed), data[1]) for seed in (0, 0, 1)
    )
    for size in (2, 3):
        for half in np.array_split(first[size], 2):
            assert len(np.unique(half)) == (7 // size) * size
    assert all(np.array_equal(first[k], again[k]) for k in first)
    assert not all(np.array_equal(first[k], other[k]) for k in first)


def six_common_directions(seed, n_classes=100, n_runs=4, n_features=60):
    rng = np.random.default_rng(seed)
    mix = 1.2 * np.random.default_rng(99).normal(size=(6, n_features))
    y = np.tile(np.arange(n_classes), n_runs)
    X = 0.35 * rng.normal(size=(n_classes, n_features))[y]
    X += rng.normal(size=(len(y), 6)) @ mix + 0.5 * rng.normal(size=X.shape)
    return X, y, np.repeat(np.arange(n_runs), n_classes)


@pytest.mark.filterwarnings("ignore:the classes come in the same order")
@pytest.mark.parametrize(("estimator", "truth"), [("ridge", 0.386), ("lda", 0.340)])
def test_more_classes_train_the_covariance_of_common_noise_better(estimator, truth):
    """The truth is the mean over 320 analyses of ten classes, +- .004."""
    curves = []
    for seed in range(3):
        data = six_common_directions(seed)
        light = fitted(estimator, Curves([10, 100], "measured"), data)
        curves.append(light.accuracy_curve(0)[1])
    among_ten, among_all = np.mean(curves, axis=0)
    assert among_ten == pytest.approx(truth, abs=0.03)
    assert among_all > 0.6
    trained_on_all = fitted(estimator, [10, 100], data).accuracy_curve(0)[1]
    assert trained_on_all[0] > 0.85
    assert trained_on_all[1] == curves[-1][1]


def test_p_values_bounds_and_accuracy_among_all_stay_what_they_are():
    for statistic in ("accuracy", "implied_information"):
        plain, measured = (
            fitted(
                curves=curves,
                bounds="auto",
                n_permutations=19,
                regions=two_regions(),
                statistic=statistic,
                random_state=np.random.default_rng(3),
            ).region_scores_
            for curves in (None, MEASURED)
        )
        changed = {"pairwise_accuracy", "implied_information"}
        assert set(plain) == set(measured)
        for name in set(plain) - changed:
            np.testing.assert_array_equal(plain[name], measured[name], name)
        for name in changed:
            assert (plain[name] != measured[name]).all()


def test_maps_table_notes_and_page_rest_on_what_was_measured(tmp_path):
    light = fitted(
        statistic="pairwise_accuracy", n_permutations=9, regions=two_regions()
    )
    sizes, accuracy = light.accuracy_curve(1)
    scores = {name: values[1] for name, values in light.region_scores_.items()}
    assert scores["pairwise_accuracy"] == pytest.approx(accuracy[0])
    information = implied_information(accuracy, sizes)
    assert scores["implied_information"] == pytest.approx(information)
    table = light.table_[light.table_["name"] == "1"]
    assert table["accuracy"].tolist() == accuracy.tolist()
    assert table["n_classes_trained"].tolist() == sizes.tolist()
    (finding,) = (f for f in light.findings_ if f.name == "not_marginal")
    assert finding.grade == "note"
    assert "(6 of 2 classes, 4 of 3 classes, 2 of 4" in finding.note
    assert finding.touches("p_value_fwe")
    assert any("statistic of the permutation test is of" in n for n in light.notes_)
    assert "is measured, by classifiers" in light.generate_report().get_standalone()
    light.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert again.set_sizes == MEASURED or vars(again.set_sizes) == vars(MEASURED)
    for one in (light, again):
        with pytest.raises(ValueError, match="implied_information has no interval"):
            one.implied_information_interval(0)
    np.testing.assert_array_equal(again.accuracy_curve(1)[1], accuracy)
    known = slice(0, 2)  # subsets of two and three of six classes are disjoint
    errors = again.standard_error(1)
    assert errors[known].tolist() == light.standard_error(1)[known].tolist()
    assert np.isnan(light.accuracy_interval(1)[0]).tolist() == [True] * 4 + [False]


def test_other_set_sizes_are_refused_and_the_pairwise_map_is_then_of_all(tmp_path):
    light = fitted(curves=Curves([3, 6], "measured"))
    with pytest.raises(ValueError, match=r"\[4\] were not measured, but \[3\] were"):
        light.accuracy_curve(0, [3, 4])
    assert light.results_.trained(2) == "; of the classifier trained on all 6 classes"
    plain = fitted(curves=[3, 6]).region_scores_["pairwise_accuracy"]
    np.testing.assert_array_equal(light.region_scores_["pairwise_accuracy"], plain)


@pytest.mark.parametrize("method", ["auto", "gaussian"])
def test_extrapolations_are_measured_below_and_doubtful_beyond(method):
    light = fitted()
    measured = light.accuracy_curve(0, [2, 3])[1]
    with pytest.warns(UserWarning, match="more than 6 classes is doubtful"):
        maps = light.extrapolate([2, 3, 12], method=method)
    assert [maps[2][0], maps[3][0]] == measured.tolist()
    assert sum("doubtful" in note for note in maps.notes) == 1
    model = light.extrapolator(0, method)
    assert model.predict([3, 2]).tolist() == measured[::-1].tolist()
    assert model.predict(2) == measured[0]
    with pytest.warns(UserWarning, match="more than 6 classes is doubtful"):
        assert model.predict([2, 12])[1] == maps[12][0]
    with pytest.raises(ValueError, match="no interval beyond the classes"):
        model.set_size_interval(accuracy=0.3)


def test_parts_checkpoints_and_workers_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(_plan, "_PERMUTED_TASK_REGIONS", 5)  # three tasks
    X, y, runs = common_noise(n_features=24)
    regions = sparse.csr_array(np.kron(np.eye(12), np.ones(2)).astype(bool))

    def light(**options):
        return fitted(data=(X, y, runs), regions=regions, n_permutations=3, **options)

    whole, workers = light(), light(n_jobs=2)
    parts = [light(shard=f"{i}/2", checkpoint=tmp_path) for i in (1, 2)]
    resumed = light(checkpoint=tmp_path)
    merged = parts[1].merge(parts[0])
    for other in (workers, resumed, merged):
        np.testing.assert_array_equal(
            other.results_.scores.measured, whole.results_.scores.measured
        )
        for name, values in whole.region_scores_.items():
            np.testing.assert_array_equal(other.region_scores_[name], values, name)
    with pytest.raises(ValueError, match="another class subsets"):
        light(checkpoint=tmp_path, set_sizes=Curves(None, "measured", 3))


def test_marginal_classifiers_need_no_measuring():
    light, plain = (fitted("nearest_centroid", curves) for curves in (MEASURED, None))
    assert light.run_.plan.subsets == ()
    np.testing.assert_array_equal(*(one.accuracy_curve(0) for one in (light, plain)))


def test_two_classes_have_nothing_to_measure():
    light = fitted(data=common_noise(n_classes=2))
    assert light.accuracy_curve(0)[0].tolist() == [2]
    assert not light.findings_


def test_what_cannot_be_trained_or_tested_on_subsets_is_refused():
    pca = make_pipeline(PCA(8), LOGISTIC)
    with pytest.raises(ValueError, match=r"trains on 2 of the classes.*set_sizes"):
        fitted(pca)
    assert fitted(pca, Curves([4, 6], "measured")).accuracy_curve(0)[1].shape == (2,)
    _, y, runs = common_noise()
    split = [(np.flatnonzero(runs < 3), np.flatnonzero((runs == 3) & (y < 5)))]
    with pytest.raises(ValueError, match="test samples of every class"):
        fitted(cv=split)
    with pytest.raises(ValueError, match="curves='all' must be"):
        fitted(curves=Curves(curves="all"))
    with pytest.raises(ValueError, match="n_partitions"):
        fitted(curves=Curves(curves="measured", n_partitions=0))


def test_analyses_that_do_not_measure_say_so():
    X, y, runs = common_noise()
    light = IdentificationSearchLight(estimator="ridge", set_sizes=MEASURED)
    with pytest.raises(ValueError, match="curves"):
        lesion_identification(light, X, y, runs)
    with pytest.raises(ValueError, match="curves"):
        temporal_generalization(light, X[:, :, None], y, runs)


class OwnClassifier(MarginKernel):
    """Nearest class mean after subtracting the mean of all classes in training."""

    def prepare(self, xs, design):
        assert max(np.abs(x.mean(axis=0)).max() for x in xs) < 1e-5  # centered
        return xs, design

    def margins(self, state, labelings):
        xs, design = state
        columns = [
            np.concatenate([self.fold(x, y, *fold) for fold in design.folds])
            for x in xs
            for y in labelings.codes
        ]
        return np.stack(columns, axis=-1)

    def fold(self, x, y, train, test):
        means = np.array([x[train][y[train] == c].mean(axis=0) for c in np.unique(y)])
        means -= means.mean(axis=0)
        return (x[test] @ means.T) / np.linalg.norm(means, axis=1)


def test_a_kernel_of_ones_own_is_measured_unless_it_is_marginal():
    light = fitted(OwnClassifier())
    each = [
        fitted(OwnClassifier(), None, classes=classes).region_scores_["accuracy"][0]
        for classes in subsets(light, common_noise()[1])[3]
    ]
    assert light.accuracy_curve(0, 3)[1] == pytest.approx(np.mean(each), abs=1e-12)


def test_sidecars_of_images_say_what_was_measured(tmp_path):
    X, y, runs = common_noise(n_features=8)
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    light = IdentificationSearchLight(
        mask, radius=1.5, estimator="lda", set_sizes=MEASURED, bounds=None
    )
    light.fit(to_img(X, resolve_masker(mask)), y, groups=runs).to_directory(tmp_path)
    for name in ("pairwise_accuracy", "implied_information"):
        sidecar = json.loads((tmp_path / f"{name}.json").read_text())
        assert sidecar["description"].endswith("trained on as many classes")
        assert "not_marginal" in json.dumps(sidecar)
    assert "not_marginal" not in (tmp_path / "accuracy.json").read_text()


def test_maps_of_surfaces_are_measured():
    X, y, runs = common_noise(n_features=4)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    mesh = PolyMesh(*(InMemoryMesh(corners, faces) for _ in range(2)))
    img = SurfaceImage(mesh, {"left": X.T, "right": X.T[::-1]})
    light = IdentificationSearchLight(
        radius=5.0, estimator="ridge", set_sizes=MEASURED, bounds=None
    )
    light.fit(img, y, groups=runs)
    array = fitted(data=(X, y, runs))
    measured = light.maps_["pairwise_accuracy"].data.parts["left"]
    np.testing.assert_allclose(measured, array.region_scores_["pairwise_accuracy"][0])
