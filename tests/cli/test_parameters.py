"""What commands pass on and put on record is read from the table of parameters."""

from argparse import Namespace

import pytest

from neuroextrap.analysis import _parameters
from neuroextrap.analysis._parameters import PARAMETERS, Parameter, parameters
from neuroextrap.cli._bids_analysis import make_analysis
from neuroextrap.cli._main import build_parser
from neuroextrap.cli._origin import origin_of_command
from neuroextrap.cli._parser import parameters_of
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification

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

    def join(kind, word):
        row = Parameter("volume", "result", word, (kind,))
        monkeypatch.setattr(_parameters, "PARAMETERS", (*PARAMETERS, row))

    return join


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


@pytest.mark.parametrize("kind", [IdentificationSearchLight, EncodingIdentification])
def test_defaults_are_those_of_python(kind):
    made = parameters_of(parsed(kind.kind), kind)
    expected = kind().get_params(deep=False)
    del made["verbose"]  # the command tells how far it is
    made.pop("encoder", None)
    assert made == {name: expected[name] for name in made}


@pytest.mark.parametrize(
    "kind", [IdentificationSearchLight, EncodingIdentification, "samples"]
)
def test_a_parameter_that_joins_the_table_is_passed_on(joined, kind):
    name = getattr(kind, "kind", kind)
    args = parsed("searchlight" if name == "samples" else name)
    args.loudness = 11
    before = parameters_of(args, kind)
    joined(name, None)
    assert parameters_of(args, kind).keys() == before.keys()
    joined(name, "loudness")
    assert parameters_of(args, kind)["volume"] == 11
    assert parameters_of(args, kind).keys() == before.keys() | {"volume"}
    assert "volume" not in parameters_of(args, kind, without=["loudness"])


def test_an_option_of_samples_that_joins_the_table_is_on_record(joined):
    args = Namespace(argv=[], loudness=11, test_runs=["1"])
    assert origin_of_command(args).samples == {"test_runs": ["1"]}
    joined("samples", "loudness")
    assert origin_of_command(args).samples == {"loudness": 11, "test_runs": ["1"]}


@pytest.mark.parametrize("kind", ["searchlight", "encoding"])
def test_a_word_of_the_other_analysis_is_refused(joined, kind):
    other = "encoding" if kind == "searchlight" else "searchlight"
    args = parsed("bids", "--analysis", kind)
    args.given |= {"--loudness"}
    make_analysis(args)
    joined(other, "loudness")
    with pytest.raises(ValueError, match=f"--loudness is for --analysis {other}; "):
        make_analysis(args)
