"""The group, its maps and tests, and the page of a cohort with links to everything."""

import logging
import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.analysis._region_maps import table_writer
from neuroextrap.cohorts._cohort_design import read_participants
from neuroextrap.cohorts._cohort_options import GroupOptions, check_path
from neuroextrap.cohorts._cohort_records import read_records, write_text, written
from neuroextrap.cohorts._group_members import ANALYSIS, NULL, beside, gather
from neuroextrap.design._findings import findings_about
from neuroextrap.group import group_information, second_level_test
from neuroextrap.group._prevalence import PrevalenceOptions, saved_prevalence
from neuroextrap.group._subjects import differences_of
from neuroextrap.images._opening import open_file
from neuroextrap.images._tables import read_text_table
from neuroextrap.maps._files import check_maps, describe_map, stage_maps
from neuroextrap.maps._provenance import file_hash, provenance, read_json
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import finish_interrupted, replaced_results
from neuroextrap.reporting._group_page import make_group_page
from neuroextrap.reporting._maps_section import decide, place_words
from neuroextrap.reporting._page import format_number, make_page, render
from neuroextrap.reporting._pictures import projections
from neuroextrap.stats._shared_options import as_options, described_by, takes_options

logger = logging.getLogger(__name__)

INDEX = "index.html"
_OF_FILMS = "desc-voxels_stat.tsv"
_REPORT, _TABLE = "desc-report_stat.html", "desc-table_stat.tsv"
_PAGE, _REGIONS = "report.html", "regions.tsv"
_KINDS = ("accuracy", "information", "prevalence")
_MAPS = ("_stat.nii.gz", "_stat.shape.gii")
_DECIDING = ("p_value_fwe", "bayes_accuracy_bound_fwe")
_HEADS = {
    "picture": "Map",
    "survive": "Voxels that survive",
    "peak": "Peak",
    "accuracy": "Accuracy there",
    "bits": "Bits there",
    "correlation": "Correlation there",
    "n_runs": "Runs",
    "motion": "Motion (mm)",
    "seconds": "Seconds",
    "warnings": "Warnings",
    "status": "Status",
}
_OUTCOME = ("n_runs", "seconds", "status", "reason")


def write_index(out):
    """Write ``index.html``, again if a process meanwhile changed what it is about."""
    out, seen = Path(out), None
    while seen != (seen := read_records(out)):
        write_text(out / INDEX, index_text(out))


def index_text(out, left_out=None, *, coming=(), going=(), mixed=()):
    """Return the page of all, as it is once files are `coming` and `going`."""
    present = {*(out / "group").glob("*_stat.*"), *coming} - {*going}
    links = [(path.relative_to(out).as_posix(), path.name) for path in sorted(present)]
    about: dict[str, Any] = {
        "pages": [link for link in links if link[1].endswith(_REPORT)],
        "tables": [link for link in links if link[1].endswith("regions_stat.tsv")],
        "maps": [link for link in links if link[1].endswith(_MAPS)],
        "stale": _analyzed_since(out, present - {*coming}),
    }
    rows, span = _rows(out)
    score = "correlation" if any(row["correlation"] for row in rows) else "accuracy"
    heads = {n: head for n, head in _HEADS.items() if any(row[n] for row in rows)}
    reasons = [f"{row['name']}: {row['reason']}" for row in rows if row["reason"]]
    left_out = [f"{name}: {why}" for name, why in (left_out or {}).items()]
    about_rows = {"rows": rows, "heads": heads, "span": span, "score": score}
    tables = {
        "Group": render("cohort_group", **about),
        "Participants": render("cohort", **about_rows),
        "What failed or was left out": render("list", items=reasons),
        "Left out of the group": render("list", items=left_out),
        "Differences": render("cohort_differences", mixed=list(mixed)),
    }
    sections = [(head, str(text).strip()) for head, text in tables.items()]
    what = "Films and stories" if score == "correlation" else "Identification"
    return make_page(f"{what} in a cohort", sections).get_standalone()


def _analyzed_since(out, present):
    """Return who was analyzed again, or removed, since maps of the group were made."""
    changed = set()
    for path in present:
        if not path.name.endswith("Effect_stat.json"):
            continue
        for source in read_json(path).get("sources", {}).get("imgs", ()):
            file = out / source["file"]
            if source.get("in_dataset") and not (
                file.is_file() and file_hash(file) == source["sha256"]
            ):
                changed.add(file.relative_to(out).parts[0])
    return sorted(changed)


def _rows(out):
    """Return a dict for every record, and from where to where colors go in pictures."""
    rows, maps, seen = [], [], set()
    for name, record in read_records(out).items():
        outcome = record.get("outcome", {})
        row = dict.fromkeys(_HEADS, "") | {"name": f"sub-{name}", "link": ""}
        row |= {key: outcome.get(key, "") for key in _OUTCOME}
        row["motion"] = format_number(outcome["motion"]) if "motion" in outcome else ""
        results = outcome.get("results")
        if outcome.get("status") == "done" and written(out, results):
            if results in seen:  # a second record of them
                continue
            seen.add(results)
            row |= _results(out, results)
            maps.append(row)
        rows.append(row)
    return rows, _draw(maps)


def _draw(maps):
    """Make pictures of the values in rows; return from where to where colors go."""
    data = [row["picture"] for row in maps]
    ends = [(np.nanmin(each), np.nanmax(each)) for each in data if each is not None]
    span = (min(e[0] for e in ends), max(e[1] for e in ends)) if ends else None
    for row in maps:
        row["picture"] = "" if span is None else projections(row["picture"], span)
    return span


def _results(out, results):
    """Return what a row says of results, whose paths begin so."""
    index = out / f"{results}_{ANALYSIS}"
    of_films = beside(index, _OF_FILMS).is_file()
    score = "correlation" if of_films else "accuracy"
    page, row = beside(index, _REPORT), {}
    if page.is_file():
        row["link"] = page.relative_to(out).as_posix()
    peaks = read_text_table(beside(index, "desc-peaks_stat.tsv"), "peaks")
    texts = ("name", "atlas_label")
    filled = {key: text for key, text in peaks.iloc[0].items() if text}
    first = {k: text if k in texts else float(text) for k, text in filled.items()}
    row["peak"] = place_words(first)
    row[score] = format_number(first[score])
    if not of_films:
        row["bits"] = format_number(first.get("implied_information", np.nan))
    scores = {}
    for name in (score, *_DECIDING):
        path = beside(index, f"desc-{name.replace('_', '')}_stat.nii.gz")
        if path.is_file():
            scores[name] = open_file(path, "maps").get_fdata()
    row["picture"] = scores.get(score)
    if row["picture"] is None:  # a surface
        return row
    n_classes = None if of_films else len(read_json(index)["classes"])
    how = {"n_classes": n_classes, "confidence_level": 0.95}
    verdict = decide({n: v.ravel() for n, v in scores.items()}, **how)
    n_known = int(np.isfinite(scores[score]).sum())
    if verdict.criterion:
        row["survive"] = f"{verdict.n_surviving:,} of {n_known:,}"
    sidecar = read_json(beside(index, f"desc-{score}_stat.json"))
    doubts = [f for f in sidecar.get("findings", ()) if f["grade"] == "doubtful"]
    row["warnings"] = "; ".join(each["because"] for each in doubts)
    return row


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
    request = as_options(GroupOptions, analyze_group, options)
    out = Path(check_path(out, "out"))
    finish_interrupted(out, below=True)  # before anything is read
    group = gather(out, request)
    named = {kind: group.entities | {"desc": kind} for kind in _KINDS}
    files = {kind: ResultFiles.below(out, each) for kind, each in named.items()}
    for each in files.values():
        each.check(overwrite=request.overwrite)
    made, described = _made(group, request)
    more = {}
    if request.report:
        drawn = {"labels_img": labels_img, "names": names, "bg_img": bg_img}
        about = {"left_out": group.left_out, "links": _links(out, group.members)}
        page = make_group_page(list(made.values()), **drawn, **about)
        more[_PAGE] = page.save_as_html
    table = _regions_of(out, group, request)
    if table is not None:
        more[_REGIONS] = table_writer(table)
    _replace(out, files, group, (made, described, more), overwrite=request.overwrite)
    return made["accuracy"] if request.is_comparison else _joined(made)


def _made(group, request):
    """Return the RegionMaps of every analysis by kind, and the record of each."""
    given, about, described = request.by_kind(1 / group.n_classes), group.record, {}
    if request.is_comparison:
        made = {"accuracy": _compared(group, given["accuracy"], request)}
    else:
        made = _tested(group.members, group.imgs[0], given, request.shared)
    for kind in made:
        made_by = provenance(parameters=given[kind], random_state=request.random_state)
        described[kind] = about | made_by
    return made, described


def _tested(members, imgs, options, shared):
    """Return the RegionMaps of every analysis of the group, by its kind."""
    indices = [str(index) for index, _ in members.values()]
    made = {
        "accuracy": second_level_test(imgs, **options["accuracy"], **shared),
        "information": group_information(indices, **options["information"], **shared),
    }
    nulls = [beside(index, NULL) for index, _ in members.values()]
    n_saved = sum(path.is_file() for path in nulls)
    if n_saved == len(nulls):
        how = PrevalenceOptions(**options["prevalence"], **shared)
        made["prevalence"] = saved_prevalence(indices, nulls, how)
    elif n_saved:
        logger.warning(
            "prevalence is left out: only %d of %d participants have permuted maps",
            n_saved,
            len(nulls),
        )
    return made


def _compared(group, options, request):
    """Return the RegionMaps of a contrast over participants, or within them."""
    options, imgs, design = options | request.shared, group.imgs, group.design
    first, *paired = imgs
    if len(imgs) == 4:
        first, *paired = differences_of(*imgs[:2]), differences_of(*imgs[2:])
    if paired:
        options["paired_imgs"] = paired[0]
    if design is not None:
        options |= {"contrast": design.contrast, "design_matrix": design.table}
        if request.contrast is None:  # a mean, which signs decide and no order
            options["errors"] = "symmetric"
    maps: Any = second_level_test(first, **options)
    if design is not None:
        maps.options["design"] = "; ".join(design.words)
    if len(imgs) > 1:
        words = "({} - {}) - ({} - {})" if len(imgs) > 2 else "{} - {}"
        maps.options["within"] = words.format(*request.within)
    return maps


def _regions_of(out, group, request):
    """Return all regions of all participants, with their table, None without atlas."""
    parts = []
    for number, members in enumerate(group.cells):
        for name, (index, _) in members.items():
            if not beside(index, _TABLE).is_file():
                return None
            own = pd.read_csv(beside(index, _TABLE), sep="\t")
            if len(group.cells) > 1:
                own.insert(0, "analysis", request.within[number])
            own.insert(0, "participant_id", name)
            parts.append(own)
    people = read_participants(request.participants_table, out)
    people = people[people.columns.difference(parts[0].columns, sort=False)]
    return pd.concat(parts).join(people, on="participant_id")


def _joined(made):
    """Return all maps in one dict; names that are taken get the kind in front."""
    joined = {}
    for kind, maps in made.items():
        for name, img in maps.items():
            joined[f"{kind}_{name}" if name in joined else name] = img
    return joined


def _links(out, members):
    """Return the addresses of participants' own pages, seen from the group's folder."""
    pages = {name: beside(index, _REPORT) for name, (index, _) in members.items()}
    return {
        name: Path(os.path.relpath(page, out / "group")).as_posix()
        for name, page in pages.items()
        if page.is_file()
    }


def _replace(out, files, group, parts, *, overwrite):
    """Write maps, further files and the page of all in one step; other kinds go."""
    made, described, more = parts
    own = ResultFiles.below(out, group.entities)
    places = {name: own.path(name) for name in (_PAGE, _REGIONS)} | {INDEX: out / INDEX}
    staged = [(files[kind], described[kind]) for kind in made]
    stale = [files[kind] for kind in files if kind not in made]
    how = {"overwrite": overwrite, "elsewhere": places, "stale": stale}
    with replaced_results(staged, **how) as folders:
        coming = _stage(made, files, described, folders)
        for name, write in more.items():
            write(folders[0] / name)
            coming.append(places[name])
        written = {each.folder / n for each in files.values() for n in each.written()}
        going = {places[_PAGE], places[_REGIONS], *written} - {*coming}
        about = {"left_out": group.left_out, "mixed": group.mixed.values()}
        page = index_text(out, **about, coming=coming, going=going)
        (folders[0] / INDEX).write_text(page, encoding="utf-8")


def _stage(made, files, described, folders):
    """Write the maps of every kind to its folder; return where they will be."""
    coming = []
    for (kind, maps), folder in zip(made.items(), folders, strict=True):
        sidecars = {}
        for name in maps:
            own = described[kind] | {"findings": findings_about(maps.findings_, name)}
            sidecars[name] = describe_map(GROUP_MAPS[name], own)
        check_maps(maps, sidecars, files[kind])
        stage_maps(folder, maps, sidecars, files[kind])
        staged = sorted(folder.glob("*.nii.gz")) + sorted(folder.glob("*.gii"))
        coming += [files[kind].path(path.name) for path in staged]
    return coming
