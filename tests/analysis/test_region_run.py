"""The one run of regions, and an analysis of one's own that uses it."""

import json

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC

from neuroextrap.decoding import IdentificationSearchLight
from tests.analyses import searchlight_of
from tests.analysis.seam import (
    RegionAnalysis,
    _region_run,
    differing,
    plan_decoding,
    resolve_classifier,
)


def simulate():
    """Samples of three classes in four runs, labels and runs."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(3), 4), np.repeat(np.arange(4), 3)
    return rng.normal(size=(3, 6))[y] + rng.normal(size=(12, 6)), y, runs


def searchlight(**options):
    """A searchlight of three regions; the last has one usable voxel only."""
    members = np.zeros((3, 6), dtype=bool)
    members[0, :4] = members[1, 2:] = members[2, 5] = True
    return searchlight_of(
        regions=scipy.sparse.csr_array(members), n_permutations=9, **options
    )


def test_a_run_is_the_same_each_time():
    fitted = searchlight().fit(*simulate())
    run = fitted.run_
    results = run.results()
    np.testing.assert_array_equal(results.scores.wins, fitted.wins_)
    np.testing.assert_array_equal(results.scores.maxima, fitted.null_maxima_)
    assert results.fold_wins is None
    np.testing.assert_array_equal(run.analyzed, [0, 1])
    np.testing.assert_array_equal(run.margins(1), fitted.region_margins(1))
    assert results.identity == run.identity == fitted.results_.identity
    assert json.loads(json.dumps(run.identity)) == run.identity


def test_a_run_is_told_apart_by_all_that_its_numbers_depend_on():
    X, y, runs = simulate()
    identity = plan_decoding(searchlight(), X, y, runs).identity

    def other(X=X, y=y, **options):
        changed = plan_decoding(searchlight(**options), X, y, runs).identity
        return differing(identity, changed)

    assert other() == []
    assert other(n_jobs=2, max_memory="1G", verbose=1, shard="1/2") == []
    assert other(confidence_level=0.9, set_sizes=[2]) == []
    assert other(set_sizes=[2], statistic="implied_information") == ["statistic"]
    assert other(X + np.arange(12)[:, None]) == ["data"]
    swapped = np.where((runs == 0) & (y < 2), 1 - y, y)
    assert other(y=swapped) == ["labels", "test labels"]
    assert other(y=np.array(["a", "b", "c"])[y]) == ["classes"]
    assert other(random_state=1) == ["labels"]
    assert other(estimator="ridge") == ["classifier"]
    assert other(min_voxels=1) == ["regions"]
    assert other(per_fold=True) == ["folds"]


def test_the_identity_of_a_classifier_has_all_its_parameters_and_no_address():
    names = [f"parameter {i}" for i in range(400)]

    def name_of(value):
        model = SVC(class_weight=value, kernel=max)
        [text] = {repr(resolve_classifier(model)) for _ in range(2)}
        assert " at 0x" not in text
        return text

    first, second = dict.fromkeys(names, 1.0), dict.fromkeys(names, 1.0)
    second["parameter 399"] = 2.0
    assert name_of(first) != name_of(second)
    assert name_of(first) == name_of(dict(first))


def test_cost_is_that_of_the_regions_analyzed():
    cost = searchlight().estimate_cost(*simulate())
    assert (cost["n_regions"], cost["n_features"]) == (2, 6)
    assert cost["n_permutations"] == 9
    assert min(cost["seconds"], cost["memory"]) > 0
    assert set(cost["paths"]) == {"tests", "forward tests"}


def test_wins_of_folds_are_apart_from_those_of_bounds():
    X, y, runs = simulate()
    data = X[:-1], y[:-1], runs[:-1]  # unequal folds: bounds have their own weights
    for per_fold, n_folds in ((False, None), (True, 4)):
        run = plan_decoding(searchlight(per_fold=per_fold), *data)
        results = run.results()
        assert len(results.scores.weighted_wins) == len(run.bounds.weighting)
        kept = results.fold_wins
        assert (None if kept is None else len(kept)) == n_folds


def test_an_analysis_of_ones_own_needs_a_kind_and_a_run(tmp_path):
    class Borrowed(RegionAnalysis):
        kind = "borrowed"

        def __init__(self, radius=8.0):
            self.radius = radius

        def fit(self, X, y, groups):
            return self._complete(plan_decoding(searchlight(), X, y, groups))

    fitted, twin = Borrowed().fit(*simulate()), searchlight().fit(*simulate())
    np.testing.assert_array_equal(fitted.wins_, twin.wins_)
    np.testing.assert_array_equal(fitted.standard_error(0), twin.standard_error(0))
    fitted.to_directory(tmp_path / "out")
    again = Borrowed.from_directory(tmp_path / "out")
    np.testing.assert_array_equal(again.wins_, twin.wins_)
    with pytest.raises(ValueError, match="no 'searchlight' analysis, but one of kind"):
        IdentificationSearchLight.from_directory(tmp_path / "out")


@pytest.mark.parametrize(
    ("seconds", "level"), [(1.0, "INFO"), (301.0, "WARNING")], ids=["short", "long"]
)
def test_a_classifier_that_is_refitted_is_timed_first(
    seconds, level, monkeypatch, caplog
):
    caplog.set_level("INFO", "neuroextrap")
    monkeypatch.setattr(_region_run, "estimate_seconds", lambda *data: seconds)
    searchlight(estimator=SVC(kernel="linear")).fit(*simulate())
    (record,) = [r for r in caplog.records if "is refitted for each" in r.getMessage()]
    assert record.levelname == level
    assert "for 2 regions and 9 permutations with n_jobs=1" in record.getMessage()
    assert ("nearest_centroid" in record.getMessage()) == (level == "WARNING")


def test_a_fast_classifier_is_not_timed_first(monkeypatch, caplog):
    caplog.set_level("INFO", "neuroextrap")
    monkeypatch.delattr(_region_run, "estimate_seconds")
    searchlight().fit(*simulate())
    assert "refitted" not in caplog.text
