"""What was asked for and inferred, as the options of a configuration."""

from pathlib import Path

from neuroextrap.analysis._parameters import parameters
from neuroextrap.encoding import ElasticNetEncoder, RidgeEncoder
from neuroextrap.images._bids_runs import find_raw
from neuroextrap.maps._parameters import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._provenance import described_value


def configuration(request, runs):
    """Return options as a configuration has them, with those that were inferred.

    Settings that no option says are in the dict `python`, as text.
    """
    own = runs[0].entities if runs else {}
    raw = None if request.raw is None else request.raw.absolute()
    if raw == find_raw(request.derivatives):
        raw = None  # it will be found again
    options, python = _of_analysis(request.analysis)
    stimuli, more = _of_stimuli(request.stimuli)
    sessions = sorted({run.entities["ses"] for run in runs if "ses" in run.entities})
    return {
        "task": request.task or own.get("task"),
        "space": request.space or own.get("space"),
        "session_label": sessions or None,
        "raw": None if raw is None else str(raw),
        "confounds": list(request.confounds) or ["none"],
        **{name: _plain(value) for name, value in request.options.items()},
        "save_null": request.save_null or None,
        **stimuli,
        **options,
        "python": python | more,
    }


def _of_analysis(analysis):
    """Return the parameters of an analysis as options, and those that are none."""
    decisive = described_parameters(analysis)
    kept = {n: v for n, v in changed_parameters(analysis).items() if n in decisive}
    flat = flat_parameters(analysis)
    given = {name: _plain(flat[name]) for name in kept}
    if "encoder" in given:
        given["encoder"] = _encoder_word(analysis.encoder)
    words = {row.name: row.word for row in parameters(analysis.kind)}
    plain = {words[n]: given[n] for n in given if words.get(n) and given[n] is not None}
    if "bounds" in given and given["bounds"] is None:
        plain["bounds"] = "none"
    python = {name: str(kept[name]) for name in kept if words.get(name) not in plain}
    return plain, python


def _of_stimuli(stimuli):
    """Return a StimulusDesign as options, and what of it no option says."""
    if stimuli is None:
        return {}, {}
    options = {
        "analysis": "encoding",
        **stimuli.source,
        "stimulus_column": stimuli.column,
        "folds": stimuli.n_folds,
    }
    shape = " x ".join(map(str, stimuli.features.shape))
    return options, {} if stimuli.source else {"features": f"a table of {shape}"}


def _encoder_word(encoder):
    """Return the command line's word for an encoder, None where it has none."""
    for word, known in (
        ("elastic-net", ElasticNetEncoder()),
        ("ridge", RidgeEncoder()),
    ):
        if described_value(encoder) == described_value(known):
            return word
    return None


def _plain(value):
    """Return a value that TOML can hold, None for others (images, arrays)."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else None
