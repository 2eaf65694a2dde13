"""Every piece of Python and every command that the documentation shows does run."""

import importlib.util
import re
import shlex
import textwrap
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from sklearn.utils import Bunch

from neuroextrap import datasets
from neuroextrap.decoding import IdentificationSearchLight
from tests.seam import Report, build_parser, photo_patches

ROOT = Path(__file__).resolve().parents[1]
MADE = {"_build", "auto_examples", "generated"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.rst"))]
PAGES = [page for page in PAGES if not MADE & set(page.parts)]
PYTHON = {
    ".rst": re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.M),
    ".md": re.compile(r"^```python\n((?:.*\n)*?)^```", re.M),
}
NAMES = (
    "demo|bids|searchlight|merge|encoding|compare|multiverse|learning-curve|group"
    "|continuous"
)
COMMANDS = re.compile(rf"^ *(neuroextrap (?:{NAMES}) (?:[^\n\\]|\\\n)*)", re.M)


def name(page):
    return page.relative_to(ROOT).as_posix()


def snippets(page):
    """Source of every block of Python."""
    found = PYTHON[page.suffix].findall(page.read_text(encoding="utf-8"))
    return [textwrap.dedent(block) for block in found]


WITH_PYTHON = [page for page in PAGES if snippets(page)]


def volumes(rows):
    """Images of some samples x 60 voxels."""
    data = np.asarray(rows, dtype=np.float32).T.reshape(5, 4, 3, -1)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = 28, -54, -21  # around the place that pages ask for
    return nibabel.Nifti1Image(data, affine)


def decoding_data(seed=0):
    """Four classes in six runs."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    X = rng.normal(size=(4, 60))[y] + 0.5 * rng.normal(size=(24, 60))
    return {"imgs": volumes(X), "y": y, "runs": runs}


def coarse_brain(*, resolution, radius, whole=datasets.simulate_brain):
    """Simulate as a page does, but with an eighth of the voxels, to be quick."""
    return whole(resolution=2 * resolution, radius=1.3 * radius)


@pytest.fixture
def reader(tmp_path, monkeypatch, undrawn):
    """What a reader of a page has at hand: variables by name, and files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Report, "open_in_browser", lambda self: None)
    monkeypatch.setattr(datasets, "simulate_brain", coarse_brain)
    _offer_haxby(tmp_path, monkeypatch)
    mask_img = nibabel.Nifti1Image(
        np.ones((5, 4, 3), dtype=np.int8), volumes([]).affine
    )
    nibabel.save(mask_img, "mask.nii.gz")
    return {"mask_img": mask_img, **decoding_data()}


def _offer_haxby(folder, monkeypatch):
    """Files like those that nilearn downloads, without the network."""
    rng = np.random.default_rng(0)
    labels = np.tile(["rest", "face", "cat", "house"], 12)
    table = pd.DataFrame({"labels": labels, "chunks": np.repeat(np.arange(6), 8)})
    table.to_csv(folder / "labels.txt", sep=" ", index=False)
    codes = np.unique(labels, return_inverse=True)[1]
    X = rng.normal(size=(4, 60))[codes] + rng.normal(size=(48, 60))
    nibabel.save(volumes(X), folder / "bold.nii.gz")

    def fetch_haxby():
        return Bunch(
            func=[str(folder / "bold.nii.gz")],
            mask=str(folder / "mask.nii.gz"),
            session_target=[str(folder / "labels.txt")],
        )

    monkeypatch.setattr("nilearn.datasets.fetch_haxby", fetch_haxby)


def _of_encoding(known):
    images = photo_patches(60, size=16, random_state=0)
    responses = np.random.default_rng(0).normal(size=(60, 60))
    train, test = np.arange(60) < 40, np.arange(60) >= 40
    few = np.zeros((5, 4, 3), dtype=np.int8)
    few[:2, :2, :2] = 1
    known["mask_img"] = nibabel.Nifti1Image(few, known["mask_img"].affine)
    known |= {"images": images, "train": train, "test": test}
    known["runs"] = np.repeat(np.arange(6), 10)
    known |= {
        "imgs_train": volumes(responses[:40]),
        "imgs_test": volumes(responses[40:]),
    }
    rng = np.random.default_rng(1)
    known["film_features"] = [rng.normal(size=(80, 3)) for _ in range(6)]
    known["film_imgs"] = [volumes(rng.normal(size=(80, 60))) for _ in range(6)]
    for img in known["film_imgs"]:
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = 2.0


def _of_extrapolation(known):
    problem = datasets.BivariateNormalProblem(0.9)
    known["margins"], known["y_true"] = problem.sample(n_classes=20, n_repeats=2)


def _of_groups(known):
    subjects = [f"sub-{k}" for k in range(5)]
    data = {subject: decoding_data(seed) for seed, subject in enumerate(subjects)}
    for key in ("imgs", "y", "runs"):
        known[key] = {subject: data[subject][key] for subject in subjects}
    fitted = [
        IdentificationSearchLight(known["mask_img"]).fit(d["imgs"], d["y"], d["runs"])
        for d in data.values()
    ]
    known["accuracy_maps"] = [light.maps_["accuracy"] for light in fitted]
    known |= {"subjects": subjects, "group_mask": known["mask_img"]}
    rng = np.random.default_rng(0)
    for name, n_subjects in (("faces", 15), ("words", 15)):
        known[name] = [volumes(rng.normal(size=60)) for _ in range(n_subjects)]
    known |= {"age": rng.normal(size=15), "motion": rng.normal(size=15)}
    known["is_patient"] = np.arange(15) % 2


def _of_cohorts(known):
    """Derivatives of one who saw pictures, and a table of their features."""
    path = ROOT / "tests" / "cohorts" / "conftest.py"
    spec = importlib.util.spec_from_file_location("cohort_files", path)
    files = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(files)
    files.make_stimulus_dataset(Path(), ["01"])
    Path("layer.tsv").rename("layer5.tsv")


def _of_learning_curves(known):
    from neuroextrap.learning_curves import simulate_hierarchical_scans

    data = simulate_hierarchical_scans(n_subjects=6, n_features=40)
    known |= {"X": data.X, "labels": data.coarse, "subjects": data.groups}


def _of_time(known):
    rng = np.random.default_rng(0)
    known["y"], known["runs"] = np.tile(np.arange(4), 18), np.repeat(np.arange(6), 12)
    known["trials"] = rng.normal(size=(72, 5, 8))
    known["times"] = np.linspace(-0.1, 0.6, 8)
    later = known["times"] > 0.1
    known["trials"][:, :, later] += rng.normal(size=(4, 5, 1))[known["y"]]


def _of_targets(known):
    known["targets"] = np.random.default_rng(0).normal(size=(24, 3))
    known["y"] = np.random.default_rng(1).permuted(known["y"].reshape(6, 4), axis=1)
    known["y"] = known["y"].ravel()


def _of_cross(known):
    """Betas of six objects that were seen and imagined in every run."""
    rng = np.random.default_rng(0)
    objects = np.concatenate([rng.permutation(6) for _ in range(8)])
    X = rng.normal(size=(6, 60))[objects] + rng.normal(size=(48, 60))
    known |= {"betas": volumes(X), "objects": objects, "runs": np.arange(48) // 12}
    known["tasks"] = np.tile(np.repeat(["see", "imagine"], 6), 4)


def _of_recipes(known):
    """Betas as several packages write them, an atlas, trials over time, scores."""
    rng = np.random.default_rng(0)
    data, affine = known["imgs"].get_fdata(), known["imgs"].affine
    names = ["face", "house", "cat", "shoe"]
    for number in range(24):
        img = nibabel.Nifti1Image(data[..., number], affine)
        feat = Path(f"run-{number // 4 + 1}.feat")
        (feat / "stats").mkdir(parents=True, exist_ok=True)
        Path("spm").mkdir(exist_ok=True)
        nibabel.save(img, f"spm/beta_{number + 1:04}.nii")
        nibabel.save(img, feat / f"stats/pe{number % 4 + 1}.nii.gz")
        evs = {f"evtitle{i}": name for i, name in enumerate(names, start=1)}
        design = {"evs_orig": 4, "evs_real": 4, **evs}
        lines = [f"set fmri({key}) {value}" for key, value in design.items()]
        (feat / "design.fsf").write_text("\n".join(lines))
        ones = nibabel.Nifti1Image(np.ones((5, 4, 3), "uint8"), affine)
        for mask in ("spm/mask.nii", feat / "mask.nii.gz"):
            nibabel.save(ones, mask)
    regressors = [f"Sn({k}) {name}*bf(1)" for k in range(1, 7) for name in names]
    model = {"xX": {"name": np.array(regressors, dtype=object)}}
    savemat("spm/SPM.mat", {"SPM": model})
    labels = np.repeat([1, 2], 30).reshape(5, 4, 3).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(labels, affine), "atlas.nii.gz")
    Path("atlas.tsv").write_text("index\tname\n1\tV1\n2\tV2\n")
    known["ratings"] = rng.normal(size=24)
    known["trials"] = rng.normal(size=(24, 5, 8))
    known["times"] = np.linspace(-0.1, 0.6, 8)
    known["reaction_times"] = rng.normal(size=24)
    known["scores"] = np.eye(30) + rng.normal(size=(30, 30))


def _of_readme(known):
    """Series and BIDS events of six runs, and a mask of a few voxels."""
    few = np.zeros((5, 4, 3), dtype=np.int8)
    few[:4, :2, :2] = 1
    nibabel.save(nibabel.Nifti1Image(few, known["mask_img"].affine), "mask.nii.gz")
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(4, 60))
    for run in range(1, 7):
        order = rng.permutation(4)
        X = 0.1 * rng.normal(size=(60, 60))
        for trial, code in enumerate(order):
            X[15 * trial + 2 : 15 * trial + 8] += patterns[code]
        img = volumes(X)
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = 2.0
        nibabel.save(img, f"run-{run}_bold.nii.gz")
        names = np.array(["cat", "face", "house", "shoe"])[order]
        events = {"onset": 30.0 * np.arange(4), "duration": 4.0, "trial_type": names}
        pd.DataFrame(events).to_csv(f"run-{run}_events.tsv", sep="\t", index=False)


def _of_confounds(known):
    """Betas of two conditions with reaction times."""
    rng = np.random.default_rng(0)
    conditions = np.concatenate([rng.permutation(np.repeat([0, 1], 8)) for _ in "abcd"])
    known |= {"betas": volumes(rng.normal(size=(64, 60))), "conditions": conditions}
    known["runs"] = np.arange(64) // 16
    known["reaction_times"] = rng.normal(size=64)


def _of_predictions(known):
    """Betas with names of classes, and new ones."""
    names = np.array(["cat", "face", "house", "shoe"])
    known["betas"], known["y"] = known["imgs"], names[known["y"]]
    new = decoding_data(1)
    known |= {"new_betas": new["imgs"], "new_y": names[new["y"]]}
    known["X"] = known["imgs"].get_fdata().reshape(60, -1).T


def _of_discoveries(known):
    """An area, and an atlas with names."""
    labels = np.repeat([1, 2], 30).reshape(5, 4, 3).astype(np.int16)
    area = nibabel.Nifti1Image(labels % 2, known["mask_img"].affine)
    atlas = nibabel.Nifti1Image(labels, known["mask_img"].affine)
    nibabel.save(area, "ventral_temporal.nii.gz")
    known |= {"area_img": area, "labels_img": Bunch(maps=atlas, labels=["V1", "V2"])}


def _of_comparisons(known):
    """Half of the trials of every run attended; two sessions."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(4), 12)
    X = rng.normal(size=(4, 60))[y] + 0.5 * rng.normal(size=(48, 60))
    known |= {"imgs": volumes(X), "y": y, "runs": np.repeat(np.arange(6), 8)}
    known["cue"] = np.tile(np.repeat(["attend", "ignore"], 4), 6)
    for seed, session in enumerate(("monday", "friday")):
        data = decoding_data(seed)
        light = IdentificationSearchLight(known["mask_img"])
        known[session] = light.fit(data["imgs"], data["y"], 10 * seed + data["runs"])


SETUP = {
    "docs/guide/confounds.rst": _of_confounds,
    "docs/guide/predictions.rst": _of_predictions,
    "docs/guide/comparisons.rst": _of_comparisons,
    "docs/guide/discoveries.rst": _of_discoveries,
    "README.md": _of_readme,
    "docs/recipes.rst": _of_recipes,
    "docs/guide/cross.rst": _of_cross,
    "docs/guide/cohorts.rst": _of_cohorts,
    "docs/guide/encoding.rst": _of_encoding,
    "docs/guide/extrapolation.rst": _of_extrapolation,
    "docs/guide/group.rst": _of_groups,
    "docs/guide/learning_curves.rst": _of_learning_curves,
    "docs/guide/targets.rst": _of_targets,
    "docs/guide/time.rst": _of_time,
}


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
@pytest.mark.filterwarnings("ignore:.* leave p_value_prevalence:UserWarning")
def test_python_on_a_page_runs_from_top_to_bottom(page, reader, capsys):
    SETUP.get(name(page), lambda known: None)(reader)
    for number, source in enumerate(snippets(page), 1):
        code = compile(source, f"{name(page)}, block {number}", "exec")
        exec(code, reader)
    if "outcomes" in reader:  # of participants
        assert set(reader["outcomes"]["status"]) == {"done"}


def test_pages_with_python_are_found():
    assert {name(page) for page in WITH_PYTHON} >= {"README.md", "docs/first_map.rst"}
    assert set(SETUP) <= {name(page) for page in WITH_PYTHON}


def commands(page):
    """Words of every command line, placeholders left out."""
    found = COMMANDS.findall(page.read_text(encoding="utf-8"))
    return [shlex.split(command.replace("\\\n", " "))[1:] for command in found]


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=name)
def test_commands_on_a_page_are_understood(page):
    for words in commands(page):
        if not {"--help", "--help-all"} & set(words):
            assert callable(build_parser().parse_args(words).run)


def _examples():
    """Commands in the examples of every command's help."""
    parsers = next(
        action.choices
        for action in build_parser()._actions
        if action.metavar == "COMMAND"
    )
    for command, parser in parsers.items():
        for found in COMMANDS.findall(parser.epilog):
            words = shlex.split(found.replace("\\\n", " ").partition("   (")[0])
            yield pytest.param(words[1:], id=f"{command}-{len(found)}")


@pytest.mark.parametrize("words", list(_examples()))
def test_examples_of_the_help_are_understood(words):
    if "..." not in words:
        assert callable(build_parser().parse_args(words).run)
