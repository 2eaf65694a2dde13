"""How well each candidate stimulus explains a response: Mahalanobis margins."""

import numpy as np
from scipy.linalg.blas import dgemm, dtrsm
from scipy.linalg.lapack import dpotrf

from neuroextrap.models._noise_covariance import schaefer_strimmer_covariance

_BLOCK = 48  # rows that are solved for together


def mahalanobis_margins(responses, predictions, covariance):
    """Compute margins M[i, j] = -1/2 (y_i - f_j)' Sigma^-1 (y_i - f_j).

    Up to a constant the log likelihood of response i under a Gaussian whose mean is
    the model's prediction for candidate j.

    Parameters
    ----------
    responses : array-like, shape (n_responses, n_features)
        Responses y.
    predictions : array-like, shape (n_candidates, n_features)
        Predicted responses f, intercepts included.
    covariance : array-like, shape (n_features, n_features)
        Noise covariance Sigma, positive definite.

    Returns
    -------
    margins : ndarray of float64, shape (n_responses, n_candidates)
        At most zero; larger is better.

    Raises
    ------
    ValueError
        If the covariance is not positive definite, or shapes do not match.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error" (identification by maximum likelihood); Kay et al. 2008.

    Examples
    --------
    >>> mahalanobis_margins([[1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], [[2, 0], [0, 1]])
    array([[-0.  , -0.25]])
    """
    Y, F = (np.atleast_2d(a) for a in (responses, predictions))
    sigma = np.asarray(covariance)
    if Y.shape[1] != F.shape[1] or sigma.shape != (Y.shape[1],) * 2:
        raise ValueError(
            f"responses {Y.shape}, predictions {F.shape} and covariance {sigma.shape} "
            "must share the number of features"
        )
    factor = _cholesky(sigma)
    white = np.empty((len(sigma), len(Y) + len(F)))
    a, b = white[:, : len(Y)], white[:, len(Y) :]
    a[:], b[:] = Y.T, F.T
    white -= b.mean(axis=1, keepdims=True)
    _solve_lower(factor, white)
    found = a.T @ b
    found -= 0.5 * np.einsum("vi,vi->i", a, a)[:, None]
    found -= 0.5 * np.einsum("vj,vj->j", b, b)
    return np.minimum(found, -0.0, out=found)


def _cholesky(sigma):
    """Lower factor; an error if a pivot is only rounding, of sigma's precision."""
    precision = np.finfo(np.result_type(sigma, np.float32)).eps
    least = len(sigma) * precision * np.diag(sigma)
    factor, failed = dpotrf(sigma.T, lower=1, clean=0)
    if failed or (np.diag(factor) ** 2 <= least).any():
        raise ValueError(
            f"the noise covariance of {len(sigma)} features is singular; use "
            "covariance='diagonal', fewer features, or more residuals"
        )
    return factor


def _solve_lower(factor, columns):
    """Solve L X = columns in place, by blocks: most of the work is matrix products."""
    for start in range(0, len(factor), _BLOCK):
        here = slice(start, start + _BLOCK)
        # transposes of whole rows are in the column order that BLAS overwrites:
        # B' - X' L', then X' of X' L' = B'
        block, done = columns[here].T, columns[:start].T
        if start:
            dgemm(
                -1.0, done, factor[here, :start], 1.0, block, trans_b=1, overwrite_c=1
            )
        dtrsm(1.0, factor[here, here], block, 1, 1, 1, overwrite_b=1)


def noise_covariance(residuals, method="shrunk"):
    """Estimate a region's noise covariance from residuals.

    Parameters
    ----------
    residuals : ndarray, shape (n_samples, n_features)
        Residuals of training data, taken to have mean zero.
    method : {"shrunk", "ledoit_wolf", "oas", "diagonal", "identity"}
        "shrunk" shrinks towards the diagonal with an analytic intensity;
        "ledoit_wolf" and "oas" are scikit-learn's, which shrink towards a multiple
        of the identity.

    Returns
    -------
    covariance : ndarray, shape (n_features, n_features)
        Noise covariance.

    Raises
    ------
    ValueError
        If the method is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> noise_covariance(np.array([[1.0, 2.0], [-1.0, 2.0]]), "diagonal")
    array([[1., 0.],
           [0., 4.]])
    """
    if method not in COVARIANCES:
        raise ValueError(
            f"covariance={method!r} is unknown; choose one of {tuple(COVARIANCES)}"
        )
    return COVARIANCES[method](residuals)


def _ledoit_wolf(residuals):
    from sklearn.covariance import ledoit_wolf

    return ledoit_wolf(residuals, assume_centered=True)[0]


def _oas(residuals):
    from sklearn.covariance import oas

    return oas(residuals, assume_centered=True)[0]


COVARIANCES = {
    "shrunk": lambda residuals: schaefer_strimmer_covariance(residuals)[0],
    "ledoit_wolf": _ledoit_wolf,
    "oas": _oas,
    "diagonal": lambda residuals: np.diag(np.mean(np.square(residuals), axis=0)),
    "identity": lambda residuals: np.eye(residuals.shape[1]),
}


class EncodingMargins:
    """Margins of regions in the protocol of the loop over regions.

    The rows of a region's data are responses, then predictions of the candidates,
    then residuals of the training data. Labels do not enter: a permutation only says
    which candidate is taken to be the true one.

    Parameters
    ----------
    n_responses, n_candidates : int
        Numbers of rows.
    repeats : ndarray of int, shape (n_responses,)
        Responses averaged into each row; its noise covariance is Sigma / repeats.
    covariance : str
        A method of `noise_covariance`.
    """

    def __init__(self, n_responses, n_candidates, repeats, covariance="shrunk"):
        self.n_responses = n_responses
        self.n_candidates = n_candidates
        self.repeats = np.asarray(repeats)
        self.covariance = covariance

    def __repr__(self):
        """Name the model; part of a checkpoint's identity."""
        return (
            f"EncodingMargins({self.n_responses}, {self.n_candidates}, "
            f"{self.repeats.tolist()}, {self.covariance!r})"
        )

    def workspace(self, n_features, n_rows):
        """Return the bytes that a region takes besides its samples.

        Parameters
        ----------
        n_features : int
            Of the region.
        n_rows : int
            Responses, candidates and residuals.

        Returns
        -------
        n_bytes : int
        """
        tests = self.n_responses + self.n_candidates
        residuals = 20 * n_features * (n_rows - tests)  # copied, squared, scaled
        return residuals + 32 * n_features**2 + 16 * n_features * tests

    def prepare(self, xs, design):
        """Compute the margins of regions.

        Parameters
        ----------
        xs : sequence of ndarray, each of shape (n_rows, n_features of the region)
            Stacked data of each region.
        design : Design
            Not needed.

        Returns
        -------
        margins : ndarray, shape (n_responses, n_candidates, n_regions)
            Last axis over regions.
        """
        del design
        return np.stack([self._region(x) for x in xs], axis=-1)

    def margins(self, state, labelings):
        """Return margins of every region, whatever the labeling.

        Parameters
        ----------
        state : ndarray, shape (n_responses, n_candidates, n_regions)
            From `prepare`.
        labelings : Labelings
            One labeling.

        Returns
        -------
        margins : ndarray, shape (n_responses, n_candidates, n_regions)
            The state.
        """
        del labelings
        return state

    def _region(self, x):
        """Margins of one region."""
        first, second = self.n_responses, self.n_responses + self.n_candidates
        sigma = noise_covariance(np.ascontiguousarray(x[second:]), self.covariance)
        found = mahalanobis_margins(x[:first], x[first:second], sigma)
        return found * self.repeats[:, None]
