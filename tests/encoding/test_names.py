"""Stimuli and columns are known by their names, whatever their order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.encoding import EncodingIdentification, RidgeEncoder
from tests.encoding.seam import stimulus_numbers

N_TRAIN, N_TEST, N_REPEATS = 40, 12, 3


@pytest.fixture
def study():
    """Feature table by name, responses to each stimulus thrice, and their names."""
    rng = np.random.default_rng(0)
    names = np.array([f"photo {i}" for i in range(N_TRAIN + N_TEST)])
    features = rng.normal(size=(len(names), 6)) * np.arange(1, 7)
    columns = [f"feature {letter}" for letter in "abcdef"]
    shown = rng.permutation(np.repeat(np.arange(len(names)), N_REPEATS))
    responses = (features @ rng.normal(size=(6, 15)))[shown]
    responses += 6 * rng.normal(size=responses.shape)
    table = pd.DataFrame(features, index=names, columns=columns)
    return table, responses, shown


def analyzed(study, train_table, test_table, **options):
    table, responses, shown = study
    names = table.index.to_numpy()[shown]
    old = shown < N_TRAIN
    model = EncodingIdentification(
        encoder=RidgeEncoder(), n_permutations=19, statistic=3, **options
    )
    model.fit(train_table, responses[old], stimuli=names[old])
    runs = np.zeros(np.sum(~old))
    return model.identify(test_table, responses[~old], runs, stimuli=names[~old])


@pytest.mark.parametrize("repeats", ["average", "keep"])
def test_rows_of_named_tables_may_come_in_any_order(study, repeats):
    table = study[0]
    parts = table.iloc[:N_TRAIN], table.iloc[N_TRAIN:]
    plain = analyzed(study, *parts, repeats=repeats)
    for seed in range(3):
        shuffled = [part.sample(frac=1, random_state=seed) for part in parts]
        model = analyzed(study, *shuffled, repeats=repeats)
        np.testing.assert_array_equal(model.residuals_, plain.residuals_)
        np.testing.assert_array_equal(model.encoder_.coef_, plain.encoder_.coef_)
        for name, values in plain.region_scores_.items():
            np.testing.assert_array_equal(model.region_scores_[name], values, name)
        assert model.test_stimuli_.tolist() == plain.test_stimuli_.tolist()
        place = [list(model.classes_).index(name) for name in plain.classes_]
        np.testing.assert_allclose(
            model.region_margins(0)[:, place], plain.region_margins(0), rtol=1e-6
        )
    # stimuli that have no response change nothing
    more = analyzed(study, table, parts[1], repeats=repeats)
    np.testing.assert_array_equal(more.residuals_, plain.residuals_)


def test_folds_do_not_depend_on_the_order_of_a_named_table(study):
    table, responses, shown = study
    names = table.index.to_numpy()[shown]
    found = []
    for seed in (None, 0, 1):
        mixed = table if seed is None else table.sample(frac=1, random_state=seed)
        model = EncodingIdentification(encoder=RidgeEncoder())
        model.identify_folds(mixed, responses, stimuli=names)
        found.append((model.test_stimuli_.tolist(), model.wins_.tolist()))
        rows = np.array([mixed.index.get_loc(name) for name in names])
        model.identify_folds(mixed, responses, stimuli=rows)
        found.append((model.test_stimuli_.tolist(), model.wins_.tolist()))
    assert all(each == found[0] for each in found)


def test_names_rows_and_rows_of_features_are_one_analysis(study):
    table, responses, shown = study
    old = shown < N_TRAIN
    models = [
        EncodingIdentification(encoder=RidgeEncoder()).fit(*args, **options)
        for args, options in (
            ((table, responses[old]), {"stimuli": table.index.to_numpy()[shown[old]]}),
            ((table.to_numpy(), responses[old]), {"stimuli": shown[old]}),
            ((table.to_numpy()[shown[old]], responses[old]), {}),
        )
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.residuals_, models[0].residuals_)
        np.testing.assert_array_equal(model.encoder_.coef_, models[0].encoder_.coef_)


def test_what_was_trained_on_is_known_by_name_and_by_features(study):
    table, responses, shown = study
    old = shown < N_TRAIN
    names = table.index.to_numpy()[shown]
    model = EncodingIdentification(encoder=Ridge())
    model.fit(table, responses[old], stimuli=names[old])
    test = table.iloc[N_TRAIN:]
    renamed = test.rename(index={"photo 45": "photo 7"})
    with pytest.raises(ValueError, match=r"1 of 12 test stimuli .*first: 'photo 7'"):
        model.identify(renamed, responses[~old], stimuli=shown[~old] - N_TRAIN)
    copied = test.copy()
    copied.iloc[3] = table.iloc[5] * (1 + 1e-6)  # computed anew
    with pytest.raises(ValueError, match=r"1 of 12 test stimuli .*first: 'photo 43'"):
        model.identify(copied, responses[~old], stimuli=names[~old])
    with pytest.raises(ValueError, match=r"1 of 12 test stimuli .*first: row 3"):
        EncodingIdentification(encoder=Ridge()).fit(
            table.to_numpy()[shown[old]], responses[old]
        ).identify(copied.to_numpy(), responses[~old], stimuli=shown[~old] - N_TRAIN)
    twins = table.copy()
    twins.iloc[6] = table.iloc[5]
    with pytest.raises(ValueError, match="have the same features, so that one"):
        model.fit(twins, responses[old], stimuli=names[old])
    with pytest.raises(ValueError, match="'elsewhere' is not in the index"):
        model.fit(table, responses[old], stimuli=np.where(old[old], "elsewhere", ""))
    with pytest.raises(ValueError, match="stimuli must be rows of features, 0 to 51"):
        model.fit(table.to_numpy(), responses[old], stimuli=shown[old] + 40)
    with pytest.raises(ValueError, match="stimuli"):
        model.fit(table, responses[old], stimuli=names[old][:-1])


def test_repeats_may_be_rounded_differently(study):
    """The same analysis, whether features of repeats agree to the last bit or not."""
    table, responses, shown = study
    old = shown < N_TRAIN
    features = table.to_numpy()[shown[old]]
    noise = 1e-7 * np.random.default_rng(1).normal(size=features.shape)
    one, two = (
        EncodingIdentification(encoder=RidgeEncoder()).fit(X, responses[old])
        for X in (features, features + noise)
    )
    np.testing.assert_allclose(one.residuals_, two.residuals_, atol=1e-3)
    assert any("keeps the repeats" in note for note in two._training.notes)
    apart = EncodingIdentification(encoder=RidgeEncoder()).fit(
        features + 1e4 * noise, responses[old]
    )
    assert not any("keeps the repeats" in note for note in apart._training.notes)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 8, 300])
def test_numbers_of_stimuli_equal_all_comparisons(n_columns):
    rng = np.random.default_rng(n_columns)
    base = rng.normal(size=(60, n_columns)) * np.logspace(-3, 3, n_columns)
    base[:20] = np.round(base[:20])
    X = base[rng.integers(60, size=150)]
    X = X + 1e-6 * rng.uniform(-1, 1, size=X.shape) * np.abs(X).max(axis=0)
    X[:10], X[10:20] = base[:10], -0.0 * base[10:20]
    gap = np.abs(X[:, None] - X)
    alike = (gap == 0).all(axis=2)
    if n_columns > 2:
        alike |= (gap <= 1e-5 * np.abs(X).max(axis=0)).all(axis=2)
    first = alike.argmax(axis=1)
    _, expected = np.unique(first, return_inverse=True)
    np.testing.assert_array_equal(stimulus_numbers(X), expected)


@pytest.mark.parametrize("way", ["fit", "identify", "folds"])
def test_numbers_in_an_index_are_not_taken_for_rows(way):
    """Identifiers 0..n-1 of a shuffled table are in range, and would be other rows."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 6))
    order = rng.permutation(30)
    table, model = (
        pd.DataFrame(X[order], index=order),
        EncodingIdentification(encoder=RidgeEncoder()),
    )
    calls = {
        "fit": model.fit,
        "folds": model.identify_folds,
        "identify": model.fit(X[30:], Y[30:]).identify,
    }
    with pytest.raises(ValueError, match=r"is a number in the index .* in row"):
        calls[way](table, Y[:30], stimuli=np.arange(30))
    named = table.set_axis(table.index.astype(str))
    calls[way](named, Y[:30], stimuli=np.arange(30).astype(str))
    calls[way](table.reset_index(drop=True), Y[:30], stimuli=np.argsort(order))
    calls[way](table.set_axis(100 + order), Y[:30], stimuli=np.argsort(order))
    calls[way](table, Y[order])


def test_messages_name_stimuli_and_columns():
    X, Y = np.random.default_rng(0).normal(size=(2, 20, 5))
    X[7] = X[3]
    table = pd.DataFrame(X, index=[f"p{i}" for i in range(20)], columns=[*"abcde"])
    model = EncodingIdentification(encoder=RidgeEncoder())
    with pytest.raises(ValueError, match="stimuli 3 and 7 have the same features"):
        model.fit(X, Y, stimuli=np.arange(20))
    with pytest.raises(ValueError, match="stimuli 'p3' and 'p7' have the same"):
        model.fit(table, Y, stimuli=table.index)
    table.loc["p2", "d"] = np.nan
    with pytest.raises(ValueError, match=r"in 1 columns \(first: d\)"):
        model.fit(table, Y)
