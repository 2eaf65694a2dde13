"""Which files are runs: no copies of a run, and none whose events are not known."""

import json
import logging
import re
import shutil
import tomllib

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group
from neuroextrap.decoding import IdentificationSearchLight
from tests.cohorts.conftest import analyze
from tests.cohorts.seam import find_raw, find_runs, read_configuration, read_filters

SPACE = "MNI152NLin2009cAsym"


def renamed(derivatives, pattern, new, *, copy=False):
    """Give files of sub-01 other entities, events too; or copy the images."""
    root = derivatives if copy else derivatives.parents[1]
    for path in sorted(root.rglob("sub-01_*")):
        name = re.sub(pattern, new, path.name)
        if name != path.name:
            (shutil.copy if copy else shutil.move)(path, path.with_name(name))


COPIES = {
    "echoes": ("_run-1_space", "_run-1_echo-2_space"),
    "reconstructions": ("_run-1_space", "_rec-norm_run-1_space"),
    "parts": ("_run-1_space", "_run-1_part-phase_space"),
    "contrasts": ("_run-1_space", "_ce-x_run-1_space"),
    "padded": ("_run-1_", "_run-01_"),
    "no number": ("_run-1_", "_"),
    "resolutions": ("_desc-", "_res-2_desc-"),
}

CHOICES = {
    "echoes": "choose one by filters (--filter echo=2 or echo=)",
    "reconstructions": "(--filter rec=norm or rec=)",
    "parts": "(--filter part=phase or part=)",
    "contrasts": "(--filter ce=x or ce=)",
    "resolutions": "(--filter res= or res=2)",
}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_of_a_run_is_no_run(pair, tmp_path, kind):
    old, new = COPIES[kind]
    renamed(pair, old, new, copy=True)
    dry = analyze(pair, tmp_path / "out", dry_run=True)
    assert dry["status"].tolist() == ["failed", "planned"]
    real = analyze(pair, tmp_path / "out", participants=["01"])
    assert real["status"].tolist() == ["failed"]
    for reason in (dry["reason"][0], real["reason"][0]):
        name = f"sub-01_task-objects_run-1_space-{SPACE}_desc-preproc_bold.nii.gz"
        assert "has 2 series of one run, " in reason
        assert name in reason
        assert re.sub(old, new, name) in reason
        assert CHOICES.get(kind, "keep one of them in the folder") in reason
    assert not (tmp_path / "out" / "sub-01").exists()


def test_runs_come_by_number(pair, tmp_path):
    """Run 10 comes after run 2: e-values in time ask for the order of acquisition."""
    renamed(pair, "_run-1_", "_run-10_")
    runs = find_runs(pair, find_raw(pair), "01", {"task": "objects"}, {})
    assert [run.entities["run"] for run in runs] == ["2", "3", "4", "10"]


def test_the_message_names_every_copy(pair, tmp_path):
    for echo in (1, 2, 3):
        renamed(pair, "_run-2_space", f"_run-2_echo-{echo}_space", copy=True)
    for path in pair.rglob("sub-01_*_run-2_space-*"):
        path.unlink()
    reason = analyze(pair, tmp_path, dry_run=True)["reason"][0]
    assert "has 3 series of one run" in reason
    for echo in (1, 2, 3):
        assert f"_run-2_echo-{echo}_space-" in reason


@pytest.mark.parametrize("entity", ["acq-x", "dir-AP", "ses-2"])
def test_runs_of_other_acquisitions_are_runs(pair, tmp_path, entity):
    """Runs 3 and 4 become runs 1 and 2 of another acquisition."""
    for run in (1, 2):
        renamed(pair, "(_task-objects)_run-" + str(run + 2), rf"_{entity}\1_run-{run}")
    if not entity.startswith("ses"):
        renamed(pair, f"_({entity})(_task-objects)_", r"\2_\1_")
    given = {"dry_run": True, "participants": ["01"]}
    outcomes = analyze(pair, tmp_path, **given)
    assert outcomes[["status", "n_runs", "reason"]].to_numpy().tolist() == [
        ["planned", 4, ""]
    ]


def test_copies_of_betas_are_no_runs(betas, tmp_path):
    folder = betas("maps")
    for path in sorted(folder.rglob("sub-01_*_run-1_*statmap.nii.gz")):
        shutil.copy(path, path.with_name(path.name.replace("_run-1_", "_run-01_")))
    given = {"samples": "betas", "delay": 0.0, "dry_run": True}
    reason, other = analyze(folder, tmp_path, **given)["reason"]
    assert "has 2 series of one run" in reason
    assert other == ""
    folder = betas("series")
    for path in sorted(folder.rglob("sub-02_*betas.*")):
        shutil.copy(path, path.with_name(path.name.replace("_betas", "_desc-R_betas")))
    other, reason = analyze(folder, tmp_path, **given)["reason"]
    assert "_desc-R_betas.nii.gz" in reason
    assert other == ""


def events_of(derivatives, run):
    name = f"sub-02/func/sub-02_task-objects_run-{run}_events.tsv"
    return derivatives.parents[1] / name


def too_late(derivatives, run, onset=500.0):
    """An event after the last volume."""
    path = events_of(derivatives, run)
    table = pd.read_csv(path, sep="\t")
    table.loc[7, "onset"] = onset
    table.to_csv(path, sep="\t", index=False)


def none_there(derivatives, run):
    events_of(derivatives, run).unlink()


def no_rows(derivatives, run):
    """A table of names only."""
    events_of(derivatives, run).write_text("onset\tduration\ttrial_type\n")


def no_byte(derivatives, run):
    events_of(derivatives, run).write_text("")


def rest_only(derivatives, run):
    """Events that are left out, and some without a condition."""
    path = events_of(derivatives, run)
    table = pd.read_csv(path, sep="\t").assign(trial_type=["rest", "n/a"] * 4)
    table.to_csv(path, sep="\t", index=False)


@pytest.mark.parametrize("damage", [no_rows, no_byte, rest_only])
@pytest.mark.filterwarnings("ignore:condition 'rest' is to be excluded but")
def test_a_run_of_no_condition_is_lost_not_the_participant(pair, tmp_path, damage):
    damage(pair, 2)
    given = {"participants": ["02"], "exclude": ["rest"]}
    outcomes = analyze(pair, tmp_path / "out", **given)
    assert outcomes[["status", "n_runs"]].to_numpy().tolist() == [["done", 3]]
    told = "a run is left out: sub-02_task-objects_run-2_events.tsv has no event of a"
    assert told in outcomes["reason"][0]


LATE = "run-2_events.tsv: an event starts at 500 s, after the 128 s of"
NONE = f"_run-2_space-{SPACE}_desc-preproc_bold.nii.gz has no"


@pytest.mark.parametrize(
    ("damage", "message", "samples"),
    [(too_late, LATE, "lsa"), (too_late, LATE, "blocks"), (none_there, NONE, "blocks")],
)
def test_one_run_is_lost_not_the_participant(
    pair, tmp_path, caplog, damage, message, samples
):
    damage(pair, 2)
    out, given = tmp_path / "out", {"samples": samples, "participants": ["02"]}
    given |= {"delay": 4.0 if samples == "blocks" else 0.0}
    dry = analyze(pair, out, dry_run=True, **given)
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        outcomes = analyze(pair, out, **given)
    assert outcomes[["status", "n_runs"]].to_numpy().tolist() == [["done", 3]]
    for told in (caplog.text, outcomes["reason"][0], dry["reason"][0]):
        assert "a run is left out: " in told
        assert message in told
    assert caplog.text.count("a run is left out") == 1
    record = (out / "code" / "sub-02.toml").read_text(encoding="utf-8")
    found = tomllib.loads(record)
    assert [run["events"][-12] for run in found["runs"]] == ["1", "3", "4"]
    for text in (record, (out / "index.html").read_text(encoding="utf-8")):
        assert "a run is left out: " in text
        assert str(tmp_path) not in text
    assert analyze(pair, out, **given)["status"].tolist() == ["skipped"]
    for path in pair.parents[1].rglob("sub-02_*run-2_*"):
        path.unlink()
    analyze(pair, tmp_path / "twin", **given)
    one, two = (
        IdentificationSearchLight.from_directory(each / "sub-02")
        for each in (out, tmp_path / "twin")
    )
    np.testing.assert_array_equal(one.wins_, two.wins_)


def test_with_one_run_left_the_participant_fails(pair, tmp_path):
    for run in (1, 2, 3):
        too_late(pair, run)
    outcomes = analyze(pair, tmp_path / "out", participants=["02"])
    assert outcomes["status"].tolist() == ["failed"]
    assert outcomes["n_runs"].tolist() == [4]
    assert "run-1_events.tsv: the event" in outcomes["reason"][0]
    for run in (1, 2, 3):
        none_there(pair, run)
    outcomes = analyze(pair, tmp_path / "out", participants=["02"])
    assert "run-1_space-" in outcomes["reason"][0]
    assert "has no events in" in outcomes["reason"][0]


@pytest.mark.filterwarnings("ignore:Matrix is singular")
@pytest.mark.parametrize(
    ("samples", "onset", "n_runs"),
    [
        ("lsa", 127.9, 4),  # the last volume begins at 126 s
        ("lsa", 128.0, 3),
        ("blocks", 122.0, 4),
        ("blocks", 122.5, 3),  # 4 s later no volume begins
    ],
)
def test_the_last_moment_of_an_event(pair, tmp_path, samples, onset, n_runs):
    too_late(pair, 3, onset)
    given = {"samples": samples, "participants": ["02"], "dry_run": True}
    given |= {"delay": 4.0 if samples == "blocks" else 0.0}
    outcomes = analyze(pair, tmp_path, **given)
    assert outcomes["status"].tolist() == ["planned"]
    assert outcomes["n_runs"].tolist() == [n_runs]


def echo_tree(derivatives):
    """Sub-01 has every run also as three echoes, with own noise."""
    rng = np.random.default_rng(0)
    for path in sorted(derivatives.rglob("sub-01_*_desc-preproc_bold.nii.gz")):
        img = nibabel.load(path)
        for echo in (1, 2, 3):
            data = img.get_fdata() + 0.7 * rng.normal(size=img.shape)
            copy = nibabel.Nifti1Image(data.astype("float32"), None, img.header)
            copy.to_filename(
                path.with_name(path.name.replace("_sp", f"_echo-{echo}_sp"))
            )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"filters": {"echo": 2}}, ["echo=2"]),
        ({"filters": ["echo=02", "run=1", "run=2"]}, ["echo=02", "run=1", "run=2"]),
        ({"filters": {"echo": None, "desc": ["preproc"]}}, ["echo=", "desc=preproc"]),
    ],
)
def test_filters_choose_a_version(pair, tmp_path, given, words):
    echo_tree(pair)
    assert analyze(pair, tmp_path, dry_run=True)["status"][0] == "failed"
    given |= {"confounds": ("motion",), "participants": ["01"]}
    outcomes = analyze(pair, tmp_path / "out", **given)
    assert outcomes["status"].tolist() == ["done"]
    found = tomllib.loads((tmp_path / "out/code/sub-01.toml").read_text("utf-8"))
    assert found["filter"] == words
    assert len(found["runs"]) == (2 if "run=1" in words else 4)
    for run in found["runs"]:
        assert ("_echo-2_" in run["bold"]) == (words[0] != "echo=")
        assert run["mask"].endswith("_desc-brain_mask.nii.gz")
        assert run["confounds_file"].endswith("_desc-confounds_timeseries.tsv")
    again = read_configuration(tmp_path / "out/code/sub-01.toml")
    assert read_filters(again["filter"]) == read_filters(given["filters"])


def test_a_file_of_filters_is_that_of_other_programs(pair, tmp_path, capsys):
    echo_tree(pair)
    file, given = tmp_path / "filters.json", {"dry_run": True}
    content = {"bold": {"datatype": "func", "echo": [1, 2], "session": None}, "t1w": {}}
    file.write_text(json.dumps(content))
    assert read_filters(None, file) == {"echo": ("1", "2"), "ses": (None,)}
    assert "2 series" in analyze(pair, tmp_path, filter_file=file, **given)["reason"][0]
    words = ["bids", str(pair), str(tmp_path / "out"), "participant", "--dry-run"]
    words += ["--participant-label", "01", "--samples", "blocks", "--confounds", "none"]
    assert main([*words, "--filter-file", str(file), "--filter", "echo=3"]) == 0
    assert "sub-01: planned, 4 runs" in capsys.readouterr().out
    (tmp_path / "c.toml").write_text('filter = ["echo=3"]\n')
    assert main([*words, "--config", str(tmp_path / "c.toml")]) == 0


def test_versions_are_no_group(pair, tmp_path):
    """One participant's denoised series, the other's preprocessed ones."""
    out = tmp_path / "out"
    for path in sorted(pair.rglob("sub-01_*_desc-preproc_bold.*")):
        path.rename(path.with_name(path.name.replace("preproc", "denoised")))
    for label, filters in (("01", {"desc": "denoised"}), ("02", None)):
        analyze(pair, out, participants=[label], filters=filters)
    with pytest.raises(ValueError, match="sub-01 and sub-02 differ in versions;"):
        analyze_group(out)
    with pytest.warns(UserWarning, match="sign flips"):
        analyze_group(out, report=False, allow_mixed="versions")
    assert "<li>versions (sub-02 unlike sub-01)</li>" in (out / "index.html").read_text(
        "utf-8"
    )


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"echo": 9}, r"no series with echo=9 .*there are \(none\)"),
        ({"echo": True}, "'echo': True is no entity with labels"),
        ({"echo": []}, "is no entity with labels"),
        ({"sub": "01"}, "participants have an option of their own"),
        (["echo"], "'echo' must be an entity and its label"),
        ("echo=1", "must be a dict of labels by entity"),
    ],
)
def test_filters_that_choose_nothing(pair, tmp_path, filters, message):
    given = {"filters": filters, "dry_run": True}
    if "no series" in message:
        assert re.search(message, analyze(pair, tmp_path, **given)["reason"][0])
    else:
        with pytest.raises(ValueError, match=message):
            analyze(pair, tmp_path, **given)


@pytest.mark.parametrize("text", ["{", '["echo"]', '{"t1w": {"echo": 1}}', "[" * 10**5])
def test_files_that_are_no_filters(tmp_path, text):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(
        ValueError, match=r"^filter_file \(--filter-file\) .*; write \{"
    ):
        read_filters(None, tmp_path / "f.json")


def test_copies_under_other_names_are_refused_by_their_data(pair, tmp_path):
    for run, new in ((1, 5), (2, 6)):
        for path in sorted(pair.parents[1].rglob(f"sub-01_*run-{run}_*")):
            shutil.copy(
                path, path.with_name(path.name.replace(f"run-{run}", f"run-{new}"))
            )
    path = next(pair.rglob("sub-01_*run-5_*_bold.nii.gz"))
    img = nibabel.load(path)
    noise = np.random.default_rng(1).normal(size=img.shape)
    data = (img.get_fdata() + noise).astype("float32")
    nibabel.Nifti1Image(data, None, img.header).to_filename(path)
    outcomes = analyze(pair, tmp_path / "out", samples="lsa", delay=0.0)
    assert outcomes["status"].tolist() == ["failed", "done"]
    assert "run-1_space" in outcomes["reason"][0]
    assert "run-5_space" in outcomes["reason"][0]
    assert "are one acquisition" in outcomes["reason"][0]
