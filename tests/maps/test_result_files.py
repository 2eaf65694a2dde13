"""The same results under plain and under BIDS names."""

import json
import re
from pathlib import Path

import nibabel
import numpy as np
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

from neuroextrap.maps import read_maps
from tests.maps.seam import (
    ResultFiles,
    check_output_directory,
    describe_dataset,
    file_entities,
    write_maps,
)

ABOUT = {"description": "A map.", "unit": "bits"}
BIDS = {"space": "T1w", "sub": "01", "task": "x"}
START = "sub-01_task-x_space-T1w_desc-"


def volume(value=0.5):
    return nibabel.Nifti1Image(np.full((2, 2, 2), value), np.eye(4))


def write(folder, *names, value=0.5, **options):
    images = {name: volume(value) for name in names}
    return write_maps(folder, images, dict.fromkeys(images, ABOUT), **options)


def files(folder):
    written = (p for p in folder.rglob("*") if p.is_file())
    about = {".bidsignore", "README"}  # of a data set, beside its description
    written = (p for p in written if p.name not in about)
    return sorted(p.relative_to(folder).as_posix() for p in written)


def test_every_file_is_named_by_one_rule(tmp_path):
    written = write(tmp_path / "out", "implied_information", "p_value", bids=BIDS)
    func = "sub-01/func/" + START
    assert files(tmp_path / "out") == [
        "dataset_description.json",
        f"{func}impliedinformation_stat.json",
        f"{func}impliedinformation_stat.nii.gz",
        f"{func}maps_stat.json",
        f"{func}provenance_stat.json",
        f"{func}pvalue_stat.json",
        f"{func}pvalue_stat.nii.gz",
    ]
    for name in files(tmp_path / "out")[1:]:
        assert list(file_entities(name)) == ["sub", "task", "space", "desc"]
    about = json.loads(written["p_value"].read_text())
    assert about == {"Description": "A map.", "Units": "bits", **ABOUT}


@pytest.mark.parametrize("bids", [BIDS, BIDS | {"ses": "2"}, {}, {"desc": "accuracy"}])
def test_they_are_read_from_any_folder_above_and_from_their_list(tmp_path, bids):
    write(tmp_path / "out", "implied_information", bids=bids)
    [listed] = (tmp_path / "out").rglob("*aps_stat.json")
    for place in (tmp_path, tmp_path / "out", listed.parent, listed):
        assert list(read_maps(place)) == ["implied_information"]
        result_files = ResultFiles.find(place, "maps.json")
        assert (result_files.folder, result_files.bids) == (listed.parent, bids)
        assert result_files.path("maps.json") == listed


def test_where_sessions_and_no_subjects_go():
    def place(**bids):
        return ResultFiles.below("out", bids).path("t.nii.gz").as_posix()

    assert (
        place(sub="1", ses="b") == "out/sub-1/ses-b/func/sub-1_ses-b_desc-t_stat.nii.gz"
    )
    assert place(task="x") == "out/group/task-x_desc-t_stat.nii.gz"
    assert place() == "out/group/desc-t_stat.nii.gz"
    assert place(desc="accuracy") == "out/group/desc-accuracyT_stat.nii.gz"


def test_several_subjects_share_a_folder_and_nothing_is_lost(tmp_path):
    write(tmp_path, "accuracy", bids=BIDS)
    write(tmp_path, "accuracy", bids=BIDS | {"sub": "02"})
    write(tmp_path, "accuracy", value=0.25, bids={"sub": "01", "task": "x"})
    write(tmp_path, "mean", bids={"desc": "accuracy"})
    write(tmp_path, "mean", bids={"desc": "information"})
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    for bids in (BIDS, {"sub": "01", "task": "x"}, {"desc": "accuracy"}):
        with pytest.raises(ValueError, match=r"already holds .* and 3 more"):
            write(tmp_path, "mean", bids=bids)
    assert before == {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    with pytest.raises(ValueError, match=r"holds 5 analyses .*give the path of"):
        read_maps(tmp_path)
    write(tmp_path, "p_value", bids=BIDS, overwrite=True)
    after = set(files(tmp_path))
    gone = {name for name in before if START in name and "sub-01" in name}
    assert set(before) - after == {
        n for n in gone if "maps" not in n and "provenance" not in n
    }
    [listed] = (tmp_path / "sub-01").rglob("sub-01_task-x_desc-maps_stat.json")
    assert read_maps(listed)["accuracy"].get_fdata().max() == 0.25


def test_folders_of_others_are_refused(tmp_path):
    theirs = {"Name": "fMRIPrep", "DatasetType": "derivative", "BIDSVersion": "1.4.0"}
    path = tmp_path / "dataset_description.json"
    for about in ({**theirs, "GeneratedBy": [{"Name": "fMRIPrep"}]}, theirs, [], 3):
        path.write_text(json.dumps(about))
        for overwrite in (False, True):
            with pytest.raises(ValueError, match="not made by neuroextrap"):
                check_output_directory(tmp_path, overwrite=overwrite, bids=BIDS)
    path.unlink()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and has no dataset_desc"):
        check_output_directory(tmp_path, bids=BIDS)
    check_output_directory(tmp_path, overwrite=True, bids=BIDS)
    describe_dataset(tmp_path)
    check_output_directory(tmp_path, bids=BIDS)
    (tmp_path / "sub-01").write_text("a file")
    with pytest.raises(ValueError, match="sub-01: Not a directory"):
        check_output_directory(tmp_path, bids=BIDS)


def test_names_that_become_the_same_label_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'p_value' and 'pvalue' have the same BIDS"):
        write(tmp_path / "out", "p_value", "pvalue", bids=BIDS)
    with pytest.raises(ValueError, match="has no letter or digit of ASCII"):
        write(tmp_path / "out", "größe"[2:4], bids=BIDS)
    assert files(tmp_path) == []
    write(tmp_path / "plain", "p_value", "pvalue")


@pytest.mark.parametrize(
    "bids", [{"sub": "a-b"}, {"sub": ""}, {"Sub": "a"}, {"sub": "a/b"}]
)
def test_entities_that_are_none_are_refused(bids):
    with pytest.raises(ValueError, match="is no entity; keys are"):
        ResultFiles.below("out", bids)


def test_hemispheres_stand_where_bids_wants_them(tmp_path):
    points = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    mesh = InMemoryMesh(points, np.array([[0, 1, 2], [2, 3, 4], [5, 6, 7]]))
    img = SurfaceImage(
        mesh=PolyMesh(left=mesh, right=mesh),
        data={"left": np.linspace(0, 1, 8), "right": np.linspace(1, 2, 8)},
    )
    write_maps(tmp_path, {"accuracy": img}, {"accuracy": ABOUT}, bids=BIDS)
    names = [Path(name).name for name in files(tmp_path)[1:]]
    assert names == [
        "sub-01_task-x_hemi-L_space-T1w_desc-accuracy_stat.shape.gii",
        "sub-01_task-x_hemi-L_space-T1w_desc-mesh_stat.surf.gii",
        "sub-01_task-x_hemi-R_space-T1w_desc-accuracy_stat.shape.gii",
        "sub-01_task-x_hemi-R_space-T1w_desc-mesh_stat.surf.gii",
        f"{START}accuracy_stat.json",
        f"{START}maps_stat.json",
        f"{START}provenance_stat.json",
    ]
    again = read_maps(tmp_path)["accuracy"]
    np.testing.assert_allclose(again.data.parts["right"], img.data.parts["right"])
    np.testing.assert_allclose(again.mesh.parts["left"].coordinates, points)


def test_a_failure_leaves_no_file(tmp_path, monkeypatch):
    def fail(img, directory, name):
        raise OSError("disk full")

    monkeypatch.setattr("neuroextrap.maps._files.save_image", fail)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / "out", "accuracy", bids=BIDS)
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_kind_are_not_taken_for_results(tmp_path):
    folder = tmp_path / "sub-01" / "func"
    folder.mkdir(parents=True)
    for name in ("desc-mapsfwe_stat.json", "sub-01_Task-x_desc-maps_stat.json"):
        (folder / name).write_text("{}")
    (folder / "sub-01_desc-maps_bold.json").write_text("{}")
    assert ResultFiles.find(tmp_path, "maps.json") is None
    assert ResultFiles.find(tmp_path / "nowhere", "maps.json") is None
    with pytest.raises(ValueError, match=re.escape("holds no maps.json")):
        read_maps(tmp_path)
