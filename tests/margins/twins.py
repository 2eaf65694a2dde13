"""Naive twins of the batched classifiers: one region, one training set at a time.

Each twin is fitted by ``fit(x, codes)``, x of shape (n_samples, n_features), and has
``margins(x)`` of shape (n_samples, K). They are plain implementations of the textbook
formulas, themselves compared with scikit-learn and with Gaussian densities.
"""

import math

import numpy as np
from scipy.special import digamma

from tests.margins.seam import centered_gram, qda_shrinkage, ridge_penalty


def class_means(x, codes):
    """Means over the samples of each class, shape (K, n_features)."""
    return np.stack([x[codes == label].mean(axis=0) for label in np.unique(codes)])


def noise_gaps(codes):
    """Return how much less the noise of the mean of each class is than of the rarest.

    1 / n_min - 1 / n of n samples: what the leveled margins of a class lose, in units
    that depend on the classifier.
    """
    counts = np.bincount(codes)
    return 1.0 / counts.min() - 1.0 / counts


def explained(x, penalty):
    """Share of labels without meaning that a ridge regression explains."""
    root = x - x.mean(axis=0)
    squares = np.linalg.svd(root, compute_uv=False) ** 2
    return (squares / (squares + penalty)).sum() / (len(x) - 1)


class Twin:
    """A classifier that decides by one margin per class."""

    def predict(self, x):
        """Predict the class with the largest margin, the first one if tied."""
        return self.margins(x).argmax(axis=1)


class NearestCentroidTwin(Twin):
    """Minus the squared Euclidean distance to the class mean."""

    def fit(self, x, codes):
        self.means = class_means(x, codes)
        self.loss = noise_gaps(codes) * x.var(axis=0, ddof=1).sum()
        return self

    def margins(self, x):
        return -((x[:, None] - self.means) ** 2).sum(axis=2) - self.loss


class GaussianNBTwin(Twin):
    """Log density of independent features, classes being equally probable."""

    def __init__(self, total_variance, variance_floor=1e-3):
        self.floor = np.where(total_variance > 0, variance_floor * total_variance, 1.0)

    def fit(self, x, codes):
        self.means = class_means(x, codes)
        variances = class_means(np.square(x - self.means[codes]), codes)
        self.variances = np.maximum(variances, self.floor)
        # over normal samples, the mean of 1 / variance is n / (n - 3) times that of the
        # law, and that of log variance digamma((n - 1) / 2) + log(2 / n) more
        n = np.maximum(np.bincount(codes), 4)
        inverse = n / (n - 3)
        self.factors = inverse.max() / inverse
        loss = inverse.max() * (1 + 1 / n) + digamma((n - 1) / 2) + np.log(2 / n)
        self.loss = 0.5 * (loss.max() - loss) * np.count_nonzero(np.ptp(x, axis=0))
        return self

    def margins(self, x):
        scores = (x[:, None] - self.means) ** 2 / self.variances
        density = scores.sum(axis=2) * self.factors + np.log(self.variances).sum(axis=1)
        return -0.5 * density - self.loss - np.log(len(self.means))


class NearestNeighborTwin(Twin):
    """Minus the squared distance to the nearest training sample of the class.

    On average over all subsets of as many samples as the rarest class has.
    """

    def fit(self, x, codes):
        self.samples, self.codes = x, codes
        return self

    def margins(self, x):
        distances = ((x[:, None] - self.samples) ** 2).sum(axis=2)
        counts = np.bincount(self.codes)
        m, nearest = counts.min(), []
        for label, n in enumerate(counts):
            near = np.sort(distances[:, self.codes == label], axis=1)
            subsets = [math.comb(n - j, m - 1) for j in range(1, n + 1)]
            nearest.append(near @ np.array(subsets) / math.comb(n, m))
        return -np.stack(nearest, axis=1)


class LinearTwin(Twin):
    """Margins linear in the features."""

    def margins(self, x):
        return x @ self.weights + self.intercept


class RidgeTwin(LinearTwin):
    """Ridge regression of the class indicators, classes of any size weighing the same.

    Where they have one size, what is predicted but for 1 / K.
    """

    def __init__(self, penalty):
        self.penalty = penalty

    def fit(self, x, codes):
        means = class_means(x, codes)
        middle = means.mean(axis=0)
        shift = (means - middle).T * (len(x) / len(means))
        self.weights = solve_shrunk(x - x.mean(axis=0), self.penalty, shift)
        self.intercept = -middle @ self.weights
        factor = explained(x, self.penalty) * len(x) / len(means) ** 2
        self.intercept -= factor * noise_gaps(codes)
        return self


class LDATwin(LinearTwin):
    """Linear discriminants with a ridge on the within-class scatter.

    Times ``scale``, the margins are log posteriors up to a shared term.
    """

    def __init__(self, penalty, priors="equal"):
        self.penalty = penalty
        self.priors = priors

    def fit(self, x, codes):
        mean, means = x.mean(axis=0), class_means(x, codes)
        shift = (means - mean).T
        self.weights = solve_shrunk(x - means[codes], self.penalty, shift)
        self.intercept = -mean @ self.weights - 0.5 * (shift * self.weights).sum(axis=0)
        self.scale = len(x) - len(means)
        if self.priors == "frequency":
            self.intercept += np.log(np.bincount(codes) / len(codes)) / self.scale
        else:
            share = explained(x, self.penalty)
            self.intercept -= 0.5 * noise_gaps(codes) * share / (1 - share)
        return self


class QDATwin(Twin):
    """Gaussian log density with a covariance per class, shrunk to ``variance`` I."""

    def __init__(self, intensity, variance, priors="equal"):
        self.intensity = intensity
        self.variance = variance
        self.priors = priors

    def fit(self, x, codes):
        counts = np.bincount(codes)
        self.means = class_means(x, codes)
        frequency = self.priors == "frequency"
        self.offsets = np.log(counts / len(x)) if frequency else np.zeros(len(counts))
        self.losses = np.zeros(len(counts)) if frequency else 0.5 * noise_gaps(codes)
        self.counts = counts
        self.roots = [
            (x[codes == label] - mean) * np.sqrt((1.0 - self.intensity) / counts[label])
            for label, mean in enumerate(self.means)
        ]
        return self

    def margins(self, x):
        ridge = self.intensity * self.variance
        margins = np.empty((len(x), len(self.means)))
        for label, (mean, root) in enumerate(zip(self.means, self.roots, strict=True)):
            shift = (x - mean).T
            squared = (shift * solve_shrunk(root, ridge, shift)).sum(axis=0)
            covariance = root.T @ root + ridge * np.eye(len(shift))
            margins[:, label] = -0.5 * (squared + np.linalg.slogdet(covariance)[1])
            unbiased = root.T @ root / (1.0 - self.intensity)
            unbiased *= self.counts[label] / (self.counts[label] - 1.0)
            share = np.trace(np.linalg.solve(covariance, unbiased))
            margins[:, label] -= self.losses[label] * share
        return margins + self.offsets


def solve_shrunk(root, penalty, right):
    """Solve (root' root + penalty I) z = right in the smaller of the two forms.

    ``root`` has shape (n_samples, n_features), ``right`` (n_features, n_columns).
    """
    n_samples, n_features = root.shape
    if penalty > 0 and n_samples < n_features:
        gram = root @ root.T + penalty * np.eye(n_samples)
        return (right - root.T @ np.linalg.solve(gram, root @ right)) / penalty
    return np.linalg.solve(root.T @ root + penalty * np.eye(n_features), right)


def _qda_of_all_samples(x, n_classes):
    """Return a twin with the intensity and the variance of all samples."""
    return QDATwin(*qda_shrinkage(centered_gram(x), x.shape[1], n_classes, "auto"))


# name of a classifier -> its twin at the default options, what does not depend on
# labels taken from all samples x of the region, as the classifier does
TWINS = {
    "nearest_centroid": lambda x, n_classes: NearestCentroidTwin(),
    "gaussian_nb": lambda x, n_classes: GaussianNBTwin(x.var(axis=0)),
    "ridge": lambda x, n_classes: RidgeTwin(ridge_penalty(x)),
    "lda": lambda x, n_classes: LDATwin(ridge_penalty(x)),
    "qda": _qda_of_all_samples,
    "nearest_neighbor": lambda x, n_classes: NearestNeighborTwin(),
}
