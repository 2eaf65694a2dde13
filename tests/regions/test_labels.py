import numpy as np
import pytest

from tests.regions.seam import label_regions


@pytest.mark.parametrize("background", [0, None, 5])
def test_equal_to_comparing_every_label(background):
    labels = np.random.default_rng(0).choice([0, 2, 5, 40], size=60)
    regions, values = label_regions(labels, background=background)
    kept = [v for v in (0, 2, 5, 40) if v != background]
    assert values.tolist() == kept
    assert (regions.toarray() == (labels == np.array(kept)[:, None])).all()
    assert regions.indices.dtype == np.int32


def test_strings_are_labels_too():
    regions, values = label_regions(["V1", "none", "V1"], background="none")
    assert values.tolist() == ["V1"]
    assert regions.indices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ones((2, 2)), "labels must be one-dimensional"),
        ([1.0, np.nan], "labels must not hold NaN"),
        ([0, 0], "other than the background 0"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        label_regions(labels)
