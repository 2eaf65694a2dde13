"""How well each candidate stimulus explains a response, given their noise."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import cho_solve, eigh
from scipy.linalg.blas import dgemm, dtrsm
from scipy.linalg.lapack import dpotrf
from scipy.special import polygamma

from neuroextrap.design._folds import of_unit_length
from neuroextrap.margins._kernel import Batch, MarginSource
from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

_FEWEST_WITHIN = 10  # repeats beyond the first ones, which tell noise from misfit
_LEAST_NOISE = 1e-6  # of the mean square of residuals of stimuli
_PANEL = 48  # rows that are solved for together


def separate_repeats(residuals, stimuli=None):
    """Return residuals (n_rows, n_features) of K `stimuli` and within these; and K.

    An orthogonal transform: the first K rows are sqrt(r) times the mean of a stimulus's
    r repeats, of covariance r L + N; the others are contrasts of repeats, of covariance
    N. Without `stimuli` (n_rows,), or with fewer than 10 repeats beyond the first ones,
    residuals stay as they are, and K is n_rows.
    """
    n_rows = len(residuals)
    if stimuli is None or n_rows - len(np.unique(stimuli)) < _FEWEST_WITHIN:
        return residuals, n_rows
    _, codes, counts = np.unique(stimuli, return_inverse=True, return_counts=True)
    occurrence = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    total = np.zeros((len(counts), residuals.shape[1]), dtype=residuals.dtype)
    contrasts = []
    for seen in range(counts.max()):
        rows = residuals[occurrence == seen]
        of_rows = codes[occurrence == seen]
        if seen:
            difference = rows - total[of_rows] / rows.dtype.type(seen)
            contrasts.append(difference * rows.dtype.type(np.sqrt(seen / (seen + 1))))
        total[of_rows] += rows
    root = np.sqrt(counts)[:, np.newaxis].astype(residuals.dtype)
    return np.concatenate([total / root, *contrasts]), len(counts)


def response_covariance(residuals, n_stimuli, repeats, rule="mahalanobis"):
    """Estimate the covariance L + N / `repeats` of an average of `repeats` responses.

    `residuals` and `n_stimuli` are those of `separate_repeats`. Few stimuli say little
    of the shape of L: the covariance of their residuals is shrunk towards that of N. In
    directions in which noise by itself explains the means of stimuli, L is zero.
    """
    if n_stimuli == len(residuals) or rule == "euclidean":
        return COVARIANCES[rule](residuals)
    of_stimuli = residuals[:n_stimuli].astype(np.float64)
    noise = _repeat_noise(residuals[n_stimuli:], of_stimuli, rule)
    if rule == "diagonal":
        stimuli = COVARIANCES[rule](of_stimuli)
    else:
        stimuli = _shrunk_towards(noise, of_stimuli)
    n_repeats = len(residuals) / n_stimuli
    weight = 1 / repeats - 1 / n_repeats
    if weight >= 0:
        return stimuli / n_repeats + weight * noise
    values, vectors = eigh(noise.astype(np.float64), stimuli)
    values, back = np.maximum(values, 0), stimuli @ vectors
    # stimuli = back @ back.T, and noise = (back * values) @ back.T
    return (back * (np.maximum(1 - values, 0) / n_repeats + values / repeats)) @ back.T


def _repeat_noise(residuals, of_stimuli, rule):
    """Return the covariance of repeats, with least variances (p, p)."""
    noise = COVARIANCES[rule](residuals)
    # rows that were merely written twice have no noise between them
    least = _LEAST_NOISE * np.mean(np.square(of_stimuli), axis=0)
    np.fill_diagonal(noise, np.maximum(np.diag(noise), least))
    cholesky(noise)  # an error that says what to do if it is singular
    return noise


def _shrunk_towards(noise, residuals):
    """Shrink the covariance S of K residuals (K, p) towards the shape of the `noise`.

    The target T has the correlations of the noise, and the variances of S in units of
    the noise, whose logarithms are drawn to their mean as far as they spread by chance
    (Smyth 2004). S and T are mixed by the intensity of scikit-learn's `oas`, in units
    in which T is a multiple of the identity, and then as in `doubly_shrunk_covariance`.
    """
    n_rows, n_features = residuals.shape
    covariance = residuals.T @ residuals / n_rows
    least = _LEAST_NOISE * np.diag(noise)
    ratio = np.log(np.maximum(np.diag(covariance), least) / np.diag(noise))
    by_chance = polygamma(1, n_rows / 2)
    kept = max(0, 1 - by_chance / max(ratio.var(), by_chance))
    scale = np.exp(kept * (ratio - ratio.mean()) / 2)
    target = noise * np.outer(scale, scale)
    relative = cho_solve((cholesky(target), True), covariance)
    mean = np.trace(relative) / n_features
    square = np.vdot(relative, relative.T) / n_features**2
    spread = (n_rows + 1) * (square - mean**2 / n_features)
    intensity = min(1, (square + mean**2) / spread) if spread > 0 else 1
    kept = (1 - intensity) * n_rows / (n_rows + n_features)
    return kept * covariance + (1 - kept) * mean * target


def cholesky(sigma):
    """Lower factor; an error if a pivot is only rounding, of sigma's precision."""
    precision = np.finfo(np.result_type(sigma, np.float32)).eps
    least = len(sigma) * precision * np.diag(sigma)
    factor, failed = dpotrf(sigma.T, lower=1, clean=0)
    if failed or (np.diag(factor) ** 2 <= least).any():
        raise ValueError(
            f"the noise covariance of {len(sigma)} features is singular; use "
            "rule='diagonal', fewer features, or more residuals"
        )
    return factor


def doubly_shrunk_covariance(residuals):
    """Shrink the covariance of N residuals (N, p) to its diagonal D, in two steps.

    The intensity of `schaefer_strimmer_covariance` minimizes the error of the
    covariance itself, but margins need the inverse, which N residuals determine only if
    N is large compared with p. Its S is therefore mixed as (N S + p D) / (N + p), the
    posterior mean under an inverse Wishart prior of p degrees of freedom.
    """
    covariance, _ = schaefer_strimmer_covariance(residuals)
    n_samples, n_features = residuals.shape
    diagonal = np.diag(covariance).copy()
    covariance *= covariance.dtype.type(n_samples / (n_samples + n_features))
    np.fill_diagonal(covariance, diagonal)
    return covariance


def _of_sklearn(name, residuals):
    """Shrink the covariance of residuals to a multiple of the identity."""
    from sklearn import covariance

    return getattr(covariance, name)(residuals, assume_centered=True)[0]


# estimates of the covariance of residuals (n_samples, n_features) of mean zero
COVARIANCES = {
    "mahalanobis": doubly_shrunk_covariance,
    "ledoit_wolf": lambda residuals: _of_sklearn("ledoit_wolf", residuals),
    "oas": lambda residuals: _of_sklearn("oas", residuals),
    "diagonal": lambda residuals: np.diag(np.mean(np.square(residuals), axis=0)),
    "euclidean": lambda residuals: np.eye(residuals.shape[1]),
}


def mahalanobis_margins(responses, predictions, covariance):
    """Compute margins M[i, j] = -1/2 (y_i - f_j)' Sigma^-1 (y_i - f_j).

    The log likelihood of response i (n_responses, n_features) under a Gaussian about
    prediction j (n_candidates, n_features), up to a constant. (Zheng & Benjamini 2016,
    "Estimating mutual information in high dimensions via classification error".)
    """
    Y, F = (np.atleast_2d(a) for a in (responses, predictions))
    sigma = np.asarray(covariance)
    if Y.shape[1] != F.shape[1] or sigma.shape != (Y.shape[1],) * 2:
        raise ValueError(
            f"responses {Y.shape}, predictions {F.shape} and covariance {sigma.shape} "
            "must share the number of features"
        )
    factor = cholesky(sigma)
    white = np.empty((len(sigma), len(Y) + len(F)))
    a, b = white[:, : len(Y)], white[:, len(Y) :]
    a[:], b[:] = Y.T, F.T
    white -= b.mean(axis=1, keepdims=True)
    _solve_lower(factor, white)
    margins = a.T @ b
    margins -= 0.5 * np.einsum("vi,vi->i", a, a)[:, None]
    margins -= 0.5 * np.einsum("vj,vj->j", b, b)
    return np.minimum(margins, -0.0, out=margins)


def correlation_margins(responses, predictions, scale):
    """Correlate patterns over features in units of `scale`; zero if one is constant."""
    y, f = (np.asarray(each, dtype=float) / scale for each in (responses, predictions))
    y, f = (of_unit_length(x - x.mean(axis=1, keepdims=True), 1) for x in (y, f))
    return y @ f.T


def _solve_lower(factor, columns):
    """Solve L X = columns in place, by panels: most of the work is matrix products."""
    for start in range(0, len(factor), _PANEL):
        panel = slice(start, start + _PANEL)
        # transposes of whole rows are in the column order that BLAS overwrites:
        # B' - X' L', then X' of X' L' = B'
        right, solved = columns[panel].T, columns[:start].T
        if start:
            dgemm(
                -1.0,
                solved,
                factor[panel, :start],
                1.0,
                right,
                trans_b=1,
                overwrite_c=1,
            )
        dtrsm(1.0, factor[panel, panel], right, 1, 1, 1, overwrite_b=1)


class ResponseRows(NamedTuple):
    """What the rows of a region's data are: responses, predictions, residuals."""

    n_classes: int  # candidates K of each fold
    # responses, residuals and, first of these, residuals of stimuli, (n_folds, 3)
    folds: np.ndarray

    @property
    def n_samples(self):
        """Number of rows."""
        return int(self.folds[:, :2].sum()) + self.n_classes * len(self.folds)

    @property
    def test(self):
        """Rows of the test responses, shape (n_responses,)."""
        return np.arange(self.folds[:, 0].sum())

    @property
    def arrays(self):
        """Numbers of rows of each kind; part of a checkpoint's identity."""
        n_responses, n_residuals, _ = self.folds.sum(axis=0)
        counts = [n_responses, self.n_classes, n_residuals]
        counts += [*self.folds[:, :2].flat] if len(self.folds) > 1 else []
        separated = (self.folds[:, 2] < self.folds[:, 1]).any()
        return (np.array([*counts, *(self.folds[:, 2] if separated else ())]),)

    def split(self, rows):
        """Return responses, predictions and residuals as views of (n_samples, ...)."""
        n_responses, n_residuals, _ = self.folds.sum(axis=0)
        return np.split(rows, [n_responses, len(rows) - n_residuals])

    def split_folds(self, rows):
        """Yield responses, predictions, residuals and ``n_stimuli`` of every fold."""
        responses, predictions, residuals = self.split(rows)
        n_tested, n_left, n_stimuli = self.folds.T
        return zip(
            np.split(responses, np.cumsum(n_tested)[:-1]),
            np.split(predictions, len(self.folds)),
            np.split(residuals, np.cumsum(n_left)[:-1]),
            n_stimuli.tolist(),
            strict=True,
        )


class EncodingMargins(MarginSource):
    """Margins of regions from predictions and residuals, by a rule or one a fold."""

    def __init__(self, repeats, rule="mahalanobis"):
        self.repeats = np.asarray(repeats)
        self.rule = rule

    def __repr__(self):
        """Show the parameters in full; part of a checkpoint's identity."""
        return f"EncodingMargins({self.repeats.tolist()}, {self.rule!r})"

    def batches(self, xs, plan):
        """Yield margins (n_responses, K, n_regions), the same for every labeling."""
        yield Batch(self.margins(xs, plan.design), 0, 1)

    def margins(self, xs, rows):
        """Compute margins (n_responses, K, n_regions) from regions' `ResponseRows`."""
        return np.stack([self._region(x, rows) for x in xs], axis=-1)

    def workspace(self, n_features, n_regions, design):
        """Count the bytes of the largest region; regions are done one by one."""
        del n_regions
        n_tested, n_left, n_stimuli = design.folds.sum(axis=0).tolist()
        residuals = 20 * n_features * n_left  # copied, squared, scaled
        squares = 80 if n_stimuli < n_left else 32  # of two covariances, eigenvectors
        tests = 16 * n_features * (n_tested + design.n_classes)
        return residuals + squares * n_features**2 + tests

    def _region(self, x, rows):
        """Margins of one region, shape (n_responses, K)."""
        margins, start = [], 0
        rules = self.rule.split(",") * len(rows.folds)
        for rule, (responses, *others) in zip(rules, rows.split_folds(x), strict=False):
            repeats = self.repeats[start : start + len(responses)]
            margins.append(self._fold(rule, repeats, responses, *others))
            start += len(responses)
        return np.concatenate(margins)

    def _fold(self, rule, repeats, responses, predictions, residuals, n_stimuli):
        """Margins of the responses of one fold."""
        if rule == "correlation":
            scale = np.sqrt(np.mean(np.square(residuals), axis=0, dtype=np.float64))
            return correlation_margins(responses, predictions, scale)
        residuals = np.ascontiguousarray(residuals)
        if n_stimuli == len(residuals):
            repeats = np.ones_like(repeats)  # they do not enter
        margins = np.empty((len(responses), len(predictions)))
        for number in np.unique(repeats).tolist():
            of = repeats == number
            sigma = response_covariance(residuals, n_stimuli, number, rule)
            margins[of] = mahalanobis_margins(responses[of], predictions, sigma)
        return margins
