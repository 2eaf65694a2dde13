"""What held-out runs of a film show: their scores, by voxel, band and segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from neuroextrap.analysis._region_files import check_trained
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.design._permutations import exchanged
from neuroextrap.encoding._continuous_maps import (
    segment_maps,
    voxel_maps,
    voxel_scores,
)
from neuroextrap.encoding._continuous_runs import read_runs
from neuroextrap.encoding._identified_responses import (
    p_values_of_correlation,
    prediction_scores,
    standardized,
)
from neuroextrap.encoding._training import TrainedRuns
from neuroextrap.maps._named_records import band_names
from neuroextrap.stats._shared_options import as_options, takes_options


def partition_scores(model, trained, runs, tested):
    """Return parts of r2 by band and their p-values, a dict of (n_usable,) by name."""
    kept = np.ix_(tested.rows, runs.usable[trained.runs.usable])
    y, bands = tested.responses, np.unique(trained.runs.bands)
    r2, pairs, unique = prediction_scores(y, tested.predictions)["r2"], [], {}
    scores, centered = {"r2": r2}, y - y.mean(axis=0)
    rest = 2 * centered - (tested.predictions - tested.predictions.mean(axis=0))
    for band in bands:
        own = trained.predict(runs, band)[kept]
        own = own - own.mean(axis=0)
        others = TrainedRuns.of(model, _without(trained.runs, band))
        without = others.predict(_without(runs, band))[kept]
        product, name, *_ = band_names(band)
        scores[product] = (own * rest).sum(axis=0) / np.square(centered).sum(axis=0)
        unique[name] = scores[name] = r2 - prediction_scores(y, without)["r2"]
        pairs.append((_beyond(centered, without), _beyond(own, without)))
    scores["r2_shared"] = r2 - sum(unique.values())
    unique = np.hstack(list(unique.values()))
    return scores | _p_values(model, bands, pairs, unique, tested.run)


def _p_values(model, bands, pairs, unique, run):
    """Test partial correlations of `pairs` by shifts; p is 1 where not `unique`."""
    if not model.n_permutations:
        return {}
    y, f = (standardized(np.hstack(each)) for each in zip(*pairs, strict=True))
    observed = np.where(unique > 0, np.einsum("tv,tv->v", y, f), -np.inf)
    orders = exchanged(
        np.arange(len(y)),
        exchange="shifts",
        groups=run,
        n_permutations=model.n_permutations,
        random_state=model.random_state,
    )
    tested = p_values_of_correlation(y, f, observed, orders)
    return {
        band_names(band)[place]: values
        for place, name in ((2, "p_value"), (3, "p_value_fwe"))
        for band, values in zip(bands, np.split(tested[name], len(bands)), strict=True)
    }


def _without(runs, band):
    """Return Runs without the features of a band."""
    kept = runs.bands != band
    return runs._replace(features=runs.features[:, kept], bands=runs.bands[kept])


def _beyond(values, predictions):
    """Subtract from columns what a regression on the same column explains of them."""
    f = predictions - predictions.mean(axis=0)
    squares = np.square(f).sum(axis=0)
    slope = (values * f).sum(axis=0) / np.where(squares > 0, squares, 1)
    return values - slope * f


@dataclass(frozen=True, kw_only=True)
class GivenRuns:
    """Runs that are trained on or tested, and how they are cleaned.

    Parameters
    ----------
    features : list of array-like of shape (n_volumes, n_columns), or of dict
        Features of every run, or of a single run without a list: a row for every
        volume, or tables with onsets, or paths of such; or a dict of these by band.
        What is tested has the columns of training, and other stimuli.
    imgs : list of images, paths or arrays of shape (n_volumes, n_features)
        Responses in every run: 4-D images or surfaces, in the order of `features`.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds, a table of numbers for every run with a row for each volume, that are
        regressed out of the responses. Files whose names tell their run, as BIDS names
        do, may come in any order.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept in every run (indices, counting from 0, or booleans), as
        ``load_confounds`` of nilearn returns them. The others enter no regression and
        are neither trained on nor tested; what was shown then still delays into others.
    """

    confounds: Any = None
    sample_mask: Any = None


class ScoresOfRuns(BaseEstimator):
    """Scores of runs that an analysis of continuous stimuli was not trained on."""

    @takes_options(GivenRuns)
    def score(self, features: Any, imgs: Any, **cleaning: Any) -> RegionMaps:
        """Score how well the responses of every voxel in new runs are predicted.

        Runs with equal features show the same stimulus: their responses are averaged,
        and their spread gives the noise ceiling.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_elements_,) for arrays) named
            ``correlation`` and ``r2``; where runs were repeated ``noise_ceiling``,
            ``correlation_normalized`` and ``r2_normalized``, see
            :func:`prediction_scores`; with permutations ``p_value`` and ``p_value_fwe``
            (over all voxels) of the correlation. It has ``findings_``, ``notes_``,
            ``table_``, ``to_directory`` and ``generate_report``.

        Raises
        ------
        ValueError
            When features, voxels or lengths differ from training or each other, or a
            run was trained on.
        """
        _, tested = self._test(self.score, features, imgs, **cleaning)
        return voxel_maps(self, tested, voxel_scores(self, tested))

    @takes_options(GivenRuns)
    def partition(self, features: Any, imgs: Any, **cleaning: Any) -> RegionMaps:
        """Split what is explained of new runs among the bands of features.

        Bands are those of a dict in :meth:`fit`, or of ``RidgeEncoder(bands=...)``. The
        prediction f is the sum of the parts f_b of bands, and so is r2, of responses y
        centered like them (product measure) ::

            r2 = sum_b <f_b, 2 y - f> / <y, y>

        What is unique to a band is the r2 that is lost by a model that was trained,
        penalties and all, without it.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_elements_,) for arrays): those of
            :meth:`score`, ``r2_shared`` (r2 less all that is unique), and of every band
            B ``r2_product_of_B``, ``r2_unique_of_B`` and, with permutations,
            ``p_value_unique_of_B`` and ``p_value_fwe_unique_of_B`` (over all voxels and
            bands): 1 where nothing is unique to the band, else of the partial
            correlation of responses and the band's part, given the prediction without
            the band, by circular shifts. It is approximate where bands go together.

        Raises
        ------
        ValueError
            When there are not two bands at least, and as in :meth:`score`.

        References
        ----------
        Dupré la Tour, Eickenberg, Nunez-Elizalde & Gallant 2022, "Feature-space
        selection with banded ridge regression" (product measure). Lescroart, Stansbury
        & Gallant 2015, "Fourier power, subjective distance, and object categories all
        provide plausible models of BOLD responses in scene-selective visual areas"
        (variance partitioning).

        Examples
        --------
        Of two bands only one has to do with the responses:

        >>> import numpy as np
        >>> from neuroextrap.encoding import ContinuousEncoding
        >>> rng = np.random.default_rng(0)
        >>> runs = [rng.normal(size=(90, 4)) for _ in range(4)]
        >>> features = [{"motion": X[:, :2], "words": X[:, 2:]} for X in runs]
        >>> imgs = [
        ...     X[:, :2] @ [[1, 2], [3, 4]] + rng.normal(size=(90, 2)) for X in runs
        ... ]
        >>> model = ContinuousEncoding(delays=(0, 1)).fit(features[:2], imgs[:2])
        >>> maps = model.partition(features[2:], imgs[2:])
        >>> (
        ...     maps["r2_unique_of_motion"].round(1),
        ...     abs(maps["r2_unique_of_words"]).round(1),
        ... )
        (array([0.9, 1. ]), array([0., 0.]))
        """
        read, tested = self._test(self.partition, features, imgs, **cleaning)
        if read.bands is None:
            raise ValueError(
                "features have no bands to be told apart; give a dict of tables by "
                "band for every run, or RidgeEncoder(bands=...)"
            )
        scores = voxel_scores(self, tested)
        scores |= partition_scores(self, self._trained, read, tested)
        return voxel_maps(self, tested, scores)

    @takes_options(GivenRuns)
    def identify_segments(
        self, features: Any, imgs: Any, *, seconds: float = 20.0, **cleaning: Any
    ) -> RegionMaps:
        """Identify which segment of a run evoked the responses of some seconds.

        Runs are cut into windows. The margin of a candidate is the log likelihood of
        the responses in the window, given those predicted for the candidate and
        Gaussian noise of each voxel's ``residual_variance_``, independent over voxels
        and time. Candidates are the other windows of the run that are at least one
        correlation length away (the lag at which the autocorrelation of responses and
        predictions has fallen to 1/e). Windows have different numbers of them; the
        accuracy is that among as many, drawn at random, as every window has.

        Parameters
        ----------
        seconds : float, default=20.0
            Length of the windows; it is rounded to volumes.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_regions,) for arrays) named
            ``accuracy`` (among ``n_candidates_`` segments), ``pairwise_accuracy`` and
            ``implied_information`` (bits); with permutations ``p_value`` and
            ``p_value_fwe`` of the pairwise accuracy, by circular shifts of the windows
            of every run. Further attributes are ``wins_`` of shape (n_regions,
            n_candidates_), ``set_sizes_``, ``curves_`` of shape (n_regions,
            n_set_sizes), ``n_segments_``, and ``correlation_length_`` in volumes. Files
            are called ``segment_accuracy``, ...

        Raises
        ------
        ValueError
            When the time between volumes is not known, or runs are too short.
        """
        _, tested = self._test(self.identify_segments, features, imgs, **cleaning)
        return segment_maps(self, tested, seconds)

    def _test(self, method, features, imgs, **cleaning):
        """Predict new runs, and average repeats; returns Runs and HeldOut."""
        given = as_options(GivenRuns, method, cleaning)
        check_trained(self)
        runs = read_runs(self, self.masker_, features, imgs, given)
        runs = runs._replace(bands=self._trained.runs.bands)
        return runs, self._trained.test(runs)
