"""``neuroextrap group`` from files to maps."""

import json

import nibabel
import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.group import prevalence_test, sign_flip_test


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


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--gamma", "0.4"], "--gamma needs --null"),
        (["--null", "x.npy", "y.npy", "--two-sided"], "--two-sided does not go with"),
        (["--mask", "nowhere.nii"], "no file nowhere.nii"),
        (["--n-permutations", "0"], "n_permutations=0 must be"),
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


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        main(["group", "--help"])
    assert "examples:" in capsys.readouterr().out
