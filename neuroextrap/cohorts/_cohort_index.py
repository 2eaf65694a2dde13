"""The page of a cohort: one row a participant, with links to everything."""

from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.cohorts._cohort_records import read_records, write_text, written
from neuroextrap.images._opening import open_file
from neuroextrap.images._tables import read_text_table
from neuroextrap.maps._provenance import file_hash, read_json
from neuroextrap.reporting._maps_section import decide, place_words
from neuroextrap.reporting._page import format_number, make_page, render
from neuroextrap.reporting._pictures import projections

INDEX = "index.html"
_ENDING, _OF_FILMS = "desc-analysis_stat.json", "desc-voxels_stat.tsv"
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
        "pages": [link for link in links if link[1].endswith("desc-report_stat.html")],
        "tables": [link for link in links if link[1].endswith("regions_stat.tsv")],
        "maps": [link for link in links if link[1].endswith(_MAPS)],
        "stale": _analyzed_since(out, present - {*coming}),
    }
    rows, span = _rows(out)
    score = "correlation" if any(row["correlation"] for row in rows) else "accuracy"
    shown = {n: head for n, head in _HEADS.items() if any(row[n] for row in rows)}
    reasons = [f"{row['name']}: {row['reason']}" for row in rows if row["reason"]]
    left_out = [f"{name}: {why}" for name, why in (left_out or {}).items()]
    about_rows = {"rows": rows, "heads": shown, "span": span, "score": score}
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
    found = set()
    for path in present:
        if not path.name.endswith("Effect_stat.json"):
            continue
        for source in read_json(path).get("sources", {}).get("imgs", ()):
            file = out / source["file"]
            if source.get("in_dataset") and not (
                file.is_file() and file_hash(file) == source["sha256"]
            ):
                found.add(file.relative_to(out).parts[0])
    return sorted(found)


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

    def beside(name):
        return out / f"{results}_{name}"

    of_films = beside(_OF_FILMS).is_file()
    score = "correlation" if of_films else "accuracy"
    page, row = beside("desc-report_stat.html"), {}
    if page.is_file():
        row["link"] = page.relative_to(out).as_posix()
    peaks = read_text_table(beside("desc-peaks_stat.tsv"), "peaks")
    texts = ("name", "atlas_label")
    known = {key: text for key, text in peaks.iloc[0].items() if text}
    first = {k: text if k in texts else float(text) for k, text in known.items()}
    row["peak"] = place_words(first)
    row[score] = format_number(first[score])
    if not of_films:
        row["bits"] = format_number(first.get("implied_information", np.nan))
    scores = {}
    for name in (score, *_DECIDING):
        path = beside(f"desc-{name.replace('_', '')}_stat.nii.gz")
        if path.is_file():
            scores[name] = open_file(path, "maps").get_fdata()
    row["picture"] = scores.get(score)
    if row["picture"] is None:  # a surface
        return row
    n_classes = None if of_films else len(read_json(beside(_ENDING))["classes"])
    told = {"n_classes": n_classes, "confidence_level": 0.95}
    verdict = decide({n: v.ravel() for n, v in scores.items()}, **told)
    n_known = int(np.isfinite(scores[score]).sum())
    if verdict.criterion:
        row["survive"] = f"{verdict.n_surviving:,} of {n_known:,}"
    sidecar = read_json(beside(f"desc-{score}_stat.json"))
    doubts = [f for f in sidecar.get("findings", ()) if f["grade"] == "doubtful"]
    row["warnings"] = "; ".join(each["because"] for each in doubts)
    return row
