"""Maps on a page: which regions survive, by one rule, in full color, the rest faint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from markupsafe import Markup

from neuroextrap.images._loading import feature_coordinates
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.plotting._brain_maps import (
    COLORMAP,
    SIGNED_COLORMAP,
    Background,
    volume_background,
)
from neuroextrap.reporting._page import (
    capitalized,
    figure_tag,
    format_confidence,
    format_p_value,
    paragraphs,
    sentences,
)
from neuroextrap.reporting._pictures import (
    FAINT,
    TREND,
    TREND_SHARE,
    brain_figure,
    color_range,
    data_uri,
    signed_range,
    trend_limit,
)
from neuroextrap.stats._pvalues import LEVEL

_FWE = f"family-wise p ≤ {format_p_value(LEVEL)}"
CRITERIA = {
    "p_value_fwe_tfce": f"{_FWE} by threshold-free cluster enhancement",
    "p_value_fwe_cluster_extent": f"{_FWE} by the extent of clusters",
    "p_value_fwe": _FWE,
    "population_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over the population that they were drawn from, for everywhere at once",
    "subjects_bayes_accuracy_bound_fwe": "{level} lower bound on the mean Bayes "
    "accuracy over exactly these subjects, for everywhere at once",
    "bayes_accuracy_bound_fwe": "{level} lower bound on Bayes accuracy{at_once}",
}
"""Maps that decide, the first of them that was made, and what surviving means."""


@dataclass(frozen=True)
class Verdict:
    """Which regions survive correction, by a map and what it means, "" for no test."""

    criterion: str
    words: str
    survives: np.ndarray
    smallest: float = np.nan

    @property
    def n_surviving(self):
        """Number of regions that survive."""
        return int(self.survives.sum())

    @property
    def by_p_value(self):
        """Whether p-values decide, and not a lower bound."""
        return self.criterion.startswith("p_value")


def decide(scores, *, n_classes=None, confidence_level=None):
    """Decide which regions survive by values (n_regions,) of maps by name."""
    named = (name for name in CRITERIA if np.isfinite(scores.get(name, np.nan)).any())
    criterion = next(named, "")
    if not criterion:
        n_regions = len(next(iter(scores.values())))
        return Verdict("", "", np.zeros(n_regions, dtype=bool))
    values, words = scores[criterion], CRITERIA[criterion]
    if criterion.startswith("p_value"):
        survives = values <= LEVEL  # NaN: False
        return Verdict(criterion, words, survives, np.nanmin(values))
    level = format_confidence(confidence_level)
    several = np.isfinite(values).sum() > 1
    at_once = ", for all regions at once" if several else ""
    words = words.format(level=level, at_once=at_once)
    return Verdict(criterion, words, values > 1 / n_classes)


def words_of_regions(masker, *, centered):
    """Name one region and several; those with centers are spheres or discs."""
    if masker is None or not centered:
        return "region", "regions"
    return ("disc", "discs") if is_surface_masker(masker) else ("sphere", "spheres")


def words_of_features(masker):
    """Name one feature of a masker and several."""
    return ("vertex", "vertices") if is_surface_masker(masker) else ("voxel", "voxels")


def mm_words(place):
    """Name a place (x, y, z) in mm."""
    xyz = ", ".join(str(round(x)) for x in place)
    return f"({xyz}) mm".replace("-", "\N{MINUS SIGN}")


def place_words(row):
    """Name one row of a peak table."""
    if "name" in row:
        return str(row["name"])
    if "x" in row:
        return mm_words(row[axis] for axis in "xyz")
    return f"region {row['region']:.0f}"


def named_place(row):
    """Name one row of a peak table, with the label of an atlas if there is one."""
    label = row.get("atlas_label", "")
    return f"{place_words(row)}, {label}" if label else place_words(row)


class Look(NamedTuple):
    """How to draw a map of a comparison, wherever it is finite."""

    title: str
    span: tuple
    cmap: str


@dataclass(frozen=True, kw_only=True)
class PageMaps:
    """Maps of one masker, and what decides between their regions.

    `maps` are images and `scores` their values (n_regions,) by name, `records` what
    they mean; `masker` is None for arrays. `choice` says which features of the masker
    carry the regions' values, `words` what one region and several are called.
    `two_sided` maps are strong on both sides of zero, `looks` are of a comparison.
    `bounds` are DiscoveryBounds of regions with a `claim`, if there are, by which sets
    of them are counted.
    """

    maps: dict
    scores: dict
    masker: Any
    choice: RegionChoice
    words: tuple[str, str]
    finding: Verdict
    records: Mapping = field(default_factory=lambda: MAPS)
    n_classes: int | None = None
    two_sided: bool = False
    looks: Mapping = field(default_factory=dict)
    bounds: Any = None
    n_permutations: int = 0
    claim: str = "are informative"

    @property
    def on_surface(self):
        """Whether features are vertices."""
        return self.masker is not None and is_surface_masker(self.masker)

    @cached_property
    def places(self):
        """Centers of the regions in mm, (n_regions, 3); None without an image."""
        return self.choice.places(self.masker)

    def n_known(self, name="accuracy"):
        """Return the number of regions for which a map has a value."""
        return int(np.isfinite(self.scores[name]).sum())

    def record(self, name):
        """Return what is known of a map."""
        return self.records[name] if name in self.records else record_of(name)

    def threshold(self, name):
        """Return the value that a map is drawn above, None for wherever it is."""
        if name in self.looks:
            return None
        return self.record(name).first_threshold(self.n_classes)

    def signed(self, name):
        """Say whether a map is strong on both sides of zero."""
        return self.two_sided and np.nanmin(self.scores[name]) < 0

    def look(self, name):
        """Return its Look: colors begin at chance or zero, or differ in sign."""
        if name in self.looks:
            return self.looks[name]
        values, record = self.scores[name], self.record(name)
        if self.signed(name):
            return Look("", signed_range(values), SIGNED_COLORMAP)
        one_sided = record.tail == "upper" and not self.two_sided
        floor = self.threshold(name) if one_sided else None
        return Look("", color_range(values, floor), COLORMAP)

    def marks(self, name):
        """Return values to be marked in the color bar: chance, least that survives."""
        record, survives = self.record(name), self.finding.survives
        chance = record.chance_level(self.n_classes)
        marks = {"chance": float(chance)} if chance else {}
        strength = self.strength(name)
        finite = np.isfinite(strength)
        tested = self.finding.by_p_value and record.unit != "count"
        if not tested or not survives.any() or survives[finite].all():
            return marks
        limit = strength[survives].min()
        if name not in self.looks and strength[finite & ~survives].max() < limit:
            marks[f"p = {format_p_value(LEVEL)}"] = float(limit)
        return marks

    def strength(self, name):
        """Return numbers (n_regions,) that are larger where a map is stronger."""
        values = self.scores[name]
        return np.abs(values) if self.two_sided else self.record(name).strength(values)

    def overview(self):
        """Return the names of the maps that pages draw, in the order of the records."""
        names = [name for name in self.records if name in self.scores]
        return [name for name in names if self.records[name].overview]


def page_maps(fitted):
    """Return the maps of a fitted analysis for a page."""
    masker, results = fitted.masker_, fitted.results_
    words = words_of_regions(masker, centered=results.choice.centers is not None)
    if masker is None and results.choice.names is None:
        words = "set of features", "sets of features"
    scores, n_classes = fitted.region_scores_, len(fitted.classes_)
    level = results.confidence_level
    return PageMaps(
        maps={} if masker is None else fitted.maps_,
        scores=scores,
        masker=masker,
        choice=results.choice,
        words=words,
        finding=decide(scores, n_classes=n_classes, confidence_level=level),
        n_classes=n_classes,
        bounds=results.discoveries,
        n_permutations=fitted.n_permutations_,
    )


def class_bounds(scores):
    """Return the lower bounds that pages draw, (n_regions,), NaN where none holds."""
    unknown = np.full(len(scores["accuracy"]), np.nan)
    return scores.get("bayes_accuracy_bound_fwe", unknown)


def features_as_regions(n_features):
    """Return the choice that makes every feature a region of its own."""
    identity = scipy.sparse.eye_array(n_features, dtype=bool, format="csr")
    return RegionChoice(identity, centers=np.arange(n_features))


def choose_background(masker, bg_img, own=None):
    """Choose what is drawn under maps, a Background; `own` is a mean image or None."""
    if masker is None or is_surface_masker(masker):
        return Background(bg_img, False, "")
    places = feature_coordinates(masker)
    return volume_background(masker.mask_img_, places, bg_img, own=own)


@dataclass(frozen=True)
class Pictures:
    """Draw the PageMaps of a page, all cut at one place (mm), over one Background."""

    view: PageMaps
    place: Any
    background: Background

    @property
    def note(self):
        """A note, as HTML, if maps are drawn without the template."""
        why = self.background.why
        return paragraphs(f"{capitalized(why)}." if why else "", note=True)

    def section(self, names):
        """Return several maps as HTML, and say which have nothing to be drawn."""
        view = self.view
        if not view.maps:
            return Markup("")
        figures = {name: self.figure(name) for name in names if name in view.maps}
        words = sentences(
            "nothing_to_draw",
            records=[view.record(name) for name in figures if not figures[name]],
            n_classes=view.n_classes,
        )
        parts = [self.note, *figures.values(), paragraphs(*words)]
        return Markup("\n").join(part for part in parts if part)

    def figure(self, name):
        """Return a map as HTML; "" if there is no image, or nothing to draw."""
        view = self.view
        if name not in view.maps:
            return Markup("")
        strength, threshold = view.strength(name), view.threshold(name)
        drawn = np.isfinite(strength)
        if threshold is not None:
            drawn &= strength > threshold
        if not drawn.any():
            return Markup("")
        opacity = view.choice.to_features(self._opacity(name, strength) * drawn)
        look, below = view.look(name), self.background.img
        what = view.maps[name], view.masker, np.nan_to_num(opacity)
        picture = brain_figure(*what, self.place, below, look, view.marks(name))
        about = {"name": name, "title": look.title, "trend_share": TREND_SHARE}
        caption = sentences("caption", view=view, **about)[0]
        return figure_tag(data_uri(picture, "png"), caption)

    def _opacity(self, name, strength):
        """Return how opaque every region is where the map is drawn."""
        finding, p_value = self.view.finding, self.view.scores.get("p_value")
        strongest = strength > trend_limit(strength)
        if finding.n_surviving or name in self.view.looks:
            near = strongest if p_value is None else p_value <= LEVEL
            faint = 0.0 if self.view.on_surface else FAINT * near
            return np.where(finding.survives, 1.0, faint)
        return TREND * strongest if finding.criterion else np.ones(len(strength))
