"""``neuroextrap check``: what is doubtful about an experiment, before the work."""

import logging
import time

from neuroextrap.cli._console import logger, say
from neuroextrap.cli._parser import RaisingParser, add_options, flag, options_of, path
from neuroextrap.cli._results import text_table
from neuroextrap.cli._searchlight_command import (
    add_analysis_options,
    examined,
    prepare,
    take_betas,
)

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
_OPTIONS = {
    "config": path(
        "options from a file, as of a pipeline of neuroextrap multiverse; those of the "
        "command line take precedence",
        "TOML",
        first=True,
    ),
    "simulate": flag(
        "simulate the level and power of the analysis in this design, in minutes",
        first=True,
    ),
}


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "check",
        help="what is doubtful about an experiment, before the work",
        usage="neuroextrap check --imgs A [B ...] --events C [D ...] [options]",
        description="Examine images, events and a planned searchlight: whatever makes\n"
        "p-values, bounds or accuracies doubtful, and what to do about it.",
        epilog=_EXAMPLES,
    )
    _add_options(parser, required=False)


def _add_options(parser, *, required=True):
    """Add all options; images and events may come from a configuration."""
    add_analysis_options(parser, required=required)
    title = "resources (without an effect on results)"
    add_options(parser, title, options_of("searchlight", "resources"))
    add_options(parser, "check", _OPTIONS)


def run(args):
    """Read the samples and say what is found; simulate on request."""
    from neuroextrap.cohorts._cohort_records import read_toml

    options = {} if args.config is None else read_toml(args.config)
    reader, words = RaisingParser(is_command=False), list(args.argv)
    words.remove("check")
    _add_options(reader)
    args = reader.parse_file(args.config or "neuroextrap check", options, words)
    light, samples, data = prepare(args, take_betas(args))
    lines = examined(light, samples)
    for line in lines:
        say(line)
    refused = sum(line.startswith("refused") for line in lines)
    if refused:
        raise ValueError(
            f"the analysis would be refused, for {refused} reason(s) above"
        )
    if args.simulate:
        logger.setLevel(logging.WARNING)  # what the analysis notes has been said
        light, n_regions, said = _affordable(light, data, samples.order)
        say(said)
        say(_simulated(light, samples, data, n_regions))


def _affordable(light, data, order):
    """Return the analysis and number of regions to be simulated, and how long it takes.

    Where all of it takes longer than two minutes, there are as few permutations as a
    test at .05 needs, and fewer regions. Where these would be too few to say anything,
    as of a classifier that is refitted, ridge is simulated in its place.
    """
    from sklearn.base import clone

    from neuroextrap.margins.running._execution import clock

    few = {"n_permutations": min(light.n_permutations, _FEWEST_PERMUTATIONS)}
    ridge = {"estimator": "ridge"}
    ways = [
        ({}, _N_SIMULATIONS),
        (few, _ENOUGH_REGIONS),
        (ridge, _N_SIMULATIONS),
        (ridge | few, _FEWEST_REGIONS),
    ]
    if light.estimator == "ridge":
        ways = [ways[0], ways[-1]]
    said: list[str] = []
    for way, enough in ways:
        planned = clone(light).set_params(**way)
        cost = planned.estimate_cost(*data, order=order)
        each = cost["seconds"] / cost["n_regions"] * (1 + len(_EFFECTS))
        n_regions = min(_N_SIMULATIONS, max(_FEWEST_REGIONS, int(_SECONDS / each)))
        shown = n_regions if said else _N_SIMULATIONS
        said.append(
            f"to simulate {shown * (1 + len(_EFFECTS))} regions takes about "
            f"{clock(shown * each)} (h:mm:ss)"
        )
        if n_regions >= enough:
            break
    if not way:
        return planned, n_regions, said[0]
    other = f"with {planned.n_permutations} permutations"
    if "estimator" in way:
        other += f" and estimator='ridge' in place of {light.estimator!r}"
    return (
        planned,
        n_regions,
        f"{said[0]}; instead, {said[-1]}, {other}: power may differ from that planned, "
        f"and proportions have standard errors of up to {0.5 * n_regions**-0.5:.2f}",
    )


def _simulated(light, samples, data, n_regions):
    """Return the table of level and power, and what it means."""
    from neuroextrap.decoding import simulate_design

    started = time.perf_counter()
    table = simulate_design(
        light,
        *data,
        order=samples.order,
        effects=_EFFECTS,
        n_simulations=n_regions,
    )
    seconds = time.perf_counter() - started
    printed = text_table(table.reset_index(), ["effect", *table.columns])
    return (
        f"{n_regions} simulated regions for each effect in {seconds:.0f} s "
        f"(successive samples correlate {table.attrs['correlation']:.2f}):\n{printed}\n"
        "effect: standard deviation of class means in each voxel, in those of the "
        "noise; accuracy: its mean; p_value, p_value_fwe, bayes_accuracy_bound: "
        "proportion of regions with p at most .05, with family-wise p at most .05, and "
        "with a bound above chance; without an effect these are errors"
    )
