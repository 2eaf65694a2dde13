"""A simulated visual cortex: stimuli, truth, and what identification finds."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from neuroextrap.datasets import simulate_visual_cortex
from neuroextrap.encoding import EncodingIdentification, GaborPyramid
from tests.datasets.seam import photo_patches
from tests.images.seam import load_samples


@pytest.fixture(scope="module")
def cortex():
    return simulate_visual_cortex(n_train=250, n_test=40, resolution=10)


def test_patches_differ_and_repeat_with_the_seed():
    patches = photo_patches(200, 16)
    assert len({patch.tobytes() for patch in patches}) == 200
    assert patches.min() >= 0
    assert patches.max() <= 1
    np.testing.assert_array_equal(patches, photo_patches(200, 16))
    assert not np.array_equal(patches, photo_patches(200, 16, random_state=1))


def test_noise_ceiling_is_what_was_asked_for(cortex):
    data = load_samples(cortex.imgs, cortex.masker)
    np.testing.assert_allclose(data.var(axis=0).mean(), 1, atol=0.05)
    features = GaborPyramid().fit_transform(cortex.stimuli)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    train = cortex.is_train
    model = RidgeCV(np.logspace(1, 5, 9)).fit(features[train], data[train])
    predicted = model.predict(features[~train])
    correlation = [
        np.corrcoef(predicted[:, v], data[~train, v])[0, 1]
        for v in range(data.shape[1])
    ]
    squared = np.square(correlation)
    # estimated receptive fields explain most of the ceiling of one half, no more
    assert 0.25 < np.median(squared[cortex.responsive]) < 0.5
    assert np.median(np.abs(correlation)[~cortex.responsive]) < 0.2


def test_searchlight_finds_the_occipital_pole(cortex):
    # the features that the simulated voxels respond to
    pyramid = GaborPyramid(max_grid=None, luminance=False)
    features = pyramid.fit_transform(cortex.stimuli)
    train = cortex.is_train
    data = load_samples(cortex.imgs, cortex.masker)
    members = np.zeros((2, data.shape[1]), dtype=bool)
    members[0] = cortex.responsive
    members[1, np.flatnonzero(~cortex.responsive)[: members[0].sum()]] = True
    model = EncodingIdentification(
        encoder=RidgeCV(np.logspace(1, 5, 9)), regions=_csr(members), n_permutations=99
    )
    model.fit(features[train], data[train])
    model.identify(features[~train], data[~train], groups=cortex.runs[~train])
    accuracy = model.region_scores_["accuracy"]
    assert accuracy[0] > 0.3
    assert accuracy[1] < 0.15
    assert model.region_scores_["p_value_fwe"][0] == 0.01
    assert model.region_scores_["p_value_fwe"][1] > 0.05


def _csr(members):
    import scipy.sparse

    return scipy.sparse.csr_array(members)


def test_bad_options():
    with pytest.raises(ValueError, match="ceiling must lie strictly between 0 and 1"):
        simulate_visual_cortex(ceiling=1)
    with pytest.raises(ValueError, match="ask for fewer or smaller ones"):
        photo_patches(10**6, 16)
    with pytest.raises(ValueError, match="leaves no responsive voxel behind it"):
        simulate_visual_cortex(back=-500, resolution=10)
