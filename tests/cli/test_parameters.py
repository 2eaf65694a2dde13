"""What commands pass on and put on record is read from the table of parameters."""

from argparse import Namespace

import pytest

from neuroextrap.cli import main
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from tests.cli.seam import (
    PARAMETERS,
    Option,
    Parameter,
    _parameter_table,
    _read_configuration,
    build_parser,
    flat_parameters,
    make_analysis,
    origin_of_command,
    parameters,
    parameters_of,
)

COMMANDS = {
    "searchlight": "searchlight --imgs a.nii --events b.tsv out",
    "encoding": "encoding --imgs a.nii --stimuli b.tsv out",
    "bids": "bids derivatives out participant",
}


def parsed(command, *more):
    words = [*COMMANDS[command].split(), *more]
    args = build_parser().parse_args(words)
    args.argv, args.given = words, {word for word in more if word.startswith("--")}
    return args


@pytest.fixture
def joined(monkeypatch):
    """A parameter that joins the table."""

    def join(kind, option):
        section = "samples" if kind == "samples" else "analysis"
        row = Parameter("volume", "result", (kind,), option, section)
        monkeypatch.setattr(_parameter_table, "PARAMETERS", (*PARAMETERS, row))

    return join


LOUDNESS = Option("how loud it is", 10, "N", int, word="loudness")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("searchlight", "searchlight"),
        ("searchlight", "samples"),
        ("encoding", "encoding"),
        ("bids", "searchlight"),
        ("bids", "encoding"),
        ("bids", "samples"),
    ],
)
def test_commands_have_the_words_of_the_table(command, kind):
    words = {row.word for row in parameters(kind)} - {None}
    if command == "bids":
        words -= {"checkpoint"}  # the command has its own folder of work
    if (command, kind) == ("searchlight", "samples"):
        assert parsed(command, "--no-check-t-r").check_t_r is False
    assert words <= vars(parsed(command)).keys()


@pytest.mark.parametrize("command", ["searchlight", "encoding"])
def test_defaults_are_those_of_python(command):
    made = parameters_of(parsed(command), command)
    kinds = {
        "searchlight": IdentificationSearchLight,
        "encoding": EncodingIdentification,
    }
    expected = flat_parameters(kinds[command]())
    del made["verbose"]  # the command tells how far it is
    made.pop("encoder", None)
    assert made == {name: expected[name] for name in made}


@pytest.mark.parametrize("kind", ["searchlight", "encoding", "samples"])
def test_a_parameter_that_joins_the_table_is_passed_on(joined, kind):
    command = "searchlight" if kind == "samples" else kind
    before = parameters_of(parsed(command), kind)
    joined(kind, None)
    assert parameters_of(parsed(command), kind).keys() == before.keys()
    joined(kind, LOUDNESS)
    given = parameters_of(parsed(command, "--loudness", "11"), kind)
    assert given["volume"] == 11
    assert given.keys() == before.keys() | {"volume"}
    args = parsed("bids", "--loudness", "3")
    assert parameters_of(args, kind, without=["checkpoint", "loudness"]).keys() == (
        before.keys() - {"checkpoint"}
    )


@pytest.mark.parametrize("kind", ["searchlight", "encoding", "samples"])
def test_it_is_in_help_and_in_configurations(joined, kind, tmp_path, capsys):
    joined(kind, LOUDNESS)
    for command in {"bids", kind} & COMMANDS.keys():
        with pytest.raises(SystemExit):
            main([command, "--help-all"])
        said = " ".join(capsys.readouterr().out.split())
        assert "--loudness N how loud it is (default: 10)" in said
    config = tmp_path / "own.toml"
    config.write_text("loudness = 12\n")
    args = parsed("bids", "--config", str(config))
    args.argv = ["bids"]
    _read_configuration(args)
    assert args.loudness == 12
    config.write_text('loudness = "12"\n')
    with pytest.raises(ValueError, match="write the number without quotes"):
        _read_configuration(args)


def test_an_option_of_samples_that_joins_the_table_is_on_record(joined):
    given = {"test_runs": ["1"], "folds": 5, "overwrite": True, "features": "f.tsv"}
    args = Namespace(argv=[], loudness=11, **given)
    recorded = {"test_runs": ["1"], "n_folds": 5}
    assert origin_of_command(args).samples == recorded
    joined("samples", LOUDNESS)
    assert origin_of_command(args).samples == {"volume": 11, **recorded}


@pytest.mark.parametrize("kind", ["searchlight", "encoding"])
def test_a_word_of_the_other_analysis_is_refused(joined, kind):
    other = "encoding" if kind == "searchlight" else "searchlight"
    args = parsed("bids", "--analysis", kind)
    args.given |= {"--loudness"}
    make_analysis(args)
    joined(other, LOUDNESS)
    with pytest.raises(ValueError, match=f"--loudness is for --analysis {other}; "):
        make_analysis(args)
