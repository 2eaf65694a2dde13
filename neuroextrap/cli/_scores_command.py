"""``neuroextrap scores``: identification by the scores of any decoder."""

from pathlib import Path

from neuroextrap.cli._console import logger
from neuroextrap.cli._parser import Command, read_groups

_EXAMPLES = """\
Scores of trials (rows) for candidates (columns): .npy, .npz (scores, targets),
.tsv or .parquet (the first row names the candidates, a first column "target"
the candidate of every trial). Without targets, trial i belongs to candidate i.
OUT gets summary.tsv (one row a decoder, for a paper), curve.tsv, stimuli.tsv
and scores.json; with two decoders comparison.tsv: paired target by target on
one pool, otherwise by bits. Accuracy among k candidates is what retrieval
calls top-1 among k; beyond the pool it is predicted.

examples:
  neuroextrap scores clip_scores.npy --set-sizes 50 200 1000 --report results
  neuroextrap scores meg.tsv fmri.tsv comparison
  neuroextrap scores --decoded decoded.npy --candidates embeddings.npy \\
      --metric correlation --targets shown.tsv results
"""
_OPTIONS = """
[input]
decoded: path FILE first: vectors decoded from trials, instead of scores
candidates: path FILE first: vectors of the candidates, with --decoded
targets: path FILE first:
    candidate of every trial: a .npy array, or a table with a column target; names, or
    column numbers from 0 (default: those of the scores, else trial i belongs to
    candidate i)
names: path FILE:
    names of the candidates: a .npy array or a table of one column (default: the first
    row of a table)
kind: one_of auto|similarity|distance first = 'auto':
    whether larger scores are more alike or less; auto takes them as similarities unless
    targets come last far oftener than guessing explains
metric: one_of cosine|correlation|euclidean = 'cosine':
    how decoded vectors are compared with those of candidates
[analysis]
set_sizes: set_size_or_names N first:
    report accuracy (top-1) among that many candidates (default: 50 200 1000, up to ten
    times the pool)
statistic: set_size_or_name NAME = 'pairwise_accuracy':
    accuracy that is tested: pairwise_accuracy (two-way), accuracy (among all), or a
    number of candidates
n_permutations: whole N first = 1000: number of exchanges of targets between trials
groups: path FILE:
    run or subject of every trial, within which targets are exchanged: a .npy array or a
    table of one column (default: exchange all)
cross_validated: flag:
    trials that are tested trained the decoder of other trials: no lower bounds, and an
    approximate p-value
confidence_level: real P = 0.95: confidence level of intervals and bounds
random_state: whole SEED = 0: seed of the exchanges
[output]
report: flag: write a self-contained report.html as well
+ output: overwrite
"""
_ROWS = ("target", "targets", "name")  # columns of tables that name rows
_PRINTED = (
    "scores n_trials n_candidates accuracy accuracy_lower accuracy_upper top_5 "
    "pairwise_accuracy median_rank implied_information implied_information_lower "
    "implied_information_upper p_value"
)
COMMAND = Command(
    "identification (top-1 among any number) by the scores of any decoder",
    "(A [B ...] | --decoded D --candidates C) [options] OUT",
    "Turn scores of trials for candidates, of any decoder, into top-1\n"
    "among any number of candidates, bits, bounds and a p-value.",
    _EXAMPLES,
    "scores: paths A: files of scores, one for every decoder; the last word, OUT, is "
    "the folder for the results",
    _OPTIONS,
    intermixed=True,
)


def run(args):
    """Read the scores, analyze and compare them, write tables and page."""
    _take_output(args)
    from neuroextrap.cli._results import Output, text_table
    from neuroextrap.scores._result import joined, named_notes, write_results

    roles = "scores decoded candidates targets names groups"
    output = Output(args, None, roles)
    results = _analyzed(args)
    compared = _compared(results, max(1, args.n_permutations), args.random_state)
    how = {name: getattr(output, name) for name in ("overwrite", "report", "origin")}
    tables, written = write_results(results, compared, args.out, **how)
    printed = [text_table(tables["summary"], _PRINTED.split())]
    printed += [text_table(joined(results, "pools"))]
    printed += [text_table(tables["comparison"]) for _ in compared]
    notes = named_notes(results, compared)
    return "\n\n".join([*printed, "\n".join([*notes, f"{written} in {args.out}"])])


def _take_output(args):
    """Take OUT from the last words, which may be taken for one of the set sizes."""
    last = args.scores
    if args.set_sizes and isinstance(args.set_sizes[-1], str):
        last = args.set_sizes
    args.out = str(last.pop()) if last else None
    if not args.out or bool(args.scores) == bool(args.decoded and args.candidates):
        raise ValueError(
            "A ... OUT: name files of scores, or --decoded and --candidates, then OUT"
        )


def _compared(results, n_permutations, random_state):
    """Return the comparison of decoders by their names, if there are two."""
    if len(results) > 2:
        logger.info("%d decoders are listed; give two to compare them", len(results))
    if len(results) != 2:
        return {}
    first, second = results.values()
    how = {"n_permutations": n_permutations, "random_state": random_state}
    return {tuple(results): first.compare(second, **how)}


def _analyzed(args):
    """Return what the scores of every decoder give, by name."""
    import pandas as pd

    from neuroextrap.images._feature_files import read_matrix
    from neuroextrap.scores import score_identification

    options = read_groups(_OPTIONS)
    names = [*options["input"], *options["analysis"]]
    given = {name: getattr(args, name) for name in names}
    for name in ("targets", "names", "groups"):
        if given[name] is not None:
            given[name] = _read_labels(given[name], f"--{name}")
    role, files = "scores", dict(zip(_names(args.scores), args.scores, strict=True))
    if not files:
        role, files = "decoded", {"scores": args.decoded}
        vectors, names, features = read_matrix(args.candidates, "vectors", _ROWS)
        given["candidates"] = pd.DataFrame(vectors, columns=features)
        given["names"] = names if args.names is None else given["names"]
    results = {}
    for name, file in files.items():
        matrix, rows, columns = read_matrix(file, role, _ROWS)
        own = {role: pd.DataFrame(matrix, columns=columns)}
        own |= {"targets": rows} if args.targets is None else {}
        results[name] = score_identification(**given | own)
    return results


def _read_labels(path, name):
    """Read targets or names: an array, or the only (or target) column of a table."""
    from neuroextrap.images._tables import load_array, read_text_table

    if path.lower().endswith(".npy"):
        return load_array(path)
    table = read_text_table(path, name)
    column = "target" if "target" in table else table.columns[0]
    if len(table.columns) > 1 and column != "target":
        raise ValueError(
            f"{name} {path} has {len(table.columns)} columns; give one, or call "
            "the one to be read target"
        )
    return table[column].to_numpy(dtype=str)


def _names(files):
    """Name decoders by their files, with their folders if these differ only."""
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        paths = [Path(file).resolve() for file in files]
        names = [f"{path.parent.name}/{path.stem}" for path in paths]
    if len(set(names)) < len(names):
        raise ValueError(
            f"the decoders are called {', '.join(names)}; give files of other names"
        )
    return names
