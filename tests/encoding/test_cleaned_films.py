"""Confounds, drifts and censored volumes of films; what is paired by names."""

import nibabel
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import ContinuousEncoding
from tests.encoding.seam import estimate_cost_of_runs
from tests.encoding.test_continuous import DELAYS, delayed, film

LENGTHS = (60, 70, 50)


def nuisance(seed=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 2)).cumsum(axis=0) for n in LENGTHS]


def masks():
    """The first volumes are left out of every run, and two in the middle of one."""
    kept = [np.arange(3, n) for n in LENGTHS]
    return [kept[0], np.delete(kept[1], [20, 30]), np.arange(50) >= 4]


def cleaned_by_hand(Y, C, kept):
    """Regress confounds out of the volumes that are kept, and scale these."""
    design = np.column_stack([np.ones(len(C)), C])
    weights = np.linalg.lstsq(design[kept], Y[kept], rcond=None)[0]
    left = (Y - design @ weights)[kept]
    return (left - left.mean(axis=0)) / left.std(axis=0)


def test_what_is_left_is_that_of_regressions_by_hand():
    features, responses = film(lengths=LENGTHS)
    confounds, kept = nuisance(), masks()
    spoiled = [
        Y + C @ np.full((2, 6), 3.0) for Y, C in zip(responses, confounds, strict=True)
    ]
    for Y, rows in zip(spoiled, kept, strict=True):
        left_out = np.ones(len(Y), dtype=bool)
        left_out[rows] = False
        Y[left_out] += 1e4
    given = {"encoder": Ridge(alpha=9.0), "delays": DELAYS, "cv": 2, "t_r": 2.0}
    own = [
        {"confounds": confounds[part], "sample_mask": kept[part]}
        for part in (slice(2), slice(2, 3))
    ]
    model = ContinuousEncoding(**given).fit(features[:2], spoiled[:2], **own[0])
    maps = model.score(features[2:], spoiled[2:], **own[1])
    rows = np.concatenate([features[run][kept[run]] for run in range(2)])
    X = [delayed((run - rows.mean(0)) / rows.std(0)) for run in features]
    X = [each[k] - each[k].mean(0) for each, k in zip(X, kept, strict=True)]
    Y = list(map(cleaned_by_hand, spoiled, confounds, kept))
    expected = Ridge(alpha=9.0).fit(np.concatenate(X[:2]), np.concatenate(Y[:2]))
    f = expected.predict(X[2])
    for voxel in range(6):
        r = np.corrcoef(Y[2][:, voxel], f[:, voxel])[0, 1]
        assert maps["correlation"][voxel] == pytest.approx(r, abs=1e-8)
    with pytest.raises(ValueError, match="has a hole"):
        model.identify_segments(
            features[2:], spoiled[2:], sample_mask=[np.delete(np.arange(50), 25)]
        )


def test_repeats_are_averaged_over_those_that_were_kept():
    features, responses = film(lengths=(60, 70, 50))
    shown = [*features, features[2]]
    rng = np.random.default_rng(1)
    again = responses[2] + rng.normal(size=responses[2].shape)
    kept = [np.arange(2, 50), np.arange(49)]
    model = ContinuousEncoding(
        encoder=Ridge(alpha=9.0), delays=DELAYS, within_runs=None, cv=2
    ).fit(features[:2], responses[:2])
    _, held = model._test(
        model.score, shown[2:], [responses[2], again], sample_mask=kept
    )
    np.testing.assert_allclose(held.responses[:2], again[:2])
    np.testing.assert_allclose(held.responses[2:49], ((again + responses[2]) / 2)[2:49])
    np.testing.assert_allclose(held.responses[49], responses[2][49])
    assert held.rows.tolist() == list(range(50))


def test_drifts_are_removed():
    features, responses = film(lengths=LENGTHS)
    drifts = [np.cos(np.pi * (np.arange(n) + 0.5) / n)[:, None] for n in LENGTHS]
    slow = [Y + 20 * d for Y, d in zip(responses, drifts, strict=True)]
    found = []
    for imgs in (responses, slow):
        model = ContinuousEncoding(delays=DELAYS, t_r=2.0, high_pass=0.01)
        model.fit(features[:2], imgs[:2])
        found.append(model.score(features[2:], imgs[2:])["correlation"])
    np.testing.assert_allclose(*found, atol=1e-6)
    assert found[0].min() > 0.3
    with pytest.raises(ValueError, match="high_pass is given"):
        ContinuousEncoding(high_pass=0.01).fit(features, responses)


@pytest.fixture
def named(tmp_path):
    """Files of four runs whose names say which they are."""
    features, responses = film(lengths=(60, 60, 60, 60))
    rng, rows = np.random.default_rng(2), []
    for run, (X, Y) in enumerate(zip(features, responses, strict=True), start=1):
        start = f"sub-01_task-film_run-{run}"
        img = nibabel.Nifti1Image(Y.T.reshape(3, 2, 1, -1), np.eye(4))
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = 2.0
        nibabel.save(img, tmp_path / f"{start}_bold.nii.gz")
        pd.DataFrame(X, columns=list("abc")).to_csv(
            tmp_path / f"{start}_motion.tsv", sep="\t", index=False
        )
        pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "y"]).to_csv(
            tmp_path / f"{start}_nuisance.tsv", sep="\t", index=False
        )
        rows.append(
            {
                "set": "train" if run < 3 else "test",
                "imgs": f"{start}_bold.nii.gz",
                "motion": f"{start}_motion.tsv",
                "confounds": f"{start}_nuisance.tsv",
            }
        )
    mask = nibabel.Nifti1Image(np.ones((3, 2, 1), np.int8), np.eye(4))
    return pd.DataFrame(rows), tmp_path, mask


def fitted(named, table):
    _, folder, mask = named
    path = folder / "runs.tsv"
    table.to_csv(path, sep="\t", index=False)
    maps = ContinuousEncoding(mask, delays=DELAYS).fit_runs(path)
    return maps.table_.set_index(["x", "y", "z"])


def test_shuffled_inputs_change_no_bit_or_are_refused(named):
    table = named[0]
    expected = fitted(named, table)
    back = table.iloc[[3, 1, 0, 2]]  # rows in another order: folds of runs may differ
    pd.testing.assert_frame_equal(fitted(named, back), expected, atol=1e-6)
    swapped = table.assign(confounds=table["confounds"].iloc[[1, 0, 3, 2]].to_numpy())
    pd.testing.assert_frame_equal(fitted(named, swapped), expected, check_exact=True)
    for run in range(4):  # whose order would the masks have?
        np.save(named[1] / f"kept{run}.npy", np.arange(run, 60))
    masked = swapped.assign(sample_mask=[f"kept{run}.npy" for run in range(4)])
    with pytest.raises(ValueError, match="give all in one order"):
        fitted(named, masked)
    columns = table[["confounds", "motion", "imgs", "set"]]
    pd.testing.assert_frame_equal(fitted(named, columns), expected, check_exact=True)
    for column, order in (("motion", [1, 0, 2, 3]), ("imgs", [0, 1, 3, 2])):
        other = table.assign(**{column: table[column].iloc[order].to_numpy()})
        with pytest.raises(ValueError, match="disagree in run"):
            fitted(named, other)
    third = named[1] / table["motion"][2]
    read = pd.read_csv(third, sep="\t")
    read[["c", "a", "b"]].to_csv(third, sep="\t", index=False)
    with pytest.raises(ValueError, match="must have the 3 columns of fit in their ord"):
        fitted(named, table)


def test_features_of_one_stimulus_are_of_no_run(named):
    """The same film twice: its features are given for both runs, under one name."""
    table = named[0].copy()
    table.loc[3, "motion"] = table.loc[2, "motion"]
    assert "noise_ceiling" in fitted(named, table)


def test_costs_are_estimated_without_data(named):
    table, folder, mask = named
    table.to_csv(folder / "runs.tsv", sep="\t", index=False)
    model = ContinuousEncoding(mask, delays=DELAYS, n_permutations=9)
    cost = estimate_cost_of_runs(model, folder / "runs.tsv", 8)
    assert (cost["n_features"], cost["n_permutations"]) == (6, 9)
    assert 0 < cost["seconds"] < 60
    table.assign(motion=table["motion"][0]).to_csv(
        folder / "runs.tsv", sep="\t", index=False
    )
    with pytest.raises(ValueError, match="stimulus is not new to the model"):
        estimate_cost_of_runs(model, folder / "runs.tsv")
