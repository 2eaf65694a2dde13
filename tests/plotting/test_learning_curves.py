"""Figures of learning curves: what is drawn where."""

import nibabel
import numpy as np
import pytest
from sklearn.utils import Bunch

from neuroextrap.plotting import (
    plot_canonical_coordinates,
    plot_confusion_matrix,
    plot_learning_curves,
    plot_map,
)
from tests.plotting.seam import mni152_template


def _curve(offset=0.0):
    return Bunch(
        train_sizes=np.array([2, 3, 4]),
        information=np.array([[-0.5, -0.3], [0.2, 0.4], [0.6, 0.6]]) + offset,
        error_rate=np.array([[0.4, 0.4], [0.3, 0.2], [0.1, 0.1]]),
        baseline_error_rate=np.full((3, 2), 0.5),
        reproducibility=np.array([[0.1, 0.3], [0.4, 0.6], [np.nan, np.nan]]),
        label_entropy=1.0,
    )


def test_scatter_has_a_unit_circle_at_every_class_mean():
    c = np.random.default_rng(0).standard_normal((20, 3))
    labels = np.tile(["T1", "T2"], 10)
    ax = plot_canonical_coordinates(c, labels, directions=(0, 2))
    for patch, label in zip(ax.patches, ("T1", "T2"), strict=True):
        np.testing.assert_allclose(
            patch.center, c[labels == label].mean(axis=0)[[0, 2]]
        )
        assert patch.radius == 1
    assert [text.get_text() for text in ax.texts] == ["1"] * 10 + ["2"] * 10


@pytest.mark.parametrize(
    ("labels", "symbols"),
    [("rest task", "r t"), ("a1 a2", "1 2"), ("left lift", "1 2")],
)
def test_symbols_tell_labels_apart(labels, symbols):
    ax = plot_canonical_coordinates(np.eye(2), labels.split())
    assert [text.get_text() for text in ax.texts] == symbols.split()


def test_scatter_of_one_direction_is_spread_by_order():
    c = np.arange(6.0)[:, None]
    ax = plot_canonical_coordinates(
        c, list("aabbcc"), class_means=[[0.5], [2.5], [4.5]]
    )
    assert ax.get_ylabel() == "order of scans"
    np.testing.assert_allclose(ax.patches[1].center, [2.5, 0])


def test_learning_curve_lines_bands_and_entropy():
    curves = {"two": _curve(), "four": _curve(0.1)}
    ax = plot_learning_curves(curves)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [-0.4, 0.3, 0.6])
    assert len(ax.collections) == 2
    assert ax.lines[-1].get_ydata()[0] == 1.0  # label entropy
    assert "overfitting" in ax.get_title()
    calm = plot_learning_curves({"two": _curve(1.0)}, spread=False)
    assert calm.get_title() == ""
    assert len(calm.collections) == 0


def test_error_panel_has_the_baseline_band():
    ax = plot_learning_curves({"two": _curve()}, panel="error_rate")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["two", "guessing the most common label"]
    other = _curve()
    other.baseline_error_rate = other.baseline_error_rate + 0.25
    ax = plot_learning_curves({"two": _curve(), "four": other}, panel="error_rate")
    middles = [patch.get_y() + patch.get_height() / 2 for patch in ax.patches]
    np.testing.assert_allclose(middles, [0.5, 0.75])


def test_reproducibility_panel_stops_at_half_of_the_subjects():
    ax = plot_learning_curves(_curve(), panel="reproducibility")
    assert ax.get_legend() is None  # nothing has a name
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [2, 3])


def test_information_against_reproducibility():
    ax = plot_learning_curves({"two": _curve()}, panel="information_vs_reproducibility")
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.2, 0.5])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [-0.4, 0.3])
    assert [text.get_text() for text in ax.texts] == ["2", "3"]


def test_disc_areas_are_probabilities():
    confusion = np.array([[0.9, 0.1], [0.4, 0.6]])
    ax = plot_confusion_matrix(confusion, ["a", "b"], discs=True)
    areas = {patch.center: patch.radius**2 for patch in ax.patches}
    assert areas[(0, 1)] / areas[(0, 0)] == pytest.approx(0.1 / 0.9)
    assert areas[(1, 0)] / areas[(1, 1)] == pytest.approx(0.4 / 0.6)


def test_a_map_shows_its_top_twentieth_over_anatomy(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "nilearn.plotting.plot_stat_map", lambda img, **options: seen.append(options)
    )
    values = np.arange(8 * 9 * 7, dtype=float).reshape(8, 9, 7)
    values[0, 0, 0] = np.nan
    img = nibabel.Nifti1Image(values, np.eye(4))
    anatomy = nibabel.Nifti1Image(np.ones((8, 9, 7)), np.eye(4))
    plot_map(img, bg_img=anatomy, threshold="95%")
    plot_map(img, bg_img=False, threshold=3.0)
    plot_map(img, bg_img="mni152", cmap="hot")
    assert seen[0]["threshold"] == pytest.approx(np.nanpercentile(values, 95))
    np.testing.assert_array_equal(seen[0]["bg_img"].get_fdata(), anatomy.get_fdata())
    assert seen[1]["threshold"] == 3.0
    assert seen[1]["bg_img"] is None
    assert seen[2]["bg_img"] is mni152_template()
    assert seen[2]["cmap"] == "hot"


def test_input_is_checked():
    with pytest.raises(ValueError, match="at least one direction"):
        plot_canonical_coordinates(np.zeros((4, 0)), list("aabb"))
    with pytest.raises(ValueError, match="one label for each of the 4 scans"):
        plot_canonical_coordinates(np.zeros((4, 2)), list("aab"))
    with pytest.raises(ValueError, match="panel='mi' must be"):
        plot_learning_curves({"two": _curve()}, panel="mi")
    nothing = _curve()
    nothing.reproducibility = np.full((3, 2), np.nan)
    with pytest.raises(ValueError, match="'two' has no reproducibility"):
        plot_learning_curves({"two": nothing}, panel="information_vs_reproducibility")
    with pytest.raises(ValueError, match="must be square"):
        plot_confusion_matrix(np.ones((2, 3)), discs=True)
    with pytest.raises(ValueError, match="finite and not negative"):
        plot_confusion_matrix([[np.nan, 1], [0, 1]], discs=True)
    with pytest.raises(ValueError, match="must hold probabilities, got 7"):
        plot_confusion_matrix([[7, 1], [0, 1]], discs=True)
    with pytest.raises(ValueError, match="class_names must hold 2 names, got 3"):
        plot_confusion_matrix(np.eye(2), list("abc"), discs=True)
