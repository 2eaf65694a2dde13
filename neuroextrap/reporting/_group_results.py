"""Analyses over subjects as pages read them: values, places, and what survives."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroextrap.images._geometry import feature_coordinates, feature_values
from neuroextrap.reporting._finding import decide, mm_words, words_of_features
from neuroextrap.reporting._maps_section import PageMaps, features_as_regions

_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}


@dataclass(frozen=True)
class GroupResult:
    """One analysis over subjects, on a masker that several analyses share.

    `about` is its ``GroupSummary``, `scores` holds its maps' values (n_features,) by
    name, `shown` the name of the one that tells how strong features are. `view` are the
    maps of all analyses, with the finding of this one; `names` are what its maps are
    called there. `places` (n_features, 3) are in mm, `labels` (n_features,) names of
    atlas regions, None without an atlas.
    """

    about: Any
    scores: dict
    shown: str
    view: PageMaps
    names: dict
    places: np.ndarray
    labels: np.ndarray | None

    @property
    def strength(self):
        """Numbers (n_features,) that are larger where there is more."""
        values = self.scores[self.shown]
        return np.abs(values) if self.view.two_sided else values

    @property
    def has_clusters(self):
        """Whether p-values of clusters, or enhanced by them, are among the maps."""
        return any("cluster" in name or "tfce" in name for name in self.names)

    def record(self, name):
        """Return what is known of one of its maps."""
        return self.view.records[self.names[name]]

    def place_words(self, feature):
        """Name the place of a feature: mm, and the atlas region if there is one."""
        words = mm_words(self.places[feature])
        name = "" if self.labels is None else self.labels[feature]
        return f"{words}, {name}" if name else words

    @property
    def value_words(self):
        """Name the subjects' values."""
        if self.about.options.get("paired"):
            return f"difference in {self.about.quantity or 'the two maps'}"
        return self.about.quantity or "value of the subject's map"

    @property
    def baseline(self):
        """What subjects' values are compared with, and its name; None for nothing."""
        options = self.about.options
        if self.about.test == "information":
            return 1 / options["n_classes"], "chance"
        if self.about.test == "second_level" and options["of_mean"]:
            return float(options["baseline"]), "baseline"
        return None, "baseline"


def read_group(analyses, records, atlas):
    """Join analyses (GroupMaps) of one group; a taken name gets its test's in front.

    `records` say what the maps mean; `atlas` is a pair of labels image and names, or
    None. Returns a list of :class:`GroupResult`.
    """
    masker = analyses[0].summary.masker
    if masker is None:
        raise ValueError(
            "maps of arrays have no images to show on a page; give images instead of "
            "arrays, or read the p-values"
        )
    images, known, names = {}, {}, []
    for maps in analyses:
        test = maps.summary.test
        own = {name: f"{test}_{name}" if name in images else name for name in maps}
        images |= {own[name]: img for name, img in maps.items()}
        known |= {each: replace(records[name], name=each) for name, each in own.items()}
        names.append(own)
    values = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in images.items()
    }
    places = feature_coordinates(masker)
    joined = {
        "maps": images,
        "scores": values,
        "records": known,
        "masker": masker,
        "choice": features_as_regions(len(places)),
        "words": words_of_features(masker),
    }
    labels = None if atlas is None else _region_names(atlas, masker)
    return [
        _result(maps.summary, own, joined, places, labels)
        for maps, own in zip(analyses, names, strict=True)
    ]


def _result(about, names, joined, places, labels):
    """Decide what survives in one analysis."""
    scores = {name: joined["scores"][own] for name, own in names.items()}
    options = about.options
    finding = decide(
        scores,
        n_classes=options.get("n_classes"),
        confidence_level=options.get("confidence_level"),
    )
    shown = _SHOWN.get(about.test) or options["statistic"]
    if shown not in scores:  # sign flips call the effect a mean
        shown = "mean"
    if about.test == "prevalence" and not np.nanmax(scores[shown]) > 0:
        shown = "minimum"
    two_sided = bool(options.get("two_sided"))
    view = PageMaps(**joined, finding=finding, two_sided=two_sided)
    return GroupResult(about, scores, shown, view, names, places, labels)


def _region_names(atlas, masker):
    """Return the name of the atlas region of every feature, "" for none."""
    from neuroextrap.images._atlas import atlas_labels

    labels_img, names = atlas
    labels, table = atlas_labels(labels_img, masker, names)
    return np.array([table.get(label, "") for label in labels.tolist()], dtype=object)
