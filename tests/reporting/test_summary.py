"""What a notebook shows of a fitted analysis is what its report says first."""

import html
import re

import numpy as np
import pandas as pd

from neuroextrap.decoding import IdentificationSearchLight
from tests.reporting.seam import RegionMaps


def test_a_fitted_analysis_shows_its_finding(fitted, sections):
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == repr(fitted)
    assert fitted._repr_html_() == shown["text/html"]
    text = html.unescape(shown["text/html"])
    answer = html.unescape(sections["What was found"])
    verdict = re.search(r'<p class="verdict">(.*?)</p>', answer).group(1)
    assert verdict.startswith("Above chance in")
    assert verdict in text
    assert "IdentificationSearchLight</strong>, fitted" in text
    assert text.count('<th scope="col"') == 7
    assert text.count("<tr>") == 6  # the heads and five peaks


def test_before_the_fit_parameters_are_shown():
    shown = IdentificationSearchLight(radius=9.5)._repr_mimebundle_()["text/html"]
    assert "9.5" in shown
    assert "</strong>, fitted" not in shown


def test_a_comparison_shows_its_smallest_p_values():
    p_values = np.linspace(1.0, 0.04, 25)
    table = pd.DataFrame({"first_region": np.arange(25), "p_value": p_values})
    words = "compared pairs of regions"
    shown = RegionMaps({}, table=table, rows=words)._repr_html_()
    assert "10 of 25 compared pairs of regions" in shown
    assert shown.index("<td>24</td>") < shown.index("<td>23</td>")
    assert "<td>14</td>" not in shown
    untested = RegionMaps({}, table=table[["first_region"]][:1], rows=words)
    assert "1 of 1 compared pairs" in untested._repr_html_()
    assert RegionMaps({})._repr_html_() is None
