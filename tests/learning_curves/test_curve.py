"""The learning curve against refits from the voxels."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    prediction_information,
    sensitivity_map,
    simulate_hierarchical_scans,
)
from tests.learning_curves.seam import best_prior_weight, draw_split


@pytest.fixture(scope="module")
def scans():
    return simulate_hierarchical_scans(
        n_subjects=7, n_features=250, n_repeats=2, random_state=1
    )


def _centered(X, groups):
    return X - np.array([X[groups == g].mean(axis=0) for g in groups])


def _orders(seed, size, n_splits, n_groups, *, twin=False):
    root = int(np.random.default_rng(seed).integers(2**63))
    full = np.ones((n_groups, 1), dtype=bool)
    return [draw_split(root, size, i, full, twin=twin) for i in range(n_splits)]


def _textbook_posterior(X, y, test, n_components):
    """SVD of the training set alone, W^-1 B, Gaussian classes, Bayes."""
    right = np.linalg.svd(X, full_matrices=False)[2][:n_components].T
    q, q_test, labels = X @ right, test @ right, np.unique(y)
    means = np.array([q[y == g].mean(axis=0) for g in labels])
    residual = q - means[np.searchsorted(labels, y)]
    within = residual.T @ residual / (len(y) - len(labels))
    between = sum(
        np.sum(y == g) * np.outer(m, m) for g, m in zip(labels, means, strict=True)
    )
    L = linalg.eigh(between, within)[1][:, ::-1][:, : len(labels) - 1]
    squares = np.sum(((q_test @ L)[:, None] - means @ L) ** 2, axis=2)
    density = np.exp(-0.5 * squares)
    return density / density.sum(axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore:information is strongly negative")
@pytest.mark.parametrize("size", [2, 4, 6])
def test_equals_a_full_decomposition_of_every_training_set(scans, size):
    y, groups = np.unique(scans.fine, return_inverse=True)[1], scans.groups
    curve = information_learning_curve(
        scans.X,
        y,
        groups,
        classifier=CanonicalVariates(n_components=5),
        train_sizes=[size],
        prior_weight=None,
        n_splits=6,
        random_state=3,
    )
    X = _centered(scans.X, groups)
    sums, counts = np.zeros((4, 4)), np.zeros(4)
    for i, order in enumerate(_orders(3, size, 6, 7)):
        train = np.isin(groups, order[:size])
        p = _textbook_posterior(X[train], y[train], X[~train], 5)
        assert curve.information[0, i] == pytest.approx(
            prediction_information(p, y[~train], priors=[0.25] * 4), abs=1e-10
        )
        error = np.mean(p.argmax(axis=1) != y[~train])
        assert curve.error_rate[0, i] == pytest.approx(error)
        for g in range(4):
            sums[g] += p[y[~train] == g].sum(axis=0)
            counts[g] += np.sum(y[~train] == g)
    np.testing.assert_allclose(curve.confusion[0], sums / counts[:, None], atol=1e-10)
    np.testing.assert_allclose(curve.baseline_error_rate, 0.75)


@pytest.mark.parametrize("pattern", ["sensitivity", "log_sensitivity", "canonical"])
def test_reproducibility_equals_correlated_voxel_maps(scans, pattern):
    options = {"n_components": 5, "basis": "generalizable"}
    curve = information_learning_curve(
        scans.X,
        scans.fine,
        scans.groups,
        classifier=CanonicalVariates(**options),
        train_sizes=[3, 4],
        n_splits=5,
        pattern=pattern,
    )
    X = _centered(scans.X, scans.groups)
    for i, order in enumerate(_orders(0, 3, 5, 7, twin=True)):
        maps, means = [], []
        for members in (order[:3], order[3:6]):
            rows = np.isin(scans.groups, members)
            model = CanonicalVariates(**options)
            model.fit(X[rows], scans.fine[rows], scans.groups[rows])
            of = "log_posterior" if pattern == "log_sensitivity" else "posterior"
            maps.append(
                model.canonical_maps_[0]
                if pattern == "canonical"
                else sensitivity_map(model, X[rows], scans.fine[rows], of=of)
            )
            means.append(model.class_means_[:, 0])
        twin = np.corrcoef(maps)[0, 1]
        if pattern == "canonical":
            twin *= np.sign(means[0] @ means[1])
        assert curve.reproducibility[0, i] == pytest.approx(twin, abs=1e-9)
    assert np.all(np.isnan(curve.reproducibility[1]))


def test_any_probabilistic_classifier(scans):
    classifier = GaussianNB()
    curve = information_learning_curve(
        scans.X,
        scans.coarse,
        scans.groups,
        classifier=classifier,
        train_sizes=[4],
        n_splits=3,
        pattern=None,
        prior_weight=0.5,
    )
    X = _centered(scans.X, scans.groups)
    for i, order in enumerate(_orders(0, 4, 3, 7)):
        train = np.isin(scans.groups, order[:4])
        p = GaussianNB().fit(X[train], scans.coarse[train]).predict_proba(X[~train])
        twin = prediction_information(
            0.5 * p + 0.5 * 0.5,
            scans.coarse[~train],
            priors=[0.5, 0.5],
            classes=["A", "B"],
        )
        assert curve.information[0, i] == pytest.approx(twin, abs=1e-10)
    assert np.all(np.isnan(curve.n_components))
    assert not hasattr(classifier, "classes_")  # the user's own is never fitted


def test_rotated_coordinates_for_a_ridge_penalty(scans):
    curves = [
        information_learning_curve(
            scans.X,
            scans.coarse,
            scans.groups,
            classifier=LogisticRegression(C=0.01, tol=1e-10, max_iter=1000),
            rotation_invariant=rotate,
            train_sizes=[3],
            n_splits=3,
        )
        for rotate in (True, False)
    ]
    np.testing.assert_allclose(curves[0].information, curves[1].information, atol=1e-5)
    np.testing.assert_allclose(
        curves[0].reproducibility, curves[1].reproducibility, atol=1e-5
    )


def test_prior_weight_is_chosen_inside_the_training_set(scans):
    curve = information_learning_curve(
        scans.X,
        scans.fine,
        scans.groups,
        classifier=CanonicalVariates(n_components=4),
        prior_weight="cross-validated",
        train_sizes=[4],
        n_splits=3,
        pattern=None,
    )
    X, y = _centered(scans.X, scans.groups), scans.fine
    priors, names = [0.25] * 4, np.unique(y)
    for i, order in enumerate(_orders(0, 4, 3, 7)):
        train, inner, truth = np.isin(scans.groups, order[:4]), [], []
        for left_out in order[:4]:
            out = scans.groups == left_out
            model = CanonicalVariates(n_components=4).fit(
                X[train & ~out], y[train & ~out]
            )
            inner.append(model.predict_proba(X[out]))
            truth.append(y[out])
        right = names == np.concatenate(truth)[:, None]
        weight = best_prior_weight(np.concatenate(inner)[right] / 0.25)
        assert curve.prior_weight[0, i] == pytest.approx(weight, abs=1e-8)
        p = (
            CanonicalVariates(n_components=4)
            .fit(X[train], y[train])
            .predict_proba(X[~train])
        )
        twin = prediction_information(
            (1 - weight) * p + weight * 0.25, y[~train], priors=priors, classes=names
        )
        assert curve.information[0, i] == pytest.approx(twin, abs=1e-7)


def test_full_weight_of_the_prior_tells_nothing(scans):
    curve = information_learning_curve(
        scans.X,
        scans.fine,
        scans.groups,
        prior_weight=1.0,
        train_sizes=[3],
        n_splits=2,
        pattern=None,
    )
    np.testing.assert_allclose(curve.information, 0, atol=1e-12)
    np.testing.assert_allclose(curve.error_rate, 0.75)  # ties broken in expectation


def test_identical_for_any_n_jobs_and_for_parts(scans):
    options = {"n_splits": 23, "random_state": 5}
    data = (scans.X, scans.fine, scans.groups)
    one = information_learning_curve(*data, train_sizes=[2, 3], n_jobs=1, **options)
    two = information_learning_curve(*data, train_sizes=[2, 3], n_jobs=2, **options)
    part = information_learning_curve(*data, train_sizes=[3], n_jobs=1, **options)
    for name in ("information", "error_rate", "confusion", "reproducibility"):
        np.testing.assert_array_equal(one[name], two[name])
        np.testing.assert_array_equal(one[name][1:], part[name])


def test_random_state(scans):
    data = (scans.X, scans.fine, scans.groups)
    options = {"train_sizes": [3], "n_splits": 4, "pattern": None}
    same, again = (
        information_learning_curve(
            *data, random_state=np.random.default_rng(8), **options
        ).information
        for _ in range(2)
    )
    other = information_learning_curve(*data, random_state=9, **options).information
    np.testing.assert_array_equal(same, again)
    assert np.all(same != other)


def test_scaled_scans(scans):
    positive = 100 + scans.X
    gains = np.random.default_rng(0).uniform(0.5, 2, len(positive))[:, None]
    options = {"train_sizes": [4], "n_splits": 4, "pattern": None, "scale": "mean"}
    first = information_learning_curve(positive, scans.fine, scans.groups, **options)
    second = information_learning_curve(
        gains * positive, scans.fine, scans.groups, **options
    )
    np.testing.assert_allclose(first.information, second.information, atol=1e-8)


def test_more_features_than_samples_is_not_needed(scans):
    few = scans.X[:, :6]
    curve = information_learning_curve(
        few, scans.coarse, scans.groups, train_sizes=[4], n_splits=3
    )
    assert np.all(curve.n_components == 6)


def test_default_sizes_components_and_entropy(scans):
    curve = information_learning_curve(scans.X, scans.fine, scans.groups, n_splits=2)
    np.testing.assert_array_equal(curve.train_sizes, [3, 4, 5, 6])
    assert curve.n_components.max() == 8
    assert curve.label_entropy == 2.0
    assert np.all(curve.information <= 2.0)
    np.testing.assert_allclose(curve.confusion.sum(axis=2), 1)


def test_too_many_components_are_reported_once(scans):
    with pytest.warns(UserWarning, match=r"n_components=20 was lowered at .*\[2\]"):
        curve = information_learning_curve(
            scans.X,
            scans.fine,
            scans.groups,
            classifier=CanonicalVariates(n_components=20),
            train_sizes=[2, 6],
            n_splits=2,
            pattern=None,
        )
    assert np.all(curve.n_components[0] < 20)
    assert np.all(curve.n_components[1] == 20)


def test_zero_posterior_is_reported(scans):
    with pytest.warns(UserWarning, match=r"probability zero at train_sizes \[3\]"):
        curve = information_learning_curve(
            scans.X,
            scans.fine,
            scans.groups,
            classifier=KNeighborsClassifier(1),
            prior_weight=None,
            train_sizes=[3],
            n_splits=2,
            pattern=None,
        )
    assert np.all(curve.information == -np.inf)


def test_overfitting_is_explained(scans, caplog):
    options = {"train_sizes": [2], "n_splits": 20, "prior_weight": None}
    warned = pytest.warns(UserWarning, match="strongly negative")
    with caplog.at_level("INFO", logger="neuroextrap"), warned:
        curve = information_learning_curve(scans.X, scans.fine, scans.groups, **options)
    assert curve.information.mean() < 0
    assert curve.error_rate.mean() < curve.baseline_error_rate.mean()
    assert "the classifier overfits" in caplog.text


def test_classes_between_subjects():
    """One scan a subject: splits are drawn until the training set has all classes."""
    rng = np.random.default_rng(0)
    y = np.array([0] * 6 + [1] * 6)
    X = rng.standard_normal((12, 40)) + y[:, None]
    curve = information_learning_curve(
        X,
        y,
        np.arange(12),
        center=None,
        classifier=CanonicalVariates(n_components=1),
        train_sizes=[5, 8],
        n_splits=12,
    )
    assert curve.error_rate[1].mean() < 0.2
    assert np.all(np.isfinite(curve.reproducibility[0]))


def test_mean_information_without_signal_is_not_positive():
    totals, shrunk = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((80, 60)), np.tile([0, 1, 2, 3], 20)
        groups = np.repeat(np.arange(10), 8)
        options = {"train_sizes": [4, 8], "n_splits": 4, "pattern": None}
        for weight, out in ((None, totals), ("cross-validated", shrunk)):
            curve = information_learning_curve(
                X, y, groups, prior_weight=weight, random_state=seed, **options
            )
            out.append(curve.information.mean(axis=1))
    assert np.all(np.mean(totals, axis=0) < 0)
    assert np.all(np.mean(totals, axis=0) < np.mean(shrunk, axis=0))
    assert np.all(np.mean(shrunk, axis=0) < 0.005)
    assert np.all(np.mean(shrunk, axis=0) > -0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": "scan"}, "center='scan' must be"),
        ({"scale": "max"}, "scale='max' must be"),
        ({"scale": "mean"}, "clearly positive"),
        ({"pattern": "map"}, "pattern='map' must be"),
        ({"prior_weight": "auto"}, "prior_weight='auto' must be"),
        ({"prior_weight": 2.0}, "prior_weight=2.0 must be a number between 0 and 1"),
        ({"n_splits": 0}, "n_splits must be an integer >= 1; got 0"),
        ({"train_sizes": [0, 2]}, r"train_sizes=\[0, 2\] must be whole numbers"),
        ({"train_sizes": [7]}, r"train_sizes=\[7\] must be whole numbers between 1"),
        ({"train_sizes": [2.5]}, r"train_sizes=\[2.5\] must be whole numbers"),
        ({"priors": [1.0]}, "priors of shape"),
        ({"mask": "mask.nii"}, "mask is for images"),
        ({"y": np.zeros(56)}, "y must hold at least 2 labels, got one, 0.0"),
        ({"y": np.arange(5)}, r"y has shape \(5,\), a column of X has \(56,\)"),
        ({"groups": np.arange(5)}, r"groups has shape \(5,\)"),
        ({"groups": np.arange(56)}, "has one label|scans of one label only"),
        (
            {"groups": ["one", *np.repeat(list("abcde"), 11)]},
            "group 'one' has one scan",
        ),
        ({"X": np.zeros((56, 3))}, "X is zero everywhere"),
        ({"X": np.zeros(56)}, r"X must have shape .*, got \(56,\)"),
        ({"X": np.full((56, 3), np.nan)}, "sample 0 of X holds NaN"),
        ({"classifier": CanonicalVariates(n_components=0)}, "n_components=0 must be"),
    ],
)
def test_input_is_checked(scans, options, message):
    options = {"X": scans.X, "y": scans.fine, "groups": scans.groups} | options
    with pytest.raises(ValueError, match=message):
        information_learning_curve(**options)


def test_classifiers_are_checked(scans):
    data = (scans.X, scans.coarse, scans.groups)
    with pytest.raises(TypeError, match="has no predict_proba"):
        information_learning_curve(*data, classifier=RidgeClassifier())
    with pytest.raises(TypeError, match="'canonical' needs CanonicalVariates"):
        information_learning_curve(*data, classifier=GaussianNB(), pattern="canonical")
    with pytest.raises(TypeError, match="GaussianNB has no coef_"):
        information_learning_curve(*data, classifier=GaussianNB(), n_splits=1)


def test_too_few_subjects(scans):
    two = scans.groups < 2
    with pytest.raises(ValueError, match="needs at least 3"):
        information_learning_curve(scans.X[two], scans.fine[two], scans.groups[two])
    from tests.learning_curves.seam import agnostic_labels

    y = agnostic_labels(scans.groups)
    with pytest.raises(ValueError, match="1 training groups hold at most 8 samples"):
        information_learning_curve(
            scans.X, y, scans.groups, train_sizes=[1, 2], prior_weight=None
        )
    with pytest.raises(ValueError, match="one of them left out for prior_weight"):
        information_learning_curve(
            scans.X, y, scans.groups, train_sizes=[2], prior_weight="cross-validated"
        )


def test_classes_that_too_few_subjects_hold(scans):
    y = np.where(scans.groups == 0, scans.coarse, "rare")
    y[scans.groups == 1] = scans.coarse[scans.groups == 1]
    with pytest.raises(ValueError, match=r"no 1 training groups that hold every class"):
        information_learning_curve(
            scans.X,
            y,
            scans.groups,
            train_sizes=[1],
            pattern=None,
            prior_weight=None,
            classifier=CanonicalVariates(n_components=1),
        )
    with pytest.raises(ValueError, match=r"or pattern=None"):
        information_learning_curve(
            scans.X, np.where(scans.groups == 0, scans.coarse, "C"), scans.groups
        )
    with pytest.raises(ValueError, match=r"every class twice .* or prior_weight=None"):
        information_learning_curve(
            scans.X,
            np.where(scans.groups == 0, scans.coarse, "C"),
            scans.groups,
            pattern=None,
            train_sizes=[3],
            prior_weight="cross-validated",
        )


def test_naive_projections_agree(scans):
    """Training and test projections of the small decomposition, to 1e-10."""
    X = _centered(scans.X, scans.groups)
    full = np.linalg.svd(X, full_matrices=False)
    Z = full[0] * full[1]
    train = scans.groups < 5
    direct = PCA(5, svd_solver="full").fit(X[train])
    small = CanonicalVariates(n_components=5).fit(Z[train], scans.fine[train])
    np.testing.assert_allclose(
        np.abs(Z @ small.basis_.T), np.abs(direct.transform(X)), atol=1e-10
    )


def test_generalizable_basis_tells_more_once_there_are_subjects():
    """Projections of training scans are too long in the plain basis."""
    found = {"svd": [], "generalizable": []}
    for seed in range(2):
        data = simulate_hierarchical_scans(n_features=1000, random_state=seed)
        for basis, rows in found.items():
            curve = information_learning_curve(
                data.X,
                data.fine,
                data.groups,
                classifier=CanonicalVariates(n_components=3, basis=basis),
                train_sizes=[8, 16],
                n_splits=4,
                pattern=None,
            )
            rows.append(
                [*curve.information.mean(axis=1), *curve.error_rate.mean(axis=1)]
            )
    plain, better = (np.mean(rows, axis=0) for rows in found.values())
    assert np.all(better[:2] > plain[:2])  # bits
    assert np.all(better[2:] < plain[2:] - 0.05)  # errors


def test_default_sizes_leave_twice_as_many_residuals_as_components():
    """Ten labels once in each of eight runs: (G - 1) (10 - 1) residuals at size G."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(10), 8), np.repeat(np.arange(8), 10)
    X = rng.standard_normal((80, 120)) + 0.6 * rng.standard_normal((10, 120))[y]
    options = {"n_splits": 5, "pattern": None}
    curve = information_learning_curve(X, y, runs, **options)
    np.testing.assert_array_equal(curve.train_sizes, [4, 5, 6, 7])  # 27 >= 2 * 10
    assert np.all(curve.information.mean(axis=1) > 0)
    few = information_learning_curve(
        X, y, runs, classifier=CanonicalVariates(4), **options
    )
    np.testing.assert_array_equal(few.train_sizes, [3, 4, 5, 6, 7])  # 18 >= 8, 1 out
    plain = {"prior_weight": None, **options}
    with pytest.warns(UserWarning, match="wrong; use larger train_sizes, coarser lab"):
        other = information_learning_curve(X, y, runs, classifier=GaussianNB(), **plain)
    np.testing.assert_array_equal(other.train_sizes, [2, 3, 4, 5, 6, 7])
    negative = r"\[2\] \(-.* bits\).* with 9 residual .* for 9 components"
    with pytest.warns(UserWarning, match=negative):
        information_learning_curve(X, y, runs, train_sizes=[2, 3, 7], **plain)


def test_residuals_are_those_left_by_labels_and_group_means(scans):
    from tests.learning_curves.seam import CurveOptions, prepare_run, residual_freedom

    rows = np.delete(np.arange(len(scans.groups)), [0, 1, 9])  # unequal subjects
    y, groups = scans.fine[rows], scans.groups[rows]
    for center in ("group", None):
        run = prepare_run(scans.X[rows], y, groups, CurveOptions(center=center))
        for size in (2, 4):
            smallest = np.argsort(np.bincount(groups), kind="stable")[:size]
            kept = np.isin(groups, smallest)
            columns = [y[kept] == label for label in np.unique(y)]
            if center:
                columns += [groups[kept] == group for group in smallest]
            design = np.stack(columns, axis=1).astype(float)
            left = kept.sum() - np.linalg.matrix_rank(design)
            assert residual_freedom(run, size) == left


def test_too_few_groups_for_the_components_give_one_size_and_a_warning(scans):
    few = scans.groups < 4
    with pytest.warns(UserWarning, match="even 3 training groups leave only 18"):
        curve = information_learning_curve(
            scans.X[few],
            scans.fine[few],
            scans.groups[few],
            classifier=CanonicalVariates(12),
            n_splits=3,
            pattern=None,
        )
    np.testing.assert_array_equal(curve.train_sizes, [3])


def test_a_scan_of_two_subjects_is_refused():
    rng = np.random.default_rng(0)
    y, groups = np.tile([0, 1], 12), np.repeat(np.arange(6), 4)
    X = rng.normal(size=(24, 10))
    X[20] = X[3]
    with pytest.raises(ValueError, match="samples 3 and 20 are equal to the last bit"):
        information_learning_curve(X, y, groups, n_splits=4)
