"""The maps of this package: a new map is a record here and a function beside it."""

import math
from fractions import Fraction

from neuroextrap.maps._records import MapRecord

_LEVEL = 0.05
_SIMULTANEOUS_BOUNDS = (
    "Bounds ending in _fwe hold for all regions at once, the others for one region "
    "chosen without looking at the data; a peak is chosen by looking."
)


def _one_in(n_classes):
    """Return the accuracy of guessing among all classes."""
    return Fraction(1, n_classes)


def _bound(name, description, unit, *, note, chance=None, overview=False):
    """Return the records of a lower bound: of single regions, and of all at once."""
    single = MapRecord(
        name=name,
        description=f"{description}; every region by itself",
        unit=unit,
        chance=chance,
        note=note,
        overview=overview,
    )
    simultaneous = MapRecord(
        name=f"{name}_fwe",
        description=f"{description}; simultaneous over regions",
        unit=unit,
        chance=chance,
        note=_SIMULTANEOUS_BOUNDS,
        simultaneous=True,
    )
    return single, simultaneous


def _p_value(name, description, *, note="", simultaneous=False, tabulated=False):
    """Return the record of a p-value: small is strong, at .05 it is significant."""
    return MapRecord(
        name=name,
        description=description,
        unit="p",
        tail="lower",
        threshold=_LEVEL,
        note=note,
        simultaneous=simultaneous,
        tabulated=tabulated,
    )


_RECORDS = (
    MapRecord(
        name="n_voxels",
        description="Number of voxels (or vertices) of the region that were analyzed",
        unit="count",
    ),
    MapRecord(
        name="accuracy",
        description="Identification accuracy among all classes, classes weighted "
        "equally; chance is 1 / number of classes",
        unit="proportion",
        chance=_one_in,
        overview=True,
    ),
    MapRecord(
        name="pairwise_accuracy",
        description="Average identification accuracy over all pairs of classes; "
        "chance is 0.5",
        unit="proportion",
        chance=0.5,
    ),
    MapRecord(
        name="implied_information",
        description="Information whose Gaussian-limit accuracy curve fits the "
        "observed curve best; an index of the curve, not a bound",
        unit="bits",
        chance=0.0,
        note="Implied information (bits) is the information at which the "
        "Gaussian-limit accuracy curve lies closest to the observed one. It is an "
        "index of the curve, right in the limit of many voxels; it is not a bound. "
        "With fewer than ten classes high values depend on which classes were chosen; "
        "the notes of the run count regions above what the classes resolve.",
        overview=True,
    ),
    *_bound(
        "bayes_accuracy_bound",
        "Lower confidence bound on the Bayes accuracy for the given classes",
        "proportion",
        chance=_one_in,
        note="The bound on Bayes accuracy for the given classes speaks of exactly "
        "these classes and no others; they need not be a sample of anything.",
        overview=True,
    ),
    *_bound(
        "class_information_bound",
        "Lower confidence bound on the information that a response carries about "
        "which of the given classes was shown, all equally often; at most log2 of "
        "their number",
        "bits",
        chance=0.0,
        note="The bound on information about the given classes (bits) follows from "
        "the bound on their Bayes accuracy by Fano's inequality; it cannot exceed "
        "log2 of the number of classes.",
    ),
    *_bound(
        "average_bayes_accuracy_bound",
        "Lower confidence bound on the average Bayes accuracy among as many random "
        "classes of the same kind",
        "proportion",
        chance=_one_in,
        note="The bound on average Bayes accuracy speaks of as many classes drawn "
        "anew from the population that the given ones come from. It needs classes "
        "that are an independent sample of that population, and test points "
        "independent of the training data and of each other given the classes.",
    ),
    *_bound(
        "information_bound",
        "Lower confidence bound on the mutual information of stimulus and response "
        "in the population of stimuli that the given ones were drawn from at random, "
        "the best over several set sizes with the correction; no bound for stimuli "
        "that were chosen",
        "bits",
        chance=0.0,
        note="The bound on information (bits) follows from the average Bayes "
        "accuracy bounds at set sizes fixed in advance, with the correction for "
        "taking the best; it needs what they need. It speaks of a population of "
        "stimuli from which the given ones were drawn at random, and may exceed log2 "
        "of their number; for stimuli that were chosen (far apart, say) it is false. "
        "For the given classes read the bound on information about the given classes.",
        overview=True,
    ),
    MapRecord(
        name="e_value",
        description="Evidence (e-value, by forward testing) against the hypothesis "
        "that no classifier tells the given classes apart better than by guessing; "
        "every region by itself",
        unit="e",
        chance=1.0,
        threshold=20.0,
        threshold_meaning="evidence of 20 to 1 (p at most .05)",
        note="An e-value is the factor by which a bet against chance multiplied its "
        "stake: its mean is at most 1 where nothing tells the classes apart, so that "
        "20 comes up once in twenty times at most. With e_value_order='chronological' "
        "(not in the default, cyclic orders) testing begins after the first run, "
        "however many there are, and runs may be added after looking; a penalty must "
        "then be fixed beforehand.",
    ),
    _p_value(
        "e_value_fdr",
        "Smallest false discovery rate at which the region is reported by its e-value "
        "(e-BH), whatever the dependence of the regions",
    ),
    _p_value(
        "p_value",
        "Permutation p-value of the statistic, every region by itself",
        note="p_value treats every region by itself; it is small in one region of "
        "twenty by chance alone at .05.",
        tabulated=True,
    ),
    _p_value(
        "p_value_fwe",
        "Permutation p-value of the statistic against the maximum over regions "
        "(family-wise error)",
        note="p_value_fwe compares with the largest permuted statistic over all "
        "regions: the chance of one false region anywhere is at most the level. It "
        "needs labels that are exchangeable within groups (runs) under the null "
        "hypothesis.",
        simultaneous=True,
        tabulated=True,
    ),
    _p_value(
        "p_value_fwe_tail",
        "As p_value_fwe, its small values from the upper 95% confidence limit of a "
        "generalized Pareto tail fitted to the permuted maxima",
        simultaneous=True,
    ),
    _p_value(
        "p_value_tail",
        "As p_value, its small values from the upper 95% confidence limit of a "
        "generalized Pareto tail fitted to each region's own permuted statistics",
    ),
    _p_value(
        "p_value_fdr",
        "Benjamini-Hochberg adjusted p_value (false discovery rate)",
    ),
    _p_value(
        "p_value_fwe_step_down",
        "As p_value_fwe, each region against the maximum over the regions left once "
        "all with larger values are set aside",
        note="p_value_fwe_step_down controls the family-wise error as p_value_fwe "
        "does, and is never larger.",
        simultaneous=True,
    ),
    MapRecord(
        name="neg_log10_p_fwe",
        description="-log10 of p_value_fwe",
        unit="-log10(p)",
        # rounded down, so that a p-value of .05 itself lies above
        threshold=math.floor(-1000 * math.log10(_LEVEL)) / 1000,
        threshold_meaning="a family-wise p of .05 or less",
        simultaneous=True,
        overview=True,
        tabulated=False,
    ),
    MapRecord(
        name="z",
        description="Standard normal quantile of 1 - p_value",
        unit="z",
        chance=0.0,
        tabulated=False,
    ),
    MapRecord(
        name="implied_information_corrected",
        description="Implied information minus its mean under permuted labels, which "
        "removes most of its bias near chance; may be negative",
        unit="bits",
        chance=0.0,
        tabulated=False,
    ),
    *(
        MapRecord(
            name=f"{which}_accuracy",
            description=f"Value of the compared accuracy for the {which} decoder",
            unit="proportion",
            tabulated=False,
        )
        for which in ("first", "second")
    ),
    MapRecord(
        name="accuracy_difference",
        description="Compared accuracy, first decoder minus second",
        unit="proportion",
        chance=0.0,
        tabulated=False,
    ),
    MapRecord(
        name="information_difference",
        description="Implied information, first decoder minus second",
        unit="bits",
        chance=0.0,
        tabulated=False,
    ),
)

MAPS = {record.name: record for record in _RECORDS}
"""Record of every map of an identification analysis, in the order of tables."""


def record_of(name):
    """Return the record of a map; a map that is not in ``MAPS`` gets a bare one."""
    if name in MAPS:
        return MAPS[name]
    return MapRecord(name=name, description="Not described in neuroextrap.maps.MAPS")
