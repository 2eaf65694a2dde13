"""Decoders of regions on new samples: refits by scikit-learn, patterns, misuse."""

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.maskers import NiftiMasker
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from scipy.stats import pearsonr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.utils import Bunch

from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight

NAMES = np.array(["ant", "bee", "cat", "dog"])
EQUAL, UNEQUAL = np.tile(np.arange(4), 12), np.tile([0, 0, 0, 1, 2, 2, 3, 3], 6)
NOT_LINEAR = ("gaussian_nb", "qda", "nearest_neighbor", "svc", LogisticRegression())


def simulate(codes=EQUAL, n_features=30, seed=0):
    """Samples (48, n_features) of four classes in six runs, and 20 new ones."""
    rng = np.random.default_rng(seed)
    patterns = 0.7 * rng.normal(size=(4, n_features)) + 3
    new = rng.integers(4, size=20)
    X, further = (
        patterns[c] + rng.normal(size=(len(c), n_features)) for c in (codes, new)
    )
    return X, NAMES[codes], np.repeat(np.arange(6), 8), further, NAMES[new]


def scatter(x):
    return np.square(x - x.mean(axis=0)).sum()


def refit(name, X, y, new, s=0.3):
    """Predictions of scikit-learn, of equal classes and a penalty as of shrinkage s."""
    penalty = s * scatter(X) / X.shape[1]
    if name == "ridge":
        indicators = (y[:, None] == NAMES).astype(float)
        return NAMES[Ridge(penalty).fit(X, indicators).predict(new).argmax(axis=1)]
    if name == "lda":  # (within scatter + penalty I) / n, as a covariance of its own
        within = sum(scatter(X[y == c]) for c in NAMES)
        mix = penalty / (penalty + within / X.shape[1])  # towards the mean variance
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=mix)
        return model.fit(X, y).predict(new)
    model = {
        "nearest_centroid": NearestCentroid(),
        "gaussian_nb": GaussianNB(var_smoothing=0),
        "nearest_neighbor": KNeighborsClassifier(1),
    }[name]
    return model.fit(X, y).predict(new)


@pytest.mark.parametrize("n_features", [6, 30, 90])
@pytest.mark.parametrize(
    "name", ["ridge", "lda", "nearest_centroid", "gaussian_nb", "nearest_neighbor"]
)
def test_predictions_are_those_of_scikit_learn(name, n_features):
    X, y, runs, new, _ = simulate(n_features=n_features)
    light = IdentificationSearchLight(estimator=name, shrinkage=0.3, bounds=None)
    fitted = light.fit(X, y, groups=runs)
    expected = refit(name, X, y, new)
    assert fitted.predict(0, new).tolist() == expected.tolist()
    assert len(set(expected)) == 4


@pytest.mark.parametrize("codes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("n_features", [5, 90])
@pytest.mark.parametrize("name", ["nearest_centroid", "ridge", "lda", "gaussian_nb"])
def test_a_fold_predicts_as_the_cross_validation_does(name, n_features, codes):
    # the penalty of the folds comes from all samples, so it is given as a number here
    X, y, runs, _, _ = simulate(codes, n_features)
    light = IdentificationSearchLight(estimator=name, shrinkage=0.3, bounds=None)
    whole = light.fit(X, y, groups=runs).region_margins(0)
    train, test = runs != 5, runs == 5
    part = scatter(X) / scatter(X[train])
    again = IdentificationSearchLight(
        estimator=name, shrinkage=0.3 * part, bounds=None
    ).fit(X[train], y[train], groups=runs[train])
    mine, of_fold = again.margins(0, X[test]), whole[runs[np.argsort(runs)] == 5]
    mine, of_fold = (m - m.mean(axis=1, keepdims=True) for m in (mine, of_fold))
    np.testing.assert_allclose(mine, of_fold, rtol=2e-3, atol=1e-4 * np.ptp(of_fold))


@pytest.mark.parametrize(
    "estimator", ["qda", "gaussian_nb", "lda", LogisticRegression()]
)
def test_new_samples_do_not_affect_one_another(estimator):
    X, y, runs, new, _ = simulate()
    light = IdentificationSearchLight(estimator=estimator, bounds=None)
    fitted = light.fit(X, y, groups=runs)
    together = fitted.margins(0, new)
    strange = np.concatenate([new[:1], 100 * new[1:]])
    np.testing.assert_allclose(fitted.margins(0, new[:1]), together[:1], rtol=1e-6)
    np.testing.assert_allclose(fitted.margins(0, strange)[0], together[0], rtol=1e-6)


def test_score_is_that_of_predictions():
    X, y, runs, new, true = simulate(UNEQUAL)
    fitted = IdentificationSearchLight(bounds=None).fit(X, y, groups=runs)
    expected = balanced_accuracy_score(true, fitted.predict(0, new))
    assert fitted.score(new, true) == pytest.approx(expected)
    assert 0.3 < expected < 1


@pytest.mark.parametrize("name", ["nearest_centroid", "lda"])
def test_cross_val_score_is_the_mean_of_folds(name):
    X, y, runs, _, _ = simulate()
    light = IdentificationSearchLight(estimator=name, shrinkage=0.3, bounds=None)
    how = {"cv": LeaveOneGroupOut(), "groups": runs, "params": {"groups": runs}}
    scores = cross_val_score(light, X, y, **how)
    own = light.fit(X, y, groups=runs).region_scores_["accuracy"][0]
    assert scores.mean() == pytest.approx(own, abs=0.03)
    targets = TargetSearchLight(shrinkage=0.3)
    scores = cross_val_score(targets, X, X[:, :2] + X[:, 2:4], **how)
    assert 0.5 < scores.mean() < 1


def test_columns_of_targets_are_those_that_were_fitted():
    X, _, runs, _, _ = simulate()
    targets = pd.DataFrame(X[:, :2] + X[:, 2:4], columns=["x", "y"])
    fitted = TargetSearchLight(shrinkage=0.3).fit(X, targets, groups=runs)
    assert fitted.score(X, targets) == fitted.score(X, targets.to_numpy())
    with pytest.raises(ValueError, match=r"targets has the columns \['y', 'x'\]"):
        fitted.score(X, targets[["y", "x"]])


@pytest.mark.parametrize("names", [np.arange(48), [f"trial {k}" for k in range(48)]])
def test_rows_of_data_frames_are_in_one_order(names):
    X, y, runs, _, _ = simulate()
    X, y = pd.DataFrame(X, index=names), pd.Series(y, index=names)
    runs, targets = pd.Series(runs, index=names), X.iloc[:, :2]
    mixed = np.random.default_rng(0).permutation(48)
    light, other = IdentificationSearchLight(bounds=None), TargetSearchLight()
    with pytest.raises(ValueError, match=r"y has the rows of imgs .* y\.loc"):
        light.fit(X, y.iloc[mixed], groups=runs)
    with pytest.raises(ValueError, match="groups has the rows of imgs"):
        light.fit(X, y, groups=runs.iloc[mixed])
    with pytest.raises(ValueError, match="targets has the rows of imgs"):
        other.fit(X, targets.iloc[mixed], groups=runs)
    given = light.fit(X, y, groups=runs).region_scores_["accuracy"]
    plain = light.fit(X.to_numpy(), y.to_numpy(), groups=runs)
    assert given == plain.region_scores_["accuracy"]
    renamed = y.set_axis(range(100, 148))
    assert light.fit(X, renamed, groups=runs).region_scores_["accuracy"] == given


def volumes(X, shape=(3, 5, 2)):
    return nibabel.Nifti1Image(X.T.reshape(*shape, -1), np.diag([2.0, 2, 2, 1]))


@pytest.mark.parametrize("within_runs", [None, "center", "zscore"])
def test_images_go_through_masker_and_centering(within_runs):
    X, y, runs, _, _ = simulate()
    further = X + 5 * np.repeat(np.arange(6.0), 8)[:, None]  # other baselines of runs
    inside = np.ones((3, 5, 2), dtype="int8")
    inside[0, 0] = 0
    masker = NiftiMasker(nibabel.Nifti1Image(inside, np.diag([2.0, 2, 2, 1])))
    options = {"within_runs": within_runs, "bounds": None}
    light = IdentificationSearchLight(masker, radius=3.0, **options)
    fitted = light.fit(volumes(X), y, groups=runs)
    region = fitted.find_region((2, 4, 2))
    (members,) = fitted.run_.usable.regions[[region]].toarray()
    columns = np.flatnonzero(inside.ravel())[np.flatnonzero(members)]
    one = IdentificationSearchLight(**options).fit(X[:, columns], y, groups=runs)
    given = {} if within_runs is None else {"groups": runs}
    found = fitted.margins(region, volumes(further), **given)
    np.testing.assert_allclose(
        found, one.margins(0, further[:, columns], **given), rtol=1e-4
    )
    if within_runs is not None:  # baselines do not count
        own = fitted.margins(region, volumes(X), groups=runs)
        np.testing.assert_allclose(found, own, rtol=1e-4, atol=1e-4 * np.ptp(own))


def test_scale_of_samples_does_not_matter():
    X, y, runs, new, _ = simulate()
    light = IdentificationSearchLight(estimator="ridge", bounds=None)
    plain, tiny = (
        light.fit(X * u, y, groups=runs) and vars(light)["_run"] for u in (1, 1e-9)
    )
    assert plain.scale == 1 < tiny.scale
    fitted = light.fit(X * 1e-9, y, groups=runs)
    small = fitted.predict(0, new * 1e-9).tolist()
    weights = fitted.patterns(0, of="weights")["ant"]
    fitted = light.fit(X, y, groups=runs)
    assert small == fitted.predict(0, new).tolist()
    np.testing.assert_allclose(
        weights * 1e-9, fitted.patterns(0, of="weights")["ant"], rtol=1e-3
    )


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("name", ["nearest_centroid", "ridge", "lda"])
def test_patterns_are_haufes(name, whiten):
    X, y, runs, new, _ = simulate()
    noise = np.random.default_rng(3).normal(size=(200, 30)) * np.linspace(1, 3, 30)
    light = IdentificationSearchLight(
        estimator=name, bounds=None, noise_covariance=noise if whiten else None
    )
    fitted = light.fit(X, y, groups=runs)
    W = np.stack(list(fitted.patterns(0, of="weights").values()), axis=1)
    margins = fitted.margins(0, new)
    about = margins - margins.mean(axis=1, keepdims=True)
    outputs = new @ W
    np.testing.assert_allclose(
        about - about.mean(axis=0),
        outputs - outputs.mean(axis=0),
        rtol=1e-3,
        atol=1e-4 * np.ptp(about),
    )
    expected = np.cov(X.T) @ W @ np.linalg.pinv(np.cov((X @ W).T), rcond=1e-8)
    found = fitted.patterns(0)
    assert list(found) == NAMES.tolist()
    found = np.stack(list(found.values()), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.ptp(expected))


def test_patterns_are_images_of_a_region():
    X, y, runs, _, _ = simulate()
    mask = nibabel.Nifti1Image(np.ones((3, 5, 2), "int8"), np.diag([2.0, 2, 2, 1]))
    fitted = IdentificationSearchLight(mask, radius=2.0, bounds=None).fit(
        volumes(X), y, groups=runs
    )
    pattern = fitted.patterns((2, 4, 2))["bee"].get_fdata()
    assert pattern.shape == (3, 5, 2)
    assert np.isfinite(pattern).sum() == 6
    assert np.isfinite(pattern[1, 2, 1])


@pytest.mark.parametrize("estimator", NOT_LINEAR)
def test_classifiers_without_weights_say_so(estimator):
    X, y, runs, new, _ = simulate()
    light = IdentificationSearchLight(estimator=estimator, bounds=None)
    fitted = light.fit(X, y, groups=runs)
    assert len(fitted.predict(0, new)) == 20
    with pytest.raises(ValueError, match="has no weights of voxels here; use 'nearest"):
        fitted.patterns(0)


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("score", ["cosine", "correlation", "euclidean"])
@pytest.mark.parametrize("standardize", [True, False])
def test_targets_of_new_samples_are_those_of_ridge(columns, score, standardize):
    X, _, runs, new, _ = simulate()
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(30, columns or 1)) * 10.0 ** np.arange(columns or 1)
    targets, true = (x @ weights + rng.normal(size=weights.shape[1]) for x in (X, new))
    if columns is None:
        score = "auto"
    fitted = TargetSearchLight(
        shrinkage=0.3, metric=score, standardize_targets=standardize
    ).fit(X, targets if columns else targets.ravel(), groups=runs)
    model = Ridge(0.3 * scatter(X) / 30).fit(X, targets)
    decoded = fitted.predict(0, new)
    np.testing.assert_allclose(decoded, model.predict(new).reshape(20, -1), rtol=1e-4)
    expected = [
        pearsonr(*pair).statistic for pair in zip(decoded.T, true.T, strict=True)
    ]
    assert fitted.score(new, true) == pytest.approx(np.mean(expected))
    W = np.stack(list(fitted.patterns(0, of="weights").values()), axis=1)
    np.testing.assert_allclose(W, model.coef_.reshape(-1, 30).T, rtol=1e-3, atol=1e-3)
    haufe = np.cov(X.T) @ W @ np.linalg.inv(np.atleast_2d(np.cov((X @ W).T)))
    found = np.stack(list(fitted.patterns(0).values()), axis=1)
    np.testing.assert_allclose(found, haufe, rtol=1e-3, atol=1e-4 * np.abs(haufe).max())
    _check_candidates(fitted, decoded, targets, new, score, standardize)


def _check_candidates(fitted, decoded, targets, new, score, standardize):
    """Candidates are ordered by their score with what is decoded, one by one."""
    mean, spread = targets.mean(axis=0), targets.std(axis=0) if standardize else 1
    about = (fitted.candidates_ - mean) / spread
    of = {
        "cosine": lambda a, b: a @ b / np.sqrt(a @ a * (b @ b)),
        "correlation": lambda a, b: np.corrcoef(a, b)[0, 1],
        "euclidean": lambda a, b: -np.sum((a - b) ** 2),
        "auto": lambda a, b: -np.sum((a - b) ** 2),
    }[score]
    margins = fitted.margins(0, new)
    expected = [[of(d, c) for c in about] for d in (decoded - mean) / spread]
    for mine, theirs in zip(margins, np.array(expected), strict=True):
        assert np.corrcoef(mine, theirs)[0, 1] == pytest.approx(1, abs=1e-5)


def fitted_region(**options):
    X, y, runs, new, true = simulate()
    light = IdentificationSearchLight(bounds=None, **options)
    return light.fit(X, y, groups=runs), new, true


def test_what_does_not_fit_is_refused(tmp_path):
    fitted, new, true = fitted_region()
    with pytest.raises(ValueError, match="imgs has 29 voxels, 30 were fitted"):
        fitted.predict(0, new[:, 1:])
    hole = new.copy()
    hole[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in voxels of region 0"):
        fitted.predict(0, hole)
    with pytest.raises(ValueError, match=r"y has \['eel'\], which were not fitted"):
        fitted.score(new, ["eel"] * 20)
    with pytest.raises(ValueError, match="imgs has 20 samples, y has 19"):
        fitted.score(new, true[1:])
    with pytest.raises(ValueError, match="of='maps' must be one of 'activation', 'w"):
        fitted.patterns(0, of="maps")
    with pytest.raises(ValueError, match="imgs must be an array"):
        fitted.predict(0, volumes(new))
    fitted.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    for call in (again.predict, again.margins):
        with pytest.raises(ValueError, match="samples are not stored with results"):
            call(0, new)
    with pytest.raises(ValueError, match="samples are not stored with results"):
        again.patterns(0)


def test_regions_and_runs_must_be_named():
    fitted, new, true = fitted_region(regions=np.kron(np.eye(2), np.ones(15)))
    with pytest.raises(ValueError, match=r"there are 2 regions; say which by region="):
        fitted.score(new, true)
    assert fitted.score(new, true, region=1) > 0.3
    centered, new, _ = fitted_region(within_runs="center")
    with pytest.raises(ValueError, match="needs the run of every sample"):
        centered.predict(0, new)
    with pytest.raises(ValueError, match="imgs has 20 samples, groups has 19"):
        centered.predict(0, new, groups=np.zeros(19))
    zscored, new, _ = fitted_region(within_runs="zscore")
    with pytest.raises(ValueError, match="constant within a run"):
        zscored.predict(0, new, groups=np.arange(20))


def test_targets_of_other_columns_are_refused():
    X, _, runs, new, _ = simulate()
    fitted = TargetSearchLight().fit(X, X[:, :3], groups=runs)
    with pytest.raises(ValueError, match=r"targets are \(20, 2\)"):
        fitted.score(new, new[:, :2])


ANALYSES = ["nearest_centroid", "lda", "targets"]


def analysis(name, mask=None, **options):
    """A classifier of the names, or a decoder of two targets, and what it is given."""
    X, y, runs, new, true = simulate()
    if name == "targets":
        light = TargetSearchLight(mask, shrinkage=0.3, **options)
        weights = np.random.default_rng(5).normal(size=(30, 2))
        return light, X, X @ weights, runs, new, new @ weights
    light = IdentificationSearchLight(mask, estimator=name, bounds=None, **options)
    return light, X, y, runs, new, true


def check_region(fitted, region, columns, new_imgs, name):
    """A region predicts as the same columns do as an array, and scores, and reads."""
    light, X, y, runs, new, true = analysis(name)
    alone = light.fit(X[:, columns], y, groups=runs)
    new = new[:, columns]
    np.testing.assert_allclose(
        fitted.margins(region, new_imgs), alone.margins(0, new), rtol=1e-3, atol=1e-3
    )
    if name == "targets":
        np.testing.assert_allclose(
            fitted.predict(region, new_imgs), alone.predict(0, new), rtol=1e-3
        )
    else:
        assert (fitted.predict(region, new_imgs) == alone.predict(0, new)).all()
    score = fitted.score(new_imgs, true, region=region)
    assert score == pytest.approx(alone.score(new, true), abs=1e-4)
    return {of: alone.patterns(0, of=of) for of in ("activation", "weights")}


@pytest.mark.parametrize("name", ANALYSES)
def test_atlas_regions_predict_by_name(name):
    labels = np.arange(30).reshape(3, 5, 2) // 12  # background, 12 and 6 voxels
    affine = np.diag([2.0, 2, 2, 1])
    atlas = Bunch(
        maps=nibabel.Nifti1Image(labels.astype(np.int32), affine),
        labels=["background", "left", "right"],
    )
    mask = nibabel.Nifti1Image(np.ones((3, 5, 2), "int8"), affine)
    light, X, y, runs, new, _ = analysis(name, mask, labels_img=atlas)
    fitted = light.fit(volumes(X), y, groups=runs)
    for number, region in ((1, "left"), (2, "right")):
        columns = np.flatnonzero(labels.ravel() == number)
        expected = check_region(fitted, region, columns, volumes(new), name)
        for of, patterns in expected.items():
            for output, values in patterns.items():
                image = fitted.patterns(region, of=of)[output].get_fdata().ravel()
                assert np.isnan(np.delete(image, columns)).all()
                np.testing.assert_allclose(image[columns], values, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="region='middle' is no region"):
        fitted.predict("middle", volumes(new))
    with pytest.raises(ValueError, match="whole number from 0 to 1"):
        fitted.predict(2, volumes(new))


def surface(X):
    """Two hemispheres of 15 vertices each, a strip of triangles."""
    vertices = np.stack([np.arange(15) // 2, np.arange(15) % 2, np.zeros(15)], axis=1)
    faces = np.stack([np.arange(13), np.arange(13) + 1, np.arange(13) + 2], axis=1)
    parts = {
        side: InMemoryMesh(vertices.astype(np.float32), faces)
        for side in ("left", "right")
    }
    data = {"left": X[:, :15].T, "right": X[:, 15:].T}
    return SurfaceImage(mesh=PolyMesh(**parts), data=data)


@pytest.mark.parametrize("name", ANALYSES)
def test_discs_of_surfaces_predict(name):
    light, X, y, runs, new, _ = analysis(name, radius=2.5)
    fitted = light.fit(surface(X), y, groups=runs)
    region = 20  # of the right hemisphere
    (members,) = fitted.run_.usable.regions[[region]].toarray()
    columns = np.flatnonzero(members)
    assert 15 <= columns.min() < columns.max() < 30
    expected = check_region(fitted, region, columns, surface(new), name)
    for of, patterns in expected.items():
        for output, values in patterns.items():
            image = fitted.patterns(region, of=of)[output]
            assert isinstance(image, SurfaceImage)
            assert np.isnan(image.data.parts["left"]).all()
            right = np.asarray(image.data.parts["right"]).ravel()
            np.testing.assert_allclose(
                right[columns - 15], values, rtol=1e-3, atol=1e-4
            )
    with pytest.raises(ValueError, match="whole number from 0 to 29"):
        fitted.predict(30, surface(new))


@pytest.mark.parametrize("name", ANALYSES)
def test_one_sample_is_predicted_as_among_others(name):
    light, X, y, runs, new, _ = analysis(name)
    fitted = light.fit(X, y, groups=runs)
    for call in (fitted.predict, fitted.margins):
        together, alone = call(0, new), call(0, new[3:4])
        assert len(alone) == 1
        if together.dtype.kind == "f":
            np.testing.assert_allclose(alone[0], together[3], rtol=1e-5)
        else:
            assert alone[0] == together[3]


@pytest.mark.parametrize("name", ANALYSES)
def test_columns_of_data_frames_keep_their_order(name):
    light, X, y, runs, new, _ = analysis(name)
    columns = [f"v{i}" for i in range(30)]
    fitted = light.fit(pd.DataFrame(X, columns=columns), y, groups=runs)
    frame = pd.DataFrame(new, columns=columns)
    assert (fitted.predict(0, frame) == fitted.predict(0, new)).all()
    with pytest.raises(ValueError, match="give the same columns in the same order"):
        fitted.predict(0, frame[columns[::-1]])
    with pytest.raises(ValueError, match="give the same columns in the same order"):
        fitted.predict(0, frame.rename(columns={"v3": "w3"}))


@pytest.mark.parametrize("name", ANALYSES)
def test_wrong_samples_and_regions_are_named(name):
    light, X, y, runs, new, true = analysis(name)
    fitted = light.fit(X, y, groups=runs)
    for region in (1, -1, 0.5):
        with pytest.raises(ValueError, match=f"region={region} must be a whole number"):
            fitted.predict(region, new)
    with pytest.raises(ValueError, match="imgs must have shape"):
        fitted.predict(0, new[0])
    with pytest.raises(TypeError, match="imgs must be real numbers"):
        fitted.predict(0, new.astype(str))
    with pytest.raises(ValueError, match="NaN or infinity in voxels of region 0"):
        fitted.predict(0, np.full_like(new, np.nan))
    with pytest.raises(ValueError, match="20"):
        fitted.score(new, true[:-1])
    with pytest.raises(ValueError, match="imgs has 31 voxels, 30 were fitted"):
        fitted.margins(0, np.hstack([new, new[:, :1]]))


def test_images_of_another_space_are_not_taken_for_those_of_the_mask():
    mask = nibabel.Nifti1Image(np.ones((3, 5, 2), "int8"), np.diag([2.0, 2, 2, 1]))
    light, X, y, runs, new, _ = analysis("lda", mask, radius=3.0)
    fitted = light.fit(volumes(X), y, groups=runs)
    other = nibabel.Nifti1Image(volumes(new).get_fdata(), np.diag([3.0, 3, 3, 1]))
    with pytest.raises(ValueError, match=r"grid|space|affine"):
        fitted.predict(0, other)
    with pytest.raises(ValueError, match=r"grid|space|shape"):
        fitted.predict(0, nibabel.Nifti1Image(np.ones((4, 5, 2, 3)), mask.affine))
    hole = volumes(new).get_fdata()
    hole[2, 4, 1, 0] = np.nan  # of another region
    inside = fitted.find_region((0, 0, 0))
    whole = fitted.margins(inside, volumes(new))
    damaged = nibabel.Nifti1Image(hole, mask.affine)
    np.testing.assert_allclose(fitted.margins(inside, damaged), whole)
    with pytest.raises(ValueError, match="NaN or infinity"):
        fitted.margins((4, 8, 2), damaged)
