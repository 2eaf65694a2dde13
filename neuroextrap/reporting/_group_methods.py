"""What was done over subjects, in sentences to cite, and what it does not show."""

import neuroextrap
from neuroextrap.reporting._rendering import format_percent, render

_PERMUTATIONS = (
    "Winkler et al. (2014). Permutation inference for the general linear model. "
    "NeuroImage 92, 381-397."
)
_MAXIMUM = (
    "Nichols & Holmes (2002). Nonparametric permutation tests for functional "
    "neuroimaging: a primer with examples. Human Brain Mapping 15, 1-25."
)
_TFCE = (
    "Smith & Nichols (2009). Threshold-free cluster enhancement. NeuroImage 44, 83-98."
)
_PREVALENCE = (
    "Allefeld, Görgen & Haynes (2016). Valid population inference for "
    "information-based imaging: from the second-level t-test to prevalence inference. "
    "NeuroImage 141, 378-392."
)
_STELZER = (
    "Stelzer, Chen & Turner (2013). Statistical inference and multiple testing "
    "correction in classification-based multi-voxel pattern analysis. NeuroImage 65, "
    "69-82."
)
_INFORMATION = (
    "Zheng & Benjamini (2016). Estimating mutual information in high dimensions via "
    "classification error. arXiv:1606.05229."
)
_BOOTSTRAP = (
    "Hesterberg (2015). What teachers should know about the bootstrap. The American "
    "Statistician 69, 371-386."
)
_STATISTICS = {
    "t": "Student's t",
    "v": "the Aspin-Welch v",
    "pseudo_t": "t with a variance smoothed in space",
    "effect": "the estimate of the contrast",
    "median": "the median",
}


def group_methods(analyses):
    """Return the paragraph to cite and its references, as HTML."""
    start = f"Group maps were made with neuroextrap {neuroextrap.__version__}."
    told = [_DESCRIBED[maps.summary.test](maps.summary) for maps in analyses]
    works = dict.fromkeys(work for _, cited in told for work in cited)
    paragraph = " ".join([start, *(text for text, _ in told)])
    return render("methods", paragraph=paragraph, references=list(works))


def _second_level(about):
    """Describe a test by rearrangement."""
    options, cited = about.options, [_PERMUTATIONS, _MAXIMUM]
    what = "The median" if options["statistic"] == "median" else "The mean"
    if options["paired"]:
        what += " difference of two maps"
    if not options["of_mean"]:
        what = f"A contrast of a linear model ({options['contrast']})"
    how = "flipping the signs" if options["flips"] else "permuting the residuals"
    number = f"{options['n_permutations']:,} random rearrangements"
    if options["all"]:
        number = f"all {options['n_permutations'] + 1:,} rearrangements"
    sides = "two-sided" if options["two_sided"] else "one-sided, above"
    text = (
        f"{what} of {len(about.subjects)} subjects was tested against "
        f"{options['baseline']:g} ({sides}) by {how} of whole subjects ({number}; "
        f"Winkler et al. 2014), with {_STATISTICS[options['statistic']]} as the "
        "statistic; family-wise p-values refer to its maximum over the map (Nichols & "
        "Holmes 2002)."
    )
    if options["cluster_threshold"] is not None:
        text += (
            " Clusters of features above the t of p = "
            f"{options['cluster_threshold']:g} were tested by the largest extent and "
            "mass."
        )
    if options["tfce"]:
        cited.append(_TFCE)
        text += (
            " Threshold-free cluster enhancement used extent to the power 0.5 and "
            "height squared (Smith & Nichols 2009)."
        )
    return text, cited


def _prevalence(about):
    """Describe prevalence inference."""
    options = about.options
    text = (
        "Whether anybody carries information was tested by the smallest score over "
        f"{len(about.subjects)} subjects and {options['n_permutations']:,} "
        "second-level "
        f"permutations of {_counts(options['n_first_level'])} permuted maps of each "
        "(Allefeld et al. 2016). Prevalence was inferred from the largest of the "
        "subjects' own permutation p-values, against a prevalence of "
        f"{options['gamma']:g}, with Bonferroni's correction over the map; bounds hold "
        f"at {format_percent(options['confidence_level'])}."
    )
    return text, [_PREVALENCE]


def _permutation(about):
    """Describe the test of the mean by permuted first-level maps."""
    options, clusters = about.options, ""
    if options["cluster_threshold"] is not None:
        clusters = (
            " Clusters of features above the upper "
            f"{options['cluster_threshold']:g} of their own permuted means were tested "
            "by the largest one."
        )
    text = (
        f"The mean over {len(about.subjects)} subjects was compared with "
        f"{options['n_permutations']:,} means of one permuted map of each, of "
        f"{_counts(options['n_first_level'])} (Stelzer et al. 2013); family-wise "
        f"p-values refer to the largest mean over the map.{clusters}"
    )
    return text, [_STELZER, _MAXIMUM]


def _information(about):
    """Describe information over subjects."""
    options = about.options
    level = format_percent(options["confidence_level"])
    text = (
        f"Implied information was averaged over {len(about.subjects)} subjects, with "
        f"{level} intervals by a bootstrap over subjects ({options['n_bootstrap']:,} "
        "resamples, widened for few subjects; Hesterberg 2015); lower bounds on mean "
        f"Bayes accuracy hold at {level}, those on information follow by Fano's "
        "inequality."
    )
    return text, [_INFORMATION, _BOOTSTRAP]


_DESCRIBED = {
    "second_level": _second_level,
    "prevalence": _prevalence,
    "permutation": _permutation,
    "information": _information,
}


def _counts(numbers):
    """Write one number, or the least and the largest."""
    least, most = f"{min(numbers):,}", f"{max(numbers):,}"
    return least if least == most else f"{least} to {most}"


def group_limits(analyses, view):
    """List in sentences what must not be concluded from the page."""
    sentences = [
        "That a place without color has no effect: few subjects and weak signals leave "
        "p-values large.",
        "How large the effect of a peak is in new subjects: peaks were picked as the "
        "largest values, which are too large on average.",
        "What holds for other people, unless the subjects are a random sample of them.",
    ]
    tests = {maps.summary.test for maps in analyses}
    if tests & {"second_level", "permutation"}:
        sentences.insert(
            0,
            "In how many subjects there is an effect: a mean above chance may come "
            "from a few of them. Prevalence answers that.",
        )
    if any("cluster" in name or "tfce" in name for name in view.maps_):
        sentences.append(
            "Where in a cluster the effect is: its p-value says that it is somewhere "
            "in it."
        )
    if "second_level" in tests:
        sentences.append(
            "That accuracies were tested without assumptions: flipping signs takes "
            "each subject's map to be symmetric about the baseline under the null "
            "hypothesis; permuted maps of the subjects need no such assumption."
        )
    return sentences
