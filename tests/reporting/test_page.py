"""Numbers and pieces of a page."""

import re
from html import unescape
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from markupsafe import Markup

from tests.reporting.seam import (
    frame_table,
    make_page,
    methods_section,
    paragraphs,
)


def test_table_escapes_names_and_cells():
    html = frame_table(pd.DataFrame({"<x>": ["a&b"]}))
    assert '<th scope="col" class="text">&lt;x&gt;</th>' in html
    assert '<td class="text">a&amp;b</td>' in html


def test_notes_are_set_apart():
    assert paragraphs("careful", note=True) == '<p class="note">careful</p>'


def test_anchors_are_unique_and_in_the_contents():
    page = make_page(
        "t",
        [("Peaks", "<p>a</p>"), ("Peaks", "<p>b</p>"), ("?", "<p>c</p>"), ("No", "")],
    )
    page = page.get_standalone()
    assert ">No<" not in page
    for anchor in ("peaks", "peaks-2", "part"):
        assert page.count(f'<section id="{anchor}"') == 1
        assert f'<li><a href="#{anchor}">' in page


def test_the_page_itself_is_saved(tmp_path):
    report = make_page("Title", [("One", "<p>a</p>")])
    report.save_as_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == report.get_standalone() == str(report)
    assert text.startswith("<!DOCTYPE html>")
    assert "<iframe" not in text
    with pytest.raises(FileNotFoundError):
        report.save_as_html(tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("named", [True, False])
def test_the_browser_is_given_the_page(tmp_path, monkeypatch, named):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    report = make_page("Title", [("", "<p>a</p>")])
    report.open_in_browser("page.html" if named else None)
    (address,) = opened
    path = Path(unquote(urlsplit(address).path))
    assert path.is_relative_to(tmp_path)
    assert path.read_text(encoding="utf-8") == report.get_standalone()


def test_notebooks_show_the_page_in_a_frame():
    report = make_page('A "title"', [("", "<p>a</p>")])
    frame = report._repr_html_()
    assert unescape(frame.split('srcdoc="')[1].split('"')[0]) == report.html
    assert 'width="100%"' in frame


_SMITH = """@article{smith2009,
  author = {Smith and Nichols},
  title = {{Threshold-free cluster enhancement}},
  journal = {NeuroImage},
  volume = {44},
  pages = {83--98},
  year = {2009}
}"""


def test_every_work_that_methods_name_is_listed():
    folder = resources.files("neuroextrap.reporting").joinpath("_templates")
    texts = [path.read_text() for path in folder.iterdir() if "methods" in path.name]
    name = r"[A-Z]\w+(?: &amp; [A-Z]\w+| et al\.)? (?:19|20)\d\d"
    named = {work for text in texts for work in re.findall(name, text)}
    section = methods_section([Markup(work) for work in named])
    works = re.findall(r"<li>(\w+).*\((\d+)\)", section)
    assert sorted(works) == sorted((w.split()[0], w.split()[-1]) for w in named)
    assert len(works) == 22
    assert section.count("@") == 22
    assert _SMITH in section
    assert "author = {Abraham and others}" in section
    for entry in re.findall(r"@\w+\{.*?\n\}", section, re.DOTALL):
        assert entry.count("{") == entry.count("}")
        assert "year = " in entry
