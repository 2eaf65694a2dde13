"""A self-contained page: sections with anchors, tables, pictures inside."""

import base64
import datetime
import html
import re
import shlex
import tempfile
import webbrowser
from pathlib import Path

from markupsafe import Markup, escape

import neuroextrap
from neuroextrap.reporting._rendering import format_number, read_text, render
from neuroextrap.stats._validation import brief

_MOST_FILES = 3


class Report:
    """A self-contained HTML page, such as ``generate_report`` returns.

    It has the methods of :class:`nilearn.reporting.HTMLReport`. As the last value of a
    notebook's cell it is shown in a frame as wide as the notebook.
    """

    def __init__(self, html):
        self.html = html

    def __str__(self):
        """Return the whole page as HTML."""
        return self.html

    def get_standalone(self):
        """Return the whole page: HTML that needs no other file and no network."""
        return self.html

    def get_iframe(self, width="100%", height=800):
        """Return the page in an inline frame, its sides in pixels or with a unit."""
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="neuroextrap report" srcdoc="{page}" width="{width}" '
            f'height="{height}" style="border: 0"></iframe>'
        )

    def _repr_html_(self):
        """Return what a notebook shows."""
        return self.get_iframe()

    def save_as_html(self, file_name):
        """Write the page to a file; a file of that name is replaced."""
        Path(file_name).write_text(self.html, encoding="utf-8")

    def open_in_browser(self, file_name=None):
        """Open the page in the system's browser, written to a file first.

        Without `file_name` the file stays in the system's folder for temporary files.
        """
        if file_name is None:
            file_name = Path(tempfile.mkdtemp(prefix="neuroextrap_")) / "report.html"
        self.save_as_html(file_name)
        webbrowser.open(Path(file_name).resolve().as_uri())


def page_title(title, default):
    """Return the title that is asked for; TypeError unless it is text or None."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={brief(title)} must be text or None")
    return title or default


def sections_of(found, shown, limits, details, methods, requested=()):
    """Return the sections of a page, pairs (heading, HTML), as all pages order them.

    `found` (HTML) is the answer, `limits` and `methods` are sentences; `shown`,
    `details` and `requested` are the sections between and after these.
    """
    return [
        ("What was found", found),
        *shown,
        ("What this does not show", list_of(limits)),
        *details,
        ("Methods", methods_section(methods)),
        *requested,
    ]


def make_page(title, sections, *, origin=None):
    """Put sections (heading, HTML) on one page, a Report; empty ones are left out.

    Below the title stand the day, and of an `origin` (Origin) the files and command.
    An empty heading has no line and no entry in the contents.
    """
    parts = _with_anchors([section for section in sections if section[1]])
    contents = [part for part in parts if part["heading"]]
    page = render(
        "page",
        title=title,
        about=about_results(origin),
        sections=parts,
        contents=contents if len(contents) > 1 else [],
        style=Markup(read_text("page.css")),
        script=Markup(read_text("page.js")),
        version=neuroextrap.__version__,
    )
    return Report(str(page))


def about_results(origin):
    """Return what the head of a page says: files, day and command, those known."""
    files = [] if origin is None else origin.names("imgs")
    more = len(files) - _MOST_FILES
    shown = files if more <= 0 else [*files[:_MOST_FILES], f"{more} more"]
    command = [] if origin is None else origin.record.get("command", [])
    today = datetime.date.today()
    day = f"{today.day} {today:%B %Y}"
    return {"files": shown, "day": day, "command": shlex.join(command)}


def _with_anchors(sections):
    """Return sections as dicts; every anchor is a heading's words, and unique."""
    parts, taken = [], {"results"}
    for heading, content in sections:
        words = re.sub(r"[^a-z0-9]+", "-", str(heading).lower()).strip("-") or "part"
        anchor, number = words, 1
        while anchor in taken:
            number += 1
            anchor = f"{words}-{number}"
        taken.add(anchor)
        parts.append({"heading": heading, "anchor": anchor, "content": Markup(content)})
    return parts


def key_value_table(items, caption="Table"):
    """Return a dict as an escaped HTML table of two columns."""
    return render("pairs", items=items.items(), caption=caption)


def frame_table(frame, caption="", *, headings=None, formats=None, kind="", places=()):
    """Return a data frame as an escaped HTML table, numbers rounded for reading.

    `headings` are the words above columns by name (otherwise the name, its underscores
    as spaces), `formats` functions of their values, `kind` the class of all rows. The
    index is left out. `places` are the cells of a first column; they may be ``Markup``,
    which a column of the frame must not hold: pandas makes plain text of it.
    """
    headings, formats = headings or {}, formats or {}
    columns = [
        {
            "heading": headings.get(name, str(name).replace("_", " ")),
            "title": name if name in headings else "",
            "is_text": len(column) > 0 and isinstance(column.iloc[0], str),
        }
        for name, column in frame.items()
    ]
    write = [formats.get(name, format_number) for name in frame]
    rows = [
        [each(value) for each, value in zip(write, row, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    if len(places):
        head = headings.get("place", "Place")
        columns.insert(0, {"heading": head, "title": "place", "is_text": True})
        rows = [[place, *row] for place, row in zip(places, rows, strict=True)]
    return render("table", columns=columns, rows=rows, kind=kind, caption=caption)


def list_of(words):
    """Return sentences as an escaped HTML list."""
    return render("list", items=words)


def folded(sections):
    """Return sections, HTML by heading, each as a line that opens it."""
    return Markup("\n").join(
        Markup("<details><summary>{}</summary>\n{}\n</details>").format(heading, each)
        for heading, each in sections.items()
    )


def answer(words, picture=""):
    """Return what was found, its first sentence set apart, and where."""
    return render("answer", verdict=words[0], sentences=words[1:], picture=picture)


def figure_tag(source, caption, file_name=""):
    """Return a picture, a data URI, as a figure; a button saves it under its name."""
    return render("figure", source=Markup(source), caption=caption, file_name=file_name)


def tsv_uri(frame):
    """Return a data frame as the address of a tab-separated file."""
    text = frame.to_csv(sep="\t", index=False).encode("utf-8")
    return Markup("data:text/tab-separated-values;base64,") + base64.b64encode(
        text
    ).decode("ascii")


_WORKS = {
    "Abraham et al. 2014": "Abraham et al. (2014). Machine learning for neuroimaging "
    "with scikit-learn. Frontiers in Neuroinformatics 8, 14.",
    "Allefeld et al. 2016": "Allefeld, Görgen & Haynes (2016). Valid population "
    "inference for information-based imaging: from the second-level t-test to "
    "prevalence inference. NeuroImage 141, 378-392.",
    "Blanchard et al. 2020": "Blanchard, Neuvial & Roquain (2020). Post hoc confidence "
    "bounds on false positives using reference families. Annals of Statistics 48, "
    "1281-1303.",
    "Görgen et al. 2018": "Görgen, Hebart, Allefeld & Haynes (2018). The same analysis "
    "approach: practical protection against the pitfalls of novel neuroimaging "
    "analysis methods. NeuroImage 180, 19-30.",
    "Harris 2020": "Harris (2020). A shift test for independence in generic time "
    "series. arXiv:2012.06862.",
    "Hesterberg 2015": "Hesterberg (2015). What teachers should know about the "
    "bootstrap. The American Statistician 69, 371-386.",
    "Kjems et al. 2002": "Kjems et al. (2002). The quantitative evaluation of "
    "functional neuroimaging experiments: mutual information learning curves. "
    "NeuroImage 15, 772-786.",
    "Kriegeskorte et al. 2006": "Kriegeskorte, Goebel & Bandettini (2006). "
    "Information-based functional brain mapping. PNAS 103, 3863-3868.",
    "Lescroart et al. 2015": "Lescroart, Stansbury & Gallant (2015). Fourier power, "
    "subjective distance, and object categories all provide plausible models of BOLD "
    "responses in scene-selective visual areas. Frontiers in Computational "
    "Neuroscience 9, 135.",
    "Nadeau & Bengio 2003": "Nadeau & Bengio (2003). Inference for the generalization "
    "error. Machine Learning 52, 239-281.",
    "Nichols & Holmes 2002": "Nichols & Holmes (2002). Nonparametric permutation tests "
    "for functional neuroimaging: a primer with examples. Human Brain Mapping 15, "
    "1-25.",
    "Nichols et al. 2005": "Nichols et al. (2005). Valid conjunction inference with "
    "the minimum statistic. NeuroImage 25, 653-660.",
    "Nili et al. 2014": "Nili et al. (2014). A toolbox for representational similarity "
    "analysis. PLoS Computational Biology 10, e1003553.",
    "Nishimoto et al. 2011": "Nishimoto et al. (2011). Reconstructing visual "
    "experiences from brain activity evoked by natural movies. Current Biology 21, "
    "1641-1646.",
    "Smith & Nichols 2009": "Smith & Nichols (2009). Threshold-free cluster "
    "enhancement. NeuroImage 44, 83-98.",
    "Stelzer et al. 2013": "Stelzer, Chen & Turner (2013). Statistical inference and "
    "multiple testing correction in classification-based multi-voxel pattern "
    "analysis. NeuroImage 65, 69-82.",
    "Walther et al. 2016": "Walther et al. (2016). Reliability of dissimilarity "
    "measures for multi-voxel pattern analysis. NeuroImage 137, 188-200.",
    "Westfall & Young 1993": "Westfall & Young (1993). Resampling-based multiple "
    "testing. Wiley.",
    "Winkler et al. 2014": "Winkler et al. (2014). Permutation inference for the "
    "general linear model. NeuroImage 92, 381-397.",
    "Winkler et al. 2015": "Winkler et al. (2015). Multi-level block permutation. "
    "NeuroImage 123, 253-268.",
    "Zheng & Benjamini 2016": "Zheng & Benjamini (2016). Estimating mutual information "
    "in high dimensions via classification error. arXiv:1606.05229.",
    "Zheng et al. 2018": "Zheng, Achanta & Benjamini (2018). Extrapolating expected "
    "accuracies for large multi-class problems. Journal of Machine Learning Research "
    "19, 1-30.",
}
"""Works by how sentences cite them, in the order of their authors."""


def methods_section(words):
    """Return sentences to cite, and the works that they name, as HTML."""
    paragraph = Markup(" ").join(words)
    works = [work for name, work in _WORKS.items() if escape(name) in paragraph]
    bibtex = "\n\n".join(map(_bibtex_entry, works))
    return render("methods", paragraph=paragraph, references=works, bibtex=bibtex)


def _bibtex_entry(work):
    """Return "Authors (year). Title. Journal volume, pages." as an entry of BibTeX."""
    ((authors, year, rest),) = re.findall(r"^(.+?) \((\d{4})\)\. (.+)\.$", work)
    title, where = rest.rsplit(". ", 1)
    names = re.split(r", | & | et al", authors)
    kind, fields = _where(where)
    about = {
        "author": " and ".join(name if name else "others" for name in names),
        "title": f"{{{title}}}",
        **fields,
        "year": year,
    }
    lines = (f"  {name} = {{{value}}}" for name, value in about.items())
    key = re.sub(r"\W", "", names[0]).lower() + year
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _where(where):
    """Return the kind of a work, and the fields that say where it appeared."""
    found = re.match(r"(.+?) (\d+), (\w+)(?:-(\d+))?$", where)
    if found is None and "arXiv" in where:
        return "misc", {"howpublished": where}
    if found is None:
        return "book", {"publisher": where}
    journal, volume, first, last = found.groups()
    pages = first if last is None else f"{first}--{last}"
    return "article", {"journal": journal, "volume": volume, "pages": pages}
