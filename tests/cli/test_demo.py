"""The demo: estimates near the truth, bounds below it, everything written."""

import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from tests.cli.seam import _demo_acts


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Folder of a demo of 1,084 spheres of about 30 voxels."""
    out = tmp_path_factory.mktemp("demo") / "out"
    words = ["demo", str(out), "--quick", "--n-permutations", "19", "--quiet"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_demo_acts, "QUICK", _demo_acts.Size(12, 24))
        assert main([*words, "--n-jobs", "1"]) == 0
    return out


@pytest.fixture(params=["act_a_8_categories", "act_b_96_stimuli"])
def table(request, played):
    return pd.read_csv(played / request.param / "truth.tsv", sep="\t")


def test_accuracy_is_within_four_errors_of_the_truth(table):
    error = np.maximum(table["standard_error"], 0.02)
    assert (np.abs(table["accuracy"] - table["true_accuracy"]) < 4 * error).all()


def test_implied_information_follows_the_truth(table):
    assert (np.diff(table["implied_information"]) > 0).all()
    ratio = table["implied_information"] / table["true_implied_information"]
    assert ratio.between(0.5, 2).all()


def test_training_loses_information(table):
    assert (table["usable_information"] < table["planted_information"]).all()
    assert (table["true_accuracy"] < table["true_average_bayes_accuracy"]).all()


def test_bounds_lie_below_the_truth(table):
    assert (table["information_bound"] <= table["planted_information"]).all()
    assert (table["information_bound_fwe"] <= table["information_bound"]).all()
    bayes = table["true_average_bayes_accuracy"]
    assert (table["average_bayes_accuracy_bound"] <= bayes).all()


def test_strong_spheres_are_found_family_wise(table):
    assert (table["p_value_fwe"].iloc[1:] == 1 / 20).all()


def test_many_stimuli_allow_a_bound_on_information(played):
    table = pd.read_csv(played / "act_b_96_stimuli" / "truth.tsv", sep="\t")
    assert (table["information_bound_fwe"].iloc[1:] > 1).all()


def test_page_says_that_few_categories_bound_nothing(played):
    page = (played / "report.html").read_text(encoding="utf-8")
    assert "With 8 classes the simultaneous bound on average Bayes accuracy" in page
    assert "too few classes were sampled to say much about others" in page
    assert "bayes_accuracy_bound" in page
    assert page.count("observed and true curves") == 12  # alt and caption


def test_page_begins_with_what_was_found(played):
    page = (played / "report.html").read_text(encoding="utf-8")
    main = page.index("<main")
    verdict = page.index("Above chance in", main)
    assert main < verdict < page.index("Truth and estimate", main)
    assert len(page) < 3e6


def test_output_is_checked_before_the_work(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("precious")
    assert main(["demo", str(tmp_path)]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_truth_and_estimate_are_printed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_demo_acts, "ACTS", _demo_acts.ACTS[:1])
    no_page = _demo_acts.make_page("No figures", [])
    monkeypatch.setattr(_demo_acts, "demo_page", lambda played: no_page)
    words = ["demo", str(tmp_path / "out"), "--quick", "--n-permutations", "0"]
    words += ["--n-jobs", "1"]
    assert main(words) == 0
    said = capsys.readouterr().out.lower()
    for heading in ("planted", "usable", "implied", "bound", "true", "chance"):
        assert heading in said
