"""``neuroextrap group``: inference over subjects, from their maps to maps of p."""

import warnings
from functools import partial
from typing import Any

from neuroextrap._parameter_table import taken_by
from neuroextrap.cli import _parser as parser

_EXAMPLES = """\
without --null, the mean over subjects is tested by flipping signs; with --null,
the smallest score over subjects shows how many of the population carry
information.

Results of maps with BIDS names go to OUT/group, and their names say of what
they are: .._desc-accuracyPvaluefwe_stat.nii.gz.

With a design, pairs, clusters or TFCE, rows of the design are permuted (signs
flipped for a mean), the nuisance columns taken out first.

examples:
  neuroextrap group --imgs sub-*/accuracy.nii.gz --baseline 0.125 group_mean
  neuroextrap group --imgs sub-*/accuracy.nii.gz --null sub-*/null.npy \\
      --mask mask.nii.gz group_prevalence
  neuroextrap group --baseline 0.125 \\
      --imgs maps/sub-*/func/sub-*_desc-accuracy_stat.nii.gz maps
  neuroextrap group --imgs sub-*/faces.nii.gz --paired-imgs sub-*/words.nii.gz \\
      --two-sided --cluster-threshold 0.001 --tfce faces_words
  neuroextrap group --imgs sub-*/accuracy.nii.gz --design participants.tsv \\
      --contrast "patients - controls" --step-down patients
  neuroextrap group results/sub-* group_information --report
  neuroextrap group --imgs sub-*/accuracy.nii.gz --null sub-*/null.npy \\
      --test mean --cluster-threshold 0.001 --report group_mean
"""
_ID = "participant_id"
_OPTIONS = """
[input]
imgs: paths IMG first: maps, one for each subject
subjects: paths DIR first:
    folders of one analysis each, instead of maps: means, spread and lower bounds of
    information over subjects
null: paths NPY first:
    permuted maps of every subject, written by --save-null, in the order of --imgs;
    those of another run or subject are refused
mask: path IMG: voxels that are tested (default: those finite in all subjects)
+ group: allow_mixed allow_native_space
[test]
test: one_of prevalence|mean first:
    what is tested with --null: prevalence (in how many of the population there is
    information), or mean (whether the mean is larger than means of permuted maps; with
    --cluster-threshold also clusters) (default: prevalence)
baseline: real X:
    mean over subjects under the null hypothesis, such as chance (default: 0)
confidence_level: real P:
    confidence level of the bound on the prevalence (default: 0.95)
n_permutations: whole N first:
    number of sign flips (default: 1000), of permutations with a design or clusters, or
    of combinations of permuted maps (both 10000)
random_state: whole SEED = 0: seed of the permutations
+ group: two_sided gamma
~ gamma = None (default: 0.5)
+ dry_run
[pairs, designs and clusters]
paired_imgs: paths IMG first:
    a second map of each subject, subtracted from the first; paired by the sub-<label>
    of the maps, in any order, else in the same order
design: path TSV first:
    model of the subjects: a table with one row each; if it has a column participant_id,
    rows are matched to the sub-<label> of the maps, else they are in their order
contrast: text TEXT first:
    what is tested of the design: a column, or an expression such as 'patients -
    controls'
+ group: cluster_threshold tfce
step_down: flag: add step-down p-values, never larger than the family-wise ones
min_subjects: whole N:
    test voxels that at least N subjects have, each over those it has (default: voxels
    that all have)
[output]
+ output
"""

_GROUPS = parser.read_groups(_OPTIONS)
_SECOND_LEVEL = tuple(_GROUPS["pairs, designs and clusters"])
_RULES = """\
subjects excludes null: give maps by --imgs, with or without permuted ones
subjects excludes gamma baseline two_sided {tests}: folders are not tested
subjects excludes n_permutations: folders are not tested
null excludes baseline two_sided {others}: maps are compared with their permuted ones
test needs null: it says what is tested of permuted maps
test=mean excludes gamma confidence_level: they are of the prevalence
gamma needs null: permuted maps show the prevalence
confidence_level needs null|subjects: it is that of lower bounds
atlas needs report: it is for the report only
"""


def _read_places(args):
    """Take folders of analyses and OUT from the words without an option."""
    args.out = None
    if args.places:
        *folders, args.out = args.places
        if folders and args.subjects is not None:
            raise ValueError(
                f"{folders[0]} and --subjects both name folders of analyses; give one"
            )
        args.subjects = folders or args.subjects
    elif isinstance(args.allow_mixed, list):
        args.allow_mixed.insert(0, "")  # OUT may be all that follows
        parser.take_last_as_output(args)
        args.allow_mixed = args.allow_mixed[1:] or True
    else:
        parser.take_last_as_output(args)
    if (args.imgs is None) == (args.subjects is None):
        raise ValueError(
            "give maps by --imgs or folders of analyses by --subjects, one of them"
        )


_TESTS = " ".join(_SECOND_LEVEL)
_OTHERS = _TESTS.replace("cluster_threshold ", "")
COMMAND = parser.Command(
    "inference over subjects, from one map of each",
    "--imgs A B [C ...] [options] OUT\nDIR DIR [DIR ...] OUT [options]",
    "Inference over subjects, from one map of each.",
    _EXAMPLES,
    "places: paths 'DIR ... OUT': folders of one analysis each, as --subjects, and the "
    "folder for the results",
    _OPTIONS,
    _RULES.format(tests=_TESTS, others=_OTHERS) + parser.PICTURES,
    prepare=_read_places,
)


def run(args):
    """Test and write maps."""
    from neuroextrap.cli._results import Output
    from neuroextrap.group._group_maps import summary

    roles = parser.inputs_of(COMMAND)
    output = Output.of_images(args, args.imgs, roles, keep_desc=True)
    if output.dry_run:
        return _cost(args)
    maps = _tested(args)
    maps.random_state = args.random_state
    pages = output.pages(maps, labels_img=output.atlas)
    maps.to_directory(output.folder, more=pages, **output.how)
    said = summary(maps, len(maps.subjects))
    return f"{said}\n{output.where_written('maps and sidecars')}"


def _is_given(args, name):
    """Return whether an option was given; 0 is a value."""
    value = getattr(args, name)
    return value is not None and value is not False


def _is_second_level(args):
    """Return whether an option needs ``second_level_test``."""
    return any(_is_given(args, name) for name in _SECOND_LEVEL)


def _test(args):
    """Return the function that makes the requested test."""
    from neuroextrap import group

    if args.subjects is not None:
        return group.group_information
    if args.test == "mean":
        return group.group_permutation_test
    if args.null is not None:
        if args.cluster_threshold is not None:
            raise ValueError("--cluster-threshold with --null needs --test mean")
        return group.prevalence_test
    return group.second_level_test if _is_second_level(args) else group.sign_flip_test


def _tested(args, n_permutations=None):
    """Run the requested test; return its maps, which know its options."""
    from neuroextrap.group._subjects import MapOptions

    words = {word for group in _GROUPS.values() for word in group}
    given = {word: getattr(args, word) for word in words if _is_given(args, word)}
    given |= {} if n_permutations is None else {"n_permutations": n_permutations}
    read = [given.pop(n) for n in ("subjects", "imgs", "null") if n in given]
    if args.design is not None:
        read.append(_read_design(args.design, args.imgs))
    test = _test(args)
    maps: Any = test(*read, **(given := taken_by(test, given)))
    apart = {*taken_by(MapOptions, given), "random_state"}  # which sidecars have
    maps.parameters |= {n: v for n, v in given.items() if n not in apart}
    if args.design is not None:
        maps.parameters["design"] = args.design
    return maps


def _cost(args):
    """Describe what the test would take."""
    import numpy as np

    from neuroextrap.cli._results import cost_line, seconds_of
    from neuroextrap.images._loading import flat_values

    if args.subjects is not None:
        return f"{len(args.subjects)} folders are read, no permutations are done"
    n_maps, test = len(args.imgs), partial(_tested, args)
    n_permutations, few = _repetitions(args)
    with warnings.catch_warnings():  # of few permutations
        warnings.simplefilter("ignore", UserWarning)
        maps = test(few[0] if args.test == "mean" else 2)
        n_voxels = int(np.isfinite(flat_values(maps["p_value"])).sum())
        seconds = seconds_of(test, n_permutations, few=few)
    what = f"{n_maps} subjects, {n_voxels} voxels, {n_permutations} permutations"
    return cost_line(what, seconds, 8.0 * n_voxels * (4 * n_maps + 64))


def _repetitions(args):
    """Return the number of permutations, and two few ones that are timed."""
    n_permutations = args.n_permutations
    if n_permutations is None:
        plain = args.null is None and not _is_second_level(args)
        n_permutations = 1000 if plain else 10_000
    least = 0
    if args.test == "mean" and args.cluster_threshold:  # that a threshold needs
        least = 1 / args.cluster_threshold
    return n_permutations, (int(10 + least), int(60 + least))


def _read_design(path, imgs):
    """Return the design of a table as numbers, its rows by participant if named."""
    import pandas as pd

    from neuroextrap.images._bids_names import loose_entities
    from neuroextrap.images._opening import files_of
    from neuroextrap.images._tables import numbers, read_text_table

    table, names = read_text_table(path, "--design"), None
    if _ID in table.columns:
        names = pd.Index(table.pop(_ID), name=_ID)
    design = pd.DataFrame(numbers(table, path), names, table.columns)
    if names is None:
        return design
    labels = {loose_entities(file).get("sub") for file in files_of(imgs)}
    return design[names.str.removeprefix("sub-").isin(labels)]
