"""Batched classifiers against their naive twins, and the twins against others."""

import numpy as np
import pytest
from scipy.special import softmax

from tests.margins.cases import unequal_design
from tests.margins.seam import CLASSIFIERS, Design, Labelings, resolve_classifier
from tests.margins.twins import (
    TWINS,
    GaussianNBTwin,
    LDATwin,
    QDATwin,
    solve_shrunk,
)


def data(p, n=40, n_classes=3, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    mix = np.eye(p) + 0.5 * rng.standard_normal((p, p)) / p**0.5
    x = rng.standard_normal((n, p)) @ mix + rng.standard_normal((n_classes, p))[y]
    return x + 3.0, y


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize(("p", "n_classes"), [(6, 3), (70, 3), (70, 2)])
def test_equals_the_twin_in_every_fold(name, p, n_classes):
    kernel = resolve_classifier(name)
    x, y = data(p, n_classes=n_classes)
    design = unequal_design(n_classes=n_classes)
    state = kernel.prepare([x], design)
    batched = kernel.margins(state, Labelings(y[None], n_classes))[:, :, 0]
    single = batched.dtype == np.float32
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        twin = TWINS[name](x, n_classes).fit(x[train], y[train])
        expected, margins = twin.margins(x[test]), batched[rows].astype(float)
        if name in ("nearest_centroid", "ridge"):  # but for what classes share
            expected = expected - expected[:, :1]
            margins = margins - margins[:, :1]
        size = np.abs(margins).max()
        np.testing.assert_allclose(
            expected, margins, rtol=0, atol=(1e-5 if single else 1e-10) * size
        )
        np.testing.assert_array_equal(twin.predict(x[test]), batched[rows].argmax(1))


def test_margins_of_one_labeling_are_exact_to_the_last_bits():
    """A win by a hair is one whether or not labels are permuted for a p-value."""
    n_classes, p = 96, 31
    y, last = np.tile(np.arange(n_classes), 4), np.repeat(np.arange(4), n_classes) == 3
    x = np.random.default_rng(0).standard_normal((len(y), p)).astype(np.float32)
    x -= x.mean(axis=0)
    design = Design(((np.flatnonzero(~last), np.flatnonzero(last)),), len(y), n_classes)
    kernel = resolve_classifier("nearest_centroid")
    state = kernel.prepare([x], design)
    margins = kernel.margins(state, Labelings(y[None], n_classes))[:, :, 0]
    x = x.astype(float)
    means = np.stack([x[~last & (y == label)].mean(axis=0) for label in range(96)])
    expected = 2 * x[last] @ means.T - np.square(means).sum(axis=1)
    spacing = np.spacing(np.float32(np.abs(expected).max()))
    np.testing.assert_allclose(margins, expected, rtol=0, atol=spacing)


def test_every_classifier_has_a_twin_or_is_one_of_scikit_learn():
    assert set(CLASSIFIERS) == {*TWINS, "svc", "logistic"}


@pytest.mark.parametrize("p", [5, 60])
@pytest.mark.parametrize("shrinkage", [0.1, 0.7])
def test_lda_equals_scikit_learn_at_the_same_shrinkage(p, shrinkage):
    """Its covariance, W / N mixed with its mean variance, is ours up to scale."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    x, y = data(p)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)  # unbalanced
    train, test = np.arange(30), np.arange(30, 40)
    within = x[train] - np.stack([x[train][y[train] == k].mean(0) for k in y[train]])
    # scikit-learn mixes each class's covariance with that class's mean variance;
    # pooled, that is W with the mean variance of W
    scatter = np.square(within).sum() / p
    penalty = shrinkage / (1 - shrinkage) * scatter
    ours = LDATwin(penalty, priors="frequency").fit(x[train], y[train])
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    decision = theirs.fit(x[train], y[train]).decision_function(x[test])
    n = len(train)
    shares = np.log(np.bincount(y[train]) / n)
    # its covariance: (W + penalty I) (1 - shrinkage) / N; ours has N - K for N
    scaled = (ours.margins(x[test]) - shares / (n - 3)) * n / (1 - shrinkage) + shares
    np.testing.assert_allclose(
        scaled - scaled[:, :1], decision - decision[:, :1], atol=1e-8
    )


@pytest.mark.parametrize("p", [5, 60])
def test_lda_predictions_equal_scikit_learn_with_balanced_classes(p):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    x, y = data(p, n=60)
    train = np.concatenate([np.flatnonzero(y == k)[:12] for k in range(3)])
    test = np.setdiff1d(np.arange(60), train)
    means = np.stack([x[train][y[train] == k].mean(axis=0) for k in range(3)])
    scatter = np.square(x[train] - means[y[train]]).sum() / p
    for shrinkage in (0.05, 0.5, 0.9):
        penalty = shrinkage / (1 - shrinkage) * scatter
        ours = LDATwin(penalty).fit(x[train], y[train])
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
        theirs.fit(x[train], y[train])
        np.testing.assert_array_equal(ours.predict(x[test]), theirs.predict(x[test]))


def test_naive_bayes_equals_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    x, y = data(7)
    y[:30] = np.arange(30) % 3  # of equal classes, which are not leveled
    ours = GaussianNBTwin(x.var(axis=0), variance_floor=0.0).fit(x[:30], y[:30])
    theirs = GaussianNB(priors=np.full(3, 1 / 3), var_smoothing=0.0)
    theirs.fit(x[:30], y[:30])
    np.testing.assert_allclose(
        softmax(ours.margins(x[30:]), axis=1), theirs.predict_proba(x[30:]), rtol=1e-8
    )


def test_qda_equals_scikit_learn_without_shrinkage():
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    x, y = data(3, n=90)
    ours = QDATwin(1e-12, x.var(axis=0).mean(), priors="frequency").fit(x, y)
    theirs = QuadraticDiscriminantAnalysis().fit(x, y)
    agree = ours.predict(x) == theirs.predict(x)
    # covariances divided by n here and by n - 1 there: not always the same
    assert agree.mean() > 0.95


def test_probabilities_of_lda_are_gaussian_posteriors():
    from scipy.stats import multivariate_normal

    x, y = data(4)
    fit = LDATwin(2.0, priors="frequency").fit(x, y)
    means = np.stack([x[y == k].mean(axis=0) for k in range(3)])
    within = (x - means[y]).T @ (x - means[y]) + 2.0 * np.eye(4)
    densities = np.stack(
        [
            multivariate_normal(mean, within / (len(x) - 3)).pdf(x) * np.mean(y == k)
            for k, mean in enumerate(means)
        ],
        axis=1,
    )
    expected = densities / densities.sum(axis=1, keepdims=True)
    posterior = softmax(fit.scale * fit.margins(x), axis=1)
    np.testing.assert_allclose(posterior, expected, rtol=1e-8)


def test_probabilities_of_qda_are_gaussian_posteriors():
    from scipy.stats import multivariate_normal

    x, y = data(50, n=39)
    fit = QDATwin(0.75, x.var(axis=0).mean()).fit(x, y)
    logs = []
    for k in range(3):
        z = x[y == k] - x[y == k].mean(axis=0)
        covariance = 0.25 * z.T @ z / len(z) + 0.75 * fit.variance * np.eye(50)
        logs.append(multivariate_normal(x[y == k].mean(0), covariance).logpdf(x))
    logs = np.stack(logs, axis=1)
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    posterior = softmax(fit.margins(x), axis=1)
    np.testing.assert_allclose(posterior, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 12), (12, 5), (6, 6)])
def test_both_forms_of_the_solver_agree(shape):
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal(shape), rng.standard_normal((shape[1], 3))
    matrix = root.T @ root + 0.3 * np.eye(shape[1])
    solution = solve_shrunk(root, 0.3, right)
    np.testing.assert_allclose(matrix @ solution, right, atol=1e-12)


def haxby_samples(folder):
    """One slice of Haxby et al. 2001: every block's mean volume, category and run."""
    import nibabel

    bold = np.asarray(nibabel.load(folder / "bold.nii.gz").dataobj, dtype=float)
    bold = bold.reshape(-1, bold.shape[-1])
    bold = bold[bold.mean(axis=1) > bold.mean()]
    lines = np.loadtxt(folder / "attributes_literal.txt", dtype=str)
    stimulus, run = lines[:, 0], lines[:, 1].astype(int)
    samples, names, runs = [], [], []
    for r in np.unique(run):
        inside = bold[:, run == r]
        inside = (inside - inside.mean(axis=1, keepdims=True)) / inside.std()
        for name in np.unique(stimulus[(run == r) & (stimulus != "rest")]):
            samples.append(inside[:, stimulus[run == r] == name].mean(axis=1))
            names.append(name)
            runs.append(r)
    return np.array(samples), np.unique(names, return_inverse=True)[1], np.array(runs)


@pytest.mark.real_data
@pytest.mark.parametrize("name", TWINS)
def test_real_voxels_leave_one_run_out(real_data, name):
    x, y, runs = haxby_samples(real_data("haxby2001_subject1"))
    x = x[:, np.argsort(-np.var(x, axis=0))[:200]]
    n_classes = y.max() + 1
    folds = tuple(
        (np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in np.unique(runs)
    )
    design = Design(folds, len(y), n_classes)
    kernel, make = resolve_classifier(name), TWINS[name]
    margins = kernel.margins(kernel.prepare([x], design), Labelings(y[None], n_classes))
    predicted = margins[:, :, 0].argmax(axis=1)
    refitted = np.concatenate(
        [make(x, n_classes).fit(x[a], y[a]).predict(x[b]) for a, b in folds]
    )
    np.testing.assert_array_equal(predicted, refitted)
    # well above the chance of one in eight
    assert np.mean(predicted == y[design.test]) > 0.25
