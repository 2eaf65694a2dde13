"""Series of fMRIPrep on surfaces: GIFTI pairs and CIFTI dense series, by paths."""

import json
import re

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.maps import read_maps
from tests.images.seam import fmriprep_confounds, list_images

T_R, N_VOLUMES, N = 2.0, 48, 20
SIDES = {"L": "left", "R": "right"}
STRUCTURES = {"L": "CORTEX_LEFT", "R": "CORTEX_RIGHT"}


def strip(offset):
    """A band of triangles between two rows of vertices, 3 mm apart."""
    x = 3.0 * np.arange(N // 2)
    rows = [np.stack([x, np.full_like(x, y), 0 * x + offset], axis=1) for y in (0, 3)]
    upper = np.arange(N // 2 - 1)
    lower = upper + N // 2
    faces = [(upper, upper + 1, lower), (upper + 1, lower + 1, lower)]
    faces = np.concatenate([np.stack(face, axis=1) for face in faces])
    return np.concatenate(rows), faces


MESH = {hemi: strip(50.0 * k) for k, hemi in enumerate("LR")}
OUTSIDE = {"L": [0, 5], "R": [7]}
"""Vertices of the medial wall."""


def write_meshes(anat, label, space):
    anat.mkdir(parents=True)
    for hemi, (points, faces) in MESH.items():
        arrays = [
            nibabel.gifti.GiftiDataArray(points.astype("float32"), "pointset"),
            nibabel.gifti.GiftiDataArray(faces.astype("int32"), "triangle"),
        ]
        name = f"sub-{label}_hemi-{hemi}{space}_midthickness.surf.gii"
        nibabel.save(nibabel.GiftiImage(darrays=arrays), anat / name)


def write_gifti(func, start, data):
    for hemi, values in data.items():
        arrays = [
            nibabel.gifti.GiftiDataArray(volume.astype("float32"), datatype="float32")
            for volume in values.T
        ]
        name = f"{start}_hemi-{hemi}_space-fsnative_bold"
        nibabel.save(nibabel.GiftiImage(darrays=arrays), func / f"{name}.func.gii")
        text = json.dumps({"RepetitionTime": T_R})
        (func / f"{name}.json").write_text(text)


def write_cifti(func, start, data):
    models, values = [], []
    for hemi, own in data.items():
        kept = np.setdiff1d(np.arange(N), OUTSIDE[hemi])
        models.append(
            nibabel.cifti2.BrainModelAxis.from_surface(kept, N, STRUCTURES[hemi])
        )
        values.append(own[kept].T)
    voxels = nibabel.cifti2.BrainModelAxis.from_mask(
        np.ones((2, 1, 1), bool), "thalamus_left", np.eye(4)
    )
    values.append(np.full((N_VOLUMES, 2), 1e6))  # is no cortex
    axes = nibabel.cifti2.SeriesAxis(0, T_R, N_VOLUMES), sum(models[1:], models[0])
    img = nibabel.Cifti2Image(
        np.concatenate(values, axis=1).astype("float32"), (axes[0], axes[1] + voxels)
    )
    name = f"{start}_space-fsLR_den-91k_bold"
    nibabel.save(img, func / f"{name}.dtseries.nii")
    (func / f"{name}.json").write_text(json.dumps({"RepetitionTime": T_R}))


WRITE = {"fsnative": write_gifti, "fsLR": write_cifti}
FILES = {"fsnative": "*hemi-L*.func.gii", "fsLR": "*.dtseries.nii"}


def make_tree(root, space, n_runs=4, label="01"):
    """A participant as fMRIPrep leaves it, and its data by run and hemisphere."""
    rng = np.random.default_rng(int(label))
    func, raw, runs = (
        root / f"derivatives/sub-{label}/func",
        root / f"sub-{label}/func",
        [],
    )
    for folder in (func, raw):
        folder.mkdir(parents=True)
    of_mesh = "_space-fsLR_den-32k" if space == "fsLR" else ""
    write_meshes(func.parent / "anat", label, of_mesh)
    patterns = {hemi: 3 * rng.normal(size=(2, N)) for hemi in "LR"}
    for run in range(1, n_runs + 1):
        onset = 4.0 + 12 * np.arange(7)
        kinds = rng.permutation(7) % 2
        data = {hemi: 100 + rng.normal(size=(N, N_VOLUMES)) for hemi in "LR"}
        for at, kind in zip(onset, kinds, strict=True):
            for hemi in "LR":
                first = int((at + 4) // T_R)
                data[hemi][:, first : first + 3] += patterns[hemi][kind][:, None]
        for hemi in "LR":
            data[hemi][OUTSIDE[hemi]] = np.nan
        start = f"sub-{label}_task-x_run-{run}"
        WRITE[space](func, start, data)
        events = pd.DataFrame({"onset": onset, "duration": 4.0})
        events["trial_type"] = np.array(["face", "house"])[kinds]
        events.to_csv(raw / f"{start}_events.tsv", sep="\t", index=False)
        motion = pd.DataFrame(rng.normal(size=(N_VOLUMES, 6)))
        motion.columns = [f"{k}_{axis}" for k in ("trans", "rot") for axis in "xyz"]
        for name in list(motion):
            motion[f"{name}_derivative1"] = motion[name].diff()
            motion[f"{name}_power2"] = motion[name] ** 2
            motion[f"{name}_derivative1_power2"] = motion[f"{name}_derivative1"] ** 2
        name = f"{start}_desc-confounds_timeseries.tsv"
        motion.to_csv(func / name, sep="\t", index=False, na_rep="n/a")
        runs.append(data)
    return runs


@pytest.mark.parametrize("space", WRITE)
def test_a_path_is_both_hemispheres(tmp_path, space):
    [data, _] = make_tree(tmp_path, space, n_runs=2)
    path = sorted(tmp_path.rglob(FILES[space]))[0]
    [named] = list_images(str(path))
    assert (named.is_surface, named.n_samples, named.file) == (True, 48, str(path))
    for hemi, side in SIDES.items():
        np.testing.assert_allclose(named.img.data.parts[side], data[hemi], rtol=1e-6)
        points, faces = MESH[hemi]
        np.testing.assert_allclose(named.img.mesh.parts[side].coordinates, points)
        np.testing.assert_array_equal(named.img.mesh.parts[side].faces, faces)


@pytest.mark.filterwarnings("ignore")  # of regions that miss vertices, few exchanges
@pytest.mark.parametrize("space", WRITE)
def test_participants_on_surfaces_are_as_in_python(tmp_path, space):
    runs = make_tree(tmp_path, space)
    light = IdentificationSearchLight(radius=4.0)
    given = {"samples": "lsa", "space": space, "raw": tmp_path, "report": False}
    outcomes = analyze_participants(
        tmp_path / "derivatives", tmp_path / "out", analysis=light, **given
    )
    assert outcomes["reason"].tolist() == [""]
    assert outcomes["n_runs"].tolist() == [4]
    found = IdentificationSearchLight.from_directory(tmp_path / "out" / "sub-01")
    mesh = PolyMesh(*(InMemoryMesh(*MESH[hemi]) for hemi in "LR"))
    imgs = [
        SurfaceImage(
            mesh, {SIDES[h]: values.astype("float32") for h, values in run.items()}
        )
        for run in runs
    ]
    events = [str(path) for path in sorted(tmp_path.rglob("*_events.tsv"))]
    files = sorted(tmp_path.rglob(FILES[space]))
    confounds, masks = fmriprep_confounds(files, ("motion",))
    twin = IdentificationSearchLight(radius=4.0).fit_events(
        imgs, events, samples="lsa", t_r=T_R, confounds=confounds, sample_mask=masks
    )
    np.testing.assert_allclose(found.wins_, twin.wins_)
    assert found.n_elements_ == 2 * N - 3  # without the medial wall
    assert np.nanmean(found.region_scores_["accuracy"]) > 0.7
    names = {path.name for path in (tmp_path / "out" / "sub-01" / "func").iterdir()}
    assert not any("hemi-L_hemi" in name for name in names)


@pytest.mark.filterwarnings("ignore")  # of few subjects
def test_a_group_on_surfaces(tmp_path, capsys):
    labels = ["01", "02", "03"]
    for label in labels:
        make_tree(tmp_path, "fsLR", n_runs=3, label=label)
    light = IdentificationSearchLight(radius=4.0, bounds=None)
    given = {"samples": "lsa", "space": "fsLR", "raw": tmp_path, "report": False}
    out = tmp_path / "out"
    analyze_participants(tmp_path / "derivatives", out, analysis=light, **given)
    words = ["bids", str(tmp_path / "derivatives"), str(out), "group", "--quiet"]
    assert main([*words, "--n-permutations", "8", "--no-report"]) == 0
    assert re.search(r"3 subjects, \d+ vertices; smallest", capsys.readouterr().out)
    index = (out / "index.html").read_text(encoding="utf-8")
    listed = re.findall('href="(group/[^"]+)"', index)
    assert {"L", "R"} == {name.partition("hemi-")[2][:1] for name in listed}
    assert all((out / name).is_file() for name in listed)
    assert "analyzed again" not in index
    maps = analyze_group(out, n_permutations=20, overwrite=True)
    own = [read_maps(out / f"sub-{label}")["accuracy"] for label in labels]
    for side, found in maps["effect"].data.parts.items():
        each = np.stack([np.ravel(img.data.parts[side]) for img in own])
        kept = np.isfinite(np.ravel(found))
        assert kept.sum() > 10
        expected = each.mean(axis=0)[kept] - 0.5
        np.testing.assert_allclose(np.ravel(found)[kept], expected, atol=1e-6)
    people = pd.DataFrame({"participant_id": labels, "age": [20, 30, 45]})
    given = {"contrast": "age", "participants_table": people, "report": False}
    slope = analyze_group(out, n_permutations=6, **given)["effect"].data.parts["left"]
    assert np.isfinite(slope).sum() > 5
    [file, *_] = out.glob("group/*hemi-L*desc-accuracyEffect_stat.shape.gii")
    damaged = next(out.glob("sub-02/func/*hemi-R*desc-accuracy_stat.shape.gii"))
    damaged.write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match="sub-02"):
        analyze_group(out, overwrite=True, report=False)


def test_what_is_missing_is_told(tmp_path):
    make_tree(tmp_path, "fsnative", n_runs=1)
    [left] = tmp_path.rglob("*hemi-L*.func.gii")
    [mesh] = tmp_path.rglob("*hemi-L*.surf.gii")
    mesh.unlink()
    with pytest.raises(ValueError, match=r"lies in space fsnative .* no mesh of it"):
        list_images(str(left))
    left.write_bytes(left.read_bytes()[:300])
    with pytest.raises(ValueError, match="is not a readable image"):
        list_images(str(left))
    [right] = tmp_path.rglob("*hemi-R*.func.gii")
    right.unlink()
    with pytest.raises(ValueError, match=r"is of one hemisphere, there is no .*hemi-R"):
        list_images(str(left))
