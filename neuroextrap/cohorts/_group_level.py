"""The group: information over participants, and a test of their mean accuracy."""

import logging
import os
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from neuroextrap.analysis._region_maps import table_writer
from neuroextrap.cohorts._cohort_design import read_participants
from neuroextrap.cohorts._cohort_index import INDEX, index_text
from neuroextrap.cohorts._cohort_options import GroupOptions, check_path
from neuroextrap.cohorts._group_members import NULL, beside, gather
from neuroextrap.design._findings import findings_about
from neuroextrap.group import group_information, second_level_test
from neuroextrap.group._prevalence import PrevalenceOptions, saved_prevalence
from neuroextrap.group._subjects import differences_of
from neuroextrap.maps._files import check_maps, describe_map, stage_maps
from neuroextrap.maps._provenance import provenance
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import finish_interrupted, replaced_results
from neuroextrap.reporting._group_page import make_group_page
from neuroextrap.stats._shared_options import as_options, described_by, takes_options

logger = logging.getLogger(__name__)

_REPORT, _TABLE = "desc-report_stat.html", "desc-table_stat.tsv"
_PAGE, _REGIONS = "report.html", "regions.tsv"
_KINDS = ("accuracy", "information", "prevalence")


@described_by(second_level_test)
@takes_options(GroupOptions)
def analyze_group(
    out: str | PathLike,
    *,
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
    out = Path(check_path(out, "out"))
    finish_interrupted(out, below=True)  # before anything is read
    group = gather(out, asked)
    named = {kind: group.entities | {"desc": kind} for kind in _KINDS}
    files = {kind: ResultFiles.below(out, each) for kind, each in named.items()}
    for each in files.values():
        each.check(overwrite=asked.overwrite)
    made, told = _made(group, asked)
    more = {}
    if asked.report:
        drawn = {"labels_img": labels_img, "names": names, "bg_img": bg_img}
        about = {"left_out": group.left_out, "links": _links(out, group.found)}
        page = make_group_page(list(made.values()), **drawn, **about)
        more[_PAGE] = page.save_as_html
    table = _regions_of(out, group, asked)
    if table is not None:
        more[_REGIONS] = table_writer(table)
    _replace(out, files, group, (made, told, more), overwrite=asked.overwrite)
    return made["accuracy"] if asked.is_comparison else _joined(made)


def _made(group, asked):
    """Return the RegionMaps of every analysis by kind, and what is told of each."""
    given, about, told = asked.by_kind(1 / group.n_classes), group.told, {}
    if asked.is_comparison:
        made = {"accuracy": _compared(group, given["accuracy"], asked)}
    else:
        made = _tested(group.found, group.imgs[0], given, asked.shared)
    for kind in made:
        made_by = provenance(parameters=given[kind], random_state=asked.random_state)
        told[kind] = about | made_by
    return made, told


def _tested(found, imgs, options, shared):
    """Return the RegionMaps of every analysis of the group, by its kind."""
    indices = [str(index) for index, _ in found.values()]
    made = {
        "accuracy": second_level_test(imgs, **options["accuracy"], **shared),
        "information": group_information(indices, **options["information"], **shared),
    }
    nulls = [beside(index, NULL) for index, _ in found.values()]
    n_saved = sum(path.is_file() for path in nulls)
    if n_saved == len(nulls):
        asked = PrevalenceOptions(**options["prevalence"], **shared)
        made["prevalence"] = saved_prevalence(indices, nulls, asked)
    elif n_saved:
        logger.warning(
            "prevalence is left out: only %d of %d participants have permuted maps",
            n_saved,
            len(nulls),
        )
    return made


def _compared(group, options, asked):
    """Return the RegionMaps of a contrast over participants, or within them."""
    options, imgs, design = options | asked.shared, group.imgs, group.design
    first, *paired = imgs
    if len(imgs) == 4:
        first, *paired = differences_of(*imgs[:2]), differences_of(*imgs[2:])
    if paired:
        options["paired_imgs"] = paired[0]
    if design is not None:
        options |= {"contrast": design.contrast, "design_matrix": design.table}
        if asked.contrast is None:  # a mean, which signs decide and no order
            options["errors"] = "symmetric"
    maps: Any = second_level_test(first, **options)
    if design is not None:
        maps.summary.options["design"] = "; ".join(design.words)
    if len(imgs) > 1:
        words = "({} - {}) - ({} - {})" if len(imgs) > 2 else "{} - {}"
        maps.summary.options["within"] = words.format(*asked.within)
    return maps


def _regions_of(out, group, asked):
    """Return all regions of all participants, with their table, None without atlas."""
    parts = []
    for number, found in enumerate(group.cells):
        for name, (index, _) in found.items():
            if not beside(index, _TABLE).is_file():
                return None
            own = pd.read_csv(beside(index, _TABLE), sep="\t")
            if len(group.cells) > 1:
                own.insert(0, "analysis", asked.within[number])
            own.insert(0, "participant_id", name)
            parts.append(own)
    people = read_participants(asked.participants_table, out)
    people = people[people.columns.difference(parts[0].columns, sort=False)]
    return pd.concat(parts).join(people, on="participant_id")


def _joined(made):
    """Return all maps in one dict; names that are taken get the kind in front."""
    joined = {}
    for kind, maps in made.items():
        for name, img in maps.items():
            joined[f"{kind}_{name}" if name in joined else name] = img
    return joined


def _links(out, found):
    """Return the addresses of participants' own pages, seen from the group's folder."""
    pages = {name: beside(index, _REPORT) for name, (index, _) in found.items()}
    return {
        name: Path(os.path.relpath(page, out / "group")).as_posix()
        for name, page in pages.items()
        if page.is_file()
    }


def _replace(out, files, group, parts, *, overwrite):
    """Write maps, further files and the page of all in one step; other kinds go."""
    made, told, more = parts
    own = ResultFiles.below(out, group.entities)
    places = {name: own.path(name) for name in (_PAGE, _REGIONS)} | {INDEX: out / INDEX}
    staged = [(files[kind], told[kind]) for kind in made]
    stale = [files[kind] for kind in files if kind not in made]
    how = {"overwrite": overwrite, "elsewhere": places, "stale": stale}
    with replaced_results(staged, **how) as folders:
        coming = _stage(made, files, told, folders)
        for name, write in more.items():
            write(folders[0] / name)
            coming.append(places[name])
        written = {each.folder / n for each in files.values() for n in each.written()}
        going = {places[_PAGE], places[_REGIONS], *written} - {*coming}
        about = {"left_out": group.left_out, "mixed": group.mixed.values()}
        page = index_text(out, **about, coming=coming, going=going)
        (folders[0] / INDEX).write_text(page, encoding="utf-8")


def _stage(made, files, told, folders):
    """Write the maps of every kind to its folder; return where they will be."""
    coming = []
    for (kind, maps), folder in zip(made.items(), folders, strict=True):
        sidecars = {}
        for name in maps:
            own = told[kind] | {"findings": findings_about(maps.findings_, name)}
            sidecars[name] = describe_map(GROUP_MAPS[name], own)
        check_maps(maps, sidecars, files[kind])
        stage_maps(folder, maps, sidecars, files[kind])
        staged = sorted(folder.glob("*.nii.gz")) + sorted(folder.glob("*.gii"))
        coming += [files[kind].path(path.name) for path in staged]
    return coming
