"""Informative regions of a set: sets in every form, and what is refused."""

import dataclasses

import nibabel
import numpy as np
import pytest
from sklearn.utils import Bunch

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.stats import true_discoveries, true_discovery_thresholds
from tests.analyses import searchlight_of
from tests.analysis.seam import unpacked_largest

SHAPE = (8, 8, 4)
AFFINE = np.diag([3.0, 3, 3, 1])


def image(values):
    return nibabel.Nifti1Image(np.asarray(values), AFFINE)


def data(seed=0):
    """Volumes of 3 classes in 6 runs, with signal in a corner."""
    rng = np.random.default_rng(seed)
    y, runs = np.tile(np.arange(3), 6), np.repeat(np.arange(6), 3)
    values = rng.normal(size=(*SHAPE, len(y))).astype(np.float32)
    values[:4, :4] += 1.5 * rng.normal(size=(4, 4, 4, 3)).astype(np.float32)[..., y]
    return image(values), y, runs


def fit(**options):
    imgs, y, runs = data()
    mask = image(np.ones(SHAPE, dtype=np.int8))
    options = {"radius": 4.0, "n_permutations": 99, **options}
    return searchlight_of(mask, **options).fit(imgs, y, groups=runs)


CORNER = np.zeros(SHAPE, dtype=np.int16)
CORNER[:4, :4] = 1


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    return fit(save_null=tmp_path_factory.mktemp("null") / "null.npy")


def test_thresholds_are_those_of_the_saved_null(light):
    null = np.load(light.keep)
    largest, regions = unpacked_largest(light.results_.scores.largest)
    expected = -np.sort(-null, axis=1)[:, : largest.shape[1]]
    np.testing.assert_array_equal(largest, expected)
    np.testing.assert_array_equal(np.take_along_axis(null, regions, axis=1), largest)
    thresholds = true_discovery_thresholds(largest)  # without stepping down
    accuracy = light.region_scores_["accuracy"]
    assert light.true_discoveries() >= true_discoveries(accuracy, thresholds) > 5


def test_a_set_is_the_same_in_every_form(light, tmp_path):
    inside = CORNER.ravel() > 0
    path, names = tmp_path / "corner.nii.gz", tmp_path / "atlas.tsv"
    image(CORNER).to_filename(path)
    image(CORNER + 1).to_filename(tmp_path / "atlas.nii.gz")
    names.write_text("index\tname\n1\trest\n2\tcorner\n")
    expected = light.true_discoveries(inside)
    assert 0 < expected <= inside.sum()
    for region in (
        np.flatnonzero(inside),
        np.flatnonzero(inside).tolist(),
        np.repeat(np.flatnonzero(inside), 2),
        inside.tolist(),
        image(CORNER),
        image(np.where(CORNER, 1.0, np.nan)),
        path,
        str(path),
    ):
        assert light.true_discoveries(region) == expected
    for label in ("corner", 2):
        found = light.true_discoveries(label, atlas=tmp_path / "atlas.nii.gz")
        assert found == expected
    rest = light.true_discoveries("rest", atlas=tmp_path / "atlas.nii.gz")
    assert rest == light.true_discoveries(~inside)


def test_a_threshold_chooses_what_lies_above(light):
    levels, n_regions, n_true = light.true_discovery_curve(image(CORNER))
    accuracy = light.region_scores_["accuracy"][CORNER.ravel() > 0]
    for level, n, true in zip(levels, n_regions, n_true, strict=True):
        assert n == (accuracy >= level).sum()
        above = light.true_discoveries(image(CORNER), above=level - 1e-9)
        assert above == true


def test_no_bound_exceeds_its_set_and_one_region_survives_alone(light):
    p = light.region_scores_["p_value_fwe"]
    for region in range(0, len(p), 17):
        assert light.true_discoveries(region) <= 1
    assert light.true_discoveries(p <= 0.05) <= (p <= 0.05).sum()
    assert light.true_discoveries([]) == 0
    share = light.region_scores_["true_discovery_proportion"]
    assert ((share >= 0) & (share <= 1)).all()
    assert light.maps_["true_discovery_proportion"].shape == SHAPE


def test_a_folder_counts_as_the_run_did(light, tmp_path):
    light.to_directory(tmp_path)
    again = IdentificationSearchLight.from_directory(tmp_path)
    assert again.true_discoveries(image(CORNER)) == light.true_discoveries(
        image(CORNER)
    )


def test_workers_and_parts_change_no_bound(light):
    whole = light.results_.scores.largest
    two = fit(n_jobs=2).results_.scores.largest
    np.testing.assert_array_equal(two, whole)
    parts = [fit(shard=f"{i}/2") for i in (1, 2)]
    first = parts[0].true_discoveries()
    assert first <= parts[0].results_.scores.done.sum()
    joined = parts[0].merge(parts[1])
    np.testing.assert_array_equal(joined.results_.scores.largest, whole)
    assert joined.true_discoveries() == light.true_discoveries()


def test_regions_of_an_atlas_are_taken_by_name_and_by_mask():
    labels = np.zeros(SHAPE, dtype=np.int16)
    labels[:4], labels[4:] = 1, 2
    atlas = fit(labels_img=Bunch(maps=image(labels), labels=["left", "right"]))
    assert [atlas.true_discoveries(name) for name in ("left", "right")] == [1, 0]
    assert atlas.true_discoveries() == 1
    assert atlas.true_discoveries(image((labels == 1).astype(np.int8))) == 1
    few = np.zeros(SHAPE, dtype=np.int8)
    few[0, 0] = 1  # a part of the region, which is not the region
    with pytest.raises(ValueError, match="holds no region"):
        atlas.true_discoveries(image(few))


@pytest.mark.parametrize(
    ("region", "error", "words"),
    [
        ("FFA", ValueError, "neither the name of a region nor a file"),
        ([0.5, 1.0], TypeError, "give the index that find_region returns"),
        ((3.0, 3.0, 3.0), TypeError, "give the index that find_region returns"),
        ([0, 10**6], ValueError, "indices from 0 to 1000000"),
        (-1, ValueError, "indices from -1"),
        ([True, False], TypeError, "one bool for each of the 256 regions"),
        (image(np.zeros(SHAPE, dtype=np.int8)), ValueError, "holds no region"),
        (
            image(np.arange(256.0).reshape(SHAPE)),
            ValueError,
            "it has 255 different values",
        ),
        (nibabel.Nifti1Image(CORNER, 2 * AFFINE), ValueError, "region"),
    ],
)
def test_what_is_no_set_is_refused(light, region, error, words):
    with pytest.raises(error, match=words):
        light.true_discoveries(region)


@pytest.mark.parametrize(
    ("above", "error"), [("0.5", TypeError), (float("nan"), ValueError)]
)
def test_what_is_no_threshold_is_refused(light, above, error):
    with pytest.raises(error, match="above"):
        light.true_discoveries(above=above)
    assert light.true_discoveries(above=-np.inf) == light.true_discoveries()


def test_a_volume_of_bools_is_refused_in_one_line(light):
    with pytest.raises(TypeError, match="one bool for each of the 256") as refused:
        light.true_discoveries(CORNER.astype(bool))
    assert len(str(refused.value)) < 400


def test_a_label_that_the_atlas_lacks_is_refused(light):
    with pytest.raises(ValueError, match=r"one label of the atlas .*'1'"):
        light.true_discoveries("FFA", atlas=image(CORNER))


@pytest.mark.parametrize("n_permutations", [0, 36])
def test_few_permutations_give_no_number(n_permutations):
    light = fit(n_permutations=n_permutations)
    assert "true_discovery_proportion" not in light.maps_
    with pytest.raises(ValueError, match=f"37 are needed .* had {n_permutations};"):
        light.true_discoveries()


def test_results_of_earlier_versions_are_read_and_say_so(light):
    results = light.results_
    old = dataclasses.replace(
        results, scores=dataclasses.replace(results.scores, largest=None)
    )
    assert "true_discovery_proportion" not in old.statistics()
    other = fit()
    other._publish(old)
    with pytest.raises(ValueError, match="written by an earlier version"):
        other.true_discoveries()
