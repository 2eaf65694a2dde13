"""``neuroextrap demo``: whole-brain maps of simulated data whose truth is known."""

import logging

from neuroextrap.analysis._options import flag, whole
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import OVERWRITE, add_options
from neuroextrap.cli._results import command_record

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


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "demo",
        help="maps of simulated data whose truth is known",
        usage="neuroextrap demo [options] OUT",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", metavar="OUT", help="folder for the results")
    add_options(parser, None, _OPTIONS)


def run(args):
    """Simulate and analyze both acts; write maps, tables and the report."""
    from functools import partial
    from pathlib import Path

    from neuroextrap.maps._files import check_output_directory
    from neuroextrap.maps._result_files import ResultFiles
    from neuroextrap.maps._transaction import replaced_results

    check_output_directory(args.out, overwrite=args.overwrite)
    from neuroextrap.analysis._analysis_files import write_analysis
    from neuroextrap.cli._demo_acts import (
        ACTS,
        QUICK,
        WHOLE,
        compare_with_truth,
        demo_page,
        play,
        truth_text,
    )
    from neuroextrap.maps._provenance import Origin

    n_permutations = args.n_permutations
    if n_permutations is None:
        n_permutations = 99 if args.quick else 1000
    out, played = Path(args.out), []
    how = {"overwrite": args.overwrite, "provenance": command_record(args)}
    with replaced_results(ResultFiles.below(out), **how) as folder:
        for act in ACTS:
            logger.info("%s", act.title)
            brain, fitted = play(
                act,
                n_permutations=n_permutations,
                size=QUICK if args.quick else WHOLE,
                n_jobs=args.n_jobs,
                random_state=args.random_state,
                verbose=0 if args.quiet else 1,
            )
            table = compare_with_truth(act, brain, fitted)
            write_analysis(
                fitted,
                folder / act.name,
                origin=Origin(record=command_record(args)),
                more={"truth.tsv": partial(table.to_csv, sep="\t", index=False)},
            )
            say(truth_text(act, fitted, table))
            played.append((act, brain, fitted, table))
        page = demo_page(played).get_standalone()
        (folder / "report.html").write_text(page, encoding="utf-8")
    say(f"maps, sidecars and truth.tsv of each act in {out}; open {out}/report.html")
