"""Names are looked up, indices are counted, places are measured."""

import nibabel
import numpy as np
import pandas as pd
import pytest
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from sklearn.exceptions import NotFittedError

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import resolve_masker
from tests.analysis.seam import choose_regions, find_region

AFFINE = np.array([[-3.0, 0, 0, 30], [0, 2, 1, -8], [0, -1, 2, 5], [0, 0, 0, 1]])
SHAPE = (6, 5, 4)


@pytest.fixture(scope="module")
def masker():
    mask = np.ones(SHAPE, dtype="int8")
    mask[0] = 0
    return resolve_masker(nibabel.Nifti1Image(mask, AFFINE))


def world(*voxel):
    return AFFINE[:3, :3] @ voxel + AFFINE[:3, 3]


def atlas(masker, names):
    """Regions 1, 2, 3 in planes 1, 3, 5 of the first axis; plane 2 and 4 are none."""
    labels = np.zeros(SHAPE, dtype="int16")
    for value, plane in enumerate((1, 3, 5), start=1):
        labels[plane] = value
    img = nibabel.Nifti1Image(labels, AFFINE)
    n_features = masker.n_elements_
    return choose_regions(masker, n_features, labels_img=img, names=names)


@pytest.fixture(scope="module")
def named(masker):
    return atlas(masker, {1: "2", 2: "1", 3: "Left V1 (dorsal)"})


@pytest.fixture(scope="module")
def spheres(masker):
    return choose_regions(masker, masker.n_elements_, radius=4.0)


def test_a_name_is_looked_up_even_if_it_is_a_number(named, masker):
    assert find_region("1", named, masker, 8.0) == 1
    assert find_region("2", named, masker, 8.0) == 0
    assert find_region(np.str_("Left V1 (dorsal)"), named, masker, 8.0) == 2
    assert find_region(1, named, masker, 8.0) == 1
    assert find_region(2, named, masker, 8.0) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("left v1 (dorsal)", r"close names are 'Left V1 \(dorsal\)'"),
        ("left V1", r"close names are 'Left V1 \(dorsal\)'"),
        ("zzz", r"the 3 names are '2', '1', 'Left V1 \(dorsal\)'$"),
        ("", "the 3 names are"),
        (" 1", "region=' 1' is no region"),
        ("0", "region='0' is no region"),
        ("1.0", "region='1.0' is no region"),
        ("-1", "region='-1' is no region"),
    ],
)
def test_unknown_names_are_refused_with_close_ones(named, masker, name, message):
    with pytest.raises(ValueError, match=message):
        find_region(name, named, masker, 8.0)


def test_a_name_of_two_regions_is_refused(masker):
    twice = atlas(masker, {1: "V1", 2: "V1", 3: "V2"})
    with pytest.raises(ValueError, match=r"name of 2 regions; .* of one: 0, 1"):
        find_region("V1", twice, masker, 8.0)
    assert find_region("V2", twice, masker, 8.0) == 2


def test_spheres_have_no_names(spheres, masker):
    with pytest.raises(
        ValueError, match="'1' is a name, but these 100 regions have no"
    ):
        find_region("1", spheres, masker, 4.0)


@pytest.mark.parametrize("index", [0, 99, np.int8(3), np.uint64(3), np.array(5), 7.0])
def test_whole_numbers_in_range_are_indices(spheres, masker, index):
    found = find_region(index, spheres, masker, 4.0)
    assert found == int(index)
    assert type(found) is int


@pytest.mark.parametrize(
    ("region", "error"),
    [
        (-1, ValueError),
        (100, ValueError),
        (10**30, ValueError),
        (1.5, ValueError),
        (-1.0, ValueError),
        (np.float32("nan"), ValueError),
        (np.inf, ValueError),
        (True, TypeError),
        (np.bool_(False), TypeError),
        (None, TypeError),
        ({"x": 1}, TypeError),
        (1 + 0j, TypeError),
        (b"1", TypeError),
        (slice(0, 2), TypeError),
    ],
)
def test_what_is_no_index_is_refused(spheres, masker, region, error):
    with pytest.raises(
        error, match=r"must be a whole number from 0 to 99; a region is"
    ):
        find_region(region, spheres, masker, 4.0)


@pytest.mark.parametrize(
    "region",
    [
        (1.0, 2.0),
        (1.0, 2.0, 3.0, 4.0),
        [],
        [[1.0, 2.0, 3.0]],
        ("1", "2", "3"),
        (None, 1, 2),
        [1, [2], 3],
        (True, False, True),
        (1j, 0, 0),
    ],
)
def test_what_is_no_place_is_refused(spheres, masker, region):
    with pytest.raises(ValueError, match="must be three numbers"):
        find_region(region, spheres, masker, 4.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_places_are_finite(spheres, masker, bad):
    with pytest.raises(ValueError, match="must be finite"):
        find_region((bad, 0, 0), spheres, masker, 4.0)


def test_a_place_is_in_the_sphere_with_the_nearest_center(spheres, masker):
    flat = np.flatnonzero(np.asarray(masker.mask_img_.dataobj).ravel())
    inside = world(3, 2, 1) + np.array([0.4, -0.3, 0.2])
    expected = np.searchsorted(flat, np.ravel_multi_index((3, 2, 1), SHAPE))
    assert find_region(inside, spheres, masker, 4.0) == expected
    assert find_region(tuple(inside), spheres, masker, 4.0) == expected
    row = pd.Series([*inside, "a peak"], index=[*"xyz", "name"])
    assert find_region(row[["x", "y", "z"]], spheres, masker, 4.0) == expected
    edge = world(5, 2, 1)
    out = edge - np.array([1.0, 0, 0])  # the grid's first axis runs to the left
    assert find_region(edge + 3.999 * (out - edge), spheres, masker, 4.0) >= 0
    with pytest.raises(ValueError, match=r"the nearest is \d+ at \(.*\), 4.01 mm away"):
        find_region(edge + 4.01 * (out - edge), spheres, masker, 4.0)
    with pytest.raises(ValueError, match=r"lies in no region; .*e\+06 mm away"):
        find_region((1e6, 0, 0), spheres, masker, 4.0)


def test_small_radii_still_leave_no_gap_between_voxels(masker):
    dots = choose_regions(masker, masker.n_elements_, radius=0.5)
    between = (world(2, 2, 2) + world(3, 3, 3)) / 2
    assert find_region(between, dots, masker, 0.5) >= 0


def test_nearest_voxels_reach_as_far_as_the_last(masker):
    near = choose_regions(masker, masker.n_elements_, n_nearest=4)
    place = world(5, 4, 3) - np.array([2.0, 0, 0])
    assert find_region(place, near, masker, None) == 99
    with pytest.raises(ValueError, match="lies in no region"):
        find_region(place - [20.0, 0, 0], near, masker, None)


def test_places_in_an_atlas_are_those_of_its_voxels(named, masker):
    assert find_region(world(3, 2, 1), named, masker, 8.0) == 1
    assert find_region(world(3.49, 2.4, 1.4), named, masker, 8.0) == 1
    with pytest.raises(ValueError, match=r"the nearest is 1 '1' at .*, 1\.53 mm away"):
        find_region(world(3.51, 2, 1), named, masker, 8.0)
    with pytest.raises(ValueError, match="'2'"):  # outside the mask
        find_region(world(0, 2, 1), named, masker, 8.0)
    with pytest.raises(ValueError, match=r"'Left V1 \(dorsal\)'"):
        find_region(world(9, 2, 1), named, masker, 8.0)


def test_arrays_and_matrices_have_no_place(masker):
    one = choose_regions(None, 7)
    assert find_region("all features", one, None, 8.0) == 0
    with pytest.raises(ValueError, match="is a place, but these regions have none"):
        find_region((0, 0, 0), one, None, 8.0)
    matrix = np.ones((2, masker.n_elements_), dtype=bool)
    choice = choose_regions(masker, masker.n_elements_, regions=matrix)
    with pytest.raises(ValueError, match="is a place, but these regions have none"):
        find_region((0, 0, 0), choice, masker, 8.0)


def test_places_on_a_surface():
    n = 6
    x, y = np.meshgrid(np.arange(n) * 2.0, np.arange(n) * 2.0, indexing="ij")
    at = np.arange(n * n).reshape(n, n)
    corners = at[:-1, :-1], at[1:, :-1], at[:-1, 1:], at[1:, 1:]
    a, b, c, d = (corner.ravel() for corner in corners)
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    sheets = [np.stack([x.ravel(), y.ravel(), 0 * x.ravel() + z], 1) for z in (0, 50)]
    mesh = PolyMesh(
        left=InMemoryMesh(sheets[0], faces), right=InMemoryMesh(sheets[1], faces)
    )
    ones = {side: np.ones(n * n, dtype="int8") for side in ("left", "right")}
    masker = resolve_masker(SurfaceImage(mesh, ones))
    discs = choose_regions(masker, masker.n_elements_, radius=3.0)
    assert find_region((2.1, 4.2, 50.5), discs, masker, 3.0) == n * n + n + 2
    with pytest.raises(ValueError, match="lies in no region"):
        find_region((2, 4, 25), discs, masker, 3.0)
    values = np.repeat([0, 1, 2], 2 * n).astype("int16")
    labels = SurfaceImage(mesh, {"left": values, "right": values})
    parcels = choose_regions(masker, 2 * n * n, labels_img=labels, names=["one", "two"])
    assert find_region((4.5, 3, 0), parcels, masker, 3.0) == 0
    with pytest.raises(ValueError, match="the nearest is 0 'one'"):
        find_region((2.5, 4, 0), parcels, masker, 3.0)  # a vertex of the background
    with pytest.raises(ValueError, match="the nearest is 1 'two'"):
        find_region((10, 4, 45), parcels, masker, 3.0)


@pytest.fixture(scope="module")
def fitted():
    """An atlas of two regions called 2 and 1, which differ."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    data = rng.normal(size=(4, 2, 2, 24))
    data[:2] += 2 * rng.normal(size=(4, 2, 2, 2))[y].transpose(1, 2, 3, 0)
    labels = np.array([1, 1, 2, 2], dtype="int16")[:, None, None] * np.ones((1, 2, 2))
    names = pd.DataFrame({"index": [1, 2], "name": ["2", "1"]})
    mask = nibabel.Nifti1Image(np.ones((4, 2, 2), "int8"), AFFINE)
    img = nibabel.Nifti1Image(labels.astype("int16"), AFFINE)
    light = IdentificationSearchLight(mask, labels_img=img)
    light.fit(nibabel.Nifti1Image(data, AFFINE), y, groups=runs)
    light.results_.choice.names[:] = names["name"]
    return light


def test_every_question_takes_names_and_places(fitted):
    place = world(0, 1, 1)
    for ask in (
        fitted.accuracy_curve,
        fitted.bound_curve,
        fitted.region_margins,
        fitted.standard_error,
        fitted.confusion_matrix,
    ):
        for region in ("2", place):
            np.testing.assert_array_equal(ask(region), ask(0))
        for wrong in (-1, 2, True, "left V1", (900.0, 0, 0)):
            with pytest.raises((ValueError, TypeError), match="region="):
                ask(wrong)
    assert not np.array_equal(
        fitted.accuracy_curve("1")[1], fitted.accuracy_curve("2")[1]
    )
    for region in ("2", place):
        assert fitted.extrapolator(region, "gaussian") is not None


def test_names_survive_a_folder(fitted, tmp_path):
    fitted.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    for region in ("1", world(3, 0, 0)):
        np.testing.assert_array_equal(
            read.accuracy_curve(region), fitted.accuracy_curve(1)
        )
    with pytest.raises(ValueError, match="is no region"):
        read.accuracy_curve("3")


def test_nothing_is_found_before_the_fit():
    for ask in ("accuracy_curve", "find_region", "bound_curve"):
        with pytest.raises(NotFittedError):
            getattr(IdentificationSearchLight(), ask)(0)
