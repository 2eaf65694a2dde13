"""``neuroextrap group`` from files to maps."""

import inspect
import json
import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import (
    group_information,
    group_permutation_test,
    prevalence_test,
    second_level_test,
    sign_flip_test,
)
from tests.cli.seam import _group_command, read_groups


@pytest.fixture
def subjects(tmp_path):
    """Files of eight subjects' maps and permuted maps, signal in one corner."""
    rng = np.random.default_rng(0)
    imgs, nulls = [], []
    for k in range(8):
        data = rng.normal(size=(4, 3, 2))
        data[0] += 4
        imgs.append(str(tmp_path / f"sub-{k}.nii.gz"))
        nibabel.save(nibabel.Nifti1Image(data, np.diag([3, 3, 3, 1])), imgs[-1])
        nulls.append(str(tmp_path / f"sub-{k}.npy"))
        np.save(nulls[-1], rng.normal(size=(30, 24)))
    return imgs, nulls


def test_sign_flips(subjects, tmp_path, capsys):
    imgs, _ = subjects
    out = tmp_path / "out"
    words = ["group", "--n-permutations", "200", "--baseline", "0.5", "--imgs", *imgs]
    assert main([*words, str(out)]) == 0
    printed = capsys.readouterr().out
    assert "8 subjects, 24 voxels" in printed
    expected = sign_flip_test(imgs, n_permutations=200, baseline=0.5)
    for name, img in expected.items():
        found = nibabel.load(out / f"{name}.nii.gz").get_fdata()
        np.testing.assert_array_equal(found, img.get_fdata())
    about = json.loads((out / "t.json").read_text())
    assert about["parameters"]["baseline"] == 0.5


def test_prevalence(subjects, tmp_path, capsys):
    imgs, nulls = subjects
    out = tmp_path / "out"
    words = ["group", "--imgs", *imgs, "--gamma", "0.3", "--null", *nulls, str(out)]
    assert main(words) == 0
    assert "in a majority of the population" in capsys.readouterr().out
    expected = prevalence_test(imgs, nulls, gamma=0.3)
    for name, img in expected.items():
        found = nibabel.load(out / f"{name}.nii.gz").get_fdata()
        np.testing.assert_array_equal(found, img.get_fdata())


def test_groups_are_matched_by_the_subject(subjects, tmp_path, capsys):
    imgs, _ = subjects
    out, table = tmp_path / "out", tmp_path / "participants.tsv"
    first = np.arange(8) % 2
    rows = [f"sub-{k}\t{first[k]}\t{1 - first[k]}" for k in (3, 1, 2, 0, 7, 6, 5, 4)]
    table.write_text("participant_id\ta\tb\n" + "\n".join(rows) + "\n")
    words = ["group", "--imgs", *imgs, "--design", str(table), "--contrast", "a - b"]
    words += ["--cluster-threshold", "0.05", "--tfce", "--step-down"]
    assert main([*words, "--n-permutations", "69", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "by TFCE" in printed
    design = pd.DataFrame({"a": first, "b": 1 - first})
    expected = second_level_test(
        imgs,
        design,
        contrast="a - b",
        n_permutations=69,
        cluster_threshold=0.05,
        tfce=True,
        step_down=True,
    )
    for name, img in expected.items():
        found = nibabel.load(out / f"{name}.nii.gz").get_fdata()
        np.testing.assert_array_equal(found, img.get_fdata())
        assert json.loads((out / f"{name}.json").read_text())["description"]


def test_pairs(subjects, tmp_path):
    imgs, _ = subjects
    out = tmp_path / "out"
    words = ["group", "--imgs", *imgs[:4], "--paired-imgs", *imgs[4:], "--two-sided"]
    with warnings.catch_warnings():  # few sign flips exist
        warnings.simplefilter("ignore", UserWarning)
        assert main([*words, str(out)]) == 0
        expected = second_level_test(imgs[:4], paired_imgs=imgs[4:], two_sided=True)
    found = nibabel.load(out / "effect.nii.gz").get_fdata()
    np.testing.assert_array_equal(found, expected["effect"].get_fdata())


def test_folders_of_analyses_give_information(tmp_path, capsys):
    rng = np.random.default_rng(1)
    y, runs = np.tile(np.arange(3), 20), np.repeat(np.arange(5), 12)
    affine, folders = np.diag([3.0, 3, 3, 1]), []
    mask = nibabel.Nifti1Image(np.ones((3, 2, 2), np.uint8), affine)
    for k in range(3):
        data = rng.normal(size=(3, 2, 2, 60)) + 2 * np.eye(3, 3)[y].T[:, None, None]
        light = IdentificationSearchLight(mask, radius=4.0)
        light.fit(nibabel.Nifti1Image(data, affine), y, groups=runs)
        folders.append(str(tmp_path / f"sub-{k}"))
        light.to_directory(folders[-1])
    out, same = tmp_path / "out", tmp_path / "same"
    assert main(["group", *folders, str(same), "--report", "--bg-img", "none"]) == 0
    text = (same / "report.html").read_text(encoding="utf-8")
    assert "the mean Bayes accuracy is above chance in" in text
    assert main(["group", "--subjects", *folders, str(out)]) == 0
    assert "exactly these subjects, all voxels at once: at least" in (
        capsys.readouterr().out
    )
    for name, img in group_information(folders).items():
        found = nibabel.load(out / f"{name}.nii.gz").get_fdata()
        np.testing.assert_array_equal(found, img.get_fdata())


def test_maps_of_different_analyses_are_not_mixed(subjects, tmp_path, capsys):
    imgs, _ = subjects
    for number, img in enumerate(imgs):
        about = {"description": "accuracy", "parameters": {"radius": 8.0}}
        about["parameters"]["radius"] += number == 5
        path = img.replace(".nii.gz", ".json")
        (tmp_path / path).write_text(json.dumps(about))
    words = ["group", "--imgs", *imgs, "--n-permutations", "50"]
    assert main([*words, str(tmp_path / "no")]) == 2
    line = capsys.readouterr().err
    assert "sub-0 and" in line
    assert "sub-5 differ in radius; analyze all subjects alike" in line
    assert not (tmp_path / "no").exists()
    assert main([*words, "--allow-mixed", str(tmp_path / "out")]) == 0


def test_voxels_of_some_subjects(subjects, tmp_path):
    imgs, _ = subjects
    img = nibabel.load(imgs[2])
    data = img.get_fdata()
    data[3, 2, 1] = np.nan
    nibabel.save(nibabel.Nifti1Image(data, img.affine), imgs[2])
    words = ["group", "--imgs", *imgs, "--n-permutations", "50"]
    for options, n in (([], 23), (["--min-subjects", "6"], 24)):
        out = tmp_path / f"out_{n}"
        assert main([*words, *options, str(out)]) == 0
        p = nibabel.load(out / "p_value_fwe.nii.gz").get_fdata()
        assert np.isfinite(p).sum() == n
    counts = nibabel.load(out / "n_subjects.nii.gz").get_fdata()
    assert counts[3, 2, 1] == 7


def test_the_mean_against_permuted_maps(subjects, tmp_path, capsys):
    imgs, nulls = subjects
    out = tmp_path / "out"
    words = ["group", "--imgs", *imgs, "--null", *nulls, "--test", "mean"]
    options = ["--cluster-threshold", "0.01", "--n-permutations", "500"]
    assert main([*words, *options, str(out)]) == 0
    assert "by cluster extent" in capsys.readouterr().out
    expected = group_permutation_test(
        imgs, nulls, cluster_threshold=0.01, n_permutations=500
    )
    for name, img in expected.items():
        found = nibabel.load(out / f"{name}.nii.gz").get_fdata()
        np.testing.assert_array_equal(found, img.get_fdata())
    assert main([*words, *options, "--dry-run", str(tmp_path / "no")]) == 0
    assert "8 subjects, 24 voxels, 500 permutations" in capsys.readouterr().out


def test_a_report_with_an_atlas(subjects, tmp_path, capsys):
    imgs, _ = subjects
    out, labels = tmp_path / "out", np.ones((4, 3, 2), "uint8")
    labels[2:] = 7
    atlas, table = tmp_path / "atlas.nii.gz", tmp_path / "atlas.tsv"
    nibabel.save(nibabel.Nifti1Image(labels, np.diag([3, 3, 3, 1])), atlas)
    table.write_text("index\tname\n1\tfront\n7\tback\n")
    words = ["group", "--imgs", *imgs, "--n-permutations", "200", "--report"]
    words += ["--atlas", str(atlas), "--bg-img", "none", "--title", "Of eight"]
    assert main([*words, str(out)]) == 0
    assert f"open {out}/report.html" in capsys.readouterr().out
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "<title>Of eight</title>" in text
    n = int((nibabel.load(out / "p_value_fwe.nii.gz").get_fdata() <= 0.05).sum())
    assert n > 0
    assert f"the mean is above 0 in {n} of 24 voxels" in text
    assert "front" in text
    assert main([*words, str(out)]) == 2  # the folder is not empty


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a\n1\n2\n", "imgs hold 8 subjects; give one row per subject"),
        (
            "participant_id\ta\nsub-0\t1\nsub-0\t2\n",
            "there are 8 and 2; only in imgs: 1, 2, 3",
        ),
        ("participant_id\ta\nsub-0\t1\n", "there are 8 and 1; only in imgs: 1, 2, 3"),
        ("a\n" + "x\n" * 8, "number"),
    ],
)
def test_a_design_that_does_not_fit_is_one_line(
    subjects, tmp_path, capsys, table, message
):
    imgs, _ = subjects
    path, out = tmp_path / "design.tsv", tmp_path / "out"
    path.write_text(table)
    words = ["group", "--imgs", *imgs, "--design", str(path), "--contrast", "a"]
    assert main([*words, str(out)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--null", "x.npy", "y.npy", "--tfce"],
            "--null excludes --tfce: maps are compared",
        ),
        (["--subjects", "x", "y"], "one of them"),
        (["--min-subjects", "9"], "min_subjects=9 is more than the 8 subjects"),
        (["--gamma", "0.4"], "--gamma needs --null"),
        (["--test", "mean"], "--test needs --null"),
        (["--atlas", "x.nii"], "--atlas needs --report: it is for the report"),
        (["--bg-img", "mni152"], "--bg-img needs --report: it is drawn"),
        (
            ["--null", "x.npy", "y.npy", "--test", "mean", "--gamma", "0.3"],
            "--test mean excludes --gamma: they are of",
        ),
        (["--null", "x.npy", "y.npy", "--two-sided"], "--null excludes --two-sided"),
        (["--mask", "nowhere.nii"], "no file nowhere.nii"),
        (["--n-permutations", "0"], "--n-permutations 0 must be"),
    ],
)
def test_bad_input_is_one_line(subjects, tmp_path, capsys, extra, message):
    imgs, _ = subjects
    out = tmp_path / "out"
    assert main(["group", str(out), "--imgs", *imgs, *extra]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]
    assert not out.exists()


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (second_level_test, ["--tfce"]),
        (prevalence_test, ["--null"]),
        (group_permutation_test, ["--test", "mean", "--null"]),
        (group_information, ["--subjects", "one", "two"]),
    ],
)
def test_what_a_test_does_not_take_is_refused(test, words, subjects, tmp_path, capsys):
    """Every option is one of the test's function, or a rule or an error names it."""
    imgs, nulls = subjects
    more = nulls if "--null" in words else []
    more = [*more, *([] if "--subjects" in words else ["--imgs", *imgs])]
    groups = read_groups(_group_command.COMMAND.options)
    options = groups["test"] | groups["pairs, designs and clusters"]
    taken = {"design" if name == "design_matrix" else name for name in options_of(test)}
    for name in options.keys() - taken - {"test", "dry_run"}:
        option = f"--{name.replace('_', '-')}"
        value = {bool: [], float: ["0.5"], int: ["9"]}.get(options[name].kind, ["x"])
        asked = ["group", str(tmp_path / "out"), *words, *more, option, *value]
        assert main(asked) == 2, option
        said = capsys.readouterr().err
        assert option in said
        assert "excludes" in said or "needs" in said


def options_of(function):
    return inspect.signature(function).parameters


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        main(["group", "--help-all"])
    assert "examples:" in capsys.readouterr().out
