"""The group: information over participants, and a test of their mean accuracy."""

import logging
import re
from collections.abc import Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from neuroextrap.analysis._sidecars import origin_of
from neuroextrap.cohorts._cohort_index import INDEX, index_text
from neuroextrap.cohorts._cohort_design import make_design, read_participants
from neuroextrap.cohorts._cohort_options import GroupOptions
from neuroextrap.cohorts._cohort_records import read_records, records_of
from neuroextrap.cohorts._group_members import (
    NULL,
    beside,
    check_members,
    differences,
    members_of,
    without,
)
from neuroextrap.cohorts._measures import MEASURES, voxels_lost
from neuroextrap.design._findings import findings_about
from neuroextrap.group import group_information, second_level_test
from neuroextrap.group._alike import allowed_names
from neuroextrap.group._group_maps import group_report
from neuroextrap.group._prevalence import PrevalenceOptions, saved_prevalence
from neuroextrap.maps._bids import shared_entities
from neuroextrap.maps._commit import finish_interrupted
from neuroextrap.maps._files import check_maps, describe_map, stage_maps
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_together
from neuroextrap.stats._shared_options import as_options, described_by, takes_options
from neuroextrap.stats._validation import check_flags

logger = logging.getLogger(__name__)

_ACCURACY, _REPORT = "desc-accuracy_stat.nii.gz", "desc-report_stat.html"
_PAGE, _REGIONS = "report.html", "regions.tsv"
_TABLE = "desc-table_stat.tsv"
_KINDS = ("accuracy", "information", "prevalence")


@described_by(second_level_test)
@takes_options(GroupOptions)
def analyze_group(
    out: str | PathLike,
    *,
    mask: Any = None,
    allow_mixed: bool | Sequence[str] = False,
    allow_native_space: bool = False,
    labels_img: Any = None,
    names: Any = None,
    bg_img: Any = None,
    **options: Any,
) -> dict:
    """Put the results of all participants of a cohort together.

    Information over participants with its lower bounds, a permutation test of the mean
    accuracy against chance and, if all participants' permuted maps were saved, the
    prevalence of information in the population. Participants who failed, or whose
    conditions are not those of the majority, are left out; the group's page and
    ``index.html`` say why.

    Parameters
    ----------
    out : path-like
        Folder that :func:`analyze_participants` wrote; group maps go to ``out/group``.
    mask : path, image or None, default=None
        Where to test. If None, wherever all participants have a region.
    allow_mixed : bool or sequence of str, default=False
        Names of what may differ among participants, such as ``["runs",
        "smoothing_fwhm"]``: options and parameters by their names, or runs (how many of
        every session), versions (desc, echo ... of images), task, mask, confounds,
        features. If True, anything.
    labels_img : path-like, image, atlas fetched by nilearn, or None, default=None
        Atlas whose regions name the clusters on the group's page.
    names : list, dict, DataFrame or None, default=None
        Names of the atlas's labels. If None, those of a fetched atlas, else their
        numbers.
    bg_img : path-like, image, "mni152", False or None, default=None
        Image drawn under the maps of the page.

    Returns
    -------
    maps : dict of images
        Those of :func:`neuroextrap.group.group_information`, those of
        :func:`neuroextrap.group.second_level_test` of the accuracy minus chance and,
        with saved permuted maps, those of :func:`neuroextrap.group.prevalence_test`,
        whose names begin with "prevalence" if they would be the same. With a contrast,
        covariates or two analyses in `within` only the test of the accuracy, in files
        named by ``contrast-<what is tested>``.

    Raises
    ------
    ValueError
        If fewer than two participants can be put together, no conditions are those of a
        majority, a participant has several analyses, or spaces differ.

    See Also
    --------
    analyze_participants : Analyze every participant.

    Examples
    --------
    >>> from neuroextrap.cohorts import analyze_group
    >>> analyze_group("no_such_folder")
    Traceback (most recent call last):
    ValueError: no_such_folder has no results of participants; analyze them first
    """
    asked = as_options(GroupOptions, analyze_group, options)
    check_flags(allow_native_space=allow_native_space)
    allowed_names(allow_mixed)
    finish_interrupted(out := Path(out), below=True)  # before anything is read
    cells, left_out = members_of(out, asked.participants, asked.cells)
    design = _design_of(out, asked, cells[0])
    left_out |= {} if design is None else design.left_out
    cells = [without(cell, left_out) for cell in cells]
    found = cells[0]
    check_members(out, found, left_out)
    mixed = differences(cells, allow_mixed)
    imgs = [_accuracy_of(cell) for cell in cells]
    entities = shared_entities(sum(imgs, []))
    entities.pop("desc")
    if asked.is_comparison:
        entities["contrast"] = _contrast_label(asked)
    files = _files(out, entities, asked.overwrite)
    n_classes = len(next(iter(found.values()))[1])
    given = asked.by_kind(1 / n_classes)
    shared = {
        "mask": mask,
        "allow_native_space": allow_native_space,
        "allow_mixed": allow_mixed,
    }
    if asked.is_comparison:
        made = {"accuracy": _compared(imgs, design, given["accuracy"], shared, asked)}
    else:
        made = _tested(found, imgs[0], given, shared, asked.random_state)
    about = origin_of({"imgs": sum(imgs, [])}).sidecar()
    about |= {"participants": list(found), "left_out": left_out, "mixed": list(mixed)}
    about |= _told_of(design)
    told = {
        kind: about
        | provenance(parameters=given[kind], random_state=asked.random_state)
        for kind in made
    }
    page = None
    if asked.report:
        page = group_report(
            list(made.values()),
            labels_img=labels_img,
            names=names,
            bg_img=bg_img,
            left_out=left_out,
            links=_links(found),
        )
    with _replaced(out, files, told, entities, asked.overwrite) as (folders, places):
        coming = _stage(made, files, told, folders)
        table = _regions_of(cells, asked, out)
        if table is not None:
            table.to_csv(folders[0] / _REGIONS, sep="\t", index=False, na_rep="n/a")
        if page is not None:
            coming.append(places[_PAGE])
            (folders[0] / _PAGE).write_text(page.get_standalone(), encoding="utf-8")
        written = {each.folder / n for each in files.values() for n in each.written()}
        going = {places[_PAGE], *written} - {*coming}
        (folders[0] / INDEX).write_text(
            index_text(out, left_out, coming=coming, going=going, mixed=mixed.values()),
            encoding="utf-8",
        )
    return made["accuracy"] if asked.is_comparison else _joined(made)


def _regions_of(cells, asked, out):
    """Return the numbers of all atlas regions of all participants, None without atlas.

    A row is a participant, a region and a set size, with what the table of participants
    says; with several analyses of each, ``analysis`` names them.
    """
    parts = []
    for number, found in enumerate(cells):
        for name, (index, _) in found.items():
            if not beside(index, _TABLE).is_file():
                return None
            own = pd.read_csv(beside(index, _TABLE), sep="\t")
            if len(cells) > 1:
                own.insert(0, "analysis", asked.within[number])
            own.insert(0, "participant_id", name)
            parts.append(own)
    people = read_participants(asked.participants_table, out)
    people = people[people.columns.difference(parts[0].columns, sort=False)]
    return pd.concat(parts).join(people, on="participant_id")


def _accuracy_of(found):
    """Return the paths of participants' maps of accuracy."""
    return [str(beside(index, _ACCURACY)) for index, _ in found.values()]


def _design_of(out, asked, found):
    """Return the CohortDesign of participants, None for a mean; measures are added."""
    if asked.contrast is None and not asked.covariates:
        return None
    table = read_participants(asked.participants_table, out)
    records = read_records(out)
    labels = {name: name.removeprefix("sub-") for name in found}
    known = {
        name: records_of(records, label, asked.cells[0])[-1].get("outcome", {})
        for name, label in labels.items()
    }
    table = table.reindex(list(found)).astype(object)
    lost = dict(zip(found, voxels_lost(_accuracy_of(found)), strict=True))
    for name in [name for name in MEASURES if name not in table]:
        values = {each: known[each].get(name) for each in found}
        table[name] = pd.Series(lost if name == "voxels_lost" else values)
    design = make_design(table, list(found), asked.contrast, asked.covariates)
    logger.info("design: %s", "; ".join(design.words))
    return design


def _contrast_label(asked):
    """Return the label of a comparison in the names of files."""
    given = asked.contrast or (["mean"] if asked.covariates else [])
    parts = [given] if isinstance(given, str) else list(given)
    within = [each.replace("-", "") for each in asked.within]
    parts += [" - ".join(within)] if len(within) > 1 else []
    words = " and ".join(parts).replace(" - ", " minus ").replace("-", " minus ")
    return "".join(
        word[0].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", words)
    )


def _told_of(design):
    """Return what sidecars say of a design."""
    if design is None:
        return {}
    rows = design.table.round(6)
    columns = {name: rows[name].tolist() for name in rows}
    return {"design": {"made_of": list(design.words), "columns": columns}}


def _compared(imgs, design, options, shared, asked):
    """Return the RegionMaps of a contrast over participants, or within them."""
    options = {**options, "random_state": asked.random_state, **shared}
    if len(imgs) > 1:
        options["paired_imgs"] = imgs[1]
    if design is not None:
        options |= {"contrast": design.contrast, "design_matrix": design.table}
    maps: Any = second_level_test(imgs[0], **options)
    if design is not None:
        maps.summary.options["design"] = "; ".join(design.words)
    if len(imgs) > 1:
        maps.summary.options["within"] = " - ".join(asked.within)
    return maps


def _files(out, entities, overwrite):
    """Return the ResultFiles of every kind of maps; ValueError if they cannot go."""
    files = {kind: ResultFiles.below(out, entities | {"desc": kind}) for kind in _KINDS}
    for each in files.values():
        each.check(overwrite=overwrite)
    return files


def _tested(found, imgs, options, shared, random_state):
    """Return the RegionMaps of every analysis of the group, by its kind."""
    indices = [index for index, _ in found.values()]
    seed = {"random_state": random_state}
    made = {
        "accuracy": second_level_test(imgs, **options["accuracy"], **shared, **seed),
        "information": group_information(
            list(map(str, indices)), **options["information"], **shared, **seed
        ),
    }
    nulls = [beside(index, NULL) for index in indices]
    n_saved = sum(path.is_file() for path in nulls)
    if n_saved == len(nulls):
        asked = PrevalenceOptions(**options["prevalence"], **seed)
        made["prevalence"] = saved_prevalence(
            list(map(str, indices)), nulls, asked, **shared
        )
    elif n_saved:
        logger.warning(
            "prevalence is left out: only %d of %d participants have permuted maps",
            n_saved,
            len(nulls),
        )
    return made


def _joined(made):
    """Return all maps in one dict; names that are taken get the kind in front."""
    joined = {}
    for kind, maps in made.items():
        for name, img in maps.items():
            joined[f"{kind}_{name}" if name in joined else name] = img
    return joined


def _links(found):
    """Return the addresses of participants' own pages, seen from the group's folder."""
    links = {}
    for name, (index, _) in found.items():
        page = beside(index, _REPORT)
        if page.is_file():
            steps = index.parts[index.parts.index(name) :][:-1]
            links[name] = "/".join(["..", *steps, page.name])
    return links


@contextmanager
def _replaced(out, files, told, entities, overwrite):
    """Yield a folder for each kind of maps, and the places of the pages.

    All take their places in one step, those of kinds that are not made again go.
    """
    own = ResultFiles.below(out, entities)
    places = {name: own.path(name) for name in (_PAGE, _REGIONS)} | {INDEX: out / INDEX}
    parts = [(files[kind], told[kind]) for kind in told]
    stale = [files[kind] for kind in files if kind not in told]
    how = {"overwrite": overwrite, "elsewhere": places, "stale": stale}
    with replaced_together(parts, **how) as folders:
        yield folders, places


def _stage(made, files, told, folders):
    """Write the maps of every kind to its folder; return where they will be."""
    coming = []
    for (kind, maps), folder in zip(made.items(), folders, strict=True):
        sidecars = {
            name: describe_map(
                GROUP_MAPS[name],
                told[kind] | {"findings": findings_about(maps.findings_, name)},
            )
            for name in maps
        }
        check_maps(maps, sidecars, files[kind])
        stage_maps(folder, maps, sidecars, files[kind])
        coming += [files[kind].path(f"{name}.nii.gz") for name in maps]
    return coming
