"""Encoding models of every participant, and their group."""

import tomllib
import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import (
    EncodingIdentification,
    RidgeEncoder,
    read_features,
)
from neuroextrap.images import labeled_samples, resolve_masker, to_img
from neuroextrap.maps import read_maps
from tests.cohorts.seam import fmriprep_confounds

MODEL = {"encoder": RidgeEncoder(), "radius": 4.0}
OPTIONS = {"samples": "lsa", "stimulus_column": "stim_file", "report": False}
OPTIONS["confounds"] = ()


def analyze(derivatives, out, model=None, **options):
    model = EncodingIdentification(**{**MODEL, **(model or {})})
    given = {**OPTIONS, "features": derivatives.parents[1] / "layer.tsv", **options}
    return analyze_participants(derivatives, out, analysis=model, **given)


def events_of(derivatives, label):
    return sorted(derivatives.parents[1].glob(f"sub-{label}/func/*_events.tsv"))


@pytest.fixture(scope="module")
def tested(pictures, tmp_path_factory):
    """Results of three participants, one run of stimuli tested, with permuted maps."""
    out = tmp_path_factory.mktemp("tested") / "out"
    given = {"confounds": ["motion"], "save_null": True}
    outcomes = analyze(pictures, out, {"n_permutations": 19}, **given)
    assert outcomes["status"].tolist() == ["done"] * 3
    return out


def test_a_participant_equals_the_analysis_by_hand(pictures, tested):
    folder = pictures / "sub-02" / "func"
    imgs = sorted(map(str, folder.glob("*_bold.nii.gz")))
    confounds, kept = fmriprep_confounds(imgs, ["motion"])
    mask = nibabel.load(sorted(folder.glob("*_mask.nii.gz"))[0])
    masker = resolve_masker(mask, imgs)
    tables = events_of(pictures, "02")
    betas = labeled_samples(
        imgs,
        list(map(str, tables)),
        samples="lsa",
        masker=masker,
        confounds=confounds,
        sample_mask=kept,
        label_column="stim_file",
    )
    assert betas.data.shape == (32, 48)
    features = read_features(pictures.parents[1] / "layer.tsv")
    names = np.array([name[len("pictures/") : -len(".png")] for name in betas.y])
    train = betas.runs < 3
    twin = EncodingIdentification(mask, **MODEL, n_permutations=19)
    twin.fit(features.loc[names[train]].to_numpy(), to_img(betas.data[train], masker))
    twin.identify(
        features.loc[sorted(set(names[~train]))],
        to_img(betas.data[~train], masker),
        betas.runs[~train],
        stimuli=names[~train],
    )
    found = EncodingIdentification.from_directory(tested / "sub-02")
    np.testing.assert_allclose(found.wins_, twin.wins_, atol=1e-12)
    assert found.classes_.tolist() == twin.classes_.tolist()
    for name in ("accuracy", "p_value_fwe"):
        np.testing.assert_allclose(
            found.maps_[name].get_fdata(), twin.maps_[name].get_fdata()
        )
    assert np.nanmean(found.region_scores_["accuracy"]) > 0.5  # chance is 1/8


@pytest.mark.filterwarnings("ignore:only .* sign flips", "ignore:.*second-level")
@pytest.mark.filterwarnings("ignore:[23] subjects, with:UserWarning")
def test_the_group_takes_maps_and_permuted_maps(tested):
    maps = analyze_group(tested, report=False)
    values = [
        read_maps(tested / f"sub-{label}" / "func")["accuracy"].get_fdata()
        for label in ("01", "02", "03")
    ]
    differ = np.ptp(values, axis=0) > 0  # else nothing is tested
    assert differ.sum() > 40
    np.testing.assert_allclose(
        maps["effect"].get_fdata()[differ],
        np.mean(values, axis=0)[differ] - 1 / 8,
        rtol=1e-5,
    )
    assert np.nanmin(maps["p_value"].get_fdata()) == 1 / 8  # all flips of three
    assert np.nanmax(maps["prevalence_bound"].get_fdata()) > 0


def test_folds_test_every_stimulus_once(pictures, tmp_path):
    out = tmp_path / "out"
    for people, samples in ((["01", "03"], "lsa"), (["02"], "lss")):
        given = {"participants": people, "n_folds": 4, "samples": samples}
        outcomes = analyze(pictures, out, **given)
        assert outcomes["status"].tolist() == ["done"] * len(people)
    found = [
        EncodingIdentification.from_directory(out / f"sub-{label}")
        for label in ("01", "02", "03")
    ]
    stimuli = found[0].run_.test_stimuli.tolist()
    assert sorted(stimuli) == [f"p{i:02d}" for i in range(32)]
    order = [int(name[1:]) for name in stimuli]
    assert order != sorted(order)  # no fold is a run, or a category
    for each in found:
        assert each.run_.test_stimuli.tolist() == stimuli
        assert np.nanmean(each.region_scores_["accuracy"]) > 0.4  # chance is 1/8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        given = {"participants": ["01", "03"], "n_permutations": 9}
        maps = analyze_group(out, report=False, **given)
    assert np.nanmax(maps["n_subjects"].get_fdata()) == 2
    assert "subjects_bayes_accuracy_bound" not in maps


@pytest.mark.parametrize("n_folds", [None, 4])
def test_an_interrupted_participant_continues(pictures, tmp_path, monkeypatch, n_folds):
    out, work, whole = (tmp_path / name for name in ("out", "work", "whole"))
    given = {"participants": ["01"], "n_folds": n_folds}
    analyze(pictures, whole, **given)
    from tests.cohorts.seam import _participants

    def full(*_args, **_more):
        raise OSError("no space left")

    monkeypatch.setattr(_participants, "write_analysis", full)
    written = []
    for _ in range(2):
        stopped = analyze(pictures, out, work_dir=work, **given)
        assert stopped["reason"].tolist() == ["no space left"]
        tasks = [path for path in work.rglob("*task*") if path.is_file()]
        written.append({path: path.stat().st_mtime_ns for path in tasks})
    assert written[0]
    assert written[0] == written[1]  # nothing was computed a second time
    monkeypatch.undo()
    done = analyze(pictures, out, work_dir=work, **given)
    assert done["status"].tolist() == ["done"]
    assert list(work.iterdir()) == []
    one, two = (
        EncodingIdentification.from_directory(each / "sub-01") for each in (whole, out)
    )
    np.testing.assert_array_equal(one.wins_, two.wins_)


def test_words_make_the_same_results_and_a_record_again(few_pictures, tmp_path, capsys):
    out, again, python = (tmp_path / name for name in ("out", "again", "python"))
    layer = few_pictures.parents[1] / "layer.tsv"
    words = ["bids", str(few_pictures), str(out), "participant", "--quiet"]
    words += ["--analysis", "encoding", "--features", str(layer), "--samples", "lsa"]
    words += ["--stimulus-column", "stim_file", "--encoder", "ridge", "--radius", "4"]
    words += ["--no-report", "--rule", "correlation", "--repeats", "keep"]
    words += ["--confounds", "none"]
    assert main([*words, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "sub-02: planned, 4 runs" in said
    assert "nothing written" in said
    assert not out.exists()
    assert main([*words, "--participant-label", "02"]) == 0
    assert "sub-02: done" in capsys.readouterr().out
    record = out / "code" / "sub-02.toml"
    told = tomllib.loads(record.read_text())
    assert told["analysis"] == "encoding"
    assert told["features"] == "../../raw/layer.tsv"
    assert (told["encoder"], told["stimulus_column"]) == ("ridge", "stim_file")
    assert "folds" not in told
    words = ["bids", str(few_pictures), str(again), "participant", "--quiet"]
    assert main([*words, "--no-report", "--config", str(record)]) == 0
    model = {"rule": "correlation", "repeats": "keep"}
    one = {"participants": ["02"]}
    analyze(few_pictures, python, model, **one)
    first, *others = (
        EncodingIdentification.from_directory(folder / "sub-02")
        for folder in (out, again, python)
    )
    for other in others:
        np.testing.assert_array_equal(first.wins_, other.wins_)
    # whoever did it, it is done
    assert analyze(few_pictures, out, model, **one)["status"].tolist() == ["skipped"]
    changed = read_features(layer) * 2
    status = analyze(few_pictures, out, model, features=changed, **one)["status"]
    assert status.tolist() == ["failed"]


def test_images_of_stimuli(few_pictures, tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "stimuli"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(32):
        pixels = rng.integers(0, 256, size=(16, 16), dtype=np.uint8)
        image.fromarray(pixels).save(folder / f"p{number:02d}.png")
    words = ["bids", str(few_pictures), str(tmp_path / "out"), "participant"]
    words += ["--analysis", "encoding", "--stimulus-images", str(folder)]
    words += ["--samples", "lsa", "--stimulus-column", "stim_file", "--folds", "4"]
    words += ["--encoder", "ridge", "--radius", "4", "--no-report", "--quiet"]
    words += ["--confounds", "none"]
    assert main([*words, "--image-size", "12", "--participant-label", "01"]) == 0
    record = tmp_path / "out" / "code" / "sub-01.toml"
    told = tomllib.loads(record.read_text())
    assert told["stimulus_images"] == "../../stimuli"
    assert (told["image_size"], told["model"], told["folds"]) == (12, "gabor", 4)
    words = ["bids", str(few_pictures), str(tmp_path / "out"), "participant"]
    assert main([*words, "--quiet", "--no-report", "--config", str(record)]) == 0
    assert tomllib.loads(record.read_text()) == told  # it was skipped


def test_ready_betas(tmp_path):
    rng = np.random.default_rng(1)
    features = pd.DataFrame(
        rng.normal(size=(24, 3)), index=[f"s{i}" for i in range(24)]
    )
    weights = rng.normal(size=(3, 27))
    shown = np.r_[np.arange(24), np.arange(24)]
    data = features.to_numpy()[shown] @ weights + rng.normal(size=(48, 27)) / 2
    func = tmp_path / "in" / "sub-01" / "func"
    func.mkdir(parents=True)
    affine = np.diag([3.0, 3, 3, 1])
    start = "sub-01_task-scenes_space-MNI152NLin6Asym"
    volumes = np.moveaxis(data.reshape(48, 3, 3, 3), 0, 3)
    nibabel.save(nibabel.Nifti1Image(volumes, affine), func / f"{start}_betas.nii.gz")
    mask = nibabel.Nifti1Image(np.ones((3, 3, 3), "uint8"), affine)
    nibabel.save(mask, func / f"{start}_desc-brain_mask.nii.gz")
    table = pd.DataFrame({"trial_type": "scene", "run": np.repeat([1, 2, 3, 4], 12)})
    table["picture"] = [f"s{i}" for i in shown]
    table["set"] = np.where(shown < 16, "train", "test")
    table.loc[5, "trial_type"] = "practice"
    table.to_csv(func / f"{start}_betas.tsv", sep="\t", index=False)
    given = {"samples": "betas", "stimulus_column": "picture", "features": features}
    given |= {"exclude": "practice", "report": False, "work_dir": tmp_path / "work"}
    model = EncodingIdentification(**MODEL)
    outcomes = analyze_participants(
        tmp_path / "in", tmp_path / "out", analysis=model, **given
    )
    assert outcomes["reason"].tolist() == [""]
    assert list((tmp_path / "work").iterdir()) == []
    found = EncodingIdentification.from_directory(tmp_path / "out")
    assert found.classes_.tolist() == [f"s{i}" for i in range(16, 24)]
    twin = EncodingIdentification(mask, **MODEL)
    train = (shown < 16) & (np.arange(48) != 5)
    masker = resolve_masker(mask)
    twin.fit(features.to_numpy()[shown[train]], to_img(data[train], masker))
    test = to_img(data[shown >= 16], masker)
    twin.identify(features[16:], test, stimuli=shown[shown >= 16] - 16)
    np.testing.assert_allclose(found.wins_, twin.wins_, atol=1e-9)


def test_maps_of_stimuli(betas, tmp_path):
    """Maps named by their contrast: four stimuli, in two folds, each in four runs."""
    names = ["house", "face", "chair", "cat"]
    features = pd.DataFrame(np.eye(4)[:, :3] + 0.1, index=names)
    model = EncodingIdentification(
        encoder=RidgeEncoder(cv=2), radius=4.0, cv=2, rule="correlation"
    )
    given = {"samples": "betas", "features": features, "report": False}
    given |= {"analysis": model, "participants": ["01"]}
    folder, out = betas("maps"), tmp_path / "out"
    [reason] = analyze_participants(folder, out, **given)["reason"]
    assert "is neither for training nor for testing" in reason
    assert "n_folds, --folds" in reason
    done = analyze_participants(folder, out, n_folds=2, **given)
    assert done["reason"].tolist() == [""]
    found = EncodingIdentification.from_directory(out)
    assert sorted(found.run_.test_stimuli) == sorted(names)
    given |= {"n_folds": 2, "exclude": "cat"}
    fewer = analyze_participants(folder, tmp_path / "fewer", **given)
    assert "saw 3 stimuli, too few for n_folds=2 folds" in fewer["reason"][0]


def test_what_does_not_go_together_is_told_before_any_work(pictures, tmp_path):
    out = tmp_path / "out"
    light = IdentificationSearchLight()
    for options, message in (
        ({"features": None}, "needs features of the stimuli"),
        ({"features": np.ones((3, 2))}, "have no names of stimuli"),
        ({"samples": "blocks"}, "samples='blocks' is not for encoding"),
        ({"n_folds": 1}, "n_folds=1 must be an integer of at least 2"),
        ({"stimulus_column": ""}, "stimulus_column='' must be the name"),
        ({"features": tmp_path / "no.tsv"}, "no.tsv"),
    ):
        with pytest.raises((ValueError, OSError), match=message):
            analyze(pictures, out, **options)
    with pytest.raises(ValueError, match="must be 0 in folds"):
        analyze(pictures, out, {"n_permutations": 9}, n_folds=4)
    with pytest.raises(ValueError, match="n_folds is for EncodingIdentification"):
        analyze_participants(pictures, out, analysis=light, n_folds=4)
    with pytest.raises(ValueError, match="stimulus_column is for EncodingIdent"):
        analyze_participants(pictures, out, stimulus_column="stim_file")
    with pytest.raises(TypeError, match="analysis is a RidgeEncoder; give"):
        analyze_participants(pictures, out, analysis=RidgeEncoder())
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--encoder", "ridge"], "--encoder is for --analysis encoding"),
        (["--folds", "5"], "--folds is for --analysis encoding"),
        (["--analysis", "encoding"], "needs features of the stimuli"),
        (["--analysis", "encoding", "--estimator", "lda"], "for --analysis searchl"),
        (["--analysis", "encoding", "--stimulus-images", "nowhere"], "is no folder"),
    ],
)
def test_words_of_the_other_analysis_are_refused(pictures, words, message, capsys):
    given = ["bids", str(pictures), "nowhere/out", "participant", "--quiet", *words]
    assert main(given) == 2
    assert message in capsys.readouterr().err


def edit(path, change):
    table = pd.read_csv(path, sep="\t", keep_default_na=False)
    change(table).to_csv(path, sep="\t", index=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: table.replace("pictures/p00.png", "pictures/q00.png"),
            "features have no stimulus 'pictures/q00.png' (1 of 32 in all)",
        ),
        (
            lambda table: table.drop(columns="stim_file"),
            "has no column 'stim_file'",
        ),
        (lambda table: table.drop(columns="set"), "has no column 'set' that says"),
        (
            lambda table: table.replace("train", "validate"),
            "must hold train and test, got validate",
        ),
        (
            lambda table: table.replace("train", "n/a"),
            "is neither for training nor for testing",
        ),
        (
            lambda table: table.replace("pictures/p00.png", "pictures/p31.png"),
            "stimulus 'pictures/p31.png' is for test here and for train elsewhere",
        ),
        (
            lambda table: table.replace("pictures/p00.png", "others/p31.png"),
            "'others/p31.png' and 'pictures/p31.png' have the same features",
        ),
    ],
)
def test_a_dry_run_names_who_would_fail_with_the_same_words(
    few_pictures, tmp_path, change, message
):
    for path in events_of(few_pictures, "02"):
        text = path.read_text()
        if "run-1" in path.name or "validate" in message:
            edit(path, change)
            assert path.read_text() != text or "run-4" in path.name
    reasons = [
        analyze(few_pictures, tmp_path / "out", participants=["02"], dry_run=dry)[
            "reason"
        ].tolist()
        for dry in (True, False)
    ]
    assert reasons[0] == reasons[1]
    assert message in reasons[0][0]
