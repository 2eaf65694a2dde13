"""Tables of conditions for ``neuroextrap searchlight``: targets and distances."""

from pathlib import Path

from neuroextrap.analysis._options import one_of, path, paths
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import options_of, parameters_of
from neuroextrap.cli._results import cost_of_regions, write_region_maps

TARGETS = {
    "targets": path(
        "decode numbers or vectors instead of conditions: a table with a row for each "
        "condition, a column trial_type, and columns of numbers",
        "TSV",
        said="conditions are identified",
    ),
    "metric": options_of("targets", "analysis")["metric"],
    "dissimilarities": paths(
        "measure cross-validated distances between conditions instead, and compare "
        "them with these models: square tables with a row and a column for each "
        "condition, and a column trial_type; without a table, distances only",
        "TSV",
        said="conditions are identified",
    )._replace(default=False),
    "agreement": one_of(
        "how distances are compared with models: by rank correlation, Kendall's tau-a, "
        "or cosine",
        "spearman kendall cosine",
        "spearman",
    ),
}
_OF_DISTANCES = ("n_permutations", "random_state", "n_jobs", "max_memory")
_OF_CLASSES = ("estimator", "classes", "curves", "curve_partitions")
_OF_CONDITIONS = ("train", "test", "conditions_column")


def check_targets(args):
    """Raise if options of classes come with targets, or with distances."""
    rows = options_of("searchlight", "analysis", "resources") | options_of("cross")
    plain = {word: row.default for word, row in rows.items()} | {"test_runs": None}
    if args.targets is not None:
        words = (*_OF_CLASSES, *_OF_CONDITIONS)
        _check_unused(args, plain, words, "--targets decodes by ridge regression")
    elif args.metric != "auto":
        raise ValueError("--metric compares decoded targets; give --targets")
    if args.dissimilarities is not False:
        plain["targets"] = None
        words = [word for word in plain if word not in _OF_DISTANCES]
        _check_unused(args, plain, words, "--dissimilarities measures distances")


def _check_unused(args, plain, words, what):
    """Raise if one of some options is not at its default, what is `plain`."""
    changed = [word for word in words if getattr(args, word) != plain[word]]
    if changed:
        listed = ", ".join("--" + word.replace("_", "-") for word in changed)
        raise ValueError(f"{what}, without {listed}")


def model_files(args):
    """Return the tables of models of distances, None if none are named."""
    return args.dissimilarities if isinstance(args.dissimilarities, list) else None


def run_dissimilarities(args, light, samples, data, **about):
    """Measure distances between conditions; write maps, tables and page."""
    from neuroextrap.decoding import DissimilaritySearchLight

    files = model_files(args) or []
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        raise ValueError(
            f"--dissimilarities: models are called {', '.join(names)}, as their files; "
            "give files of other names"
        )
    own = DissimilaritySearchLight().get_params()
    shared = {k: v for k, v in light.get_params(deep=False).items() if k in own}
    option = "--dissimilarities"
    models = {n: _by_condition(f, option) for n, f in zip(names, files, strict=True)}
    fitted = DissimilaritySearchLight(
        **shared | {"models": models or None, "method": args.agreement}
    )
    if args.dry_run:
        cost = light.set_params(n_permutations=0).estimate_cost(*data)
        say(cost_of_regions(cost | {"n_permutations": args.n_permutations}, None))
        return
    fitted.fit(*data, order=samples.order)
    fitted.maps_.bg_img_ = samples.bg_img
    later = ("n_voxels", "noise_ceiling", "mean_dissimilarity")
    shown = [name for name in fitted.region_scores_ if name not in later]
    shown += ["mean_dissimilarity"]
    say(write_region_maps(fitted.maps_, fitted, args, shown, **about))


def _by_condition(file, option):
    """Return a table of numbers with a row for each condition, and its name (index)."""
    from neuroextrap.images._tables import numbers, read_text_table

    table = read_text_table(file, option)
    if "trial_type" not in table or table.shape[1] < 2:
        raise ValueError(
            f"{option} {file} has columns {', '.join(table.columns[:5])}; give a "
            "column trial_type and one or more columns of numbers"
        )
    table = table.set_index("trial_type").rename_axis(None)
    if table.index.has_duplicates:
        raise ValueError(
            f"{option} {file} has a condition in several rows; give one row each"
        )
    table[:] = numbers(table, f"{option} {file}")
    return table.astype(float)


def decoder_of_targets(args, light):
    """Return the analysis of targets with the options of a command."""
    from neuroextrap.decoding import TargetSearchLight
    from neuroextrap.maps._described_parameters import nested_parameters

    given = parameters_of(args, "targets", without=("exchange",))
    if not any(word.startswith("--statistic") for word in args.argv):
        del given["statistic"]  # its default is that of classes
    decoder = TargetSearchLight(**nested_parameters(TargetSearchLight, given))
    return decoder.set_params(mask=light.mask, cv=light.cv)


def targets_of(file, conditions):
    """Return the target of every sample, (n_samples, n_columns), from a table."""
    table, shown = _by_condition(file, "--targets"), list(map(str, conditions))
    lacking = sorted(set(shown) - set(table.index))
    if lacking:
        raise ValueError(
            f"--targets {file} lacks {', '.join(lacking[:5])}; give a row for each "
            "condition, or leave them out by --exclude"
        )
    return table.loc[shown].to_numpy()
