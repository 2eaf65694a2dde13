"""The page of a cohort that links to everything."""

from html import escape
from pathlib import Path

from neuroextrap.cohorts._cohort_records import read_records, write_text
from neuroextrap.reporting._page import make_page

INDEX = "index.html"
_HEADS = ("participant", "status", "runs", "seconds", "report", "reason")


def write_index(out):
    """Write ``index.html`` to the folder of the results, over an older one."""
    out = Path(out)
    write_text(out / INDEX, index_text(out))
    return out / INDEX


def index_text(out, left_out=None, *, coming=(), going=(), mixed=()):
    """Return the page that links to everything.

    `left_out` is a dict of reasons by participant, of those whom the group lacks,
    `mixed` what differs among the others. Files of the group at the paths `coming` will
    be there when the page is, those at `going` will not.
    """
    present = {*(out / "group").glob("*_stat.*"), *coming} - {*going}
    pages, maps = (
        sorted(path for path in present if path.name.endswith(ending))
        for ending in ("desc-report_stat.html", "_stat.nii.gz")
    )
    sections = [("Participants", _participants(out))]
    if maps:
        links = "".join(
            f"<p>{_link(out, page, 'Open the report of the group')}</p>"
            for page in pages
        )
        items = "".join(f"<li>{_link(out, path)}</li>" for path in maps)
        listed = f"<details><summary>All maps</summary><ul>{items}</ul></details>"
        sections.insert(0, ("Group", f"{links}{listed}"))
    if left_out:
        items = "".join(
            f"<li>{escape(name)}: {escape(reason)}</li>"
            for name, reason in left_out.items()
        )
        sections.append(("Left out of the group", f"<ul>{items}</ul>"))
    if mixed:
        items = "".join(f"<li>{escape(name)}</li>" for name in mixed)
        told = f"<p>Allowed to differ among participants, and does:</p><ul>{items}</ul>"
        sections.append(("Differences", told))
    return make_page("Identification in a cohort", sections).get_standalone()


def _participants(out):
    """Return the table of participants as HTML."""
    rows = ["".join(f"<th>{escape(head)}</th>" for head in _HEADS)]
    for label, record in read_records(out).items():
        outcome = record.get("outcome", {})
        pages = sorted((out / f"sub-{label}").rglob("*desc-report_stat.html"))
        links = ", ".join(_link(out, page, "open") for page in pages)
        cells = [f"sub-{label}", outcome.get("status", ""), outcome.get("n_runs", "")]
        cells = [escape(str(cell)) for cell in [*cells, outcome.get("seconds", "")]]
        cells += [links, escape(outcome.get("reason", ""))]
        rows.append("".join(f'<td class="text">{cell}</td>' for cell in cells))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _link(out, path, text=None):
    """Return a relative link to a file of the results."""
    relative = escape(path.relative_to(out).as_posix())
    return f'<a href="{relative}">{escape(text or path.name)}</a>'
