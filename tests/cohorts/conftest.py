"""A small data set as fMRIPrep leaves it: eight subjects, two with faults."""

import functools
import json
import shutil

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cohorts import analyze_participants
from neuroextrap.decoding import IdentificationSearchLight

SHAPE, T_R, N_VOLUMES = (4, 4, 3), 2.0, 64
AFFINE = np.diag([3.0, 3, 3, 1])
SPACE = "MNI152NLin2009cAsym"
CONDITIONS = ("cat", "chair", "face", "house")
MOTION = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
OPTIONS = {"samples": "blocks", "delay": 4.0, "confounds": (), "report": False}


def analyze(derivatives, out, light=None, **options):
    """Outcomes of a searchlight of blocks without bounds, unless asked otherwise."""
    light = {"radius": 4.0, "bounds": None, **(light or {})}
    given = {"analysis": IdentificationSearchLight(**light), **OPTIONS, **options}
    return analyze_participants(derivatives, out, **given)


def save(data, path, t_r=None):
    img = nibabel.Nifti1Image(data, AFFINE)
    if t_r is not None:
        img.header.set_xyzt_units("mm", "sec")
        img.header["pixdim"][4] = t_r
    path.parent.mkdir(parents=True, exist_ok=True)
    img.to_filename(path)


def confounds_of(rng):
    """Confounds of fMRIPrep: motion with derivatives, squares; volume 0 not steady."""
    motion = pd.DataFrame(
        rng.normal(size=(N_VOLUMES, 6)).cumsum(axis=0), columns=MOTION
    )
    table = motion.copy()
    for name in MOTION:
        table[f"{name}_derivative1"] = motion[name].diff()
        table[f"{name}_power2"] = motion[name] ** 2
        table[f"{name}_derivative1_power2"] = motion[name].diff() ** 2
    table["csf"], table["white_matter"] = rng.normal(size=(2, N_VOLUMES))
    table["non_steady_state_outlier00"] = np.eye(1, N_VOLUMES)[0]
    return table, motion.to_numpy()


def describe(root, name, **more):
    """Describe a raw data set and its derivatives, whose folder is returned."""
    derivatives = root / "derivatives" / "fmriprep"
    derivatives.mkdir(parents=True)
    for folder, own in ((root, name), (derivatives, "fMRIPrep")):
        about = {"Name": own, "BIDSVersion": "1.8.0", **more}
        (folder / "dataset_description.json").write_text(json.dumps(about))
    return derivatives


def save_run(folder, start, rng, data, confounds, *, moved, t_r=None, mask=None):
    """Save a series that the head's motion changes, its mask and its confounds."""
    table, motion = confounds
    by_motion = rng.normal(size=(6, *SHAPE)) * moved
    data += np.einsum("tc,cxyz->xyzt", motion, by_motion)
    end = f"space-{SPACE}_desc-"
    bold = folder / f"{start}_{end}preproc_bold.nii.gz"
    save(data.astype("float32"), bold, t_r)
    mask = np.ones(SHAPE, "uint8") if mask is None else mask
    save(mask, folder / f"{start}_{end}brain_mask.nii.gz")
    name = f"{start}_desc-confounds_timeseries.tsv"
    table.to_csv(folder / name, sep="\t", index=False, na_rep="n/a")
    return bold


def make_run(folder, raw, start, rng, patterns, names):
    """One run: eight trials, each pattern twice, moved by the head's motion."""
    confounds = confounds_of(rng)
    order = rng.permutation(8) % 4
    events = pd.DataFrame({"onset": 4.0 + 14.0 * np.arange(8), "duration": 6.0})
    events["trial_type"] = [names[k] for k in order]
    data = 100 + rng.normal(size=(*SHAPE, N_VOLUMES))
    for onset, k in zip(events["onset"], order, strict=True):
        first = int((onset + 5) // T_R)
        data[..., first : first + 3] += patterns[k][..., None]
    mask = np.ones(SHAPE, "uint8")
    mask[0, 0, 0] = 0
    how = {"moved": 1 / 4, "t_r": T_R, "mask": mask}
    bold = save_run(folder, start, rng, data, confounds, **how)
    sidecar = bold.with_name(bold.name.replace(".nii.gz", ".json"))
    sidecar.write_text(json.dumps({"RepetitionTime": T_R}))
    raw.mkdir(parents=True, exist_ok=True)
    events.to_csv(raw / f"{start}_events.tsv", sep="\t", index=False)


def make_dataset(root, labels):
    """Raw events and derivatives; 03 lacks a run, 05 and 06 have odd events.

    Three runs of 05 have an event after the last volume, so that one run is left.
    """
    about = {"License": "CC0", "Authors": ["First Author", "Second Author"]}
    derivatives = describe(root, "Objects", DatasetDOI="doi:10.1/x", **about)
    for folder in (root, derivatives):
        (folder / "README").write_text("Simulated, for tests.\n")
    for label in labels:
        rng = np.random.default_rng(int(label))
        patterns = rng.normal(size=(4, *SHAPE)) * 3
        names = ("dog", *CONDITIONS[1:]) if label == "06" else CONDITIONS
        for run in range(1, 4 if label == "03" else 5):
            own = f"sub-{label}/func"
            start = f"sub-{label}_task-objects_run-{run}"
            make_run(derivatives / own, root / own, start, rng, patterns, names)
    if "05" in labels:
        for run in (2, 3, 4):
            path = root / f"sub-05/func/sub-05_task-objects_run-{run}_events.tsv"
            events = pd.read_csv(path, sep="\t")
            events.loc[7, "onset"] = 500.0
            events.to_csv(path, sep="\t", index=False)
    return derivatives


def stimulus_run(folder, raw, start, rng, shown, responses):
    """One run of eight pictures, each followed by a button press."""
    confounds = confounds_of(rng)
    onset = 4.0 + 14.0 * np.arange(8)
    rows = {"onset": onset, "duration": 4.0, "trial_type": "picture"}
    events = pd.DataFrame({**rows, "stim_file": [f"pictures/{s}.png" for s in shown]})
    press = events.assign(onset=onset + 7.0, duration=0.5, trial_type="press")
    press["stim_file"] = "n/a"
    events = pd.concat([events, press]).sort_values("onset")
    number = int(start[-1])
    events["set"] = np.where(events["stim_file"] == "n/a", "n/a", SETS[number - 1])
    data = 100 + rng.normal(size=(*SHAPE, N_VOLUMES)) / 2
    for first, response in zip(onset, responses, strict=True):
        at = int((first + 5) // T_R)
        data[..., at : at + 3] += response[..., None]
    save_run(folder, start, rng, data, confounds, moved=1 / 8, t_r=T_R)
    raw.mkdir(parents=True, exist_ok=True)
    events.to_csv(raw / f"{start}_events.tsv", sep="\t", index=False)


SETS = ("train", "train", "train", "test")


def make_stimulus_dataset(root, labels):
    """Participants who saw 32 pictures, and a table of the pictures' features."""
    derivatives = describe(root, "Pictures")
    rng = np.random.default_rng(0)
    names = [f"p{number:02d}" for number in range(32)]
    features = pd.DataFrame(rng.normal(size=(32, 3)), index=names)
    features.to_csv(root / "layer.tsv", sep="\t", index_label="stimulus")
    for label in labels:
        rng = np.random.default_rng(100 + int(label))
        weights = rng.normal(size=(3, *SHAPE)) * 2
        responses = np.einsum("sf,fxyz->sxyz", features.to_numpy(), weights)
        for run in range(4):
            order = 8 * run + rng.permutation(8)
            own = f"sub-{label}/func"
            start = f"sub-{label}_task-pictures_run-{run + 1}"
            shown = [names[k] for k in order]
            stimulus_run(
                derivatives / own, root / own, start, rng, shown, responses[order]
            )
    return derivatives


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Folder of derivatives of three who saw pictures; not to be changed."""
    root = tmp_path_factory.mktemp("pictures") / "raw"
    return make_stimulus_dataset(root, ["01", "02", "03"])


@pytest.fixture(scope="session")
def two(tmp_path_factory):
    """Return a function: how to make a data set -> the raw folder of two, made once."""

    @functools.cache
    def made(make):
        root = tmp_path_factory.mktemp("two") / "raw"
        make(root, ["01", "02"])
        return root

    return made


@pytest.fixture
def copy_of_two(two, tmp_path):
    """Return a function: how to make a data set -> its derivatives, to be changed."""

    def copied(make):
        root = shutil.copytree(two(make), tmp_path / "raw")
        return root / "derivatives" / "fmriprep"

    return copied


@pytest.fixture
def few_pictures(copy_of_two):
    """Folder of derivatives of two who saw pictures, to be changed."""
    return copy_of_two(make_stimulus_dataset)


def save_betas(kind, root):
    """Beta images of two subjects: a series with a table, and maps of single runs."""
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(4, *SHAPE)) * 2
    for label in ("01", "02"):
        func = root / f"sub-{label}" / "func"
        start, end = f"sub-{label}_task-objects", f"space-{SPACE}"
        mask = np.ones(SHAPE, "uint8")
        save(mask, func / f"{start}_{end}_desc-brain_mask.nii.gz")
        data, rows = [], []
        for run in (1, 2, 3, 4):
            for k, name in enumerate(CONDITIONS):
                beta = patterns[k] + rng.normal(size=SHAPE)
                data.append(beta)
                rows.append((name, run))
                own = f"run-{run}_{end}_contrast-{name}_stat-effect_statmap.nii.gz"
                save(beta, func / f"{start}_{own}")
        if kind == "series":
            for path in func.glob("*_statmap.nii.gz"):
                path.unlink()
            save(np.stack(data, axis=-1), func / f"{start}_{end}_betas.nii.gz")
            table = pd.DataFrame(rows, columns=["trial_type", "run"])
            name = f"{start}_{end}_betas.tsv"
            table.to_csv(func / name, sep="\t", index=False)
    return root


@pytest.fixture
def betas(tmp_path):
    """Return a function that saves beta images, as a "series" or as "maps"."""
    return lambda kind: save_betas(kind, tmp_path / f"betas_{kind}")


@pytest.fixture(scope="session")
def cohort(tmp_path_factory):
    """Folder of derivatives of eight subjects; not to be changed."""
    labels = [f"{i:02d}" for i in range(1, 9)]
    return make_dataset(tmp_path_factory.mktemp("cohort") / "raw", labels)


@pytest.fixture
def forty(tmp_path):
    """Folder of derivatives of forty subjects."""
    return make_dataset(tmp_path / "raw", [f"{i:02d}" for i in range(1, 41)])


@pytest.fixture
def pair(copy_of_two):
    """Folder of derivatives of two subjects, to be changed."""
    return copy_of_two(make_dataset)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Two sessions, two spaces, copies, text covariates, one damaged participant."""
    labels = [f"{k}" for k in range(11, 19)]
    root = tmp_path_factory.mktemp("tree") / "raw"
    derivatives = make_dataset(root, labels)
    for top in (root, derivatives):
        for path in sorted(top.glob("sub-*/func/*_run-*")):
            run = int(path.name.partition("_run-")[2][0])
            session, run = (run + 1) // 2, 2 - run % 2
            name = path.name.replace("_task", f"_ses-{session}_task")
            folder = path.parents[1] / f"ses-{session}" / "func"
            folder.mkdir(parents=True, exist_ok=True)
            start, _, rest = name.partition("_run-")
            path.rename(folder / f"{start}_run-{run}{rest[1:]}")
    for path in derivatives.rglob("*_bold.nii.gz"):
        for new in (
            path.name.replace(SPACE, "T1w"),
            path.name.replace("_space", "_echo-1_space"),
        ):
            shutil.copy(path, path.with_name(new))
    for path in derivatives.glob("sub-18/ses-*/func/*_bold.nii.gz"):
        path.write_bytes(path.read_bytes()[:2000])
    table = {"participant_id": [f"sub-{label}" for label in labels]}
    table |= {"group": ["patient", "control"] * 4, "age": [*"33445566"]}
    frame = pd.DataFrame(table).replace({"age": {"6": "60"}})
    frame.to_csv(root / "participants.tsv", sep="\t", index=False)
    return derivatives


def make_films(root, labels):
    """Participants who saw three films, the last one twice, and a folder of features.

    Of volumes (motion) and of words with times; the films' runs have their entities.
    """
    derivatives, features = describe(root, "Films"), root / "features"
    features.mkdir()
    rng, shown = np.random.default_rng(0), []
    for film in range(3):
        X = rng.normal(size=(N_VOLUMES, 3))
        words = pd.DataFrame({"onset": T_R * np.arange(N_VOLUMES), "rate": X[:, 2]})
        for run in ((1,), (2,), (3, 4))[film]:
            np.save(features / f"task-film_run-{run}_motion.npy", X[:, :2])
            path = features / f"task-film_run-{run}_words.tsv"
            words.to_csv(path, sep="\t", index=False)
        shown += [X] * (1 + (film == 2))
    for label in labels:
        rng = np.random.default_rng(200 + int(label))
        weights = 3 * rng.normal(size=(3, *SHAPE))
        for run, X in enumerate(shown, start=1):
            confounds = confounds_of(rng)
            data = 100 + rng.normal(size=(*SHAPE, N_VOLUMES))
            data[..., 2:] += np.einsum("tf,fxyz->xyzt", X[:-2], weights)
            data[..., 0] += 1000  # not steady
            func = derivatives / f"sub-{label}/func"
            start = f"sub-{label}_task-film_run-{run}"
            save_run(func, start, rng, data, confounds, moved=1 / 4, t_r=T_R)
    return derivatives


@pytest.fixture
def films(copy_of_two):
    """Folder of derivatives of two who saw films, to be changed."""
    return copy_of_two(make_films)
