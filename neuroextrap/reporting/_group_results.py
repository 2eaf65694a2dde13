"""Analyses over subjects as pages read them: what survives, and what is said of it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.design._findings import doubts_about
from neuroextrap.images._loading import feature_values
from neuroextrap.maps._registry import GROUP_MAPS
from neuroextrap.regions._regions import peak_features
from neuroextrap.reporting._maps_section import (
    PageMaps,
    decide,
    features_as_regions,
    mm_words,
    words_of_features,
)
from neuroextrap.reporting._peaks import area_names, clusters_of

_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}
_N_TRENDS = 5
_APART = 16.0
P_VALUES = {
    "p_value_fwe": ("p (family-wise)", "p"),
    "p_value_fwe_cluster_extent": ("p of the cluster's extent", "p"),
    "p_value_fwe_cluster_mass": ("p of the cluster's mass", "p"),
    "p_value_fwe_tfce": ("p (TFCE)", "p"),
    "p_value_prevalence": ("p (prevalence), uncorrected", "p"),
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
    """One analysis over subjects: its PageMaps, and what is known beside them.

    `shown` is the map that says how strong features are, `labels` are their names in an
    atlas. The records of maps have the names under which several analyses share a page.
    """

    about: Any
    shown: str
    view: PageMaps
    labels: np.ndarray | None

    @property
    def strength(self):
        """Numbers (n_features,) that are larger where there is more."""
        return self.view.strength(self.shown)

    @property
    def has_clusters(self):
        """Whether p-values of clusters, or enhanced by them, are among the maps."""
        return any(map(of_clusters, self.view.scores))

    def best(self, name):
        """Return the feature where one of its maps is largest."""
        return int(np.nanargmax(self.view.scores[name]))

    def place_words(self, feature):
        """Name the place of a feature: mm, and the atlas region if there is one."""
        words = mm_words(self.view.places[feature])
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

    @property
    def known(self):
        """What the answer reads: where there are effects, and how strong they are."""
        about, view, strength = self.about, self.view, self.strength
        if view.finding.n_surviving:
            strength = np.where(view.finding.survives, strength, np.nan)
        best = int(np.nanargmax(strength))
        return {
            "result": self,
            "best": best,
            "doubt": doubts_about(about.findings_, view.scores),
        }

    @cached_property
    def clusters(self):
        """Table of the clusters of what survives, of one sign each, else of trends."""
        (scores, places), sizes = (self.view.scores, self.view.places), {}
        if self.view.finding.n_surviving:
            peaks, sizes = self._surviving_peaks()
        else:
            apart = {"n_peaks": _N_TRENDS, "min_distance": _APART}
            peaks = peak_features(self.strength, places, **apart)
        columns = {"feature": peaks} | dict(zip("xyz", places[peaks].T, strict=True))
        if self.labels is not None:
            columns["region"] = [self.labels[peak] or "-" for peak in peaks]
        names = dict.fromkeys((self.shown, *_NUMBERS, *P_VALUES))
        numbers = {name: scores[name][peaks] for name in names if name in scores}
        return pd.DataFrame(columns | sizes | numbers)

    def _surviving_peaks(self):
        """Return the peaks of clusters, strongest first, and columns with sizes."""
        view, strength, clusters = self.view, self.strength, {}
        sign = np.sign(view.scores[self.shown]) if view.two_sided else 1
        for side in (1, -1):
            number = clusters_of(view, view.finding.survives & (sign == side))
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
    masker = analyses[0].masker_
    if masker is None:
        raise ValueError(
            "maps of arrays have no images to show on a page; give images instead of "
            "arrays, or read the p-values"
        )
    labels = None if atlas is None else area_names(atlas[0], masker, atlas[1])
    results, taken = [], set[str]()
    for maps in analyses:
        test = maps.test
        names = {name: f"{test}_{name}" if name in taken else name for name in maps}
        taken.update(names.values())
        records = {n: replace(GROUP_MAPS[n], name=new) for n, new in names.items()}
        results.append(_result(maps, records, masker, labels))
    return results


def joined_view(results):
    """Return the PageMaps of all maps of several analyses, the finding of the first."""
    view, *_ = views = [result.view for result in results]
    named = [(r.name, n, each) for each in views for n, r in each.records.items()]
    return replace(
        view,
        maps={new: each.maps[name] for new, name, each in named},
        scores={new: each.scores[name] for new, name, each in named},
        records={new: each.records[name] for new, name, each in named},
    )


def _result(maps, records, masker, labels):
    """Decide what survives in one analysis."""
    options = maps.options
    scores = {
        name: np.asarray(feature_values(img, masker, name), dtype=float)
        for name, img in maps.items()
    }
    shown = _SHOWN.get(maps.test) or options["statistic"]
    if shown not in scores:  # sign flips call the effect a mean
        shown = "mean"
    if maps.test == "prevalence" and not np.nanmax(scores[shown]) > 0:
        shown = "minimum"
    n_classes, level = options.get("n_classes"), options.get("confidence_level")
    view = PageMaps(
        maps=dict(maps),
        records=records,
        masker=masker,
        choice=features_as_regions(len(scores[shown])),
        words=words_of_features(masker),
        scores=scores,
        finding=decide(scores, n_classes=n_classes, confidence_level=level),
        two_sided=bool(options.get("two_sided")),
        bounds=maps.discoveries,
        n_permutations=options.get("n_permutations", 0),
        claim="have an effect" if maps.test == "second_level" else "are informative",
    )
    return GroupResult(maps, shown, view, labels)
