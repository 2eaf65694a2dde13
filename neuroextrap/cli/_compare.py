"""``neuroextrap compare``: which of several encoding models identifies better."""

from pathlib import Path

from neuroextrap.cli._console import say
from neuroextrap.cli._parser import add_n_jobs

_EXAMPLES = """\
The folders were written by neuroextrap encoding (or to_directory), of the same
test responses and regions. Every pair of models is compared by exchanging the
outcomes of stimuli; p_value_fwe holds for all regions and pairs at once.
OUT gets comparison.tsv, of images maps of every pair, and with --report a page
of two models, report.html, or of every pair, report_FIRST_SECOND.html.

examples:
  neuroextrap compare results_gabor results_retinotopic comparison
  neuroextrap compare a b c --names gabor layer1 layer5 comparison
"""


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "compare",
        help="compare encoding models from their results",
        usage="neuroextrap compare A B [C ...] [options] OUT",
        description="Test which of two or more encoding models identifies better.",
        epilog=_EXAMPLES,
        intermixed=True,
    )
    parser.add_argument(
        "models",
        nargs="+",
        metavar="A",
        help="folders of the models' results; the last word, OUT, is the folder for "
        "the comparison",
    )
    parser.add_argument(
        "--names",
        nargs="+",
        metavar="NAME",
        help="names of the models (default: those of their folders)",
    )
    parser.add_argument(
        "--statistic",
        default="accuracy",
        metavar="NAME",
        help="statistic that is compared: accuracy, pairwise_accuracy, or a number of "
        "candidates (default: %(default)s)",
    )
    parser.add_argument(
        "--n-permutations",
        type=int,
        default=1000,
        metavar="N",
        help="number of exchanges of each pair (default: %(default)s)",
    )
    parser.add_argument(
        "--one-sided",
        action="store_true",
        help="ask only whether the model that comes first is better",
    )
    parser.add_argument(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the exchanges (default: %(default)s)",
    )
    add_n_jobs(parser, default=1)
    parser.add_argument(
        "--report",
        action="store_true",
        help="write an HTML page of every pair as well",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace results that are already in the output folder",
    )


def run(args):
    """Read the models, compare every pair, write table and maps."""
    from neuroextrap.encoding import (
        EncodingIdentification,
        compare_encoding_models_pairwise,
    )
    from neuroextrap.maps._files import check_output_directory

    # OUT may have been taken for the last of the names
    last = args.names if len(args.names or []) > len(args.models) else args.models
    args.out = last.pop()
    names = _names(args)
    check_output_directory(args.out, overwrite=args.overwrite)
    models = {
        name: EncodingIdentification.from_directory(folder)
        for name, folder in zip(names, args.models, strict=True)
    }
    statistic = args.statistic
    found = compare_encoding_models_pairwise(
        models,
        statistic=int(statistic) if statistic.isdecimal() else statistic,
        n_permutations=args.n_permutations,
        two_sided=not args.one_sided,
        n_jobs=args.n_jobs,
        random_state=args.random_state,
    )
    found.to_directory(args.out, overwrite=args.overwrite, report=args.report)
    say(_summary(found, args.out))


def _names(args):
    """Return the names of the models; ValueError unless each has one of its own."""
    if len(args.models) < 2:
        raise ValueError("A B ... OUT: name at least two folders of results, then OUT")
    names = args.names or [Path(folder).resolve().name for folder in args.models]
    if len(names) != len(args.models):
        raise ValueError(
            f"--names has {len(names)} names for {len(args.models)} models; give each "
            "one"
        )
    if len(set(names)) < len(names):
        raise ValueError(
            f"the models are called {', '.join(names)}; give different --names"
        )
    return names


def _summary(found, out):
    """Describe the region of every pair in which the p-value is smallest."""
    from neuroextrap.cli._results import text_table

    table = found.table_.dropna(subset=["p_value"])
    best = table.sort_values(["p_value_fwe", "p_value"], kind="stable")
    best = best.drop_duplicates(["first", "second"]).sort_index()
    shown = (
        "first",
        "second",
        "region",
        "first_accuracy",
        "second_accuracy",
        "accuracy_difference",
        "p_value",
        "p_value_fwe",
    )
    return (
        "every pair, where it differs most surely (accuracies are proportions; "
        f"p_value_fwe holds for all regions and pairs):\n{text_table(best, shown)}\n"
        f"comparison.tsv in {out}"
    )
