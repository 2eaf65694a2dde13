"""Ensembles of voxels against fits of each set, and redundancy where it is known."""

import nibabel
import numpy as np
import pytest
import scipy.sparse

from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight, ensemble_information


def simulate(n_classes=4, n_runs=6, n_features=12, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(n_classes), n_runs)
    runs = np.repeat(np.arange(n_runs), n_classes)
    X = signal * rng.normal(size=(n_classes, n_features))[y]
    return X + rng.normal(size=(len(y), n_features)), y, runs


@pytest.mark.parametrize("classifier", ["nearest_centroid", "lda"])
def test_rows_are_means_over_sets_fitted_one_by_one(classifier):
    X, y, runs = simulate()
    searchlight = IdentificationSearchLight(
        estimator=classifier, regions=Regions(min_voxels=1)
    )
    table = ensemble_information(
        searchlight, X, y, runs, n_voxels=[1, 3, 12], n_draws=2, random_state=5
    )
    rng = np.random.default_rng(5)
    for row, size in zip(table.itertuples(), [1, 3, 12], strict=True):
        found = {"accuracy": [], "implied_information": [], "redundancy": []}
        for _ in range(2):
            drawn = rng.permutation(12)[:size]
            sets = [drawn, drawn[: size // 2], drawn[size // 2 :]]
            fits = [
                IdentificationSearchLight(
                    estimator=classifier, regions=Regions(min_voxels=1)
                )
                .fit(X[:, s], y, groups=runs)
                .region_scores_
                for s in sets
                if len(s)
            ]
            bits = [fit["implied_information"][0] for fit in fits]
            found["accuracy"].append(fits[0]["accuracy"][0])
            found["implied_information"].append(bits[0])
            parts = bits[1] + bits[2] if size > 1 else np.nan
            found["redundancy"].append(parts - bits[0])
        assert (row.name, row.n_voxels, row.parts) == ("all features", size, "halves")
        for name, values in found.items():
            expected = [np.mean(values), np.std(values, ddof=1)]
            actual = [getattr(row, name), getattr(row, f"{name}_sd")]
            np.testing.assert_allclose(actual, expected, atol=2e-6, err_msg=name)


def test_copies_are_redundant_and_complements_synergistic():
    # features 0-9 carry one noisy number; a class is told by a sum no part carries
    rng = np.random.default_rng(1)
    y, runs = np.tile([0, 1, 2, 3], 40), np.repeat(np.arange(40), 4)
    shared = y + 0.7 * rng.normal(size=160)
    copies = shared[:, None] + 0.01 * rng.normal(size=(160, 10))
    noise = 8 * rng.normal(size=160)
    hidden = np.stack([noise, y - noise], axis=1) + 0.1 * rng.normal(size=(160, 2))
    rows = scipy.sparse.csr_array(np.repeat(np.eye(2), 5, axis=1))
    redundant = ensemble_information(
        IdentificationSearchLight(regions=rows), copies, y, runs, n_draws=3
    )
    last = redundant.iloc[-1]
    assert (last["name"], last["parts"], last["n_voxels"]) == (
        "all regions",
        "regions",
        10,
    )
    np.testing.assert_allclose(
        last["redundancy"], last["implied_information"], rtol=0.05
    )
    synergistic = ensemble_information(
        IdentificationSearchLight(
            estimator="lda", shrinkage=1e-6, regions=Regions(min_voxels=1)
        ),
        hidden,
        y,
        runs,
        n_voxels=[2],
        n_draws=2,
    )
    assert synergistic["implied_information"].iloc[0] > 1
    assert synergistic["redundancy"].iloc[0] < -1


def test_the_row_of_all_regions_is_their_union():
    X, y, runs = simulate()
    members = np.zeros((3, 12), dtype=bool)
    members[0, :5] = members[1, 3:8] = members[2, 9:] = True
    regions = scipy.sparse.csr_array(members)
    table = ensemble_information(
        IdentificationSearchLight(regions=regions), X, y, runs, n_draws=2
    )
    parts = IdentificationSearchLight(regions=regions).fit(X, y, groups=runs)
    union = IdentificationSearchLight().fit(X[:, members.any(axis=0)], y, groups=runs)
    joint = union.region_scores_["implied_information"][0]
    separate = parts.region_scores_["implied_information"]
    row = table.iloc[-1]
    assert row["n_voxels"] == 11
    np.testing.assert_allclose(row["implied_information"], joint, rtol=1e-6)
    np.testing.assert_allclose(row["redundancy"], separate.sum() - joint, atol=2e-6)
    whole = table[table["name"] == "1"].iloc[-1]
    np.testing.assert_allclose(whole["implied_information"], separate[1], rtol=1e-6)
    assert whole["implied_information_sd"] == 0


def test_images_equal_their_array_and_workers_change_nothing():
    X, y, runs = simulate(n_features=24)
    affine = np.diag([3.0, 3, 3, 1])
    img = nibabel.Nifti1Image(X.T.reshape(4, 3, 2, -1), affine)
    mask = nibabel.Nifti1Image(np.ones((4, 3, 2), dtype=np.int8), affine)
    names = np.array(["a", "b", "c", "rest"])[y]
    options = {"classes": ["a", "b", "c"]}
    one = ensemble_information(
        IdentificationSearchLight(mask, n_jobs=2, **options), img, names, runs
    )
    two = ensemble_information(IdentificationSearchLight(**options), X, names, runs)
    assert one.equals(two)
    atlas = np.zeros((4, 3, 2), dtype=np.int16)
    atlas[:2], atlas[3] = 5, 8
    labels = nibabel.Nifti1Image(atlas, affine)
    table = ensemble_information(
        IdentificationSearchLight(mask, labels_img=labels), img, y, runs, n_voxels=[6]
    )
    assert table["name"].tolist() == ["5", "8", "all regions"]
    assert table["n_voxels"].tolist() == [6, 6, 18]


def test_constant_voxels_are_never_drawn():
    X, y, runs = simulate()
    X[:, 4:] = 7.0
    table = ensemble_information(IdentificationSearchLight(), X, y, runs)
    assert table["n_voxels"].tolist() == [2, 4]


def test_information_of_independent_voxels_adds_up():
    # one class difference per voxel, weak: bits of a set are the sum of its voxels'
    rng = np.random.default_rng(3)
    y, runs = np.tile(np.arange(8), 150), np.repeat(np.arange(150), 8)
    X = 0.25 * rng.normal(size=(8, 64))[y] + rng.normal(size=(1200, 64))
    table = ensemble_information(
        IdentificationSearchLight(), X, y, runs, n_voxels=[16, 64], n_draws=20
    )
    ratio = table["implied_information"].iloc[1] / table["implied_information"].iloc[0]
    assert 3.2 < ratio < 4.8
    assert abs(table["redundancy"].iloc[1]) < 0.2 * table["implied_information"].iloc[1]


def test_noise_covariance_and_blocks_reach_the_searchlight():
    X, y, runs = simulate()
    noise = np.random.default_rng(2).normal(size=(50, 12)) * np.arange(1, 13)
    searchlight = IdentificationSearchLight(noise_covariance=noise)
    table = ensemble_information(
        searchlight, X, y, runs, n_voxels=np.array([12]), n_draws=1
    )
    fitted = IdentificationSearchLight(noise_covariance=noise).fit(X, y, groups=runs)
    expected = fitted.region_scores_["accuracy"][0]
    np.testing.assert_allclose(table["accuracy"], expected)
    plain = ensemble_information(
        IdentificationSearchLight(), X, y, runs, n_voxels=[12], n_draws=1
    )
    assert plain["accuracy"].iloc[0] != expected
    assert np.isnan(table["accuracy_sd"].iloc[0])


def test_bad_options_are_named():
    X, y, runs = simulate()
    plain = IdentificationSearchLight()
    with pytest.raises(ValueError, match="n_draws must be an integer >= 1; got 0"):
        ensemble_information(plain, X, y, runs, n_draws=0)
    with pytest.raises(ValueError, match="n_voxels must be an integer >= 1; got 0"):
        ensemble_information(plain, X, y, runs, n_voxels=[2, 0])
    with pytest.raises(ValueError, match=r"n_voxels=.* give at least one"):
        ensemble_information(plain, X, y, runs, n_voxels=[])
    with pytest.raises(ValueError, match="more than the 12 usable"):
        ensemble_information(plain, X, y, runs, n_voxels=[13])
    with pytest.raises(ValueError, match="searchlight has n_permutations=10"):
        ensemble_information(IdentificationSearchLight(n_permutations=10), X, y, runs)
    with pytest.raises(ValueError, match="searchlight has shard='1/2'"):
        ensemble_information(IdentificationSearchLight(shard="1/2"), X, y, runs)
    with pytest.raises(ValueError, match="y has 23"):
        ensemble_information(plain, X, y[1:], runs[1:])
