"""What a reader must know to believe a number: when each bound and p-value holds."""

import numpy as np

from neuroextrap.maps._registry import MAPS


def validity_notes(fitted):
    """List when the numbers of a fitted analysis hold, its own notes first.

    Then come the notes of the maps it has, those of single regions before those of all
    regions at once.
    """
    records = [MAPS[name] for name in MAPS if name in fitted.region_scores_]
    records.sort(key=lambda record: record.simultaneous)
    notes = [record.note for record in records if record.note]
    return [*fitted.notes_, *dict.fromkeys(notes)]


def vacuity_notes(fitted):
    """List which bounds on average Bayes accuracy could not exceed chance, or 1/2.

    They say so of the design: even accuracy 1 would not lift them. Empty when the
    bounds can say something.
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
    """Return the note for a bound that says nothing."""
    over = f" over {n_regions} regions" if n_regions > 1 else ""
    return (
        f"With {n_classes} classes the {kind} bound on average Bayes accuracy{over} is "
        f"vacuous: even accuracy 1 would not lift it above chance (1/{n_classes}). So "
        "few classes say little about others of their kind; the bound for the given "
        "classes (bayes_accuracy_bound) is the one to read."
    )
