"""``neuroextrap check``: what is doubtful about an experiment, before the work."""

import logging
import time

from neuroextrap.cli import _parser as parser
from neuroextrap.cli._console import logger, say
from neuroextrap.cli._option_files import RaisingParser
from neuroextrap.cli._searchlight_command import ANALYSIS, RESOURCES

_EXAMPLES = """\
what is found is graded: "refused" (the analysis would end with an error),
"doubtful" (it would run, and mark its results), or "note".

--simulate makes the planned analysis 500 times of noise that has the spatial
and temporal correlation of the samples, without class effects (the level) and
with effects of three sizes (the power). What would take longer than two
minutes is done with 19 permutations and fewer regions or, if these would be
less than 100, with ridge in place of the classifier, and says so.

examples:
  neuroextrap check --imgs run-*_bold.nii.gz --events run-*_events.tsv \\
      --t-r 2 --samples blocks --n-permutations 1000 --simulate
  neuroextrap check --config analysis.toml
"""
_N_SIMULATIONS, _EFFECTS = 500, (0.1, 0.2, 0.4)
_SECONDS = 120  # of a simulation; what takes longer is simulated in part
_FEWEST_PERMUTATIONS, _FEWEST_REGIONS, _ENOUGH_REGIONS = 19, 5, 100


_OPTIONS = f"""{ANALYSIS}{RESOURCES}[check]
config: path TOML first:
    options from a file, as of a pipeline of neuroextrap multiverse; those of the
    command line take precedence
simulate: flag first:
    simulate the level and power of the analysis in this design, in minutes
"""
COMMAND = parser.Command(
    "what is doubtful about an experiment, before the work",
    "--imgs A [B ...] --events C [D ...] [options]",
    "Examine images, events and a planned searchlight: whatever makes\n"
    "p-values, bounds or accuracies doubtful, and what to do about it.",
    _EXAMPLES,
    "",
    _OPTIONS.replace("first required", "first"),
)


def run(args):
    """Read the samples and say what is found; simulate on request."""
    from neuroextrap.cli._planned_searchlight import Request

    args = _with_configuration(args)
    planned = Request(args).plan()
    lines = planned.examined()
    say("\n".join(lines))
    refused = sum(line.startswith("refused") for line in lines)
    if refused:
        raise ValueError(
            f"the analysis would be refused, for {refused} reason(s) above"
        )
    if args.simulate:
        logger.setLevel(logging.WARNING)  # what the analysis notes has been said
        light, n_regions, said = _affordable(planned)
        say(said)
        say(_simulated(planned._replace(light=light), n_regions))


def _with_configuration(args):
    """Return the options of the file that is named, those that are given first."""
    from neuroextrap.cohorts._cohort_records import read_toml

    given = {} if args.config is None else read_toml(args.config)
    reader, words = RaisingParser(_OPTIONS), list(args.argv)
    words.remove("check")
    return reader.parse_file(args.config or "neuroextrap check", given, words)


def _affordable(planned):
    """Return the searchlight and number of regions to simulate, and what that takes.

    Of what takes longer than two minutes there are as few permutations as a test at .05
    needs, and fewer regions; where these say nothing, ridge is simulated.
    """
    from sklearn.base import clone

    light, samples, data = planned
    few = {"n_permutations": min(light.n_permutations, _FEWEST_PERMUTATIONS)}
    ridge = {"estimator": "ridge"}
    ways = [
        ({}, _N_SIMULATIONS),
        (few, _ENOUGH_REGIONS),
        (ridge, _N_SIMULATIONS),
        (ridge | few, _FEWEST_REGIONS),
    ]
    whole = ""
    for way, enough in [ways[0], ways[-1]] if light.estimator == "ridge" else ways:
        simulated = clone(light).set_params(**way)
        cost = simulated.estimate_cost(*data, order=samples.order)
        each = cost["seconds"] / cost["n_regions"] * (1 + len(_EFFECTS))
        n_regions = min(_N_SIMULATIONS, max(_FEWEST_REGIONS, int(_SECONDS / each)))
        whole = whole or _duration(_N_SIMULATIONS, each)
        if n_regions >= enough:
            break
    if not way:
        return simulated, n_regions, whole
    other = f"with {simulated.n_permutations} permutations"
    if "estimator" in way:
        other += f" and estimator='ridge' in place of {light.estimator!r}"
    error = 0.5 * n_regions**-0.5
    said = (
        f"{whole}; instead, {_duration(n_regions, each)}, {other}: power may differ "
        f"from that planned, and proportions have standard errors of up to {error:.2f}"
    )
    return simulated, n_regions, said


def _duration(n_regions, seconds):
    """Say how long regions take, of `seconds` each."""
    from neuroextrap.margins.running._execution import clock

    return (
        f"to simulate {n_regions * (1 + len(_EFFECTS))} regions takes about "
        f"{clock(n_regions * seconds)} (h:mm:ss)"
    )


def _simulated(planned, n_regions):
    """Return the table of level and power, and what it means."""
    from neuroextrap.cli._results import text_table
    from neuroextrap.decoding import simulate_design

    light, samples, data = planned
    how = {"order": samples.order, "effects": _EFFECTS, "n_simulations": n_regions}
    started = time.perf_counter()
    table = simulate_design(light, *data, **how)
    seconds = time.perf_counter() - started
    printed = text_table(table.reset_index())
    return (
        f"{n_regions} simulated regions for each effect in {seconds:.0f} s "
        f"(successive samples correlate {table.attrs['correlation']:.2f}):\n{printed}\n"
        "effect: standard deviation of class means in each voxel, in those of the "
        "noise; accuracy: its mean; p_value, p_value_fwe, bayes_accuracy_bound: "
        "proportion of regions with p at most .05, with family-wise p at most .05, and "
        "with a bound above chance; without an effect these are errors"
    )
