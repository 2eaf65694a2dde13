"""BIDS inputs give BIDS derivatives, for every command, unless told otherwise."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.maps import read_maps
from tests.cli.seam import file_entities

SHAPE, AFFINE = (5, 5, 4), np.diag([3.0, 3.0, 3.0, 1.0])


def save(data, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(data.astype(np.float32), AFFINE), path)
    return str(path)


def experiment(folder, start, *, n_runs=3, end="space-T1w_desc-preproc_bold", seed=0):
    """Images and events of some runs; returns the words that name them."""
    rng = np.random.default_rng(seed)
    patterns, names = rng.normal(size=(3, *SHAPE)), np.array(["face", "cat", "chair"])
    imgs, events = [], []
    for run in range(1, n_runs + 1):
        order = rng.permutation(3).repeat(2)
        series = patterns[order] + rng.normal(size=(6, *SHAPE))
        path = folder / f"{start}_run-{run}_{end}.nii.gz"
        imgs.append(save(np.moveaxis(series, 0, -1), path))
        table = pd.DataFrame({"onset": 2.0 * np.arange(6), "duration": 2.0})
        table["trial_type"] = names[order]
        events.append(str(folder / f"{start}_run-{run}_events.tsv"))
        table.to_csv(events[-1], sep="\t", index=False)
    return ["--imgs", *imgs, "--events", *events]


@pytest.fixture
def mask(tmp_path):
    return save(np.ones(SHAPE), tmp_path / "mask.nii.gz")


@pytest.fixture
def searchlight(mask):
    """Return a function that runs the command."""

    def run(inputs, out, *more):
        options = ["--t-r", "2", "--mask", mask, "--radius", "5", "--quiet", *more]
        return main(["searchlight", *options, *inputs, str(out)])

    return run


def names(folder):
    about = {".bidsignore", "README"}  # of every data set
    return sorted({path.name for path in folder.iterdir()} - about)


def test_runs_of_a_subject(searchlight, tmp_path, capsys):
    inputs = experiment(tmp_path / "raw", "sub-01_task-x")
    out = tmp_path / "out"
    assert searchlight(inputs, out, "--report") == 0
    start = "sub-01_task-x_space-T1w_desc-"
    found = names(out / "sub-01" / "func")
    assert all(name.startswith(start) and file_entities(name) for name in found)
    assert names(out) == ["dataset_description.json", "sub-01"]
    ends = {name.removeprefix(start) for name in found}
    assert ends >= {
        "impliedinformation_stat.nii.gz",
        "impliedinformation_stat.json",
        "bayesaccuracyboundfwe_stat.nii.gz",
        "peaks_stat.tsv",
        "report_stat.html",
        "results_stat.npz",
        "analysis_stat.json",
        "maps_stat.json",
    }
    assert f"open {out}/sub-01/func/{start}report_stat.html" in capsys.readouterr().out
    plain = tmp_path / "plain"
    assert searchlight(inputs, plain, "--no-bids") == 0
    assert {"accuracy.nii.gz", "maps.json", "results.npz"} <= set(names(plain))
    again = IdentificationSearchLight.from_directory(out)
    twin = IdentificationSearchLight.from_directory(plain)
    np.testing.assert_array_equal(again.wins_, twin.wins_)
    for name, img in read_maps(plain).items():
        np.testing.assert_array_equal(
            read_maps(out)[name].get_fdata(), img.get_fdata(), err_msg=name
        )


def test_sessions_that_differ_are_left_out_of_the_name(searchlight, tmp_path):
    parts = [
        experiment(tmp_path / f"ses-{s}", f"sub-01_ses-{s}_task-x", seed=s)
        for s in (1, 2)
    ]
    half = len(parts[0]) // 2
    both = [
        *parts[0][:half],
        *parts[1][1:half],
        *parts[0][half:],
        *parts[1][half + 1 :],
    ]
    assert searchlight(both, tmp_path / "out") == 0
    assert searchlight(parts[1], tmp_path / "out") == 0
    assert names(tmp_path / "out" / "sub-01") == ["func", "ses-2"]
    joint = names(tmp_path / "out" / "sub-01" / "func")
    assert joint[0].startswith("sub-01_task-x_space-T1w_desc-")
    one = names(tmp_path / "out" / "sub-01" / "ses-2" / "func")
    assert one[0].startswith("sub-01_ses-2_task-x_space-T1w_desc-")
    with pytest.raises(ValueError, match="holds 2 analyses"):
        IdentificationSearchLight.from_directory(tmp_path / "out")


def test_the_same_names_are_not_written_twice(searchlight, tmp_path, capsys):
    inputs = experiment(tmp_path, "sub-01_task-x")
    assert searchlight(inputs, tmp_path / "out") == 0
    capsys.readouterr()
    assert searchlight(inputs, tmp_path / "out") == 2
    line = capsys.readouterr().err
    assert "already holds sub-01_task-x_space-T1w_desc-accuracy_stat.json" in line
    assert searchlight(inputs, tmp_path / "out", "--overwrite") == 0
    other = experiment(tmp_path, "sub-02_task-x")
    assert searchlight(other, tmp_path / "out") == 0
    assert names(tmp_path / "out") == ["dataset_description.json", "sub-01", "sub-02"]


def test_into_the_raw_data_nothing_is_written(searchlight, tmp_path, capsys):
    inputs = experiment(tmp_path / "raw" / "sub-01" / "func", "sub-01_task-x")
    about = {"Name": "Objects", "BIDSVersion": "1.8.0", "DatasetDOI": "doi:10.1/x"}
    (tmp_path / "raw" / "dataset_description.json").write_text(json.dumps(about))
    assert searchlight(inputs, tmp_path / "raw") == 2
    assert "'Objects', not made by neuroextrap" in capsys.readouterr().err
    out = tmp_path / "raw" / "derivatives" / "neuroextrap"
    assert searchlight(inputs, out) == 0
    found = json.loads((out / "dataset_description.json").read_text())
    assert found["SourceDatasets"] == [{"DOI": "doi:10.1/x"}]


def test_other_names_stay_plain_unless_that_is_refused(searchlight, tmp_path, capsys):
    inputs = experiment(tmp_path, "subject1")
    assert searchlight(inputs, tmp_path / "out", "--bids") == 2
    line = capsys.readouterr().err
    assert "subject1_run-1_space-T1w_desc-preproc_bold.nii.gz has no BIDS name" in line
    assert not (tmp_path / "out").exists()
    assert searchlight(inputs, tmp_path / "out") == 0
    assert "accuracy.nii.gz" in names(tmp_path / "out")


def test_shards_are_merged_under_their_name(searchlight, tmp_path, capsys):
    inputs = experiment(tmp_path, "sub-01_task-x")
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert searchlight(inputs, part, "--shard", f"{i}/2") == 0
    words = ["merge", "--quiet", *map(str, parts)]
    assert main([*words, str(tmp_path / "out")]) == 0
    assert main([*words, str(tmp_path / "plain"), "--no-bids"]) == 0
    whole = read_maps(tmp_path / "out" / "sub-01" / "func")["accuracy"].get_fdata()
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(
        whole, read_maps(tmp_path / "plain")["accuracy"].get_fdata()
    )
    [index] = parts[0].rglob("*analysis_stat.json")
    words[2] = str(index)
    assert main([*words, str(tmp_path / "again")]) == 0
    assert searchlight(inputs, tmp_path / "p2", "--shard", "2/2", "--no-bids") == 0
    mixed = ["merge", str(parts[0]), str(tmp_path / "p2"), str(tmp_path / "mixed")]
    assert main([*mixed, "--bids"]) == 2
    assert "no BIDS names, or different ones" in capsys.readouterr().err
    assert main([*mixed, "--quiet"]) == 0
    assert "accuracy.nii.gz" in names(tmp_path / "mixed")


def test_group_maps_say_of_what_they_are(searchlight, tmp_path):
    out = tmp_path / "out"
    for subject in range(5):
        inputs = experiment(tmp_path, f"sub-{subject}_task-x", seed=subject)
        assert searchlight(inputs, out) == 0
    words = ["group", "--quiet", "--n-permutations", "20"]
    for what in ("accuracy", "impliedinformation"):
        imgs = sorted(map(str, out.rglob(f"*desc-{what}_stat.nii.gz")))
        assert len(imgs) == 5
        assert main([*words, "--imgs", *imgs, str(out)]) == 2  # the subjects' own space
        options = [*words, "--allow-native-space"]
        assert main([*options, "--imgs", *imgs, str(out)]) == 0
    start = "task-x_space-T1w_desc-"
    found = names(out / "group")
    assert f"{start}accuracyPvaluefwe_stat.nii.gz" in found
    assert f"{start}impliedinformationMean_stat.json" in found
    maps = read_maps(out / "group" / f"{start}accuracyMaps_stat.json")
    assert {"mean", "t", "p_value", "p_value_fwe"} <= maps.keys()


def test_encoding_and_learning_curves(mask, tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 3))
    data = np.einsum("nf,f...->...n", features, rng.normal(size=(3, *SHAPE)))
    betas = save(
        data + rng.normal(size=data.shape), tmp_path / "sub-1_task-y_betas.nii"
    )
    table = pd.DataFrame(features, columns=["a", "b", "c"])
    table.insert(0, "set", ["train"] * 30 + ["test"] * 10)
    table.to_csv(tmp_path / "stimuli.tsv", sep="\t", index=False)
    words = ["encoding", "--imgs", betas, "--stimuli", str(tmp_path / "stimuli.tsv")]
    options = ["--mask", mask, "--encoder", "ridge", "--radius", "5", "--quiet"]
    assert main([*words, *options, str(tmp_path / "out")]) == 0
    found = names(tmp_path / "out" / "sub-1" / "func")
    assert "sub-1_task-y_desc-analysis_stat.json" in found
    scans = pd.DataFrame({"trial_type": ["a", "b"] * 12, "subject": np.arange(24) // 4})
    scans.to_csv(tmp_path / "scans.tsv", sep="\t", index=False)
    imgs = [
        save(rng.normal(size=(*SHAPE, 4)), tmp_path / f"sub-{k}_task-z_con.nii.gz")
        for k in range(6)
    ]
    words = ["learning-curve", "--imgs", *imgs, "--scans", str(tmp_path / "scans.tsv")]
    options = ["--mask", mask, "--n-splits", "3", "--train-sizes", "2", "3", "4"]
    out = ["--quiet", str(tmp_path / "out")]
    assert main([*words, *options, *out]) == 0
    found = names(tmp_path / "out" / "group")
    for name in ("learningcurve_stat.tsv", "sensitivitytrialtype_stat.nii.gz"):
        assert f"task-z_desc-{name}" in found
