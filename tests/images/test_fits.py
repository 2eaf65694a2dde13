"""Betas of SPM, FEAT, GLMsingle and nilearn, in folders as these leave them."""

import contextlib
import sys
import warnings
from pathlib import Path
from unittest import mock

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import loadmat, savemat

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import load_betas
from tests.images.seam import find_betas

SHAPE, AFFINE = (4, 4, 3), np.diag([3.0, 3, 3, 1])
CONDITIONS = ("face", "house", "word")
RNG = np.random.default_rng(0)
PATTERNS = dict(zip(CONDITIONS, 2 * RNG.normal(size=(3, *SHAPE)), strict=True))


def save(data, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.Nifti1Image(np.asarray(data, "float32"), AFFINE).to_filename(path)


def beta_of(name):
    """A beta of a condition; of what is none, ten times the noise."""
    noise = RNG.normal(size=SHAPE)
    return PATTERNS[name] + noise if name in PATTERNS else 10 * noise


def spm_names(n_runs, modulated=True):
    """Names of SPM's regressors: canonical response and its derivative in each run."""
    names = []
    for run in range(1, n_runs + 1):
        for name in CONDITIONS:
            names += [f"Sn({run}) {name}*bf({k})" for k in (1, 2)]
        if modulated:
            names.append(f"Sn({run}) facexRT^1*bf(1)")
        names += [f"Sn({run}) R{k}" for k in range(1, 7)]
    return names + [f"Sn({run}) constant" for run in range(1, n_runs + 1)]


def fill_spm(folder, names):
    """Write the images of a model of SPM."""
    for number, text in enumerate(names, start=1):
        name = text.partition(") ")[2].partition("*")[0]
        own = name if text.endswith("*bf(1)") else "none"
        save(beta_of(own), folder / f"beta_{number:04d}.nii")
    save(np.ones(SHAPE), folder / "mask.nii")


def write_spm(folder, *, n_runs=4, basis="hrf (with time derivative)", compressed=True):
    """A folder of SPM, its SPM.mat of version 7, or of 5 if it is not compressed."""
    names = spm_names(n_runs)
    fill_spm(folder, names)
    content = {"xX": {"name": np.array(names, dtype=object)}, "xBF": {"name": basis}}
    more = {"Vbeta": {"fname": "beta_0001.nii"}, "swd": "/data/spm"}
    path = folder / "SPM.mat"
    savemat(path, {"SPM": {**content, **more}}, do_compression=compressed)
    return path


def write_matlab_73(path, variables):
    """Variables as MATLAB -v7.3 writes them: axes reversed, cells as references."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            write_node(h5py, file, name, value, file)
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def write_node(h5py, group, name, value, file):
    if isinstance(value, dict):
        inner = group.create_group(name)
        for key, item in value.items():
            write_node(h5py, inner, key, item, file)
    elif isinstance(value, str):
        codes = np.array([[ord(letter)] for letter in value], dtype="uint16")
        group.create_dataset(name, data=codes).attrs["MATLAB_class"] = np.bytes_("char")
    elif isinstance(value, list):
        refs = file.require_group("#refs#")
        for text in value:
            write_node(h5py, refs, f"r{len(refs)}", text, file)
        first = len(refs) - len(value)
        own = [[refs[f"r{first + i}"].ref] for i in range(len(value))]
        kind = h5py.special_dtype(ref=h5py.Reference)
        group.create_dataset(name, data=np.array(own, dtype=object), dtype=kind)
    else:
        group.create_dataset(name, data=np.asarray(value).T)


def write_feat(folder, *, contrasts=True, standard=False, deriv=1, series=None):
    """A first-level folder of FEAT: EVs with or without a temporal derivative."""
    n_real = len(CONDITIONS) * (1 + deriv)
    rows = {"version": "6.00", "level": 1, "evs_orig": 3, "evs_real": n_real}
    for ev, name in enumerate(CONDITIONS, start=1):
        rows |= {
            f"evtitle{ev}": f'"{name}"',
            f"convolve{ev}": 3,
            f"deriv_yn{ev}": deriv,
        }
    wanted = [[1, -1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]] if contrasts else []
    rows |= {"con_mode": "orig", "ncon_orig": len(wanted), "ncon_real": len(wanted)}
    root = folder / "reg_standard" if standard else folder
    own = {name: beta_of(name) for name in CONDITIONS}
    for number, weights in enumerate(wanted, start=1):
        real = np.zeros(n_real)
        real[:: 1 + deriv] = weights
        for k, weight in enumerate(real, start=1):
            rows[f"con_real{number}.{k}"] = weight
        cope = sum(w * own[n] for w, n in zip(weights, CONDITIONS, strict=True))
        save(cope, root / "stats" / f"cope{number}.nii.gz")
    for k in range(1, n_real + 1):
        name = CONDITIONS[(k - 1) // (1 + deriv)]
        first = (k - 1) % (1 + deriv) == 0
        save(own[name] if first else beta_of("none"), folder / f"stats/pe{k}.nii.gz")
    save(np.ones(SHAPE), root / "mask.nii.gz")
    lines = [f"# {key}\nset fmri({key}) {value}\n" for key, value in rows.items()]
    lines.append(f'set feat_files(1) "/data/{series or folder.name}"\n')
    (folder / "design.fsf").write_text("\n".join(lines))
    return own


def write_glmsingle(folder, *, ending="hdf5", n_runs=4):
    """A result of GLMsingle with its table and mask; returns its path and betas."""
    trials = [name for _ in range(n_runs) for name in (*CONDITIONS, *CONDITIONS[::-1])]
    betas = np.stack([beta_of(name) for name in trials], axis=-1).astype("float32")
    save(np.ones(SHAPE), folder / "mask.nii.gz")
    path = folder / f"TYPED_FITHRF_GLMDENOISE_RR.{ending}"
    if ending == "hdf5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.create_dataset("betasmd", data=betas)
            file.create_dataset("R2", data=betas[..., 0])
    elif ending == "mat":
        order = [CONDITIONS.index(name) + 1 for name in trials]
        write_matlab_73(path, {"modelmd": betas, "R2": betas[..., 0]})
        about = {
            "stimorder": np.array([order]),
            "numtrialrun": np.array([[6] * n_runs]),
        }
        write_matlab_73(folder / "DESIGNINFO.mat", about)
    else:
        np.save(path, betas)
    table = pd.DataFrame(
        {"trial_type": trials, "run": np.repeat(np.arange(1, n_runs + 1), 6)}
    )
    table.to_csv(folder / "betas.tsv", sep="\t", index=False)
    return path, betas


def _not_drawn(figure, path, **how):
    """Save a figure without drawing it."""
    Path(path).touch()


def write_nilearn(folder, *, runs=(1, 2, 3, 4), together=False, name="{}"):
    """What nilearn's save_glm_to_bids writes, of a fit to each run or to all."""
    from nilearn.glm import save_glm_to_bids
    from nilearn.glm.first_level import FirstLevelModel

    images, tables = [], []
    for run in runs:
        events = pd.DataFrame({"onset": 4.0 + 16 * np.arange(6), "duration": 4.0})
        events["trial_type"] = [*CONDITIONS, *CONDITIONS]
        data = 100 + RNG.normal(size=(*SHAPE, 56))
        for onset, kind in zip(events["onset"], events["trial_type"], strict=True):
            first = int((onset + 4) // 2)
            data[..., first : first + 3] += PATTERNS[kind][..., None]
        path = folder / f"in/sub-01/func/sub-01_task-x_run-{run}_space-T1w_bold.nii.gz"
        save(data, path)
        images.append(str(path))
        tables.append(events)
    mask = nibabel.Nifti1Image(np.ones(SHAPE, "uint8"), AFFINE)
    fits = [(images, tables)] if together else zip(images, tables, strict=True)
    for number, (img, table) in enumerate(fits, start=1):
        model = FirstLevelModel(2.0, mask_img=mask, minimize_memory=False)
        out = folder / "out" / name.format(number)
        names = [*CONDITIONS, "face - house"]
        with (
            mock.patch.object(FirstLevelModel, "generate_report", autospec=True),
            mock.patch("matplotlib.figure.Figure.savefig", _not_drawn),
        ):
            save_glm_to_bids(model.fit(img, table), names, out_dir=out)
    return folder / "out"


@pytest.fixture(scope="module")
def nilearns(tmp_path_factory):
    """Participants with fits of nilearn to each run ("apart"), and to all at once."""
    root = tmp_path_factory.mktemp("nilearn")
    write_nilearn(root / "of-apart", name="../../apart/sub-01/fit-{}")
    write_nilearn(root / "of-all", together=True, name="../../together/sub-01/fit")
    return root


def decoded(*given, **options):
    """Mean accuracy and the runs of a searchlight of ready betas."""
    light = IdentificationSearchLight(radius=5.0, bounds=None)
    light.fit_events(*given, samples="volumes", **options)
    return np.nanmean(light.region_scores_["accuracy"]), light


@pytest.mark.parametrize("compressed", [True, False])
def test_conditions_of_spm(tmp_path, compressed):
    path = write_spm(tmp_path / "spm", compressed=compressed)
    betas = load_betas(path)
    assert betas.events["trial_type"].tolist() == [*CONDITIONS] * 4
    assert betas.events["run"].tolist() == [r for r in "1234" for _ in CONDITIONS]
    numbers = [img[-8:-4] for img in betas.imgs]
    assert numbers[:4] == ["0001", "0003", "0005", "0014"]  # 13 regressors in a run
    assert load_betas(tmp_path).imgs == betas.imgs  # the folder above
    accuracy, light = decoded(path)
    assert accuracy > 0.8
    assert light.classes_.tolist() == [*CONDITIONS]
    first = light.origin_.sources["imgs"][0].path
    assert first.endswith("beta_0001.nii")  # what is hashed are the betas


def test_spm_of_version_73(tmp_path):
    write_spm(tmp_path)
    expected = load_betas(tmp_path)
    (tmp_path / "SPM.mat").unlink()
    content = {"xX": {"name": spm_names(4), "X": np.ones((2, 3))}}
    content["xBF"] = {"name": "hrf (with time derivative)"}
    write_matlab_73(tmp_path / "SPM.mat", {"SPM": content})
    found = load_betas(tmp_path)
    pd.testing.assert_frame_equal(found.events, expected.events)
    assert found.imgs == expected.imgs


def test_spm_without_a_response_is_refused(tmp_path):
    path = write_spm(tmp_path, basis="Finite Impulse Response")
    with pytest.raises(ValueError, match="'Finite Impulse Response', where no single"):
        load_betas(path)
    savemat(path, {"SPM": {"xX": {"name": ["Sn(1) R1", "Sn(1) constant"]}}})
    with pytest.raises(ValueError, match="no regressor of a condition"):
        load_betas(path)
    path.write_bytes(b"no file of MATLAB")
    with pytest.raises(ValueError, match="cannot be read as a MATLAB or HDF5 file"):
        load_betas(path)


@pytest.mark.parametrize("value", [0, 8, 12, 14, 255])
def test_wrong_sizes_and_types_in_an_spm_mat_are_refused(tmp_path, value):
    """Any of these can end the interpreter in scipy's reader, which trusts the file."""
    path = write_spm(tmp_path, n_runs=1, compressed=False)
    content = path.read_bytes()
    places = [at for at in range(128, 1200, 4) if content[at] != value]
    for at in places:
        path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        with contextlib.suppress(ValueError):  # a change of text may be read
            load_betas(path)
    path.write_bytes(content[: at - 100])
    with pytest.raises(ValueError, match=r"SPM\.mat cannot be read .*save it again"):
        load_betas(path)


def test_objects_and_functions_beside_the_names_are_read(tmp_path):
    """A struct array, an empty one, numbers with and without imaginary parts, cells."""
    path = write_spm(tmp_path, n_runs=1, compressed=False)
    expected = load_betas(path)
    more = {"VY": np.array([("a", 1.0)] * 3, dtype=[("fname", "O"), ("pinfo", "O")])}
    more |= {"none": np.zeros((0, 0)), "z": np.ones(3) * 1j, "s": sparse.eye_array(3)}
    more |= {"cells": np.array([np.ones(2), "b", {}], dtype=object), "t": True}
    content = loadmat(path, simplify_cells=True)["SPM"]
    content["xX"]["name"] = np.array(content["xX"]["name"], dtype=object)
    savemat(path, {"other": 3, "SPM": {**more, **content}})
    found = load_betas(path)
    pd.testing.assert_frame_equal(found.events, expected.events)


@pytest.mark.parametrize("contrasts", [True, False])
@pytest.mark.parametrize("standard", [True, False])
@pytest.mark.parametrize("deriv", [0, 1])
def test_conditions_of_feat(tmp_path, contrasts, standard, deriv):
    if standard and not contrasts:
        pytest.skip("featregapply moves copes")
    own = {}
    for run in (10, 2):
        options = {"contrasts": contrasts, "standard": standard, "deriv": deriv}
        own[run] = write_feat(tmp_path / f"run-{run}.feat", **options)
    betas = load_betas(str(tmp_path / "run-*.feat"))
    runs = ["run-2"] * 3 + ["run-10"] * 3
    assert betas.events["run"].tolist() == runs
    assert betas.events["trial_type"].tolist() == [*CONDITIONS] * 2
    for img, name, run in zip(betas.imgs, [*CONDITIONS] * 2, runs, strict=True):
        expected = own[int(run[4:])][name]
        found = nibabel.load(img).get_fdata()
        np.testing.assert_allclose(found, expected.astype("float32"))
        assert ("cope" in img, "reg_standard" in img) == (contrasts, standard)


@pytest.mark.parametrize(
    ("moved", "standard", "warned"), [(0, 0, 0), (2, 0, 0), (8, 0, 1), (8, 1, 0)]
)
def test_runs_of_feat_that_lie_apart(tmp_path, moved, standard, warned):
    for run in (1, 2):
        folder = tmp_path / f"run-{run}.feat"
        write_feat(folder, standard=bool(standard))
        (folder / "reg").mkdir()
        matrix = np.eye(4)
        matrix[0, 3] = moved * run
        np.savetxt(folder / "reg/example_func2standard.mat", matrix)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        load_betas(str(tmp_path / "run-*.feat"))
    words = [str(each.message) for each in told]
    assert sum(f"up to {moved} mm" in text for text in words) == warned == len(words)


def test_what_is_no_first_level_of_feat(tmp_path):
    write_feat(tmp_path)
    design = tmp_path / "design.fsf"
    text = design.read_text()
    for old, new, message in (
        ("set fmri(level) 1", "set fmri(level) 2", "give the .feat folder of every"),
        ("(convolve2) 3", "(convolve2) 6", "'house' has several basis functions"),
        ("(evs_real) 6", "(evs_real) 7", "EVs make 6 columns of 7"),
    ):
        design.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=message):
            load_betas(tmp_path)


@pytest.mark.parametrize("ending", ["hdf5", "mat", "npy"])
def test_trials_of_glmsingle(tmp_path, ending):
    path, expected = write_glmsingle(tmp_path, ending=ending)
    betas = load_betas(path)
    np.testing.assert_array_equal(betas.imgs[0].get_fdata(), expected)
    np.testing.assert_array_equal(betas.imgs[0].affine, AFFINE)
    assert betas.events["run"].tolist() == np.repeat([1, 2, 3, 4], 6).tolist()
    assert betas.events["trial_type"].tolist()[:4] == ["face", "house", "word", "word"]
    accuracy, light = decoded(path)
    assert accuracy > 0.8
    assert light.origin_.sources["imgs"][0].path == str(path)
    (tmp_path / "betas.tsv").unlink()
    if ending == "mat":  # conditions by their numbers
        numbers = load_betas(tmp_path).events
        assert numbers["trial_type"].tolist()[:4] == ["1", "2", "3", "3"]
        assert numbers["run"].tolist() == np.repeat(list("1234"), 6).tolist()
        return
    with pytest.raises(ValueError, match="does not say what its trials are of"):
        load_betas(path)
    short = pd.DataFrame({"trial_type": ["face"] * 23, "run": 1})
    with pytest.raises(ValueError, match="has 23 rows for 24 trials"):
        load_betas(path, short)


class _Trap:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(tmp_path):
    path, _ = write_glmsingle(tmp_path, ending="npy")
    np.save(path, np.array({"betasmd": _Trap()}, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"pickled dict.*wanthdf5=1.*numpy\.save"):
        load_betas(path)


def test_without_h5py(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "h5py", None)
    path, mask = tmp_path / "a.hdf5", tmp_path / "mask.nii.gz"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(600))
    save(np.ones(SHAPE), mask)
    assert main(["searchlight", "--imgs", str(path), str(tmp_path / "out")]) == 2
    assert "python -m pip install h5py" in capsys.readouterr().err


def test_arrays_that_lie_nowhere(tmp_path):
    path, betas = write_glmsingle(tmp_path, ending="npy")
    np.save(path, betas.reshape(-1, 1, 1, betas.shape[-1]))
    with pytest.raises(ValueError, match="in which order voxels were listed"):
        load_betas(path)
    np.save(path, betas[..., 0])
    with pytest.raises(ValueError, match="no betas of x, y, z and trials"):
        load_betas(path)
    np.save(path, betas)
    (tmp_path / "mask.nii.gz").unlink()
    with pytest.raises(ValueError, match="does not say where its voxels are"):
        load_betas(path)


@pytest.mark.filterwarnings("ignore")  # of nilearn's own fits and pages
def test_fits_of_nilearn(nilearns):
    betas = load_betas(nilearns / "apart")
    assert betas.events["trial_type"].tolist() == [*CONDITIONS] * 4
    assert betas.events["run"].tolist() == np.repeat(list("1234"), 3).tolist()
    accuracy, light = decoded(nilearns / "apart")
    assert accuracy > 0.8
    assert light.results_.n_test == 12
    one = load_betas(nilearns / "together").events  # a fit to four runs is one sample
    assert one["run"].nunique() == 1
    assert one["trial_type"].tolist() == [*CONDITIONS]
    with pytest.raises(ValueError, match="are of the same run, which would be tested"):
        load_betas([nilearns])


def test_tables_name_betas(tmp_path):
    path = write_spm(tmp_path / "spm")
    table = pd.DataFrame({"name": ["word", "face"], "trial_type": ["text", "picture"]})
    found = load_betas(path, table).events
    assert found["trial_type"].tolist() == ["picture", "", "text"] * 4
    own = pd.DataFrame(
        {"name": "face", "run": ["1", "2"], "trial_type": ["first", "second"]}
    )
    found = load_betas(path, own).events
    assert found["trial_type"].tolist() == ["first", "", "", "second", *[""] * 8]
    with pytest.raises(ValueError, match="there is no cat"):
        load_betas(path, table.assign(name=["word", "cat"]))
    with pytest.raises(ValueError, match="one is there twice"):
        load_betas(path, table.assign(name=["word", "word"]))
    with pytest.raises(ValueError, match=r"no column name.*face, house, word"):
        load_betas(path, table.drop(columns="name"))


def test_images_need_events():
    light = IdentificationSearchLight("mask.nii.gz")
    with pytest.raises(ValueError, match="events is missing: only the models of SPM"):
        light.fit_events("bold.nii.gz")


def test_two_models_of_the_same_runs(tmp_path):
    """What lies beside one another by habit is no further data."""
    for name in ("glm-a", "glm-b"):
        write_spm(tmp_path / "spm" / name, n_runs=2)
    with pytest.raises(ValueError, match=r"several models.*glm-a.*name one, or list"):
        load_betas(tmp_path / "spm")
    both = [tmp_path / "spm" / name for name in ("glm-a", "glm-b")]
    assert load_betas(both).events["run"].unique().tolist() == [
        *("1-1", "1-2", "2-1", "2-2")  # as they were named one by one
    ]
    for session in "12":
        write_spm(tmp_path / f"sessions/ses-{session}", n_runs=2)
    assert load_betas(tmp_path / "sessions").events["run"].nunique() == 4
    for name in ("a", "b"):
        write_feat(tmp_path / f"feat/run-1_model-{name}.feat", series="run-1")
    with pytest.raises(ValueError, match=r"are of the same run, .*\(/data/run-1\)"):
        load_betas(tmp_path / "feat")
    write_glmsingle(tmp_path / "feat/glm", ending="npy")
    with pytest.raises(ValueError, match="several models"):
        load_betas(tmp_path / "feat")
    with pytest.raises(ValueError, match="models of several programs"):
        load_betas([*both, tmp_path / "feat/glm"])
    names = pd.DataFrame({"name": ["face"], "trial_type": ["f"]})
    with pytest.raises(ValueError, match="events must be one table"):
        load_betas(both, [names, names])


def test_folders_without_models(tmp_path):
    with pytest.raises(ValueError, match=r"has no SPM.mat, design\.fsf"):
        load_betas(tmp_path)


@pytest.mark.parametrize("program", ["spm", "feat", "glmsingle"])
def test_command_line(tmp_path, program, capsys):
    if program == "spm":
        words = [str(write_spm(tmp_path / "spm"))]
    elif program == "feat":
        for run in (1, 2, 3, 4):
            write_feat(tmp_path / f"run-{run}.feat")
        words = [str(tmp_path / f"run-{run}.feat") for run in (1, 2, 3, 4)]
    else:
        words = [str(write_glmsingle(tmp_path, ending="npy")[0])]
    out = tmp_path / "out"
    given = ["searchlight", "--imgs", *words, "--radius", "5", "--quiet"]
    assert main([*given, "--n-permutations", "10", str(out)]) == 0
    light = IdentificationSearchLight.from_directory(out)
    assert light.classes_.tolist() == [*CONDITIONS]
    assert np.nanmean(light.region_scores_["accuracy"]) > 0.8
    assert main(["check", "--imgs", *words, "--radius", "5", "--quiet"]) == 0
    assert main(["searchlight", "--imgs", "a.nii", "--quiet", str(out / "b")]) == 2
    assert "events is missing" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")  # of nilearn's own fits and pages
@pytest.mark.parametrize("program", ["spm", "feat", "glmsingle", "nilearn"])
def test_participants(tmp_path, program, request):
    from neuroextrap.cohorts import analyze_participants

    fits = tmp_path / "fits"
    own = fits / "sub-01"
    if program == "spm":
        write_spm(own)
    elif program == "feat":
        for run in (1, 2, 3, 4):
            write_feat(own / f"run-{run}.feat")
    elif program == "glmsingle":
        write_glmsingle(own, ending="npy")
    else:
        fits = request.getfixturevalue("nilearns") / "apart"
    light = IdentificationSearchLight(radius=5.0)
    given = {"analysis": light, "samples": "betas", "confounds": (), "report": False}
    planned = analyze_participants(fits, tmp_path / "o", **given, dry_run=True)
    assert planned["reason"].tolist() == [""]
    found = analyze_participants(fits, tmp_path / "out", **given)
    assert found[["status", "n_runs"]].to_numpy().tolist() == [["done", 4]]
    fitted = IdentificationSearchLight.from_directory(tmp_path / "out" / "sub-01")
    assert np.nanmean(fitted.region_scores_["accuracy"]) > 0.8
    again = analyze_participants(fits, tmp_path / "out", **given)
    assert again["status"].tolist() == ["skipped"]


@pytest.mark.filterwarnings("ignore")  # of nilearn's own fits and pages
def test_one_fit_to_all_runs_says_so(nilearns):
    with pytest.raises(ValueError, match=r"of one fit, .* fit every run by itself"):
        find_betas(nilearns / "together", "01", {}, {})
