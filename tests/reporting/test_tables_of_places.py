"""Tables show buttons, not their source, whatever pandas makes of text in frames."""

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.group import second_level_test
from tests.reporting.seam import tables_of_peaks

BUTTON = '<button type="button" class="nx-go"'

PEAKS = pd.DataFrame(
    {
        "region": [3, 8],
        "x": [1.0, -2.0],
        "y": [2.0, 4.0],
        "z": [3.0, 6.0],
        "accuracy": [0.5, 0.75],
        "atlas_label": ["<b>V1</b>", "a & b"],
    }
)


def test_places_are_buttons_and_escaped():
    page = tables_of_peaks(
        PEAKS,
        np.array([True, False]),
        {"accuracy": "Accuracy"},
        captions=("Strong", "Weak"),
        hint="",
        viewer_index="region",
    )
    assert page.count(BUTTON) == 2
    assert ">(1, 2, 3)" in page
    assert "<b>V1" not in page
    assert "&lt;b&gt;V1&lt;/b&gt;" in page
    first, second = page.index("Strong"), page.index("Weak")
    assert page.index('data-region="3"') < second
    assert page.index('data-region="8"') > second > first


@pytest.mark.usefixtures("undrawn")
def test_page_of_a_group():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(8, 4, 4, 4))
    data[:, :2, :2, :2] += 5
    imgs = [nibabel.Nifti1Image(subject, 4 * np.eye(4)) for subject in data]
    maps = second_level_test(imgs, n_permutations=20)
    assert BUTTON in maps.generate_report().get_standalone()


@pytest.mark.usefixtures("undrawn")
def test_with_pyarrow(fitted):
    """Pandas then stores text in arrays of its own, without what marks HTML."""
    pytest.importorskip("pyarrow")
    assert fitted.generate_report().get_standalone().count(BUTTON) >= 2
