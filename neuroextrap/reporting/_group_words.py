"""What is said of an analysis over subjects: its values for the templates of words."""

import numpy as np

import neuroextrap
from neuroextrap.reporting._finding import LEVEL
from neuroextrap.reporting._methods import cite
from neuroextrap.reporting._rendering import sentences

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
    "pseudo_t": "t with a variance smoothed in space",
    "effect": "the estimate of the contrast",
    "median": "the median",
}


def found_in_group(result, n_clusters):
    """Say where there is an effect, how strong it is, and by which other corrections.

    The first sentence is the answer.
    """
    about, scores, finding = result.about, result.scores, result.view.finding
    strength = result.strength
    if finding.n_surviving:
        strength = np.where(finding.survives, strength, np.nan)
    best = int(np.nanargmax(strength))
    element, elements = result.view.words
    return sentences(
        "group_found",
        about=about,
        options=about.options,
        contrast=_contrast_words(about.options.get("contrast")),
        finding=finding,
        level=LEVEL,
        smallest_p=np.nanmin(scores[finding.criterion]) if finding.by_p_value else None,
        n_subjects=len(about.subjects),
        n_tested=int(np.isfinite(scores[result.shown]).sum()),
        n_clusters=n_clusters,
        element=element,
        elements=elements,
        strongest={
            "place": result.place_words(best),
            "record": result.record(result.shown),
            "value": scores[result.shown][best],
        },
        agreement=_agreement(about, best),
        prevalence=_prevalence(result) if about.test == "prevalence" else None,
        interval=_interval(scores) if about.test == "information" else None,
        bounds=_bounds(scores) if about.test == "information" else (),
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
    return f"({', '.join(f'{weight:g}' for weight in np.ravel(contrast))})"


def _agreement(about, feature):
    """Count the subjects above the baseline, and all; None where there is none."""
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


def _interval(scores):
    """Return the interval of the mean implied information where it is highest."""
    best = int(np.nanargmax(scores["implied_information"]))
    return [scores[f"implied_information_{end}"][best] for end in ("lower", "upper")]


def _bounds(scores):
    """Return whom the lower bounds on means are about, and both where highest."""
    return [
        (
            words,
            np.nanmax(scores[f"{whose}_bayes_accuracy_bound_fwe"]),
            np.nanmax(scores[f"{whose}_class_information_bound_fwe"]),
        )
        for whose, words in _WHOSE.items()
        if f"{whose}_bayes_accuracy_bound_fwe" in scores
    ]


def group_methods(results):
    """Describe analyses over subjects to be cited, with their works."""
    words = [f"Group maps were made with neuroextrap {neuroextrap.__version__}."]
    works = {}
    for about in (result.about for result in results):
        words += sentences(
            "group_methods",
            about=about,
            options=about.options,
            n_subjects=len(about.subjects),
            statistics=_STATISTICS,
        )
        second_level = about.test == "second_level"
        cited = {
            "prevalence": about.test == "prevalence",
            "permuted maps": about.test == "permutation",
            "information": about.test == "information",
            "rearrangements": second_level,
            "maximum": second_level or about.test == "permutation",
            "bootstrap": about.test == "information",
            "tfce": second_level and about.options["tfce"],
        }
        works |= dict.fromkeys(cite(**cited))
    return words, list(works)
