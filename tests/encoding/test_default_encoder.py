"""Which encoder identifies unless another is given, by the number of stimuli."""

import numpy as np
import pytest

from neuroextrap.encoding import (
    ElasticNetEncoder,
    EncodingIdentification,
    RidgeEncoder,
    ensemble_size_curve,
)

pytestmark = pytest.mark.filterwarnings("ignore:the best alpha is the smallest")


def study(n_stimuli, n_repeats=1, seed=0):
    """Return features, responses and stimuli, the last 10 of them for the test."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n_stimuli + 10, 4)), rng.normal(size=(4, 6))
    stimuli = np.repeat(np.arange(len(X)), n_repeats)
    return X, (X @ W)[stimuli] + 2 * rng.normal(size=(len(stimuli), 6)), stimuli


@pytest.mark.parametrize(
    ("n_stimuli", "n_repeats", "kind"),
    [(99, 1, RidgeEncoder), (99, 3, RidgeEncoder), (100, 1, ElasticNetEncoder)],
)
def test_stimuli_are_counted_and_not_responses(n_stimuli, n_repeats, kind, tmp_path):
    X, Y, stimuli = study(n_stimuli, n_repeats)
    old = stimuli < n_stimuli
    model = EncodingIdentification(random_state=3).fit(X, Y[old], stimuli=stimuli[old])
    assert type(model.encoder_) is kind
    given = EncodingIdentification(encoder=kind(random_state=3), random_state=3)
    given.fit(X, Y[old], stimuli=stimuli[old])
    np.testing.assert_array_equal(model.residuals_, given.residuals_)
    for each in (model, given):
        each.identify(X[n_stimuli:], Y[~old], stimuli=stimuli[~old] - n_stimuli)
    np.testing.assert_array_equal(model.posterior(0), given.posterior(0))
    told = [note for note in model.notes_ if "the encoder is a RidgeEncoder" in note]
    assert len(told) == (kind is RidgeEncoder)
    assert not any("the encoder is" in note for note in given.notes_)
    model.to_directory(tmp_path / "saved")
    read = EncodingIdentification.from_directory(tmp_path / "saved")
    np.testing.assert_allclose(read.posterior(0), model.posterior(0), rtol=1e-6)


@pytest.mark.parametrize("n_stimuli", [80, 110])
def test_all_folds_have_the_same(n_stimuli):
    """By the stimuli of all of them: four fifths of 110 are fewer than 100."""
    X, Y, _ = study(n_stimuli - 10)
    kind = RidgeEncoder if n_stimuli < 100 else ElasticNetEncoder
    model, given = (EncodingIdentification(encoder=e) for e in (None, kind()))
    for each in (model, given):
        each.identify_folds(X, Y)
    np.testing.assert_array_equal(model.wins_, given.wins_)
    told = any("the encoder is a RidgeEncoder" in note for note in model.notes_)
    assert told == (n_stimuli < 100)


def test_curves_of_ensembles_have_the_same_default():
    X, Y, _ = study(60)
    train, test = (X[:60], Y[:60]), (X[60:], Y[60:])
    one, two = (
        ensemble_size_curve(train, test, sizes=[2, 6], encoder=e, n_draws=2)
        for e in (None, RidgeEncoder())
    )
    np.testing.assert_array_equal(one.accuracy, two.accuracy)


def test_few_stimuli_lose_nothing_to_plainer_ones():
    """54 stimuli shown once: the default, and a penalty of its own for each voxel."""
    from benchmarks.validity.encoding_models import embeddings, plain_wins
    from neuroextrap.stats import average_accuracy

    found = []
    for seed in range(4):
        X, Y = embeddings(np.random.default_rng(seed), 81, 300, 400, 0.08)
        train, test = (X[:54], Y[:54]), (X[54:], Y[54:])
        found.append([average_accuracy(plain_wins(*train, *test), [2])[0]])
        for encoder in (None, RidgeEncoder(shared_samples=0)):
            model = EncodingIdentification(encoder=encoder)
            with pytest.warns(UserWarning, match="rests on 54 residuals"):
                model.fit(*train).identify(*test)
            found[-1].append(model.region_scores_["pairwise_accuracy"][0])
    plain, default, own = np.mean(found, axis=0)
    assert default > plain - 0.02
    assert default > own + 0.03
