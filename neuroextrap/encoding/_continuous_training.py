"""An encoder of delayed features: trained on runs, predicting others."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from neuroextrap.encoding._continuous_runs import (
    Runs,
    average_repeats,
    cross_validation_units,
    rescaled,
)
from neuroextrap.encoding._same_stimuli import check_new_runs
from neuroextrap.encoding._stimuli import FeatureScaling
from neuroextrap.encoding._training import train_encoder, with_fewer_folds
from neuroextrap.models._delayer import Delayer, check_delays
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.stats._null_counts import spread_known

_N_BLOCKS = 5  # of a single run, where cv is a splitter


class TrainedRuns(NamedTuple):
    """What training on runs has found, and these runs."""

    scaling: FeatureScaling
    delayer: Delayer
    encoder: Any  # fitted on the usable voxels
    residual_variance: np.ndarray  # (n_voxels,), NaN where not usable
    runs: Runs
    within_runs: str | None
    notes: tuple

    @classmethod
    def of(cls, model, runs) -> Self:
        """Train the encoder of a ContinuousEncoding on Runs."""
        scaling = FeatureScaling.of(runs.features[runs.kept], model.standardize)
        delayer = Delayer(model.delays).fit(runs.features[:, scaling.kept])
        whole = isinstance(model.cv, (int, np.integer))
        n_folds = model.cv if whole else _N_BLOCKS
        reach = np.abs(check_delays(model.delays)).max()
        units = cross_validation_units(runs.run, n_folds, reach)[runs.kept]
        n_units = len(np.unique(units))
        bands = None if runs.bands is None else runs.bands[scaling.kept]
        trained = train_encoder(
            with_fewer_folds(_encoder_of_delays(model, bands), n_units),
            _delayed(runs, scaling, delayer, model.within_runs)[runs.kept],
            runs.responses[runs.kept][:, runs.usable],
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
            runs,
            model.within_runs,
            scaling.notes,
        )

    def test(self, runs):
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
        return average_repeats(
            runs._replace(usable=usable),
            self.predict(runs)[:, runs.usable[self.runs.usable]],
        )

    def predict(self, runs, band=None):
        """Predict all volumes of Runs in the voxels of training, (n_volumes, n_usable).

        Of a `band` its part of the prediction, which all bands' parts add up to but for
        a constant.
        """
        X = _delayed(runs, self.scaling, self.delayer, self.within_runs)
        if band is not None:
            own = np.asarray(self.runs.bands)[self.scaling.kept] == band
            X = X * np.tile(own, X.shape[1] // len(own))
        return self.encoder.predict(X).reshape(len(X), -1)


def _delayed(runs, scaling, delayer, within_runs):
    """Return features scaled, delayed, and centered as responses are.

    ValueError where a delay leads out of a whole run.
    """
    reach = np.abs(check_delays(delayer.delays)).max()
    lengths = np.bincount(runs.run)
    if reach >= lengths.min():
        raise ValueError(
            f"a delay of {reach} volumes is as long as run {lengths.argmin()} "
            f"({lengths.min()} volumes); give delays in volumes, those from about 2 to "
            "8 seconds"
        )
    delayed = delayer.transform(scaling(runs.features), runs.run)
    how = None if within_runs is None else "center"
    return rescaled(delayed, runs.run, how, runs.kept)


def with_bands(runs, encoder):
    """Return Runs with the bands of columns that features or the encoder have.

    A single band is none.
    """
    bands, own = runs.bands, getattr(encoder, "bands", None)
    if own is not None:
        if bands is not None:
            raise ValueError(
                "bands were given by the features and by the encoder; leave bands=None"
            )
        bands, n_columns = np.asarray(own), runs.features.shape[1]
        if bands.shape != (n_columns,):
            raise ValueError(
                f"bands of the encoder has {len(bands)} entries, features has "
                f"{n_columns} columns; name the band of every column, not of its delays"
            )
    one = bands is None or len(np.unique(bands)) < 2
    return runs._replace(bands=None if one else bands)


def _encoder_of_delays(model, bands):
    """Return the encoder, with the `bands` (n_kept,) of all delays where it has any."""
    encoder = model.encoder
    if encoder is None:
        encoder = RidgeEncoder(cv=model.cv, random_state=model.random_state)
    if not isinstance(encoder, RidgeEncoder):
        return encoder
    if bands is not None:
        several = len(np.unique(bands)) > 1
        bands = np.tile(bands, len(check_delays(model.delays))) if several else None
    return clone(encoder).set_params(bands=bands)
