"""Scores from files of every kind, on the command line, into tables and a page."""

import json

import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.scores import score_identification
from tests.scores.seam import _ROWS, _read_labels, read_matrix


def read_scores_file(path):
    return read_matrix(str(path), "scores", _ROWS)


RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(30, 30)) + 2 * np.eye(30)
NAMES = np.array([f"word {k}" for k in range(30)])
ORDER = RNG.permutation(30)


@pytest.fixture
def folder(tmp_path):
    """The same scores in all kinds of files, rows of tables in another order."""
    np.save(tmp_path / "scores.npy", SCORES)
    np.savez(tmp_path / "pair.npz", scores=SCORES[ORDER], targets=ORDER, note="x")
    np.savez(tmp_path / "one.npz", SCORES)
    table = pd.DataFrame(SCORES, columns=NAMES, index=pd.Index(NAMES, name="target"))
    table = table.iloc[ORDER]
    table.to_csv(tmp_path / "named.tsv", sep="\t")
    table.to_csv(tmp_path / "named.csv.gz")
    pd.DataFrame({"target": NAMES}).to_csv(
        tmp_path / "shown.tsv", sep="\t", index=False
    )
    np.save(tmp_path / "numbers.npy", np.arange(30))
    np.save(tmp_path / "runs.npy", np.arange(30) % 3)
    return tmp_path


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["scores.npy", "pair.npz", "one.npz", "named.tsv"])
def test_every_kind_of_file_gives_the_same(folder, name, capsys):
    words = ["scores", str(folder / name), "--n-permutations", "20", "--report"]
    assert main([*words, str(folder / "out"), "--quiet"]) == 0
    twin = score_identification(SCORES, n_permutations=20)
    curve = pd.read_csv(folder / "out" / "curve.tsv", sep="\t")
    np.testing.assert_allclose(curve.accuracy, twin.curve.accuracy)
    np.testing.assert_allclose(curve.upper, twin.curve.upper)
    summary = pd.read_csv(folder / "out" / "summary.tsv", sep="\t")
    for key in ("implied_information", "median_rank", "bayes_accuracy_bound"):
        assert summary[key].item() == pytest.approx(twin.summary[key].item())
    assert len(pd.read_csv(folder / "out" / "stimuli.tsv", sep="\t")) == 30
    assert "first choice among 30" in (folder / "out" / "report.html").read_text(
        "utf-8"
    )
    assert "summary.tsv, curve.tsv, stimuli.tsv" in capsys.readouterr().out


def test_compressed_commas_are_read_too(folder):
    first = read_scores_file(folder / "named.csv.gz")
    second = read_scores_file(folder / "named.tsv")
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first[1], NAMES[ORDER])
    np.testing.assert_array_equal(first[2], NAMES)


def test_targets_names_and_groups_from_files(folder):
    np.save(folder / "names.npy", NAMES)
    words = ["scores", str(folder / "scores.npy"), "--quiet", "--n-permutations", "9"]
    for name, file in (("names", "names.npy"), ("targets", "shown.tsv")):
        words += [f"--{name}", str(folder / file)]
    words += ["--groups", str(folder / "runs.npy"), str(folder / "out")]
    assert main(words) == 0
    twin = score_identification(
        SCORES, NAMES, names=NAMES, n_permutations=9, groups=np.arange(30) % 3
    )
    summary = pd.read_csv(folder / "out" / "summary.tsv", sep="\t")
    assert summary.p_value.item() == twin.values["p_value"]
    stimuli = pd.read_csv(folder / "out" / "stimuli.tsv", sep="\t")
    assert stimuli.candidate.tolist() == twin.stimuli.candidate.tolist()


def test_labels_are_read(folder):
    assert (
        _read_labels(str(folder / "shown.tsv"), "--targets").tolist() == NAMES.tolist()
    )
    pd.DataFrame({"x": [1], "y": [2]}).to_csv(folder / "two.tsv", sep="\t", index=False)
    with pytest.raises(ValueError, match="has 2 columns; give one"):
        _read_labels(str(folder / "two.tsv"), "--targets")


def test_vectors_on_the_command_line(folder):
    vectors = RNG.normal(size=(30, 9))
    decoded = vectors + RNG.normal(size=(30, 9))
    np.save(folder / "decoded.npy", decoded)
    np.save(folder / "vectors.npy", vectors)
    words = ["scores", "--decoded", str(folder / "decoded.npy"), "--quiet"]
    words += ["--candidates", str(folder / "vectors.npy"), "--metric", "correlation"]
    words += ["--set-sizes", "5", "20", "100", str(folder / "out")]
    assert main(words) == 0
    twin = score_identification(
        decoded=decoded,
        candidates=vectors,
        metric="correlation",
        set_sizes=[5, 20, 100],
    )
    curve = pd.read_csv(folder / "out" / "curve.tsv", sep="\t")
    np.testing.assert_allclose(curve.accuracy, twin.curve.accuracy)
    assert curve.set_size.tolist()[-1] == 100


def test_tables_of_vectors_are_matched_by_name(folder):
    rng = np.random.default_rng(3)
    vectors = pd.DataFrame(rng.normal(size=(30, 5)), index=NAMES).rename_axis("name")
    decoded = vectors + rng.normal(size=vectors.shape)
    vectors.iloc[ORDER, ::-1].to_csv(folder / "vectors.tsv", sep="\t")
    decoded.rename_axis("target").to_csv(folder / "decoded.tsv", sep="\t")
    words = ["scores", "--decoded", str(folder / "decoded.tsv"), "--quiet"]
    words += ["--candidates", str(folder / "vectors.tsv"), str(folder / "out")]
    assert main(words) == 0
    twin = score_identification(decoded=decoded, candidates=vectors)
    curve = pd.read_csv(folder / "out" / "curve.tsv", sep="\t")
    np.testing.assert_allclose(curve.accuracy, twin.curve.accuracy)


def test_column_numbers_may_stand_in_a_table(folder):
    pd.DataFrame({"x": ORDER}).to_csv(folder / "order.tsv", sep="\t", index=False)
    np.save(folder / "mixed.npy", SCORES[ORDER])
    words = ["scores", str(folder / "mixed.npy"), "--quiet", "--targets"]
    assert main([*words, str(folder / "order.tsv"), str(folder / "out")]) == 0
    curve = pd.read_csv(folder / "out" / "curve.tsv", sep="\t")
    twin = score_identification(SCORES)
    np.testing.assert_allclose(curve.accuracy, twin.curve.accuracy)


def test_parquet_is_read_where_pandas_can(folder, monkeypatch):
    named = read_scores_file(folder / "named.tsv")
    stored = pd.DataFrame(named[0], columns=named[2])
    stored.insert(0, "target", named[1])
    monkeypatch.setattr(pd, "read_parquet", lambda _: stored)
    for one, other in zip(read_scores_file("scores.parquet"), named, strict=True):
        np.testing.assert_array_equal(one, other)

    def fail(_):
        raise ImportError

    monkeypatch.setattr(pd, "read_parquet", fail)
    with pytest.raises(ModuleNotFoundError, match="pyarrow, which is not installed"):
        read_scores_file("scores.parquet")


def test_two_decoders_on_the_command_line(folder, capsys):
    worse = SCORES + RNG.normal(size=SCORES.shape)
    pd.DataFrame(worse, columns=NAMES).assign(target=NAMES)[["target", *NAMES]].to_csv(
        folder / "worse.tsv", sep="\t", index=False
    )
    words = ["scores", str(folder / "named.tsv"), str(folder / "worse.tsv")]
    assert main([*words, str(folder / "out"), "--report", "--quiet"]) == 0
    frame = pd.DataFrame(worse, columns=NAMES)
    first, second = (
        score_identification(scores, NAMES)
        for scores in (pd.DataFrame(SCORES, columns=NAMES), frame)
    )
    twin = first.compare(second)
    table = pd.read_csv(folder / "out" / "comparison.tsv", sep="\t")
    np.testing.assert_allclose(table.difference, twin.table.difference)
    # older versions of pandas read the last digit wrongly
    assert table.p_value.dropna().item() == pytest.approx(twin.p_value, rel=1e-14)
    told = json.loads((folder / "out" / "scores.json").read_text("utf-8"))["scores"]
    assert set(told) == {"named", "worse", "named and worse"}
    page = (folder / "out" / "report.html").read_text("utf-8")
    assert ("identifies better than" in page) == (twin.p_value <= 0.05)
    assert "named and worse" in capsys.readouterr().out


def test_targets_of_one_archive_are_not_those_of_the_next_file(folder, capsys):
    paths = [str(folder / name) for name in ("pair.npz", "scores.npy", "one.npz")]
    assert main(["scores", *paths, str(folder / "out")]) == 0
    summary = pd.read_csv(folder / "out" / "summary.tsv", sep="\t")
    assert summary.scores.tolist() == ["pair", "scores", "one"]
    assert summary.accuracy.nunique() == 1
    assert not (folder / "out" / "comparison.tsv").exists()
    assert "3 decoders are listed; give two to compare" in capsys.readouterr().err


def test_equal_names_are_told_apart_by_folders(folder, capsys):
    for part in ("a", "b"):
        (folder / part).mkdir()
        np.save(folder / part / "scores.npy", SCORES)
    paths = [str(folder / part / "scores.npy") for part in ("a", "b")]
    assert main(["scores", *paths, str(folder / "out"), "--quiet"]) == 0
    assert "a/scores and b/scores" in capsys.readouterr().out
    words = ["scores", paths[0], paths[0], str(folder / "out"), "--overwrite"]
    assert main(words) == 2
    assert "give files of other names" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["scores.npy"], "name files of scores"),
        ([], "name files of scores"),
        (["--decoded", "scores.npy", "out"], "name files of scores"),
        (
            ["scores.mat", "out"],
            "is of no kind that holds scores; give .tsv, .csv, .txt, .npy",
        ),
        (["nothing.npy", "out"], "nothing.npy: No such file"),
        (["nothing.tsv", "out"], "no file nothing.tsv"),
        (["text.npz", "out"], "holds no arrays of numbers"),
        (
            ["many.npz", "out"],
            "has no array 'scores', it has a, b; write numpy.savez(path, scores=",
        ),
        (["bare.tsv", "out"], "has numbers in its first row"),
        (["words.tsv", "out"], "which is no finite number"),
        (["scores.npy", "out", "--set-sizes", "1"], "set_sizes must be at least 2"),
        (["scores.npy", "out", "--statistic", "top"], "--statistic top is not known"),
        (["scores.npy", "full"], "is not empty; use overwrite=True"),
        (["pickled.npy", "out"], "holds no array of numbers"),
        (["pickled.npz", "out"], "holds no arrays of numbers"),
    ],
)
def test_bad_words_are_one_line_and_nothing_is_written(
    words, text, folder, capsys, monkeypatch
):
    monkeypatch.chdir(folder)
    (folder / "text.npz").write_text("no archive")
    np.savez(folder / "many.npz", a=SCORES, b=SCORES)
    np.savetxt(folder / "bare.tsv", SCORES, delimiter="\t")
    (folder / "words.tsv").write_text("a\tb\n1\tmuch\n2\t3\n")
    np.save(folder / "pickled.npy", np.array([{}, None]), allow_pickle=True)
    np.savez(folder / "pickled.npz", scores=np.array([{}, None], dtype=object))
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("x")
    before = sorted(path.name for path in folder.rglob("*"))
    assert main(["scores", *words]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert text in line
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_results_of_python_are_written_as_a_whole(tmp_path):
    found = score_identification(SCORES, names=NAMES, targets=NAMES)
    found.to_directory(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "summary.tsv",
        "curve.tsv",
        "stimuli.tsv",
        "scores.json",
        "provenance.json",
    }
    with pytest.raises(ValueError, match="not empty"):
        found.to_directory(tmp_path / "out")
    found.to_directory(tmp_path / "out", overwrite=True, report=True)
    assert (tmp_path / "out" / "report.html").is_file()
