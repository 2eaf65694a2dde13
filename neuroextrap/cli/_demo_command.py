"""``neuroextrap demo``: whole-brain maps of simulated data whose truth is known."""

import logging

from neuroextrap.analysis._options import flag, whole
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import OUT, OVERWRITE, Command

logger = logging.getLogger(__name__)

_DESCRIPTION = """\
Simulate a brain in the MNI152 mask (3 mm, about 70,000 voxels) with three
spheres of known information, analyze it blindly, and print truth against
estimate. Act A: 8 categories in 12 runs, one run left out at a time, labels
permuted within runs. Act B: 96 stimuli in 4 runs, trained on three and tested
on the fourth, lower bounds, stimuli permuted against responses.
"""

_EXAMPLES = """\
examples:
  neuroextrap demo demo_output
  neuroextrap demo demo_output --quick --overwrite    (10 mm voxels, seconds)
"""
_OPTIONS = {
    "overwrite": OVERWRITE,
    "quick": flag("take voxels of 10 mm instead of 3 mm, and 99 permutations"),
    "n_permutations": whole(
        "number of permutations in each act", said="1000, or 99 with --quick"
    ),
    "n_jobs": whole("number of workers", 2),
    "random_state": whole("seed of the simulation and the permutations", 0, "SEED"),
}


COMMAND = Command(
    "maps of simulated data whose truth is known",
    "[options] OUT",
    _DESCRIPTION,
    _EXAMPLES,
    {"out": OUT},
    {None: _OPTIONS},
)


def run(args):
    """Simulate and analyze both acts; write maps, tables and the report."""
    from functools import partial
    from pathlib import Path

    from neuroextrap.analysis._analysis_files import write_analysis
    from neuroextrap.cli import _demo_acts as acts
    from neuroextrap.cli._results import command_record
    from neuroextrap.maps._provenance import Origin
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.maps._transaction import replaced_results

    how = {
        "n_permutations": args.n_permutations,
        "size": acts.QUICK if args.quick else acts.WHOLE,
        "n_jobs": args.n_jobs,
        "random_state": args.random_state,
        "verbose": 0 if args.quiet else 1,
    }
    if args.n_permutations is None:
        how["n_permutations"] = 99 if args.quick else 1000
    out, played, record = Path(args.out), [], command_record(args)
    files, overwrite = ResultFiles.below(out), args.overwrite
    with replaced_results(files, overwrite=overwrite, provenance=record) as folder:
        for act in acts.ACTS:
            logger.info("%s", act.title)
            brain, fitted = acts.play(act, **how)
            table = acts.compare_with_truth(act, brain, fitted)
            more = {"truth.tsv": partial(table.to_csv, sep="\t", index=False)}
            origin = Origin(record=record)
            write_analysis(fitted, folder / act.name, origin=origin, more=more)
            say(acts.truth_text(act, fitted, table))
            played.append((act, brain, fitted, table))
        acts.demo_page(played).save_as_html(folder / "report.html")
    say(f"maps, sidecars and truth.tsv of each act in {out}; open {out}/report.html")
