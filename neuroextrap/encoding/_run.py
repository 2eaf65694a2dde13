"""Read and check a test set, and plan the identification of its responses."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.analysis._region_run import RegionRun
from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._doubts import check_new_rows
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._experiment import Experiment, doubts_of_pairing, make_plan
from neuroextrap.encoding._stimuli import (
    candidate_names,
    check_candidates,
    check_feature_names,
    check_features,
    pair_responses,
    rows_of_stimuli,
)
from neuroextrap.encoding._training import some_responses
from neuroextrap.stats._warn import warn

_FAR_FEWER = 2
"""Residuals are far fewer than voxels where so many times them are not more."""


@dataclass(frozen=True, kw_only=True)
class EncodingRun(RegionRun):
    """A run that compares test responses with predictions of the candidates."""

    test: Experiment
    location: np.ndarray  # mean training response of every voxel, (n_features,)
    test_stimuli: np.ndarray  # name, or row, of the stimulus of each test point

    def responses(self):
        """Return the test responses in their own units, shape (n_test, n_features).

        Of folds, about the mean training response of each.
        """
        return self.test.responses + self.location


def plan_identification(model, training, candidates, test):
    """Check everything, read the responses, choose regions and plan the run.

    `model` is a fitted EncodingIdentification and `training` what it keeps of its
    training data; `candidates` are features and distractors, `test` are images, stimuli
    and groups, as they came to ``identify``. Returns EncodingRun.
    """
    parameters = RunParameters.of(model)
    imgs, stimuli, groups = test
    for table, name in zip(candidates, ("features", "distractors"), strict=True):
        check_feature_names(table, getattr(model, "feature_names_in_", None), name)
    names = candidate_names(*candidates)
    tested, candidates = _candidates(*candidates, training)
    stimuli = rows_of_stimuli(stimuli, None if names is None else names[: len(tested)])
    samples = read_samples(model.masker_, imgs, dtype=None)
    if samples.X.shape[1] != model.n_elements_:
        raise ValueError(
            f"imgs has {samples.X.shape[1]} voxels, the model was trained on "
            f"{model.n_elements_}; give responses of the same voxels"
        )
    finite = model.usable_ & samples.finite
    if finite.sum() == model.usable_.sum():
        check_new_rows(training.responses, some_responses(samples, model.usable_))
    paired = pair_responses(
        samples.X + samples.location,
        len(tested),
        stimuli=stimuli,
        groups=groups,
        repeats=model.repeats,
    )
    experiment = Experiment.of(
        paired,
        model._predict(candidates),
        model.residuals_,
        usable=finite,
        location=training.location,
        stimuli=training.stimuli,
    )._replace(rule=training.rule)
    set_sizes = parameters.resolve_set_sizes(len(candidates))
    plan, notes = make_plan(model, experiment, set_sizes)
    choice = parameters.choose_regions(model.masker_, model.n_elements_)
    usable = parameters.usable_regions(choice, experiment.usable)
    notes += residual_notes(model, experiment, usable)
    classes = np.arange(len(candidates)) if names is None else names
    unweighted = np.empty((0, len(experiment.codes)))
    return EncodingRun(
        parameters=parameters,
        rows=experiment.rows,
        masker=model.masker_,
        choice=choice,
        usable=usable,
        plan=plan,
        bounds=BoundDesign(experiment.bound_repeats(), unweighted, notes),
        classes=classes,
        test_codes=experiment.codes,
        set_sizes=set_sizes,
        notes=(*training.notes, *notes),
        doubts=doubts_of_pairing(model, experiment),
        bg_img=samples.bg_img,
        test=experiment,
        location=training.location,
        test_stimuli=classes[experiment.codes],
    )


def residual_notes(model, experiment, usable):
    """Warn, and say in a note, where residuals are far fewer than voxels."""
    if experiment.rule != "mahalanobis" or model.covariance in ("diagonal", "identity"):
        return ()
    sizes = np.diff(usable.regions.indptr)
    layout, largest = experiment.layout, int(sizes.max())
    n_residuals = min([n for _, n in layout.folds], default=layout.n_residuals)
    if n_residuals * _FAR_FEWER > largest:
        return ()
    text = (
        f"the noise covariance of up to {largest} voxels rests on {n_residuals} "
        "residuals; rule='correlation' needs none, rule='auto' asks the training data"
    )
    warn(text)
    return (text,)


def _candidates(features, distractors, training):
    """Return features of the tested stimuli, and of these with the distractors."""
    scaling = training.scaling
    n_columns = len(scaling.kept)
    tested = candidates = check_features(features, n_columns=n_columns)
    if distractors is not None:
        more = check_features(distractors, "distractors", n_columns)
        candidates = np.concatenate([tested, more])
    # candidates that differ in dropped columns alone are the same to the model
    check_candidates(scaling.varying(candidates), len(tested), training.keys)
    return tested, candidates
