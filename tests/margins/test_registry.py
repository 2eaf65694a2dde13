"""What every named classifier promises, and a classifier of one's own."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV
from sklearn.svm import LinearSVC

from neuroextrap import stats
from neuroextrap.decoding import IdentificationScorer, IdentificationSearchLight
from tests.margins.cases import feature_margins
from tests.margins.seam import (
    CLASSIFIERS,
    AdditiveKernel,
    Labelings,
    MarginKernel,
    NearestCentroidMargins,
    Plan,
    make_design,
    observed_margins,
    parameters,
    resolve_classifier,
    resolve_statistic,
    score_regions,
)

N_CLASSES, N_RUNS = 3, 4
RUNS = np.repeat(np.arange(N_RUNS), 2 * N_CLASSES)
Y = np.tile(np.repeat(np.arange(N_CLASSES), 2), N_RUNS)
DESIGN = make_design(Y, N_CLASSES, groups=RUNS)

#: What nilearn's decoders mean by these names, in scikit-learn's terms.
NILEARN = {
    "svc": LinearSVC(penalty="l2", max_iter=10_000, random_state=0),
    "logistic": LogisticRegressionCV(solver="liblinear", scoring="neg_log_loss"),
}

EVERY_CLASSIFIER = pytest.mark.parametrize("name", CLASSIFIERS)


def patterns(n_features=8, seed=0):
    """Samples with a pattern for every class, centered per feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_CLASSES, n_features))[Y]
    X = X + 0.5 * rng.normal(size=(len(Y), n_features))
    return (X - X.mean(axis=0)).astype(np.float32)


def design_of(kernel):
    """All folds, or one where every fold of every labeling is a fit of its own."""
    return DESIGN.some_folds(slice(0, 1)) if kernel.refits else DESIGN


@EVERY_CLASSIFIER
def test_regions_and_labelings_do_not_depend_on_their_company(name):
    """Margins have one shape and find the patterns."""
    kernel = resolve_classifier(name)
    orders = [Y, Y[::-1]] if kernel.refits else [Y, Y[::-1], Y]
    design, labelings = design_of(kernel), Labelings(orders, N_CLASSES)
    xs = [patterns(8), patterns(5, seed=1)]
    together = kernel.margins(kernel.prepare(xs, design), labelings)
    assert together.shape == (len(design.test), N_CLASSES, 2 * len(orders))
    assert np.isfinite(together).all()
    accuracy = (together[:, :, 0].argmax(axis=1) == Y[design.test]).mean()
    assert accuracy > 0.7
    together = together.reshape(-1, N_CLASSES, 2, len(orders))
    if kernel.refits:  # one fit after the other
        labelings = Labelings([Y[::-1]], N_CLASSES)
        together = together[..., 1:]
    else:
        np.testing.assert_array_equal(together[..., 0], together[..., 2])
    alone = kernel.margins(kernel.prepare(xs[1:], design), labelings)
    np.testing.assert_array_equal(together[:, :, 1], alone)


@EVERY_CLASSIFIER
def test_labels_of_test_samples_never_enter(name):
    train, test = np.flatnonzero(RUNS < 3), np.flatnonzero(RUNS == 3)
    design = make_design(Y, N_CLASSES, cv=[(train, test)])
    changed = Y.copy()
    changed[test] = changed[test][::-1]
    kernel = resolve_classifier(name)
    state = kernel.prepare([patterns()], design)
    first, second = (
        kernel.margins(state, Labelings([codes], N_CLASSES)) for codes in (Y, changed)
    )
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-5 * np.abs(first).max())


@EVERY_CLASSIFIER
def test_a_kernel_tells_itself_apart_and_says_how_it_works(name):
    kernel = resolve_classifier(name)
    assert kernel.name == name
    assert repr(kernel).startswith(f"{type(kernel).__name__}(")
    assert kernel.prefer in ("threads", "processes")
    assert kernel.workspace(100, 1, DESIGN) > 0
    assert resolve_classifier(kernel) is kernel
    if kernel.shrinks:
        assert "shrinkage=0.3" in repr(resolve_classifier(name, shrinkage=0.3))


@EVERY_CLASSIFIER
def test_the_command_line_names_it(name):
    (row,) = [row for row in parameters("searchlight") if row.name == "estimator"]
    assert name in row.option.help.replace(",", "").split()


@EVERY_CLASSIFIER
def test_the_error_names_it(name):
    with pytest.raises(ValueError, match=rf"estimator='svm' is not known.*\b{name}\b"):
        resolve_classifier("svm")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # how the penalty is spelled
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["svc", "logistic"])
def test_the_names_of_nilearn_mean_what_its_decoder_means(name, n_classes):
    """One model per class against the rest, as the user guide of nilearn says."""
    keep = n_classes > Y
    X, y, runs = patterns()[keep], Y[keep], RUNS[keep]
    design = make_design(y, n_classes, groups=runs).some_folds(slice(0, 1))
    kernel = resolve_classifier(name)
    labelings = Labelings([y], n_classes)
    margins = kernel.margins(kernel.prepare([X], design), labelings)[:, :, 0]
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        for label in range(n_classes):
            model = clone(NILEARN[name])
            model.fit(X[train], (y[train] == label).astype(int))
            np.testing.assert_allclose(
                margins[rows, label],
                model.decision_function(X[test]),
                atol=1e-3 * np.abs(margins).max(),
            )


@pytest.mark.filterwarnings("ignore::FutureWarning")  # how the penalty is spelled
@pytest.mark.parametrize("n_samples", [2, 4, 6])
def test_logistic_has_no_more_inner_folds_than_samples_of_a_class(n_samples):
    y, X = np.tile([0, 1], n_samples + 1), patterns()[: 2 * n_samples + 2]
    design = make_design(y, 2, cv=[(np.arange(2, len(y)), np.arange(2))])
    kernel = resolve_classifier("logistic")
    margins = kernel.margins(kernel.prepare([X], design), Labelings([y], 2))
    model = clone(NILEARN["logistic"]).set_params(cv=min(5, n_samples))
    expected = model.fit(X[2:], y[2:]).decision_function(X[:2])
    np.testing.assert_allclose(margins[:, 1, 0], expected, rtol=1e-3)


def test_logistic_cannot_choose_a_penalty_from_single_samples():
    y, X = np.array([0, 1, 0, 1]), patterns()[:4]
    design = make_design(y, 2, groups=[0, 0, 1, 1])
    kernel = resolve_classifier("logistic")
    with pytest.raises(ValueError, match="a single training sample; give more"):
        kernel.margins(kernel.prepare([X], design), Labelings([y], 2))


class SignMargins(AdditiveKernel):
    """Product with the sign of the class mean: a sum over features."""

    name = "sign"

    def __init__(self, *, scale=1.0):
        self.scale = scale

    def margins_of_folds(self, X, codes, design, folds):
        for some in folds:
            out = [
                X[test, :, None] * self._signs(X[train], codes[train]).T
                for train, test in design.folds[some]
            ]
            yield np.concatenate(out).transpose(1, 0, 2).astype(np.float32)

    def prepare(self, xs, design):
        return xs, design

    def margins(self, state, labelings):
        xs, design = state
        columns = [
            feature_margins(self, x, codes, design).sum(axis=0, dtype=float)
            for x in xs
            for codes in labelings.codes
        ]
        return np.stack(columns, axis=-1)

    def _signs(self, x, codes):
        labels = range(N_CLASSES)
        return self.scale * np.sign([x[codes == k].mean(axis=0) for k in labels])


@pytest.mark.parametrize("by_sums", [False, True])
def test_an_additive_classifier_of_ones_own(by_sums):
    members = np.random.default_rng(1).random((9, 40)) < 0.3
    regions, X = scipy.sparse.csr_array(members), patterns(40)
    codes = np.concatenate(
        [Y[None], stats.permute_labels(Y, groups=RUNS, n_permutations=5)]
    )
    statistic = resolve_statistic("accuracy", N_CLASSES, [2])
    plan = Plan(SignMargins(), DESIGN, codes, statistic, by_sums=by_sums)
    scores = score_regions(X, regions, plan)
    for region in (0, 8):
        x = X[:, regions[[region]].indices]
        alone = SignMargins().margins(([x], DESIGN), Labelings([Y], N_CLASSES))
        wins = stats.win_distribution(alone[:, :, 0], Y[DESIGN.test])
        np.testing.assert_allclose(scores.wins[region], wins, atol=1e-12)
        margins = observed_margins(X, regions, plan, region)
        np.testing.assert_allclose(margins, alone[:, :, 0], rtol=1e-5, atol=1e-5)


def test_defaults_of_additive_classifiers():
    kernel = SignMargins(scale=2.0)
    assert repr(kernel) == "SignMargins(scale=2.0)"
    assert not kernel.constant(Y, DESIGN).any()


def test_a_kernel_as_estimator_equals_its_name():
    X = patterns()
    for estimator in ("nearest_centroid", NearestCentroidMargins()):
        light = IdentificationSearchLight(estimator=estimator, n_permutations=20)
        light.fit(X, Y, groups=RUNS)
        scorer = IdentificationScorer(estimator).fit(X, Y, groups=RUNS)
        accuracy = scorer.score(X, Y, groups=RUNS)
        np.testing.assert_allclose(light.region_scores_["accuracy"], accuracy)


def test_a_kernel_without_margins_cannot_be_made():
    class Half(MarginKernel):
        def prepare(self, xs, design):
            return xs

    with pytest.raises(TypeError, match="margins"):
        Half()
