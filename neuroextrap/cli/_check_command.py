"""``neuroextrap check``: what is doubtful about an experiment, before the work."""

import time

from neuroextrap.cli._console import say
from neuroextrap.cli._parser import add_options, flag, options_of
from neuroextrap.cli._results import text_table
from neuroextrap.cli._searchlight_command import (
    add_analysis_options,
    examined,
    prepare,
)

_EXAMPLES = """\
what is found is graded: "refused" (the analysis would end with an error),
"doubtful" (it would run, and mark its results), or "note".

--simulate makes the planned analysis 500 times of noise that has the spatial
and temporal correlation of the samples, without class effects (the level) and
with effects of three sizes (the power).

examples:
  neuroextrap check --imgs run-*_bold.nii.gz --events run-*_events.tsv \\
      --t-r 2 --samples blocks --n-permutations 1000 --simulate
"""
_N_SIMULATIONS, _EFFECTS = 500, (0.1, 0.2, 0.4)
_SIMULATE = {
    "simulate": flag(
        "simulate the level and power of the analysis in this design, in minutes",
        first=True,
    )
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
    add_analysis_options(parser)
    title = "resources (without an effect on results)"
    add_options(parser, title, options_of("searchlight", "resources"))
    add_options(parser, "simulation", _SIMULATE)


def run(args):
    """Read the samples and say what is found; simulate on request."""
    from neuroextrap.images._opening import image_files

    light, samples, data = prepare(args, image_files(args.imgs))
    lines = examined(light, samples)
    for line in lines:
        say(line)
    refused = sum(line.startswith("refused") for line in lines)
    if refused:
        raise ValueError(
            f"the analysis would be refused, for {refused} reason(s) above"
        )
    if args.simulate:
        say(_time_of_simulation(light, samples, data))
        say(_simulated(light, samples, data))


def _time_of_simulation(light, samples, data):
    """Return how long the simulation will take, from the time of a few regions."""
    from neuroextrap.margins.running._progress import clock

    cost = light.estimate_cost(*data, order=samples.order)
    n_regions = _N_SIMULATIONS * (1 + len(_EFFECTS))
    seconds = cost["seconds"] / cost["n_regions"] * n_regions
    return f"to simulate {n_regions} regions takes about {clock(seconds)} (h:mm:ss)"


def _simulated(light, samples, data):
    """Return the table of level and power, and what it means."""
    from neuroextrap.decoding import simulate_design

    started = time.perf_counter()
    table = simulate_design(
        light,
        *data,
        order=samples.order,
        effects=_EFFECTS,
        n_simulations=_N_SIMULATIONS,
    )
    seconds = time.perf_counter() - started
    printed = text_table(table.reset_index(), ["effect", *table.columns])
    return (
        f"{_N_SIMULATIONS} simulated regions for each effect in {seconds:.0f} s "
        f"(successive samples correlate {table.attrs['correlation']:.2f}):\n{printed}\n"
        "effect: standard deviation of class means in each voxel, in those of the "
        "noise; accuracy: its mean; p_value, p_value_fwe, bayes_accuracy_bound: "
        "proportion of regions with p at most .05, with family-wise p at most .05, and "
        "with a bound above chance; without an effect these are errors"
    )
