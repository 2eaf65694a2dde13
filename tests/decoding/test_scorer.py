"""The scorer inside nilearn's searchlight, and against our own."""

import nibabel
import numpy as np
import pytest

from neuroextrap.decoding import IdentificationScorer, IdentificationSearchLight


@pytest.mark.parametrize("statistic", ["accuracy", "pairwise_accuracy", 3])
def test_nilearns_searchlight_gives_the_same_map(statistic):
    from nilearn.decoding import SearchLight

    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 4), np.repeat(np.arange(4), 4)
    data = rng.normal(size=(4, 4, 3, 16)).astype(np.float32)
    data[:2, :2] += rng.normal(size=(2, 2, 3, 4))[..., y]
    img = nibabel.Nifti1Image(data, np.diag([3.0, 3, 3, 1]))
    mask = nibabel.Nifti1Image(np.ones((4, 4, 3), dtype=np.uint8), img.affine)
    theirs = SearchLight(
        mask_img=mask,
        radius=4.0,
        estimator=IdentificationScorer(statistic=statistic),
    )
    with pytest.warns(UserWarning, match="custom estimator"):
        theirs.fit(img, y, groups=runs)
    ours = IdentificationSearchLight(mask, radius=4.0).fit(img, y, groups=runs)
    names = {"accuracy": 4, "pairwise_accuracy": 2, 3: 3}
    wins = ours.wins_
    from neuroextrap.stats import average_accuracy

    expected = average_accuracy(wins, [names[statistic]])[:, 0]
    np.testing.assert_allclose(theirs.scores_[mask.get_fdata() > 0], expected)


def test_mistakes_are_named():
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="groups is None"):
        IdentificationScorer().fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        IdentificationScorer().fit(X, [0, 0, 0, 0], groups=[0, 0, 1, 1])
