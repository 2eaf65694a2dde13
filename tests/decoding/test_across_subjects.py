"""Leave one subject out: groups are subjects, and classes change names within each."""

import nibabel
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight

SHAPE, K, N = (3, 3, 3), 4, 6


def simulate(seed, *, shared):
    """Trials of six subjects, whose codes are the same or their own."""
    rng = np.random.default_rng(seed)
    codes = 2 * rng.normal(size=(1 if shared else N, K, 1, *SHAPE))
    levels = 5 * rng.normal(size=(N, 1, 1, *SHAPE))
    return levels + codes + rng.normal(size=(N, K, 5, *SHAPE))


def of_means(X, **options):
    """A searchlight of each subject's mean of each condition."""
    means = X.mean(axis=2).reshape(N * K, -1)
    y, subjects = np.tile(np.arange(K), N), np.repeat(np.arange(N), K)
    light = IdentificationSearchLight(within_runs="center", bounds=None, **options)
    return light.fit(means, y, groups=subjects)


def by_hand(X, names):
    """Accuracy of nearest centroids of the others; `names` of the classes of each."""
    means = X.mean(axis=2).reshape(N, K, -1)
    means = means - means.mean(axis=1, keepdims=True)
    renamed = np.stack([own[order] for own, order in zip(means, names, strict=True)])
    right = 0
    for subject in range(N):
        others = np.delete(renamed, subject, axis=0)
        centroids = others.mean(axis=0)
        distances = ((renamed[subject][:, None] - centroids) ** 2).sum(axis=-1)
        right += (distances.argmin(axis=1) == np.arange(K)).sum()
    return round(right / (N * K), 6)


def average(light):
    """How often the largest margin is the right class's, of shape ()."""
    confusion = light.confusion_matrix(0)
    return np.trace(confusion) / confusion.sum()


@pytest.mark.parametrize("shared", [True, False])
def test_subjects_are_left_out(shared):
    X = simulate(0, shared=shared)
    light = of_means(X, n_permutations=50)
    assert average(light) == pytest.approx(by_hand(X, plain_names()))
    assert (light.region_scores_["p_value"][0] < 0.05) == shared


def test_names_are_exchanged_within_subjects():
    """The null is that of classes renamed in each subject, by its own draws."""
    X = simulate(1, shared=True)
    null = of_means(X, n_permutations=400).null_maxima_.ravel().round(6)
    rng = np.random.default_rng(2)
    twin = [by_hand(X, rng.permuted(plain_names(), axis=1)) for _ in range(400)]
    assert np.mean(twin) == pytest.approx(1 / K, abs=0.02)
    assert ks_2samp(null, twin).pvalue > 1e-3


def plain_names():
    return np.tile(np.arange(K), (N, 1))


def test_a_table_names_the_subject_of_every_image(tmp_path):
    """On the command line: subjects are the runs, conditions are averaged in each."""
    X, rows, files = simulate(3, shared=True), [], []
    for subject in range(N):
        data = np.moveaxis(X[subject].reshape(K * 5, *SHAPE), 0, -1)
        path = tmp_path / f"sub-{subject + 1:02d}.nii.gz"
        nibabel.save(nibabel.Nifti1Image(data, np.eye(4)), path)
        files.append(str(path))
        rows += [
            (f"c{k}", f"sub-{subject + 1:02d}") for k in range(K) for _ in range(5)
        ]
    table = tmp_path / "trials.tsv"
    frame = pd.DataFrame(rows, columns=["trial_type", "run"])
    frame.to_csv(table, sep="\t", index=False)
    mask = tmp_path / "mask.nii.gz"
    nibabel.save(nibabel.Nifti1Image(np.ones(SHAPE, "uint8"), np.eye(4)), mask)
    words = ["searchlight", "--imgs", *files, "--events", str(table)]
    words += ["--mask", str(mask), "--radius", "9", "--within-runs", "center"]
    words += ["--bounds", "none", "--quiet", str(tmp_path / "out")]
    assert main(words) == 0
    found = IdentificationSearchLight.from_directory(tmp_path / "out")
    expected = of_means(X).wins_[0]
    np.testing.assert_allclose(found.wins_, np.tile(expected, (27, 1)), atol=1e-12)
    assert found.results_.n_test == N * K
