"""What was found: which regions survive correction, and the sentences that say so."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.maps._registry import MAPS
from neuroextrap.reporting._rendering import (
    bits_at_least,
    format_p_value,
    format_percent,
    percent_at_least,
)

_P, _BOUND = "p_value_fwe", "bayes_accuracy_bound_fwe"


@dataclass(frozen=True)
class Finding:
    """Which regions are above chance, corrected for looking at all of them.

    `criterion` is the map that decides: ``"p_value_fwe"`` after permutations, otherwise
    ``"bayes_accuracy_bound_fwe"`` where it holds, otherwise "" (nothing was tested).
    `survives` holds a bool for every region.
    """

    criterion: str
    survives: np.ndarray

    @property
    def n_surviving(self):
        """Number of regions that survive."""
        return int(self.survives.sum())


def find(fitted):
    """Decide which regions of a fitted analysis survive correction."""
    scores = fitted.region_scores_
    if fitted.n_permutations_ and _P in scores:
        return Finding(_P, scores[_P] <= MAPS[_P].threshold)  # NaN: False
    if _BOUND in scores and np.isfinite(scores[_BOUND]).any():
        return Finding(_BOUND, scores[_BOUND] > 1 / len(fitted.classes_))
    return Finding("", np.zeros(len(scores["accuracy"]), dtype=bool))


def criterion_words(fitted, criterion):
    """Return in brackets' words what surviving means; `criterion` is not ""."""
    if criterion == _P:
        return f"family-wise p ≤ {format_p_value(MAPS[_P].threshold)}"
    level = format_percent(fitted.results_.confidence_level)
    return f"{level} lower bound on Bayes accuracy{_at_once(fitted)}"


def n_analyzed(fitted):
    """Return the number of regions that were analyzed."""
    return int(np.isfinite(fitted.region_scores_["accuracy"]).sum())


def _at_once(fitted):
    """Say that a bound holds for all regions, where there are several."""
    return ", for all regions at once" if n_analyzed(fitted) > 1 else ""


def region_words(fitted):
    """Name the regions: one, and several."""
    if fitted.masker_ is None and fitted.results_.choice.names is None:
        return "set of features", "sets of features"
    if fitted.results_.choice.centers is None:
        return "region", "regions"
    from neuroextrap.images._maskers import is_surface_masker

    if is_surface_masker(fitted.masker_):
        return "disc", "discs"
    return "sphere", "spheres"


def place_words(row):
    """Name one row of a peak table."""
    if "name" in row:
        return f"{row['name']}"
    if "x" in row:
        xyz = (f"{round(row[axis])}" for axis in "xyz")
        return "({}, {}, {}) mm".format(*xyz).replace("-", "\N{MINUS SIGN}")
    return f"region {row['region']:.0f}"


def named_place(row):
    """Name one row of a peak table, with the label of an atlas where there is one."""
    label = row.get("atlas_label", "")
    return f"{place_words(row)}, {label}" if label else place_words(row)


def verdict(fitted, finding):
    """Say in one sentence how many regions are above chance."""
    one, many = region_words(fitted)
    n_regions = n_analyzed(fitted)
    if not finding.criterion:
        return (
            "Nothing was tested: there are no permutations, and no bound holds for "
            "this design. The numbers below are descriptions."
        )
    words = criterion_words(fitted, finding.criterion)
    doubt = doubt_words(fitted, finding)
    count = f"{finding.n_surviving:,} of {n_regions:,} {many}"
    if n_regions == 1:
        count = f"The {one}" if finding.n_surviving else f"the {one}"
    if finding.n_surviving:
        verb = "" if n_regions > 1 else " is above chance"
        start = "Above chance in " if n_regions > 1 else ""
        return f"{start}{count}{verb} ({words}){doubt}."
    if n_regions == 1:
        return (
            f"Nothing was shown: not even that {count} is above chance "
            f"({words}){doubt}."
        )
    return (
        f"Nothing survives: none of {n_regions:,} {many} is shown to be above chance "
        f"({words}){doubt}."
    )


def doubt_words(fitted, finding):
    """Return the end of the first sentence where the analysis doubts its numbers."""
    doubts = fitted.results_.doubts
    has_bounds, what = (
        _BOUND in fitted.region_scores_,
        "these p-values may be too small",
    )
    if finding.criterion == _BOUND:
        doubts = [doubt for doubt in doubts if doubt[1]]
        what = "these bounds may be too high"
    elif has_bounds and any(of_bounds for _, of_bounds in doubts):
        what += ", and lower bounds too high"
    if not doubts:
        return ""
    because = ", and because ".join(clause for clause, _ in doubts)
    return f", but {what}, because {because}"


def findings(fitted, finding, peaks):
    """Say in sentences what is known of the strongest region, and of other classes."""
    row = peaks.iloc[0]
    sentences = [
        _nothing(fitted, finding),
        _strongest(fitted, finding, row),
        _given_classes(fitted, row),
        _other_classes(fitted, row),
    ]
    return [sentence for sentence in sentences if sentence]


def _nothing(fitted, finding):
    """Say what it means that nothing survives, and whether anything could."""
    if finding.n_surviving or finding.criterion != _P:
        return ""
    smallest = float(np.nanmin(fitted.region_scores_[_P]))
    least = 1 / (fitted.n_permutations_ + 1)
    if least > MAPS[_P].threshold:
        return (
            f"Nothing could: {fitted.n_permutations_} permutations give p-values of "
            f"{format_p_value(least)} at least. Take more permutations."
        )
    return (
        f"The smallest family-wise p is {format_p_value(smallest)}. What is shown "
        "below are trends that labels without meaning give as well. That is no "
        "evidence that the brain holds no information."
    )


def _strongest(fitted, finding, row):
    """Say where accuracy is highest, and how high."""
    n_classes = len(fitted.classes_)
    n_regions = n_analyzed(fitted)
    known = [f"chance {format_percent(1 / n_classes)}"]
    interval = interval_words(fitted, int(row["region"]))
    if interval:
        known.append(f"95% interval for classes drawn anew {interval}")
    if n_regions > 1:
        known.append(f"too high on average, as the best of {n_regions:,}")
    place = f" at {named_place(row)}" if "x" in row else f": {place_words(row)},"
    start = "Strongest" if finding.n_surviving else "The strongest trend is"
    if n_regions == 1:
        start, place = "Its accuracy:", ""
    colon = ":" if "x" in row and n_regions > 1 else ""
    return (
        f"{start}{place}{colon} {format_percent(row['accuracy'])} correct among "
        f"{n_classes} classes ({'; '.join(known)})."
    )


def interval_words(fitted, region):
    """Return a region's 95% interval of the accuracy in words; "" if unknown.

    Results read from a folder have no margins to make it of.
    """
    lower, upper = known_interval(fitted, region)
    if np.isnan(lower).any():
        return ""
    return f"{format_percent(lower[-1])} to {format_percent(upper[-1])}"


def known_interval(fitted, region):
    """Return a region's 95% interval of the accuracy at every set size.

    The one interval of sentences, figures and tables: both ends, shape (n_set_sizes,),
    NaN where it is not known.
    """
    unknown = np.isnan(fitted.standard_error(region))
    if unknown.any():
        return np.full((2, len(unknown)), np.nan)
    return fitted.accuracy_interval(region)


def _given_classes(fitted, row):
    """Say what the bounds that hold for all regions say of these classes."""
    name, n_classes = _BOUND, len(fitted.classes_)
    if name not in row or np.isnan(row[name]):
        return ""
    if row[name] <= 1 / n_classes:
        return (
            "The lower bound on what the best possible classifier reaches stays at "
            f"chance{_at_once(fitted)}."
        )
    level = format_percent(fitted.results_.confidence_level)
    bits = row.get("class_information_bound_fwe", np.nan)
    information = ""
    if np.isfinite(bits):
        information = (
            f", and a response carries at least {bits_at_least(bits)} bits about which "
            "of them was shown"
        )
    return (
        f"The best possible classifier of these {n_classes} classes, shown equally "
        f"often, is right at least {percent_at_least(row[name])} of the "
        f"time{information} ({level} confidence{_at_once(fitted)})."
    )


def _other_classes(fitted, row):
    """Say what is known of other classes than those of the data."""
    name, n_classes = "average_bayes_accuracy_bound_fwe", len(fitted.classes_)
    results = fitted.results_
    if results.n_repeats is None or name not in row:
        return "Nothing is said about other classes than these."
    n_regions = n_analyzed(fitted)
    if results.test_design(n_regions).best_bound() <= 1 / n_classes:
        return f"Nothing can be said about other classes: {n_classes} are too few."
    if not row[name] > 1 / n_classes:
        return "Nothing is shown about other classes: the bound for them is at chance."
    bits = row.get("information_bound_fwe", np.nan)
    more = f", and at least {bits_at_least(bits)} bits" if bits > 0 else ""
    return (
        f"If these {n_classes} classes are a random sample of a population, the best "
        "classifier of as many new ones, shown equally often, is right at least "
        f"{percent_at_least(row[name])} of the time on average{more}."
    )
