"""Comparison of decoders against plain loops."""

import itertools
import json

import nibabel
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from neuroextrap.analysis import Curves, Regions
from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from neuroextrap.maps import read_maps


def simulate(n_runs=6, n_classes=3, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile(np.repeat(np.arange(n_classes), 2), n_runs)
    runs = np.repeat(np.arange(n_runs), 2 * n_classes)
    noise = rng.normal(size=(len(y), 3)) @ rng.normal(size=(3, n_features))
    X = 0.6 * rng.normal(size=(n_classes, n_features))[y]
    return X + noise + 0.5 * rng.normal(size=(len(y), n_features)), y, runs


def neighborhoods(n_features=12):
    distance = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    return scipy.sparse.csr_array(distance < 3)


def outcome_sums(light, region, units):
    """What each unit adds to the accuracy of a region, from its margins, in a loop."""
    margins, codes = light.region_margins(region), light.test_codes_
    sums = dict.fromkeys(np.unique(units).tolist(), 0.0)
    for row, code, unit in zip(margins, codes, units.tolist(), strict=True):
        best = row == row.max()
        counts = (codes == code).sum() * len(light.classes_)
        sums[unit] += float(best[code]) / best.sum() / counts
    return np.array(list(sums.values()))


@pytest.mark.parametrize("unit", ["run", "block"])
@pytest.mark.parametrize("two_sided", [True, False])
def test_equals_enumeration_of_all_exchanges(unit, two_sided):
    X, y, runs = simulate()
    options = {"regions": neighborhoods()}
    if unit == "block":  # two blocks a run, whose numbers start anew: 12 in all
        X, y, runs = X[:24], y[:24], runs[:24]
        options["blocks"] = np.tile([0, 0, 1, 1, 2, 2], 4)
    lights = [
        IdentificationSearchLight(estimator=name, **options).fit(X, y, groups=runs)
        for name in ("ridge", "nearest_centroid")
    ]
    found = compare_decoders(
        *lights, unit=unit, two_sided=two_sided, n_permutations=5000, step_down=True
    )
    test = lights[0].run_.plan.design.test
    units = runs if unit == "run" else 3 * runs + options["blocks"]
    n_units = len(np.unique(units))
    D = np.array(
        [
            np.subtract(*(outcome_sums(light, i, units[test]) for light in lights))
            for i in range(12)
        ]
    )
    # the t of a sum over n units is divided by the root of 2 (n - 1) / (n - 3)
    squares = n_units * (D**2).sum(axis=1)
    spread = 2 * (n_units - 1) / (n_units - 3) * (squares - D.sum(axis=1) ** 2)
    shrunk = D.sum(axis=1) * np.sqrt(squares / (D.sum(axis=1) ** 2 + spread))
    observed = np.abs(shrunk) if two_sided else shrunk
    signs = np.array(list(itertools.product([1, -1], repeat=n_units)))
    null = np.abs(D @ signs.T) if two_sided else D @ signs.T
    null[:, 0] = np.maximum(null[:, 0], observed)  # the observed signs reach it
    scores, slack = found.region_scores_, observed[:, None] - 1e-10
    np.testing.assert_allclose(scores["accuracy_difference"], D.sum(axis=1))
    np.testing.assert_allclose(scores["p_value"], (null >= slack).mean(axis=1))
    maxima = null.max(axis=0)
    np.testing.assert_allclose(scores["p_value_fwe"], (maxima >= slack).mean(axis=1))
    assert found.n_units_ == n_units
    assert np.all(scores["p_value_fwe_step_down"] <= scores["p_value_fwe"])
    for which, light in zip(("first", "second"), lights, strict=True):
        np.testing.assert_allclose(
            scores[f"{which}_accuracy"], light.region_scores_["accuracy"]
        )
    information = [light.region_scores_["implied_information"] for light in lights]
    np.testing.assert_array_equal(
        scores["information_difference"], information[0] - information[1]
    )


def test_many_regions_in_parts_on_threads_equal_pairs_one_by_one(monkeypatch):
    from tests.decoding.seam import _engine

    X, y, runs = simulate(seed=1)
    first, second = (
        IdentificationSearchLight(regions=neighborhoods(), estimator=name).fit(
            X, y, groups=runs
        )
        for name in ("nearest_centroid", "lda")
    )
    whole = compare_decoders(first, second, n_permutations=99).region_scores_
    monkeypatch.setattr(_engine, "_PART_REGIONS", 5)
    parts = compare_decoders(first, second, n_permutations=99, n_jobs=2).region_scores_
    pairs = compare_decoders(
        first,
        second,
        n_permutations=99,
        regions=np.repeat(np.arange(12), 2)[:, None].reshape(12, 2),
    ).region_scores_
    for name, values in whole.items():
        np.testing.assert_array_equal(values, parts[name])
        np.testing.assert_array_equal(values, pairs[name])


def test_two_regions_and_their_exchange():
    X, y, runs = simulate()
    X[:, :6] = np.random.default_rng(5).normal(size=(len(y), 6))
    halves = scipy.sparse.csr_array(np.repeat(np.eye(2), 6, axis=1) > 0)
    light = IdentificationSearchLight(regions=halves, estimator="lda")
    light.fit(X, y, groups=runs)
    found = compare_decoders(light, light, regions=[[1, 0], [0, 1], [1, 1]])
    gain, loss, none = found.region_scores_["accuracy_difference"]
    assert gain == -loss > 0.2
    assert none == 0
    assert found.region_scores_["p_value"][2] == 1
    better = compare_decoders(light, light, regions=[[1, 0], [0, 1]], two_sided=False)
    assert better.region_scores_["p_value_fwe"][0] < 0.05
    assert better.region_scores_["p_value_fwe"][1] > 0.9
    assert found.table_["second_region"].tolist() == [0, 1, 1]


def test_one_split_is_exact_and_folds_are_approximate():
    """Only differences of samples that train as well are shrunk, as the page says."""
    X, y, runs = simulate()
    train, test = (np.flatnonzero(half) for half in (runs < 3, runs >= 3))
    found = {}
    for name, cv in (
        ("split", [(train, test)]),
        ("two tests", [(train, test[:9]), (train, test[9:])]),
        ("folds", [(train, test), (test, train)]),
    ):
        lights = [
            IdentificationSearchLight(estimator=each, cv=cv, regions=neighborhoods())
            for each in ("lda", "nearest_centroid")
        ]
        for light in lights:
            light.fit(X, y, groups=runs)
        found[name] = compare_decoders(*lights, unit="sample", n_permutations=99)
        approximate = name == "folds"
        assert found[name].approximate_ == approximate
        page = found[name].generate_report().get_standalone()
        assert ("approximate, because samples train as well" in page) == approximate
        assert ("Nadeau &amp; Bengio 2003" in page) == approximate
        told = [finding.name for finding in found[name].findings_]
        assert ("trained_on_tests" in told) == approximate
    np.testing.assert_array_equal(
        found["split"]["p_value"], found["two tests"]["p_value"]
    )


@pytest.mark.parametrize("curves", ["trained_on_all", "measured"])
def test_fewer_classes_are_compared_as_trained_on_all_and_say_so(curves):
    X, y, runs = simulate(n_classes=6)
    lights = [
        IdentificationSearchLight(
            estimator=name, regions=neighborhoods(), set_sizes=Curves(curves=curves)
        ).fit(X, y, groups=runs)
        for name in ("ridge", "nearest_centroid")
    ]
    for statistic, told in (
        ("accuracy", False),
        (3, True),
        ("pairwise_accuracy", True),
    ):
        found = compare_decoders(*lights, statistic=statistic, n_permutations=19)
        about = [
            f
            for f in found.findings_
            if f.touches("accuracy_difference") and f.name != "same_order"
        ]
        assert ["not_marginal"] * told == [finding.name for finding in about]
        assert ("of the classifier trained on all 6" in " ".join(found.notes_)) == (
            told or curves == "trained_on_all"
        )
        of_bits = [f for f in found.findings_ if f.touches("information_difference")]
        assert any(curves.partition("_")[0] in finding.effect for finding in of_bits)
    pair = lights[1], clone(lights[1]).fit(X, y, groups=runs)
    found = compare_decoders(*pair, statistic=3, n_permutations=19)
    assert "not_marginal" not in {finding.name for finding in found.findings_}


def test_samples_tested_in_several_folds_are_one_unit():
    X, y, _ = simulate()
    folds = [
        fold
        for seed in (0, 1)
        for fold in KFold(3, shuffle=True, random_state=seed).split(X)
    ]
    first, second = (
        IdentificationSearchLight(estimator=name, cv=folds).fit(X, y)
        for name in ("ridge", LogisticRegression())
    )
    assert len(first.test_codes_) == 2 * len(y)
    assert compare_decoders(first, second, n_permutations=19).n_units_ == len(y)


def test_images_with_empty_regions_and_files(tmp_path):
    X, y, runs = simulate(n_features=24)
    img = nibabel.Nifti1Image(X.T.reshape(4, 3, 2, -1), np.diag([2.0, 2, 2, 1]))
    keep = np.ones((4, 3, 2), dtype=np.int8)
    keep[3] = 0
    mask = nibabel.Nifti1Image(keep, img.affine)
    first, second = (
        IdentificationSearchLight(
            mask, radius=2.1, regions=Regions(min_voxels=5), estimator=name
        ).fit(img, y, groups=runs)
        for name in ("lda", "nearest_centroid")
    )
    found = compare_decoders(first, second, n_permutations=49, step_down=True)
    found.to_directory(tmp_path / "out")
    maps = read_maps(tmp_path / "out" / "maps.json")
    assert maps.keys() == found.keys() >= {"p_value_fwe", "p_value_fwe_step_down"}
    sidecar = json.loads((tmp_path / "out" / "p_value_fwe.json").read_text())
    assert sidecar["findings"][-1]["name"] == "trained_on_tests"
    assert "approximate" in sidecar["findings"][-1]["effect"]
    difference = maps["accuracy_difference"].get_fdata()
    unknown = np.isnan(first.maps_["accuracy"].get_fdata())
    np.testing.assert_array_equal(np.isnan(difference), unknown)
    assert unknown[:3].any()
    twin = first.maps_["accuracy"].get_fdata() - second.maps_["accuracy"].get_fdata()
    np.testing.assert_allclose(difference, twin, atol=1e-6)
    with pytest.raises(ValueError, match="not empty"):
        found.to_directory(tmp_path / "out")
    found.to_directory(tmp_path / "out", overwrite=True)
    first.to_directory(tmp_path / "first")
    read = IdentificationSearchLight.from_directory(tmp_path / "first")
    with pytest.raises(ValueError, match="samples are not stored"):
        compare_decoders(read, second)


def test_what_differs_is_named():
    X, y, runs = simulate()
    first = IdentificationSearchLight().fit(X, y, groups=runs)

    def against(X=X, y=y, groups=runs, **options):
        second = IdentificationSearchLight(**options).fit(X, y, groups=groups)
        return compare_decoders(first, second, n_permutations=9)

    with pytest.raises(TypeError, match=r"second must be an Identif.*, got str"):
        compare_decoders(first, "lda")
    with pytest.raises(ValueError, match="first has the classes"):
        against(classes=[0, 1])
    with pytest.raises(ValueError, match="other labels"):
        against(y=y[::-1].copy())
    with pytest.raises(ValueError, match="other groups"):
        against(groups=runs // 2)
    with pytest.raises(ValueError, match="other blocks"):
        against(blocks=np.arange(len(y)))
    with pytest.raises(ValueError, match="other folds"):
        against(cv=[(np.arange(18), np.arange(18, 36))])
    with pytest.raises(ValueError, match="first has 1 regions and second 12"):
        against(regions=neighborhoods())
    halves, gaps = np.repeat(np.eye(2), 6, axis=1), [X.copy(), X.copy()]
    gaps[0][0, :6] = gaps[1][0, 6:] = np.nan
    light = IdentificationSearchLight(regions=halves)
    apart = [clone(light).fit(each, y, groups=runs) for each in gaps]
    with pytest.raises(ValueError, match="no region was analyzed by both"):
        compare_decoders(*apart)
    part = light.set_params(shard="1/2").fit(X, y, groups=runs)
    with pytest.raises(ValueError, match="parts of a run cannot be compared"):
        compare_decoders(part, part)
    for options, message in (
        ({"unit": "scan"}, "unit='scan' must be one of"),
        ({"unit": "block"}, "unit='block' needs the block of every sample"),
        ({"regions": [0, 0]}, "regions must be pairs"),
        ({"regions": [[0, 1]]}, "region=1 must be a whole number from 0 to 0"),
        ({"statistic": "implied_information"}, "statistic='implied_information' is"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_decoders(first, first, **options)
    with pytest.warns(UserWarning, match="vacuous|chance|groups=None") as _:
        free = IdentificationSearchLight(cv=3, n_permutations=9).fit(X, y)
    with pytest.raises(ValueError, match="unit='run' needs the run of every sample"):
        compare_decoders(free, free, unit="run")


def level(n_sets, unit, *, n_regions=1, signal=0.4, n_permutations=99):
    """Share of sets in which two equally good regions differ at .05 anywhere."""
    y, runs = np.tile(np.repeat([0, 1], 4), 8), np.repeat(np.arange(8), 8)
    members = np.repeat(np.eye(2 * n_regions), 6, axis=1) > 0
    regions = scipy.sparse.csr_array(members)
    pairs = np.arange(2 * n_regions).reshape(n_regions, 2)
    rejected = 0
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 3])
        means = np.tile(signal * rng.normal(size=(2, 6)), 2 * n_regions)
        X = means[y] + rng.normal(size=(64, 12 * n_regions))
        light = IdentificationSearchLight(regions=regions).fit(X, y, groups=runs)
        p = compare_decoders(
            light, light, regions=pairs, unit=unit, n_permutations=n_permutations
        ).region_scores_["p_value_fwe"]
        rejected += p.min() <= 0.05
    return rejected / n_sets


@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.slow
@pytest.mark.parametrize("unit", ["sample", "run"])
@pytest.mark.parametrize("signal", [0.0, 0.4])
@pytest.mark.parametrize("n_regions", [1, 5])
def test_level(unit, signal, n_regions):
    found = level(800, unit, n_regions=n_regions, signal=signal)
    assert found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 800)
