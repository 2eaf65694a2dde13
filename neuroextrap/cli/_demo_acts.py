"""The two acts of the demo: what is simulated, how it is analyzed, what is true."""

import functools
import logging
from dataclasses import dataclass

import numpy as np

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Act:
    """One experiment of the demo.

    `name` is that of its folder; every one of `n_runs` runs shows every one of
    `n_classes` classes once. A fold trains on `n_train` responses per class: with
    `single_split` only the last run is tested, else one run is left out at a time.
    `information` holds the bits of one response in each planted sphere.
    """

    name: str
    title: str
    n_classes: int
    n_runs: int
    n_train: int
    single_split: bool
    information: tuple


@dataclass(frozen=True)
class Size:
    """Size of voxels and radius of spheres in mm."""

    resolution: int
    radius: int


WHOLE = Size(resolution=3, radius=8)  # 69,765 spheres of 81 voxels
QUICK = Size(resolution=10, radius=20)  # 1,876 spheres of 33 voxels

ACTS = (
    Act(
        "act_a_8_categories",
        "Act A: 8 categories in 12 runs, one run left out at a time",
        n_classes=8,
        n_runs=12,
        n_train=11,
        single_split=False,
        information=(3.0, 6.0, 12.0),
    ),
    Act(
        "act_b_96_stimuli",
        "Act B: 96 stimuli in 4 runs, trained on three and tested on the fourth",
        n_classes=96,
        n_runs=4,
        n_train=3,
        single_split=True,
        information=(8.0, 16.0, 24.0),
    ),
)


def play(act, *, n_permutations, size, n_jobs, random_state, verbose):
    """Simulate one act's brain and analyze it; return the brain and the analysis.

    Permuted are labels within runs, or the test stimuli against their responses.
    `size` is a Size.
    """
    from neuroextrap.datasets import simulate_brain
    from neuroextrap.decoding import IdentificationSearchLight

    brain = simulate_brain(
        information=act.information,
        n_classes=act.n_classes,
        n_runs=act.n_runs,
        radius=size.radius,
        resolution=size.resolution,
        random_state=random_state,
    )
    cv = None
    if act.single_split:
        last = brain.runs == act.n_runs - 1
        cv = [(np.flatnonzero(~last), np.flatnonzero(last))]
    light = IdentificationSearchLight(
        brain.masker.mask_img_,
        radius=brain.radius,
        cv=cv,
        n_permutations=n_permutations,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return brain, light.fit(brain.imgs, brain.y, groups=brain.runs)


def compare_with_truth(act, brain, fitted):
    """Put what was planted beside what was estimated, one row per planted sphere.

    Columns are ``x``, ``y``, ``z`` (mm); ``planted_information`` (bits), what one
    response carries about its stimulus; ``usable_information`` (bits), what it shares
    with the training mean; ``true_...``, expectations over stimuli of the classifier
    as trained; what was estimated; lower bounds; p-values.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            _row(act, brain, fitted, number)
            for number in range(len(brain.samples.planted))
        ]
    )


@functools.lru_cache
def true_curves(n_voxels, snr, set_sizes, n_train):
    """Return the true accuracy of the classifier as trained, and of the best one."""
    from neuroextrap.datasets import gaussian_code_accuracy

    trained = gaussian_code_accuracy(n_voxels, snr, set_sizes, n_train=n_train)
    return trained, gaussian_code_accuracy(n_voxels, snr, set_sizes)


def _row(act, brain, fitted, number):
    """Compare one planted sphere."""
    from neuroextrap.datasets import gaussian_code_information
    from neuroextrap.stats import implied_information

    center = tuple(brain.coordinates[number])
    n_voxels = len(brain.samples.planted[number])
    snr = float(brain.samples.snr[number])
    sizes, accuracy = fitted.accuracy_curve(center)
    truth, bayes = true_curves(n_voxels, snr, tuple(sizes), act.n_train)
    usable = gaussian_code_information(n_voxels, snr, n_train=act.n_train)
    scores = _scores_at(fitted, center)
    return {
        **dict(zip("xyz", center, strict=True)),
        "planted_information": act.information[number],
        "usable_information": float(usable),
        "true_implied_information": float(implied_information(truth, sizes)),
        "implied_information": scores["implied_information"],
        "information_bound": scores["information_bound"],
        "information_bound_fwe": scores["information_bound_fwe"],
        "true_accuracy": truth[-1],
        "accuracy": accuracy[-1],
        "standard_error": fitted.standard_error(center)[-1],
        "true_average_bayes_accuracy": bayes[-1],
        "average_bayes_accuracy_bound": scores["average_bayes_accuracy_bound"],
        "average_bayes_accuracy_bound_fwe": scores["average_bayes_accuracy_bound_fwe"],
        "bayes_accuracy_bound": scores["bayes_accuracy_bound"],
        "bayes_accuracy_bound_fwe": scores["bayes_accuracy_bound_fwe"],
        "class_information_bound": scores["class_information_bound"],
        "class_information_bound_fwe": scores["class_information_bound_fwe"],
        "p_value_fwe": scores.get("p_value_fwe", np.nan),
    }


def _scores_at(fitted, center):
    """Return the values of all maps at the voxel that is nearest to a place (mm)."""
    from neuroextrap.images import feature_coordinates, feature_values

    distance = ((feature_coordinates(fitted.masker_) - center) ** 2).sum(axis=1)
    place = distance.argmin()
    return {
        name: float(feature_values(img, fitted.masker_, name)[place])
        for name, img in fitted.maps_.items()
    }
