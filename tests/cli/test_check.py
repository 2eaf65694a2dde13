"""neuroextrap check: findings and simulated power of an experiment in files."""

import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.cli.seam import _check_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images and events of 6 runs: 3 conditions, each once, in random order."""
    path = tmp_path_factory.mktemp("experiment")
    rng = np.random.default_rng(0)
    shape = (5, 4, 3)
    names = np.array(["face", "house", "cat"])
    labels = rng.permuted(np.tile(names, (6, 2)), axis=1).ravel()
    blocked = np.concatenate([np.repeat(rng.permutation(names), 2) for _ in range(6)])
    tables = {"random": labels, "ordered": np.tile(names, 12), "blocked": blocked}
    for name, trial_type in tables.items():
        table = pd.DataFrame({"trial_type": trial_type, "run": np.repeat(range(6), 6)})
        table.to_csv(path / f"{name}.tsv", sep="\t", index=False)
    data = rng.normal(size=(*shape, 36)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), path / "bold.nii.gz")
    data[..., 35] = data[..., 0]
    nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), path / "copied.nii.gz")
    of_pairs = rng.normal(size=(*shape, 18)).repeat(2, axis=-1) + data / 2
    nibabel.save(nibabel.Nifti1Image(of_pairs, np.eye(4)), path / "pairs.nii.gz")
    mask = nibabel.Nifti1Image(np.ones(shape, np.int8), np.eye(4))
    nibabel.save(mask, path / "mask.nii.gz")
    return path


def _words(folder, command, imgs, events, *more):
    return [
        *(command, "--imgs", str(folder / f"{imgs}.nii.gz")),
        *("--events", str(folder / f"{events}.tsv")),
        *("--mask", str(folder / "mask.nii.gz"), "--samples", "volumes"),
        *("--radius", "2", "--n-permutations", "19", *more),
    ]


def test_a_randomized_experiment_is_fine(folder, capsys):
    assert main(_words(folder, "check", "bold", "random")) == 0
    assert "nothing doubtful was found" in capsys.readouterr().out


def test_a_dry_run_says_the_same(folder, tmp_path, capsys):
    assert main(_words(folder, "check", "bold", "ordered")) == 0
    checked = capsys.readouterr().out
    assert checked.startswith("doubtful: the classes come in the same order")
    words = _words(folder, "searchlight", "bold", "ordered", "--dry-run")
    assert main([*words, str(tmp_path / "out")]) == 0
    assert checked in capsys.readouterr().out


def test_samples_sorted_by_class_have_the_order_of_the_events(folder, tmp_path, capsys):
    """Blocks are listed by class, and told the time at which they came."""
    words = ["--samples", "blocks", "--dry-run", str(tmp_path / "out")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([*_words(folder, "searchlight", "bold", "blocked"), *words]) == 0
    assert "nothing doubtful was found" in capsys.readouterr().out


def test_remedies_are_words_of_the_command_line(folder, capsys):
    assert main(_words(folder, "check", "bold", "ordered")) == 0
    said = capsys.readouterr().out
    assert "; only an experiment with another order in each run can tell\n" in said
    assert main(_words(folder, "check", "pairs", "blocked")) == 0
    said = capsys.readouterr().out
    assert "neighboring samples of one class depend on each other" in said
    assert "; average them (--samples blocks)\n" in said


def test_what_would_be_refused_is_listed_and_ends_with_2(folder, capsys):
    assert main(_words(folder, "check", "copied", "random")) == 2
    said = capsys.readouterr()
    assert said.out.startswith("refused: samples 0 and 35 are equal")
    assert "would be refused" in said.err


def test_level_and_power_are_simulated(folder, capsys):
    assert main(_words(folder, "check", "bold", "random", "--simulate")) == 0
    said = capsys.readouterr().out
    assert "500 simulated regions for each effect" in said
    assert said.index("to simulate 2000 regions takes about 0:00:") < said.index(
        "500 simulated"
    )
    rows = [line.split() for line in said.splitlines() if line.startswith(" ")]
    table = {row[0]: row for row in rows if row[0] in {"0", "0.1", "0.2", "0.4"}}
    assert float(table["0"][2]) < 0.1 < float(table["0.4"][2])


def test_options_come_from_a_file_and_words_win(folder, capsys):
    words = _words(folder, "check", "bold", "ordered")
    options = dict(zip(words[1::2], words[2::2], strict=True))
    lines = [f'{name[2:].replace("-", "_")} = "{v}"' for name, v in options.items()]
    config = folder / "analysis.toml"
    config.write_text("\n".join([*lines, "simulate = false", "standardize = false"]))
    assert main(["check", "--config", str(config)]) == 0
    assert capsys.readouterr().out.startswith("doubtful: the classes come in the same")
    other = ["--events", str(folder / "random.tsv")]
    assert main(["--quiet", "check", *other, "--config", str(config)]) == 0
    assert "nothing doubtful was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("radius = 4", "the following arguments are required: --imgs"),
        ("[pipeline.one]", "pipeline is a table; give a value"),
        (
            'imgs = "a"\nevents = "b"\nradiu = 4',
            "unrecognized argument --radiu; did you mean --radius",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_one_line(folder, text, message, capsys):
    config = folder / "wrong.toml"
    config.write_text(text)
    assert main(["check", "--config", str(config)]) == 2
    assert message in capsys.readouterr().err


def test_what_takes_too_long_is_simulated_in_part(folder, capsys, monkeypatch):
    monkeypatch.setattr(_check_command, "_SECONDS", 1e-9)
    words = _words(folder, "check", "bold", "random", "--simulate")
    assert main([*words, "--n-permutations", "400"]) == 0
    said = capsys.readouterr().out
    assert "to simulate 2000 regions takes about" in said
    assert "instead, to simulate 20 regions" in said
    assert "with 19 permutations and estimator='ridge'" in said
    assert "standard errors of up to 0.22" in said
    assert "\n5 simulated regions for each effect" in said
