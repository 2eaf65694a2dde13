"""Eight kinds of page, and five more: sentences, tables, files and images agree."""

import html as html_module
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from nibabel import Nifti1Image
from nibabel.affines import apply_affine
from PIL import Image
from sklearn.linear_model import Ridge

from neuroextrap.decoding import (
    DissimilaritySearchLight,
    IdentificationSearchLight,
    TargetSearchLight,
    cross_identification,
    multiverse,
    trial_confound,
)
from neuroextrap.encoding import ContinuousEncoding, EncodingIdentification
from neuroextrap.group import second_level_test
from neuroextrap.scores import score_identification
from tests.reporting.seam import tables_of

PICTURES = Path(__file__).parent / "pictures"
"""Reference pictures, made anew where NEUROEXTRAP_PICTURES=new is set: look at them."""

SHAPE, AFFINE = (6, 6, 4), np.diag([4.0, 4, 4, 1])


def _encoding():
    """A cube of voxels that tell 40 stimuli, beside noise."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(140, 12))
    near = np.indices(SHAPE).reshape(3, -1)[0] < 3
    responses = features @ (rng.normal(size=(12, near.size)) * near)
    responses += 3 * rng.normal(size=responses.shape)
    data = responses.T.reshape(*SHAPE, 140)
    mask = Nifti1Image(np.ones(SHAPE, dtype=np.uint8), AFFINE)
    train, test = (
        Nifti1Image(data[..., s], AFFINE) for s in (np.s_[:100], np.s_[100:])
    )
    model = EncodingIdentification(
        mask, encoder=Ridge(10.0), radius=6.0, n_permutations=39
    )
    model.fit(features[:100], train)
    return model.identify(features[100:], test, groups=np.zeros(40))


def _group():
    """Ten subjects, one blob above zero and one below."""
    rng, imgs = np.random.default_rng(3), []
    for _ in range(10):
        data = rng.normal(size=SHAPE)
        data[:2, :2, :2] += 5
        data[4:, 4:, 2:] -= 5
        imgs.append(Nifti1Image(data, AFFINE))
    return second_level_test(
        imgs, two_sided=True, cluster_threshold=0.01, n_permutations=200
    )


def _pipelines(brain):
    mask = brain.masker.mask_img_
    pipelines = {
        f"{radius:g} mm": IdentificationSearchLight(
            mask, radius=radius, n_permutations=39
        )
        for radius in (10.0, 16.0)
    }
    return multiverse(pipelines, brain.imgs, brain.y, groups=brain.runs)


def _scores():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 20))
    decoded = vectors + 1.5 * rng.normal(size=vectors.shape)
    return score_identification(decoded @ vectors.T, n_permutations=99)


def _small_study():
    """Samples of six classes in eight runs in a cube of voxels, and its mask."""
    rng = np.random.default_rng(4)
    y, runs = np.tile(np.arange(6), 16), np.repeat(np.arange(8), 12)
    data = rng.normal(size=(*SHAPE, 96))
    data[:3] += 1.5 * rng.normal(size=(3, *SHAPE[1:], 6))[..., y]
    mask = Nifti1Image(np.ones(SHAPE, dtype=np.uint8), AFFINE)
    return Nifti1Image(data, AFFINE), mask, y, runs, rng


def _conditions():
    imgs, mask, y, runs, _ = _small_study()
    light = IdentificationSearchLight(mask, radius=6.0, n_permutations=99)
    tasks = np.tile(np.repeat(["see", "hear"], 6), 8)
    return cross_identification(light, imgs, y, runs, tasks, train="see", test="hear")


def _confound():
    imgs, mask, y, runs, rng = _small_study()
    light = IdentificationSearchLight(
        mask, radius=6.0, n_permutations=99, classes=[0, 1]
    )
    time = 0.8 + 0.1 * y + 0.1 * rng.normal(size=len(y))
    return trial_confound(light, imgs, y, runs, time)


def _targets():
    imgs, mask, y, runs, rng = _small_study()
    light = TargetSearchLight(mask, radius=6.0, n_permutations=39)
    return light.fit(imgs, y + 0.1 * rng.normal(size=len(y)), groups=runs)


def _distances():
    imgs, mask, y, runs, _ = _small_study()
    model = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    light = DissimilaritySearchLight(
        mask, radius=6.0, models={"order": model}, n_permutations=99
    )
    return light.fit(imgs, y, groups=runs).maps_


def _film():
    rng = np.random.default_rng(5)
    mask = Nifti1Image(np.ones(SHAPE, dtype=np.uint8), AFFINE)
    features, imgs = [], []
    for _ in range(5):
        X = rng.normal(size=(60, 2))
        data = rng.normal(size=(*SHAPE, 60))
        data[:3] += X @ [1.0, 2.0]
        features.append(X)
        imgs.append(Nifti1Image(data, AFFINE))
    model = ContinuousEncoding(mask, delays=[0], t_r=2.0, n_permutations=99)
    return model.fit(features[:3], imgs[:3]).score(features[3:], imgs[3:])


OTHER_KINDS = {
    "conditions": _conditions,
    "confound": _confound,
    "targets": _targets,
    "distances": _distances,
    "film": _film,
}
KINDS = (
    "searchlight",
    "atlas",
    "surface",
    "encoding",
    "comparison",
    "group",
    "pipelines",
    "scores",
)


@pytest.fixture(scope="module")
def results(fitted, atlas, surface, brain, compared):
    """What the pages are made of, by kind."""
    return {
        "searchlight": fitted,
        "atlas": atlas,
        "surface": surface,
        "encoding": _encoding(),
        "comparison": compared,
        "group": _group(),
        "pipelines": _pipelines(brain),
        "scores": _scores(),
    }


@pytest.fixture(scope="module")
def pages(results, reports):
    """The HTML of every kind of page."""
    known = {"searchlight": "fitted", "atlas": "atlas", "surface": "surface"}
    made = {
        kind: reports(known[kind])[0] if kind in known else result.generate_report()
        for kind, result in results.items()
    }
    return {kind: report.get_standalone() for kind, report in made.items()}


def visible(html):
    """What a reader sees of a piece of a page, tags and scripts left out."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    return html_module.unescape(text).replace("\N{MINUS SIGN}", "-")


def first_section(page):
    """What was found, above its first picture."""
    return re.split(r"<h2[^>]*>What was found", page)[1].split("<figure")[0]


def rows_of(page, caption_of):
    """The cells of the tables whose first heading is `caption_of`, row by row."""
    rows = []
    for table in re.findall(r"<table.*?</table>", page, flags=re.DOTALL):
        headings = re.findall(r"<th scope=\"col\".*?>(.*?)</th>", table)
        if headings and visible(headings[0]) == caption_of:
            body = table.split("<tbody>")[1]
            rows += [
                [visible(cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)]
                for row in re.findall(r"<tr.*?</tr>", body, flags=re.DOTALL)
            ]
    return rows


def is_rounded(text, values):
    """Say whether a printed number is one of `values`, rounded to its digits.

    Lower bounds are rounded down: up to a whole unit of the last digit is allowed.
    """
    number = text.strip("+").removesuffix("%").replace(",", "")
    digits = len(number.split(".")[1]) if "." in number else 0
    shown = float(number)
    unit = 10.0**-digits
    if "." not in number:  # two significant digits, such as 1200
        unit = 10.0 ** max(0, len(number.strip("-")) - 3) if abs(shown) > 999 else 1.0
    scale = 100 if text.endswith("%") else 1
    return any(abs(scale * value - shown) <= 1.001 * unit for value in values)


NUMBER = re.compile(r"(?<![\w.,])[+-]?(?:\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)%?")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_machinery_shows(pages, kind):
    page = pages[kind]
    words = visible(page.split("<main", 1)[-1])
    words = words.rsplit("Parameters #", 1)[0].rsplit("# Parameters", 1)[
        0
    ]  # shown as Python writes them
    for bad in ("nan", "None", "inf", "undefined", "{{", "{%", "&lt;", "np.", "array("):
        at = re.search(rf"(?<!\w){re.escape(bad)}(?!\w)", words)
        assert at is None, words[max(0, at.start() - 80) : at.end() + 80]
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    anchors = re.findall(r'href="#([^"]+)"', page)
    assert set(anchors) <= set(ids)
    assert len(anchors) >= 5
    images = re.findall(r"<img\b[^>]*>", page)
    assert all(" alt=" in image for image in images)


@pytest.mark.parametrize(
    ("kind", "file", "heading"),
    [
        ("searchlight", "peaks.tsv", "Place"),
        ("atlas", "peaks.tsv", "Place"),
        ("surface", "peaks.tsv", "Place"),
        ("encoding", "peaks.tsv", "Place"),
        ("comparison", "differences.tsv", "Place"),
        ("group", "clusters.tsv", "Peak"),
    ],
)
def test_tables_show_what_their_files_hold(pages, kind, file, heading):
    saved = tables_of(pages[kind])[file]
    shown = rows_of(pages[kind], heading)
    assert len(shown) == len(saved) > 0
    numbers = saved.select_dtypes("number")
    for row, (_, values) in zip(shown, numbers.iterrows(), strict=True):
        known = [*values.dropna(), *(100 * values.dropna())]
        for cell in row[1:]:
            for text in NUMBER.findall(cell):
                assert is_rounded(text, known), (kind, row, values.to_dict())


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("searchlight", "peaks.tsv"),
        ("encoding", "peaks.tsv"),
        ("comparison", "differences.tsv"),
        ("group", "clusters.tsv"),
    ],
)
def test_files_hold_what_the_images_hold(results, pages, kind, file):
    saved = tables_of(pages[kind])[file]
    result = results[kind]
    maps = getattr(result, "maps_", result)
    compared = 0
    for name in (set(saved.columns) & set(maps)) - {"x", "y", "z"}:  # places
        img = maps[name]
        inverse = np.linalg.inv(img.affine)
        voxels = np.rint(apply_affine(inverse, saved[["x", "y", "z"]])).astype(int)
        np.testing.assert_allclose(
            saved[name], img.get_fdata()[tuple(voxels.T)], rtol=1e-6, err_msg=name
        )
        compared += 1
    assert compared >= 4


def _known_numbers(kind, result, page):
    """Numbers that the first sentences of a page may quote."""
    tables = tables_of(page)
    known = [0.95, 0.9, 0.05, 0]
    for name, table in tables.items():
        numbers = table.select_dtypes("number")
        best = (
            numbers if name in ("true_discoveries.tsv", "curves.tsv") else numbers[:1]
        )
        known += list(best.to_numpy().ravel())
    if kind in ("searchlight", "atlas", "surface", "encoding"):
        scores = result.region_scores_
        n_classes = len(result.classes_)
        known += [n_classes, 1 / n_classes, np.isfinite(scores["accuracy"]).sum()]
        p_values = scores.get("p_value_fwe")
        known += [np.nanmin(scores.get("p_value_fwe", [1.0]))]
        above = scores["average_bayes_accuracy_bound_fwe"] if p_values is None else None
        survives = p_values <= 0.05 if above is None else above > 1 / n_classes
        known += [
            survives.sum(),
            (scores["bayes_accuracy_bound_fwe"] > 1 / n_classes).sum(),
        ]
    elif kind in ("comparison", "group"):
        p_values = [
            values.get_fdata()
            for name, values in result.items()
            if "p_value_fwe" in name
        ]
        known += [int((values <= 0.05).sum()) for values in p_values]
        first = next(iter(result.values())).get_fdata()
        known += [
            np.isfinite(first).sum(),
            (p_values[0] <= 0.05).sum(),
            10,
            len(tables),
        ]
        table = tables.get("differences.tsv")
        if table is not None:
            known += [100 * table["accuracy_difference"][0]]
    elif kind == "scores":
        known += [1 / result.summary["n_candidates"][0]]
        for table in (result.summary, result.pools):
            known += list(table.select_dtypes("number").to_numpy().ravel())
    elif kind == "pipelines":
        any_, all_ = (result.region_scores_[f"p_value_fwe_{w}"] for w in ("any", "all"))
        known += [2, 10, 16, np.isfinite(any_).sum(), any_.min()]
        known += [(any_ <= 0.05).sum(), (all_ <= 0.05).sum()]
        known += [result.table_["p_value_fwe_alone"].min()]
    return [value for value in known if math.isfinite(value)]


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_quote_what_the_files_hold(results, pages, kind):
    page = pages[kind]
    section = first_section(page)
    words = visible(section)
    known = _known_numbers(kind, results[kind], page)
    numbers = NUMBER.findall(words)
    assert len(numbers) >= 3, words
    unknown = [text for text in numbers if not is_rounded(text, known)]
    assert unknown == [], words


def test_lower_bounds_in_sentences_are_rounded_down(results, pages):
    for kind in ("searchlight", "surface", "encoding"):
        words = visible(first_section(pages[kind]))
        best = tables_of(pages[kind])["peaks.tsv"].iloc[0]
        quoted = re.findall(r"right at least (\S+)% of the time", words)
        bounds = [
            best["bayes_accuracy_bound_fwe"],
            best["average_bayes_accuracy_bound_fwe"],
        ]
        assert quoted, words
        for text, bound in zip(quoted, bounds, strict=False):
            assert float(text) <= 100 * bound < float(text) + 1


def _coarse(path, columns):
    """A picture in gray, so coarse that words are lines and maps are spots."""
    picture = Image.open(path).convert("L")
    rows = round(picture.height * columns / picture.width)
    return picture.resize((columns, rows), Image.Resampling.BOX)


@pytest.mark.parametrize("kind", KINDS)
def test_pages_look_as_they_did(browser, pages, kind, tmp_path):
    """Nothing has gone, moved or grown, or sticks out sideways, wide and narrow.

    Pictures are compared coarsely, whatever the fonts.
    """
    browser.open(pages[kind])
    for width, columns, most in ((1280, 32, 6), (400, 16, 9)):
        browser.resize(width)
        browser.settle()
        wide = browser.value("document.documentElement.scrollWidth")
        assert wide <= browser.value("document.documentElement.clientWidth")
        browser.screenshot(tmp_path / "page.png", width)
        seen = _coarse(tmp_path / "page.png", columns)
        path = PICTURES / f"{kind}-{width}.png"
        if os.environ.get("NEUROEXTRAP_PICTURES") == "new":
            seen.save(path, optimize=True)
        expected = Image.open(path)
        assert seen.height == pytest.approx(expected.height, rel=0.08)
        aligned = np.asarray(seen.resize(expected.size), dtype=float)
        assert np.abs(aligned - np.asarray(expected)).mean() < most
    assert browser.complaints() == []


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_pages_quote_their_maps_too(kind, request):
    if kind != "distances":  # the others are drawn beside their analyses
        request.getfixturevalue("undrawn")
    result = OTHER_KINDS[kind]()
    page = result.generate_report().get_standalone()
    test_nothing_of_the_machinery_shows({kind: page}, kind)
    scores = result.region_scores_
    n_classes = max(len(result.classes_), 1)
    known = [0, 0.95, 0.05, n_classes, 1 / n_classes]
    known += [getattr(result, "n_permutations_", 0), getattr(result, "n_runs_", 0)]
    for name, values in scores.items():
        best = np.nanargmax(scores.get("correlation", scores.get("accuracy", values)))
        known += [np.nanmax(values), np.nanmin(values), values[best]]
        known += [np.isfinite(values).sum(), (values > 0).sum()]
        known += [(values <= 0.05).sum()] if name.startswith("p_value") else []
    for table in tables_of(page).values():
        known += list(table.select_dtypes("number").to_numpy().ravel())
    if kind == "distances":
        place = np.nanargmax(scores["order_correlation"])
        known += [*result.places_[place], scores["noise_ceiling"][place]]
    elif kind == "film":
        known += [*result.places_[np.nanargmax(scores["correlation"])]]
    elif kind == "confound":
        alone = result.class_from_confound_
        known += [alone["accuracy"], alone["p_value"], result.exchangeable_]
        known += [result.n_strata_]
    elif kind == "conditions":
        known += [*result.places_[np.nanargmax(scores["accuracy"])]]
    for img in dict(result if isinstance(result, dict) else result.maps_).values():
        assert img.shape == SHAPE
    numbers = NUMBER.findall(visible(first_section(page)))
    known = [value for value in known if math.isfinite(value)]
    assert len(numbers) >= 3
    assert [text for text in numbers if not is_rounded(text, known)] == []
