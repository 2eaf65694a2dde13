"""Tables show buttons, not their source, whatever pandas makes of text in frames."""

import numpy as np
import pandas as pd
import pytest

from neuroextrap.group import second_level_test
from tests.reporting.seam import _page, _peaks

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


@pytest.fixture
def frames(monkeypatch):
    """As pandas is with pyarrow: columns of text lose what marks HTML."""

    def plain_text(frame, *args, **kwargs):
        return table(frame.map(_plain).astype(frame.dtypes), *args, **kwargs)

    table = _page.frame_table
    monkeypatch.setattr(_peaks, "frame_table", plain_text)


def _plain(value):
    return str.__str__(value) if isinstance(value, str) else value


def _check(page, n):
    assert page.count('<button type="button" class="nx-go"') >= n
    assert "&lt;button" not in page


def test_peaks(frames):
    page = _peaks.tables_of_peaks(
        PEAKS,
        np.array([True, False]),
        {"accuracy": "Accuracy"},
        captions=("Strong", "Weak"),
        hint="",
        viewer_index="region",
    )
    _check(page, 2)
    assert ">(1, 2, 3)" in page
    assert "<b>V1" not in page
    assert "&lt;b&gt;V1&lt;/b&gt;" in page
    first, second = page.index("Strong"), page.index("Weak")
    assert page.index('data-region="3"') < second
    assert page.index('data-region="8"') > second > first


def test_page_of_one_analysis(frames, fitted):
    _check(fitted.generate_report().get_standalone(), 2)


def test_page_of_a_group(frames):
    import nibabel

    rng = np.random.default_rng(0)
    data = rng.normal(size=(8, 4, 4, 4))
    data[:, :2, :2, :2] += 5
    imgs = [nibabel.Nifti1Image(subject, 4 * np.eye(4)) for subject in data]
    maps = second_level_test(imgs, n_permutations=20)
    _check(maps.generate_report().get_standalone(), 1)


def test_with_pyarrow(fitted):
    """The real thing, where it is installed: pandas then stores text in its arrays."""
    pytest.importorskip("pyarrow")
    _check(fitted.generate_report().get_standalone(), 2)
    place = pd.Series(np.array([_peaks.Markup("<b>x</b>")], dtype=object))
    frame = pd.DataFrame({"x": [1.0]})
    frame.insert(0, "place", place.to_numpy())
    if pd.__version__ >= "3":  # what this test is about
        assert not hasattr(frame["place"].iloc[0], "__html__")
