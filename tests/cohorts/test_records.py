"""A record belongs to results: calls that fail, or are refused, change neither."""

import json
import re
import shutil
import tomllib

import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group
from tests.cohorts.conftest import analyze, make_dataset
from tests.cohorts.seam import _group_level, make_page


@pytest.fixture(scope="module")
def analyzed(two, tmp_path_factory):
    """Folder of a data set of two and of their results, not to be changed."""
    root = tmp_path_factory.mktemp("analyzed")
    shutil.copytree(two(make_dataset), root / "raw")
    analyze(root / "raw/derivatives/fmriprep", root / "out")
    return root


@pytest.fixture
def done(analyzed, tmp_path):
    """Folders of derivatives and results of two, to be changed."""
    shutil.copytree(analyzed, tmp_path, dirs_exist_ok=True)
    return tmp_path / "raw/derivatives/fmriprep", tmp_path / "out"


def files(out):
    """Return what every file holds but the page and what is told of failures."""
    return {
        path: path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.parent.name != "failed" and path.suffix != ".html"
    }


def refused(pair, out):
    """Other options, and no leave to replace results."""
    return analyze(pair, out, {"estimator": "ridge"})


def damaged(pair, out):
    """Images that cannot be read, while replacing."""
    for path in pair.rglob("sub-01_*_bold.nii.gz"):
        path.write_bytes(path.read_bytes()[:2000])
    light, given = {"estimator": "ridge"}, {"participants": ["01"]}
    return analyze(pair, out, light, overwrite=True, **given)


def not_found(pair, out):
    """Images of the first participant that are not there."""
    images = list(pair.rglob("sub-01_*_bold.nii.gz"))
    for path in images:
        path.rename(path.with_suffix(".away"))
    outcomes = analyze(pair, out)
    for path in images:
        path.with_suffix(".away").rename(path)
    return outcomes


@pytest.mark.filterwarnings("ignore:only 4 distinct sign flips", "ignore:.*second-lev")
@pytest.mark.parametrize("call", [refused, damaged, not_found])
def test_a_call_that_fails_changes_nothing(done, tmp_path, call):
    pair, out = done
    before = files(out)
    outcomes = call(pair, out)
    assert outcomes["status"][0] == "failed"
    assert files(out) == before
    failed = out / "code" / "failed" / "sub-01.toml"
    told = tomllib.loads(failed.read_text(encoding="utf-8"))
    assert told["outcome"]["status"] == "failed"
    assert told["outcome"]["reason"]
    assert str(tmp_path) not in failed.read_text(encoding="utf-8")
    assert told.get("estimator") == (None if call is not_found else "ridge")
    maps = analyze_group(out, n_permutations=10, report=False)
    assert np.nanmax(maps["n_subjects"].get_fdata()) == 2


def test_a_participant_without_results_has_the_record_of_the_failure(pair, tmp_path):
    out = tmp_path / "out"
    not_found(pair, out)
    path = out / "code" / "sub-01.toml"
    assert tomllib.loads(path.read_text())["outcome"]["status"] == "failed"
    assert not (out / "code" / "failed").exists()
    refused(pair, out)  # nothing is there to be replaced
    assert tomllib.loads(path.read_text())["outcome"]["status"] == "done"


def test_success_ends_what_is_told_of_failures(done):
    pair, out = done
    refused(pair, out)
    assert len(list((out / "code" / "failed").iterdir())) == 2
    analyze(pair, out, {"estimator": "ridge"}, overwrite=True)
    assert not list((out / "code" / "failed").iterdir())


def test_a_record_of_other_results_is_mended_when_they_are_skipped(done, tmp_path):
    (pair, out), other = done, tmp_path / "other"
    analyze(pair, other, {"radius": 9.0}, participants=["01"])
    record = out / "code" / "sub-01.toml"
    right = tomllib.loads(record.read_text())
    record.write_bytes((other / "code" / "sub-01.toml").read_bytes())
    assert analyze(pair, out)["status"].tolist() == ["skipped"] * 2
    mended = tomllib.loads(record.read_text())
    assert mended["outcome"].pop("seconds") >= 0
    del right["outcome"]["seconds"]
    assert mended == right
    [index] = (out / "sub-01").rglob("*desc-analysis_stat.json")
    identity = json.loads(index.read_text())["origin"]["samples"]["identity"]
    assert mended["outcome"]["identity"] == identity


@pytest.mark.filterwarnings("ignore:only 4 distinct sign flips", "ignore:.*second-lev")
@pytest.mark.filterwarnings("ignore:[23] subjects, with:UserWarning")
def test_nothing_of_an_earlier_group_stays(pair, tmp_path, monkeypatch):
    """Maps of prevalence, and a page, that are not made again go with the others."""
    page = make_page("Group", [("Empty", "")])  # a whole one takes seconds
    monkeypatch.setattr(_group_level, "make_group_page", lambda *_, **__: page)
    out = tmp_path / "out"
    analyze(pair, out, {"n_permutations": 9}, save_null=True)
    analyze_group(out, n_permutations=10)
    names = {path.name for path in (out / "group").iterdir()}
    assert any("desc-prevalenceMinimum" in name for name in names)
    index = (out / "index.html").read_text(encoding="utf-8")
    assert "desc-prevalenceMinimum" in index
    assert "Open the report of the group" in index
    for path in out.rglob("*desc-null_stat.npy"):
        path.unlink()
    analyze_group(out, n_permutations=10, report=False, overwrite=True)
    kept = {path.name for path in (out / "group").iterdir()}
    gone = {name for name in names if re.search("desc-(prevalence|report)", name)}
    assert kept == names - gone
    index = (out / "index.html").read_text(encoding="utf-8")
    assert not any(name in index for name in gone)
    assert "desc-accuracyPvaluefwe" in index


def test_a_record_repeats_its_analysis_or_says_what_differs(done, tmp_path, caplog):
    """A run came since: the same options are another analysis."""
    pair, out = done
    record = out / "code/sub-01.toml"
    words = ["bids", str(pair), str(tmp_path / "again"), "participant"]
    words += ["--config", str(record), "--no-report"]
    assert main(words) == 0
    assert "is not analyzed as" not in caplog.text
    for path in sorted(pair.parents[1].rglob("sub-01_*run-4_*")):
        path.unlink()
    assert main([*words, "--overwrite"]) == 0
    assert f"sub-01 is not analyzed as {record} says: runs differ: " in caplog.text
    assert "run-4_space-" in caplog.text
    caplog.clear()
    assert main([*words, "--overwrite", "--radius", "7"]) == 0
    assert "runs differ: " in caplog.text


def test_a_record_of_what_only_python_has_is_no_configuration(pair, tmp_path, capsys):
    folds = [(np.arange(4), np.arange(4, 16))]
    analyze(pair, tmp_path / "out", {"cv": folds})
    record = tmp_path / "out/code/sub-01.toml"
    words = ["bids", str(pair), str(tmp_path / "again"), "participant"]
    assert main([*words, "--config", str(record)]) == 2
    assert "settings that only Python has (cv)" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def rows_of(out):
    """Return what the page says of every record, by its name: status and picture."""
    text = (out / "index.html").read_text(encoding="utf-8")
    rows = re.findall("<tr.*?</tr>", text.partition("<tbody>")[2], re.DOTALL)
    found = {}
    for row in rows:
        [name] = re.findall(r">(sub-\w[^<]*)<", row)
        [status] = re.findall('data-label="Status">([^<]*)<', row)
        found[name] = status, "data:image" in row
    return found


def test_every_session_has_its_row_and_its_failure(tree, tmp_path, caplog):
    """A record is of its own results, whatever others the participant has."""
    out = tmp_path / "out"
    given = {"space": "MNI152NLin2009cAsym", "filters": ["echo="]}
    given |= {"participants": ["11", "12", "13"]}
    analyze(tree, out, sessions=["1"], **given)
    away = tree.parents[1] / "sub-12" / "ses-2"
    away.rename(away.with_name("away"))
    try:
        analyze(tree, out, sessions=["2"], **given)
    finally:
        away.with_name("away").rename(away)
    analyze(tree, out, **given)
    done = "done", True
    assert rows_of(out) == {
        **{f"sub-{n}": done for n in (11, 12, 13)},
        **{f"sub-{n}_ses-{s}": done for n in (11, 13) for s in (1, 2)},
        "sub-12_ses-1": done,
        "sub-12_ses-2": ("failed", False),
    }
    with pytest.warns(UserWarning, match="only 4 distinct"):
        analyze_group(out, within=["ses-2", "ses-1"], report=False)
    assert "sub-12 is left out of the group: sub-12_ses-2_task-objects_run-1" in (
        caplog.text
    )


def test_records_of_replaced_results_go_with_them(done):
    """A configuration names the task, so that its record has another name."""
    pair, out = done
    words = ["bids", str(pair), str(out), "participant", "--no-report", "--config"]
    assert main([*words, str(out / "code" / "sub-01.toml")]) == 0
    names = {path.name for path in (out / "code").glob("*.toml")}
    assert names == {"sub-01.toml", "sub-01_task-objects.toml", "sub-02.toml"}
    assert rows_of(out) == dict.fromkeys(["sub-01", "sub-02"], ("done", True))
    analyze(pair, out, {"estimator": "ridge"}, overwrite=True)
    names = {path.name for path in (out / "code").glob("*.toml")}
    assert names == {"sub-01.toml", "sub-02.toml"}


def test_another_space_needs_its_own_folder(tree, tmp_path):
    out, given = tmp_path / "out", {"filters": ["echo="], "participants": ["11"]}
    analyze(tree, out, space="MNI152NLin2009cAsym", **given)
    before = files(out)
    [reason] = analyze(tree, out, space="T1w", overwrite=True, **given)["reason"]
    assert "other results on record as 11 (sub-11/func/sub-11_task-objects_" in reason
    assert files(out) == before


def test_results_without_a_record_are_named(done, caplog):
    """As when folders of two machines are put together, but not their records."""
    pair, out = done
    (out / "code" / "sub-02.toml").unlink()
    with pytest.raises(ValueError, match=r"without its record \(code/sub-02"):
        analyze_group(out, report=False)
    assert "sub-02 is left out of the group" in caplog.text
    analyze(pair, out)
    assert (out / "code" / "sub-02.toml").is_file()


@pytest.mark.filterwarnings("ignore:only 4 distinct sign flips", "ignore:.*second-lev")
def test_the_page_says_who_was_analyzed_after_the_group(done):
    pair, out = done
    analyze_group(out, report=False)
    told = "<strong>sub-02</strong>: analyzed again, or removed, since"
    assert "analyzed again" not in (out / "index.html").read_text(encoding="utf-8")
    light = {"radius": 9.0}
    analyze(pair, out, light, participants=["02"], overwrite=True)
    assert told in (out / "index.html").read_text(encoding="utf-8")
    analyze_group(out, report=False, overwrite=True, allow_mixed=True)
    assert "analyzed again" not in (out / "index.html").read_text(encoding="utf-8")
