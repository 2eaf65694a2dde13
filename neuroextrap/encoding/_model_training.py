"""Train an analysis: what its attributes are, and what identification needs of it."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._samples import read_samples
from neuroextrap.analysis._sidecars import source_files
from neuroextrap.encoding._same_stimuli import Trained, training_groups
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    feature_names,
    features_of_responses,
)
from neuroextrap.encoding._training import (
    chosen_encoder,
    encoder_of_columns,
    noise_rows,
    some_responses,
    train_encoder,
    voxel_penalties,
)
from neuroextrap.encoding._training_folds import Shown, TrainingData, training_rule


class Training(NamedTuple):
    """What identification needs of the training data besides the encoder.

    Of a model that was read from a folder only the first two, and perhaps ``data``.
    """

    scaling: FeatureScaling  # of the stimulus features
    location: np.ndarray  # mean response of every voxel of shape (n_features,)
    shown: Trained | None = None  # stimuli that were trained on
    notes: tuple = ()
    rule: str = ""  # of the margins
    stimuli: np.ndarray | None = None  # of the residuals, (n_observations,), if known
    responses: np.ndarray | None = None  # of some voxels, see `some_responses`
    data: Any = None  # TrainingData


def trained_attributes(model, features, imgs, groups, stimuli):
    """Train the encoder of an EncodingIdentification; return its attributes, a dict.

    The others came to ``fit``.
    """
    X, names = features_of_responses(features, stimuli)
    scaling = FeatureScaling.of(X, model.standardize)
    shown = Trained.of(scaling.varying(X), names)
    groups, group_notes = training_groups(shown.numbers, groups)
    samples = read_samples(
        model.mask,
        imgs,
        n_samples=len(X),
        counted="features" if stimuli is None else "stimuli",
        dtype=None,
        memory=model.memory,
    )
    usable, masker = samples.usable, samples.masker
    given = {"cv": model.cv, "random_state": model.random_state}
    encoder, encoder_notes = chosen_encoder(
        model.encoder, len(shown.features), n_jobs=model.n_jobs, **given
    )
    trained = train_encoder(
        encoder_of_columns(encoder, scaling.kept),
        scaling(X),
        samples.X[:, usable],
        groups=groups,
        **given,
    )
    rule, rule_notes = training_rule(model, X, samples, groups, trained.residuals)
    noise = model.noise_covariance
    residuals = noise_rows(noise, trained.residuals, usable, masker)
    columns = feature_names(features)
    return ({} if columns is None else {"feature_names_in_": columns}) | {
        "encoder_": trained.encoder,
        "masker_": masker,
        "penalties_": voxel_penalties(trained.encoder, usable),
        "usable_": usable,
        "n_elements_": len(usable),
        "residuals_": residuals,
        "_training_files": source_files(imgs),
        "_training": Training(
            scaling,
            samples.location,
            shown,
            (
                *samples.notes,
                *scaling.notes,
                *group_notes,
                *encoder_notes,
                *rule_notes,
            ),
            rule,
            shown.numbers if noise is None else None,
            some_responses(samples, usable),
            TrainingData.of(
                model,
                model.encoder,
                Shown.of(X, samples, groups),
                None if noise is None else residuals,
            ),
        ),
    }
