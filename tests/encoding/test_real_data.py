"""Macaque V4: photographs identified from 89 neurons."""

import io
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from neuroextrap.encoding import (
    EncodingIdentification,
    GaborPyramid,
    RetinotopicFeatures,
    RidgeEncoder,
    compare_encoding_models,
)

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def v4(real_data):
    """Gray 32 x 32 photographs and responses, in the order of the columns."""
    from PIL import Image

    folder = real_data("v4_natural_images")
    responses = np.load(folder / "responses_avg_201025.npy").T
    size = (32, 32), Image.Resampling.BOX
    return _photographs(folder, lambda i: i.convert("L").resize(*size)), responses


def _photographs(folder, prepare):
    """Photographs in the order of the columns of the responses."""
    from PIL import Image

    with zipfile.ZipFile(folder / "images_201025.zip") as archive:
        names = [
            name
            for name in archive.namelist()
            if name.endswith(".jpg") and not name.startswith("__")
        ]
        names.sort(key=lambda name: int(name.rsplit("image", 1)[1][:-4]))
        opened = (Image.open(io.BytesIO(archive.read(name))) for name in names)
        return np.stack([np.asarray(prepare(i), dtype=np.float32) for i in opened])


@pytest.fixture(scope="module")
def gabor_features(v4):
    return _features(v4, GaborPyramid())


def _features(v4, model):
    """Features of all photographs by a model of the first 600."""
    return model.fit(v4[0][:600]).transform(v4[0])


def _identify(features, responses, n_test):
    """Train on the first 600 photographs and identify the last."""
    train, test = slice(0, 600), slice(1200 - n_test, 1200)
    found = EncodingIdentification(
        encoder=RidgeCV(np.logspace(1, 6, 11)), n_permutations=199
    )
    found.fit(features[train], responses[train])
    return found.identify(features[test], responses[test], groups=np.zeros(n_test))


@pytest.fixture(scope="module")
def gabor(v4, gabor_features):
    return _identify(gabor_features, v4[1], 100)


def test_gabor_model_identifies_photographs(gabor):
    accuracy = gabor.region_scores_["accuracy"][0]
    assert 0.40 < accuracy < 0.65  # chance 0.01
    assert gabor.region_scores_["p_value"][0] == 0.005
    assert gabor.region_scores_["information_bound"][0] > 1.0
    assert gabor.extrapolator(0).set_size_at(accuracy=0.10) > 1000


def test_gabor_model_beats_retinotopy_among_600_photographs(v4, gabor_features):
    both = gabor_features, _features(v4, RetinotopicFeatures())
    gabor, retinotopic = (_identify(features, v4[1], 600) for features in both)
    found = compare_encoding_models(gabor, retinotopic)
    assert gabor.region_scores_["accuracy"][0] > 0.2  # chance 0.0017
    assert found["accuracy_difference"][0] > 0.05
    assert found["p_value"][0] == pytest.approx(1 / 1001)


def test_shuffled_responses_are_at_chance(v4, gabor_features):
    shuffled = np.random.default_rng(0).permutation(v4[1])
    found = _identify(gabor_features, shuffled, 100)
    assert found.region_scores_["accuracy"][0] < 0.05
    assert found.region_scores_["p_value"][0] > 0.005


@pytest.mark.slow
def test_default_features_and_encoder_identify_200_photographs(real_data):
    """Color photographs as they are: 800 for training, the next 200 for testing."""
    folder = real_data("v4_natural_images")
    responses = np.load(folder / "responses_avg_201025.npy").T
    photographs = _photographs(folder, lambda image: image.convert("RGB"))
    train, test = slice(0, 800), slice(800, 1000)
    pyramid = GaborPyramid().fit(photographs[train])
    features = pyramid.transform(photographs[:1000])
    assert features.shape[1] < 6000
    accuracy = {}
    for encoder in (None, RidgeEncoder()):
        model = EncodingIdentification(encoder=encoder)
        model.fit(features[train], responses[train])
        model.identify(features[test], responses[test])
        accuracy[encoder is None] = model.region_scores_["accuracy"][0]
    assert accuracy[True] > 0.76  # elastic net; chance 0.005
    assert accuracy[False] > 0.65
