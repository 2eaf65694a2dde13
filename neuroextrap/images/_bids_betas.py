"""A participant's beta images in a tree of BIDS derivatives, found by their names."""

from pathlib import Path

from neuroextrap.images._bids_names import file_entities
from neuroextrap.images._bids_runs import BidsRun, companion, refuse_copies, selected

_SERIES = "betas"
_MAPS = "statmap"
_SUFFIXES = (".nii.gz", ".nii")
_OWN = ("contrast", "stat", "desc")
"""Entities of beta images that the brain mask beside them lacks."""


def find_betas(derivatives, participant, *, sessions=None, task=None, space=None):
    """Return a participant's beta images as BidsRuns, and the condition of each.

    Series ``_betas`` (one beta per volume, such as GLMsingle's) have a table beside
    them, ``_betas.tsv`` or ``_events.tsv``, with a row per volume (trial_type, run);
    the conditions are then None. Maps ``_contrast-<condition>_stat-effect_statmap`` of
    single runs, such as nilearn's, are named by their contrast. ValueError says what is
    missing.
    """
    found = _images(derivatives, participant)
    for key, wanted in (("task", task), ("space", space), ("ses", sessions)):
        found = selected(found, key, wanted, participant)
    refuse_copies(found, participant, more=("contrast",))
    runs = [_run(path, entities) for path, entities in found]
    if found[0][0].name.partition(".")[0].endswith(_SERIES):
        return runs, None
    return runs, [_labeled(path, entities) for path, entities in found]


def _images(derivatives, participant):
    """Return (path, entities) of the beta images, series or else single maps."""
    folder = Path(derivatives) / f"sub-{participant}"
    for ending, stat in ((_SERIES, None), (_MAPS, "effect")):
        named = [
            (path, file_entities(path))
            for suffix in _SUFFIXES
            for path in sorted(folder.rglob(f"*_{ending}{suffix}"))
        ]
        found = [(path, e) for path, e in named if e and e.get("stat") == stat]
        if found:
            return found
    raise ValueError(
        f"sub-{participant} has no *_betas.nii.gz and no *_stat-effect_statmap.nii.gz "
        f"in {derivatives}; check the folder, or use samples='lss' for series"
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


def _labeled(path, entities):
    """Return condition and run of a map; ValueError where the name lacks one."""
    for key in ("contrast", "run"):
        if key not in entities:
            raise ValueError(
                f"{path.name} has no {key}-<label> in its name, so its {key} is not "
                "known; give maps of single runs (run-<label>_contrast-<condition>)"
            )
    return entities["contrast"], entities.get("ses", "") + entities["run"]
