"""Figures: what is drawn is what was given, and axes carry units."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from neuroextrap.encoding import GaborPyramid
from neuroextrap.plotting import (
    plot_accuracy_curve,
    plot_confusion_matrix,
    plot_extrapolation_fan,
    plot_information_vs_size,
    plot_null_distribution,
    plot_receptive_field,
)
from neuroextrap.stats import permutation_p_value
from tests.plotting.seam import critical_value


def _lines(ax):
    return {line.get_label(): np.array(line.get_data()) for line in ax.lines}


def test_accuracy_curve_draws_curve_band_bound_and_chance():
    sizes, accuracy = np.array([2, 4, 8]), np.array([0.99, 0.8, 0.7])
    interval = [0.9, 0.6, 0.5], [1.0, 0.9, 0.85]
    ax = plot_accuracy_curve(
        sizes, accuracy, interval=interval, lower_bound=accuracy - 0.2
    )
    lines = _lines(ax)
    np.testing.assert_array_equal(lines["observed"], [sizes, accuracy])
    np.testing.assert_allclose(
        lines["average Bayes\naccuracy bound"][1], accuracy - 0.2
    )
    np.testing.assert_allclose(lines["chance"][1], 1 / lines["chance"][0])
    band = ax.collections[0].get_paths()[0].vertices
    for size, *ends in zip(sizes, *interval, strict=True):
        assert set(band[band[:, 0] == size, 1]) == set(ends)
    assert ax.get_xscale() == "log"
    assert "set size" in ax.get_xlabel()


def test_axes_that_are_given_are_drawn_on():
    _, ax = plt.subplots()
    assert plot_accuracy_curve([2, 3], [0.9, 0.8], ax=ax) is ax


def test_fan_draws_every_method_and_the_truth():
    names = [f"method {number}" for number in range(9)]
    ax = plot_extrapolation_fan(
        [2, 8],
        [0.9, 0.6],
        [20, 1000],
        {name: [0.5, 0.1] for name in names},
        truth=[0.4, 0.2],
    )
    lines = _lines(ax)
    assert set(names) < set(lines)
    np.testing.assert_array_equal(lines["truth"][1], [0.4, 0.2])
    styles = {(line.get_color(), line.get_linestyle()) for line in ax.lines[:9]}
    assert len(styles) == 9


def test_fan_draws_the_interval_as_a_band():
    ends = ([0.3, 0.05], [0.7, 0.2])
    curves = {"auto": [0.5, 0.1]}
    ax = plot_extrapolation_fan(
        [2, 8], [0.9, 0.6], [20, 1000], curves, interval=ends, confidence_level=0.8
    )
    band = next(c for c in ax.collections if c.get_label() == "80% interval")
    corners = {tuple(point) for point in band.get_paths()[0].vertices.round(6)}
    assert corners >= {(20, 0.3), (20, 0.7), (1000, 0.05), (1000, 0.2)}


def testcritical_value_is_the_smallest_significant_score():
    null = np.random.default_rng(0).permutation(np.arange(99.0))
    critical = critical_value(null, 0.05)
    assert permutation_p_value(critical + 1e-9, null) <= 0.05
    assert permutation_p_value(critical - 1e-9, null) > 0.05
    assert critical_value(null, 0.005) is None


def test_null_histogram_counts_every_permutation():
    ax = plot_null_distribution(np.linspace(0, 1, 50), [0.9, 1.2], n_bins=7)
    assert sum(patch.get_height() for patch in ax.patches) == 50
    assert {0.9, 1.2} <= {line.get_xdata()[0] for line in ax.lines}


def test_information_is_in_bits_against_voxels():
    ax = plot_information_vs_size(
        [1, 10], [0.5, 2.0], standard_error=[0.1, 0.2], lower_bound=[0, 1], truth=[1, 3]
    )
    assert ax.get_ylabel() == "information (bits)"
    np.testing.assert_array_equal(_lines(ax)["truth"], [[1, 10], [1, 3]])


def test_confusion_rows_are_proportions():
    ax = plot_confusion_matrix([[3, 1], [0, 8]])
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.75, 0.25], [0, 1]])


def test_axes_have_few_plain_ticks():
    ax = plot_information_vs_size([1, 10, 20000], [0.1, 1, 2])
    ax.figure.canvas.draw()
    labels = [tick.get_text() for tick in ax.get_xticklabels() if tick.get_text()]
    assert {"1", "10", "100", "1000", "10000"} <= set(labels)
    assert not any(set(text) & set("e$") for text in labels)
    ax = plot_confusion_matrix(np.eye(60), [f"class {i}" for i in range(60)])
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels[:2] == ["class 0", "class 3"]
    assert len(labels) == 20


@pytest.mark.parametrize("n_methods", [1, 9])
def test_names_of_many_methods_stand_beside_the_curves(n_methods):
    curves = {f"a method, number {i}": [0.5, 0.1] for i in range(n_methods)}
    ax = plot_extrapolation_fan([2, 8], [0.9, 0.6], [20, 1000], curves)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.fully_overlaps(ax.get_window_extent()) == (n_methods == 1)
    assert legend.x1 <= ax.figure.bbox.x1


def test_figures_save_as_vectors():
    ax = plot_accuracy_curve([2, 3], [0.9, 0.8])
    target = io.BytesIO()
    ax.figure.savefig(target, format="svg")
    assert target.getvalue().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plot_accuracy_curve([2, 3], [0.1]),
            r"accuracy of shape \(1,\) must have the shape of set_sizes",
        ),
        (
            lambda: plot_extrapolation_fan([2], [0.5], [9], {"x": [1, 2]}),
            r"x of shape \(2,\) must have the shape of target_sizes",
        ),
        (
            lambda: plot_extrapolation_fan([2], [0.5], [9], {}, interval=([1, 2], [1])),
            r"interval must be .* rows of equal length",
        ),
        (lambda: plot_null_distribution([]), "run with n_permutations > 0"),
        (lambda: plot_null_distribution([np.nan]), "null_scores must be finite"),
        (
            lambda: plot_information_vs_size([1], [1.0], truth=[1, 2]),
            r"truth of shape \(2,\) must have the shape of n_voxels",
        ),
        (
            lambda: plot_accuracy_curve([2, 3], [0.9, 0.8], interval=([0.8], [0.9])),
            r"interval of shape \(2, 1\) must hold .* each of set_sizes, \(2,\)",
        ),
        (
            lambda: plot_confusion_matrix([[1, 2]]),
            r"confusion of shape \(1, 2\) must be square",
        ),
        (
            lambda: plot_confusion_matrix([[0, 0], [1, 1]]),
            "at least one answer in every row",
        ),
        (lambda: plot_confusion_matrix(np.eye(2), ["a"]), "must hold 2 names"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_receptive_fields_lie_where_the_weights_are():
    features = GaborPyramid(frequencies=(2, 4)).fit(np.zeros((1, 32, 48)))
    weights = np.zeros(len(features.feature_positions_))
    weights[7] = -2.0
    ax = plot_receptive_field(features, weights)
    drawn = ax.images[0].get_array()
    assert drawn.sum() == pytest.approx(-2.0)
    lowest = np.unravel_index(np.argmin(drawn), drawn.shape)
    np.testing.assert_allclose(lowest, features.feature_positions_[7], atol=0.5)
    with pytest.raises(ValueError, match="one for each feature"):
        plot_receptive_field(features, weights[1:])
