"""The whole report in a real browser: reading, pressing, small screens."""

import pytest

SHOWN = "document.querySelector('.nx-shown').textContent"
PLACE = "document.querySelector('.nx-place').textContent"


@pytest.fixture(scope="module")
def report(reports, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    reports("fitted")[0].save_as_html(path)
    return path


def test_it_opens_on_what_survives(browser, report, fitted):
    browser.open(report)
    survives = fitted.region_scores_["p_value_fwe"] <= 0.05
    above = fitted.region_scores_["accuracy"] > 0.25
    assert browser.value(SHOWN).split()[0] == f"{(survives & above).sum():,}"
    browser.value("document.querySelector('.nx-only').click()")
    assert browser.value(SHOWN).split()[0] == f"{above.sum():,}"
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}


def test_a_peak_moves_the_viewer(browser, report, fitted):
    browser.open(report)
    buttons = browser.value("document.querySelectorAll('.nx-go').length")
    assert buttons >= 3
    for number in range(buttons):
        button = f"document.querySelectorAll('.nx-go')[{number}]"
        words = browser.value(f"{button}.textContent").replace("\N{MINUS SIGN}", "-")
        region = int(browser.value(f"{button}.dataset.region"))
        browser.value(f"{button}.click()")
        browser.settle()
        assert browser.value(PLACE) == words
        accuracy = dict(item.split("=") for item in browser.state()["numbers"])
        expected = fitted.region_scores_["accuracy"][region]
        assert float(accuracy["accuracy"]) == pytest.approx(expected, rel=1e-3)
    assert browser.complaints() == []


def test_a_peak_moves_the_viewer_of_a_surface(browser, surface, reports, tmp_path):
    reports("surface")[0].save_as_html(tmp_path / "surface.html")
    browser.open(tmp_path / "surface.html")
    button = "document.querySelectorAll('.nx-go')[1]"
    region = int(browser.value(f"{button}.dataset.region"))
    browser.value(f"{button}.click()")
    numbers = dict(item.split("=") for item in browser.state()["numbers"])
    expected = surface.region_scores_["accuracy"][region]
    assert float(numbers["accuracy"]) == pytest.approx(expected, rel=1e-3)
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_sticks_out_sideways(browser, report, width):
    browser.resize(width)
    try:
        browser.open(report)
        assert browser.value("document.documentElement.scrollWidth") <= width
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_every_link_of_the_contents_has_its_place(browser, report):
    browser.open(report)
    missing = browser.value(
        "Array.from(document.querySelectorAll('nav a')).filter(link =>"
        "!document.getElementById(link.hash.slice(1))).length"
    )
    assert browser.value("document.querySelectorAll('nav a').length") >= 9
    assert missing == 0


def test_figures_and_curves_are_saved(browser, report):
    browser.open(report)
    browser.value("""(function () {
      window.saved = [];
      HTMLAnchorElement.prototype.click = function () {
        window.saved.push([this.download, this.href]);
      };
      document.querySelector('.nx-save').click();
      document.querySelector('.nx-save-curve').click();
    })()""")
    (picture, source), (curve, text) = browser.value("window.saved")
    assert picture == "curve_1.svg"
    assert source.startswith("data:image/svg+xml")
    assert curve.startswith("curve_region_")
    assert "set_size%09accuracy" in text
