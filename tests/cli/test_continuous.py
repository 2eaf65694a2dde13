"""``neuroextrap continuous``: from a table of runs to maps, tables and a page."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.encoding import ContinuousEncoding

SHAPE = (4, 3, 2)


@pytest.fixture
def runs(tmp_path):
    """A film that is shown once in training, and twice in the test, with its files."""
    rng = np.random.default_rng(0)
    weights, rows = rng.normal(size=(3, 24)), []
    weights[:, 12:] = 0
    shown = [rng.normal(size=(n, 3)) for n in (70, 60, 50)]
    for number, film in enumerate([0, 1, 2, 2]):
        X = shown[film]
        Y = rng.normal(size=(len(X), 24)) + 50
        Y[2:] += X[:-2] @ weights
        img = nibabel.Nifti1Image(Y.T.reshape(*SHAPE, -1), np.diag([3, 3, 3, 1]))
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = 2.0
        nibabel.save(img, tmp_path / f"run{number}.nii.gz")
        np.save(tmp_path / f"run{number}.npy", Y)
        np.save(tmp_path / f"motion{number}.npy", X[:, :2])
        pd.DataFrame({"onset": 2.0 * np.arange(len(X)), "rate": X[:, 2]}).to_csv(
            tmp_path / f"words{number}.tsv", sep="\t", index=False
        )
        rows.append(
            {
                "set": "test" if film == 2 else "train",
                "imgs": f"run{number}.nii.gz",
                "motion": f"motion{number}.npy",
                "words": f"words{number}.tsv",
            }
        )
    mask = nibabel.Nifti1Image(np.ones(SHAPE, np.int8), np.diag([3, 3, 3, 1]))
    nibabel.save(mask, tmp_path / "mask.nii.gz")
    table = pd.DataFrame(rows)
    table.to_csv(tmp_path / "runs.tsv", sep="\t", index=False)
    return table, tmp_path


def words_of(folder, table="runs.tsv", out="out"):
    return ["continuous", str(folder / table), str(folder / out), "--quiet"]


@pytest.mark.filterwarnings("ignore:only 5 other shifts")
def test_a_table_gives_maps_tables_and_a_page(runs, capsys):
    _, folder = runs
    words = [*words_of(folder), "--mask", str(folder / "mask.nii.gz"), "--delays"]
    words += ["1", "2", "3", "--n-permutations", "49", "--segments", "16", "--report"]
    assert main(words) == 0
    assert "highest correlation of 24 voxels (mm):" in capsys.readouterr().out
    names = [f"{name}{number}" for name in ("run",) for number in range(4)]
    features = [
        {"motion": f"motion{i}.npy", "words": f"words{i}.tsv"} for i in range(4)
    ]
    paths = [
        {band: str(folder / file) for band, file in run.items()} for run in features
    ]
    imgs = [str(folder / f"{name}.nii.gz") for name in names]
    model = ContinuousEncoding(
        str(folder / "mask.nii.gz"), delays=(1, 2, 3), n_permutations=49
    ).fit(paths[:2], imgs[:2])
    expected = model.partition(paths[2:], imgs[2:])
    expected.update(model.score(paths[2:], imgs[2:]))
    for name, img in expected.items():
        written = nibabel.load(folder / "out" / f"{name}.nii.gz").get_fdata()
        np.testing.assert_allclose(written, img.get_fdata(), atol=1e-6)
    assert (folder / "out" / "segment_pairwise_accuracy.nii.gz").exists()
    sidecar = json.loads(
        (folder / "out" / "p_value_fwe_unique_of_words.json").read_text()
    )
    assert "what words adds to the other bands" in sidecar["description"]
    assert {"motion0.npy", "words3.tsv"} <= {
        file["file"] for file in _files(folder / "out" / "provenance.json")
    }
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "Responses to new runs are predicted in" in page
    assert "a perfect model would explain" in page
    assert "Segments of 16 s" in page


def _files(provenance):
    """Yield every description of a file in a record."""
    waiting = [json.loads(provenance.read_text())]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            if "file" in entry:
                yield entry
            waiting += entry.values()
        elif isinstance(entry, list):
            waiting += entry


def test_arrays_give_a_table(runs):
    """And one band is none: nothing is told apart."""
    table, folder = runs
    table = table.assign(imgs=[f"run{i}.npy" for i in range(4)]).drop(columns="words")
    table.to_csv(folder / "arrays.tsv", sep="\t", index=False)
    assert main([*words_of(folder, "arrays.tsv"), "--t-r", "2"]) == 0
    written = pd.read_csv(folder / "out" / "voxels.tsv", sep="\t")
    assert len(written) == 24
    assert (
        written["correlation"][:12].median() > 0.4 > written["correlation"][12:].max()
    )
    assert not [name for name in written if "unique" in name]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"set": "train"}, "column set must hold train and test, got train"),
        ({"imgs": "n/a"}, "column imgs lacks an entry"),
        ({"motion": "nowhere.npy"}, "nowhere.npy"),
        ({"words": "motion0.npy"}, "has 70 rows, its run 60 volumes"),
    ],
)
def test_tables_that_cannot_be_say_why(runs, spoil, message, capsys):
    table, folder = runs
    table.assign(**spoil).to_csv(folder / "bad.tsv", sep="\t", index=False)
    assert main(words_of(folder, "bad.tsv")) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "out").exists()
