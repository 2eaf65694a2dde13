"""What the command line reads: events as text, matched files, checked times."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main

AFFINE = np.diag([3.0, 3, 3, 1])
CONDITIONS = ["NA", "None", "01", "1"]


@pytest.fixture
def dataset(tmp_path):
    """Four runs of one subject under BIDS names, repetition time 2 s in headers."""
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(4, 4, 3, 2)) * 2
    for run in range(1, 5):
        data = 100 + rng.normal(size=(4, 3, 2, 40))
        order = rng.permutation(4)
        for place, k in enumerate(order):
            data[..., 10 * place + 1 : 10 * place + 6] += patterns[k][..., None]
        img = nibabel.Nifti1Image(data.astype("float32"), AFFINE)
        img.header["pixdim"][4] = 2
        img.header.set_xyzt_units("mm", "sec")
        name = tmp_path / f"sub-01_task-x_run-{run}"
        img.to_filename(f"{name}_bold.nii.gz")
        table = pd.DataFrame(
            {
                "onset": [20.0 * place + 2 for place in range(4)],
                "duration": 10,
                "trial_type": [CONDITIONS[k] for k in order],
            }
        )
        table.to_csv(f"{name}_events.tsv", sep="\t", index=False)
    mask = nibabel.Nifti1Image(np.ones((4, 3, 2), "int8"), AFFINE)
    mask.to_filename(tmp_path / "mask.nii.gz")
    return tmp_path


def _files(folder, suffix, order=(1, 2, 3, 4)):
    return [str(folder / f"sub-01_task-x_run-{run}_{suffix}") for run in order]


def _run(folder, *words, events=None, out="out"):
    events = _files(folder, "events.tsv") if events is None else events
    imgs = ["--imgs", *_files(folder, "bold.nii.gz"), "--events", *events]
    given = ["--mask", str(folder / "mask.nii.gz"), "--radius", "6", *words]
    return main(["searchlight", *given, *imgs, str(folder / out)])


def _error(capsys):
    lines = capsys.readouterr().err.splitlines()
    (line,) = [line for line in lines if line.startswith("error: ")]
    return line


def _index(folder, out="out"):
    (path,) = (folder / out).rglob("*desc-analysis_stat.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _accuracy(folder, out):
    (path,) = (folder / out).rglob("*desc-accuracy_stat.nii.gz")
    return nibabel.load(path).get_fdata()


def test_conditions_are_text_and_the_header_tells_the_time(dataset):
    assert _run(dataset, "--quiet") == 0
    assert _index(dataset)["classes"] == sorted(CONDITIONS)


def test_classes_are_compared_as_text(dataset, capsys):
    assert _run(dataset, "--quiet", "--classes", "01", "NA") == 0
    assert _index(dataset)["classes"] == ["01", "NA"]
    assert _run(dataset, "--quiet", "--classes", "1.0", "NA", out="other") == 2
    assert "1.0" in _error(capsys)


def test_the_order_of_events_does_not_matter(dataset):
    backwards = _files(dataset, "events.tsv", (4, 2, 1, 3))
    assert _run(dataset, "--quiet") == 0
    assert _run(dataset, "--quiet", events=backwards, out="again") == 0
    np.testing.assert_array_equal(
        _accuracy(dataset, "out"), _accuracy(dataset, "again")
    )


def test_events_of_another_subject_are_refused(dataset, capsys):
    others = []
    for path in _files(dataset, "events.tsv"):
        others.append(path.replace("sub-01", "sub-02"))
        with open(path, encoding="utf-8") as source:
            text = source.read()
        with open(others[-1], "w", encoding="utf-8") as copy:
            copy.write(text)
    assert _run(dataset, events=others) == 2
    line = _error(capsys)
    assert "sub-01_task-x_run-1_bold.nii.gz" in line
    assert "sub-02_task-x_run-1_events.tsv" in line
    assert "disagree in sub: 01 and 02" in line


def test_another_repetition_time_is_refused_unless_meant(dataset, capsys):
    assert _run(dataset, "--t-r", "1") == 2
    line = _error(capsys)
    assert "t_r says 1 s, its header says 2 s" in line
    assert "--no-check-t-r" in line
    words = ("--quiet", "--t-r", "1.9", "--no-check-t-r")
    assert _run(dataset, *words) == 0
    assert _run(dataset, "--no-check-t-r") == 2
    assert "needs --t-r" in _error(capsys)


@pytest.mark.parametrize("model", ["lsa", "lss"])
def test_betas_take_the_time_from_the_header(dataset, model):
    assert _run(dataset, "--quiet", "--samples", model) == 0


@pytest.mark.parametrize(
    ("bg_img", "says", "glass"),
    [("mni152", 0, True), ("none", 0, False), (None, 1, False)],
)
def test_what_lies_under_the_report(dataset, bg_img, says, glass):
    words = [] if bg_img is None else ["--bg-img", bg_img]
    assert _run(dataset, "--quiet", "--report", *words) == 0
    (page,) = (dataset / "out").rglob("*.html")
    text = page.read_text(encoding="utf-8")
    assert text.count("not on the MNI template") == says
    assert ('<img src="data:image/png' in text.partition("nx-glass")[2][:2000]) is glass


def test_bad_backgrounds_are_refused_before_any_work(dataset, capsys):
    assert _run(dataset, "--bg-img", "none") == 2
    assert "needs --report" in _error(capsys)
    assert _run(dataset, "--report", "--bg-img", "nowhere.nii.gz") == 2
    assert "--bg-img: no file nowhere.nii.gz" in _error(capsys)
    series = _files(dataset, "bold.nii.gz")[0]
    assert _run(dataset, "--report", "--bg-img", series) == 2
    assert "must be one volume, got 40" in _error(capsys)
    assert not (dataset / "out").exists()


def test_maps_in_mni_space_say_so(dataset):
    renamed = []
    for path in _files(dataset, "bold.nii.gz"):
        new = path.replace("_bold", "_space-MNI152NLin6Asym_bold")
        nibabel.load(path).to_filename(new)
        renamed.append(new)
    words = ["--mask", str(dataset / "mask.nii.gz"), "--radius", "6", "--quiet"]
    words += ["--imgs", *renamed, "--events", *_files(dataset, "events.tsv")]
    assert main(["searchlight", *words, str(dataset / "out")]) == 0
    (path,) = (dataset / "out").rglob("*desc-accuracy_stat.nii.gz")
    assert nibabel.load(path).header["sform_code"] == 4
    assert "space-MNI152NLin6Asym" in path.name


def _scans(tmp_path, labels):
    """An array of scans of six subjects and its table."""
    rng = np.random.default_rng(0)
    rows = [(s, label) for s in range(6) for label in labels]
    patterns = 5 * rng.normal(size=(len(labels), 12))
    X = rng.normal(size=(len(rows), 12)) + np.tile(patterns, (6, 1))
    np.save(tmp_path / "X.npy", X)
    text = "subject\tcondition\n" + "".join(f"{s}\t{label}\n" for s, label in rows)
    (tmp_path / "scans.tsv").write_text(text, encoding="utf-8")
    words = ["--array", str(tmp_path / "X.npy"), "--scans", str(tmp_path / "scans.tsv")]
    words += ["--labels", "condition", "--train-sizes", "3", "--pattern", "none"]
    return ["learning-curve", *words, "--n-splits", "2", str(tmp_path / "o")]


def test_learning_curves_leave_unlabeled_scans_out(tmp_path, capsys):
    assert main(_scans(tmp_path, ["NA", "None", "n/a"])) == 0
    said = capsys.readouterr().err
    assert "6 of 18 rows" in said
    table = pd.read_csv(
        tmp_path / "o" / "confusion.tsv", sep="\t", keep_default_na=False
    )
    assert set(table["true"]) == {"NA", "None"}


def test_learning_curves_refuse_damaged_tables(tmp_path, capsys):
    words = _scans(tmp_path, ["a", "b"])
    path = tmp_path / "scans.tsv"
    text = path.read_text(encoding="utf-8")
    for damaged, message in (
        (text.replace("subject\tcondition", "condition\tcondition"), "more than one"),
        (text.replace("a\n", "a\0\n", 1), "NUL byte"),
        (text.replace("a\n", "a \n", 1), "begins or ends with a blank"),
        (text + "7\n", "has 1 entries for 2 columns"),
    ):
        path.write_text(damaged, encoding="utf-8")
        assert main(words) == 2
        assert message in _error(capsys)


def test_stimuli_of_encoding_are_text(tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 60
    names = [f"{i:02d}" for i in range(20)] * 3
    features = rng.normal(size=(20, 3))[[int(x) for x in names]]
    responses = features @ rng.normal(size=(3, 6)) + rng.normal(size=(n, 6))
    np.save(tmp_path / "Y.npy", responses)
    table = pd.DataFrame(features, columns=list("abc"))
    table.insert(0, "stimulus", names)
    table.insert(0, "set", ["test" if int(x) >= 15 else "train" for x in names])
    path = tmp_path / "volumes.tsv"
    words = ["encoding", "--encoder", "ridge", "--imgs", str(tmp_path / "Y.npy")]
    words += ["--stimuli", str(path), "--min-voxels", "1"]
    table.to_csv(path, sep="\t", index=False)
    assert main([*words, "--quiet", str(tmp_path / "out")]) == 0
    for column, value, message in (
        ("stimulus", "n/a", "column stimulus has no entry in row 1"),
        ("b", "n/a", "column b has 'n/a' in row 1"),
        ("set", "Train", "column 'set' must hold train and test"),
    ):
        bad = table.astype(object).copy()
        bad.loc[0, column] = value
        bad.to_csv(path, sep="\t", index=False)
        assert main([*words, "--quiet", str(tmp_path / "bad")]) == 2
        assert message in _error(capsys)


def test_an_atlas_names_peaks_on_the_page_and_in_the_table(dataset):
    labels = np.ones((4, 3, 2), "int16")
    atlas = dataset / "atlas.nii.gz"
    nibabel.Nifti1Image(labels, AFFINE).to_filename(atlas)
    (dataset / "atlas.tsv").write_text("index\tname\n1\tV1 & <around>\n")
    assert _run(dataset, "--quiet", "--report", "--atlas", str(atlas)) == 0
    (page,) = (dataset / "out").rglob("*.html")
    assert "V1 &amp; &lt;around&gt;" in page.read_text(encoding="utf-8")
    (peaks,) = (dataset / "out").rglob("*peaks*.tsv")
    assert pd.read_csv(peaks, sep="\t")["atlas_label"].iloc[0] == "V1 & <around>"


def test_bad_atlases_are_refused_before_any_work(dataset, capsys):
    assert _run(dataset, "--atlas", "nowhere.nii.gz") == 2
    assert "no file nowhere.nii.gz" in _error(capsys)
    atlas = dataset / "atlas.nii.gz"
    nibabel.Nifti1Image(np.ones((4, 3, 2), "int16"), AFFINE).to_filename(atlas)
    (dataset / "atlas.tsv").write_text("index\tname\n2\tV2\n")
    assert _run(dataset, "--atlas", str(atlas)) == 2
    assert "without a name, [1]" in _error(capsys)
    assert _run(dataset, "--atlas", str(atlas), "--labels-img", str(atlas)) == 2
    assert "--labels-img has regions instead" in _error(capsys)
    assert not (dataset / "out").exists()
