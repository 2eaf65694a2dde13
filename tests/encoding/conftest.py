"""A linear-Gaussian experiment whose model is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge


@pytest.fixture
def experiment():
    """Training and test stimuli, responses of 30 voxels, a ridge encoder."""
    rng = np.random.default_rng(0)
    n_train, n_test, n_columns, n_voxels = 150, 24, 8, 30
    features = rng.normal(size=(n_train + n_test, n_columns)) * np.arange(1, 9) + 5
    weights = rng.normal(size=(n_columns, n_voxels)) / np.arange(1, 9)[:, None]
    mixing = rng.normal(size=(n_voxels, n_voxels)) / np.sqrt(n_voxels)
    noise = rng.normal(size=(len(features), n_voxels)) @ mixing
    responses = features @ weights + 6 * noise + 100.0
    return SimpleNamespace(
        train=features[:n_train],
        Y=responses[:n_train],
        test=features[n_train:],
        Y_test=responses[n_train:],
        encoder=Ridge(),
    )
