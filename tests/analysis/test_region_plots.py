"""What a fitted analysis shows: rows for regions, curves, maps of what survives."""

import matplotlib.pyplot as plt
import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from tests.images.seam import feature_coordinates


@pytest.fixture(scope="module")
def brain():
    """Return samples of a coarse brain that hold some information."""
    return simulate_brain(resolution=10, n_classes=4, n_runs=6, random_state=0)


@pytest.fixture(scope="module")
def light(brain):
    """Return spheres of it, tested."""
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=12.0, n_permutations=99
    )
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_every_sphere_has_a_row_with_its_center(light):
    table = light.to_dataframe()
    places = feature_coordinates(light.masker_)
    np.testing.assert_array_equal(table[["X", "Y", "Z"]], places)
    assert table["region"].tolist() == list(range(len(light.wins_)))
    for name, values in light.region_scores_.items():
        np.testing.assert_array_equal(table[name], values)
    best = table.loc[table["accuracy"].idxmax()]
    assert light.find_region(tuple(best[["X", "Y", "Z"]])) == best["region"]


def test_regions_of_an_atlas_have_names_and_mean_places(brain):
    mask = brain.masker.mask_img_
    labels = np.zeros(mask.shape, dtype=np.int32)
    inside = np.argwhere(mask.get_fdata() > 0)
    for label in (1, 2):  # the second is split between both ends
        some = inside[40:60] if label == 1 else inside[[*range(20), *range(-20, 0)]]
        labels[tuple(some.T)] = label
    atlas = nibabel.Nifti1Image(labels, mask.affine)
    light = IdentificationSearchLight(mask, labels_img=atlas)
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    table = light.to_dataframe()
    assert table["name"].tolist() == ["1", "2"]
    for label, row in zip((1, 2), table.itertuples(), strict=True):
        voxels = np.argwhere(labels == label)
        expected = nibabel.affines.apply_affine(mask.affine, voxels).mean(axis=0)
        np.testing.assert_allclose([row.X, row.Y, row.Z], expected)


def test_arrays_have_rows_without_places(brain):
    X = brain.masker.transform(brain.imgs)[:, :30]
    light = IdentificationSearchLight().fit(X, brain.y, groups=brain.runs)
    table = light.to_dataframe()
    assert len(table) == 1
    assert table["name"].tolist() == ["all features"]
    assert not {"X", "Y", "Z"} & set(table)


def test_samples_may_be_a_data_frame(brain):
    X = brain.masker.transform(brain.imgs)[:, :30]
    frame = pd.DataFrame(X, index=range(7, 7 + len(X)))
    found = [
        IdentificationSearchLight(n_permutations=19).fit(x, brain.y, brain.runs)
        for x in (X, frame)
    ]
    pd.testing.assert_frame_equal(found[0].to_dataframe(), found[1].to_dataframe())
    with pytest.raises(TypeError, match="must be real numbers"):
        found[0].fit(frame.assign(subject="a"), brain.y, brain.runs)


def test_masked_maps_keep_what_survives_and_nothing_else(light, tmp_path):
    p = light.maps_["p_value_fwe"].get_fdata()
    assert (p <= 0.05).any()
    light.to_directory(tmp_path / "out")
    read = IdentificationSearchLight.from_directory(tmp_path / "out")
    for fitted in (light, read):
        masked = fitted.masked_map("implied_information").get_fdata()
        whole = light.maps_["implied_information"].get_fdata()
        np.testing.assert_array_equal(masked, np.where(p <= 0.05, whole, np.nan))


def test_bounds_decide_where_nothing_was_permuted(brain, light):
    untested = IdentificationSearchLight(brain.masker.mask_img_, radius=12.0)
    untested.fit(brain.imgs, brain.y, groups=brain.runs)
    bound = untested.maps_["bayes_accuracy_bound_fwe"].get_fdata()
    masked = untested.masked_map("accuracy").get_fdata()
    np.testing.assert_array_equal(np.isfinite(masked), bound > 1 / 4)
    nothing = IdentificationSearchLight(light.masker_, radius=12.0, bounds=None)
    nothing.fit(brain.imgs, brain.y, groups=brain.runs)
    with pytest.raises(ValueError, match="fit with n_permutations"):
        nothing.masked_map("accuracy")


def test_other_names_are_refused_with_those_there_are(light):
    for method in (light.masked_map, light.plot_map):
        with pytest.raises(ValueError, match=r"'bits' is no map.*accuracy, "):
            method("bits")


def test_a_curve_is_drawn_in_axes_of_ones_own(light):
    best = int(np.nanargmax(light.region_scores_["accuracy"]))
    ax = plt.subplots()[1]
    assert light.plot_curve(best, ax=ax) is ax
    sizes, accuracy = light.accuracy_curve(best)
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert np.column_stack([sizes, accuracy]).tolist() in drawn
    assert light.plot_curve(best).figure is not ax.figure


def test_a_map_is_drawn_whole_or_where_it_survives(light, brain):
    for survives in (False, True):
        light.plot_map("accuracy", survives=survives, bg_img=False).close()
    none = IdentificationSearchLight(light.masker_, radius=12.0, n_permutations=19)
    none.fit(brain.imgs, brain.y, groups=brain.runs)
    none.region_scores_["p_value_fwe"][:] = 1.0
    with pytest.raises(ValueError, match="no map to draw"):
        none.plot_map("accuracy", survives=True)


def test_arrays_and_surfaces_are_not_drawn_as_volumes(brain):
    X = brain.masker.transform(brain.imgs)[:, :30]
    light = IdentificationSearchLight().fit(X, brain.y, groups=brain.runs)
    with pytest.raises(ValueError, match="is no volume; draw arrays with plot_curve"):
        light.plot_map("accuracy")
