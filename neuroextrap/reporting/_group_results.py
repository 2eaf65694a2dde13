"""Analyses over subjects as pages read them: what survives, and what is said of it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import neuroextrap
from neuroextrap.design._findings import doubts_about
from neuroextrap.images._loading import feature_coordinates, feature_values
from neuroextrap.reporting._finding import (
    LEVEL,
    Counted,
    area_names,
    decide,
    mm_words,
    words_of_features,
)
from neuroextrap.reporting._maps_section import PageMaps, features_as_regions
from neuroextrap.reporting._page import sentences

_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}


@dataclass(frozen=True)
class GroupResult:
    """One analysis over subjects, on a masker that several analyses share.

    `about` is its ``GroupSummary``, `scores` holds its maps' values (n_features,) by
    name, `shown` the name of the one that shows how strong features are. `view` are the
    maps of all analyses, with the finding of this one; `names` are what its maps are
    called there. `places` (n_features, 3) are in mm, `labels` names of atlas regions.
    """

    about: Any
    scores: dict
    shown: str
    view: PageMaps
    names: dict
    places: np.ndarray
    labels: np.ndarray | None
    bounds: Any = None  # DiscoveryBounds of features with an effect, if there are

    @property
    def strength(self):
        """Numbers (n_features,) that are larger where there is more."""
        values = self.scores[self.shown]
        return np.abs(values) if self.view.two_sided else values

    @property
    def counted(self):
        """The features of which sets are counted; None where no bound is known."""
        if self.bounds is None:
            return None
        effect = self.about.test == "second_level"
        return Counted(
            self.bounds,
            self.view.choice,
            self.view.masker,
            self.scores["p_value"],
            self.view.finding.survives,
            self.about.options["n_permutations"],
            self.view.words,
            "have an effect" if effect else "are informative",
        )

    @property
    def has_clusters(self):
        """Whether p-values of clusters, or enhanced by them, are among the maps."""
        return any(map(of_clusters, self.names))

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


def of_clusters(name):
    """Return whether a map is of clusters, or enhanced by them."""
    return "cluster" in name or "tfce" in name


def read_group(analyses, records, atlas):
    """Return GroupResults of analyses; a taken name gets its test's in front."""
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
    labels = None if atlas is None else area_names(atlas[0], masker, atlas[1])
    return [
        _result(maps, own, joined, places, labels)
        for maps, own in zip(analyses, names, strict=True)
    ]


def _result(maps, names, joined, places, labels):
    """Decide what survives in one analysis."""
    about, options = maps.summary, maps.summary.options
    scores = {name: joined["scores"][own] for name, own in names.items()}
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
    bounds = maps.discoveries
    return GroupResult(about, scores, shown, view, names, places, labels, bounds)


_UNKNOWN = {"interval": None, "bounds": ()}
_WHOSE = {
    "population": "the population that they were drawn from",
    "subjects": "exactly these subjects",
}
_CORRECTIONS = {
    "p_value_fwe": "the largest statistic",
    "p_value_fwe_step_down": "step-down",
    "p_value_fwe_cluster_extent": "cluster extent",
    "p_value_fwe_cluster_mass": "cluster mass",
    "p_value_fwe_tfce": "threshold-free cluster enhancement",
}
_STATISTICS = {
    "t": "Student's t",
    "v": "the Aspin-Welch v",
    "f": "F",
    "pseudo_t": "t with a variance smoothed in space",
    "effect": "the estimate of the contrast",
    "median": "the median",
}


def found_in_group(result, n_clusters):
    """Say where there is an effect, how strong it is, and by what other corrections."""
    about, scores, finding = result.about, result.scores, result.view.finding
    strength = result.strength
    if finding.n_surviving:
        strength = np.where(finding.survives, strength, np.nan)
    best = int(np.nanargmax(strength))
    return sentences(
        "group_found",
        result=result,
        about=about,
        finding=finding,
        contrast=_contrast_words(about.options.get("contrast")),
        level=LEVEL,
        n_tested=int(np.isfinite(scores[result.shown]).sum()),
        n_clusters=n_clusters,
        best=best,
        agreement=_agreement(about, best),
        prevalence=_prevalence(result) if about.test == "prevalence" else None,
        doubt=doubts_about(about.findings, scores),
        **(_of_information(scores) if about.test == "information" else _UNKNOWN),
        selected=scores.get("population_bayes_accuracy_bound_fcr"),
        other_criteria={
            words: int((scores[name] <= LEVEL).sum())
            for name, words in _CORRECTIONS.items()
            if name in scores and name != finding.criterion
        },
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


def _prevalence(result):
    """Return how much of the population carries information, and where; or None."""
    bound = result.scores["prevalence_bound_fwe"]
    if not np.nanmax(bound) > 0:
        return None
    best = int(np.nanargmax(bound))
    n_most = int((bound >= result.about.options["gamma"]).sum())
    place = result.place_words(best)
    return {"bound": bound[best], "place": place, "n_most": n_most}


def _of_information(scores):
    """Return the interval of the mean implied information, and bounds, at best."""
    best = int(np.nanargmax(scores["implied_information"]))
    ends = [scores[f"implied_information_{end}"][best] for end in ("lower", "upper")]
    accuracy, bits = "bayes_accuracy_bound_fwe", "class_information_bound_fwe"
    bounds = [
        (words, *(np.nanmax(scores[f"{whose}_{of}"]) for of in (accuracy, bits)))
        for whose, words in _WHOSE.items()
        if f"{whose}_{accuracy}" in scores
    ]
    return {"interval": ends, "bounds": bounds}


def group_methods(results):
    """Describe analyses over subjects to be cited, in sentences."""
    words = [f"Group maps were made with neuroextrap {neuroextrap.__version__}."]
    for result in results:
        about = result.about
        words += sentences("group_methods", about=about, statistics=_STATISTICS)
    return words
