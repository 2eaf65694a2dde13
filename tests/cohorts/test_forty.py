"""Forty participants from two commands."""

import numpy as np
import pytest

from neuroextrap.cli import main
from neuroextrap.maps import read_maps


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* leave p_value_prevalence")
def test_forty_participants_from_two_commands(forty, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["bids", str(forty), str(out)]
    options = ["--samples", "blocks", "--delay", "4", "--radius", "4", "--no-report"]
    options += ["--n-permutations", "20", "--save-null", "--quiet"]
    assert main([*words, "participant", *options]) == 1  # one failed, and is named
    lines = capsys.readouterr().out.splitlines()
    assert sum(": done, " in line for line in lines) == 39
    assert [line[:14] for line in lines if ": failed" in line] == ["sub-05: failed"]
    given = ["--n-permutations", "999", "--quiet", "--allow-mixed", "runs"]
    assert main([*words, "group", *given]) == 0
    assert "38 subjects, 47 voxels" in capsys.readouterr().out
    index = (out / "index.html").read_text(encoding="utf-8")
    assert all(f"sub-{number:02d}" in index for number in range(1, 41))
    assert "its conditions are chair dog face house" in index
    [listed] = (out / "group").glob("*desc-accuracyMaps_stat.json")
    maps = read_maps(listed)
    values = [
        read_maps(out / f"sub-{number:02d}" / "func")["accuracy"].get_fdata()
        for number in range(1, 41)
        if number not in (5, 6)
    ]
    np.testing.assert_allclose(
        maps["effect"].get_fdata(), np.mean(values, axis=0) - 1 / 4, rtol=1e-5
    )
    assert np.nanmin(maps["p_value_fwe"].get_fdata()) == 1 / 1000
    [listed] = (out / "group").glob("*desc-prevalenceMaps_stat.json")
    assert np.nanmax(read_maps(listed)["prevalence_bound"].get_fdata()) > 0.5
