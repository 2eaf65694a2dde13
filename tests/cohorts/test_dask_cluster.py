"""Participants on a Dask cluster: the same results as on this machine."""

import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight

distributed = pytest.importorskip("distributed")


def test_participants_on_a_cluster_are_those_of_this_machine(betas, tmp_path):
    words = ["bids", str(betas("series")), str(tmp_path / "here"), "participant"]
    options = ["--samples", "betas", "--radius", "4", "--n-permutations", "20"]
    options += ["--no-report", "--quiet"]
    assert main([*words, *options]) == 0
    quiet = {
        "silence_logs": 50,
        "dashboard_address": "127.0.0.1:0",
        "processes": False,
        "protocol": "tcp://",
    }
    words[2] = str(tmp_path / "there")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **quiet) as local:
        before = local.scheduler.transition_counter
        assert main([*words, *options, "--dask", local.scheduler_address]) == 0
        assert local.scheduler.transition_counter > before  # it did the work
        # nothing is left to do: the cluster does nothing
        done = local.scheduler.transition_counter
        assert main([*words, *options, "--dask", local.scheduler_address]) == 0
        assert local.scheduler.transition_counter == done
    for label in ("01", "02"):
        here, there = (
            IdentificationSearchLight.from_directory(tmp_path / name / f"sub-{label}")
            for name in ("here", "there")
        )
        np.testing.assert_array_equal(here.wins_, there.wins_)
        for name, img in here.maps_.items():
            np.testing.assert_array_equal(
                img.get_fdata(), there.maps_[name].get_fdata()
            )
