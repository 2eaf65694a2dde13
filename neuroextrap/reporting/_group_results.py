"""Analyses over subjects as pages read them: what survives, and what is said of it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.images._loading import (
    feature_coordinates,
    feature_values,
    neighbor_pairs,
)
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.regions._regions import peak_features
from neuroextrap.reporting._finding import (
    area_names,
    decide,
    mm_words,
    words_of_features,
)
from neuroextrap.reporting._maps_section import PageMaps, features_as_regions
from neuroextrap.reporting._page import format_p_value, sentences
from neuroextrap.stats._rearrangement_test import find_clusters

_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}
_N_TRENDS = 5
_APART = 16.0
P_VALUES = {
    "p_value_fwe": ("p (family-wise)", format_p_value),
    "p_value_fwe_cluster_extent": ("p of the cluster's extent", format_p_value),
    "p_value_fwe_cluster_mass": ("p of the cluster's mass", format_p_value),
    "p_value_fwe_tfce": ("p (TFCE)", format_p_value),
    "p_value_prevalence": ("p (prevalence), uncorrected", format_p_value),
}
"""Columns of p-values: headings, and how values are written."""
_NUMBERS = (
    "effect",
    "mean",
    "accuracy",
    "implied_information",
    "minimum",
    "prevalence_bound_fwe",
    "population_bayes_accuracy_bound_fwe",
)


@dataclass(frozen=True)
class GroupResult:
    """One analysis over subjects, on a masker that several analyses share.

    `scores` holds its maps' values (n_features,), `shown` names the one that says how
    strong features are. `view` has the maps of all analyses and the finding of this
    one, whose maps are called `names` there. `places` (n_features, 3) are in mm.
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
        return self.view.strength(self.names[self.shown])

    @property
    def has_clusters(self):
        """Whether p-values of clusters, or enhanced by them, are among the maps."""
        return any(map(of_clusters, self.names))

    def best(self, name):
        """Return the feature where one of its maps is largest."""
        return int(np.nanargmax(self.scores[name]))

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

    @cached_property
    def clusters(self):
        """Table of the clusters of what survives, of one sign each, else of trends."""
        places, sizes = self.places, {}
        if self.view.finding.n_surviving:
            peaks, sizes = self._surviving_peaks()
        else:
            apart = {"n_peaks": _N_TRENDS, "min_distance": _APART}
            peaks = peak_features(self.strength, places, **apart)
        columns = {"feature": peaks} | dict(zip("xyz", places[peaks].T, strict=True))
        if self.labels is not None:
            columns["region"] = [self.labels[peak] or "-" for peak in peaks]
        names = dict.fromkeys((self.shown, *_NUMBERS, *P_VALUES))
        numbers = {n: self.scores[n][peaks] for n in names if n in self.scores}
        return pd.DataFrame(columns | sizes | numbers)

    def _surviving_peaks(self):
        """Return the peaks of clusters, strongest first, and columns with sizes."""
        view, strength = self.view, self.strength
        sign = np.sign(self.scores[self.shown]) if view.two_sided else 1
        pairs, clusters = neighbor_pairs(view.masker), {}
        for inside in (view.finding.survives & (sign == side) for side in (1, -1)):
            number = find_clusters(inside.astype(float), pairs).number
            for members in (number == n for n in range(number.max() + 1)):
                clusters[int(np.argmax(np.where(members, strength, -np.inf)))] = members
        peaks = sorted(clusters, key=strength.__getitem__, reverse=True)
        extent = np.array([clusters[peak].sum() for peak in peaks], dtype=float)
        sizes = {"n_vertices": extent}
        if not view.on_surface:
            volume = float(abs(np.linalg.det(view.masker.mask_img_.affine[:3, :3])))
            sizes = {"size_mm3": extent * volume}
        if view.bounds is not None:
            n_true = [view.bounds.count(clusters[peak]) for peak in peaks]
            sizes["true_discoveries"] = np.array(n_true, dtype=float)
        return np.array(peaks), sizes


def of_clusters(name):
    """Return whether a map is of clusters, or enhanced by them."""
    return "cluster" in name or "tfce" in name


def read_group(analyses, atlas=None):
    """Return GroupResults of analyses; a taken name gets its test's in front.

    `atlas` is a labels image and the names of its labels, or None.
    """
    masker = analyses[0].summary.masker
    if masker is None:
        raise ValueError(
            "maps of arrays have no images to show on a page; give images instead of "
            "arrays, or read the p-values"
        )
    images: dict[str, Any] = {}
    known: dict[str, Any] = {}
    names = []
    for maps in analyses:
        test = maps.summary.test
        own = {name: f"{test}_{name}" if name in images else name for name in maps}
        images |= {own[name]: img for name, img in maps.items()}
        known |= {new: replace(GROUP_MAPS[name], name=new) for name, new in own.items()}
        names.append(own)
    values = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in images.items()
    }
    places = feature_coordinates(masker)
    joined = {
        "maps": images,
        "records": known,
        "masker": masker,
        "choice": features_as_regions(len(places)),
        "words": words_of_features(masker),
    }
    labels = None if atlas is None else area_names(atlas[0], masker, atlas[1])
    return [
        _result(maps, own, values, joined, places, labels)
        for maps, own in zip(analyses, names, strict=True)
    ]


def _result(maps, names, values, joined, places, labels):
    """Decide what survives in one analysis."""
    about, options = maps.summary, maps.summary.options
    scores = {name: values[own] for name, own in names.items()}
    shown = _SHOWN.get(about.test) or options["statistic"]
    if shown not in scores:  # sign flips call the effect a mean
        shown = "mean"
    if about.test == "prevalence" and not np.nanmax(scores[shown]) > 0:
        shown = "minimum"
    level = options.get("confidence_level")
    view = PageMaps(
        **joined,
        scores=values | scores,
        finding=decide(
            scores, n_classes=options.get("n_classes"), confidence_level=level
        ),
        two_sided=bool(options.get("two_sided")),
        bounds=maps.discoveries,
        n_permutations=options.get("n_permutations", 0),
        claim="have an effect" if about.test == "second_level" else "are informative",
    )
    return GroupResult(about, scores, shown, view, names, places, labels)


def found_in_group(result):
    """Say where there is an effect, how strong it is, and by what other corrections."""
    about, finding, strength = result.about, result.view.finding, result.strength
    if finding.n_surviving:
        strength = np.where(finding.survives, strength, np.nan)
    best = int(np.nanargmax(strength))
    return sentences(
        "group_found",
        result=result,
        contrast=_contrast_words(about.options.get("contrast")),
        best=best,
        agreement=_agreement(about, best),
        doubt=doubts_about(about.findings, result.scores),
    )


def _contrast_words(contrast):
    """Name a contrast: its text, or its weights."""
    if contrast is None or isinstance(contrast, str):
        return f"“{contrast}”" if contrast else "of the design"
    if isinstance(contrast[0], str):
        return f"of “{'”, “'.join(contrast)}”, at least one,"
    return f"({', '.join(f'{weight:g}' for weight in np.ravel(contrast))})"


def _agreement(about, feature):
    """Count the subjects above the baseline, and all; None if there is none."""
    if "baseline" not in about.options or not about.options["of_mean"]:
        return None
    own = about.values[:, feature]
    own = own[np.isfinite(own)]
    return int((own > about.options["baseline"]).sum()), len(own)


def group_methods(results):
    """Describe analyses over subjects to be cited, in sentences."""
    words = [f"Group maps were made with neuroextrap {neuroextrap.__version__}."]
    for result in results:
        words += sentences("group_methods", about=result.about)
    return words
