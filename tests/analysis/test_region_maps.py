"""The one container of maps: its files, whatever it holds, and its page."""

import json

import numpy as np
import pandas as pd
import pytest
from nibabel import Nifti1Image

from neuroextrap.decoding import (
    IdentificationSearchLight,
    compare_decoders,
    lesion_identification,
)
from neuroextrap.group import second_level_test
from neuroextrap.maps import read_maps
from tests.analysis.seam import RegionMaps


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(3), 12), np.repeat(np.arange(6), 6)
    return rng.normal(size=(36, 8)) + 2 * np.eye(3, 8)[y], y, runs


def test_arrays_are_written_as_a_table(samples, tmp_path):
    X, y, runs = samples
    one, two = (
        IdentificationSearchLight(estimator=name).fit(X, y, groups=runs)
        for name in ("nearest_centroid", "lda")
    )
    found = compare_decoders(one, two, n_permutations=20)
    found.to_directory(tmp_path / "out")
    assert not (tmp_path / "out" / "maps.json").exists()
    table = pd.read_csv(tmp_path / "out" / "comparison.tsv", sep="\t")
    pd.testing.assert_frame_equal(table, found.table_, rtol=1e-12)


def test_lesions_have_files_and_no_page(samples, tmp_path):
    X, y, runs = samples
    regions = np.repeat(np.eye(2), 4, axis=1) > 0
    light = IdentificationSearchLight(regions=regions, random_state=3)
    found = lesion_identification(light, X, y, runs)
    found.to_directory(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "table.tsv", sep="\t", dtype={"name": str})
    pd.testing.assert_frame_equal(table, found.table_, rtol=1e-12, check_dtype=False)
    about = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert about["random_state"] == 3
    with pytest.raises(ValueError, match="no page is made of such maps"):
        found.generate_report()


def test_maps_over_subjects_are_written_with_their_records(tmp_path):
    rng = np.random.default_rng(0)
    imgs = [Nifti1Image(rng.normal(size=(3, 3, 2)), np.eye(4)) for _ in range(6)]
    found = second_level_test(imgs, n_permutations=20)
    found.to_directory(tmp_path / "out")
    read = read_maps(tmp_path / "out")
    assert read.keys() == found.keys()
    sidecar = json.loads((tmp_path / "out" / "effect.json").read_text())
    assert sidecar["description"] == "Estimate of the contrast over subjects"
    assert sidecar["parameters"]["test"] == "second_level"


def test_nothing_to_write_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="plain arrays have no images to write"):
        RegionMaps({"accuracy": np.ones(3)}).to_directory(tmp_path / "out")
    assert not (tmp_path / "out").exists()
