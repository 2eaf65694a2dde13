"""One call from series and events to results equals its steps, by any door."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.glm.first_level import FirstLevelModel
from nilearn.signal import clean

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import labeled_samples, resolve_masker, to_img

SHAPE, T_R, N_VOLUMES = (4, 3, 2), 2.0, 40
AFFINE = np.diag([3.0, 3, 3, 1])


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Four runs with events, confounds as tables, and a mask, all as files."""
    tmp_path = tmp_path_factory.mktemp("experiment")
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(4, *SHAPE)) * 2
    imgs, events, confounds = [], [], []
    for run in range(1, 5):
        drift = rng.normal(size=(N_VOLUMES, 2)).cumsum(axis=0)
        data = 100 + rng.normal(size=(*SHAPE, N_VOLUMES))
        data += np.einsum("tc,xyzc->xyzt", drift, rng.normal(size=(*SHAPE, 2)))
        order = rng.permutation(4)
        for place, k in enumerate(order):
            data[..., 10 * place + 3 : 10 * place + 7] += patterns[k][..., None]
        img = nibabel.Nifti1Image(data.astype("float32"), AFFINE)
        imgs.append(str(tmp_path / f"sub-01_task-x_run-{run}_bold.nii.gz"))
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = T_R
        img.to_filename(imgs[-1])
        table = pd.DataFrame({"onset": 20.0 * np.arange(4) + 4, "duration": 8.0})
        table["trial_type"] = [f"c{k}" for k in order]
        events.append(str(tmp_path / f"sub-01_task-x_run-{run}_events.tsv"))
        table.to_csv(events[-1], sep="\t", index=False)
        confounds.append(str(tmp_path / f"run-{run}_confounds.tsv"))
        columns = ["trans_x", "rot_y"]
        pd.DataFrame(drift, columns=columns).to_csv(
            confounds[-1], sep="\t", index=False
        )
    mask = str(tmp_path / "mask.nii.gz")
    nibabel.Nifti1Image(np.ones(SHAPE, "int8"), AFFINE).to_filename(mask)
    return imgs, events, confounds, mask


def light(mask, **options):
    return IdentificationSearchLight(mask, radius=5.0, **options)


def rows(path):
    return nibabel.load(path).get_fdata().reshape(-1, N_VOLUMES).T


def test_blocks_equal_the_steps_by_hand(experiment):
    imgs, events, confounds, mask = experiment
    options = {"detrend": True, "high_pass": 0.01, "delay": 2.0}
    fitted = light(mask, n_permutations=20).fit_events(
        imgs, events, confounds=confounds, **options
    )
    data, y, runs = [], [], []
    for run, paths in enumerate(zip(imgs, events, confounds, strict=True)):
        img, table, regressed = paths
        cleaned = clean(
            rows(img),
            detrend=True,
            standardize=None,
            confounds=pd.read_csv(regressed, sep="\t").to_numpy(),
            filter="cosine",
            high_pass=0.01,
            t_r=T_R,
        )
        table = pd.read_csv(table, sep="\t").sort_values("trial_type")
        for onset, condition in zip(table["onset"], table["trial_type"], strict=True):
            first = int(onset + 2) // 2
            data.append(cleaned[first : first + 4].mean(axis=0))
            y.append(condition)
            runs.append(run)
    masker = resolve_masker(mask)
    twin = light(mask, n_permutations=20).fit(to_img(data, masker), y, groups=runs)
    np.testing.assert_allclose(
        fitted.run_.rows, twin.run_.rows, atol=1e-4 * np.abs(twin.run_.rows).max()
    )
    np.testing.assert_array_equal(fitted.wins_, twin.wins_)
    np.testing.assert_array_equal(fitted.null_maxima_, twin.null_maxima_)
    raw = light(mask).fit_events(imgs, events, delay=2.0)
    assert np.nanmean(raw.region_scores_["accuracy"]) < np.nanmean(
        fitted.region_scores_["accuracy"]
    )


@pytest.mark.parametrize("samples", ["blocks", "volumes", "lsa", "lss"])
def test_the_command_line_does_the_same(experiment, tmp_path, samples):
    imgs, events, confounds, mask = experiment
    options = {"smoothing_fwhm": 4.0, "high_pass": 0.02, "exclude": ["c3"]}
    fitted = light(mask, bounds=None).fit_events(
        imgs, events, samples=samples, confounds=confounds, **options
    )
    words = ["searchlight", "--imgs", *imgs, "--events", *events, "--mask", mask]
    words += ["--radius", "5", "--bounds", "none", "--samples", samples, "--quiet"]
    words += ["--smoothing-fwhm", "4", "--high-pass", "0.02", "--exclude", "c3"]
    out = tmp_path / "out"
    assert main([*words, "--confounds", *confounds, str(out)]) == 0
    again = IdentificationSearchLight.from_directory(out)
    np.testing.assert_array_equal(again.wins_, fitted.wins_)
    own = tmp_path / "own"
    fitted.to_directory(own)
    origin = json.loads((own / "analysis.json").read_text())["origin"]
    assert [len(origin["sources"][role]) for role in ("imgs", "events")] == [4, 4]
    assert origin["samples"]["samples"] == samples
    assert origin["samples"]["smoothing_fwhm"] == 4.0


@pytest.mark.filterwarnings("ignore:.*Given mask will be used:RuntimeWarning")
def test_betas_take_confounds_into_their_designs(experiment):
    imgs, events, confounds, mask = experiment
    masker = resolve_masker(mask)
    tables = [pd.read_csv(path, sep="\t") for path in confounds]
    options = {"masker": masker, "samples": "lsa"}
    by_hand = []
    for img, path, table in zip(imgs, events, tables, strict=True):
        trials = pd.read_csv(path, sep="\t")
        trials["trial_type"] = names = [f"trial{row}" for row in range(len(trials))]
        model = FirstLevelModel(T_R, mask_img=mask, standardize=None, reports=False)
        series = nibabel.Nifti1Image(nibabel.load(img).get_fdata(), AFFINE)
        model.fit(series, events=trials, confounds=table)
        effects = (model.compute_contrast(n, output_type="effect_size") for n in names)
        by_hand += [effect.get_fdata()[np.ones(SHAPE, bool)] for effect in effects]
    for form in (confounds, tables, [table.to_numpy() for table in tables]):
        found = labeled_samples(imgs, events, confounds=form, **options)
        np.testing.assert_allclose(found.data, by_hand, rtol=1e-5)
    plain = labeled_samples(imgs, events, **options)
    assert not np.allclose(plain.data, found.data, rtol=1e-2)


def test_censored_volumes_do_not_matter(experiment):
    imgs, events, _, mask = experiment
    imgs, events = imgs[:2], events[:2]
    kept = np.setdiff1d(np.arange(N_VOLUMES), [0, 1, 25])
    spoiled = []
    for path in imgs:
        img = nibabel.load(path)
        data = img.get_fdata()
        data[..., [0, 1, 25]] = 1e4
        spoiled.append(nibabel.Nifti1Image(data, AFFINE, img.header))
    for samples in ("blocks", "lsa", "lss"):
        cleaning = {"detrend": True} if samples == "blocks" else {}
        options = {"samples": samples, "sample_mask": [kept] * 2, **cleaning}
        clean_fit = light(mask).fit_events(imgs, events, **options)
        fitted = light(mask).fit_events(spoiled, events, **options)
        np.testing.assert_array_equal(fitted.wins_, clean_fit.wins_, err_msg=samples)
        options["sample_mask"] = [np.isin(np.arange(N_VOLUMES), kept)] * 2
        twin = light(mask).fit_events(spoiled, events, **options)
        np.testing.assert_array_equal(fitted.wins_, twin.wins_)


def test_trials_that_were_censored_give_no_sample(experiment, caplog):
    imgs, events, _, mask = experiment
    kept = [np.arange(N_VOLUMES)] * 3 + [np.arange(18)]
    for model in ("lsa", "lss"):
        found = labeled_samples(
            imgs, events, masker=resolve_masker(mask), samples=model, sample_mask=kept
        )
        assert np.bincount(found.runs).tolist() == [4, 4, 4, 2]
        assert len(found.y) == len(found.data) == 14
    assert "2 of 4 trials give no sample" in caplog.text


def test_what_cannot_be_is_refused(experiment):
    imgs, events, confounds, mask = experiment
    short = [pd.read_csv(path, sep="\t")[:-1] for path in confounds]
    missing = [pd.read_csv(path, sep="\t").replace(0, 0.0) for path in confounds]
    missing[2].loc[0, "rot_y"] = np.nan
    for options, message in (
        ({"samples": "trials"}, "samples='trials' must be one of"),
        ({"samples": "lss", "detrend": True}, "models drifts itself"),
        ({"samples": "lsa", "delay": 4.0}, "knows the response's lag"),
        ({"high_pass": 128}, "high_pass=128 must be a frequency in Hz"),
        ({"smoothing_fwhm": 0}, "smoothing_fwhm=0 must be positive"),
        ({"confounds": confounds[:3]}, "for each of the 4 series"),
        ({"confounds": short}, "39 rows for 40 volumes"),
        ({"confounds": missing}, "column rot_y has 'nan' in row 1"),
        ({"confounds": short, "samples": "lss"}, "39 rows for 40 volumes"),
        ({"sample_mask": [[40]] * 4}, "indices of the 40 volumes"),
    ):
        with pytest.raises(ValueError, match=message):
            light(mask).fit_events(imgs, events, **options)
