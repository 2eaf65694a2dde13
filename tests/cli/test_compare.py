"""neuroextrap compare with pipelines in a file; folders are in test_encoding.py."""

import re
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from neuroextrap.group import second_level_test
from neuroextrap.maps import read_maps
from tests.cli.seam import RegionRun

COMMON = """\
imgs = ["bold.nii.gz"]
mask = "mask.nii.gz"
samples = "volumes"
radius = 2
"""
DECODERS = """
events = "all.tsv"
[pipeline.lda]
estimator = "lda"
[pipeline.centroid]
"""
CONDITIONS = """
events = "all.tsv"
[pipeline.attended]
classes = ["attended 0", "attended 1"]
[pipeline.ignored]
classes = ["ignored 0", "ignored 1"]
"""
MORE_CLASSES = CONDITIONS.replace('"ignored 0"', '"ignored 0", "attended 0"')
SESSIONS = """
[pipeline.monday]
events = "monday.tsv"
[pipeline.friday]
events = "friday.tsv"
"""
pytestmark = pytest.mark.filterwarnings("ignore:volumes are permuted one by one")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """12 runs of two conditions x two classes x 2; half of a brain needs attention."""
    rng = np.random.default_rng(0)
    shape, n_runs = (6, 5, 4), 12
    orders = [rng.permutation(np.repeat(np.arange(4), 2)) for _ in range(n_runs)]
    what, runs = np.concatenate(orders), np.repeat(np.arange(n_runs), 8)
    data = rng.normal(size=(*shape, len(what))).astype(np.float32)
    codes = rng.normal(size=(3, 5, 4, 4))
    codes[..., 2:] = 0
    data[:3] += codes[..., what]
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), tmp_path / "bold.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), np.eye(4))
    nibabel.save(mask, tmp_path / "mask.nii.gz")
    half = np.arange(6)[:, np.newaxis, np.newaxis] < np.full(shape, 3)
    half = nibabel.Nifti1Image(half.astype(np.int8), np.eye(4))
    nibabel.save(half, tmp_path / "half.nii.gz")
    names = np.array(["attended 0", "attended 1", "ignored 0", "ignored 1"])
    table = pd.DataFrame({"trial_type": names[what], "run": runs})
    days = {"all": runs >= 0, "monday": runs < 6, "friday": runs >= 6}
    for day, rows in days.items():
        shown = table.assign(trial_type=table["trial_type"].where(rows, "n/a"))
        shown.to_csv(tmp_path / f"{day}.tsv", sep="\t", index=False)
    monkeypatch.chdir(tmp_path)
    return data, names[what], runs, mask


def compare(text, words=""):
    Path("both.toml").write_text(COMMON + text, encoding="utf-8")
    return main(["compare", "both.toml", *words.split(), "out"])


def test_conditions_in_the_same_runs(folder, capsys):
    data, y, runs, mask = folder
    assert compare(CONDITIONS, "--paired runs --n-permutations 200 --report") == 0
    maps = read_maps("out")
    lights = []
    for condition in ("attended", "ignored"):
        rows = np.flatnonzero([name.startswith(condition) for name in y])
        images = nibabel.Nifti1Image(data[..., rows], np.eye(4))
        light = IdentificationSearchLight(mask, radius=2)
        lights.append(light.fit(images, y[rows], groups=runs[rows]))
    expected = compare_decoders(*lights, paired="runs", n_permutations=200)
    for name in ("accuracy_difference", "p_value_fwe"):
        np.testing.assert_allclose(
            maps[name].get_fdata(), expected[name].get_fdata(), rtol=1e-6
        )
    found = maps["p_value_fwe"].get_fdata() <= 0.05
    assert found[:2].mean() > 0.3 > found[4:].mean()
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "Attended identifies better than ignored in " in page
    assert "attended and ignored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [(DECODERS, ""), (SESSIONS, "--paired none"), (CONDITIONS, "--paired runs")],
)
def test_two_regions_of_each_kind(folder, text, words):
    assert compare(text, f"{words} --n-permutations 99 --regions 0 119") == 0
    table = pd.read_csv("out/comparison.tsv", sep="\t")
    assert table[["first_region", "second_region"]].to_numpy().tolist() == [[0, 119]]
    assert table["accuracy_difference"].between(-1, 1).all()
    assert table["p_value"].between(0, 1).all()


def test_decoders_of_the_same_samples(folder):
    assert compare(DECODERS, "--n-permutations 99 --one-sided") == 0
    maps = read_maps("out")
    difference = (
        maps["first_accuracy"].get_fdata() - maps["second_accuracy"].get_fdata()
    )
    np.testing.assert_allclose(
        maps["accuracy_difference"].get_fdata(), difference, atol=1e-6
    )


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (DECODERS.partition("[pipeline.centroid]")[0], "", "must have two tables"),
        (DECODERS + "[pipeline.third]\n", "", "must have two tables"),
        (DECODERS + "radus = 2\n", "", "did you mean --radius"),
        (DECODERS, "--names a b", "are those of encoding models"),
        (DECODERS, "more", "one file with two pipelines"),
        (DECODERS, "--regions 0 500", "region=500"),
        (DECODERS, "--regions 0 V1", "these 120 regions have none"),
        (DECODERS, "--regions 0", "then OUT"),
        (DECODERS, "--statistic 5", "--statistic 5"),
        (DECODERS, "--statistic implied_information", "--statistic implied_inf"),
        (DECODERS + 'mask = "half.nii.gz"\n', "", "with other voxels"),
        (DECODERS + "radius = 3\n", "", "with other voxels"),
        (DECODERS + "min_voxels = 300\n", "", "no region has --min-voxels 300"),
        (DECODERS + 'test_runs = ["0"]\n', "", "other folds"),
        (DECODERS + 'events = "monday.tsv"\n', "", "other labels"),
        (CONDITIONS, "", "classes"),
        (CONDITIONS, "--paired runs --statistic 3", "--statistic 3"),
        (MORE_CLASSES, "--paired runs", "a number of classes"),
        (SESSIONS, "--paired runs", "same names of runs"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    folder, text, words, message, capsys, monkeypatch
):
    """It is refused before any classifier is trained."""
    monkeypatch.delattr(RegionRun, "results")
    assert compare(text, words) == 2
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("A B --paired runs out", "--paired needs CONFIG.toml"),
        ("A out --regions V1 V2", "at least two subjects"),
        ("A B out --regions V1", "at least two, of at least two"),
        ("A B out --regions V1 V2 --report", "no page of regions"),
    ],
)
def test_options_of_other_comparisons_are_refused(words, message, capsys):
    assert main(["compare", *words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    """Folders of eight subjects: one of three regions tells."""
    rng, folders = np.random.default_rng(0), []
    labels = np.repeat([1, 2, 3], 20).reshape(3, 5, 4).astype(np.int16)
    atlas = nibabel.Nifti1Image(labels, np.eye(4))
    for subject in range(8):
        y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
        data = rng.normal(size=(3, 5, 4, 24))
        data[0] += rng.normal(size=(5, 4, 4))[..., y]
        light = IdentificationSearchLight(
            labels_img=Bunch(maps=atlas, labels=["V1", "V2", "V3"]), bounds=None
        )
        light.fit(nibabel.Nifti1Image(data.astype(np.float32), np.eye(4)), y, runs)
        folders.append(str(tmp_path_factory.mktemp("of") / f"sub-{subject:02}"))
        light.to_directory(folders[-1])
    return folders


def test_regions_over_subjects(subjects, tmp_path, capsys):
    out = str(tmp_path / "out")
    words = [*subjects, out, "--regions", "V1", "2", "V2", "--n-permutations", "100"]
    assert main(["compare", *words]) == 0
    table = pd.read_csv(f"{out}/comparison.tsv", sep="\t", dtype={"first": str})
    assert table[["first", "second"]].to_numpy().tolist() == [
        ["V1", "2"],
        ["V1", "V2"],
        ["2", "V2"],
    ]
    lights = [IdentificationSearchLight.from_directory(folder) for folder in subjects]
    accuracy = np.array([light.region_scores_["accuracy"] for light in lights])
    expected = second_level_test(
        accuracy[:, [0, 0, 2]],
        paired_imgs=accuracy[:, [2, 1, 1]],
        two_sided=True,
        n_permutations=100,
    )
    np.testing.assert_allclose(table["p_value_fwe"], expected["p_value_fwe"])
    np.testing.assert_allclose(
        table["accuracy_difference"],
        (accuracy[:, [0, 0, 2]] - accuracy[:, [2, 1, 1]]).mean(0),
    )
    assert (table["p_value_fwe"] <= 0.05).tolist() == [True, True, False]
    assert "means over 8 subjects" in capsys.readouterr().out
    assert main(["compare", *subjects, f"{out}2", "--regions", "V1", "V4"]) == 2
    assert "V4" in capsys.readouterr().err
