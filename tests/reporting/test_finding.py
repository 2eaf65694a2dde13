"""The first sentences of a report: what was found, and what may not be said."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.ndimage

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import peak_table
from tests.analyses import searchlight_of
from tests.margins.seam import CLASSIFIERS
from tests.reporting.seam import (
    curve_axes,
    format_percent,
    found,
    identification_sections,
    methods,
    page_maps,
    ranked_peaks,
    region_images,
    tables_of,
)


def _fit(seed=0, signal=0.0, n_permutations=0, n_features=9, n_runs=6, **options):
    rng = np.random.default_rng(seed)
    y, runs = np.tile([0, 1, 2], n_runs), np.repeat(np.arange(n_runs), 3)
    X = signal * rng.normal(size=(3, n_features))[y]
    X = X + rng.normal(size=(3 * n_runs, n_features))
    light = IdentificationSearchLight(n_permutations=n_permutations, **options)
    return light.fit(X, y, groups=runs)


def said_of(fitted):
    """The sentences of the answer, the first one first."""
    return found(fitted, page_maps(fitted), ranked_peaks(fitted, 1))


@pytest.fixture(scope="module")
def nothing():
    brain = simulate_brain(
        resolution=10,
        radius=20.0,
        information=(0.001,),
        coordinates=[(30, -50, -20)],
        n_classes=4,
        n_runs=3,
    )
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=16.0, n_permutations=39
    )
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


def test_survivors_are_counted(fitted):
    finding = page_maps(fitted).finding
    p_values = fitted.region_scores_["p_value_fwe"]
    assert finding.criterion == "p_value_fwe"
    np.testing.assert_array_equal(finding.survives, p_values <= 0.05)
    n_regions = np.isfinite(p_values).sum()
    n_places = _places_of(fitted, p_values <= 0.05).max()
    assert n_places > 1
    expected = f"{n_places} places: {(p_values <= 0.05).sum()} of {n_regions:,} spheres"
    assert said_of(fitted)[0].startswith(f"Above chance in {expected}")


def _places_of(fitted, survives):
    """Number the connected sets of surviving centers in their image, from 1."""
    image = region_images({"s": survives.astype(float)}, fitted.results_.choice,
                          fitted.masker_)["s"]  # fmt: skip
    labeled, _ = scipy.ndimage.label(np.nan_to_num(image.get_fdata()) > 0)
    centers = fitted.results_.choice.centers
    mask = fitted.masker_.mask_img_.get_fdata() > 0
    return labeled[mask][centers]


def test_every_place_that_survives_has_a_row(fitted):
    """However few peaks are wanted, and wherever stronger ones are near."""
    survives = fitted.region_scores_["p_value_fwe"] <= 0.05
    places = _places_of(fitted, survives)
    table = peak_table(fitted, n_peaks=1)
    found = places[table["region"]]
    assert sorted(found[found > 0]) == list(range(1, places.max() + 1))
    accuracy = fitted.region_scores_["accuracy"]
    assert (np.diff(table["accuracy"]) <= 1e-8).all()
    for place, region in zip(found, table["region"], strict=True):
        if place:
            assert accuracy[region] == accuracy[places == place].max()


def test_numbers_of_the_strongest_are_those_of_its_maps(fitted):
    peak = peak_table(fitted, n_peaks=1).iloc[0]
    sentences = " ".join(said_of(fitted))
    x, y, z = (round(peak[axis]) for axis in "xyz")
    assert f"({x}, {y}, {z}) mm".replace("-", "\N{MINUS SIGN}") in sentences
    assert f"{format_percent(peak['accuracy'])} correct among 4 classes" in sentences
    lower, upper = fitted.accuracy_interval(int(peak["region"]))
    assert f"{format_percent(lower[-1])} to {format_percent(upper[-1])}" in sentences
    n_regions = np.isfinite(fitted.region_scores_["accuracy"]).sum()
    assert f"optimistic, because it is the best of {n_regions:,} spheres" in sentences
    assert "Nothing can be said about other classes: 4 are too few." in sentences


def test_only_simultaneous_bounds_are_quoted_for_a_peak(fitted):
    peak = peak_table(fitted, n_peaks=1).iloc[0]
    bound = peak["bayes_accuracy_bound_fwe"]
    sentences = " ".join(said_of(fitted))
    if bound > 0.25:
        assert f"at least {int(100 * bound)}% of the time" in sentences
    else:
        assert "stays at chance" in sentences


def test_sentence_figure_and_table_have_one_interval(fitted, sections):
    """The interval on the page, where 1.96 standard errors say something else."""
    said = re.search(
        r"95% interval .*?([\d.]+)% to ([\d.]+)%", sections["What was found"]
    )
    said = np.array(said.groups(), dtype=float) / 100
    table = tables_of(sections["Accuracy curves"])["curves.tsv"]
    region = int(table["region"][0])
    last = table[table["region"] == region].iloc[-1]
    ends = last[["accuracy_lower_95", "accuracy_upper_95"]].to_numpy(dtype=float)
    np.testing.assert_allclose(ends, said, atol=0.006)
    ax = curve_axes(fitted, region)
    band = next(
        drawn for drawn in ax.collections if drawn.get_label() == "95% interval"
    )
    corners = band.get_paths()[0].vertices
    drawn = corners[corners[:, 0] == last["set_size"], 1]
    plt.close(ax.figure)
    np.testing.assert_allclose([drawn.min(), drawn.max()], ends, rtol=1e-6)
    assert abs(ends[0] - (last["accuracy"] - 1.96 * last["standard_error"])) > 0.02


def test_lines_are_named_as_they_are_drawn(fitted, sections):
    ax = curve_axes(fitted, 0)
    looks = {line.get_label().split(",")[0]: line for line in ax.lines}
    plt.close(ax.figure)
    page = " ".join(sections["Accuracy curves"].split())
    assert looks["chance"].get_linestyle() == ":"
    assert looks["best classifier"].get_marker() == "^"
    assert "the dotted gray line is chance" in page
    assert "The orange triangle is the lower bound" in page


def test_sentence_figure_and_table_have_one_bound(fitted, sections):
    """The bound on the page is the one that holds for all regions at once."""
    region = int(ranked_peaks(fitted, 1)["region"].iloc[0])
    expected = fitted.region_scores_["bayes_accuracy_bound_fwe"][region]
    table = tables_of(sections["Accuracy curves"])["curves.tsv"]
    rows = table[(table["region"] == region) & (table["set_size"] == 4)]
    np.testing.assert_allclose(rows["bayes_accuracy_bound_fwe"], [expected])
    ax = curve_axes(fitted, region)
    (drawn,) = (
        line for line in ax.lines if line.get_label().startswith("best classifier")
    )
    plt.close(ax.figure)
    assert drawn.get_xydata().tolist() == [[4, expected]]
    bounded = fitted.region_scores_["bayes_accuracy_bound"][region]
    assert bounded > expected


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("seed", range(4))
def test_no_sentence_or_table_states_more_than_a_bound(seed):
    fitted = _fit(seed, signal=1.5, n_runs=30, n_permutations=39)
    peak = ranked_peaks(fitted, 1).iloc[0]
    sections = dict(identification_sections(fitted, n_peaks=1))
    text, table = sections["What was found"], sections["Peaks"]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table[: table.index("All columns")])
    accuracy, bits = (
        peak["bayes_accuracy_bound_fwe"],
        peak["class_information_bound_fwe"],
    )
    assert accuracy > 1 / 3
    said = re.search(r"shown equally often, is right at least ([\d.]+)% of", text)
    assert accuracy - 0.01 < float(said.group(1)) / 100 <= accuracy
    assert f"{said.group(1)}%" in cells
    said = re.search(r"carries at least ([\d.]+) bits", text)
    assert 0.89 * bits < float(said.group(1)) <= bits
    near = [float(cell) for cell in cells if re.fullmatch(r"\d\.\d+", cell)]
    near = [number for number in near if abs(number / bits - 1) < 0.01]
    assert near
    assert max(near) <= bits


@pytest.mark.usefixtures("undrawn")
def test_nothing_is_said_to_be_nothing(nothing):
    finding = page_maps(nothing).finding
    assert nothing.region_scores_["p_value_fwe"].min() > 0.05  # of this seed
    assert finding.n_surviving == 0
    assert said_of(nothing)[0].startswith("Nothing survives: none of")
    assert "Nothing survives" in nothing._repr_html_()
    sections = dict(identification_sections(nothing))
    assert "trends no larger than random labels produce" in sections["What was found"]
    assert "that do not survive correction: trends" in sections["Peaks"]
    assert "a trend that does not survive correction" in sections["Accuracy curves"]
    assert sections["Accuracy curves"].count("<figure>") == 1


def test_too_few_permutations_are_told():
    fitted = _fit(signal=2.0, n_permutations=9)
    assert "with 9 permutations no p-value can be below .1." in said_of(fitted)[1]


def test_without_permutations_the_bound_decides():
    strong, weak = _fit(signal=3.0, n_runs=20), _fit(signal=0.0)
    finding = page_maps(strong).finding
    assert finding.criterion == "bayes_accuracy_bound_fwe"
    assert finding.n_surviving == 1
    assert strong.region_scores_["bayes_accuracy_bound_fwe"][0] > 1 / 3
    assert said_of(strong)[0].startswith("The region is above chance")
    assert said_of(weak)[0].startswith("The region is not shown to be above chance")


def test_a_single_region_is_not_called_the_best_of_many():
    fitted = _fit(signal=3.0, n_runs=20)
    sentences = " ".join(said_of(fitted))
    assert "optimistic" not in sentences


def test_false_alarms_are_as_rare_as_said():
    """Without a signal, at most one report in twenty finds something."""
    fits = [_fit(seed, n_permutations=19, bounds=None) for seed in range(60)]
    found = [page_maps(fitted).finding.n_surviving > 0 for fitted in fits]
    p_values = [fitted.region_scores_["p_value_fwe"][0] for fitted in fits]
    assert found == [p <= 0.05 for p in p_values]
    # binomial(60, .05) exceeds 8 once in a thousand
    assert sum(found) <= 8


def test_peaks_that_do_not_survive_are_apart(fitted, sections):
    peaks = ranked_peaks(fitted, 10)
    survives = page_maps(fitted).finding.survives[peaks["region"].to_numpy()]
    assert 0 < survives.sum() < 10  # of this seed: both kinds
    section = sections["Peaks"]
    assert section.count('<tr class="trend">') == (~survives).sum()
    assert f"{(~survives).sum()} more, which do not survive" in section


def test_regions_that_survive_come_first_whatever_the_statistic(brain):
    light = searchlight_of(
        brain.masker.mask_img_,
        radius=16.0,
        statistic="implied_information",
        n_permutations=19,
        stride=2,
    )
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    peaks = ranked_peaks(light, 6)
    order = light.region_scores_["implied_information"][peaks["region"]]
    assert np.all(np.diff(order) <= 0)
    survives = page_maps(light).finding.survives[peaks["region"].to_numpy()]
    assert 0 < survives.sum() < 6  # of this seed: both kinds
    assert np.all(np.diff(survives.astype(int)) <= 0)


def test_methods_say_within_what_labels_moved(fitted, one_region, tmp_path):
    said = " ".join(methods(fitted, page_maps(fitted)))
    assert "20 permutations of the labels within runs, family-wise" in said
    assert (
        "Gaussian channel with the closest accuracy curve over 2 to 4 classes" in said
    )
    assert "permutations" not in " ".join(methods(one_region, page_maps(one_region)))
    fitted.to_directory(tmp_path / "all")
    read = type(fitted).from_directory(tmp_path / "all")
    assert "20 permutations, family-wise" in " ".join(methods(read, page_maps(read)))


# what the committee on best practices (COBIDAS, Nichols et al. 2017, appendix D.4-D.6)
# and nilearn's template of reports ask of a decoding study
REPORTED = {
    "how samples were made": "single trials (least squares separate)",
    "confounds": "confounds were regressed out",
    "temporal filter": "drifts below 0.01 Hz were removed",
    "detrending": "voxels were detrended within runs",
    "normalization": "voxels were standardized within runs",
    "smoothing": r"smoothed \(4 mm full width at half maximum\)",
    "numbers of samples and classes": "20 samples of 4 classes in 5 runs, 5 of each",
    "mask and voxel size": "mask held 3,666 voxels of 8 x 8 x 8 mm",
    "feature selection": r"3,666 regions were spheres of 16 mm radius .10 to 33 voxels",
    "learning method": r"classifier \(nearest class centroid",
    "cross-validation": "leaving one of 5 runs out at a time",
    "evaluation metric": "identification accuracy is the proportion of 20 test points",
    "chance and weights": "of 4, scored highest, classes weighted equally",
    "statistic and side": "One-sided p-values of accuracy come from",
    "permutations": "20 permutations of the labels within runs",
    "correction": "family-wise by the maximum over regions",
    "random seed": "the random seed was 0",
    "intervals": r"Lower confidence bounds \(95%\)",
    "independent units": "test samples as independent units",
    "software": r"neuroextrap [\d.]+.* and nilearn",
    "versions": r"Python 3.*, numpy .*, scipy .*, scikit-learn .*, nibabel .*, nilearn",
    "sources": "Nichols &amp; Holmes 2002",
}


@pytest.mark.parametrize("item", REPORTED)
def test_the_methods_paragraph_says_what_reviewers_ask_for(fitted, item):
    samples = {
        "samples": "lss",
        "confounds": True,
        "high_pass": 0.01,
        "detrend": True,
        "standardize": True,
        "smoothing_fwhm": 4.0,
    }
    said = " ".join(methods(fitted, page_maps(fitted), samples))
    wanted = REPORTED[item]
    assert wanted in said or re.search(wanted, said), said


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_methods_paragraph_calls_every_classifier_by_its_usual_name(name):
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    light = IdentificationSearchLight(estimator=name, bounds=None)
    light.fit(rng.normal(size=(12, 3)), y[::-1], groups=runs)
    said = " ".join(methods(light, page_maps(light), {}))
    assert f"classifier ({name})" not in said
    assert re.search(r"a classifier \([a-zA-Z ]+\) was cross-validated", said)
