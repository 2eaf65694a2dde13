"""The rule of the margins, chosen by the training data where that is asked for."""

import numpy as np

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.encoding._encoder_groups import stimulus_numbers
from neuroextrap.encoding._experiment import stack_folds
from neuroextrap.encoding._fold_run import train_folds
from neuroextrap.encoding._margins import RULES, EncodingMargins
from neuroextrap.encoding._stimuli import pair_responses
from neuroextrap.stats import win_distribution

_N_FOLDS = 5
_FEWEST_STIMULI = 4
_MOST_REGIONS = 100
_SHARE = 0.5
"""Regions count that are explained at least so well, as a share of the best one."""


def training_rule(model, X, samples, groups, residuals):
    """Return the rule of a model's margins and notes; "auto" asks the training data.

    `X` are features of the training responses `samples`, `residuals` (n_samples,
    n_usable) those of the encoder. The stimuli are divided into folds, and those of
    each are identified by an encoder and a noise covariance of the others alone:
    predictions and residuals of the encoder's own folds would not do, as a residual
    depends on the responses that its encoder was trained on, and a covariance of them
    knows the noise of the response to be identified. The rule that identifies more
    wins, on average over the regions that are predicted best: at most 100, of at least
    half the explained variance of the best one. The test data have no say, so bounds
    and p-values hold as without a choice.
    """
    if model.rule != "auto":
        return model.rule, ()
    regions = _best_regions(model, samples, residuals)
    needed = np.zeros(len(samples.usable), dtype=bool)
    needed[np.concatenate(regions)] = True
    few = samples._replace(usable=samples.usable & needed)
    experiment = _training_experiment(model, X, few, groups)
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


def _training_experiment(model, X, samples, groups):
    """Make an Experiment of the training data, fold by fold."""
    codes = stimulus_numbers(X)
    n_stimuli = codes.max() + 1
    n_folds = min(_N_FOLDS, n_stimuli // 2)
    if n_stimuli < _FEWEST_STIMULI:
        raise ValueError(
            f"rule='auto' needs {_FEWEST_STIMULI} training stimuli or more to choose "
            f"by, got {n_stimuli}; name the rule"
        )
    _, first = np.unique(codes, return_index=True)
    paired = pair_responses(samples.X, n_stimuli, stimuli=codes, repeats=model.repeats)
    parts, _ = train_folds(model, X[first], samples, codes, paired, n_folds, groups)
    return stack_folds(paired, parts, samples.usable, n_stimuli // n_folds)


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
