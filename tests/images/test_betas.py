from functools import partial

import numpy as np
import pandas as pd
import pytest
from nilearn.glm.first_level import FirstLevelModel, make_first_level_design_matrix
from nilearn.maskers import NiftiMasker

from neuroextrap.images import labeled_samples, resolve_masker

trial_betas = partial(labeled_samples, samples="lsa")

T_R = 2.0
N = 60
EVENTS = pd.DataFrame(
    {
        "onset": [4.0, 20.0, 36.0, 52.0, 68.0, 84.0],
        "duration": [2.0, 2.0, 2.0, 2.0, 2.0, 2.0],
        "trial_type": ["face", "cat", "rest", "face", "cat", "rest"],
    }
)
KEPT = [0, 1, 3, 4]


@pytest.fixture
def masker(volume):
    return resolve_masker(volume(np.ones((2, 3, 2), "uint8")))


@pytest.fixture
def bold(volume):
    rng = np.random.default_rng(0)
    noise = np.cumsum(rng.normal(size=(2, 3, 2, N)), axis=3) * 0.3
    return volume(100 + noise + rng.normal(size=(2, 3, 2, N)))


def with_own_name(rows):
    table = EVENTS.copy()
    for row in rows:
        table.loc[row, "trial_type"] = f"trial{row}"
    return table


def first_level_effect(bold, table, regressor):
    mask = bold.__class__(np.ones(bold.shape[:3], "uint8"), bold.affine)
    model = FirstLevelModel(
        t_r=T_R, mask_img=mask, noise_model="ar1", standardize=None, reports=False
    )
    model.fit(bold, events=table)
    effect = model.compute_contrast(regressor, output_type="effect_size")
    return effect.get_fdata()[np.ones(bold.shape[:3], bool)]


@pytest.mark.filterwarnings("ignore:.*Given mask will be used:RuntimeWarning")
def test_lsa_equals_nilearns_first_level_model(bold, masker):
    found = trial_betas(bold, EVENTS, masker=masker, t_r=T_R, exclude="rest")
    table = with_own_name(KEPT)
    twin = [first_level_effect(bold, table, f"trial{row}") for row in KEPT]
    np.testing.assert_allclose(found.data, twin, rtol=1e-6, atol=1e-8)
    assert found.y.tolist() == ["face", "cat", "face", "cat"]
    assert found.runs.tolist() == [0] * 4


@pytest.mark.filterwarnings("ignore:.*Given mask will be used:RuntimeWarning")
def test_lss_equals_one_first_level_model_a_trial(bold, masker):
    found = trial_betas(
        bold, EVENTS, masker=masker, t_r=T_R, samples="lss", exclude="rest"
    )
    twin = [
        first_level_effect(bold, with_own_name([row]), f"trial{row}") for row in KEPT
    ]
    np.testing.assert_allclose(found.data, twin, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", ["lsa", "lss"])
def test_true_amplitudes_are_recovered_without_noise(volume, masker, model):
    amplitudes = {0: 3.0, 1: -2.0, 3: 1.0, 4: 0.5}
    design = make_first_level_design_matrix(
        np.arange(N) * T_R, with_own_name(KEPT), drift_model=None
    )
    signal = sum(a * design[f"trial{row}"].to_numpy() for row, a in amplitudes.items())
    if model == "lss":  # the others share a regressor: only equal ones are exact
        signal = 3.0 * sum(design[f"trial{row}"].to_numpy() for row in KEPT)
        amplitudes = dict.fromkeys(KEPT, 3.0)
    data = np.broadcast_to(100 + signal, (2, 3, 2, N)).copy()
    data += 1e-7 * np.random.default_rng(0).normal(size=data.shape)
    found = trial_betas(
        volume(data),
        EVENTS,
        masker=masker,
        t_r=T_R,
        samples=model,
        exclude="rest",
        high_pass=0,
    )
    percent = 100 * np.array(list(amplitudes.values())) / (100 + signal).mean()
    wanted = np.broadcast_to(percent[:, None], (4, 12))
    np.testing.assert_allclose(found.data, wanted, atol=1e-6)


def test_runs_are_modeled_one_by_one_in_order_of_onset(bold, masker, volume, tmp_path):
    other = volume(bold.get_fdata()[..., ::-1])
    shuffled = EVENTS.iloc[[4, 0, 5, 2, 1, 3]]
    shuffled.to_csv(tmp_path / "events.tsv", sep="\t", index=False)
    given = {"masker": masker, "t_r": T_R}
    alone = [trial_betas(img, EVENTS, **given).data for img in (bold, other)]
    tables = [EVENTS, tmp_path / "events.tsv"]
    two = trial_betas([bold, other], tables, **given)
    np.testing.assert_allclose(two.data, np.concatenate(alone), rtol=1e-9)
    assert two.runs.tolist() == [0] * 6 + [1] * 6
    assert two.y.tolist() == EVENTS["trial_type"].tolist() * 2


def test_holes_stay_nan_and_constant_voxels_are_zero(bold, masker, volume):
    data = bold.get_fdata().copy()
    data[0, 0, 0, 5] = np.nan
    data[1, 2, 1] = 7.0
    found = trial_betas(volume(data), EVENTS, masker=masker, t_r=T_R).data
    whole = trial_betas(bold, EVENTS, masker=masker, t_r=T_R).data
    assert np.isnan(found[:, 0]).all()
    assert (found[:, -1] == 0).all()
    np.testing.assert_allclose(found[:, 1:-1], whole[:, 1:-1], rtol=1e-9)


def test_bad_requests_are_refused(bold, masker, volume):
    labels = pd.DataFrame({"trial_type": ["face"] * N})
    cases = [
        ({"samples": "lst"}, "^samples='lst' must be one of"),
        ({"t_r": None}, "t_r is needed"),
        ({"t_r": -2}, "t_r=-2 must be a positive"),
        ({"t_r": 1.0}, "an event starts at 84 s, after the 60 s of imgs"),
        ({"events": labels}, r"events lacks columns \['onset', 'duration'\]"),
        ({"events": [EVENTS] * 2}, r"one table for each of the 1 images"),
        ({"imgs": [bold, bold]}, "holds BIDS events for 2 images; give one table"),
        ({"exclude": ["rest", "face", "cat"]}, "leaves no trial"),
    ]
    for changes, message in cases:
        given = {"imgs": bold, "events": EVENTS, "t_r": T_R} | changes
        with pytest.raises(ValueError, match=message):
            trial_betas(given.pop("imgs"), given.pop("events"), masker=masker, **given)
    cleaning = resolve_masker(NiftiMasker(masker.mask_img_, detrend=True))
    with pytest.raises(ValueError, match="masker must not detrend"):
        trial_betas(bold, EVENTS, masker=cleaning, t_r=T_R)


@pytest.mark.parametrize("model", ["lsa", "lss"])
def test_labels_may_be_another_column(bold, masker, model):
    table = EVENTS.assign(picture=["a", "b", "n/a", "c", "n/a", "n/a"])
    given = {"masker": masker, "t_r": T_R, "samples": model, "exclude": "rest"}
    plain = trial_betas(bold, table, **given)
    named = trial_betas(bold, table, label_column="picture", **given)
    assert named.y.tolist() == ["a", "b", "c"]
    # LSS: the trial without a picture is modeled by its condition all the same
    if model == "lss":
        np.testing.assert_array_equal(named.data, plain.data[:3])
    with pytest.raises(ValueError, match="has no column 'image', it has"):
        trial_betas(bold, table, label_column="image", **given)
