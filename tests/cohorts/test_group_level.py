"""The group of a cohort: prevalence, its page; parts, work folders, beta images."""

import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import prevalence_test
from neuroextrap.maps import read_maps
from tests.cohorts.seam import GroupOptions, PrevalenceOptions, saved_prevalence

OPTIONS = {"samples": "blocks", "delay": 4.0, "confounds": (), "report": False}
LIGHT = {"radius": 4.0, "bounds": None, "n_permutations": 20}


def analyze(derivatives, out, light=None, **options):
    light = IdentificationSearchLight(**{**LIGHT, **(light or {})})
    given = {**OPTIONS, **options}
    return analyze_participants(derivatives, out, analysis=light, **given)


@pytest.fixture(scope="module")
def permuted(cohort, tmp_path_factory):
    """Results of four participants with permuted maps."""
    out = tmp_path_factory.mktemp("permuted") / "out"
    outcomes = analyze(
        cohort, out, participants=["01", "02", "04", "07"], save_null=True
    )
    assert outcomes["status"].tolist() == ["done"] * 4
    return out


@pytest.fixture(scope="module")
def grouped(permuted):
    """Maps of the group of four."""
    with warnings.catch_warnings():  # few sign flips, few combinations
        warnings.simplefilter("ignore", UserWarning)
        return analyze_group(permuted, bg_img=False)


@pytest.mark.filterwarnings("ignore:.* leave p_value_prevalence")
def test_prevalence_is_that_of_the_maps_by_hand(permuted, grouped):
    nulls = sorted(permuted.rglob("*desc-null_stat.npy"))
    imgs = sorted(permuted.rglob("sub-*/func/*desc-accuracy_stat.nii.gz"))
    assert len(nulls) == len(imgs) == 4
    assert not (permuted / ".work").exists()
    mask = np.ones((4, 4, 3), "uint8")
    mask[0, 0, 0] = 0
    by_hand = prevalence_test(
        list(map(str, imgs)), list(map(str, nulls)), mask=_img(mask)
    )
    maps = grouped
    for name in ("minimum", "prevalence_bound_fwe", "p_value_prevalence"):
        np.testing.assert_allclose(
            maps[name].get_fdata(), by_hand[name].get_fdata(), rtol=1e-6
        )
    np.testing.assert_allclose(
        maps["prevalence_p_value_fwe"].get_fdata(), by_hand["p_value_fwe"].get_fdata()
    )
    saved = read_maps(next((permuted / "group").glob("*desc-prevalenceMaps_stat.json")))
    assert saved.keys() == by_hand.keys()


def test_options_of_the_group_are_those_of_every_test_that_takes_them():
    options = {"n_permutations": 50, "gamma": 0.2, "confidence_level": 0.9}
    given = GroupOptions(**options, tfce=True, contrast="age").by_kind(0.5)
    assert given["prevalence"] == options
    assert given["information"] == {"confidence_level": 0.9}
    tested = {"baseline": 0.5, "tfce": True, "n_permutations": 50}
    assert given["accuracy"].items() >= tested.items()
    assert given["accuracy"].keys() == {*tested, "two_sided", "cluster_threshold"}


@pytest.mark.usefixtures("grouped")
def test_the_page_of_the_group_is_linked(permuted):
    [page] = (permuted / "group").glob("*desc-report_stat.html")
    text = page.read_text(encoding="utf-8")
    assert "over 4 subjects, the mean accuracy is above 0.25 in none of 47" in text
    assert "with 16 arrangements no p-value can be below .062." in text
    assert ">Prevalence<a" in text
    assert ">Information over subjects<a" in text
    index = (permuted / "index.html").read_text(encoding="utf-8")
    assert f'href="group/{page.name}"' in index


@pytest.mark.filterwarnings("ignore")  # of few sign flips
def test_a_mean_adjusted_for_a_covariate_is_that_of_least_squares(permuted):
    """The intercept beside a centered covariate, tested by signs."""
    paths = sorted(permuted.glob("sub-*/**/*desc-accuracy_stat.nii.gz"))
    values = np.array([nibabel.load(path).get_fdata() for path in paths]) - 0.25
    ages = np.array([20.0, 31.0, 27.0, 40.0])
    ids = [path.name.partition("_")[0] for path in paths]
    table = pd.DataFrame({"participant_id": ids, "age": ages, "motion": ages})
    given = {"participants_table": table, "report": False, "n_permutations": 20}
    maps = analyze_group(permuted, covariates=["age"], **given)
    design = np.stack([np.ones(4), ages - ages.mean()], axis=1)
    known = np.isfinite(values).all(axis=0)
    effect, rest, *_ = np.linalg.lstsq(design, values[:, known])
    error = np.sqrt(rest / 2 / 4)
    np.testing.assert_allclose(maps["effect"].get_fdata()[known], effect[0], atol=1e-6)
    np.testing.assert_allclose(
        maps["t"].get_fdata()[known], effect[0] / error, rtol=1e-4
    )
    with pytest.raises(ValueError, match="motion is a column of the table and measur"):
        analyze_group(permuted, covariates=["motion"], **given)
    ids = pd.DataFrame({"participant_id": ids[:3], "age": ages[:3]})
    given |= {"participants_table": ids, "overwrite": True}
    analyze_group(permuted, covariates=["age"], **given)
    index = (permuted / "index.html").read_text(encoding="utf-8")
    assert "it has no row in the table of participants" in index


def test_masks_may_differ(permuted, tmp_path):
    """Where every subject has a region, prevalence is that of the columns by hand."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(3), 12), np.repeat(np.arange(4), 9)
    folders, files, scores, nulls = [], [], [], []
    for k in range(3):
        kept = np.delete(np.arange(27), [k, 20 + k])
        mask = np.zeros(27, "uint8")
        mask[kept] = 1
        data = rng.normal(size=(27, 36)) + 1.5 * np.eye(3)[y].T.repeat(9, axis=0)
        img, mask_img = (
            _img(each.reshape(3, 3, 3, *each.shape[1:])) for each in (data, mask)
        )
        file = tmp_path / f"sub-{k}.npy"
        light = IdentificationSearchLight(
            mask_img, radius=4.0, n_permutations=15, keep=file, bounds=None
        )
        light.fit(img, y, groups=runs)
        folders.append(str(tmp_path / f"sub-{k}"))
        light.to_directory(folders[-1])
        files.append(file)
        both = np.full((16, 27), np.nan)
        both[0, kept] = light.region_scores_["accuracy"]
        both[1:, kept] = np.load(file)
        scores.append(both[0])
        nulls.append(both[1:])
    shared = np.isfinite(scores).all(axis=0)
    assert shared.sum() == 21
    asked = PrevalenceOptions(gamma=0.2, confidence_level=0.9, n_permutations=3000)
    found = saved_prevalence(folders, files, asked)
    by_hand = prevalence_test(
        np.array(scores)[:, shared],
        np.array(nulls, dtype="float32")[:, :, shared],
        gamma=0.2,
        confidence_level=0.9,
        n_permutations=3000,
    )
    for name, values in by_hand.items():
        whole = np.full(27, np.nan)
        whole[shared] = values
        np.testing.assert_allclose(
            found[name].get_fdata().ravel(), whole, rtol=1e-6, err_msg=name
        )


def _img(data):
    from nibabel import Nifti1Image

    return Nifti1Image(data, np.diag([3.0, 3, 3, 1]))


def test_permuted_maps_are_made_when_they_are_asked_for(pair, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="save_null=True needs permutations"):
        analyze(pair, out, {"n_permutations": 0}, save_null=True)
    assert not out.exists()
    analyze(pair, out)
    missing = analyze(pair, out, save_null=True)
    assert missing["status"].tolist() == ["failed"] * 2
    assert "use overwrite=True" in missing["reason"].iloc[0]
    again = analyze(pair, out, save_null=True, overwrite=True)
    assert again["status"].tolist() == ["done"] * 2
    assert analyze(pair, out, save_null=True)["status"].tolist() == ["skipped"] * 2


def test_jobs_share_the_participants(cohort, tmp_path):
    plans = [
        analyze(cohort, tmp_path / "out", shard=f"{i}/3", dry_run=True)
        for i in (1, 2, 3)
    ]
    labels = [label for plan in plans for label in plan["participant_id"]]
    assert sorted(labels) == [f"sub-{i:02d}" for i in range(1, 9)]
    assert (plans[0]["memory"] > 0).all()
    assert (plans[0]["disk"] > 0).all()
    with pytest.raises(ValueError, match="shard='4/3' must be"):
        analyze(cohort, tmp_path / "out", shard="4/3")


def test_an_interrupted_participant_continues(pair, tmp_path, monkeypatch):
    out, work = tmp_path / "out", tmp_path / "work"
    whole = tmp_path / "whole"
    analyze(pair, whole, {"max_memory": "1M"}, participants=["01"])
    from tests.cohorts.seam import _participants

    def full(*_args, **_more):
        raise OSError("no space left")

    monkeypatch.setattr(_participants, "write_analysis", full)
    stopped = analyze(pair, out, participants=["01"], work_dir=work)
    assert stopped["reason"].tolist() == ["no space left"]
    [folder] = work.iterdir()
    assert any((folder / "checkpoint").iterdir())
    monkeypatch.undo()
    done = analyze(pair, out, participants=["01"], work_dir=work)
    assert done["status"].tolist() == ["done"]
    assert list(work.iterdir()) == []
    one, two = (IdentificationSearchLight.from_directory(each) for each in (whole, out))
    np.testing.assert_array_equal(one.wins_, two.wins_)


@pytest.mark.parametrize("kind", ["series", "maps"])
def test_beta_images(betas, tmp_path, kind):
    folder, out = betas(kind), tmp_path / "out"
    words = ["bids", str(folder), str(out), "participant", "--samples", "betas"]
    assert main([*words, "--radius", "4", "--no-report", "--quiet"]) == 0
    found = IdentificationSearchLight.from_directory(out / "sub-01")
    assert found.classes_.tolist() == ["cat", "chair", "face", "house"]
    assert found.results_.n_test == 16
    assert np.nanmean(found.region_scores_["accuracy"]) > 0.6
    names = {path.name for path in (out / "sub-01" / "func").iterdir()}
    start = "sub-01_task-objects_space-MNI152NLin2009cAsym_desc-"
    assert f"{start}accuracy_stat.nii.gz" in names
    again = tmp_path / "again"
    words = ["bids", str(folder), str(again), "participant", "--quiet", "--no-report"]
    assert main([*words, "--config", str(out / "code" / "sub-01.toml")]) == 0
    twin = IdentificationSearchLight.from_directory(again)
    np.testing.assert_array_equal(twin.wins_, found.wins_)


def test_beta_images_of_both_kinds_are_equal(betas, tmp_path):
    wins = []
    for kind in ("series", "maps"):
        out = tmp_path / kind
        analyze(betas(kind), out, samples="betas", delay=0.0, participants=["02"])
        wins.append(IdentificationSearchLight.from_directory(out).wins_)
    np.testing.assert_allclose(*wins, atol=1e-12)


def test_what_betas_lack_is_told(betas, tmp_path):
    folder = betas("series")
    given = {"samples": "betas", "delay": 0.0}
    next(folder.glob("sub-01/func/*_mask.nii.gz")).unlink()
    next(folder.glob("sub-02/func/*_betas.tsv")).unlink()
    [mask, table] = analyze(folder, tmp_path / "out", **given)["reason"]
    assert "has no brain mask beside it, and none can be computed from betas" in mask
    assert "has no table sub-02_task-objects" in table
    folder = betas("maps")
    for path in folder.glob("sub-01/func/*statmap.nii.gz"):
        path.rename(str(path).replace("_run-", "_acq-"))
    for path in folder.glob("sub-02/func/*statmap.nii.gz"):
        path.unlink()
    [run, none] = analyze(folder, tmp_path / "two", **given)["reason"]
    assert "has no run-<label> in its name" in run
    assert "no model of SPM, FEAT or GLMsingle in" in none
