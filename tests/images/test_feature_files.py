"""Tables of features and photographs from files."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from neuroextrap.encoding import read_features
from tests.images.seam import Photographs, photograph_files

VALUES = np.array([[0.5, 1.0, -2.0], [3.0, 4.5, 0.0]])
NAMES = ["cat", "007"]


def _write(folder, kind, named):
    path = folder / f"layer.{kind}"
    table = pd.DataFrame(VALUES, columns=["u1", "u2", "u3"])
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "npz":
        np.savez(path, features=VALUES, **({"stimulus": NAMES} if named else {}))
    else:
        if named:
            table.insert(1, "stimulus", NAMES)
        separator = "," if kind.startswith("csv") else "\t"
        table.to_csv(path, sep=separator, index=False)
    return path


@pytest.mark.parametrize("kind", ["tsv", "csv", "tsv.gz", "npz"])
def test_names_stay_names(tmp_path, kind):
    features = read_features(_write(tmp_path, kind, named=True))
    assert features.index.tolist() == NAMES
    assert features.index.name == "stimulus"
    np.testing.assert_array_equal(features.to_numpy(), VALUES)


@pytest.mark.parametrize("kind", ["tsv", "npz", "npy"])
def test_features_without_names(tmp_path, kind):
    features = read_features(_write(tmp_path, kind, named=False))
    assert isinstance(features.index, pd.RangeIndex)
    np.testing.assert_array_equal(features.to_numpy(), VALUES)


def test_parquet_is_read_as_pandas_reads_it(tmp_path, monkeypatch):
    path = tmp_path / "layer.parquet"
    tables = {
        "column": pd.DataFrame(VALUES).assign(stimulus=NAMES),
        "index": pd.DataFrame(VALUES, index=NAMES),
    }
    for table in tables.values():
        monkeypatch.setattr(pd, "read_parquet", lambda _, table=table: table)
        features = read_features(path)
        assert features.index.tolist() == NAMES
        np.testing.assert_array_equal(features.to_numpy(), VALUES)

    def missing(_):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", missing)
    with pytest.raises(ModuleNotFoundError, match="pyarrow, which is not installed"):
        read_features(path)


def test_features_that_cannot_be_used(tmp_path):
    cases = {
        "npz": (
            lambda path: np.savez(path, layer=VALUES),
            "has no array 'features', it has layer",
        ),
        "mat": (lambda path: path.write_text("x"), "is of no kind that holds features"),
        "npy": (lambda path: np.save(path, VALUES[0]), r"features of shape \(3,\)"),
        "tsv": (
            lambda path: path.write_text("stimulus\tu1\ncat\t1\ncat\t2\n"),
            "2 rows of stimulus 'cat'",
        ),
        "csv": (
            lambda path: path.write_text("stimulus,u1\ncat,1\n,2\n"),
            "no entry in row 2",
        ),
        "txt": (
            lambda path: path.write_text("stimulus\tu1\ncat\t1\ndog\tx\n"),
            "column u1 has 'x' in row 2",
        ),
    }
    for kind, (write, message) in cases.items():
        path = tmp_path / f"bad.{kind}"
        write(path)
        with pytest.raises(ValueError, match=message):
            read_features(path)
    np.savez(tmp_path / "p.npz", features=VALUES, stimulus=np.array(NAMES, object))
    with pytest.raises(ValueError, match="names as text"):
        read_features(tmp_path / "p.npz")
    np.savez(tmp_path / "n.npz", features=VALUES, stimulus=["one"])
    with pytest.raises(ValueError, match="1 names of stimuli for 2 rows"):
        read_features(tmp_path / "n.npz")
    np.save(tmp_path / "nan.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    with pytest.raises(ValueError, match="NaN or infinity in row 2"):
        read_features(tmp_path / "nan.npy")


def test_photographs_are_pixels(tmp_path):
    rng = np.random.default_rng(0)
    gray = 4 * rng.integers(64, size=(6, 8), dtype=np.uint8)  # means are whole numbers
    color = rng.integers(256, size=(6, 8, 3), dtype=np.uint8)
    Image.fromarray(gray).save(tmp_path / "a.png")
    Image.fromarray(color).save(tmp_path / "b.png")
    only_gray = Photographs([tmp_path / "a.png"] * 2)[:]
    np.testing.assert_array_equal(only_gray, [gray, gray])
    both = Photographs([tmp_path / "b.png", tmp_path / "a.png"])[:]
    assert both.shape == (2, 6, 8, 3)
    np.testing.assert_array_equal(both[0], color)
    np.testing.assert_array_equal(both[1], np.stack([gray] * 3, axis=2))
    half = Photographs([tmp_path / "a.png"], max_size=4)[:]
    means = gray.reshape(3, 2, 4, 2).mean(axis=(1, 3))
    np.testing.assert_array_equal(half[0], means)
    lazy = Photographs([tmp_path / "b.png", tmp_path / "a.png"])
    assert (len(lazy), lazy.shape) == (2, both.shape)
    np.testing.assert_array_equal(lazy[np.array([1])], both[1:])


def test_photographs_that_differ_in_size(tmp_path):
    for name, size in {"a": (6, 8), "b": (8, 6)}.items():
        Image.fromarray(np.zeros(size, dtype=np.uint8)).save(tmp_path / f"{name}.png")
    with pytest.raises(ValueError, match=r"b.png has 8 x 6 pixels, .*a.png 6 x 8"):
        Photographs([tmp_path / "a.png", tmp_path / "b.png"])


def test_files_are_found_by_name(tmp_path):
    for name in ("a.png", "b.x.jpg", "c.png", "c.jpg"):
        (tmp_path / name).touch()
    found = photograph_files(tmp_path, ["a", "b.x", "b.x.jpg", "c.jpg"])
    names = [path.rsplit("/", 1)[1] for path in found]
    assert names == ["a.png", "b.x.jpg", "b.x.jpg", "c.jpg"]
    with pytest.raises(ValueError, match=r"holds c.jpg and c.png: which is"):
        photograph_files(tmp_path, ["c"])
    with pytest.raises(FileNotFoundError, match="no image of stimulus 'd'"):
        photograph_files(tmp_path, ["d"])
