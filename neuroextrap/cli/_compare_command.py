"""``neuroextrap compare``: which decoder, condition or encoding model is better."""

from pathlib import Path

from neuroextrap._options import set_size_or_name
from neuroextrap._parameter_table import taken_by
from neuroextrap.analysis._parameters import ComparisonOptions
from neuroextrap.cli._parser import Command

_EXAMPLES = """\
Encoding models: the folders were written by neuroextrap encoding (or
to_directory), of the same test responses and regions. Every pair of models is
compared by exchanging the outcomes of stimuli; p_value_fwe holds for all
regions and pairs at once. OUT gets comparison.tsv, of images maps of every
pair, and with --report a page of two models, report.html, or of every pair,
report_FIRST_SECOND.html.

Decoders, conditions, sessions or tasks of one person: CONFIG.toml has two
tables [pipeline.NAME] with options of neuroextrap searchlight (see the help of
multiverse). Both are fitted, and compared region by region, or one region of
each (--regions).

Over subjects: with --regions, the folders are those of one analysis each, of
the regions of an atlas; their accuracies are compared within subjects by
flipping signs, every pair. For maps of two decoders see neuroextrap group
--paired-imgs.

  imgs = ["run-1_bold.nii.gz", "run-2_bold.nii.gz"]
  events = ["run-1_events.tsv", "run-2_events.tsv"]
  t_r = 2.0

  [pipeline.attended]
  classes = ["attended_face", "attended_house"]
  [pipeline.ignored]
  classes = ["ignored_face", "ignored_house"]

examples:
  neuroextrap compare results_gabor results_retinotopic comparison
  neuroextrap compare a b c --names gabor layer1 layer5 comparison
  neuroextrap compare attention.toml --paired runs --report comparison
  neuroextrap compare results/sub-* comparison --regions V1 V2 FFA
"""
_OPTIONS = """
[]
paired: one_of samples|runs|none:
    what both pipelines of CONFIG.toml have in common: the same samples (two
    classifiers), the same runs (two conditions), or none (two sessions) (default:
    samples)
regions: texts NAME:
    regions by name or number: one of the first pipeline and one of the second; or of
    subjects' folders, compared over subjects, every pair (default: every region with
    itself)
names: texts NAME: names of the models (default: those of their folders)
statistic: set_size_or_name NAME = 'accuracy':
    statistic that is compared: accuracy, pairwise_accuracy, or a number of classes
    (candidates)
n_permutations: whole N = 1000: number of exchanges of each pair
one_sided: flag: ask only whether the model that comes first is better
random_state: whole SEED = 0: seed of the exchanges
n_jobs: whole N = 1: number of workers
report: flag: write an HTML page of every pair as well
+ output: overwrite
"""
COMMAND = Command(
    "compare encoding models, decoders, conditions or sessions",
    "A B [C ...] [options] OUT\n"
    "CONFIG.toml [options] OUT\n"
    "DIR DIR [DIR ...] OUT --regions X Y [options]",
    "Test which of two or more encoding models identifies better, or\n"
    "which of two decoders, conditions, sessions or tasks.",
    _EXAMPLES,
    "models: paths A required: folders of the models' results, or CONFIG.toml with "
    "two decoders; the last word, OUT, is the folder for the comparison",
    _OPTIONS,
    intermixed=True,
)
_SHOWN = (
    "first second region name x y z first_accuracy second_accuracy accuracy_difference "
    "p_value p_value_fwe"
)


def run(args):
    """Compare models, decoders or regions; write the table, maps and page."""
    from neuroextrap.cli._results import text_table
    from neuroextrap.maps._files import check_output_directory

    of_decoders = Path(args.models[0]).suffix == ".toml"
    args.out = _words_with_output(args, of_decoders).pop()
    compare = _decoders if of_decoders else _regions if args.regions else _models
    names = _names(args) if compare is _models else args.models
    _check_kind(args, compare)
    args.two_sided = not args.one_sided
    how = taken_by(ComparisonOptions, vars(args))
    check_output_directory(args.out, overwrite=args.overwrite)
    what, best = compare(args, names, how)
    return (
        f"{what} (accuracies are proportions; p_value_fwe holds for all regions and "
        f"pairs):\n{text_table(best, _SHOWN.split())}\ncomparison.tsv in {args.out}"
    )


def _words_with_output(args, of_decoders):
    """Return the words that OUT is last of: models, or what follows an option."""
    if len(args.names or []) > len(args.models):
        return args.names
    if of_decoders and len(args.models) == 1 and len(args.regions or []) > 2:
        return args.regions
    return args.models


def _check_kind(args, compare):
    """Raise if an option belongs to another kind of comparison."""
    if compare is _decoders and len(args.models) != 1:
        raise ValueError("CONFIG.toml OUT: give one file with two pipelines, then OUT")
    if compare is _decoders and args.regions and len(args.regions) != 2:
        raise ValueError("--regions: name one of each pipeline, two in all")
    if compare is _regions and (len(args.models) < 2 or len(args.regions) < 2):
        raise ValueError(
            "--regions: name at least two, of at least two subjects' folders; then OUT"
        )
    if compare is not _models and args.names:
        raise ValueError("--names are those of encoding models; leave them out")
    if compare is not _decoders and args.paired:
        raise ValueError("--paired needs CONFIG.toml with two pipelines")
    if compare is _regions and args.report:
        raise ValueError("--report: there is no page of regions; leave it out")


def _models(args, names, options):
    """Compare encoding models from their folders; return the surest region of pairs."""
    from neuroextrap.encoding import (
        EncodingIdentification,
        compare_encoding_models_pairwise,
    )

    models = {
        name: EncodingIdentification.from_directory(folder)
        for name, folder in zip(names, args.models, strict=True)
    }
    compared = compare_encoding_models_pairwise(models, **options)
    compared.to_directory(args.out, overwrite=args.overwrite, report=args.report)
    best = _surest(compared.table_.dropna(subset=["p_value"]))
    best = best.drop_duplicates(["first", "second"]).sort_index()
    return "every pair, where it differs most surely", best


def _surest(table):
    """Return rows with the smallest p-values first."""
    return table.sort_values(["p_value_fwe", "p_value"], kind="stable")


def _regions(args, folders, options):
    """Compare regions over subjects, every pair; return what they are, and a table."""
    from neuroextrap.analysis._region_maps import RegionMaps
    from neuroextrap.group._analyses import read_analyses

    subjects, findings = read_analyses(folders)
    frame = _accuracies(subjects, args.regions, options["statistic"])
    table = _tested_pairs(frame, options)
    maps = RegionMaps(
        {},
        table=table,
        table_file="comparison.tsv",
        inputs={"accuracy": frame.to_numpy()},
        parameters=options | {"regions": args.regions, "subjects": folders},
        findings=findings,
    )
    maps.to_directory(args.out, overwrite=args.overwrite)
    return f"means over {len(subjects)} subjects", table


def _tested_pairs(frame, options):
    """Return every pair of columns with their means, and the test of the difference."""
    from itertools import combinations

    import pandas as pd

    from neuroextrap.group import second_level_test
    from neuroextrap.stats import paired_sign_flip_test

    pairs = pd.DataFrame(combinations(frame, 2), columns=["first", "second"])
    first, second = (frame[names].to_numpy() for _, names in pairs.items())
    how = taken_by(paired_sign_flip_test, options)
    tested = second_level_test(first, paired_imgs=second, **how)
    return pairs.assign(
        first_accuracy=first.mean(axis=0),
        second_accuracy=second.mean(axis=0),
        accuracy_difference=(first - second).mean(axis=0),
        **{name: tested[name] for name in ("p_value", "p_value_fwe")},
    )


def _accuracies(subjects, regions, statistic):
    """Return the accuracy of every subject in regions, a column each."""
    import pandas as pd

    from neuroextrap.analysis._presentation import find_region
    from neuroextrap.margins._wins import accuracy_set_size

    size = accuracy_set_size(statistic, len(subjects[0].classes))

    def accuracy(subject, word):
        """Return the accuracy in a region that is named or numbered by a word."""
        results, region = subject.results, set_size_or_name(word)
        index = find_region(region, results.choice, subject.masker, None)
        return float(results.curve(index, size)[1][0])

    return pd.DataFrame({w: [accuracy(s, w) for s in subjects] for w in regions})


def _decoders(args, files, options):
    """Compare the pipelines of a file; return their names, and the surest regions."""
    from neuroextrap.decoding import compare_decoders

    pairing = {
        "paired": None if args.paired == "none" else args.paired or "samples",
        "statistic": options["statistic"],
        "regions": args.regions and [list(map(set_size_or_name, args.regions))],
    }
    lights, background = _fitted(files[0], pairing)
    compared = compare_decoders(*lights.values(), **options | pairing)
    compared.bg_img_ = background
    more = {}
    if args.report:
        page = compared.generate_report(names=tuple(lights))
        more = {"report.html": page.save_as_html}
    compared.to_directory(args.out, overwrite=args.overwrite, more=more)
    return " and ".join(lights), _surest(compared.table_).head(10)


def _fitted(file, pairing):
    """Fit both pipelines; return them by name, and the background."""
    from neuroextrap.cli._multiverse_command import planned_pipelines
    from neuroextrap.decoding._decoder_comparison import fit_to_compare

    lights, data, backgrounds = {}, [], []
    for name, (light, samples, given) in planned_pipelines(file, most=2):
        lights[name] = light.set_params(bounds=None, n_permutations=0)
        backgrounds.append(samples.bg_img)  # of the images before any cleaning
        data.append((*given, samples.order))
    fit_to_compare(lights.values(), data, **pairing)
    return lights, backgrounds[0]


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
