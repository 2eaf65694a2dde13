"""What a notebook shows of a fitted analysis is what its report says first."""

import html
import re

import numpy as np

from neuroextrap.decoding import DecoderComparison, IdentificationSearchLight
from neuroextrap.reporting import identification_sections


def test_a_fitted_analysis_shows_its_finding(fitted):
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == repr(fitted)
    assert fitted._repr_html_() == shown["text/html"]
    text = html.unescape(shown["text/html"])
    answer = html.unescape(dict(identification_sections(fitted))["What was found"])
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
    pairs = np.column_stack([np.arange(25), np.arange(25)])
    comparison = DecoderComparison(region_scores_={"p_value": p_values}, pairs_=pairs)
    shown = comparison._repr_html_()
    assert "10 of 25 compared pairs of regions" in shown
    assert shown.index("<td>24</td>") < shown.index("<td>23</td>")
    assert "<td>14</td>" not in shown
    scores = {"accuracy_difference": np.array([0.2])}
    untested = DecoderComparison(region_scores_=scores, pairs_=pairs[:1])
    assert "1 of 1 compared pairs" in untested._repr_html_()
