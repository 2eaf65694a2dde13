"""Combined first-level permutations against enumeration, and their level."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse
from scipy import stats as scipy_stats

from neuroextrap.group import group_permutation_test
from tests.group.seam import find_clusters


def chain(n):
    """Neighbors along a line, as pairs and as a matrix."""
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    ones = np.ones(n - 1)
    return pairs, scipy.sparse.coo_array((ones, tuple(pairs.T)), shape=(n, n))


def test_all_combinations_equal_a_naive_loop():
    rng = np.random.default_rng(0)
    null, scores = rng.normal(size=(3, 5, 20)), rng.normal(size=(3, 20)) + 0.5
    pairs, matrix = chain(20)
    maps = group_permutation_test(
        scores, null, cluster_threshold=0.2, adjacency=matrix, n_permutations=216
    )
    own = np.concatenate([scores[:, None], null], axis=1)
    means = np.array(
        [
            np.mean([own[s, k] for s, k in enumerate(row)], 0)
            for row in product(range(6), repeat=3)
        ]
    )
    np.testing.assert_allclose(maps["mean"], scores.mean(axis=0))
    np.testing.assert_allclose(maps["p_value"], (means >= means[0] - 1e-9).mean(axis=0))
    largest = means.max(axis=1)
    fwe = [(largest >= m - 1e-9).mean() for m in means[0]]
    np.testing.assert_allclose(maps["p_value_fwe"], fwe)
    # 43 of 216 maps may lie above: less than a share of .2
    cut = np.sort(means, axis=0)[-44]
    clusters = [find_clusters((row > cut).astype(float), pairs) for row in means]
    extent = clusters[0].spread(clusters[0].extent)
    np.testing.assert_array_equal(maps["cluster_extent"], extent)
    maxima = np.array([c.extent.max(initial=0) for c in clusters])
    expected = [(maxima >= e).mean() if e else 1.0 for e in extent]
    np.testing.assert_allclose(maps["p_value_fwe_cluster_extent"], expected)
    assert (extent > 1).any()


def test_batches_and_files_do_not_matter(monkeypatch, tmp_path):
    from tests.group.seam import _first_levels

    rng = np.random.default_rng(1)
    null = rng.normal(size=(6, 30, 53)).astype(np.float32)
    scores = rng.normal(size=(6, 53)).astype(np.float32)
    scores[0, 7] = np.nan
    options = {
        "cluster_threshold": 0.05,
        "adjacency": chain(53)[1],
        "n_permutations": 300,
    }
    whole = group_permutation_test(scores, null, **options)
    monkeypatch.setattr(_first_levels, "_BATCH_BYTES", 8 * 700 * 16)
    paths = []
    for k, maps in enumerate(null):
        paths.append(tmp_path / f"{k}.npy")
        np.save(paths[-1], maps)
    parts = group_permutation_test(scores, paths, **options)
    for name, values in whole.items():
        np.testing.assert_array_equal(parts[name], values)
    assert np.isnan(whole["p_value"][7])


@pytest.mark.parametrize("n_sets", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_level_holds(n_sets):
    rng = np.random.default_rng(2)
    hits = {"p_value_fwe": 0, "p_value_fwe_cluster_extent": 0}
    for _ in range(n_sets):
        # accuracies of 24 trials, with neighbors that depend on one another
        null = rng.binomial(12, 0.5, size=(7, 20, 31)) / 24
        null = null[..., 1:] + null[..., :-1]
        maps = group_permutation_test(
            null[:, 0],
            null[:, 1:],
            cluster_threshold=0.05,
            adjacency=chain(30)[1],
            n_permutations=100,
            random_state=rng,
        )
        for name in hits:
            hits[name] += maps[name].min() <= 0.05
    for name, count in hits.items():
        p = scipy_stats.binomtest(count, n_sets, 0.05, alternative="greater").pvalue
        assert p > 1e-4, (name, count / n_sets)


def test_information_in_a_stretch_is_found_as_a_cluster():
    rng = np.random.default_rng(3)
    null, scores = rng.normal(size=(12, 50, 60)), rng.normal(size=(12, 60))
    scores[:, 20:30] += 1.4
    maps = group_permutation_test(
        scores,
        null,
        cluster_threshold=0.05,
        adjacency=chain(60)[1],
        n_permutations=2000,
    )
    assert (maps["p_value_fwe_cluster_extent"][22:28] <= 0.01).all()
    assert (maps["p_value_fwe_cluster_extent"][:18] > 0.05).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cluster_threshold": 0.001, "adjacency": chain(4)[1]}, "at least 1000"),
        ({"cluster_threshold": 0.1}, "adjacency"),
        ({"cluster_threshold": 2}, "between 0 and 1"),
        ({"n_permutations": 1}, "at least 2"),
    ],
)
def test_bad_options_are_named(options, words):
    rng = np.random.default_rng(4)
    null, scores = rng.normal(size=(3, 9, 4)), rng.normal(size=(3, 4))
    with pytest.raises(ValueError, match=words):
        group_permutation_test(scores, null, **{"n_permutations": 99, **options})
