"""The report: self-contained, escaped, complete, and honest about vacuous bounds."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from nibabel import Nifti1Image

from neuroextrap.decoding import IdentificationSearchLight
from tests.reporting.seam import Report, identification_sections, make_page

_VOID = {"meta", "img", "br", "link", "input"}


class _Balance(HTMLParser):
    """Check that every tag is closed in order; collect addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [v for k, v in attrs if k in ("src", "href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _parsed(page):
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_page_is_whole_and_needs_no_network(reports):
    report = reports("fitted")[0]
    assert isinstance(report, Report)
    page = report.get_standalone()
    parsed = _parsed(page)
    assert parsed.sources
    inside = ("data:image/", "data:text/tab-separated-values;", "#")
    assert all(source.startswith(inside) for source in parsed.sources)
    assert not re.search(r"<script[^>]* src", page)
    assert re.findall(r"<h2[^>]*>(.*?)<a", page) == [
        "What was found",
        "Accuracy curves",
        "Peaks",
        "Explore the maps",
        "Maps",
        "What this does not show",
        "Permutation test",
        "What was analyzed",
        "What holds when",
        "Methods",
        "Parameters",
    ]


def test_figures_are_closed(reports):
    assert reports("fitted")[2]


def test_vacuous_average_bound_is_said_and_points_to_the_given_classes(page):
    assert "is vacuous: even accuracy 1 would not lift it above chance (1/4)" in page
    assert "for the classes actually shown, use bayes_accuracy_bound." in page


@pytest.mark.usefixtures("undrawn")
def test_bound_that_can_speak_is_not_called_vacuous():
    rng = np.random.default_rng(1)
    y, runs = np.tile(np.arange(60), 2), np.repeat([0, 1], 60)
    X = rng.normal(size=(60, 30))[y] + 0.3 * rng.normal(size=(120, 30))
    split = [(np.arange(60), np.arange(60, 120))]
    light = IdentificationSearchLight(cv=split).fit(X, y, groups=runs)
    assert "vacuous" not in light.generate_report().get_standalone()


@pytest.mark.usefixtures("undrawn")
def test_names_and_title_are_escaped(one_region):
    page = one_region.generate_report(title="<script>x</script> $title")
    page = page.get_standalone()
    _parsed(page)
    assert "<h1>&lt;script&gt;x&lt;/script&gt; $title</h1>" in page
    assert "&lt;b&gt;face&lt;/b&gt;" in page
    assert "<b>" not in page


def test_files_and_regions_are_escaped(reports, tmp_path):
    path = tmp_path / "<b>mask & 'co'.nii.gz"
    Nifti1Image(np.ones((3, 3, 3), dtype=np.uint8), 4 * np.eye(4)).to_filename(path)
    y, runs = np.tile([0, 1, 2], 3), np.repeat([0, 1, 2], 3)
    imgs = Nifti1Image(np.random.default_rng(0).random((3, 3, 3, 9)), 4 * np.eye(4))
    light = IdentificationSearchLight(str(path), radius=4.0).fit(imgs, y, groups=runs)
    page = light.generate_report().get_standalone()
    _parsed(page)
    assert "&lt;b&gt;mask &amp; &#39;co&#39;.nii.gz" in page
    assert "<b>" not in page
    page = reports("atlas")[0].get_standalone()
    _parsed(page)
    assert "<b>" not in page
    assert "</script>left" not in page


@pytest.mark.usefixtures("undrawn")
def test_arrays_have_no_maps_and_no_permutation_test(one_region):
    headings = [heading for heading, _ in identification_sections(one_region)]
    assert "Maps" not in headings
    assert "Permutation test" not in headings


@pytest.mark.usefixtures("undrawn")
def test_results_read_back_are_reported_without_band(one_region, tmp_path):
    one_region.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    assert np.isnan(again.standard_error(0)).all()
    page = again.generate_report().get_standalone()
    assert "Accuracy curves" in page


def test_nothing_analysed_is_refused():
    nothing = SimpleNamespace(region_scores_={"accuracy": np.array([np.nan])})
    with pytest.raises(ValueError, match="fitted has no analyzed region"):
        identification_sections(nothing)


def test_sections_without_heading_have_no_heading_line():
    page = make_page("t", [("", "<p>only</p>")]).get_standalone()
    assert "<h2" not in page
    assert "<p>only</p>" in page
