"""Pages of comparisons: two decoders, two encoding models."""

import re
import warnings
from html import unescape

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from neuroextrap.encoding import EncodingIdentification, compare_encoding_models
from neuroextrap.maps import read_maps
from tests.reporting.seam import RegionMaps, comparison_page, region_images


def words(page):
    """The text of a page, without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.get_standalone()).split())


def arrays(difference, p_value, **parameters):
    """Maps of a comparison as arrays."""
    difference = np.asarray(difference, dtype=float)
    scores = {
        "first_accuracy": 0.5 + difference,
        "second_accuracy": np.full(len(difference), 0.5),
        "accuracy_difference": difference,
        "p_value_fwe": np.asarray(p_value, dtype=float),
    }
    known = {"region_scores": scores, "parameters": parameters, "page": comparison_page}
    shown = dict.fromkeys(("choice_", "places_", "names_", "n_permutations_"))
    return RegionMaps(scores, **known, **shown)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("difference", "p_value", "verdict"),
    [
        (
            [0.3, 0.2, 0.0],
            [0.01, 0.05, 1],
            "A identifies better than B in 2 of 3 regions (family-wise p ≤ .05), and "
            "is nowhere shown to be worse.",
        ),
        ([-0.3, 0.2, 0.0], [0.01, 0.2, 1], "B identifies better than A in 1 of 3"),
        (
            [0.3, -0.2, np.nan],
            [0.01, 0.05, np.nan],
            "in 1 of 2 regions, and worse in 1",
        ),
        ([0.3, 0.2, 0.0], [0.06, 0.2, 1], "Nothing survives: in none of 3 regions"),
        ([0.3], [0.01], "A identifies better than B (p .01)."),
        ([0.3], [0.3], "No difference between A and B was shown (p .3)."),
    ],
)
def test_the_verdict_counts_what_survives(difference, p_value, verdict):
    page = words(arrays(difference, p_value).generate_report(names=("A", "B")))
    assert verdict in page
    assert ("equally good: with few" in page) == (not min(p_value) <= 0.05)


@pytest.mark.usefixtures("undrawn")
def test_what_survives_is_apart_from_trends_and_largest_first():
    page = arrays([0.1, -0.4, 0.2], [0.2, 0.01, 0.03]).generate_report().html
    regions = [int(n) for n in re.findall(r"<td[^>]*>region (\d)</td>", page)]
    assert regions[:3] == [1, 2, 0]
    assert "1 more, which does not survive correction" in page
    assert "\N{MINUS SIGN}40" in page


@pytest.mark.usefixtures("undrawn")
def test_one_sided_comparisons_rank_what_they_tested():
    maps = arrays([0.1, -0.4, 0.2], [0.2, 1, 0.03], two_sided=False)
    page = maps.generate_report().html
    regions = [int(n) for n in re.findall(r"<td[^>]*>region (\d)</td>", page)]
    assert regions[:3] == [2, 0, 1]


def test_decoders_are_compared_sphere_by_sphere(compared):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = compared.generate_report(names=("signal", "noise"))
    text = words(page)
    assert "mask=Nifti1Image," in compared.parameters["first"]  # and no address
    n_better = (compared.region_scores_["p_value_fwe"] <= 0.05).sum()
    assert n_better > 0
    n_analyzed = np.isfinite(compared.region_scores_["accuracy_difference"]).sum()
    assert f"in {n_better:,} of {n_analyzed:,} spheres" in text
    assert "were swapped at random 100 times" in text
    assert f"of {compared.n_units_} samples" in text
    for note in compared.notes_:
        assert note[1:] in unescape(text)
    assert page.html.count("<figure>") == 5  # three maps, the answer, the scatter
    row = compared.table_.loc[compared.table_["accuracy_difference"].abs().idxmax()]
    place = f"({row['x']:.0f}, {row['y']:.0f}, {row['z']:.0f}) mm"
    assert place.replace("-", "\N{MINUS SIGN}") in text


def test_maps_are_read_with_the_sidecars_that_were_written(compared, tmp_path):
    compared.to_directory(tmp_path)
    sidecar = tmp_path / "p_value_fwe.json"
    sidecar.write_text(sidecar.read_text().replace("approximate", "exact"))
    with pytest.raises(ValueError, match="is not the file that was written"):
        read_maps(tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_regions_of_an_atlas_have_names(atlas, brain):
    other = IdentificationSearchLight(
        brain.masker.mask_img_, labels_img=atlas.labels_img, estimator="ridge"
    )
    other.fit(brain.imgs, brain.y, groups=brain.runs)
    found = compare_decoders(atlas, other, unit="sample", n_permutations=50)
    assert found.table_["name"].tolist() == list(atlas.results_.choice.names)
    page = found.generate_report().html
    assert "&lt;/script&gt;&lt;b&gt;left&lt;/b&gt;" in page
    pairs = compare_decoders(
        atlas, atlas, regions=[[0, 1]], unit="sample", n_permutations=50
    )
    assert pairs.table_["name"].tolist() == ["</script><b>left</b> / a & b"]
    assert "<figure>" in pairs.generate_report().html
    with pytest.raises(ValueError, match="atlas names the centers"):
        found.generate_report(atlas=atlas.labels_img)


def test_surfaces_are_drawn(surface):
    bound = surface.region_scores_["bayes_accuracy_bound"]
    scores = arrays(surface.region_scores_["accuracy"] - bound, np.full(len(bound), 1))
    choice, masker = surface.results_.choice, surface.masker_
    maps = RegionMaps(
        region_images(scores, choice, masker),
        masker=masker,
        region_scores=dict(scores),
        page=comparison_page,
        choice_=choice,
        places_=choice.places(masker),
        names_=None,
        n_permutations_=9,
    )
    page = maps.generate_report()
    assert "discs" in words(page)
    assert page.html.count("data:image/png") == 3


@pytest.mark.usefixtures("undrawn")
def test_encoding_models_are_reported():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(120, 6)), rng.normal(size=(6, 20))
    Y = X @ weights + 3 * rng.normal(size=(120, 20))
    full, poor = (
        EncodingIdentification(encoder=Ridge())
        .fit(X[:80, :n], Y[:80])
        .identify(X[80:, :n], Y[80:])
        for n in (6, 2)
    )
    found = compare_encoding_models(full, poor, n_permutations=99)
    text = words(found.generate_report(names=("six features", "two")))
    assert "Six features identifies better than two" in text


def test_two_names_are_needed():
    with pytest.raises(ValueError, match="must be two texts"):
        arrays([0.1], [0.1]).generate_report(names=("A", "B", "C"))
