"""Where results come from: nothing of the machine, everything to make them again."""

import json
import re
from functools import partial

import nibabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import resolve_masker
from tests.maps.seam import (
    Origin,
    SourceFile,
    changed_parameters,
    describe_file,
    described_value,
    file_hash,
    relative_words,
)


def volume(value=1):
    return nibabel.Nifti1Image(np.full((4, 4, 4), value, dtype=np.int8), np.eye(4))


VALUES = [
    lambda: volume(),
    lambda: resolve_masker(volume()),
    lambda: RidgeCV([1.0, 2.0], cv=KFold(3, shuffle=True, random_state=1)),
    lambda: [(np.arange(3), np.arange(3, 6))],
    lambda: scipy.sparse.csr_array(np.eye(3)),
    lambda: {"b", "a"},
    lambda: partial(max, 1),
    lambda: max,
    lambda: object(),
    lambda: np.random.default_rng(0),
    lambda: iter([1, 2]),
    lambda: np.arange(5000.0),
    lambda: list(range(5000)),
    lambda: ["w" * 3] * 5000,
    lambda: np.array([object()]),
    lambda: {"nested": [volume(), {"deep": np.float32(1)}]},
    lambda: pd.DataFrame({"a": [1]}),
    lambda: b"bytes",
    lambda: np.nan,
]


@pytest.mark.parametrize("make", VALUES)
def test_equal_values_are_described_alike_and_without_addresses(make):
    one, other = described_value(make()), described_value(make())
    text = json.dumps(one)
    assert text == json.dumps(other)
    assert not re.search(r"0x[0-9a-f]{6}", text)
    assert len(text) < 3000


def test_values_that_differ_are_described_differently():
    texts = [json.dumps(described_value(make())) for make in VALUES]
    texts.append(json.dumps(described_value(volume(0))))
    texts.append(json.dumps(described_value(np.arange(5000.0) + 1)))
    texts.append(json.dumps(described_value(RidgeCV([1.0, 3.0]))))
    assert len(set(texts)) == len(texts)


def test_files_are_names_and_hashes(tmp_path, monkeypatch):
    path = tmp_path / "atlas.nii.gz"
    path.write_bytes(b"one")
    about = {"file": "atlas.nii.gz", "sha256": file_hash(path)}
    assert described_value(path) == described_value(str(path)) == about
    assert described_value({"mask": [str(path)]}) == {"mask": [about]}
    path.write_bytes(b"two")
    assert described_value(path)["sha256"] == file_hash(path) != about["sha256"]
    assert described_value(tmp_path / "gone") == "gone"
    assert described_value(str(tmp_path / "gone")) == "gone"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lda").write_text("")
    assert described_value("lda") == "lda"  # a name, whatever lies around


def test_files_of_a_data_set_are_found_in_it(tmp_path):
    (tmp_path / "dataset_description.json").write_text("{}")
    path = tmp_path / "sub-1" / "func" / "sub-1_bold.nii.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    origin = Origin({"imgs": [SourceFile.of(path)], "none": []})
    about = origin.sidecar()
    assert about["sources"] == {"imgs": [describe_file(path)]}
    assert about["Sources"] == ["bids:source:sub-1/func/sub-1_bold.nii.gz"]
    assert describe_file(tmp_path / "gone")["sha256"] is None
    assert origin.paths == [str(path)]
    path.write_bytes(b"changed since")
    [changed] = origin.sidecar()["sources"]["imgs"]
    assert changed["sha256"] is None
    assert changed["changed_since_it_was_read"]


def test_commands_tell_no_paths_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--imgs", f"{tmp_path}/a/b.nii", "/elsewhere/c.nii", "~/d.nii"]
    words += ["--mask=/elsewhere/m.nii", "../up.nii", "x=/y", "8"]
    assert relative_words(words) == [
        *("--imgs", "a/b.nii", "c.nii", "d.nii", "--mask=m.nii", "../up.nii"),
        *("x=/y", "8"),
    ]


def test_parameters_that_differ_from_the_default():
    light = IdentificationSearchLight(volume(), radius=8.0, n_permutations=9)
    assert changed_parameters(light).keys() == {"mask", "n_permutations"}
    assert changed_parameters(IdentificationSearchLight()) == {}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """The command of one analysis run twice, with other workers and folders."""
    from neuroextrap.cli import main
    from tests.faults.runs import make_inputs, words_of

    root = tmp_path_factory.mktemp("secret-place")
    make_inputs(root)
    outs = root / "one", root / "two"
    for number, out in enumerate(outs, start=1):
        words = words_of("report", root, out)
        words[-1:-1] = ["--n-jobs", str(number), "--checkpoint", f"{root}/c{number}"]
        assert main([*words[:-1], words[-1], "--detrend"]) == 0
    return outs


def test_equal_runs_differ_in_one_file(two_runs):
    one, other = two_runs
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    unlike = [n for n in names if (one / n).read_bytes() != (other / n).read_bytes()]
    assert unlike == ["provenance.json", "report.html"]
    pages = [(out / "report.html").read_text().splitlines() for out in two_runs]
    unlike = [lines for lines in zip(*pages, strict=True) if len(set(lines)) > 1]
    assert [line.startswith('<p class="about">') for line, _ in unlike] == [True]


def test_no_file_tells_a_path_or_an_address(two_runs):
    one = two_runs[0]
    for path in one.iterdir():
        text = path.read_bytes()
        assert b"secret-place" not in text, path.name
        if path.suffix in (".json", ".tsv"):
            assert not re.search(rb" at 0x[0-9a-f]+|\"/", text), path.name


def test_sidecars_and_record_say_how_to_do_it_again(two_runs):
    one = two_runs[0]
    sidecar = json.loads((one / "accuracy.json").read_text())
    record = json.loads((one / "provenance.json").read_text())
    for about in (sidecar, record):
        assert about["samples"]["detrend"] is True
        assert about["samples"]["standardize"] is False
        sources = about["sources"]
        assert sources["imgs"][0]["sha256"] == file_hash(one.parent / "b.nii.gz")
        assert sources["events"][0] == describe_file(one.parent / "events.tsv")
        assert sources["mask"][0]["file"] == "mask.nii.gz"
        assert about["Sources"] == ["b.nii.gz", "events.tsv", "mask.nii.gz"]
        assert about["GeneratedBy"][0]["Name"] == "neuroextrap"
        assert about["versions"]["numpy"] == np.__version__
        assert about["run"] == record["run"]
    assert sidecar["random_state"] == 0
    assert sidecar["parameters"]["radius"] == 4.0
    assert "date" not in sidecar
    assert record["command"][:3] == ["neuroextrap", "searchlight", "--imgs"]
    assert record["command"][3] == "b.nii.gz"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record["date"])
    for name, sha256 in record["files"].items():
        assert file_hash(one / name) == sha256
    assert len(record["files"]) == len(list(one.iterdir())) - 1


def test_the_report_has_changed_parameters_and_a_paragraph_of_methods(two_runs):
    page = (two_runs[0] / "report.html").read_text()
    methods = page.split('<h2 id="methods-heading">')[1]
    methods, parameters = methods.split('<h2 id="parameters-heading">')
    for part in ("spheres of 4 mm radius", "200 permutations"):
        assert part in methods
    first = parameters.split("<details>")[0]
    for name in ("mask", "n_permutations", "radius"):
        assert f">{name}</t" in first
    for name in ("estimator", "stride", "n_jobs", "checkpoint"):
        assert f">{name}</t" not in first


def test_results_that_are_read_and_written_again_keep_their_origin(two_runs, tmp_path):
    one = two_runs[0]
    again = IdentificationSearchLight.from_directory(one)
    again.to_directory(tmp_path / "again")
    for name in ("accuracy.json", "p_value_fwe.json", "results.npz", "analysis.json"):
        assert (tmp_path / "again" / name).read_bytes() == (one / name).read_bytes()
