"""Responses that are given twice, and pairings without runs, are found out."""

import numpy as np
import pytest

from neuroextrap.encoding import EncodingIdentification, RidgeEncoder


def study(dtype, n_train=40, n_test=10, n_voxels=20):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n_train + n_test, 4))
    responses = 100 + features @ rng.normal(size=(4, n_voxels))
    responses += rng.normal(size=responses.shape)
    return features, responses.astype(dtype), n_train


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_training_response_is_no_test_response(dtype):
    features, responses, n = study(dtype)
    model = EncodingIdentification(encoder=RidgeEncoder())
    model.fit(features[:n], responses[:n])
    model.identify(features[n:], responses[n:])  # all new
    responses[n + 3] = responses[7]
    with pytest.raises(ValueError, match="test response 3 is training response 7"):
        model.identify(features[n:], responses[n:])


def test_one_response_of_two_stimuli_is_refused_in_folds():
    features, responses, _ = study(np.float64)
    model = EncodingIdentification(encoder=RidgeEncoder())
    model.identify_folds(features, responses, n_folds=5)
    responses[30] = responses[2]
    with pytest.raises(ValueError, match="samples 2 and 30 are equal"):
        model.identify_folds(features, responses, n_folds=5)


def test_pairing_without_runs_is_said_in_notes_and_first_sentence():
    features, responses, n = study(np.float64)
    model = EncodingIdentification(encoder=RidgeEncoder(), n_permutations=99)
    model.fit(features[:n], responses[:n])
    with pytest.warns(UserWarning, match="no runs were given"):
        model.identify(features[n:], responses[n:])
    assert any(note.startswith("no runs were given") for note in model.notes_)
    page = model.generate_report().get_standalone()
    assert "because no runs were given (groups=None)" in page
    model.identify(features[n:], responses[n:], groups=np.repeat([0, 1], 5))
    assert not model.findings_
