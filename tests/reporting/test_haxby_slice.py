"""The results of a real brain that the examples show: readable, small, licensed."""

from pathlib import Path

import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import peak_table

FOLDER = Path(__file__).parents[2] / "examples" / "1_start_here" / "haxby_slice"


@pytest.fixture(scope="module")
def light():
    if not FOLDER.is_dir():
        pytest.skip("the examples are not here")
    return IdentificationSearchLight.from_directory(FOLDER)


def test_results_say_what_readme_says(light):
    first = peak_table(light, n_peaks=1).iloc[0]
    readme = (FOLDER.parents[2] / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith("-26.4"))
    accuracy = float(row.split()[4])
    assert first["accuracy"] == pytest.approx(accuracy, abs=5e-4)
    assert np.isfinite(light.region_scores_["accuracy"]).sum() == 530


def test_they_make_a_report_of_a_real_brain(light):
    page = light.generate_report().html
    assert "of 530 spheres (family-wise p" in page
    assert "drawn over the mean image" in page


def test_they_are_small_and_licensed(light):
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 300_000
    words = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert "CC BY-SA 3.0" in words
    assert "Haxby" in words
