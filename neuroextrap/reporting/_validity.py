"""What a reader must know to believe a number: when each bound and p-value holds."""

import numpy as np

_TEXTS = {
    "implied_information": (
        "Implied information (bits) is the information at which the Gaussian-limit "
        "accuracy curve lies closest to the observed one. It is an index of the curve, "
        "right in the limit of many voxels; it is not a bound."
    ),
    "average_bayes_accuracy_bound": (
        "The bound on average Bayes accuracy speaks of as many classes drawn anew from "
        "the population that the given ones come from. It needs classes that are an "
        "independent sample of that population, and test points independent of the "
        "training data and of each other given the classes."
    ),
    "bayes_accuracy_bound": (
        "The bound on Bayes accuracy for the given classes speaks of exactly these "
        "classes and no others; they need not be a sample of anything."
    ),
    "information_bound": (
        "The bound on information (bits) follows from the average Bayes accuracy "
        "bounds at set sizes fixed in advance, with the correction for taking the "
        "best; it needs what they need."
    ),
    "p_value": (
        "p_value treats every region by itself; it is small in one region of twenty by "
        "chance alone at .05."
    ),
    "p_value_fwe": (
        "p_value_fwe compares with the largest permuted statistic over all regions: "
        "the chance of one false region anywhere is at most the level. It needs labels "
        "that are exchangeable within groups (runs) under the null hypothesis."
    ),
}


def validity_notes(fitted):
    """List what holds when, for the numbers that a fitted analysis has.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification

    Returns
    -------
    notes : list of str
        Plain text; the analysis' own notes first.
    """
    scores = fitted.region_scores_
    known = [text for name, text in _TEXTS.items() if name in scores]
    simultaneous = [name for name in scores if name.endswith("_bound_fwe")]
    if simultaneous:
        known.append(
            "Bounds ending in _fwe hold for all regions at once, the others for one "
            "region chosen without looking at the data; a peak is chosen by looking."
        )
    return [*fitted.notes_, *known]


def vacuity_notes(fitted):
    """Say which average Bayes accuracy bounds could not exceed chance whatever came.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification

    Returns
    -------
    notes : list of str
        Empty when the bounds can say something.
    """
    results = fitted.results_
    if results.n_repeats is None:
        return []
    n_classes = len(fitted.classes_)
    n_regions = int(np.isfinite(fitted.region_scores_["accuracy"]).sum())
    notes = []
    for kind, number in (("pointwise", 1), ("simultaneous", n_regions)):
        bound = results.test_design(number).best_bound()
        if bound <= 1 / n_classes:
            notes.append(_vacuous(kind, n_classes, number))
        elif bound < 0.5:
            notes.append(
                f"With {n_classes} classes the {kind} bound on average Bayes accuracy "
                f"reaches at most {bound:.2f}, even at accuracy 1: too few classes "
                "were sampled to say much about others of their kind."
            )
    return notes


def _vacuous(kind, n_classes, n_regions):
    """Word the note for a bound that says nothing."""
    over = f" over {n_regions} regions" if n_regions > 1 else ""
    return (
        f"With {n_classes} classes the {kind} bound on average Bayes accuracy{over} is "
        f"vacuous: even accuracy 1 would not lift it above chance (1/{n_classes}). So "
        "few classes say little about others of their kind; the bound for the given "
        "classes (bayes_accuracy_bound) is the one to read."
    )
