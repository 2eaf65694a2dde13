"""The table of published pools: every figure stands in the text that it names."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from neuroextrap.stats import implied_information

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


@pytest.fixture(scope="module")
def script():
    """The script of the figure."""
    path = FIGURES / "published_pools.py"
    spec = importlib.util.spec_from_file_location("published_pools", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_stands_in_what_was_read(script):
    table = script.read_pools(FIGURES)
    assert len(table) >= 20
    assert table["read_in"].notna().all()
    assert table["assumed"].notna().all()
    for row in table.itertuples():
        said = row.says.replace(",", "")
        numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", said)]
        assert row.accuracy in numbers or round(100 * row.accuracy, 1) in numbers
        assert row.candidates in numbers
        assert 1 / row.candidates < row.accuracy < 1


def test_bits_are_those_of_the_package_and_of_simulated_ranks(script):
    table = script.read_pools(FIGURES)
    top_1 = table[table["statistic"] == "top-1"]
    twin = [
        float(implied_information([row.accuracy], [row.candidates]))
        for row in top_1.itertuples()
    ]
    np.testing.assert_allclose(top_1["bits"], twin, atol=1e-6)
    rng = np.random.default_rng(0)
    shift = np.sqrt(2 * 3.0 * np.log(2))  # 3 bits
    better = (
        rng.normal(size=(20_000, 199)) > rng.normal(size=(20_000, 1)) + shift
    ).sum(1)
    assert script.accuracy_of(3.0, 200, 5) == pytest.approx(
        (better < 5).mean(), abs=0.01
    )
    assert script.bits_of((better < 5).mean(), 200, 5) == pytest.approx(3.0, abs=0.1)
