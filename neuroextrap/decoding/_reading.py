"""Samples as a classifier gets them: selected, centered within runs, whitened."""

from typing import Any

import numpy as np
import scipy.linalg

from neuroextrap.analysis._samples import read_residuals, read_samples
from neuroextrap.margins.running._described import array_hash
from neuroextrap.stats._validation import check_choice

# rms of samples within which products of float32 neither vanish nor overflow; rescaled
# only outside of it, so that ordinary data keep their bits
_LEAST, _MOST = 2.0**-20, 2.0**20


def read_labeled_samples(searchlight, kernel, imgs, labels, counted="y"):
    """Read the samples of the classes that are analyzed, for a kernel.

    They are centered over all samples, unless the kernel wants them as they are given;
    before that, each feature is centered or standardized within runs on request. Errors
    call what has an entry for each sample `counted`.
    """
    how = searchlight.within_runs
    check_within_runs(how, labels.groups)
    read = read_samples(
        searchlight.mask,
        imgs,
        n_samples=len(labels.keep),
        counted=counted,
        keep=labels.keep,
        center=not kernel.as_given,
        dtype=None if kernel.as_given else np.float32,
        memory=searchlight.memory,
    )
    if how is not None:
        read = within_runs(read, labels.groups, how)
    if kernel.as_given:
        return read
    X, scale = rescaled(read.X)
    return read._replace(X=X, scale=scale)


def check_row_order(imgs, **others):
    """Raise if data frames have the rows of the samples in another order."""
    rows: Any = getattr(imgs, "index", None)
    for name, values in others.items():
        own: Any = getattr(values, "index", None)
        if not hasattr(own, "equals") or not hasattr(rows, "equals"):
            continue
        if own.equals(rows) or len(own) != len(rows) or not own.is_unique:
            continue
        if own.isin(rows).all():
            raise ValueError(
                f"{name} has the rows of imgs in another order; give {name}.loc[imgs."
                f"index], or {name}.to_numpy() if they are meant in this one"
            )


def check_within_runs(how, groups):
    """Raise unless `how` is known and runs are given."""
    check_choice(how, "within_runs", (None, "center", "zscore"))
    if how is not None and groups is None:
        raise ValueError(
            f"within_runs={how!r} needs the run of every sample; give groups=runs"
        )


def within_runs(samples, groups, how):
    """Center (and scale) every feature within each run; Samples in, Samples out.

    A feature that is constant in a run has no z-score there and cannot be used.
    """
    _, run, size = np.unique(groups, return_inverse=True, return_counts=True)
    X, usable = samples.X.astype(np.float64), samples.usable
    sums = np.zeros((len(size), X.shape[1]))
    np.add.at(sums, run, X)
    X -= (sums / size[:, None])[run]
    notes = samples.notes
    if how == "zscore":
        squares = np.zeros_like(sums)
        np.add.at(squares, run, X**2)
        spread = np.sqrt(squares / size[:, None])
        varies = (spread > 1e-12 * np.abs(sums / size[:, None])).all(axis=0)
        X = np.where(varies, X / np.where(varies, spread, 1)[run], 0)
        n_lost = int((usable & ~varies).sum())
        if n_lost:
            notes = (*notes, f"{n_lost} voxels were left out (constant within a run)")
        usable = usable & varies
    return samples._replace(X=X.astype(samples.X.dtype), usable=usable, notes=notes)


def rescaled(X):
    """Multiply by a power of two where squares would vanish or overflow in float32.

    This is exact, and does not affect the classifiers for which samples are centered.
    Also returned is the power.
    """
    largest = np.abs(X).max(initial=0.0)
    if largest == 0 or _LEAST < largest < _MOST:
        return X, 1.0
    power = -int(np.frexp(largest)[1])
    return np.ldexp(X, power), float(np.ldexp(1.0, power))


class NoiseWhitener:
    """Whiten a region's samples by the covariance of centered noise residuals.

    `residuals` of shape (n_observations, n_features) are such as those of a first-level
    model.
    """

    def __init__(self, residuals):
        self.residuals = residuals

    def __repr__(self):
        """Name what whitens; part of a checkpoint's identity."""
        return f"NoiseWhitener({array_hash(self.residuals)})"

    def workspace(self, n_features, n_samples):
        """Return the bytes that whitening a region of `n_features` takes."""
        rows = 3 * len(self.residuals) + 3 * n_samples
        return 8 * n_features * (rows + 4 * n_features)

    def __call__(self, features, x):
        """Return samples `x` (n_samples, n) of these n features, their noise white."""
        from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

        covariance, _ = schaefer_strimmer_covariance(self.residuals[:, features])
        lower = np.linalg.cholesky(covariance)
        return scipy.linalg.solve_triangular(lower, x.T.astype(float), lower=True).T


def make_whitener(noise_covariance, masker, n_features):
    """Return the whitener by residuals (an array, or images); None for none."""
    if noise_covariance is None:
        return None
    everything = np.ones(n_features, dtype=bool)
    residuals = read_residuals(noise_covariance, masker, everything)
    return NoiseWhitener(residuals - residuals.mean(axis=0))
