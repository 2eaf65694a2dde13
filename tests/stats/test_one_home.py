"""Every p-value of the package comes from one function: replace it, and all change."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

from neuroextrap import group, stats
from neuroextrap.decoding import IdentificationSearchLight, lesion_identification
from neuroextrap.encoding import EncodingIdentification, compare_encoding_models
from tests.seam import prediction_scores

N_PERMUTATIONS = 19


def samples():
    """Four classes in six runs, 12 features in three regions."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 12), np.repeat(np.arange(6), 8)
    X = rng.normal(size=(48, 12)) + rng.normal(size=(4, 12))[y]
    regions = scipy.sparse.csr_array(np.kron(np.eye(3), np.ones((1, 4))).astype(bool))
    return X, y, runs, regions


def searchlight():
    X, y, runs, regions = samples()
    model = IdentificationSearchLight(regions=regions, n_permutations=N_PERMUTATIONS)
    return model.fit(X, y, groups=runs).maps_


def lesion():
    X, y, runs, regions = samples()
    model = IdentificationSearchLight(regions=regions, n_permutations=N_PERMUTATIONS)
    return lesion_identification(model, X, y, groups=runs)


def encoding_model(n_features):
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(60, 4)), rng.normal(size=(4, 8))
    Y = X @ W + rng.normal(size=(60, 8))
    model = EncodingIdentification(encoder=Ridge(), n_permutations=N_PERMUTATIONS)
    model.fit(X[:40, :n_features], Y[:40])
    return model.identify(X[40:, :n_features], Y[40:], groups=np.repeat([0, 1], 10))


def voxel_scores():
    X = np.random.default_rng(2).normal(size=(20, 5))
    return prediction_scores(X, X + 1, n_permutations=N_PERMUTATIONS)


def paired():
    differences = np.random.default_rng(3).normal(size=(4, 9)) + 1
    test = stats.paired_sign_flip_test(differences, n_permutations=N_PERMUTATIONS)
    return {"p_value": test.p_value, "p_value_fwe": test.p_value_fwe}


def subjects():
    return np.random.default_rng(4).normal(size=(9, 4)) + 1


def tail():
    # too few null scores for a tail: the plain p-values stay
    return {"p_value": stats.tail_p_value([0.5], np.arange(9.0))[0]}


ANALYSES = {
    "searchlight": searchlight,
    "lesion": lesion,
    "encoding": lambda: encoding_model(4).maps_,
    "comparison": lambda: compare_encoding_models(
        encoding_model(4), encoding_model(2), n_permutations=N_PERMUTATIONS
    ),
    "voxel_scores": voxel_scores,
    "paired": paired,
    "sign_flip": lambda: group.sign_flip_test(subjects(), n_permutations=30),
    "permutation": lambda: {"p_value": stats.permutation_p_value(1.0, [0.5, 2.0])},
    "maximum": lambda: {"p_value_fwe": stats.max_statistic_p_value(1.0, [0.5, 2.0])},
    "tail": tail,
}


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_p_values_follow_the_one_formula(name, monkeypatch):
    before = ANALYSES[name]()
    monkeypatch.setattr(
        "neuroextrap.stats._pvalues.p_value_from_counts",
        lambda n_reached, n_permutations: np.full(np.shape(n_reached), 0.123),
    )
    after = ANALYSES[name]()
    names = [key for key in after if key.endswith(("p_value", "p_value_fwe"))]
    assert names
    for key in names:
        values = np.asarray(after[key])
        np.testing.assert_array_equal(values[~np.isnan(values)], 0.123, err_msg=key)
        assert not np.array_equal(np.asarray(before[key]), values, equal_nan=True)
