"""Films and stories of every participant, from files that names bring together."""

import shutil
import tomllib
import warnings

import nibabel
import numpy as np
import pandas as pd
import pytest

from neuroextrap.cli import main
from neuroextrap.cohorts import analyze_group, analyze_participants
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import ContinuousEncoding
from neuroextrap.maps import read_maps
from tests.cohorts.conftest import N_VOLUMES, T_R
from tests.cohorts.seam import fmriprep_confounds

TESTED = ["run=3", "run=04"]
DELAYS = (1, 2, 3)


def analyze(derivatives, out, model=None, **options):
    features = derivatives.parents[1] / "features"
    given = {"features": features, "test_runs": TESTED, "confounds": ()}
    model = ContinuousEncoding(**{"delays": DELAYS, **(model or {})})
    return analyze_participants(derivatives, out, analysis=model, **given | options)


def maps_of(out, label):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_maps(out / f"sub-{label}")


def words_of(derivatives, out, *more):
    words = ["bids", str(derivatives), str(out), "participant", "--quiet"]
    words += ["--analysis", "continuous", "--delays", "1", "2", "3"]
    words += ["--features", str(derivatives.parents[1] / "features")]
    return [*words, "--test-runs", *TESTED, *more]


def test_a_participant_equals_the_analysis_by_hand(films, tmp_path):
    out = tmp_path / "out"
    given = {"participants": ["02"], "seconds": 16.0, "confounds": ["motion"]}
    outcomes = analyze(films, out, {"high_pass": 0.01}, **given)
    assert outcomes["status"].tolist() == ["done"]
    func, features = films / "sub-02" / "func", films.parents[1] / "features"
    imgs = sorted(map(str, func.glob("*_bold.nii.gz")))
    confounds, kept = fmriprep_confounds(imgs, ["motion"])
    assert kept[0].tolist() == list(range(1, N_VOLUMES))
    bands = [
        {
            "motion": np.load(features / f"task-film_run-{run}_motion.npy"),
            "words": pd.read_csv(features / f"task-film_run-{run}_words.tsv", sep="\t"),
        }
        for run in range(1, 5)
    ]
    mask = nibabel.load(sorted(func.glob("*_mask.nii.gz"))[0])
    model = ContinuousEncoding(mask, delays=DELAYS, high_pass=0.01)
    first, last = (
        {"confounds": confounds[own], "sample_mask": kept[own]}
        for own in (slice(2), slice(2, 4))
    )
    model.fit(bands[:2], imgs[:2], **first)
    found, expected = maps_of(out, "02"), model.partition(bands[2:], imgs[2:], **last)
    for name, img in expected.items():
        np.testing.assert_array_equal(found[name].get_fdata(), img.get_fdata())
    assert np.nanmedian(found["correlation"].get_fdata()) > 0.6
    segments = model.identify_segments(bands[2:], imgs[2:], seconds=16.0, **last)
    written = found["segment_pairwise_accuracy"].get_fdata()
    np.testing.assert_array_equal(written, segments["pairwise_accuracy"].get_fdata())
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "Correlation there" in page
    assert "Films and stories in a cohort" in page
    assert "the largest correlation along each axis" in page
    assert '<div class="page alone">' in page  # no column of contents
    assert page.count("desc-report_stat.html") == 1


def test_results_that_are_there_are_skipped(films, tmp_path):
    out, features = tmp_path / "out", films.parents[1] / "features"
    (features / "notes_2024.tsv").write_text("of no run")
    given = {"report": False, "participants": ["01"]}
    for status in ("done", "skipped"):
        assert analyze(films, out, **given)["status"].tolist() == [status]
    record = (out / "code" / "sub-01.toml").read_bytes()
    path = features / "task-film_run-2_motion.npy"
    np.save(path, np.load(path) + np.linspace(0, 1, 2))
    for changed in ({}, {"seconds": 16.0}, {"test_runs": ["run=4", "run=3", "run=2"]}):
        outcomes = analyze(films, out, **given, **changed)
        assert outcomes["status"].tolist() == ["failed"]
        assert "overwrite" in outcomes["reason"][0]
        assert (out / "code" / "sub-01.toml").read_bytes() == record  # of the maps
    assert analyze(films, out, overwrite=True, **given)["status"].tolist() == ["done"]


def test_the_command_is_the_call_and_its_record_a_configuration(
    films, tmp_path, capsys
):
    analyze(films, tmp_path / "call", {"within_runs": None}, report=False, seconds=16.0)
    configuration = tmp_path / "call" / "code" / "sub-01.toml"
    options = tomllib.loads(configuration.read_text())
    assert (options["analysis"], options["segments"]) == ("continuous", 16.0)
    assert (options["test_runs"], options["within_runs"]) == (
        ["run=3", "run=04"],
        "none",
    )
    assert not {"samples", "delay", "python"} & options.keys()
    out = tmp_path / "command"
    words = ["bids", str(films), str(out), "participant", "--quiet", "--no-report"]
    assert main([*words, "--config", str(configuration)]) == 0
    assert capsys.readouterr().out.startswith("sub-01: done, 4 runs")
    one, two = maps_of(tmp_path / "call", "01"), maps_of(out, "01")
    assert one.keys() == two.keys()
    for name, img in one.items():
        np.testing.assert_array_equal(img.get_fdata(), two[name].get_fdata())
    record = tomllib.loads((out / "code" / "sub-01_task-film.toml").read_text())
    assert record["outcome"]["identity"] == options["outcome"]["identity"]


def test_a_dry_run_finds_everything_and_reads_no_images(films, tmp_path, capsys):
    for path in (films / "sub-02").rglob("*_bold.nii.gz"):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "out"
    assert main(words_of(films, out, "--dry-run")) == 0
    said = capsys.readouterr().out
    assert "sub-01: planned, 4 runs" in said
    assert "sub-02: planned, 4 runs" in said
    assert "dry run: 2 participants, about" in said
    assert not out.exists()
    (films.parents[1] / "features" / "task-film_run-2_words.tsv").write_text(
        "onset\n1\n"
    )
    assert main(words_of(films, out, "--dry-run")) == 1
    assert "it has times, but no features" in capsys.readouterr().out.replace(
        "features[1]['words'] has", "it has"
    )


def rename(films, old, new):
    folder = films.parents[1] / "features"
    (folder / old).rename(folder / new)


def again(films, name):
    """The file once more, equally specific."""
    folder = films.parents[1] / "features"
    (folder / "more").mkdir()
    shutil.copy(folder / name, folder / "more")


FAULTS = {
    "has no features words": lambda films: rename(
        films, "task-film_run-2_words.tsv", "task-film_run-9_words.tsv"
    ),
    "has two files of motion": lambda films: again(films, "task-film_run-2_motion.npy"),
}


@pytest.mark.parametrize("reason", FAULTS)
def test_files_are_named_that_do_not_fit(reason, films, tmp_path):
    FAULTS[reason](films)
    with pytest.raises(ValueError, match=f"nobody of 2 can be analyzed: .*{reason}"):
        analyze(films, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_most_specific_file_counts(films, tmp_path):
    """Features of one participant's run are taken before those of the run."""
    features = films.parents[1] / "features"
    own = features / "sub-02"
    own.mkdir()
    for run in range(1, 5):
        name = f"task-film_run-{run}_motion.npy"
        shutil.copy(features / name, own / f"sub-02_{name}")
        np.save(features / name, np.random.default_rng(run).normal(size=(N_VOLUMES, 2)))
    outcomes = analyze(films, tmp_path / "out", report=False, confounds=["motion"])
    assert outcomes["status"].tolist() == ["done"] * 2
    one, two = (
        np.nanmedian(
            maps_of(tmp_path / "out", label)["r2_unique_of_motion"].get_fdata()
        )
        for label in ("01", "02")
    )
    assert one < 0.1
    assert two > 0.2


def by_stimuli(films, starts=(0.0, 60.0)):
    """The same films, two halves of each that events name, and files called by them.

    The second half has no duration: it lasts as long as its features.
    """
    features = films.parents[1] / "features"
    for run in range(1, 5):
        X = np.load(features / f"task-film_run-{run}_motion.npy")
        rows = []
        for half, start in enumerate(starts):
            stop = starts[half + 1] if half == 0 else N_VOLUMES * T_R
            own = X[int(start / T_R) : int(stop / T_R)]
            name = f"part{min(run, 3)}{'ab'[half]}"
            table = pd.DataFrame(own, columns=["up", "right"])
            table.insert(0, "onset", T_R * np.arange(len(own)))
            later = table.assign(onset=table["onset"] + stop)
            longer = table if half else pd.concat([table, later])
            path = features / f"{name}_motion.tsv"  # what is left when it stopped
            longer.to_csv(path, sep="\t", index=False)
            rows.append(
                {
                    "onset": start,
                    "duration": (1 - half) * (stop - start),
                    "trial_type": "film",
                    "stim_file": f"films/{name}.mp4",
                }
            )
        for label in ("01", "02"):
            func = films.parents[1] / f"sub-{label}" / "func"
            func.mkdir(parents=True, exist_ok=True)
            path = func / f"sub-{label}_task-film_run-{run}_events.tsv"
            pd.DataFrame(rows[::-1]).to_csv(path, sep="\t", index=False)
    for path in features.glob("task-*"):
        path.unlink()


def test_events_name_the_stimuli(films, tmp_path):
    for path in (films.parents[1] / "features").glob("*_words.tsv"):
        path.unlink()
    analyze(films, tmp_path / "runs", report=False, participants=["01"])
    by_stimuli(films)
    given = {"stimulus_column": "stim_file", "report": False, "participants": ["01"]}
    outcomes = analyze(films, tmp_path / "stimuli", **given)
    assert outcomes["status"].tolist() == ["done"], outcomes["reason"][0]
    one, two = maps_of(tmp_path / "runs", "01"), maps_of(tmp_path / "stimuli", "01")
    for name, img in one.items():
        np.testing.assert_allclose(two[name].get_fdata(), img.get_fdata(), atol=1e-6)
    path = films.parents[1] / "sub-01" / "func" / "sub-01_task-film_run-2_events.tsv"
    whole = path.read_text()
    path.write_text(whole.replace("part2b.mp4", "part2a.avi"))
    reason = analyze(films, tmp_path / "twice", **given)["reason"][0]
    assert "column stim_file has two stimuli of one name" in reason
    path.write_text(whole)
    (films.parents[1] / "features" / "part2b_motion.tsv").unlink()
    reason = analyze(films, tmp_path / "lacking", **given)["reason"][0]
    assert "stimulus 'part2b' has no features motion in" in reason


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"test_runs": None}, "name labels of these"),
        ({"test_runs": ["run=9"]}, "none of 4 runs have run=9"),
        ({"test_runs": ["task=film"]}, "all of 4 runs have task=film"),
        ({"features": None}, "needs features"),
        ({"features": "nowhere"}, "is no folder"),
        ({"n_folds": 3}, "n_folds is for EncodingIdentification; give one as analysis"),
        ({"save_null": True}, "save_null and betas are not for a ContinuousEncoding"),
        ({"delay": 3.0}, "delay is not for a ContinuousEncoding"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(given, message, films, tmp_path):
    with pytest.raises(ValueError, match=message):
        analyze(films, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [["--folds", "3"], ["--samples", "lsa"]])
def test_options_of_other_analyses_are_refused(more, films, tmp_path, capsys):
    assert main(words_of(films, tmp_path / "out", *more)) == 2
    assert f"{more[0]} is for --analysis" in capsys.readouterr().err


def test_options_of_films_are_for_films(films, tmp_path):
    with pytest.raises(ValueError, match="test_runs is for ContinuousEncoding"):
        analyze_participants(
            films,
            tmp_path / "out",
            analysis=IdentificationSearchLight(),
            test_runs=TESTED,
        )


def test_a_group_is_sent_to_the_command_for_maps(films, tmp_path):
    analyze(films, tmp_path / "out", report=False)
    with pytest.raises(
        ValueError, match="maps are of films: give them to neuroextrap group"
    ):
        analyze_group(tmp_path / "out")
