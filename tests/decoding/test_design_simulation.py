"""Level and power of a planned analysis, against designs whose level is known."""

import numpy as np
import pytest

from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight, simulate_design

RUNS = np.repeat(np.arange(6), 8)
Y = np.random.default_rng(0).permuted(np.tile([0, 1, 2, 3], (6, 2)), axis=1).ravel()


def planned(**options):
    return IdentificationSearchLight(n_permutations=99, **options)


def test_the_level_is_kept_and_power_grows_with_the_effect():
    X = np.random.default_rng(1).normal(size=(48, 40))
    table = simulate_design(planned(), X, Y, RUNS, n_simulations=300)
    assert table.index.tolist() == [0.0, 0.1, 0.2, 0.4]
    level = table["p_value"][0.0]
    assert level <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)
    assert table["p_value_fwe"][0.0] <= 1 / 300
    assert (np.diff(table["p_value"]) > 0).all()
    assert table["accuracy"][0.0] == pytest.approx(0.25, abs=0.02)
    assert abs(table.attrs["correlation"]) < 0.1


def test_noise_of_dependent_scans_breaks_the_level_as_it_would():
    """Classes in blocks of five scans, treated as if they were independent."""
    rng = np.random.default_rng(2)
    y = np.tile(np.repeat([0, 1], 5), 4)
    runs = np.repeat(np.arange(4), 10)
    X = rng.normal(size=(40, 30))
    for i in range(1, 40):
        X[i] += 0.9 * X[i - 1]
    with pytest.warns(UserWarning, match="same order|neighboring samples"):
        table = simulate_design(
            planned(bounds=None), X, y, runs, effects=[0.3], n_simulations=200
        )
    assert table.attrs["correlation"] > 0.4
    assert table["p_value"][0.0] > 0.1
    assert table["bayes_accuracy_bound"].isna().all()


def test_blocks_classes_and_many_regions_are_those_of_the_analysis():
    X = np.random.default_rng(3).normal(size=(48, 60)).astype(np.float32)
    names = np.array(list("abcd"))[Y]
    regions = np.arange(60).reshape(3, 20).tolist()
    light = planned(
        regions=Regions(regions=_members(regions, 60)),
        classes=["a", "c"],
        blocks=np.arange(48),
        estimator="ridge",
    )
    before = light.get_params()
    table = simulate_design(light, X, names, RUNS, effects=[3.0], n_simulations=20)
    assert table["accuracy"][3.0] > 0.95
    assert light.get_params() == before


def test_noise_has_the_covariance_of_the_region():
    from tests.decoding.seam import _Noise, beyond, plan_decoding

    rng = np.random.default_rng(4)
    X = rng.normal(size=(48, 6)) @ rng.normal(size=(6, 6))
    run = plan_decoding(planned(), X, Y, RUNS)
    noise = _Noise.of(run, [0], rng)
    drawn = np.concatenate([noise.draw(run.rows, rng) for _ in range(400)])
    expected = np.corrcoef(beyond(X, Y, RUNS)[0].T)
    np.testing.assert_allclose(np.corrcoef(drawn.T), expected, atol=0.05)


def test_effects_must_be_positive():
    with pytest.raises(ValueError, match="effects"):
        simulate_design(planned(), np.zeros((48, 3)), Y, RUNS, effects=[0.0])


def _members(lists, n_features):
    import scipy.sparse

    rows = np.zeros((len(lists), n_features), dtype=bool)
    for row, members in zip(rows, lists, strict=True):
        row[members] = True
    return scipy.sparse.csr_array(rows)
