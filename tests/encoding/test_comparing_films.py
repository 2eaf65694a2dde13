"""Two models of a film: outcomes of neighbors in time are not exchangeable."""

import itertools
import json
import warnings

import nibabel
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import (
    EncodingIdentification,
    compare_encoding_models,
    compare_encoding_models_pairwise,
)
from neuroextrap.images import resolve_masker, to_img
from tests.analyses import series
from tests.encoding.seam import RegionRun

RUNS = np.repeat(np.arange(4), 30)


def models(seed=0, correlation=0.9, n_test=120, mask=None):
    """Two models of other features, of responses that have to do with neither."""
    rng = np.random.default_rng(seed)
    rows = series(rng, 90 + n_test, 24, correlation)
    runs, Y = RUNS[:n_test], rows[:, 16:]
    imgs = Y if mask is None else None
    if mask is not None:
        masker = resolve_masker(mask)
        imgs = [to_img(part, masker) for part in (Y[:90], Y[90:])]
    train, test = (imgs[:90], imgs[90:]) if mask is None else imgs
    return [
        EncodingIdentification(mask, encoder=Ridge(), rule="diagonal")
        .fit(rows[:90, columns], train)
        .identify(rows[90:, columns], test, groups=runs)
        for columns in (slice(0, 8), slice(8, 16))
    ]


def compared(pair, **options):
    """Return maps and what was warned."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        maps = compare_encoding_models(*pair, statistic="pairwise_accuracy", **options)
    return maps, " ".join(str(warning.message) for warning in seen)


def test_films_are_marked_where_they_are_read(tmp_path):
    """In the warning, notes, first sentence of the page, and sidecars of p-values."""
    mask = nibabel.Nifti1Image(np.ones((2, 2, 2), dtype=np.int8), np.eye(4))
    pair = models(mask=mask)
    maps, warned = compared(pair, n_permutations=99)
    (found,) = maps.findings_
    assert found.name == "correlated_neighbors"
    assert "give whole runs" in warned
    assert found.note in maps.notes_
    assert found.because in str(maps.generate_report())
    maps.to_directory(tmp_path / "one")
    with pytest.warns(UserWarning, match="give whole runs"):
        pairs = compare_encoding_models_pairwise(
            dict(zip("ab", pair, strict=True)), n_permutations=99
        )
    pairs.to_directory(tmp_path / "pairs")
    for folder, start in (("one", ""), ("pairs", "a_b_")):
        for name, told in (("p_value_fwe", 1), ("accuracy_difference", 0)):
            sidecar = (tmp_path / folder / f"{start}{name}.json").read_text()
            assert len(json.loads(sidecar)["findings"]) == told


def test_random_order_is_not_marked():
    """And whole runs are accepted as blocks of fast series."""
    assert compared(models(correlation=0.0), n_permutations=99)[1] == ""
    fast = models(correlation=0.5)
    assert "give whole runs" in compared(fast, n_permutations=99)[1]
    maps, warned = compared(fast, n_permutations=15, blocks=RUNS)
    assert not maps.findings_
    assert "give whole runs" not in warned


def test_blocks_are_exchanged_together(monkeypatch):
    """Enumerating the signs of all blocks, of unequal sizes."""
    first, second = models(correlation=0.0, n_test=20)
    blocks = np.array(list("bbbaaaaacccccdddeeee"))
    maps, _ = compared((first, second), n_permutations=31, blocks=blocks)
    outcomes = []
    for model in (first, second):
        margins = model.region_margins(0)
        outcomes.append((margins < margins.diagonal()[:, None]).sum(axis=1) / 19)
    difference = outcomes[0] - outcomes[1]
    sums = [difference[blocks == block].sum() / 20 for block in "abcde"]
    null = [abs(np.dot(signs, sums)) for signs in itertools.product([1, -1], repeat=5)]
    observed = abs(np.sum(sums))
    assert maps["p_value"][0] == pytest.approx(
        np.mean(np.array(null) >= observed - 1e-9)
    )
    assert maps["accuracy_difference"][0] == pytest.approx(np.mean(difference))
    monkeypatch.delattr(RegionRun, "margins")  # refused before any outcome
    for options, message in (
        ({"blocks": [1, 2, 3]}, r"blocks has shape \(3,\), features has"),
        ({"n_permutations": 0}, "n_permutations must be an integer >= 1"),
    ):
        with pytest.raises(ValueError, match=message):
            compare_encoding_models(first, second, **options)
