"""``neuroextrap learning-curve`` from images and arrays."""

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    sensitivity_map,
    simulate_hierarchical_scans,
)
from tests.learning_curves.seam import center_groups


@pytest.fixture
def scans(tmp_path):
    """Scans of six subjects as images, as an array, and their table."""
    data = simulate_hierarchical_scans(n_subjects=6, n_features=60, random_state=0)
    paths = []
    for group in range(6):
        volume = data.X[data.groups == group].T.reshape(3, 4, 5, 4)
        paths.append(str(tmp_path / f"sub-{group}.nii.gz"))
        nibabel.Nifti1Image(volume, np.eye(4)).to_filename(paths[-1])
    mask = nibabel.Nifti1Image(np.ones((3, 4, 5), dtype="u1"), np.eye(4))
    mask.to_filename(tmp_path / "mask.nii.gz")
    np.save(tmp_path / "X.npy", data.X)
    table = pd.DataFrame({"trial_type": data.coarse, "subject": data.groups})
    table.to_csv(tmp_path / "scans.tsv", sep="\t", index=False)
    return data, paths, tmp_path


def test_images_in_tables_figure_and_maps_out(scans, capsys):
    data, paths, folder = scans
    words = ["learning-curve", "--imgs", *paths, "--scans", str(folder / "scans.tsv")]
    words += ["--mask", str(folder / "mask.nii.gz"), "--n-splits", "5", "--quiet"]
    words += ["--report"]
    words += ["--labels", "trial_type", "agnostic", "--n-components", "3"]
    assert main([*words, "--", str(folder / "out")]) == 0
    out = folder / "out"
    table = pd.read_csv(out / "learning_curve.tsv", sep="\t")
    assert table.scheme.tolist() == ["trial_type"] * 3 + ["agnostic"] * 3
    twin = information_learning_curve(
        data.X,
        data.coarse,
        data.groups,
        classifier=CanonicalVariates(3),
        n_splits=5,
    )
    np.testing.assert_allclose(table.information[:3], twin.information.mean(axis=1))
    assert len(pd.read_csv(out / "confusion.tsv", sep="\t")) == 3 * (4 + 16)
    assert "bits about its label" in (out / "report.html").read_text("utf-8")
    X = center_groups(data.X, data.groups)
    model = CanonicalVariates(3).fit(X, data.coarse)
    written = nibabel.load(out / "sensitivity_trial_type.nii.gz").get_fdata()
    np.testing.assert_allclose(
        written.ravel(), sensitivity_map(model, X, data.coarse), rtol=1e-5
    )
    printed = capsys.readouterr().out
    assert "about its label (“trial_type”), of at most 1.00." in printed
    assert "about its label (“agnostic”)" in printed
    assert "of at most 2.00." in printed


def test_array_in(scans, capsys):
    _, _, folder = scans
    words = ["learning-curve", "--array", str(folder / "X.npy"), "--scans"]
    words += [str(folder / "scans.tsv"), "--train-sizes", "2", "4", "--n-splits", "3"]
    words += ["--pattern", "none", "--quiet", str(folder / "out")]
    assert main(words) == 0
    assert not list((folder / "out").glob("*.nii.gz"))
    assert "learning_curve.tsv" in capsys.readouterr().out
    assert main(words) == 2
    assert "not empty" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--labels", "stimulus"],
            "has no column stimulus; it has trial_type, subject",
        ),
        (["--groups", "run"], "has no column run"),
        (["--exclude", "A"], "y must hold at least 2 labels, got one, 'B'"),
        (["--train-sizes", "9"], "must be whole numbers between 1 and 5"),
        (
            ["--prior-weight", "much"],
            "prior_weight='much' must be a number between 0 and 1",
        ),
        (["--array", "missing.npy"], "missing.npy: No such file"),
    ],
)
def test_bad_input_is_one_line_and_code_2(scans, capsys, extra, message):
    _, _, folder = scans
    words = ["learning-curve", "--array", str(folder / "X.npy"), "--scans"]
    words += [str(folder / "scans.tsv"), *extra, "--n-splits", "2", str(folder / "out")]
    assert main(words) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (folder / "out").exists()


def test_rows_must_match_scans(scans, capsys):
    _, paths, folder = scans
    words = ["learning-curve", "--scans", str(folder / "scans.tsv"), "--imgs"]
    assert (
        main(
            [
                *words,
                *paths[:2],
                "--mask",
                str(folder / "mask.nii.gz"),
                "--",
                str(folder / "out"),
            ]
        )
        == 2
    )
    assert "24 rows, but there are 8 scans" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("signal", "said"),
    [
        (0.0, "does not exceed 0 by two"),
        (20.0, "has reached the entropy of the labels"),
    ],
)
def test_noise_and_the_ceiling_are_named(scans, capsys, signal, said):
    data, _, folder = scans
    noise = np.random.default_rng(0).normal(size=data.X.shape)
    noise[:, :2] += signal * np.eye(2)[np.unique(data.coarse, return_inverse=True)[1]]
    np.save(folder / "X.npy", noise)
    words = ["learning-curve", "--array", str(folder / "X.npy"), "--n-splits", "5"]
    words += ["--scans", str(folder / "scans.tsv"), "--labels", "trial_type"]
    words += ["--pattern", "none", "--quiet"]
    assert main([*words, "--", str(folder / "out")]) == 0
    assert said in capsys.readouterr().out
