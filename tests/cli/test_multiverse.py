"""neuroextrap multiverse, on a small experiment in files."""

import re

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.maps import read_maps

COMMON = """\
imgs = ["bold.nii.gz"]
events = "events.tsv"
mask = "mask.nii.gz"
samples = "volumes"
n_permutations = 99
"""
PIPELINES = """
[pipeline.small]
radius = 2
[pipeline.large]
radius = 3
estimator = "ridge"
[pipeline.smoothed]
radius = 2
smoothing_fwhm = 2.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Images and events of 6 runs: 4 conditions in random order, some information."""
    rng = np.random.default_rng(0)
    shape, runs = (6, 5, 4), np.repeat(range(6), 4)
    y = rng.permuted(np.tile(np.arange(4), (6, 1)), axis=1).ravel()
    data = rng.normal(size=(*shape, 24)).astype(np.float32)
    data[:3] += rng.normal(size=(3, 5, 4, 4))[..., y]
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), tmp_path / "bold.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), np.eye(4))
    nibabel.save(mask, tmp_path / "mask.nii.gz")
    table = pd.DataFrame({"trial_type": [f"c{c}" for c in y], "run": runs})
    table.to_csv(tmp_path / "events.tsv", sep="\t", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, text):
    (folder / "pipelines.toml").write_text(text)


@pytest.mark.filterwarnings("ignore:volumes are permuted one by one")
def test_pipelines_of_a_file_are_tested_together(folder, capsys):
    write(folder, COMMON + PIPELINES)
    assert main(["multiverse", "pipelines.toml", "out"]) == 0
    table = pd.read_csv(folder / "out" / "pipelines.tsv", sep="\t")
    assert table["pipeline"].tolist() == ["small", "large", "smoothed"]
    assert table["radius"].tolist() == [2, 3, 2]
    assert (table["p_value_fwe"] >= table["p_value_fwe_alone"]).all()
    maps = read_maps(folder / "out")
    found = maps["p_value_fwe_any"].get_fdata() <= 0.05
    assert found[:2].mean() > 0.5 > found[4:].mean()
    assert "3 pipelines" in (folder / "out" / "report.html").read_text()
    assert "open out/report.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COMMON, "at least two tables"),
        (COMMON + "[pipeline.one]\nradius = 2\n", "at least two tables"),
        (COMMON + PIPELINES + "[other]\nradius = 2\n", "other is no option"),
        (COMMON + PIPELINES + "radus = 2\n", "did you mean --radius"),
        (COMMON + PIPELINES + "n_permutations = 9\n", "n_permutations 99, 99, 9"),
        (COMMON + PIPELINES + 'exclude = ["c0"]\n', "'smoothed' has other samples"),
        ("imgs = [", "pipelines.toml"),
        (COMMON.partition("mask")[2] + PIPELINES, "--imgs|pipelines.toml"),
    ],
)
@pytest.mark.filterwarnings("ignore:volumes are permuted one by one")
def test_what_cannot_be_run_is_one_line_and_writes_nothing(
    text, message, folder, capsys
):
    write(folder, text)
    assert main(["multiverse", "pipelines.toml", "out"]) == 2
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert not (folder / "out").exists()
