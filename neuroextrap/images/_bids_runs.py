"""The runs of a participant and its betas, found by the names of files."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from neuroextrap.images._bids_names import (
    RUN_KEYS,
    bids_files,
    filter_texts,
    label_key,
    loose_entities,
    same_label,
)
from neuroextrap.images._fits import (
    TABLE,
    check_inputs,
    effects_of,
    labeled_by_name,
    models_below,
    read_fits,
)
from neuroextrap.stats._validation import one_line


@dataclass(frozen=True)
class BidsRun:
    """One preprocessed series and the files that belong to it, as paths."""

    bold: str
    events: str | None  # table; None if there is none or names say conditions
    mask: str | None  # of the brain
    confounds: str | None  # table of fMRIPrep
    entities: dict  # of the series' name, label by key


def find_participants(derivatives):
    """Return the labels of all participants of a folder, in alphabetical order."""
    root = Path(derivatives)
    if not root.is_dir():
        raise ValueError(f"derivatives={str(root)!r} is no folder; check the path")
    labels = [p.name.removeprefix("sub-") for p in sorted(root.glob("sub-?*/"))]
    if not labels:
        raise ValueError(
            f"{root} has no folder sub-<label>; give the folder of BIDS derivatives, "
            "such as fMRIPrep's output"
        )
    return labels


def find_raw(derivatives):
    """Return the data set that a folder of derivatives lies in, or None."""
    for folder in Path(derivatives).absolute().parents:
        if (folder / "dataset_description.json").is_file():
            return folder
    return None


def find_runs(derivatives, raw, participant, wanted, filters):
    """Return the runs of one participant, a list of BidsRun in the order of names.

    Series are the ``desc-preproc`` images of modality func (all ``_bold`` images where
    none says so, or a filter chooses their ``desc``). Events may be those of a whole
    data set (BIDS: "inheritance principle"), in `derivatives` or `raw`. Labels of
    entities may be `wanted` (None: all, where there is one of task and space).
    """
    space, any_version = wanted.get("space"), "desc" in filters
    series = _series(derivatives, participant, space, any_version=any_version)
    series = _chosen(series, filters, wanted, participant)
    refuse_copies(series, participant)
    folders = [Path(folder) for folder in (derivatives, raw) if folder is not None]
    runs = []
    for path, entities in series:
        events = (fitting_files(entities, f, "events.tsv") for f in folders)
        best = next((files for files in events if files), None)
        table = best and str(most_specific(best, path.name, "tables of events"))
        kept = (entities, _without(entities, "echo", "part"))  # they share one mask
        mask = _companion(path, [own | _OF_BRAIN for own in kept], _MASK)
        confounds = _confounds_of(path, entities)
        runs.append(BidsRun(str(path), table, mask, confounds, entities))
    return runs


def _series(derivatives, participant, space, *, any_version=False):
    """Return (path, entities) of a participant's series (left halves of surfaces)."""
    from nilearn.interfaces.bids import get_bids_files

    where = {"sub_label": participant, "modality_folder": "func", "file_tag": "bold"}
    kinds = []
    for kind in ("nii*", "dtseries.nii", "func.gii"):
        files = get_bids_files(str(derivatives), file_type=kind, **where)
        named = [(p, e) for p, e in bids_files(set(files)) if e.get("hemi") != "R"]
        kinds += [named] if named else []
    if not kinds:
        raise ValueError(
            f"sub-{participant} has no func/*_bold.nii.gz in {derivatives}; check the "
            "folder and the participant's label"
        )
    in_space = [k for k in kinds if space in (None, *(e.get("space") for _, e in k))]
    series = [*in_space, *kinds][0]
    preprocessed = [(path, e) for path, e in series if e.get("desc") == "preproc"]
    return series if any_version else preprocessed or series


def _chosen(files, filters, wanted, participant):
    """Return the series that pass filters and have the labels wanted, by entity."""
    for key, labels in filters.items():
        keys = {label_key(label) for label in labels}
        kept = [each for each in files if label_key(each[1].get(key)) in keys]
        words = f"{' '.join(filter_texts({key: labels}))} (filters, --filter)"
        files = _some(kept, files, key, words, participant)
    for key, labels in wanted.items():
        there = _labels(files, key)
        if labels is None and len(there) > 1 and key in ("task", "space"):
            raise ValueError(
                f"sub-{participant} has series of several {key} entities: "
                f"{', '.join(there)}; choose one ({key}, --{key})"
            )
        if labels is not None:
            labels = {labels} if isinstance(labels, str) else set(labels)
            kept = [each for each in files if each[1].get(key) in labels]
            words = f"{key}-{', '.join(sorted(labels))}"
            files = _some(kept, files, key, words, participant)
    return files


def _labels(files, key):
    """Return the labels that an entity has in the names of series."""
    return sorted({entities.get(key, "(none)") for _, entities in files})


def _some(kept, files, key, words, participant):
    """Return the series that are kept; ValueError if there are none."""
    if not kept:
        raise ValueError(
            f"sub-{participant} has no series with {words}; there are "
            f"{', '.join(_labels(files, key))}"
        )
    return kept


def refuse_copies(files, participant, more=()):
    """Raise if several (path, entities) are of one run by RUN_KEYS and `more` keys."""
    series: dict[tuple, list[tuple]] = {}
    for path, entities in files:
        labels = {"run": "1", **entities}
        run = tuple(label_key(labels.get(key)) for key in (*RUN_KEYS, *more))
        series.setdefault(run, []).append((path, entities))
    for versions in series.values():
        if len(versions) > 1:
            names = ", ".join(path.name for path, _ in versions)
            raise ValueError(
                f"sub-{participant} has {len(versions)} series of one run, {names}; "
                "echoes, parts, reconstructions or versions of a run would be tested "
                f"by one another: {_choice_of([own for _, own in versions])}"
            )


def _choice_of(versions):
    """Say how one of several series of a run is chosen; entities of each are given."""
    keys = dict.fromkeys(key for entities in versions for key in entities)
    for key in keys:
        labels = [entities.get(key) for entities in versions]
        if key != "run" and len(set(labels)) > 1:
            texts = [f"{key}={label or ''}" for label in dict.fromkeys(labels)]
            return f"choose one by filters (--filter {' or '.join(texts)})"
    return "keep one of them in the folder"


def most_specific(files, name, what):
    """Return the last file of sorted (ranks..., file); ValueError if two rank alike."""
    if len(files) > 1 and files[-1][:-1] == files[-2][:-1]:
        raise ValueError(
            f"{name} has two {what}, {files[-2][-1].name} and {files[-1][-1].name}; "
            "keep one"
        )
    return files[-1][-1]


def fitting_files(entities, folder, ending):
    """Return sorted (n_entities, depth, path) of the files that fit a series."""
    levels = [folder, folder / f"sub-{entities['sub']}"]
    if "ses" in entities:
        levels.append(levels[-1] / f"ses-{entities['ses']}")
    levels += [level / "func" for level in levels[1:]]
    matches = []
    for table in (t for level in levels for t in level.glob(f"*_{ending}")):
        own = loose_entities(table)
        if all(same_label(entities.get(key), own[key]) for key in own):
            matches.append((len(own), len(table.parts), table))
    return sorted(matches)


def _beside(path, *names):
    """Return the first file of some names that is beside a path, or None."""
    candidates = (path.with_name(name) for name in names)
    return next((str(file) for file in candidates if file.is_file()), None)


def _companion(path, candidates, *endings):
    """Return the first file beside a series by entities and ending, or None."""
    names = []
    for entities, ending in product(candidates, endings):
        pairs = [f"{key}-{label}" for key, label in entities.items()]
        names.append("_".join([*pairs, ending]))
    return _beside(path, *names)


def _without(entities, *keys):
    """Return entities but those of some keys."""
    return {key: label for key, label in entities.items() if key not in keys}


def _confounds_of(path, entities):
    """Return fMRIPrep's table of confounds of a series, or None."""
    own = _without(entities, "space", "res", "den", "desc", "hemi")
    kept = (own, _without(own, "echo", "part"))
    named = [each | {"desc": "confounds"} for each in kept]
    return _companion(path, named, "timeseries.tsv", "regressors.tsv")


_MASK, _OF_BRAIN = "mask.nii.gz", {"desc": "brain"}
_SERIES = "betas"
_MAPS = "statmap"
_SUFFIXES = (".nii.gz", ".nii")
_OWN = ("contrast", "stat", "desc")
"""Entities of beta images that the brain mask beside them lacks."""


def find_betas(derivatives, participant, wanted, filters):
    """Return betas as BidsRuns, and a table of their conditions and runs, or None."""
    files, kind = _files(derivatives, participant)
    files = _chosen(files, filters, wanted, participant)
    if kind == _SERIES:
        refuse_copies(files, participant)
        return [_run(path, entities) for path, entities in files], None
    if kind == _MAPS:
        fits, runs = _of_maps(files, participant)
    elif files[0][0].name == "SPM.mat" or files[0][0].is_dir():
        fits, runs = _of_models(files, participant)
    else:
        runs = [
            BidsRun(str(path), _beside(path, TABLE), _beside(path, _MASK), None, own)
            for path, own in files
        ]
        return runs, None
    check_inputs(fits)
    table = labeled_by_name(fits, [None])
    if table["run"].nunique() < 2:
        raise ValueError(
            f"{runs[0].bold} and others are of one fit, an image for each condition, "
            "so that nothing is left to test; fit every run by itself"
        )
    for run, number in zip(runs, table["run"], strict=True):
        run.entities.setdefault("run", number)
    return runs, table[["trial_type", "run"]]


def _of_maps(files, participant):
    """Return Fits and BidsRuns of nilearn's effect maps."""
    named = [each for each in files if "run" in each[1]]
    refuse_copies(named, participant, more=("contrast",))
    about = {str(path): entities for path, entities in files}
    fits = effects_of(about)
    return fits, [_run(Path(img), about[img]) for fit in fits for img in fit.images]


def _of_models(files, participant):
    """Return Fits and BidsRuns of the models of SPM and FEAT."""
    fits = [read_fits(path)[0] for path, _ in files]
    runs = [
        BidsRun(img, None, fit.mask, None, {"sub": participant, **entities})
        for fit, (_, entities) in zip(fits, files, strict=True)
        for img in fit.images
    ]
    return fits, runs


def _files(derivatives, participant):
    """Return (path, entities) of betas, and what they are: series, maps, or models."""
    folder = Path(derivatives) / f"sub-{participant}"
    for kind, stat in ((_SERIES, None), (_MAPS, "effect")):
        paths = [p for end in _SUFFIXES for p in folder.rglob(f"*_{kind}{end}")]
        maps = [(path, e) for path, e in bids_files(paths) if e.get("stat") == stat]
        if maps:
            return maps, kind
    models = [(path, loose_entities(path)) for path in models_below(folder)]
    if not models:
        raise ValueError(
            f"sub-{participant} has no *_betas.nii.gz, no *_stat-effect_statmap.nii.gz "
            f"and no model of SPM, FEAT or GLMsingle in {derivatives}; check the "
            "folder, or use samples='lss' for series"
        )
    return models, "model"


def _run(path, entities):
    """Return the files that belong to a beta image."""
    table, stem = None, path.name.partition(".")[0]
    if stem.endswith(_SERIES):
        start = stem.removesuffix(_SERIES)
        table = _beside(path, f"{stem}.tsv", f"{start}events.tsv")
        if table is None:
            raise ValueError(
                f"{path} has no table {stem}.tsv beside it; give one row per "
                "volume with columns trial_type and run"
            )
    plain = _without(entities, *_OWN)
    kept = product((plain, _without(plain, "run")), (_OF_BRAIN, {}))
    mask = _companion(path, [own | more for own, more in kept], _MASK)
    return BidsRun(str(path), table, mask, None, entities)


STRATEGIES = (
    "motion",
    "high_pass",
    "wm_csf",
    "global_signal",
    "compcor",
    "ica_aroma",
    "tedana",
    "scrub",
)
"""Names that ``nilearn.interfaces.fmriprep.load_confounds`` takes."""


def fmriprep_confounds(files, strategy):
    """Return confounds (table or None) and kept volumes (indices or None) per file."""
    from nilearn.interfaces.fmriprep import load_confounds

    strategy = tuple(strategy)
    unknown = sorted(set(strategy) - set(STRATEGIES))
    if unknown or not strategy:
        raise ValueError(
            f"confounds={list(strategy)} must be names of nilearn's load_confounds: "
            f"{', '.join(STRATEGIES)}; correct {', '.join(unknown) or 'the empty list'}"
        )
    confounds, masks = [], []
    for file in files:
        try:
            table, mask = load_confounds(str(file), strategy=strategy)
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(
                f"confounds of {file} cannot be read by strategy {' '.join(strategy)} "
                f"({one_line(error)}); choose others, or give tables"
            ) from error
        confounds.append(table if table is not None and table.shape[1] else None)
        masks.append(mask)
    return confounds, masks
