"""Betas that other programs estimated, read where they lie, behind one door."""

import logging
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from neuroextrap.images._bids_names import RUN_KEYS, label_key, loose_entities
from neuroextrap.images._events import read_events, read_runs
from neuroextrap.images._fit_formats import (
    Fit,
    check_places,
    read_feat,
    read_glmsingle,
    read_spm,
)
from neuroextrap.images._maskers import shared_mask
from neuroextrap.images._opening import files_of
from neuroextrap.images._tables import read_text_table
from neuroextrap.stats._validation import brief

_logger = logging.getLogger(__name__)

_EFFECT = re.compile(r"(.*?)_?contrast-([A-Za-z0-9]+)_stat-effect_statmap\.nii(\.gz)?")
_ARRAYS = (".hdf5", ".h5", ".mat", ".npy")
TABLE = "betas.tsv"
_GLMSINGLE = "TYPED_FITHRF_GLMDENOISE_RR"


class Betas(NamedTuple):
    """Betas of another program, as the analyses take them."""

    imgs: list  # paths, or 4-D images
    events: Any  # DataFrame (n_volumes,) of name, trial_type ("": no sample) and run
    mask: Any  # brain masks of all fits in one, or None


def load_betas(path: Any, events: Any = None, *, mask: Any = None) -> Betas:
    """Read betas of SPM, FEAT, GLMsingle or nilearn, with their conditions and runs.

    Parameters
    ----------
    path : path-like, glob pattern, or list of these
        An ``SPM.mat``, a first-level ``.feat`` folder for each run, GLMsingle's result
        (``TYPED_FITHRF_GLMDENOISE_RR.hdf5``, ``.mat``, or betas alone in a ``.npy``),
        folders of nilearn's ``save_glm_to_bids``, or a folder that holds one of these.
    events : path-like, DataFrame or None, default=None
        What the betas are of. Columns ``name`` (as the program calls them; and ``run``,
        where a name means something else in every run) and ``trial_type``: those
        without a row give no sample. For GLMsingle a row for each trial in the order
        of their onsets instead, ``trial_type`` and ``run``; if None, ``betas.tsv``
        beside the file, or the numbers of conditions in MATLAB's ``DESIGNINFO.mat``.
        Else, if None, a condition is called what the program calls it.
    mask : path-like, Niimg or None, default=None
        Brain mask, on whose grid GLMsingle's arrays lie. If None, the program's own
        (``mask.nii.gz`` beside GLMsingle's).

    Returns
    -------
    Betas
        Named tuple of ``imgs``, ``events`` (a row per volume) and ``mask``, for
        ``fit_events(*betas[:2], samples="volumes")``.

    Raises
    ------
    ValueError
        If nothing of these programs is found, something is missing, a file is pickled,
        or it is HDF5 and h5py is not installed.

    Notes
    -----
    Of SPM, the first regressor of every condition is read; of FEAT, the copes (or
    parameter estimates) of every original EV, in standard space where they are there;
    of nilearn, contrasts that are regressors of the design. An effect that nilearn
    estimated from several runs at once is one sample: fits, not runs, are then left
    out, so that each needs a folder (or prefix) of its own.

    Examples
    --------
    >>> from neuroextrap.images import load_betas
    >>> load_betas("spm/SPM.mat")
    Traceback (most recent call last):
    ValueError: spm/SPM.mat: no such file or folder; check the path
    """
    fits = [
        fit for each in files_of(path, "path") for fit in read_fits(Path(each), mask)
    ]
    if not fits:
        raise ValueError(f"path={brief(path)} names no model; give at least one file")
    check_inputs(fits)
    check_places(fits)
    by_place = {not isinstance(fit.images[0], str) for fit in fits}
    if len(by_place) > 1:
        raise ValueError("path names models of several programs; give those of one")
    label = _labeled_by_place if by_place == {True} else labeled_by_name
    table = label(fits, events if isinstance(events, list) else [events])
    masks = [fit.mask for fit in fits]
    if mask is None and None not in masks:
        mask = shared_mask(masks)
    return Betas([img for fit in fits for img in fit.images], table, mask)


def ready_betas(imgs, events, mask):
    """Return images, tables and mask; those of a program's model are read."""
    given = list(imgs) if isinstance(imgs, (list, tuple)) else [imgs]
    named = given and all(isinstance(each, (str, os.PathLike)) for each in given)
    files = files_of(given) if named else [""]
    if all(os.path.isdir(file) or Path(file).suffix in _ARRAYS for file in files):
        return tuple(load_betas(imgs, events, mask=mask))
    if events is None:
        raise ValueError(
            "events is missing: only the models of SPM, FEAT, GLMsingle and nilearn "
            "say what their images are of; give a table of events for each image"
        )
    return imgs, events, mask


def effects_of(paths):
    """Return the Fits of nilearn's effect maps that are regressors, one per design."""
    fits: dict[tuple[Path, str], list] = {}
    for path in map(Path, paths):
        if match := _EFFECT.fullmatch(path.name):
            fits.setdefault((path.parent, match[1]), []).append((match[2], str(path)))
    designs = [_designs(*fit) for fit in fits]
    runs = [_run_of(*fit, own) for fit, own in zip(fits, designs, strict=True)]
    if None in runs or len(set(runs)) < len(runs):
        runs = [str(i) for i in range(1, len(fits) + 1)]
    parts = zip(fits, fits.values(), designs, runs, strict=True)
    return [_effects(*fit, *of_fit) for fit, *of_fit in parts]


def _effects(folder, start, maps, designs, run):
    """Return the Fit of the effect maps of one design, which may be of several runs."""
    names, images = map(list, zip(*_conditions(maps, designs), strict=True))
    mask = folder / f"{start}_mask.nii.gz".lstrip("_")
    own = str(mask) if mask.is_file() else None
    entities = map(loose_entities, designs or [folder / start])
    series = tuple(_run_name(each) for each in entities if {"sub", "run"} <= set(each))
    return Fit(images, names, [run] * len(names), own, series)


def _run_name(entities):
    """Return what tells a run apart, numbers as numbers."""
    keys = [key for key in ("sub", *RUN_KEYS) if key in entities]
    return "_".join(f"{key}-{label_key(entities[key])}" for key in keys)


def check_inputs(fits):
    """Raise if two fits are of the same run."""
    seen: dict[str, int] = {}
    for number, fit in enumerate(fits):
        for run in fit.series:
            other = seen.setdefault(run, number)
            if other != number:
                raise ValueError(
                    f"{fits[other].images[0]} and {fit.images[0]} are of the same run, "
                    f"which would be tested by its own data ({run}); give one model of "
                    "every run"
                )


def read_fits(path, mask=None):
    """Return the Fits that a file or a folder holds."""
    if path.is_file():
        beside = path.with_name("mask.nii.gz")
        own = beside if mask is None and beside.is_file() else mask
        is_spm = path.name == "SPM.mat"
        return [read_spm(path) if is_spm else read_glmsingle(path, own)]
    if not path.is_dir():
        raise ValueError(f"{path}: no such file or folder; check the path")
    if (path / "design.fsf").is_file():
        return [read_feat(path)]
    if models := models_below(path):
        return [fit for model in models for fit in read_fits(model, mask)]
    if maps := sorted(path.rglob("*stat-effect_statmap.nii*")):
        return effects_of(maps)
    raise ValueError(
        f"{path} has no SPM.mat, design.fsf (FEAT), {_GLMSINGLE} (GLMsingle) or "
        "*stat-effect_statmap.nii.gz (nilearn); give the folder of a first-level model"
    )


def models_below(folder):
    """Return the models that a folder holds: SPM.mat, .feat folders, GLMsingle's."""
    trials = [p for end in _ARRAYS[::-1] for p in folder.rglob(f"{_GLMSINGLE}{end}")]
    kinds = [
        [design.parent for design in sorted(folder.rglob("design.fsf"))],
        sorted(folder.rglob("SPM.mat")),
        sorted({path.parent: path for path in trials}.values()),
    ]
    paths = [path for kind in kinds for path in kind]
    # of SPM and GLMsingle one model has all runs of a session
    sessions = [loose_entities(path).get("ses") for kind in kinds[1:] for path in kind]
    mixed = sum(map(bool, kinds)) > 1
    if mixed or len(set(sessions)) < len(sessions):
        raise ValueError(
            f"{folder} has several models, {paths[0]} and {paths[1]}, which may be of "
            "the same runs, so that runs would be tested by their own data; name one, "
            "or list those of separate runs"
        )
    return paths


def labeled_by_name(fits, tables):
    """Return name, condition and run of every volume; a table may say conditions."""
    runs = _distinct([fit.runs for fit in fits])
    names = [name for fit in fits for name in fit.names]
    frame = pd.DataFrame({"name": names, "trial_type": names, "run": runs})
    if tables[0] is None:
        return frame
    if len(tables) > 1:
        raise ValueError("events must be one table, of the names of all betas")
    table, source = read_events(tables[0])
    if "name" not in table:
        raise ValueError(
            f"{source} has no column name; betas are matched by what their program "
            f"calls them: {', '.join(sorted(set(names))[:8])}"
        )
    keys = [key for key in ("name", "run") if key in table]
    table = table[[*keys, "trial_type"]].astype(str)
    rows_there = set(frame[keys].itertuples(index=False, name=None))
    given = list(table[keys].itertuples(index=False, name=None))
    unknown = [key for key in given if key not in rows_there]
    if unknown or len(set(given)) < len(given):
        wrong = "one is there twice"
        if unknown:
            wrong = f"there is no {' of run '.join(unknown[0])}"
        raise ValueError(
            f"{source}: {' and '.join(keys)} must be those of betas, each once; {wrong}"
        )
    return frame[["name", "run"]].merge(table, "left", keys).fillna("")[list(frame)]


def _labeled_by_place(fits, tables):
    """Return condition and run of every trial of GLMsingle, in the order of trials."""
    if tables[0] is None:
        tables = [Path(fit.images[0].get_filename()).with_name(TABLE) for fit in fits]
        if not all(path.is_file() for path in tables):
            if all(fit.names for fit in fits):
                return labeled_by_name(fits, [None])
            raise ValueError(
                f"{fits[0].images[0].get_filename()} does not say what its trials are "
                "of; give a table with a row for each trial in the order of onsets, "
                f"trial_type and run (events, or {TABLE} beside it)"
            )
    read = [read_events(table) for table in tables]
    n_trials = sum(fit.images[0].shape[3] for fit in fits)
    frame = pd.concat([table for table, _ in read], ignore_index=True)
    if len(frame) != n_trials or any("run" not in table for table, _ in read):
        raise ValueError(
            f"{read[0][1]} has {len(frame)} rows for {n_trials} trials; give a row for "
            "each trial in the order of onsets, trial_type and run"
        )
    frame["run"] = _distinct([read_runs(*each).tolist() for each in read])
    return frame.assign(name=frame["trial_type"])[["name", "trial_type", "run"]]


def _distinct(runs):
    """Return the runs of several fits in one list; none belongs to two of them."""
    named = [(i, run) for i, own in enumerate(runs, start=1) for run in own]
    if len(set(named)) == len({run for _, run in named}):
        return [run for _, run in named]
    return [f"{i}-{run}" for i, run in named]


def _designs(folder, start):
    """Return the designs of a fit, tables by path: one for each of its runs."""
    own, plain = [], []
    for path in sorted(folder.glob("*design.tsv")):
        parts = [p for p in path.name.removesuffix("design.tsv").split("_") if p]
        if "_".join(parts) == start:
            own.append(path)
        if "_".join(p for p in parts if not p.startswith("run-")) == start:
            plain.append(path)
    return {path: read_text_table(path, "design") for path in own or plain}


def _run_of(folder, start, designs):
    """Return the session and run of a fit to one run, or None."""
    name = next(iter(designs)).name if len(designs) == 1 else start
    entities = loose_entities(folder / name)
    if "run" in entities:
        return entities.get("ses", "") + entities["run"]
    if not designs:
        raise ValueError(
            f"{folder / start} has no run-<label> in its name and no design.tsv beside "
            "it, so its run is not known; give maps of single runs "
            "(run-<label>_contrast-<condition>)"
        )
    return None


def _conditions(maps, designs):
    """Return the maps whose contrasts are regressors, of pairs of contrast and path."""
    columns = {_plain(name) for table in designs.values() for name in table.columns}
    named = [each for each in maps if _plain(each[0]) in columns]
    if columns and not named:
        raise ValueError(
            f"{maps[0][1]}: no contrast is a regressor of its design; save an effect "
            "for each condition (save_glm_to_bids(model, ['face', 'house']))"
        )
    left = sorted({name for name, _ in maps} - {name for name, _ in named})
    if named and left:
        _logger.info("no conditions, and left out: contrasts %s", ", ".join(left))
    return named or maps


def _plain(name):
    """Return a name as far as nilearn's names of files keep it."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
