"""How many subjects: planning a test of the group from a pilot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, nctdtr, ndtr, ndtri, stdtrit

from neuroextrap.stats._subject_bounds import SHARES, log_bets
from neuroextrap.stats._validation import check_integer, check_level, real_array

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
    population. (The latter includes the noise of one subject's score, so that runs and
    repeats have to be those of the study.) The test comes out in a study of so many new
    subjects with probability `power`, if these were the true mean and standard
    deviation of normal scores.

    Parameters
    ----------
    pilot : array-like of shape (n_subjects,)
        Score of each subject of the pilot, in one region chosen beforehand. The best
        region of a map looks better than it is.
    test : {"t", "prevalence", "information"}
        "t": the mean is above the baseline, by
        :func:`neuroextrap.group.sign_flip_test`, one-sided. "prevalence": more than
        `gamma` of the population carry information, ``p_value_prevalence`` of
        :func:`neuroextrap.group.prevalence_test`. "information":
        ``population_bayes_accuracy_bound`` of
        :func:`neuroextrap.group.group_information` reaches the baseline; scores are
        accuracies, drawn from a beta distribution.
    baseline : float
        The chance level of the score; for "information" the desired bound, at least the
        chance level.
    null_sd : float or None, default=None
        Standard deviation of the permuted scores of a subject, for "prevalence" only;
        permutations are taken to be so many that p-values are those of a normal score.
    gamma : float, default=0.5
        Prevalence of the null hypothesis, for "prevalence".
    power : float, default=0.8
        Probability with which the test comes out.
    confidence_level : float, default=0.95
        One minus the level of the test, or the confidence of the bound.
    n_regions : int, default=1
        Number of regions to correct for, by Bonferroni; the largest statistic over
        regions that are alike needs fewer subjects.
    pilot_confidence : float, default=0.5
        With this confidence the mean that the plan assumes is no larger than the true
        one: 0.5 takes the pilot's mean as it is, 0.8 plans for an unlucky pilot.

    Returns
    -------
    n_subjects : int
        At least 2. The power of "information" is simulated in 10,000 studies, from the
        same seed every time.

    Raises
    ------
    TypeError, ValueError
        If `n_regions` is not an integer, or too small.
    ValueError
        If there are fewer than two scores, all are the same, their mean is not above
        the baseline, an option does not fit the test, or 10,000 subjects do not
        suffice. Prevalence cannot be shown with any number of subjects if some of them
        have scores like chance: every one of the sample has to tell.

    See Also
    --------
    required_repeats : Number of repeats for a bound in one subject.

    References
    ----------
    Allefeld, Görgen & Haynes 2016, "Valid population inference for information-based
    imaging", NeuroImage 141. Perugini, Gallucci & Costantini 2014, "Safeguard power as
    a protection against imprecise power estimates", Perspectives on Psychological
    Science 9, for `pilot_confidence`.

    Examples
    --------
    Accuracies of eight subjects among four classes:

    >>> from neuroextrap.stats import required_subjects
    >>> pilot = [0.31, 0.24, 0.38, 0.27, 0.35, 0.29, 0.22, 0.33]
    >>> required_subjects(pilot, test="t", baseline=0.25)
    10
    >>> required_subjects(pilot, test="t", baseline=0.25, pilot_confidence=0.8)
    21
    >>> required_subjects(pilot, test="information", baseline=0.25)
    34
    """
    scores = real_array(pilot, "pilot")
    if scores.ndim != 1 or len(scores) < 2 or not np.isfinite(scores).all():
        raise ValueError(
            "pilot must have one finite score of each of at least two subjects; got "
            f"shape {scores.shape}"
        )
    if (null_sd is None) == (test == "prevalence") or (null_sd or 1) <= 0:
        raise ValueError(
            f"null_sd={null_sd!r} does not go with test={test!r}; give a number above "
            "0 for 'prevalence', and None for the others"
        )
    sd, level = scores.std(ddof=1), check_level(pilot_confidence, "pilot_confidence")
    allowance = stdtrit(len(scores) - 1, level) * sd / np.sqrt(len(scores))
    mean = float(scores.mean() - allowance)
    if not sd > 0 or mean <= baseline:
        raise ValueError(
            "pilot must have scores that differ, and a mean above "
            f"baseline={baseline}; got a standard deviation of {sd:.3g} and a mean of "
            f"{mean:.3g} (with pilot_confidence={pilot_confidence}), for which no "
            "number is enough"
        )
    error = 1 - check_level(confidence_level, "confidence_level")
    alpha = error / check_integer(n_regions, "n_regions", minimum=1)
    if test == "t":
        powers = _t_powers((mean - baseline) / sd, alpha, error)
    elif test == "prevalence":
        gamma = check_level(gamma, "gamma")
        powers = _prevalence_powers(mean - baseline, sd, null_sd or 1.0, gamma, alpha)
    elif test == "information":
        powers = _information_powers(mean, sd, baseline, alpha)
    else:
        raise ValueError(
            f"test={test!r} must be one of 't', 'prevalence' and 'information'"
        )
    power = check_level(power, "power")
    for n_subjects, reached in zip(range(1, _MOST_SUBJECTS + 1), powers, strict=False):
        if n_subjects > 1 and reached >= power:
            return n_subjects
    raise ValueError(
        f"{_MOST_SUBJECTS} subjects do not have a power of {power} in test={test!r}; "
        "lower gamma or the baseline, or measure more runs of each subject"
    )


def _t_powers(effect: float, alpha: float, error: float) -> Iterator[float]:
    """Yield the power of one-sided t-tests of 1, 2, ... subjects.

    0 where so few flips of signs exist that no p-value is small enough.
    """
    for n in count(1):
        if 2.0**-n > error:
            yield 0.0
        else:
            limit = -stdtrit(n - 1, alpha)
            yield 1 - float(nctdtr(n - 1, effect * np.sqrt(n), limit))


def _prevalence_powers(
    effect: float, sd: float, null_sd: float, gamma: float, alpha: float
) -> Iterator[float]:
    """Yield how likely every p-value of 1, 2, ... subjects is as small as needed."""
    for n in count(1):
        largest = (alpha ** (1 / n) - gamma) / (1 - gamma)
        needed = -null_sd * ndtri(largest) if largest > 0 else np.inf
        yield float(ndtr((effect - needed) / sd) ** n)


def _information_powers(
    mean: float, sd: float, bound: float, alpha: float
) -> Iterator[float]:
    """Yield the share of simulated groups of 1, 2, ... subjects that prove a bound."""
    spread = mean * (1 - mean) / sd**2 - 1
    if not 0 < bound < mean < 1 or spread <= 0:
        raise ValueError(
            f"pilot must hold accuracies between 0 and 1; got a mean of {mean:.3g} and "
            f"a standard deviation of {sd:.3g}"
        )
    rng = np.random.default_rng(0)
    bets = np.full((len(SHARES), _DRAWS), -np.log(len(SHARES)))
    while True:
        accuracy = rng.beta(mean * spread, (1 - mean) * spread, _DRAWS)
        bets += log_bets(accuracy, bound)
        yield float(np.mean(logsumexp(bets, axis=0) >= -np.log(alpha)))
