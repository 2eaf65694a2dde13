"""``neuroextrap compare``: which of several encoding models identifies better."""

from pathlib import Path

from neuroextrap.analysis._options import flag, text, texts, whole
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import OVERWRITE, add_options

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
_OPTIONS = {
    "names": texts("names of the models", said="those of their folders"),
    "statistic": text(
        "statistic that is compared: accuracy, pairwise_accuracy, or a number of "
        "candidates",
        "accuracy",
    ),
    "n_permutations": whole("number of exchanges of each pair", 1000),
    "one_sided": flag("ask only whether the model that comes first is better"),
    "random_state": whole("seed of the exchanges", 0, "SEED"),
    "n_jobs": whole("number of workers", 1),
    "report": flag("write an HTML page of every pair as well"),
    "overwrite": OVERWRITE,
}


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
    add_options(parser, None, _OPTIONS)


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
