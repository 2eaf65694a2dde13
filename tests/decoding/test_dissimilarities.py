"""Cross-validated distances: against their definitions, and what they are worth."""

import itertools
import json

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from nilearn.maskers import NiftiMasker
from scipy.stats import kendalltau, spearmanr

from neuroextrap.decoding import DissimilaritySearchLight
from neuroextrap.encoding import schaefer_strimmer_covariance
from tests.decoding.seam import ceiling_of_halves, comparison_features, halves

PAIRS = list(itertools.combinations(range(5), 2))


def simulate(n_classes=5, n_runs=6, n_features=12, repeats=2, signal=1.0, seed=0):
    """Samples of classes in random order in every run, some left out."""
    rng = np.random.default_rng(seed)
    shown = np.repeat(np.arange(n_classes), repeats)
    y = rng.permuted(np.tile(shown, (n_runs, 1)), axis=1).ravel()
    runs = np.repeat(np.arange(n_runs), len(shown))
    patterns = signal * rng.normal(size=(n_classes, n_features))
    X = patterns[y] + rng.normal(size=(len(y), n_features))
    X += 3 * rng.normal(size=(n_runs, n_features))[runs]  # offsets of runs cancel
    return X, y, runs


def crossnobis(X, y, runs, i, j, inverse):
    """Walther et al. 2016, eq. 6, over all ordered pairs of runs, divided by voxels."""

    def difference(run):
        return X[(runs == run) & (y == i)].mean(0) - X[(runs == run) & (y == j)].mean(0)

    held = [r for r in np.unique(runs) if {i, j} <= set(y[runs == r])]
    values = [
        difference(m) @ inverse @ difference(n)
        for m, n in itertools.permutations(held, 2)
    ]
    return np.mean(values) / X.shape[1]


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("unequal", [False, True])
def test_distances_are_those_of_the_definition(whitened, unequal):
    X, y, runs = simulate()
    keep = np.ones(len(y), dtype=bool)
    if unequal:  # a run lacks a class, others have single samples
        keep[np.flatnonzero((runs == 1) & (y == 2))] = False
        keep[np.flatnonzero(y == 4)[::3]] = False
    X, y, runs = X[keep], y[keep], runs[keep]
    residuals = np.random.default_rng(1).normal(size=(40, 12)) @ np.diag(
        1 + np.arange(12)
    )
    inverse = np.eye(12)
    if whitened:
        centered = residuals - residuals.mean(axis=0)
        inverse = np.linalg.inv(schaefer_strimmer_covariance(centered)[0])
    light = DissimilaritySearchLight(noise_covariance=residuals if whitened else None)
    fitted = light.fit(X, y, groups=runs)
    expected = [crossnobis(X, y, runs, i, j, inverse) for i, j in PAIRS]
    np.testing.assert_allclose(fitted.dissimilarities_[0], expected, rtol=1e-4)
    table = fitted.dissimilarity_table(0)
    assert table.loc[1, 3] == table.loc[3, 1] == fitted.dissimilarities_[0, 5]
    assert np.diag(table).tolist() == [0] * 5
    mean = fitted.region_scores_["mean_dissimilarity"][0]
    assert mean == pytest.approx(np.mean(expected), rel=1e-4)


def test_distances_of_noise_are_zero_on_average():
    X, y, runs = simulate(n_features=4000, signal=0.0)
    regions = scipy.sparse.kron(scipy.sparse.eye(400), np.ones((1, 10))).tocsr()
    fitted = DissimilaritySearchLight(regions=regions).fit(X, y, groups=runs)
    values = fitted.dissimilarities_.mean(axis=1)
    assert abs(values.mean()) < 4 * values.std() / 20
    assert (values < 0).any()


NAIVE = {
    "spearman": lambda a, b: spearmanr(a, b)[0],
    "cosine": lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b),
    # tau-a divides by all pairs, also where there are ties
    "kendall": lambda a, b: np.mean(
        [
            np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
            for i, j in itertools.combinations(range(len(a)), 2)
        ]
    ),
}


@pytest.mark.parametrize("method", NAIVE)
def test_agreement_is_that_of_the_definition(method):
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(3, 10)), rng.integers(0, 3, size=(4, 10)).astype(float)
    found = comparison_features(one, method) @ comparison_features(two, method).T
    expected = [[NAIVE[method](a, b) for b in two] for a in one]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    if method == "kendall":  # without ties
        tau = kendalltau(one[0], one[1])[0]
        features = comparison_features(one, method)
        assert features[0] @ features[1] == pytest.approx(tau)


@pytest.mark.parametrize("method", NAIVE)
def test_p_values_are_those_of_exchanged_classes(method):
    X, y, runs = simulate(n_classes=4, n_features=30, signal=0.4)
    regions = scipy.sparse.csr_array(np.random.default_rng(3).random((7, 30)) < 0.4)
    model = np.abs(np.subtract.outer(*2 * [np.array([0.0, 1, 1, 5])]))
    light = DissimilaritySearchLight(
        regions=regions, models={"m": model}, method=method, n_permutations=1000
    )
    fitted = light.fit(X, y, groups=runs)
    i, j = np.triu_indices(4, 1)
    every = np.array(
        [
            [
                NAIVE[method](d, model[np.ix_(p, p)][i, j])
                for p in itertools.permutations(range(4))
            ]
            for d in fitted.dissimilarities_
        ]
    ).round(9)
    scores = fitted.region_scores_
    np.testing.assert_allclose(scores["m_correlation"], every[:, 0], atol=1e-6)
    by_itself = (every >= every[:, :1]).mean(axis=1)
    together = (every.max(axis=0) >= every[:, :1]).mean(axis=1)
    np.testing.assert_allclose(scores["m_p_value"], by_itself)
    np.testing.assert_allclose(scores["m_p_value_fwe"], together)
    assert fitted.n_permutations_ == 23
    assert [f.name for f in fitted.findings_] == ["few_exchanges"]


def test_halves_of_runs_are_disjoint_and_all_different():
    present = np.ones((6, 4), dtype=bool)
    splits = halves(present)
    assert len(splits) == 10
    for one, other in splits:
        assert (one ^ other).all()
        assert one[:, 0].sum() == 3
    assert len({one[:, 0].tobytes() for one, _ in splits}) == 10
    assert halves(np.ones((3, 4), dtype=bool)) == []
    assert len(halves(np.ones((4, 3), dtype=bool))) == 3


@pytest.mark.parametrize("method", ["spearman", "cosine"])
def test_the_noise_ceiling_is_what_the_truth_reaches(method):
    truths, ceilings = [], []
    rng = np.random.default_rng(0)
    for seed in range(14):
        patterns = 0.6 * rng.normal(size=(8, 30))
        _, y, runs = simulate(n_classes=8, n_runs=8, seed=seed)
        X = patterns[y] + rng.normal(size=(len(y), 30))
        truth = np.square(patterns[:, None] - patterns).sum(axis=2)
        light = DissimilaritySearchLight(models=truth, method=method)
        scores = light.fit(X, y, groups=runs).region_scores_
        truths.append(scores["model_correlation"][0])
        ceilings.append(scores["noise_ceiling"][0])
    assert np.mean(ceilings) == pytest.approx(np.mean(truths), abs=0.04)
    same = np.arange(6.0).reshape(2, 3)
    for sign in (1, -1):
        values = np.stack([same, same, sign * same], axis=1)
        assert ceiling_of_halves(values, method).tolist() == [sign > 0] * 2
    assert np.isnan(ceiling_of_halves(values[:, :1], method)).all()


def images(X):
    """A volume of voxels, one a feature, and its mask."""
    data = X.T.reshape(-1, 2, 2, len(X)).astype(np.float32)
    mask = nibabel.Nifti1Image(np.ones(data.shape[:3], dtype=np.int8), np.eye(4))
    return nibabel.Nifti1Image(data, np.eye(4)), mask


def test_images_models_by_name_and_files(tmp_path):
    X, y, runs = simulate()
    names = np.array(list("abcde"))
    img, mask = images(X)
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)
    frame = pd.DataFrame(distance, names, names)
    models = {"line": frame.loc[list("ecabd"), list("badce")], "same": distance}
    light = DissimilaritySearchLight(
        mask, radius=1.5, models=models, n_permutations=30, n_jobs=2
    )
    fitted = light.fit(img, names[y], groups=runs)
    assert fitted.maps_["mean_dissimilarity"].shape == mask.shape
    scores = fitted.region_scores_
    by_masker = DissimilaritySearchLight(
        NiftiMasker(mask, standardize=None), radius=1.5, models=models
    ).fit(img, names[y], groups=runs)
    np.testing.assert_array_equal(by_masker.dissimilarities_, fitted.dissimilarities_)
    np.testing.assert_array_equal(
        scores["line_correlation"], scores["same_correlation"]
    )
    fitted.to_directory(tmp_path)
    sidecar = json.loads((tmp_path / "line_p_value_fwe.json").read_text())
    assert "exchange" in str(sidecar)
    center = fitted.dissimilarity_table((1, 1, 1))
    assert center.index.tolist() == list("abcde")
    alone = DissimilaritySearchLight().fit(X[:, :6], y, groups=runs)
    atlas = nibabel.Nifti1Image(
        (np.arange(12).reshape(mask.shape) < 6).astype(np.int32), np.eye(4)
    )
    labeled = DissimilaritySearchLight(mask, labels_img=atlas).fit(img, y, runs)
    np.testing.assert_allclose(
        labeled.dissimilarities_, alone.dissimilarities_, rtol=1e-4
    )
    assert labeled.maps_.table_["n_voxels"].tolist() == [6]


MODEL = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "pearson"}, "method='pearson' must be one of"),
        ({"groups": None}, "groups is None"),
        ({"models": MODEL[:4, :4]}, r"shape \(5, 5\)"),
        ({"models": np.where(MODEL > 3, np.nan, MODEL)}, "finite"),
        ({"models": np.triu(MODEL)}, "symmetric"),
        ({"models": 1 - np.eye(5)}, "same dissimilarity"),
        ({"models": 1 - MODEL / 4}, "as similarities have"),
        (
            {"models": pd.DataFrame(MODEL, list("abcde"), list("abcde"))},
            "give the class",
        ),
        ({"n_permutations": 9}, "give models"),
        ({"n_permutations": -1}, "n_permutations"),
        ({"radius": -1.0}, "radius"),
        ({"groups": np.zeros(60)}, "fewer than two runs"),
        ({"y": np.where(np.arange(60) < 15, 7, simulate()[1])}, "fewer than two runs"),
    ],
)
def test_what_cannot_be_measured_is_refused(change, message):
    X, y, runs = simulate()
    given = {"y": y, "groups": runs} | change
    labels, groups = given.pop("y"), given.pop("groups")
    with pytest.raises(ValueError, match=message):
        DissimilaritySearchLight(**given).fit(X, labels, groups)


def test_runs_that_are_copies_are_refused():
    X, y, runs = simulate()
    X[runs == 3] = X[runs == 2]
    y[runs == 3] = y[runs == 2]
    with pytest.raises(ValueError, match="equal"):
        DissimilaritySearchLight().fit(X, y, groups=runs)
