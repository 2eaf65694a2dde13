"""Everyone is found, analyzed once, and named if something is wrong."""

import re
import tomllib

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import resolve_masker
from neuroextrap.maps import read_maps
from tests.cohorts.conftest import analyze
from tests.cohorts.seam import (
    SampleOptions,
    event_samples,
    file_entities,
    fmriprep_confounds,
    make_page,
)

SIX = ["01", "02", "03", "05", "06", "07"]


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*_stat.*")}


@pytest.fixture(scope="module")
def analyzed(cohort, tmp_path_factory):
    """Results of six with bounds, one run of 05 damaged, and the table of outcomes."""
    out = tmp_path_factory.mktemp("results") / "out"
    given = {"samples": "lsa", "delay": 0.0, "confounds": ["motion"]}
    return out, analyze(cohort, out, {"bounds": "auto"}, participants=SIX, **given)


def test_one_fault_does_not_stop_the_others(analyzed, caplog):
    out, outcomes = analyzed
    assert outcomes["participant_id"].tolist() == [f"sub-{k}" for k in SIX]
    failed = outcomes[outcomes["status"] != "done"]
    assert failed["participant_id"].tolist() == ["sub-05"]
    assert "run-2_events.tsv: an event starts at 500 s" in failed["reason"].iloc[0]
    assert outcomes["n_runs"].tolist() == [4, 4, 3, 4, 4, 4]
    assert not (out / "sub-05").exists()
    page = (out / "index.html").read_text()
    assert "an event starts at 500 s" in page
    for path in out.rglob("sub-*/*"):
        if path.is_file():
            assert file_entities(path), path
    ignored = (out / ".bidsignore").read_text().splitlines()
    assert ignored.count("index.html") == 1


def test_a_participant_equals_the_analysis_by_hand(analyzed, cohort):
    out, _ = analyzed
    folder = cohort / "sub-02" / "func"
    imgs = sorted(map(str, folder.glob("*_bold.nii.gz")))
    events = sorted(map(str, (cohort.parents[1] / "sub-02/func").glob("*_events.tsv")))
    confounds, kept = fmriprep_confounds(imgs, ["motion"])
    assert len(confounds) == 4
    assert confounds[0].shape[1] == 24
    assert kept[0].tolist() == list(range(1, 64))
    mask = nibabel.load(sorted(folder.glob("*_mask.nii.gz"))[0])
    options = {"samples": "lsa", "confounds": confounds, "sample_mask": kept}
    samples = event_samples(imgs, events, mask, SampleOptions(**options))
    twin = IdentificationSearchLight(mask, radius=4.0).fit_events(
        imgs, events, **options
    )
    assert samples.data.shape == (32, 47)
    assert twin.n_elements_ == resolve_masker(mask).n_elements_ == 47
    found = IdentificationSearchLight.from_directory(out / "sub-02")
    np.testing.assert_array_equal(found.wins_, twin.wins_)
    assert np.nanmean(found.region_scores_["accuracy"]) > 0.5
    maps = read_maps(out / "sub-02" / "func")
    assert np.isnan(maps["accuracy"].get_fdata()[0, 0, 0])


def test_who_is_done_is_skipped_until_something_changes(pair, tmp_path):
    out = tmp_path / "out"
    assert analyze(pair, out)["status"].tolist() == ["done"] * 2
    before = stamps(out)
    assert analyze(pair, out)["status"].tolist() == ["skipped"] * 2
    assert analyze(pair, out, {"n_jobs": 2})["status"].tolist() == ["skipped"] * 2
    assert stamps(out) == before
    changed = analyze(pair, out, smoothing_fwhm=4.0)
    assert changed["status"].tolist() == ["failed"] * 2
    assert "use overwrite=True" in changed["reason"].iloc[0]
    record = out / "code" / "sub-01.toml"
    assert analyze(pair, out)["status"].tolist() == ["skipped"] * 2
    assert tomllib.loads(record.read_text())["outcome"]["status"] == "done"
    record.unlink()
    assert analyze(pair, out)["status"].tolist() == ["skipped"] * 2
    assert record.is_file()
    path = next(pair.parents[1].glob("sub-02/func/*run-1_events.tsv"))
    events = pd.read_csv(path, sep="\t")
    events["trial_type"] = events["trial_type"].to_numpy()[::-1]
    events.to_csv(path, sep="\t", index=False)
    again = analyze(pair, out, overwrite=True)
    assert again["status"].tolist() == ["skipped", "done"]


def test_the_record_makes_the_same_results(pair, tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    options = ["--samples", "blocks", "--delay", "4", "--radius", "4", "--detrend"]
    words = ["bids", str(pair), str(out), "participant", *options, "--quiet"]
    words += ["--confounds", "motion", "wm_csf", "--no-report", "--bounds", "none"]
    assert main([*words, "--participant-label", "02"]) == 0
    record = out / "code" / "sub-02.toml"
    found = tomllib.loads(record.read_text())
    assert found["task"] == "objects"
    assert found["space"] == "MNI152NLin2009cAsym"
    assert found["confounds"] == ["motion", "wm_csf"]
    assert len(found["runs"]) == 4
    assert found["outcome"]["status"] == "done"
    words = ["bids", str(pair), str(again), "participant", "--quiet", "--no-report"]
    assert main([*words, "--config", str(record)]) == 0
    one, two = (
        IdentificationSearchLight.from_directory(folder) for folder in (out, again)
    )
    np.testing.assert_array_equal(one.wins_, two.wins_)
    assert [path.name for path in again.glob("sub-*")] == ["sub-02"]


def test_a_dry_run_writes_nothing(pair, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["bids", str(pair), str(out), "participant", "--samples", "lsa", "--quiet"]
    words += ["--confounds", "none"]
    assert main([*words, "--dry-run", "--radius", "4"]) == 0
    assert "sub-01: planned, 4 runs" in capsys.readouterr().out
    assert not out.exists()


def test_reports_are_linked(pair, tmp_path, monkeypatch):
    def short(fitted, title):
        return make_page(title, [("Regions", str(len(fitted.wins_)))])

    monkeypatch.setattr(IdentificationSearchLight, "generate_report", short)
    out = tmp_path / "out"
    analyze(pair, out, participants=["sub-01"], report=True)
    [report] = out.rglob("*report_stat.html")
    assert report.relative_to(out).as_posix() in (out / "index.html").read_text()


def test_what_cannot_be_found_is_told(pair, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="there is no sub-09; there are 01, 02"):
        analyze(pair, out, participants=["09"])
    with pytest.raises(ValueError, match="models drifts itself"):
        analyze(pair, out, samples="lss", delay=0.0, detrend=True)
    assert not out.exists()
    with pytest.raises(ValueError, match="no series with task-rest; there are obj"):
        analyze(pair, out, task="rest")
    [reason, _] = analyze(pair, out, confounds=["physio"])["reason"]
    assert "confounds=['physio'] must be names of nilearn's load_confounds" in reason
    folder = pair / "sub-01" / "func"
    name = "sub-01_task-objects_run-1_desc-confounds_timeseries.tsv"
    (folder / name).rename(tmp_path / name)
    [reason, other] = analyze(pair, out, confounds=["motion"])["reason"]
    assert "has no table of confounds" in reason
    assert other == ""
    bold = next(folder.glob("*run-1*_bold.nii.gz"))
    bold.rename(str(bold).replace("MNI152NLin2009cAsym", "T1w"))
    [reason, _] = analyze(pair, out)["reason"]
    assert "several space entities: MNI152NLin2009cAsym, T1w; choose one" in reason
    for run in (2, 3, 4):  # one run is too few
        next(pair.parents[1].glob(f"sub-02/func/*run-{run}_events.tsv")).unlink()
    assert "has no events in" in analyze(pair, out)["reason"].iloc[1]


def test_events_of_the_whole_data_set_hold_for_all(pair, tmp_path):
    raw = pair.parents[1]
    paths = sorted(raw.glob("sub-*/func/*_events.tsv"))
    table = pd.read_csv(paths[0], sep="\t")
    for path in paths:
        path.unlink()
    table.to_csv(raw / "task-objects_events.tsv", sep="\t", index=False)
    outcomes = analyze(pair, tmp_path / "out")
    assert outcomes["status"].tolist() == ["done"] * 2
    table.to_csv(raw / "task-objects_run-02_events.tsv", sep="\t", index=False)
    analyze(pair, tmp_path / "two")
    runs = tomllib.loads((tmp_path / "two/code/sub-01.toml").read_text())["runs"]
    names = [run["events"].rpartition("/")[2] for run in runs]
    assert names[1] == "task-objects_run-02_events.tsv"
    assert set(names[:1] + names[2:]) == {"task-objects_events.tsv"}


def test_configurations_are_checked(pair, tmp_path, capsys):
    config = tmp_path / "config.toml"
    words = ["bids", str(pair), str(tmp_path / "out"), "participant", "--quiet"]
    for text, message in (
        ("radious = 4.0", "radious is not an option of neuroextrap bids"),
        ("radius = ", "is no TOML"),
        ("[radius]\nmm = 4", "radius is a table"),
    ):
        config.write_text(text)
        assert main([*words, "--config", str(config)]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_group_lacks_those_who_differ(analyzed, caplog):
    out, _ = analyzed
    with pytest.raises(ValueError, match="sub-01 and sub-03 differ in runs"):
        analyze_group(out, n_permutations=1000)
    given = {"n_permutations": 1000, "allow_mixed": ["runs"], "report": False}
    with pytest.warns(UserWarning, match="only 16 distinct sign flips of 4 subjects"):
        maps = analyze_group(out, **given)
    assert (
        "participants differ, which is allowed, in runs (sub-03 unlike sub-01)"
        in caplog.text
    )
    page = (out / "index.html").read_text()
    assert (
        "sub-06 is left out of the group: its conditions are chair dog" in caplog.text
    )
    assert "its conditions are chair dog face house, but most subjects have" in page
    assert np.nanmax(maps["n_subjects"].get_fdata()) == 4
    subjects = [f"sub-{i:02d}" for i in (1, 2, 3, 7)]
    values = [
        read_maps(out / name / "func")["accuracy"].get_fdata() for name in subjects
    ]
    np.testing.assert_allclose(
        maps["accuracy"].get_fdata(), np.mean(values, axis=0), rtol=1e-5
    )
    names = {path.name for path in (out / "group").iterdir()}
    start = "task-objects_space-MNI152NLin2009cAsym_desc-"
    assert f"{start}accuracyPvaluefwe_stat.nii.gz" in names
    assert f"{start}informationImpliedinformation_stat.nii.gz" in names
    p = maps["p_value"].get_fdata()
    assert np.nanmin(p) == pytest.approx(1 / 16)  # all sign flips of four subjects


@pytest.mark.filterwarnings("ignore:only 16 distinct sign flips")
def test_the_group_from_the_command_line(analyzed, cohort, capsys):
    out, _ = analyzed
    words = ["bids", str(cohort), str(out), "group", "--n-permutations", "100"]
    options = ["--tfce", "--cluster-threshold", "0.05", "--overwrite", "--quiet"]
    options += ["--no-report"]
    assert main([*words, *options]) == 2
    assert "or name what may differ" in capsys.readouterr().err
    words += ["--allow-mixed", "runs"]
    assert main([*words, *options]) == 0
    page = (out / "index.html").read_text(encoding="utf-8")
    assert re.search(r"participants, and does:</p>\s*<ul>\s*<li>runs", page)
    assert "4 subjects, 47 voxels; smallest family-wise p" in capsys.readouterr().out
    some = ["--participant-label", "01", "05", "--overwrite", "--quiet"]
    assert main([*words, *some]) == 2
    assert "has 1 participants to put together" in capsys.readouterr().err
    assert main([*words, "--quiet"]) == 2
    assert "already holds" in capsys.readouterr().err


def test_nothing_names_a_folder_of_this_machine(pair, tmp_path, monkeypatch):
    raw, mask = tmp_path / "events of the study", tmp_path / "masks" / "some.nii.gz"
    raw.mkdir()
    for folder in pair.parents[1].glob("sub-*"):
        folder.rename(raw / folder.name)
    data = np.ones((4, 4, 3), "uint8")
    data[0] = 0
    mask.parent.mkdir()
    nibabel.Nifti1Image(data, np.diag([3.0, 3, 3, 1])).to_filename(mask)
    next(raw.glob("sub-02/func/*run-3_events.tsv")).write_text("onset\n1\n")
    monkeypatch.chdir(tmp_path)
    words = ["bids", "raw/derivatives/fmriprep", "out", "participant", "--quiet"]
    options = ["--samples", "blocks", "--delay", "4", "--radius", "4"]
    options += ["--bounds", "none", "--no-report", "--confounds", "none"]
    given = ["--raw", str(raw), "--mask", "masks/some.nii.gz"]
    assert main([*words, *options, *given]) == 1  # sub-02 has no events
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in (".toml", ".json", ".html", ".tsv", ""):
            text = path.read_text() if path.is_file() else ""
            assert str(tmp_path) not in text, path
    record = tmp_path / "out" / "code" / "sub-01.toml"
    found = tomllib.loads(record.read_text())
    assert found["raw"] == "../../events of the study"
    assert found["mask"] == "../../masks/some.nii.gz"
    start = "sub-01/func/sub-01_task-objects_run-1"
    assert found["runs"][0]["events"] == f"{start}_events.tsv"
    assert found["runs"][0]["bold"].startswith(f"{start}_space-")
    reason = tomllib.loads((record.parent / "sub-02.toml").read_text())["outcome"]
    assert reason["reason"].startswith("sub-02/func/"), reason
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    words = ["bids", str(pair), "again", "participant", "--config", str(record)]
    assert main([*words, "--no-report", "--quiet"]) == 0
    one, two = (
        IdentificationSearchLight.from_directory(folder)
        for folder in (tmp_path / "out", "again")
    )
    assert one.n_elements_ == 36
    np.testing.assert_array_equal(one.wins_, two.wins_)


def test_a_cause_of_all_is_told_once_before_anything_is_written(pair, tmp_path):
    with pytest.raises(ValueError, match="nobody of 2 can be analyzed: sub-01 has no"):
        analyze(pair, tmp_path / "out", space="T1w")
    assert not (tmp_path / "out").exists()


def test_a_cause_that_comes_again_is_not_told_again(pair, tmp_path, caplog, capsys):
    for path in pair.rglob("*_bold.nii.gz"):
        path.write_bytes(path.read_bytes()[:2000])
    outcomes = analyze(pair, tmp_path / "out")
    assert outcomes["status"].tolist() == ["failed"] * 2
    told = [r.getMessage() for r in caplog.records if "failed" in r.getMessage()]
    assert told[1:] == ["sub-02 failed: as sub-01"]
    capsys.readouterr()
    words = [str(pair), str(tmp_path / "out"), "participant", "--samples", "blocks"]
    words += ["--confounds", "none"]
    assert main(["bids", *words]) == 1
    assert "sub-02: failed, 4 runs: as sub-01\n" in capsys.readouterr().out


def test_repetition_times_are_inherited(pair, tmp_path):
    """Neither headers nor files beside the images say it, but those of the raw data."""
    for path in pair.rglob("*_bold.nii.gz"):
        img = nibabel.load(path)
        img = nibabel.Nifti1Image(img.get_fdata(dtype="float32"), img.affine)
        img.header.set_xyzt_units("mm", "unknown")
        img.to_filename(path)
        path.with_name(path.name.replace(".nii.gz", ".json")).write_text("{}")
    with pytest.raises(ValueError, match=r"nobody of 2 .* give t_r"):
        analyze(pair, tmp_path / "one")
    root = pair.parents[1]
    (root / "task-objects_bold.json").write_text('{"RepetitionTime": 5.0}')
    for label in ("01", "02"):
        own = root / f"sub-{label}" / f"sub-{label}_task-objects_bold.json"
        own.write_text('{"RepetitionTime": 2.0}')
    (root / "task-rest_bold.json").write_text('{"RepetitionTime": 7.0}')
    assert analyze(pair, tmp_path / "two")["status"].tolist() == ["done"] * 2
