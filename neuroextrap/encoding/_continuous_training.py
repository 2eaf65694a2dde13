"""An encoder of delayed features: trained on runs, predicting others."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from neuroextrap.encoding._continuous_runs import (
    Runs,
    average_repeats,
    check_new_runs,
    cross_validation_units,
    rescaled,
    some_voxels,
)
from neuroextrap.encoding._stimuli import FeatureScaling
from neuroextrap.encoding._training import train_encoder, with_fewer_folds
from neuroextrap.models._delayer import Delayer, check_delays
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.stats._null_counts import spread_known

_N_BLOCKS = 5  # of a single run, where cv is a splitter


class TrainedRuns(NamedTuple):
    """What training on runs has found, and what it needs to know of these runs."""

    scaling: FeatureScaling
    delayer: Delayer
    encoder: Any  # fitted on the usable voxels
    residual_variance: np.ndarray  # (n_voxels,), NaN where not usable
    runs: Runs  # with some of their voxels only
    notes: tuple

    @classmethod
    def of(cls, model, runs) -> Self:
        """Train the encoder of a ContinuousEncoding on Runs."""
        scaling = FeatureScaling.of(runs.features, model.standardize)
        delayer = Delayer(model.delays).fit(runs.features[:, scaling.kept])
        whole = isinstance(model.cv, (int, np.integer))
        n_folds = model.cv if whole else _N_BLOCKS
        reach = np.abs(check_delays(model.delays)).max()
        units = cross_validation_units(runs.run, n_folds, reach)
        n_units = len(np.unique(units))
        trained = train_encoder(
            with_fewer_folds(_encoder_of_delays(model, scaling.kept), n_units),
            _delayed(runs, scaling, delayer, model.within_runs),
            runs.responses[:, runs.usable],
            cv=min(n_folds, n_units) if whole else model.cv,
            groups=units,
            random_state=model.random_state,
        )
        squares = np.square(trained.residuals, dtype=float).mean(axis=0)
        return cls(
            scaling,
            delayer,
            trained.encoder,
            spread_known(runs.usable, {"variance": squares})["variance"],
            some_voxels(runs),
            scaling.notes,
        )

    def predict(self, runs, within_runs):
        """Predict new Runs, and average repeats; returns HeldOut."""
        for what, given, known in (
            ("imgs has {} voxels", runs.usable, self.runs.usable),
            ("features has {} columns", runs.features[0], self.scaling.kept),
        ):
            if len(given) != len(known):
                raise ValueError(
                    f"{what.format(len(given))}, the model was trained on "
                    f"{len(known)}; give the same ones"
                )
        check_new_runs(self.runs, runs)
        usable = self.runs.usable & runs.usable
        if not usable.any():
            raise ValueError(
                "imgs has no voxel that varies in training and in these runs; check "
                "the images"
            )
        X = _delayed(runs, self.scaling, self.delayer, within_runs)
        predicted = self.encoder.predict(X).reshape(len(X), -1)
        known = usable[self.runs.usable]
        return average_repeats(runs._replace(usable=usable), predicted[:, known])


def _delayed(runs, scaling, delayer, within_runs):
    """Return features scaled, delayed, and centered as responses are."""
    delayed = delayer.transform(scaling(runs.features), runs.run)
    return rescaled(delayed, runs.run, None if within_runs is None else "center")


def _encoder_of_delays(model, kept):
    """Return the encoder, with bands of the delayed columns that are `kept`."""
    encoder = model.encoder
    if encoder is None:
        encoder = RidgeEncoder(cv=model.cv, random_state=model.random_state)
    if not isinstance(encoder, RidgeEncoder) or encoder.bands is None:
        return encoder
    bands = np.asarray(encoder.bands)
    if bands.shape != kept.shape:
        raise ValueError(
            f"bands of the encoder has {len(bands)} entries, features has {len(kept)} "
            "columns; name the band of every column, not of its delays"
        )
    n_delays = len(check_delays(model.delays))
    return clone(encoder).set_params(bands=np.tile(bands[kept], n_delays))
