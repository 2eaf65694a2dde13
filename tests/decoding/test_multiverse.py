"""Several pipelines, one p-value: against loops, and what is refused."""

import matplotlib.pyplot as plt
import nibabel
import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from neuroextrap.analysis import Keep, Regions
from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight, multiverse
from neuroextrap.maps import read_maps

N_PERMUTATIONS = 99
REGIONS = np.kron(np.eye(5), np.ones(6))


def experiment(seed=0, effect=0.0):
    """Return noise of five regions, an effect in the first, labels and runs."""
    rng = np.random.default_rng(seed)
    y = rng.permuted(np.tile(np.arange(4), (6, 1)), axis=1).ravel()
    X = rng.normal(size=(24, 30))
    X[:, :6] += effect * rng.normal(size=(4, 6))[y]
    return X, y, np.repeat(np.arange(6), 4)


def searchlight(**options):
    return IdentificationSearchLight(
        **{"regions": REGIONS, "n_permutations": N_PERMUTATIONS, **options}
    )


def pipelines():
    """Return classifiers and statistics that differ."""
    return {
        "centroid": searchlight(),
        "pairs": searchlight(statistic=2),
        "ridge": searchlight(estimator="ridge"),
        "bits": searchlight(estimator="lda", statistic="implied_information"),
    }


def naive(lights, data, folder):
    """Return p-values (n_pipelines, n_regions) over all pipelines, and alone."""
    z = []
    for name, light in lights.items():
        light.set_params(keep=Keep(save_null=folder / f"{name}.npy")).fit(*data)
        null = np.load(folder / f"{name}.npy")
        score = light.results_.scores.score.astype(np.float32)
        values = np.vstack([score, null]).astype(float)
        largest = [row.max() for row in values]
        z.append((values - np.mean(largest)) / np.std(largest))
    alone, together = [], []
    for each in z:
        for found, of in ((alone, [each]), (together, z)):
            largest = [max(other[b].max() for other in of) for b in range(1, len(each))]
            n_above = [sum(m >= value for m in largest) for value in each[0]]
            found.append([(1 + n) / (1 + len(largest)) for n in n_above])
    return np.array(together), np.array(alone)


@pytest.mark.parametrize("effect", [0.0, 0.8])
def test_p_values_are_those_of_loops_over_pipelines(effect, tmp_path):
    data = experiment(effect=effect)
    found = multiverse(pipelines(), *data)
    together, alone = naive(pipelines(), data, tmp_path)
    np.testing.assert_array_equal(found["p_value_fwe_any"], together.min(axis=0))
    np.testing.assert_array_equal(found["p_value_fwe_all"], together.max(axis=0))
    np.testing.assert_array_equal(
        found["n_pipelines"], (together <= 0.05).sum(axis=0).astype(float)
    )
    table = found.table_
    np.testing.assert_array_equal(table["p_value_fwe"], together.min(axis=1))
    np.testing.assert_array_equal(table["p_value_fwe_alone"], alone.min(axis=1))
    np.testing.assert_array_equal(table["n_surviving"], (together <= 0.05).sum(axis=1))
    assert table["pipeline"].tolist() == list(pipelines())
    assert {"estimator", "statistic"} < set(table)
    assert "n_permutations" not in table


def test_labelings_give_the_same_as_observed_and_as_permuted():
    """With which of them the p-value is made does not matter: the test is exact."""
    X, y, runs = experiment()
    for light in pipelines().values():
        light.fit(X, y, groups=runs)
        maxima, codes = light.null_maxima_, light.run_.plan.codes
        for number in (1, 2, 50):
            light.set_params(n_permutations=9).fit(X, codes[number], groups=runs)
            assert light.results_.scores.score.max() == maxima[number - 1]


def test_more_pipelines_never_make_a_p_value_smaller():
    data, lights = experiment(effect=0.5), pipelines()
    two = {name: lights[name] for name in ("centroid", "ridge")}
    few, many = multiverse(two, *data), multiverse(lights, *data)
    few, many = (found.table_.set_index("pipeline") for found in (few, many))
    for name in two:
        assert many["p_value_fwe"][name] >= few["p_value_fwe"][name]
        assert few["p_value_fwe"][name] >= few["p_value_fwe_alone"][name]


def test_a_pipeline_with_a_skewed_statistic_does_not_hide_the_others():
    data = experiment(effect=1.2)
    lights = {"bits": searchlight(statistic="implied_information", estimator="lda")}
    lights |= {"ridge": searchlight(estimator="ridge")}
    table = multiverse(lights, *data).table_.set_index("pipeline")
    assert table.loc["ridge", "p_value_fwe_alone"] <= 0.02
    assert table.loc["ridge", "p_value_fwe"] <= 0.04


def test_searchlights_are_not_changed():
    lights = pipelines()
    multiverse(lights, *experiment())
    assert lights["ridge"].bounds == "auto"
    assert not hasattr(lights["ridge"], "wins_")


def test_fitted_searchlights_and_other_numbers_of_workers_give_the_same():
    data = experiment(effect=0.5)
    first = multiverse(pipelines(), *data)
    fitted = {name: light.fit(*data) for name, light in pipelines().items()}
    again = multiverse(fitted, *data)
    parallel = {n: light.set_params(n_jobs=2) for n, light in pipelines().items()}
    for found in (again, multiverse(parallel, *data)):
        for name, values in first.items():
            np.testing.assert_array_equal(found[name], values)


def test_a_region_without_variation_survives_nowhere():
    X, y, runs = experiment()
    X[:, 6:12] = 1.0  # constant: not analyzed
    found = multiverse(pipelines(), X, y, runs)
    assert np.isnan(found["p_value_fwe_any"][1])
    assert np.isfinite(found["p_value_fwe_any"][[0, 2, 3, 4]]).all()


REFUSED = {
    "one": (lambda: {"a": searchlight()}, "at least two"),
    "permutations": (
        lambda: {"a": searchlight(), "b": searchlight(n_permutations=19)},
        "n_permutations 99, 19",
    ),
    "none": (
        lambda: {n: searchlight(n_permutations=0) for n in "ab"},
        "need permutations",
    ),
    "seeds": (
        lambda: {"a": searchlight(), "b": searchlight(random_state=1)},
        "random_state 0, 1",
    ),
    "generator": (
        lambda: dict.fromkeys("ab", searchlight(random_state=None)),
        "give a whole number",
    ),
    "regions": (
        lambda: {"a": searchlight(), "b": searchlight(regions=REGIONS[:3])},
        "numbers of regions",
    ),
    "classes": (
        lambda: {"a": searchlight(), "b": searchlight(classes=[0, 1, 2])},
        "other classes",
    ),
    "names": (
        lambda: {1: searchlight(), "1": searchlight(estimator="ridge")},
        "called 1, '1', some of them the same",
    ),
    "unusable": (
        lambda: {
            "a": searchlight(),
            "b": searchlight(regions=Regions(regions=REGIONS, min_voxels=99)),
        },
        r"pipelines\['b'\]: no region has min_voxels=99",
    ),
    "kept": (
        lambda: {"a": searchlight(), "b": searchlight(keep="null.npy")},
        "save_null='null.npy'",
    ),
    "parts": (
        lambda: {"a": searchlight(), "b": searchlight(shard="1/2")},
        "shard='1/2'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_tested_together_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        multiverse(make(), *experiment())


@pytest.mark.filterwarnings("ignore:.*groups.*:UserWarning")
def test_pipelines_whose_folds_change_the_permutations_are_refused():
    X, y, _ = experiment()
    cvs = {"blind": KFold(4), "by label": StratifiedKFold(4)}
    lights = {name: searchlight(cv=cv) for name, cv in cvs.items()}
    with pytest.raises(ValueError, match="'blind' and 'by label' permute labels diff"):
        multiverse(lights, X, y)


def test_folds_of_ones_own_that_leave_the_permutations_alone_are_fine():
    halves = [(range(12), range(12, 24)), (range(12, 24), range(12))]
    lights = {"runs": searchlight(), "halves": searchlight(cv=halves)}
    assert len(multiverse(lights, *experiment()).table_) == 2


def test_other_things_than_searchlights_are_refused():
    with pytest.raises(TypeError, match="must be an IdentificationSearchLight"):
        multiverse({"a": searchlight(), "b": "ridge"}, *experiment())
    _, y, runs = experiment()
    with pytest.raises(ValueError, match=r"pipelines\['centroid'\] has no imgs"):
        multiverse(pipelines(), None, y, runs)


@pytest.fixture(scope="module")
def brain():
    return simulate_brain(resolution=10, n_classes=4, n_runs=6, random_state=0)


@pytest.fixture(scope="module")
def of_images(brain):
    """Spheres of two sizes, an atlas, and smoothed images, together."""
    mask = brain.masker.mask_img_
    inside = np.argwhere(mask.get_fdata() > 0)
    labels = np.zeros(mask.shape, dtype=np.int32)
    labels[tuple(inside.T)] = 1 + inside[:, 0] // 4
    smooth = nibabel.Nifti1Image(
        brain.imgs.get_fdata(dtype=np.float32) * 2.0, brain.imgs.affine
    )

    def light(**options):
        return IdentificationSearchLight(
            mask, n_permutations=39, **{"radius": 12.0, **options}
        )

    lights = {
        "12 mm": light(),
        "20 mm": light(radius=20.0),
        "atlas": light(labels_img=nibabel.Nifti1Image(labels, mask.affine)),
        "scaled": (light(), smooth),
    }
    return multiverse(lights, brain.imgs, brain.y, brain.runs)


def test_maps_are_images_of_voxels(of_images, brain, tmp_path):
    inside = brain.masker.mask_img_.get_fdata() > 0
    for image in of_images.values():
        np.testing.assert_array_equal(np.isfinite(image.get_fdata()), inside)
    assert (of_images["n_pipelines"].get_fdata()[inside] >= 3).any()
    # samples in another unit are the same to the classifier
    table = of_images.table_.set_index("pipeline")
    assert table.loc["12 mm", "p_value_fwe"] == table.loc["scaled", "p_value_fwe"]
    of_images.to_directory(tmp_path / "out")
    read = read_maps(tmp_path / "out")
    for name, image in of_images.items():
        np.testing.assert_allclose(read[name].get_fdata(), image.get_fdata())
    assert (tmp_path / "out" / "pipelines.tsv").is_file()


def test_the_page_says_what_any_and_all_pipelines_find(of_images):
    text = of_images.generate_report().html
    inside = of_images["p_value_fwe_any"].get_fdata()
    n_any = int((inside <= 0.05).sum())
    assert n_any
    assert f"finds information in {n_any:,} of" in text
    assert "Pipelines that were tried and are not among these" in text
    assert "specification_curve.svg" in text
    assert "Nothing to draw" not in text
    assert not [f for f in of_images.findings_ if not f.touches("p_value_fwe_any")]
    plt.close("all")


def test_the_page_of_noise_says_so():
    page = multiverse(pipelines(), *experiment(seed=1)).generate_report()
    assert "Nothing survives: none of 4 pipelines" in page.html
    plt.close("all")


def test_other_masks_are_refused_before_any_work(brain):
    mask = brain.masker.mask_img_
    data = mask.get_fdata().copy()
    data[: data.shape[0] // 2] = 0
    half = nibabel.Nifti1Image(data.astype(np.int8), mask.affine)
    lights = {
        name: IdentificationSearchLight(img, radius=12.0, n_permutations=19)
        for name, img in (("whole", mask), ("half", half))
    }
    whole, n_half = int((mask.get_fdata() > 0).sum()), int((data > 0).sum())
    with pytest.raises(ValueError, match=rf"{whole:,} voxels .* and {n_half:,} voxels"):
        multiverse(lights, brain.imgs, brain.y, brain.runs)
