"""Figures of retrieval on real scores: photographs from neurons, written characters."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from neuroextrap.encoding import EncodingIdentification, GaborPyramid
from neuroextrap.scores import score_identification

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def photographs(real_data):
    """Margins of a Gabor model: responses to the last 400 photographs, identified."""
    from PIL import Image

    folder = real_data("v4_natural_images")
    responses = np.load(folder / "responses_avg_201025.npy").T
    with zipfile.ZipFile(folder / "images_201025.zip") as archive:
        names = [f"image{number:04d}.jpg" for number in range(1, 1201)]
        opened = (Image.open(io.BytesIO(archive.read(name))) for name in names)
        size = (32, 32), Image.Resampling.BOX
        gray = np.stack(
            [np.asarray(i.convert("L").resize(*size), dtype=np.float32) for i in opened]
        )
    features = GaborPyramid().fit(gray[:800]).transform(gray)
    model = EncodingIdentification(encoder=RidgeCV(np.logspace(1, 6, 11)))
    model.fit(features[:800], responses[:800])
    return model.identify(features[800:], responses[800:], groups=np.zeros(400))


@pytest.fixture(scope="module")
def characters(real_data):
    """Drawings of 242 characters: 5 to be found among the mean of 15 others of each."""
    from matplotlib.image import imread

    drawings = {}
    for path in sorted(real_data("omniglot_small").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                parts = Path(name).parts
                if name.endswith(".png") and "__MACOSX" not in parts:
                    ink = 1 - imread(io.BytesIO(archive.read(name))).reshape(105, 105)
                    small = ink.reshape(21, 5, 21, 5).mean(axis=(1, 3)).ravel()
                    drawer = int(name[-6:-4]) - 1
                    drawings.setdefault(parts[-3:-1], {})[drawer] = small
    drawings = [[d[k] for k in range(20)] for _, d in sorted(drawings.items())]
    drawings = np.array(drawings)
    return drawings[:, 15:], drawings[:, :15].mean(axis=1)


def of_some(characters, chosen, **options):
    tests, candidates = characters
    return score_identification(
        decoded=tests[chosen].reshape(-1, tests.shape[-1]),
        candidates=candidates[chosen],
        targets=np.arange(len(chosen)).repeat(5),
        metric="correlation",
        **options,
    )


def test_scores_of_an_encoding_model_give_its_own_numbers(photographs):
    found = score_identification(photographs.region_margins(0), n_permutations=99)
    own = photographs.region_scores_
    assert found.summary["accuracy"].item() == pytest.approx(own["accuracy"][0])
    bits = found.values["implied_information"]
    assert bits == pytest.approx(own["implied_information"][0])
    assert found.values["p_value"] == 0.01
    assert found.findings == ()


def test_photographs_predict_larger_pools(photographs):
    margins = photographs.region_margins(0)
    whole = score_identification(margins, set_sizes=[40, 400])
    truth = whole.summary["accuracy"].item()
    for seed in range(3):
        some = np.random.default_rng(seed).permutation(400)[:100]
        found = score_identification(margins[np.ix_(some, some)], set_sizes=400)
        last = found.curve.iloc[-1]
        assert last.lower < truth < last.upper
        ends = [found.values[f"implied_information_{e}"] for e in ("lower", "upper")]
        assert ends[0] < whole.values["implied_information"] < ends[1]


def test_top_1_falls_with_the_pool_and_bits_hardly_move(characters):
    whole = of_some(characters, np.arange(242), set_sizes=[10, 242])
    assert whole.summary["accuracy_among_10"].item() > 0.6
    assert whole.summary["accuracy"].item() < 0.3
    bits = whole.values["implied_information"]
    for n_candidates in (50, 100):
        values = []
        for seed in range(2):
            chosen = np.random.default_rng(seed).permutation(242)[:n_candidates]
            found = of_some(characters, np.sort(chosen), set_sizes=242)
            last = found.curve.iloc[-1]
            assert last.lower < whole.summary["accuracy"].item() < last.upper
            values.append(found.values["implied_information"])
        assert np.mean(values) == pytest.approx(bits, rel=0.1)
