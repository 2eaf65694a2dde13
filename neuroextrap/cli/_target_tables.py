"""``neuroextrap searchlight --targets``: numbers of conditions from a table."""

from neuroextrap.analysis._options import path
from neuroextrap.cli._parser import options_of, parameters_of

TARGETS = {
    "targets": path(
        "decode numbers or vectors instead of conditions: a table with a row for each "
        "condition, a column trial_type, and columns of numbers",
        "TSV",
        said="conditions are identified",
    )
}
_OF_CLASSES = ("estimator", "classes", "statistic", "curves", "curve_partitions")
_OF_CONDITIONS = ("train", "test", "conditions_column")


def check_targets(args):
    """Raise if options of classes come with targets."""
    if args.targets is None:
        return
    rows = options_of("searchlight", "analysis") | options_of("cross")
    words = (*_OF_CLASSES, *_OF_CONDITIONS)
    changed = [word for word in words if getattr(args, word) != rows[word].default]
    if changed:
        listed = ", ".join("--" + word.replace("_", "-") for word in changed)
        raise ValueError(f"--targets decodes by ridge regression, without {listed}")


def decoder_of_targets(args, light):
    """Return the analysis of targets with the options of a command."""
    from neuroextrap.decoding import TargetSearchLight
    from neuroextrap.maps._described_parameters import nested_parameters

    given = parameters_of(args, "targets", without=("exchange",))
    decoder = TargetSearchLight(**nested_parameters(TargetSearchLight, given))
    return decoder.set_params(mask=light.mask, cv=light.cv)


def targets_of(file, conditions):
    """Return the target of every sample, (n_samples, n_columns), from a table."""
    import pandas as pd

    table = pd.read_csv(file, sep="\t", dtype={"trial_type": str})
    if "trial_type" not in table or table.shape[1] < 2:
        raise ValueError(
            f"--targets {file} has columns {', '.join(map(str, table.columns[:5]))}; "
            "give a column trial_type and one or more columns of numbers"
        )
    table = table.set_index("trial_type")
    text = [name for name in table if table[name].dtype.kind not in "iuf"]
    if text or table.index.has_duplicates:
        what = f"text in column {text[0]}" if text else "a condition in several rows"
        raise ValueError(f"--targets {file} has {what}; give one row of numbers each")
    lacking = sorted(set(map(str, conditions)) - set(table.index))
    if lacking:
        raise ValueError(
            f"--targets {file} lacks {', '.join(lacking[:5])}; give a row for each "
            "condition, or leave them out by --exclude"
        )
    return table.loc[[str(name) for name in conditions]].to_numpy(float)
