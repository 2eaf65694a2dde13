"""No page, viewer or printed table states more than a lower bound."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.reporting.seam import (
    bits_at_least,
    bits_in_words,
    filter_of,
    format_confidence,
    format_number,
    format_p_value,
    format_percent,
    paragraphs,
    percent_at_least,
    percentage_points,
    rounded,
    sentence_case,
    text_table,
)

RNG = np.random.default_rng(0)
BOUNDS = np.concatenate(
    [
        RNG.random(2000),
        10 ** RNG.uniform(-4, 1, 2000),
        np.nextafter([0.1, 0.2, 0.75, 1.0, 1.5, 2.0], 0),
        np.arange(200) / 200,
    ]
)


def printed(bounds):
    """Lower bounds as the command line prints them."""
    table = text_table(
        pd.DataFrame({"information_bound": bounds}), ["information_bound"]
    )
    return table.split()[-len(bounds) :]


@pytest.mark.parametrize(
    ("write", "digits"),
    [
        (lambda x: [percent_at_least(b) for b in x], 2),
        (lambda x: [bits_at_least(b) for b in x], 2),
        (lambda x: [filter_of("bound")(b) for b in x], 3),
        (lambda x: [row[0] for row in rounded(x[:, np.newaxis], down=True)], 4),
        (printed, 3),
    ],
)
def test_a_bound_is_never_rounded_up(write, digits):
    written = pd.Series(write(BOUNDS)).astype(str)
    percent = written.str.endswith("%")
    said = written.str.rstrip("%").astype(float) / np.where(percent, 100, 1)
    assert len(said) == len(BOUNDS)
    assert (said <= BOUNDS + 1e-9).all()
    assert (said >= BOUNDS * (1 - 10.0 ** (1 - digits)) - 1e-12).all()


def test_other_columns_of_a_viewer_are_rounded_to_the_nearest():
    assert rounded([[0.12349, 0.12349]], down=[True, False]) == [[0.1234, 0.1235]]


def test_unknown_bounds_are_a_dash():
    assert bits_at_least(np.nan) == filter_of("bound")(np.nan) == "-"


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (format_confidence, {0.95: "95%", 0.975: "97.5%", 0.999: "99.9%"}),
        (format_number, {0.12345: "0.123", 5100.0: "5,100", 51: "51", "V1": "V1"}),
        (format_number, {1.23456e-4: "0.000123", -0.5: "-0.5", 69765.4: "69,765"}),
        (format_number, {12.0: "12", float("inf"): "inf", float("nan"): "-"}),
        (format_percent, {0.7708: "77%", 0.125: "12.5%", 1 / 96: "1.04%"}),
        (percent_at_least, {0.7463: "74%", 0.1378: "13.7%", 0.57: "57%"}),
        (bits_at_least, {1.4705: "1.4", 0.0899: "0.089"}),
        (bits_in_words, {1.0: "1 bit", 1.4705: "1.4 bits"}),
        (filter_of("bits"), {0.7498: "0.75"}),
        (filter_of("change"), {0.7498: "+0.75", -0.1: "\N{MINUS SIGN}0.10"}),
        (filter_of("bound"), {0.7498: "0.749"}),
        (format_p_value, {0.04762: ".048", 1.0: "1", 2.5e-5: "2.5e-05", 0.0: "0"}),
        (percentage_points, {0.2: "+20", -0.015: "\N{MINUS SIGN}1.5"}),
        (sentence_case, {"t": "t", "cluster extent": "Cluster extent"}),
        (paragraphs, {"1 < 2": "<p>1 &lt; 2</p>", "": ""}),
    ],
)
def test_numbers_and_words_are_written_for_readers(write, texts):
    assert {value: str(write(value)) for value in texts} == texts
    assert format_number(np.nan) == format_percent(np.nan) == format_p_value(np.nan)


def test_the_first_sentences_state_no_more_than_the_maps(fitted, page):
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    for pattern, unit, name in (
        (r"is right at least ([\d.]+)% of the time", 100, "bayes_accuracy_bound_fwe"),
        (r"carries at least ([\d.]+) bits", 1, "class_information_bound_fwe"),
    ):
        said = [float(number) / unit for number in re.findall(pattern, text)]
        assert said
        assert max(said) <= np.nanmax(fitted.region_scores_[name]) + 1e-9
