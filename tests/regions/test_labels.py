import numpy as np

from tests.regions.seam import label_regions


def test_equal_to_comparing_every_label():
    labels = np.random.default_rng(0).choice([0, 2, 5, 40], size=60)
    regions, values = label_regions(labels)
    assert values.tolist() == [2, 5, 40]
    assert (regions.toarray() == (labels == values[:, None])).all()
    assert regions.indices.dtype == np.int32
