"""How many subjects: planning a test of the group from a pilot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, nctdtr, ndtr, ndtri, stdtrit

from neuroextrap.stats._subject_bounds import WEIGHTS, betting_gains
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_integer,
    check_level,
    check_number,
    real_array,
)

_MOST_SUBJECTS = 10_000
_DRAWS = 10_000  # simulated studies, so that a power has a standard error of .004


def required_subjects(  # noqa: PLR0913 - the options of one documented call
    pilot: ArrayLike,
    *,
    test: str,
    baseline: float,
    null_sd: float | None = None,
    gamma: float = 0.5,
    power: float = 0.8,
    confidence_level: float = 0.95,
    n_regions: int = 1,
    pilot_confidence: float = 0.5,
) -> int:
    """Return the number of subjects with which a test of the group finds an effect.

    The subjects of a pilot tell the mean and the standard deviation of the score in the
    population. (The latter includes the noise of a subject's score: runs and repeats
    have to be those of the study.) If these are the true ones of normal scores, the
    test comes out in a study of so many new subjects with probability `power`.

    Parameters
    ----------
    pilot : array-like of shape (n_subjects,)
        Score of each subject of the pilot, in one region chosen beforehand. The best
        region of a map looks better than it is.
    test : {"t", "prevalence", "information"}
        "t": the mean is above the baseline, by :func:`neuroextrap.group.sign_flip_test`
        (one-sided). "prevalence": more than `gamma` of the population carry
        information, ``p_value_prevalence`` of
        :func:`neuroextrap.group.prevalence_test`. "information": accuracies, of a beta
        distribution, lift ``population_bayes_accuracy_bound`` of
        :func:`neuroextrap.group.group_information` to the baseline.
    baseline : float
        Chance level of the score; for "information" the desired bound.
    null_sd : float or None, default=None
        Standard deviation of a subject's permuted scores, for "prevalence" only.
    gamma : float, default=0.5
        Prevalence of the null hypothesis, for "prevalence".
    power : float, default=0.8
        Probability with which the test comes out.
    confidence_level : float, default=0.95
        One minus the level of the test, or the confidence of the bound.
    n_regions : int, default=1
        Number of regions to correct for, by Bonferroni.
    pilot_confidence : float, default=0.5
        Confidence that the true mean is no smaller than the one that is planned for:
        0.5 takes the pilot's mean as it is, 0.8 allows for a lucky pilot.

    Returns
    -------
    n_subjects : int
        At least 2; of "information" by 10,000 simulated studies from a fixed seed.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two scores, all are the same, their mean is not above
        the baseline, an option does not fit the test, or 10,000 subjects do not suffice
        (for prevalence, the score of every single one has to differ from chance).

    References
    ----------
    Perugini, Gallucci & Costantini 2014, "Safeguard power as a protection against
    imprecise power estimates", Perspectives on Psychological Science 9.

    Examples
    --------
    >>> pilot = [0.31, 0.24, 0.38, 0.27, 0.35, 0.29, 0.22, 0.33]
    >>> required_subjects(pilot, test="t", baseline=0.25)
    10
    >>> required_subjects(pilot, test="t", baseline=0.25, pilot_confidence=0.8)
    21
    """
    check_choice(test, "test", ("t", "prevalence", "information"))
    if (null_sd is None) == (test == "prevalence"):
        raise ValueError(
            f"test={test!r} goes with null_sd for 'prevalence' and without for the "
            f"others; got null_sd={brief(null_sd)}"
        )
    level, baseline = check_level(power, "power"), check_number(baseline, "baseline")
    own_sd = 1.0 if null_sd is None else check_number(null_sd, "null_sd")
    mean, sd = _planned_mean(pilot, check_level(pilot_confidence, "pilot_confidence"))
    if own_sd <= 0 or mean <= baseline:
        raise ValueError(
            f"baseline={baseline} must be below the mean that is planned for, "
            f"{mean:.3g}, with pilot_confidence={pilot_confidence}, and "
            f"null_sd must be above 0; got {null_sd!r}"
        )
    error = 1 - check_level(confidence_level, "confidence_level")
    alpha = error / check_integer(n_regions, "n_regions", minimum=1)
    effect = (mean - baseline) / sd
    if test == "t":
        powers = _t_powers(effect, alpha, error)
    elif test == "prevalence":
        gamma = check_level(gamma, "gamma")
        powers = _prevalence_powers(effect, own_sd / sd, gamma, alpha)
    else:
        powers = _information_powers(mean, sd, baseline, alpha)
    for n_subjects, reached in zip(range(1, _MOST_SUBJECTS + 1), powers, strict=False):
        if n_subjects > 1 and reached >= level:
            return n_subjects
    raise ValueError(
        f"{_MOST_SUBJECTS} subjects do not have a power of {power} in test={test!r}; "
        "lower gamma or the baseline, or measure more runs of each subject"
    )


def _planned_mean(pilot: ArrayLike, confidence: float) -> tuple[float, float]:
    """Return a lower limit of the mean of a pilot's scores, and their deviation."""
    scores = real_array(pilot, "pilot")
    sd = scores.std(ddof=1) if scores.ndim == 1 and len(scores) > 1 else 0.0
    if not 0 < sd < np.inf:
        raise ValueError(
            "pilot must have finite scores of two or more subjects that differ; got "
            f"shape {scores.shape}"
        )
    allowance = stdtrit(len(scores) - 1, confidence) * sd / np.sqrt(len(scores))
    return float(scores.mean() - allowance), float(sd)


def _t_powers(effect: float, alpha: float, error: float) -> Iterator[float]:
    """Yield the power of t-tests of 1, 2, ... subjects; 0 of those with few flips."""
    for n in count(1):
        power = 1 - float(nctdtr(n - 1, effect * np.sqrt(n), -stdtrit(n - 1, alpha)))
        yield power if 2.0**-n <= error else 0.0


def _prevalence_powers(
    effect: float, null_sd: float, gamma: float, alpha: float
) -> Iterator[float]:
    """Yield how likely every p-value of 1, 2, ... subjects is as small as needed."""
    for n in count(1):
        largest = (alpha ** (1 / n) - gamma) / (1 - gamma)
        needed = -null_sd * ndtri(largest) if largest > 0 else np.inf
        yield float(ndtr(effect - needed) ** n)


def _information_powers(
    mean: float, sd: float, bound: float, alpha: float
) -> Iterator[float]:
    """Yield the share of simulated groups of 1, 2, ... subjects that prove a bound."""
    spread = mean * (1 - mean) / sd**2 - 1
    if not 0 < bound < mean < 1 or spread <= 0:
        raise ValueError(
            "pilot must hold accuracies between 0 and 1, and baseline a bound above 0; "
            f"got a mean of {mean:.3g}, a deviation of {sd:.3g} and {bound}"
        )
    rng = np.random.default_rng(0)
    bets = np.tile(np.log(WEIGHTS)[:, np.newaxis], _DRAWS)
    while True:
        accuracy = rng.beta(mean * spread, (1 - mean) * spread, _DRAWS)
        bets += betting_gains(accuracy / bound)
        yield float(np.mean(logsumexp(bets, axis=0) >= -np.log(alpha)))
