"""Every map of this package: a new map is a record here and a function beside it.

Maps of the regions of one subject are in ``MAPS``, maps over subjects in
``GROUP_MAPS``; those whose names follow a rule are in ``_named_records``.
"""

import math
from dataclasses import replace
from fractions import Fraction

from neuroextrap.maps._records import MapRecord
from neuroextrap.stats._pvalues import LEVEL


def _one_in(n_classes):
    """Return the accuracy of guessing among all classes."""
    return Fraction(1, n_classes)


def _bound(name, description, unit, *, note, chance=None, overview=False):
    """Return the records of a lower bound: of single regions, and of all at once."""
    text = f"{description}; every region by itself"
    single = MapRecord(name, text, unit, chance=chance, note=note)
    simultaneous = replace(
        single,
        name=f"{name}_fwe",
        description=f"{description}; simultaneous over regions",
        note="Bounds ending in _fwe hold for all regions at once, the others for one "
        "region chosen without looking at the data; a peak is chosen by looking.",
        simultaneous=True,
        overview=overview,
    )
    return single, simultaneous


def p_value_record(name, description, *, note="", tabulated=False):
    """Return the record of a p-value: small is strong, at .05 it is significant."""
    return MapRecord(
        name,
        description,
        "p",
        threshold=LEVEL,
        note=note,
        simultaneous="_fwe" in name.rpartition("p_value")[2],
        tabulated=tabulated,
    )


def _untabulated(unit, chance=0.0, **descriptions):
    """Yield records of maps of one unit that peak tables leave out."""
    for name, text in descriptions.items():
        yield MapRecord(name, text, unit, chance=chance, tabulated=False)


_DISCOVERIES = (
    "Largest proportion of {} that is shown for a set of all {} above some threshold, "
    "to which the {} belongs; simultaneous over all sets that anyone may pick"
)
_TAIL = (
    "its small values from the upper 95% confidence limit of a generalized Pareto tail "
    "fitted to"
)
_PIPELINES = "corrected for all voxels and all pipelines together"
_P_VALUES = {
    "e_value_fdr": "Smallest false discovery rate at which the region is reported by "
    "its e-value (e-BH), whatever the dependence of the regions",
    "p_value": "Permutation p-value of the statistic, every region by itself",
    "p_value_fwe": "Permutation p-value of the statistic against the maximum over "
    "regions (family-wise error)",
    "p_value_fwe_tail": f"As p_value_fwe, {_TAIL} the permuted maxima",
    "p_value_tail": f"As p_value, {_TAIL} each region's own permuted statistics",
    "p_value_fdr": "Benjamini-Hochberg adjusted p_value (false discovery rate)",
    "p_value_fwe_step_down": "As p_value_fwe, each region against the maximum over the "
    "remaining regions, after those with larger values were removed",
    "p_value_fwe_any": f"Smallest p-value over several pipelines, {_PIPELINES}",
    "p_value_fwe_all": f"Largest p-value over several pipelines, each {_PIPELINES}",
}
_FURTHER_P_VALUES = {
    "unrestricted": "Permutation p-value with labels exchanged within runs, whatever "
    "the confound",
    "confound": "Permutation p-value of the level of the confound",
    "loss": "P-value of the loss, by exchange of the outcomes with and without the "
    "region",
}
_TABULATED = "p_value", "p_value_fwe"
_CORRECTED = {"": "every region by itself", "_fwe": "family-wise over regions"}
_NOTES = {
    "p_value": "p_value treats every region by itself; by chance, one region in twenty "
    "is at or below .05.",
    "p_value_fwe": "p_value_fwe compares with the largest permuted statistic over all "
    "regions: the probability of any false positive is at most the level. It needs "
    "labels that are exchangeable within groups (runs) under the null hypothesis.",
    "p_value_fwe_step_down": "p_value_fwe_step_down controls the family-wise error as "
    "p_value_fwe does, and is never larger.",
}

_RECORDS = (
    MapRecord(
        "n_voxels",
        "Number of voxels (or vertices) of the region that were analyzed",
        "count",
    ),
    MapRecord(
        "accuracy",
        "Identification accuracy among all classes, classes weighted equally; chance "
        "is 1 / number of classes",
        "proportion",
        chance=_one_in,
        overview=True,
    ),
    MapRecord(
        "pairwise_accuracy",
        "Average identification accuracy over all pairs of classes; chance is 0.5",
        "proportion",
        chance=0.5,
    ),
    MapRecord(
        "implied_information",
        "Information whose Gaussian-limit accuracy curve fits the observed curve best; "
        "an index of the curve, not a bound",
        "bits",
        chance=0.0,
        note="Implied information (bits) is the information at which the "
        "Gaussian-limit accuracy curve lies closest to the observed one. It is an "
        "index of the curve, exact in the limit of many voxels; it is not a bound. "
        "With fewer than ten classes high values depend on which classes were chosen; "
        "the notes of the run count regions above what the classes resolve.",
        overview=True,
    ),
    MapRecord(
        "correlation",
        "Correlation over test samples of the decoded with the true target, both about "
        "the mean of the training samples; the mean over target columns",
        "r",
        chance=0.0,
        note="The correlation says how well a region predicts the targets; it is not "
        "information, and does not depend on which candidates were compared.",
        overview=True,
    ),
    *_bound(
        "bayes_accuracy_bound",
        "Lower confidence bound on the Bayes accuracy for the given classes",
        "proportion",
        chance=_one_in,
        note="The bound on Bayes accuracy is about exactly the given classes; they "
        "need not be a random sample.",
        overview=True,
    ),
    *_bound(
        "class_information_bound",
        "Lower confidence bound on the information that a response carries about which "
        "of the given classes was shown, all equally often; at most log2 of their "
        "number",
        "bits",
        chance=0.0,
        note="The bound on information about the given classes (bits) follows from the "
        "bound on their Bayes accuracy by Fano's inequality; it cannot exceed log2 of "
        "the number of classes.",
    ),
    *_bound(
        "average_bayes_accuracy_bound",
        "Lower confidence bound on the average Bayes accuracy among as many random "
        "classes of the same kind",
        "proportion",
        chance=_one_in,
        note="The bound on average Bayes accuracy is about as many other classes from "
        "the same population. It needs classes that are a random sample of that "
        "population, and test points independent of the training data and of each "
        "other given the classes.",
    ),
    *_bound(
        "information_bound",
        "Lower confidence bound on the mutual information of stimulus and response in "
        "the population of stimuli that the given ones were drawn from at random, the "
        "best over several set sizes, corrected for the choice; not valid for "
        "hand-picked stimuli",
        "bits",
        chance=0.0,
        note="The bound on information (bits) follows from the average Bayes accuracy "
        "bounds at set sizes fixed in advance, corrected for taking the best, and "
        "makes the same assumptions. It is about the population of stimuli from which "
        "the given ones were drawn at random, and may exceed log2 of their number; it "
        "does not hold for hand-picked stimuli (far apart, say). For the classes "
        "actually shown, use `class_information_bound`.",
        overview=True,
    ),
    MapRecord(
        "e_value",
        "Evidence (e-value, by forward testing) against the hypothesis that no "
        "classifier tells the given classes apart better than by guessing; every "
        "region by itself",
        "e",
        chance=1.0,
        threshold=20.0,
        threshold_meaning="evidence of 20 to 1 (p at most .05)",
        note="An e-value is betting evidence against chance; 20 is about as strong as "
        "p = .05. Its mean is at most 1 if nothing tells the classes apart, so that a "
        "value of 20 or more occurs at most once in twenty experiments. With "
        "e_value_order='chronological' (not in the default, cyclic orders) and the "
        "first tested run fixed beforehand more runs may be added after looking.",
    ),
    *(
        p_value_record(n, text, note=_NOTES.get(n, ""), tabulated=n in _TABULATED)
        for n, text in _P_VALUES.items()
    ),
    MapRecord(
        "n_pipelines",
        f"Number of pipelines whose p-value, {_PIPELINES}, is at most .05",
        "count",
        threshold=0.5,
    ),
    MapRecord(
        "true_discovery_proportion",
        _DISCOVERIES.format("informative regions", "regions", "region"),
        "proportion",
        chance=0.0,
        note="true_discovery_proportion is about sets of regions, chosen after "
        "looking: at least this proportion of them is informative. A region (sphere) "
        "is informative when any of its voxels are; of single voxels it says nothing. "
        "It needs labels that are exchangeable given the data of all uninformative "
        "regions together.",
        simultaneous=True,
    ),
    MapRecord(
        "neg_log10_p_fwe",
        "Corrected p-values (-log10 of p_value_fwe)",
        "-log10(p)",
        # rounded down, so that a p-value of .05 itself lies above
        threshold=math.floor(-1000 * math.log10(LEVEL)) / 1000,
        threshold_meaning="a family-wise p of .05 or less",
        simultaneous=True,
        overview=True,
        tabulated=False,
    ),
    *_untabulated("z", z="Standard normal quantile of 1 - p_value"),
    *_untabulated(
        "bits",
        implied_information_corrected="Implied information minus its mean under "
        "permuted labels, which removes most of its bias near chance; may be negative",
        information_difference="Implied information, first decoder minus second",
        information_loss="Implied information of all voxels minus that of all but the "
        "region's",
    ),
    *_untabulated(
        "proportion",
        None,
        first_accuracy="Value of the compared accuracy for the first decoder",
        second_accuracy="Value of the compared accuracy for the second decoder",
        confound_accuracy="Accuracy with which the level of a confound of the trials "
        "is identified",
    ),
    *_untabulated(
        "proportion",
        _one_in,
        train_to_test_accuracy="Identification accuracy in the testing condition of "
        "classifiers trained in the training condition",
        test_to_train_accuracy="The same with both conditions exchanged",
    ),
    *_untabulated(
        "proportion",
        accuracy_difference="Compared accuracy, first decoder minus second",
        accuracy_loss="Identification accuracy of all voxels minus that of all but the "
        "region's",
        accuracy_above_names="Accuracy from one condition to the other, mean of both "
        "directions, minus its mean over all exchanges of class names between them (1 "
        "/ number of classes); tests over subjects take it",
    ),
    *(
        p_value_record(f"{tested}_p_value{end}", f"{what}; {where}")
        for tested, what in _FURTHER_P_VALUES.items()
        for end, where in _CORRECTED.items()
    ),
    *_bound(
        "information_bound_beyond",
        "Lower bound on information about the class among samples with the same level "
        "of a confound, classes and levels equally frequent",
        "bits",
        note="It holds for the levels of the confound as given.",
    ),
    *_untabulated(
        "SD",
        name_agreement="Pairwise accuracy from one condition to the other, mean of "
        "both directions, minus its mean over all exchanges of class names between "
        "them, in units of its standard deviation over them; its p-values are in "
        "p_value",
    ),
)

MAPS = {record.name: record for record in _RECORDS}
"""Record of every map of an identification analysis, in the order of tables."""

_EACH_VOXEL, _ALL_VOXELS = "every voxel by itself", "all voxels at once"
_PREVALENCE = "Lower confidence bound on the prevalence"
_END = "end of the bootstrap interval of the mean implied information"
_DRAWN_OVER_SUBJECTS = {  # in the overview of pages: description and unit by name
    "effect": ("Estimate of the contrast over subjects", "as the maps"),
    "mean": ("Mean over subjects, minus the baseline", "as the maps"),
    "median": ("Median over subjects, minus the baseline", "as the maps"),
    "minimum": ("Smallest score over subjects", "as the maps"),
    "t": ("t over subjects, of the mean against the baseline or of the contrast", "t"),
    "v": ("Aspin-Welch v of the contrast, groups of unequal variance", "v"),
    "f": ("F of the contrasts, all at once", "F"),
    "pseudo_t": ("t of the contrast, its variance smoothed in space", "pseudo-t"),
    "cluster_extent": ("Voxels of the cluster that the voxel is in", "count"),
    "tfce": ("Threshold-free cluster enhancement of t", "t"),
    "accuracy": ("Mean identification accuracy over subjects", "proportion"),
    "accuracy_heterogeneity": (
        "Proportion of the between-subject variance of accuracies that is not due to "
        "the noise of single trials",
        "proportion",
    ),
    "implied_information": ("Mean implied information over subjects", "bits"),
    "implied_information_sd": (
        "Standard deviation of the implied information between subjects",
        "bits",
    ),
    "prevalence_bound": (f"{_PREVALENCE}, {_EACH_VOXEL}", "proportion"),
    "prevalence_bound_fwe": (f"{_PREVALENCE}, {_ALL_VOXELS}", "proportion"),
}
_WRITTEN_OVER_SUBJECTS = {
    "true_discovery_proportion": (
        _DISCOVERIES.format("voxels with an effect", "voxels", "voxel"),
        "proportion",
    ),
    "n_subjects": ("Number of subjects that have the voxel", "count"),
    "cluster_mass": ("Sum of t above the threshold over the cluster", "t"),
    "implied_information_lower": (f"Lower {_END}", "bits"),
    "implied_information_upper": (f"Upper {_END}", "bits"),
}
_NULL = f"p of the null hypothesis, {_ALL_VOXELS}"
_P_VALUES_OVER_SUBJECTS = {
    "p_value": f"p of the null hypothesis, {_EACH_VOXEL}",
    "p_value_fwe": _NULL,
    "p_value_fwe_tail": f"{_NULL}; small ones from the upper 95% limit of a "
    "generalized Pareto tail",
    "p_value_fwe_step_down": f"{_NULL}, step-down",
    "p_value_fwe_cluster_extent": f"p of the cluster, by its extent, {_ALL_VOXELS}",
    "p_value_fwe_cluster_mass": f"p of the cluster, by its mass, {_ALL_VOXELS}",
    "p_value_fwe_tfce": f"p by threshold-free cluster enhancement, {_ALL_VOXELS}",
    "p_value_prevalence": f"p of a prevalence of at most gamma, {_EACH_VOXEL}",
    "p_value_prevalence_fwe": f"p of a prevalence of at most gamma, {_ALL_VOXELS}",
}
SUBJECTS_OF_BOUNDS = {
    "population": "the population that the subjects were drawn from at random",
    "subjects": "exactly these subjects",
}
"""Over whom the bounds on means over subjects hold, by the start of their names."""
_BOUNDED = {
    "bayes_accuracy_bound": ("Bayes accuracy", "proportion"),
    "class_information_bound": ("information (bits)", "bits"),
}
_BOUNDED_WHERE = {
    "": _EACH_VOXEL,
    "_fwe": _ALL_VOXELS,
    "_fcr": "for the voxels that exceed chance by e-BH (chance elsewhere); of their "
    "bounds an expected 5% at most are too high, for 95% confidence (false coverage "
    "rate)",
}


def _bounds_over_subjects():
    """Yield the records of the lower bounds on means over subjects."""
    for whose, subjects in SUBJECTS_OF_BOUNDS.items():
        for bound, (what, unit) in _BOUNDED.items():
            text = f"Lower confidence bound on the mean {what} for the given classes"
            for end, where in _BOUNDED_WHERE.items():
                if end == "_fcr" and whose != "population":
                    continue
                yield MapRecord(
                    f"{whose}_{bound}{end}",
                    f"{text} over {subjects}; {where}",
                    unit,
                    simultaneous=end == "_fwe",
                    overview=end == "_fwe",
                )


def _group_records():
    """Yield the records of all maps over subjects."""
    for name, (text, unit) in (_DRAWN_OVER_SUBJECTS | _WRITTEN_OVER_SUBJECTS).items():
        yield MapRecord(name, text, unit, overview=name in _DRAWN_OVER_SUBJECTS)
    for name, text in _P_VALUES_OVER_SUBJECTS.items():
        yield p_value_record(name, text)
    yield from _bounds_over_subjects()


GROUP_MAPS = {record.name: record for record in _group_records()}
"""Record of every map over subjects, by name."""


def record_of(name):
    """Return the record of a map; a map that is not in ``MAPS`` gets a bare one."""
    if name in MAPS:
        return MAPS[name]
    return MapRecord(name, "Not described in the registry of maps")
