"""A participant's betas, found by BIDS names or as other programs left them."""

from pathlib import Path

from neuroextrap.images._bids_filters import apply_filters
from neuroextrap.images._bids_names import file_entities, loose_entities, name_order
from neuroextrap.images._bids_runs import BidsRun, companion, refuse_copies, selected
from neuroextrap.images._fits import (
    TABLE,
    check_inputs,
    effects_of,
    labeled_by_name,
    models_below,
    read_fits,
)

_SERIES = "betas"
_MAPS = "statmap"
_SUFFIXES = (".nii.gz", ".nii")
_OWN = ("contrast", "stat", "desc")
"""Entities of beta images that the brain mask beside them lacks."""


def find_betas(
    derivatives, participant, *, sessions=None, task=None, space=None, filters=None
):
    """Return a participant's beta images as BidsRuns, and condition and run of each.

    Series ``_betas`` (one beta per volume) have a table beside them, ``_betas.tsv`` or
    ``_events.tsv``, with a row per volume (trial_type, run); the conditions are then
    None, as they are of GLMsingle's results, which lie beside ``betas.tsv`` and
    ``mask.nii.gz``. Maps ``_contrast-<condition>_stat-effect_statmap``, such as
    nilearn's, are named by their contrast, images of SPM and FEAT by their models.
    ValueError says what is missing.
    """
    found, kind = _files(derivatives, participant)
    found = apply_filters(found, filters or {}, participant)
    for key, wanted in (("task", task), ("space", space), ("ses", sessions)):
        found = selected(found, key, wanted, participant)
    if kind == _SERIES:
        refuse_copies(found, participant)
        return [_run(path, entities) for path, entities in found], None
    if kind == _MAPS:
        named = [each for each in found if "run" in each[1]]
        refuse_copies(named, participant, more=("contrast",))
        known = {str(path): entities for path, entities in found}
        fits = effects_of(known)
        runs = [_run(Path(img), known[img]) for fit in fits for img in fit.images]
    elif found[0][0].name == "SPM.mat" or found[0][0].is_dir():
        fits = [read_fits(path)[0] for path, _ in found]
        check_inputs(fits)
        runs = [
            BidsRun(img, None, fit.mask, None, {"sub": participant, **entities})
            for fit, (_, entities) in zip(fits, found, strict=True)
            for img in fit.images
        ]
    else:
        return [_of_trials(path, entities) for path, entities in found], None
    table = labeled_by_name(fits, [None])
    if table["run"].nunique() < 2:
        raise ValueError(
            f"{runs[0].bold} and others are of one fit, an image for each condition, "
            "so that nothing is left to test; fit every run by itself"
        )
    pairs = list(zip(table["trial_type"], table["run"], strict=True))
    for run, (_, number) in zip(runs, pairs, strict=True):
        run.entities.setdefault("run", number)
    return runs, pairs


def _files(derivatives, participant):
    """Return (path, entities) of betas, and what they are: series, maps, or models."""
    folder = Path(derivatives) / f"sub-{participant}"
    for ending, stat in ((_SERIES, None), (_MAPS, "effect")):
        named = [
            (path, file_entities(path))
            for suffix in _SUFFIXES
            for path in sorted(folder.rglob(f"*_{ending}{suffix}"), key=name_order)
        ]
        found = [(path, e) for path, e in named if e and e.get("stat") == stat]
        if found:
            return found, ending
    models = [(path, loose_entities(path)) for path in models_below(folder)]
    if not models:
        raise ValueError(
            f"sub-{participant} has no *_betas.nii.gz, no *_stat-effect_statmap.nii.gz "
            f"and no model of SPM, FEAT or GLMsingle in {derivatives}; check the "
            "folder, or use samples='lss' for series"
        )
    return models, "model"


def _of_trials(path, entities):
    """Return the files that belong to a result of GLMsingle."""
    table, mask = path.with_name(TABLE), path.with_name("mask.nii.gz")
    return BidsRun(
        str(path),
        str(table) if table.is_file() else None,
        str(mask) if mask.is_file() else None,
        None,
        entities,
    )


def _run(path, entities):
    """Return the files that belong to a beta image."""
    table = None
    stem = path.name.partition(".")[0]
    if stem.endswith(_SERIES):
        start = stem.removesuffix(_SERIES)
        tables = [path.with_name(f"{start}{end}.tsv") for end in (_SERIES, "events")]
        table = next((str(each) for each in tables if each.is_file()), None)
        if table is None:
            raise ValueError(
                f"{path} has no table {tables[0].name} beside it; give one row per "
                "volume with columns trial_type and run"
            )
    plain = {key: label for key, label in entities.items() if key not in _OWN}
    masks = (
        companion(path, kept, "mask.nii.gz", **more)
        for kept in (plain, {k: v for k, v in plain.items() if k != "run"})
        for more in ({"desc": "brain"}, {})
    )
    mask = next((each for each in masks if each is not None), None)
    return BidsRun(str(path), table, mask, None, entities)
