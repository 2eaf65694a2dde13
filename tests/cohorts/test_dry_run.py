"""A dry run names beforehand who would fail, or be left out of the group."""

import numpy as np
import pandas as pd
import pytest

from neuroextrap.cohorts import analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from tests.cohorts.seam import SampleOptions, event_samples, labels_of_samples

OPTIONS = {"samples": "lsa", "confounds": (), "report": False}


def analyze(derivatives, out, light=None, **options):
    light = IdentificationSearchLight(radius=4.0, bounds=None, **(light or {}))
    given = {**OPTIONS, **options}
    return analyze_participants(derivatives, out, analysis=light, **given)


def files_of(derivatives, label, ending):
    return sorted(derivatives.parents[1].glob(f"**/sub-{label}/func/*_{ending}"))


def test_everyone_is_looked_at(cohort, tmp_path, caplog):
    given = {"participants": ["01", "03", "05", "06", "07"], "dry_run": True}
    outcomes = analyze(cohort, tmp_path / "out", **given)
    reasons = outcomes.set_index("participant_id")["reason"]
    assert set(reasons.index[reasons != ""]) == {"sub-05"}
    assert "an event starts at 500 s, after the 128 s of imgs[1]" in reasons["sub-05"]
    assert "sub-03 has 3 runs, most have 4" in caplog.text
    text = "sub-06 is left out of the group: its conditions are chair dog face house, "
    assert f"{text}but most subjects have cat chair face house" in caplog.text
    real = analyze(cohort, tmp_path / "out", participants=["05"])
    assert real["reason"].tolist() == [reasons["sub-05"]]
    planned = outcomes[outcomes["status"] == "planned"]
    assert len(planned) == 4
    assert (planned["seconds"] > 0).all()


def test_no_data_are_read_but_of_the_first(pair, tmp_path):
    for path in files_of(pair, "02", "bold.nii.gz"):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    assert analyze(pair, tmp_path, dry_run=True)["reason"].tolist() == ["", ""]
    reason = analyze(pair, tmp_path / "out", participants=["02"])["reason"]
    assert "is truncated or corrupt" in reason[0]


def shorter(derivatives):
    """A table of confounds of fewer volumes."""
    path = files_of(derivatives, "02", "desc-confounds_timeseries.tsv")[1]
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-4]) + "\n")


def without_events(derivatives):
    """No events in one run."""
    files_of(derivatives, "02", "events.tsv")[2].unlink()


def one_run(derivatives):
    """One run only, so that none can be left out."""
    for path in files_of(derivatives, "02", "bold.nii.gz")[1:]:
        path.unlink()


def other_grid(derivatives):
    """One run on another grid than the masks."""
    import nibabel

    path = files_of(derivatives, "02", "bold.nii.gz")[3]
    img = nibabel.load(path)
    data, header = np.asarray(img.dataobj), img.header
    nibabel.Nifti1Image(data, np.diag([2.0, 2, 2, 1]), header).to_filename(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shorter, "has 60 rows for 64 volumes"),
        (without_events, "has no events in"),
        (one_run, "needs at least two groups (runs), got one"),
        (other_grid, "has another affine than mask"),
    ],
)
@pytest.mark.parametrize("samples", ["lsa", "blocks"])
def test_the_words_are_those_of_the_analysis(pair, tmp_path, damage, message, samples):
    damage(pair)
    given = {"participants": ["02"], "samples": samples}
    given |= {"delay": 4.0} if samples == "blocks" else {}
    given |= {"confounds": ["motion"]} if damage is shorter else {}
    reasons = [
        analyze(pair, tmp_path / "out", dry_run=dry, **given)["reason"][0]
        for dry in (True, False)
    ]
    assert reasons[0] == reasons[1]
    assert message in reasons[0]


def test_another_grid_is_seen_where_no_data_are_read(pair, tmp_path):
    other_grid(pair)
    dry = analyze(pair, tmp_path / "out", dry_run=True)
    real = analyze(pair, tmp_path / "out", participants=["02"])
    assert dry["reason"].tolist() == ["", real["reason"][0]]
    assert "has another affine than mask" in real["reason"][0]


def test_classes_that_a_participant_lacks_are_told(cohort, tmp_path):
    given = {"samples": "blocks", "delay": 4.0}
    light = {"classes": ["cat", "face"]}
    dry = given | {"participants": ["02", "06"], "dry_run": True}
    outcomes = analyze(cohort, tmp_path, light, **dry)
    real = analyze(cohort, tmp_path / "out", light, participants=["06"], **given)
    assert outcomes["reason"].tolist() == ["", real["reason"][0]]
    assert "cat" in real["reason"][0]


@pytest.mark.parametrize("samples", ["blocks", "volumes", "lsa", "lss"])
def test_labels_are_those_of_the_samples(pair, samples):
    imgs = [str(path) for path in files_of(pair, "01", "bold.nii.gz")]
    tables = [pd.read_csv(p, sep="\t") for p in files_of(pair, "01", "events.tsv")]
    tables[1].loc[3, "trial_type"] = "n/a"
    options = {"samples": samples, "exclude": "chair"}
    options["sample_mask"] = [np.delete(np.arange(64), np.arange(20, 31)), *[None] * 3]
    options = SampleOptions(**options)
    read = event_samples(imgs, tables, None, options)
    y, runs = labels_of_samples(imgs, tables, options)
    np.testing.assert_array_equal(y, read.y)
    np.testing.assert_array_equal(runs, read.runs)
    assert len(y) < {"blocks": 16, "volumes": 96, "lsa": 32, "lss": 32}[samples]
