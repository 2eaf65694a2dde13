"""The rule of the margins, chosen by the training data where that is asked for."""

import numpy as np

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.encoding._experiment import stack_folds
from neuroextrap.encoding._margins import RULES, EncodingMargins
from neuroextrap.encoding._stimuli import pair_responses, row_keys
from neuroextrap.encoding._training import noise_rows
from neuroextrap.stats import win_distribution

_N_FOLDS = 5
_FEWEST_STIMULI = 4
_MOST_REGIONS = 100
_SHARE = 0.5
"""Regions count that are explained at least so well, as a share of the best one."""


def training_rule(model, X, samples, residuals):
    """Return the rule of a model's margins and notes; "auto" asks the training data.

    `X` are features of the training stimuli, `samples` their responses, `residuals`
    (n_samples, n_usable) those of the encoder, out of fold. The stimuli are divided
    into folds, and those of each are identified by predictions that are out of fold
    too, with a noise covariance of the residuals of the other folds. The rule that
    identifies more wins, on average over the regions that are predicted best: at most
    100, of at least half the explained variance of the best one. The test data have no
    say, so bounds and p-values hold as without a choice.
    """
    if model.rule != "auto":
        return model.rule, ()
    experiment = _training_experiment(model, X, samples, residuals)
    regions = _best_regions(model, samples, residuals)
    accuracy = {rule: _accuracy(model, experiment, regions, rule) for rule in RULES}
    best = max(RULES, key=accuracy.__getitem__)  # the first of equal ones
    where = "in the region that is predicted best"
    if len(regions) > 1:
        where = f"average of the {len(regions)} regions that are predicted best"
    shares = ", ".join(f"{rule} {share:.3f}" for rule, share in accuracy.items())
    note = (
        f"rule={best!r} was chosen by the training data: accuracy among "
        f"{experiment.n_candidates} of the stimuli that were trained on, in folds, "
        f"{shares} ({where})"
    )
    return best, (note,)


def _training_experiment(model, X, samples, residuals):
    """Make an Experiment in folds of responses and out-of-fold predictions."""
    numbers = {}
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in row_keys(X)])
    n_folds = min(_N_FOLDS, len(numbers) // 2)
    if len(numbers) < _FEWEST_STIMULI:
        raise ValueError(
            f"rule='auto' needs {_FEWEST_STIMULI} training stimuli or more to choose "
            f"by, got {len(numbers)}; name the rule"
        )
    n_candidates = len(numbers) // n_folds
    usable = samples.usable
    predicted = np.zeros(samples.X.shape)
    predicted[:, usable] = samples.X[:, usable] - residuals
    predictions = np.zeros((len(numbers), len(usable)))
    np.add.at(predictions, codes, predicted)  # those of repeats are equal or alike
    predictions /= np.bincount(codes)[:, np.newaxis]
    noise = noise_rows(model.noise_covariance, residuals, usable, samples.masker)
    paired = pair_responses(
        samples.X, len(numbers), stimuli=codes, repeats=model.repeats
    )
    parts = []
    for fold in range(n_folds):
        held_out = np.arange(fold * n_candidates, (fold + 1) * n_candidates)
        others = ~np.isin(codes, held_out)
        left = noise if model.noise_covariance is not None else noise[others]
        tested = np.flatnonzero(np.isin(paired.codes, held_out))
        parts.append((tested, predictions[held_out], left, 0.0))
    return stack_folds(paired, parts, usable, n_candidates)


def _best_regions(model, samples, residuals):
    """Return the voxels of each region in which responses are predicted best."""
    parameters = RunParameters.of(model)
    choice = parameters.choose_regions(samples.masker, len(samples.usable))
    regions = parameters.usable_regions(choice, samples.usable).regions
    explained = np.zeros(len(samples.usable))
    total = np.square(samples.X[:, samples.usable], dtype=np.float64).sum(axis=0)
    left = np.square(residuals, dtype=np.float64).sum(axis=0)
    explained[samples.usable] = np.maximum(0, 1 - left / total)
    sizes = np.diff(regions.indptr)
    score = (regions.astype(float) @ explained) / np.maximum(1, sizes)
    order = np.argsort(-score, kind="stable")[:_MOST_REGIONS]
    kept = order[(sizes[order] > 0) & (score[order] >= _SHARE * score[order[0]])]
    return [
        regions.indices[regions.indptr[region] : regions.indptr[region + 1]]
        for region in kept
    ]


def _accuracy(model, experiment, regions, rule):
    """Return the accuracy among the candidates of a fold, averaged over regions."""
    source = EncodingMargins(experiment.repeats, model.covariance, rule)
    shares = [
        win_distribution(
            source.margins([experiment.rows[:, voxels]], experiment.layout)[..., 0],
            experiment.codes,
        )[-1]
        for voxels in regions
    ]
    return float(np.mean(shares))
