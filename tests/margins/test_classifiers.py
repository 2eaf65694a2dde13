"""Single-region classifiers: scikit-learn's rules, its predictions, our kernels."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuroextrap.margins._classifiers import (
    CentroidClassifier,
    NaiveBayesClassifier,
    NearestNeighborClassifier,
)
from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._lda import LDAMargins
from neuroextrap.margins._naive_bayes import GaussianNBMargins
from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
from neuroextrap.margins._nearest_neighbor import NearestNeighborMargins
from neuroextrap.margins._operators import (
    centered_gram,
    ledoit_wolf_intensity,
    ridge_penalty,
)
from neuroextrap.margins._qda import QDAMargins
from neuroextrap.margins._ridge import RidgeMargins
from neuroextrap.margins._shrinkage_classifiers import (
    RidgeIndicatorClassifier,
    ShrinkageLDA,
    ShrinkageQDA,
    solve_shrunk,
)

ALL = [
    CentroidClassifier(),
    NaiveBayesClassifier(),
    NearestNeighborClassifier(),
    RidgeIndicatorClassifier(),
    ShrinkageLDA(),
    ShrinkageQDA(),
]


@parametrize_with_checks(ALL)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


def unequal_design(n=40, n_classes=3, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    everything = np.arange(n)
    tests = [np.sort(order[:9]), np.sort(order[9:21]), np.sort(order[21:])]
    folds = [(np.setdiff1d(everything, test), test) for test in tests]
    folds.append((np.sort(order[:25]), np.sort(order[30:38])))
    return Design(tuple(folds), n, n_classes)


def data(p, n=40, n_classes=3, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    mix = np.eye(p) + 0.5 * rng.standard_normal((p, p)) / p**0.5
    x = rng.standard_normal((n, p)) @ mix + rng.standard_normal((n_classes, p))[y]
    return x + 3.0, y


def automatic_qda(x, n_classes):
    """Class options with which every fold uses what the whole region gives."""
    gram = centered_gram(x)
    delta = n_classes * ledoit_wolf_intensity(gram, x.shape[1])
    delta = float(np.clip(delta, 1e-4, 0.999))
    return ShrinkageQDA(shrinkage=delta / (1 - delta), variance=x.var(axis=0).mean())


PAIRS = {
    "nearest_centroid": (NearestCentroidMargins(), lambda x, k: CentroidClassifier()),
    "gaussian_nb": (
        GaussianNBMargins(),
        lambda x, k: NaiveBayesClassifier(total_variance=x.var(axis=0)),
    ),
    "ridge": (
        RidgeMargins(),
        lambda x, k: RidgeIndicatorClassifier(penalty=ridge_penalty(x)),
    ),
    "lda": (LDAMargins(), lambda x, k: ShrinkageLDA(penalty=ridge_penalty(x))),
    "qda": (QDAMargins(), automatic_qda),
    "nearest_neighbor": (
        NearestNeighborMargins(),
        lambda x, k: NearestNeighborClassifier(),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("p", "n_classes"), [(6, 3), (70, 3), (70, 2)])
def test_equals_the_batched_margins_in_every_fold(name, p, n_classes):
    kernel, make = PAIRS[name]
    x, y = data(p, n_classes=n_classes)
    design = unequal_design(n_classes=n_classes)
    state = kernel.prepare([x], design)
    batched = kernel.margins(state, Labelings(y[None], n_classes))[:, :, 0]
    single = batched.dtype == np.float32
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = make(x, n_classes).fit(x[train], y[train])
        ours, theirs = fit.margins(x[test]), batched[rows].astype(float)
        if name == "nearest_centroid":  # equal up to a number shared by the classes
            ours = ours - ours[:, :1]
            theirs = theirs - theirs[:, :1]
        size = np.abs(theirs).max()
        np.testing.assert_allclose(
            ours, theirs, rtol=0, atol=(1e-5 if single else 1e-10) * size
        )
        np.testing.assert_array_equal(fit.predict(x[test]), batched[rows].argmax(1))
        decision = fit.decision_function(x[test])
        if n_classes == 2:
            margins = fit.margins(x[test])
            np.testing.assert_allclose(decision, margins[:, 1] - margins[:, 0])
        else:
            np.testing.assert_array_equal(decision, fit.margins(x[test]))


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
    ours = ShrinkageLDA(penalty=penalty, priors="frequency").fit(x[train], y[train])
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    decision = theirs.fit(x[train], y[train]).decision_function(x[test])
    n = len(train)
    shares = np.log(np.bincount(y[train]) / n)
    # its covariance: (W + penalty I) (1 - shrinkage) / N; ours has N - K for N
    mine = (ours.margins(x[test]) - shares / (n - 3)) * n / (1 - shrinkage) + shares
    np.testing.assert_allclose(
        mine - mine[:, :1], decision - decision[:, :1], atol=1e-8
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
        ours = ShrinkageLDA(penalty=penalty).fit(x[train], y[train])
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
        theirs.fit(x[train], y[train])
        np.testing.assert_array_equal(ours.predict(x[test]), theirs.predict(x[test]))


def test_naive_bayes_equals_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    x, y = data(7)
    ours = NaiveBayesClassifier(variance_floor=0.0).fit(x[:30], y[:30])
    theirs = GaussianNB(var_smoothing=0.0).fit(x[:30], y[:30])
    np.testing.assert_allclose(
        ours.predict_proba(x[30:]), theirs.predict_proba(x[30:]), rtol=1e-8
    )


def test_qda_equals_scikit_learn_without_shrinkage():
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    x, y = data(3, n=90)
    ours = ShrinkageQDA(shrinkage=1e-12, priors="frequency").fit(x, y)
    theirs = QuadraticDiscriminantAnalysis().fit(x, y)
    agree = ours.predict(x) == theirs.predict(x)
    # covariances divided by n here and by n - 1 there: not always the same
    assert agree.mean() > 0.95


def test_probabilities_of_lda_are_gaussian_posteriors():
    from scipy.stats import multivariate_normal

    x, y = data(4)
    fit = ShrinkageLDA(penalty=2.0, priors="frequency").fit(x, y)
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
    np.testing.assert_allclose(fit.predict_proba(x), expected, rtol=1e-8)


def test_probabilities_of_qda_are_gaussian_posteriors():
    from scipy.stats import multivariate_normal

    x, y = data(50)
    fit = ShrinkageQDA(shrinkage=3.0).fit(x, y)
    logs = []
    for k in range(3):
        z = x[y == k] - x[y == k].mean(axis=0)
        covariance = 0.25 * z.T @ z / len(z) + 0.75 * fit.variance_ * np.eye(50)
        logs.append(multivariate_normal(x[y == k].mean(0), covariance).logpdf(x))
    logs = np.stack(logs, axis=1)
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.predict_proba(x), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("shape", [(5, 12), (12, 5), (6, 6)])
def test_both_forms_of_the_solver_agree(shape):
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal(shape), rng.standard_normal((shape[1], 3))
    matrix = root.T @ root + 0.3 * np.eye(shape[1])
    found = solve_shrunk(root, 0.3, right)
    np.testing.assert_allclose(matrix @ found, right, atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_any_labels_and_one_class(estimator):
    x, y = data(6)
    names = np.array(["face", "house", "shoe"])[y]
    by_name = estimator.fit(x, names).predict(x)
    np.testing.assert_array_equal(
        by_name, np.array(["face", "house", "shoe"])[estimator.fit(x, y).predict(x)]
    )
    with pytest.raises(ValueError, match="at least two classes"):
        estimator.fit(x, np.zeros(len(x), dtype=int))


@pytest.mark.parametrize(
    ("estimator", "error", "match"),
    [
        (NaiveBayesClassifier(priors="flat"), ValueError, "priors must be"),
        (NaiveBayesClassifier(variance_floor=-1), ValueError, "variance_floor must"),
        (NaiveBayesClassifier(total_variance=[1.0]), ValueError, "total_variance must"),
        (RidgeIndicatorClassifier(penalty=-1.0), ValueError, "penalty must be"),
        (RidgeIndicatorClassifier(shrinkage="lw"), ValueError, "shrinkage must be"),
        (RidgeIndicatorClassifier(shrinkage=None), TypeError, "shrinkage must be"),
        (RidgeIndicatorClassifier(penalty=0.0), ValueError, "matrix is singular"),
        (ShrinkageLDA(priors="flat"), ValueError, "priors must be"),
        (ShrinkageLDA(penalty=np.nan), ValueError, "penalty must be"),
        (ShrinkageLDA(shrinkage=None), TypeError, "shrinkage must be"),
        (ShrinkageLDA(penalty=0.0), ValueError, "matrix is singular"),
        (ShrinkageQDA(priors="flat"), ValueError, "priors must be"),
        (ShrinkageQDA(variance=0.0), ValueError, "variance must be"),
        (ShrinkageQDA(shrinkage=0.0), ValueError, "shrinkage must be > 0"),
        (ShrinkageQDA(shrinkage=None), TypeError, "shrinkage must be"),
    ],
)
def test_bad_options(estimator, error, match):
    x, y = data(50)
    with pytest.raises(error, match=match):
        estimator.fit(x, y)


def test_a_feature_constant_within_a_class():
    x, y = data(4)
    x[:, 0] = y
    with pytest.raises(ValueError, match="does not vary within a class"):
        NaiveBayesClassifier(variance_floor=0.0).fit(x, y)
    assert NaiveBayesClassifier().fit(x, y).score(x, y) == 1.0


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_not_fitted_and_wrong_width(estimator):
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError

    x, y = data(6)
    with pytest.raises(NotFittedError):
        clone(estimator).margins(x)
    with pytest.raises(ValueError, match="features"):
        clone(estimator).fit(x, y).margins(x[:, :5])


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
@pytest.mark.parametrize("name", PAIRS)
def test_real_voxels_leave_one_run_out(real_data, name):
    x, y, runs = haxby_samples(real_data("haxby2001_subject1"))
    x = x[:, np.argsort(-np.var(x, axis=0))[:200]]
    n_classes = y.max() + 1
    folds = tuple(
        (np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in np.unique(runs)
    )
    design = Design(folds, len(y), n_classes)
    kernel, make = PAIRS[name]
    margins = kernel.margins(kernel.prepare([x], design), Labelings(y[None], n_classes))
    predicted = margins[:, :, 0].argmax(axis=1)
    refitted = np.concatenate(
        [make(x, n_classes).fit(x[a], y[a]).predict(x[b]) for a, b in folds]
    )
    np.testing.assert_array_equal(predicted, refitted)
    # well above the chance of one in eight
    assert np.mean(predicted == y[design.test]) > 0.25
