"""What was found over subjects: what survives, and the sentences that say so."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.reporting._rendering import (
    bits_at_least,
    format_p_value,
    format_percent,
    percent_at_least,
)

LEVEL = 0.05
_CRITERIA = {
    "p_value_fwe_tfce": "family-wise p ≤ .05 by threshold-free cluster enhancement",
    "p_value_fwe_cluster_extent": "family-wise p ≤ .05 by the extent of clusters",
    "p_value_fwe": "family-wise p ≤ .05",
}
"""What a test is decided by, the first that was asked for, and its name."""
_BOUNDS = {
    "population_bayes_accuracy_bound_fwe": "the population that they were drawn from",
    "subjects_bayes_accuracy_bound_fwe": "exactly these subjects",
}
_SHOWN = {
    "permutation": "mean",
    "prevalence": "prevalence_bound_fwe",
    "information": "implied_information",
}
_OTHERS = {
    "p_value_fwe": "the largest statistic",
    "p_value_fwe_step_down": "step-down",
    "p_value_fwe_cluster_extent": "cluster extent",
    "p_value_fwe_cluster_mass": "cluster mass",
    "p_value_fwe_tfce": "threshold-free cluster enhancement",
}


@dataclass(frozen=True)
class GroupFinding:
    """Which features survive correction in one analysis over subjects.

    `criterion` is the map that decides and `words` what it means, both "" where nothing
    was tested; `survives` is a bool for every feature; `shown` is the map that tells
    how strong they are.
    """

    criterion: str
    words: str
    survives: np.ndarray
    shown: str

    @property
    def n_surviving(self):
        """Number of features that survive."""
        return int(self.survives.sum())


def find_in_group(maps, view):
    """Decide which features survive in one analysis (GroupMaps)."""
    about = maps.summary
    shown = _SHOWN.get(about.test) or about.options["statistic"]
    if shown not in maps:  # sign flips call the effect a mean
        shown = "mean"
    values = {name: values_of(maps, view, name) for name in maps}
    if about.test == "information":
        return _by_bound(about, values, shown)
    if shown == "prevalence_bound_fwe" and not np.nanmax(values[shown]) > 0:
        shown = "minimum"
    name = next(name for name in _CRITERIA if name in maps)
    return GroupFinding(name, _CRITERIA[name], values[name] <= LEVEL, shown)


def _by_bound(about, values, shown):
    """Decide by the lower bounds that hold for all features at once."""
    level = format_percent(about.options["confidence_level"])
    for name, whom in _BOUNDS.items():
        if name in values:
            survives = values[name] > 1 / about.options["n_classes"]
            words = (
                f"{level} lower bound on the mean Bayes accuracy over {whom}, for "
                "everywhere at once"
            )
            return GroupFinding(name, words, survives, shown)
    return GroupFinding("", "", np.zeros(len(values[shown]), dtype=bool), shown)


def values_of(maps, view, name):
    """Return the values (n_features,) of a map of one of the view's analyses."""
    own = name if view.maps_.get(name) is maps[name] else f"{maps.summary.test}_{name}"
    return view.region_scores_[own]


def verdict_in_group(maps, finding, view, n_clusters):
    """Say in one sentence where there is an effect."""
    n_tested = int(np.isfinite(values_of(maps, view, finding.shown)).sum())
    n_subjects = len(maps.summary.subjects)
    what = _claim(maps.summary)
    if not finding.criterion:
        return (
            f"{n_subjects} subjects, {n_tested:,} {view.elements}; nothing was tested: "
            "no lower bound holds for this design. The numbers are descriptions."
        )
    if finding.n_surviving and "cluster" in finding.criterion:
        each = "each of " if n_clusters > 1 else ""
        return (
            f"Over {n_subjects} subjects, {what} somewhere in {each}{n_clusters} "
            f"cluster{'s' if n_clusters > 1 else ''} ({finding.n_surviving:,} of "
            f"{n_tested:,} {view.elements}; {finding.words})."
        )
    if finding.n_surviving:
        return (
            f"Over {n_subjects} subjects, {what} in {finding.n_surviving:,} of "
            f"{n_tested:,} {view.elements} ({finding.words})."
        )
    return (
        f"Nothing survives: over {n_subjects} subjects, {what} in none of "
        f"{n_tested:,} {view.elements} ({finding.words})."
    )


def _claim(about):
    """Return what surviving means, as a clause."""
    if about.test == "prevalence":
        return "at least one carries information"
    if about.test == "permutation":
        return "the mean is larger than permuted labels give"
    if about.test == "information":
        return "the mean Bayes accuracy is above chance"
    options = about.options
    of = f" {about.quantity}" if about.quantity else ""
    center = "the median" if options["statistic"] == "median" else "the mean"
    what = f"{center}{of}{' difference' if options['paired'] else ''}"
    if not options["of_mean"]:
        what = f"the contrast {_contrast_words(options['contrast'])}"
    verb = "differs from" if options["two_sided"] else "is above"
    return f"{what} {verb} {options['baseline']:g}"


def _contrast_words(contrast):
    """Name a contrast: its text, or its weights."""
    if contrast is None or isinstance(contrast, str):
        return f"“{contrast}”" if contrast else "of the design"
    return f"({', '.join(f'{weight:g}' for weight in np.ravel(contrast))})"


def sentences_in_group(maps, finding, view):
    """Say in sentences what is known of the strongest place, and by other criteria."""
    parts = [_nothing(maps, finding, view)]
    if maps.summary.test == "prevalence":
        parts.append(_majority(maps, view))
    else:
        parts.append(_strongest(maps, finding, view))
    if maps.summary.test == "information":
        parts += _information(maps, view)
    parts += [_other_criteria(maps, finding, view), _enumerated(maps)]
    parts += maps.summary.notes
    return [part for part in parts if part]


def strength_in_group(maps, finding, view):
    """Return numbers (n_features,) that are larger where there is more."""
    values = values_of(maps, view, finding.shown)
    return np.abs(values) if maps.summary.options.get("two_sided") else values


def _nothing(maps, finding, view):
    """Say whether anything could survive, where nothing does."""
    if finding.n_surviving or not finding.criterion.startswith("p_value"):
        return ""
    n_permutations = maps.summary.options["n_permutations"]
    if 1 / (n_permutations + 1) > LEVEL:
        return (
            f"Nothing could: {n_permutations + 1} arrangements give p-values of "
            f"{format_p_value(1 / (n_permutations + 1))} at least."
        )
    smallest = np.nanmin(values_of(maps, view, finding.criterion))
    return (
        f"The smallest family-wise p is {format_p_value(smallest)}. What is shown are "
        "trends, which arise without an effect as well; that is no evidence that "
        "there is none."
    )


def _strongest(maps, finding, view):
    """Say where the map that is shown is largest, and how many subjects agree."""
    strength = strength_in_group(maps, finding, view)
    if finding.n_surviving:
        strength = np.where(finding.survives, strength, np.nan)
    best = int(np.nanargmax(strength))
    value = values_of(maps, view, finding.shown)[best]
    record = view.records[finding.shown]
    unit = f" {record.unit}" if record.unit == "bits" else ""
    start = "Strongest" if finding.n_surviving else "The strongest trend"
    text = (
        f"{start} at {view.place_words(best)}: {record.label} = {value:.3g}{unit}, the "
        f"largest of many and so too large on average{_agreement(maps.summary, best)}."
    )
    return text


def _agreement(about, feature):
    """Say how many subjects lie above the baseline."""
    if "baseline" not in about.options or not about.options["of_mean"]:
        return ""
    own = about.values[:, feature]
    own, baseline = own[np.isfinite(own)], about.options["baseline"]
    return f"; {int((own > baseline).sum())} of {len(own)} subjects are above"


def _majority(maps, view):
    """Say how much of the population carries information."""
    options = maps.summary.options
    bound = values_of(maps, view, "prevalence_bound_fwe")
    level = format_percent(options["confidence_level"])
    if not np.nanmax(bound) > 0:
        return (
            f"For all {view.elements} at once, no prevalence above 0 is shown. The map "
            f"of bounds for every {view.element} by itself holds for a place that was "
            "chosen beforehand."
        )
    best = int(np.nanargmax(bound))
    n_most = int((bound >= options["gamma"]).sum())
    return (
        f"At least {percent_at_least(bound[best])} of the population carry information "
        f"at {view.place_words(best)}; at least {format_percent(options['gamma'])} of "
        f"it in {n_most:,} {view.elements} ({level} confidence, for all "
        f"{view.elements} at once)."
    )


def _information(maps, view):
    """Say what the bounds on means over subjects are."""
    interval = [
        values_of(maps, view, f"implied_information_{end}")
        for end in ("lower", "upper")
    ]
    best = int(np.nanargmax(values_of(maps, view, "implied_information")))
    level = format_percent(maps.summary.options["confidence_level"])
    sentences = [
        f"There the mean implied information lies between {interval[0][best]:.2g} and "
        f"{interval[1][best]:.2g} bits ({level} interval for subjects drawn anew; the "
        "place was chosen as the best, so both are too high on average)."
    ]
    bounds = [_bound_words(maps, view, name) for name in _BOUNDS if name in maps]
    return sentences + bounds


def _bound_words(maps, view, name):
    """Say what a lower bound on the mean over subjects is, where it is highest."""
    whom, options = _BOUNDS[name], maps.summary.options
    level = f"{format_percent(options['confidence_level'])} confidence"
    bound = np.nanmax(values_of(maps, view, name))
    if not bound > 1 / options["n_classes"]:
        return (
            f"On average over {whom}, the lower bound on the Bayes accuracy stays at "
            f"chance everywhere ({level}, everywhere at once)."
        )
    of_bits = name.replace("bayes_accuracy", "class_information")
    bits = np.nanmax(values_of(maps, view, of_bits))
    return (
        f"On average over {whom}, the best possible classifier of classes shown "
        f"equally often is right at least {percent_at_least(bound)} of the time "
        f"somewhere, and a response carries at least {bits_at_least(bits)} bits about "
        f"which of the classes was shown ({level}, everywhere at once)."
    )


def _other_criteria(maps, finding, view):
    """Count what survives by the other corrections that were asked for."""
    counts = [
        f"{int((values_of(maps, view, name) <= LEVEL).sum()):,} by {words}"
        for name, words in _OTHERS.items()
        if name in maps and name != finding.criterion
    ]
    if not counts:
        return ""
    return (
        f"Other corrections of the same test: {', '.join(counts)} ({view.elements} of "
        "family-wise p ≤ .05). Which one counts is to be decided before looking."
    )


def _enumerated(maps):
    """Say that all arrangements were used, and how small p can get."""
    options = maps.summary.options
    if not options.get("all"):
        return ""
    n_all = options["n_permutations"] + 1
    return (
        f"All {n_all:,} distinct arrangements of the subjects were used; no p-value "
        f"can be below {format_p_value(1 / n_all)}."
    )


def sentence_case(label):
    """Begin a name with a capital, unless it is a letter such as t.

    >>> sentence_case("t"), sentence_case("cluster extent")
    ('t', 'Cluster extent')
    """
    return label if len(label.split()[0]) == 1 else label[:1].upper() + label[1:]
