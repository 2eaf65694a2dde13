import errno
import json
import os
import stat
import tempfile

import nibabel
import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from scipy.spatial import ConvexHull

from tests.maps.seam import (
    MapRecord,
    array_hash,
    check_output_directory,
    describe_map,
    provenance,
    read_maps,
    write_maps,
)

ABOUT = {"description": "A map.", "unit": "bits"}


def volume(value=0.002, dtype=np.float64):
    return nibabel.Nifti1Image(np.full((2, 3, 4), value, dtype), np.diag([2, 2, 3, 1]))


def surface():
    sides, parts = {}, {}
    for seed, (side, n) in enumerate([("left", 20), ("right", 16)]):
        points = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        sides[side] = InMemoryMesh(points, ConvexHull(points).simplices)
        parts[side] = np.linspace(0, 1, n)
        parts[side][3] = np.nan
    return SurfaceImage(mesh=PolyMesh(**sides), data=parts)


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_volumes_go_there_and_back_exactly(tmp_path):
    images = {"p_value": volume(), "accuracy": volume(0.25, np.float32)}
    images["accuracy"].get_fdata()
    written = write_maps(tmp_path / "new" / "out", images, dict.fromkeys(images, ABOUT))
    assert listing(tmp_path / "new" / "out") == [
        "accuracy.json",
        "accuracy.nii.gz",
        "maps.json",
        "p_value.json",
        "p_value.nii.gz",
        "provenance.json",
    ]
    assert listing(tmp_path / "new") == ["out"]
    again = read_maps(tmp_path / "new" / "out")
    assert list(again) == ["p_value", "accuracy"]
    for name, img in images.items():
        np.testing.assert_array_equal(again[name].get_fdata(), img.get_fdata())
        np.testing.assert_array_equal(again[name].affine, img.affine)
        assert json.loads(written[name].read_text()) == ABOUT


def test_surfaces_go_there_and_back_with_their_mesh(tmp_path):
    img = surface()
    write_maps(tmp_path, {"a": img, "b": img}, {"a": ABOUT, "b": ABOUT})
    again = read_maps(tmp_path)["b"]
    for side in ("left", "right"):
        np.testing.assert_allclose(
            again.data.parts[side], img.data.parts[side], rtol=1e-7
        )
        np.testing.assert_array_equal(
            again.mesh.parts[side].faces, img.mesh.parts[side].faces
        )
        np.testing.assert_allclose(
            again.mesh.parts[side].coordinates, img.mesh.parts[side].coordinates
        )
    assert len(list(tmp_path.glob("mesh_*.gii"))) == 2


def test_one_hemisphere_alone(tmp_path):
    both = surface()
    left = SurfaceImage(
        mesh={"left": both.mesh.parts["left"]}, data={"left": both.data.parts["left"]}
    )
    write_maps(tmp_path, {"a": left}, {"a": ABOUT})
    assert list(read_maps(tmp_path)["a"].data.parts) == ["left"]


def test_a_sidecar_says_what_was_done_with_what(tmp_path):
    data = np.arange(6.0)
    record = MapRecord(
        name="accuracy", description="Accuracy.", unit="proportion correct", chance=0.5
    )
    origin = provenance(
        parameters={
            "radius": np.float64(8),
            "set_sizes": np.array([2, 3]),
            "bound": np.nan,
            "mask": tmp_path,
        },
        inputs={"data": data, "y": ["a", "b"]},
        random_state=3,
    )
    about = describe_map(record, origin)
    path = write_maps(tmp_path, {"accuracy": volume()}, {"accuracy": about})["accuracy"]
    read = json.loads(path.read_text())
    assert read["unit"] == "proportion correct"
    assert read["parameters"] == {
        "radius": 8.0,
        "set_sizes": [2, 3],
        "bound": None,
        "mask": tmp_path.name,
    }
    hashes = {"data": array_hash(data), "y": array_hash(["a", "b"])}
    assert read["input_sha256"] == hashes
    assert read["random_state"] == 3
    assert {"neuroextrap", "numpy", "nilearn", "python"} <= read["versions"].keys()


def test_a_failure_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    write_maps(tmp_path / "out", {"a": volume()}, {"a": ABOUT})
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def fail(img, directory, name):
        (directory / f"{name}.nii.gz").write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("neuroextrap.maps._files.save_image", fail)
    with pytest.raises(OSError, match="disk full"):
        write_maps(tmp_path / "out", {"a": volume()}, {"a": ABOUT}, overwrite=True)
    after = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert after == before
    with pytest.raises(OSError, match="disk full"):
        write_maps(tmp_path / "new", {"a": volume()}, {"a": ABOUT})
    assert listing(tmp_path) == ["out"]


def test_overwriting_removes_earlier_maps_and_nothing_else(tmp_path):
    write_maps(tmp_path, {"a": volume(), "b": volume()}, {"a": ABOUT, "b": ABOUT})
    (tmp_path / "notes.txt").write_text("mine")
    write_maps(tmp_path, {"b": volume(0.5)}, {"b": ABOUT}, overwrite=True)
    names = ["b.json", "b.nii.gz", "maps.json", "notes.txt", "provenance.json"]
    assert listing(tmp_path) == names
    assert read_maps(tmp_path)["b"].get_fdata().max() == 0.5


def test_folders_that_cannot_take_results_are_refused(tmp_path, monkeypatch):
    assert check_output_directory(tmp_path) == tmp_path
    assert check_output_directory(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ValueError, match=r"is not empty; use overwrite=True \(--overwr"
    ):
        check_output_directory(tmp_path)
    with pytest.raises(ValueError, match="is not empty"):
        write_maps(tmp_path, {"a": volume()}, {"a": ABOUT})
    assert check_output_directory(tmp_path, overwrite=True) == tmp_path
    with pytest.raises(ValueError, match="file is a file"):
        check_output_directory(tmp_path / "file", overwrite=True)
    with pytest.raises(ValueError, match=r"cannot be written \(.*file: Not a dir"):
        check_output_directory(tmp_path / "file" / "maps")

    def refuse(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(ValueError, match=r"denied.*; .*change its permissions"):
            check_output_directory(folder, overwrite=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write all")
def test_a_read_only_folder_is_refused(tmp_path):
    (tmp_path / "shut").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(ValueError, match="shut: Permission denied"):
        check_output_directory(tmp_path / "shut")


@pytest.mark.parametrize(
    ("images", "sidecars", "error", "message"),
    [
        ({"a/b": volume()}, {"a/b": ABOUT}, ValueError, "cannot be a file name"),
        ({"..": volume()}, {"..": ABOUT}, ValueError, "cannot be a file name"),
        ({"maps": volume()}, {"maps": ABOUT}, ValueError, "is taken"),
        ({"a": volume()}, {"a": {"unit": "bits"}}, ValueError, "lacks .'description'"),
        ({"a": volume(1, np.int16)}, {"a": ABOUT}, TypeError, "stored as int16"),
        ({"a": volume()}, {"a": ABOUT | {"x": object()}}, TypeError, "as JSON"),
    ],
)
def test_bad_maps_are_refused_before_anything_is_written(
    tmp_path, images, sidecars, error, message
):
    with pytest.raises(error, match=message):
        write_maps(tmp_path / "out", images, sidecars)
    assert listing(tmp_path) == []


def test_folders_that_hold_no_maps_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no maps\.json"):
        read_maps(tmp_path)
    (tmp_path / "maps.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        read_maps(tmp_path)
    entry = {"files": {"volume": "../a.nii.gz"}, "sidecar": "a.json", "sha256": {}}
    (tmp_path / "maps.json").write_text(json.dumps({"maps": {"a": entry}}))
    with pytest.raises(ValueError, match="files elsewhere"):
        read_maps(tmp_path)
    entry["files"]["volume"] = "a.nii.gz"
    (tmp_path / "maps.json").write_text(json.dumps({"maps": {"a": entry}}))
    with pytest.raises(ValueError, match="without a hash"):
        read_maps(tmp_path)
    entry["sha256"] = {"a.nii.gz": "0", "a.json": "0"}
    (tmp_path / "maps.json").write_text(json.dumps({"maps": {"a": entry}}))
    with pytest.raises(ValueError, match=r"no file .*a\.nii\.gz"):
        read_maps(tmp_path)
