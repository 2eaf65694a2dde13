"""``neuroextrap searchlight``: from images and events to maps."""

import logging
from dataclasses import replace

from neuroextrap.analysis._options import paths, texts
from neuroextrap.cli._condition_tables import (
    TARGETS,
    check_conditions,
    check_confound,
    check_targets,
    confound_of_samples,
    decoder_of_targets,
    events_by_condition,
    model_files,
    run_confound,
    run_cross,
    run_dissimilarities,
    split_conditions,
    targets_of,
)
from neuroextrap.cli._console import say
from neuroextrap.cli._parser import (
    add_options,
    add_output_options,
    add_resource_options,
    options_of,
    parameters_of,
    take_last_as_output,
)
from neuroextrap.cli._region_decoder import DECODER, check_decoder, decoder_of
from neuroextrap.cli._results import (
    bids_of_inputs,
    cost_of_regions,
    origin_of_command,
)

logger = logging.getLogger(__name__)

_EXAMPLES = """\
events: tab-separated text, one table for each image or one for all volumes.
  BIDS events have columns onset, duration (seconds) and trial_type. Otherwise
  one row for each volume, with columns trial_type and run. Rows whose
  trial_type is n/a are left out; 1, 01 and 1.0 are three different conditions.
  If names of images and tables hold BIDS entities (sub, ses, task, run), tables
  are matched to images by them, and refused if they disagree.

models: instead of images, an SPM.mat, FEAT folders (run-*.feat), a result of
  GLMsingle (.hdf5, .mat, .npy; --mask, and --events with a row for each trial)
  or folders of nilearn's save_glm_to_bids. Their own names are conditions;
  events with columns name and trial_type say otherwise.

names: when all images have BIDS names, results are BIDS derivatives, such as
  OUT/sub-01/func/sub-01_task-x_space-T1w_desc-impliedinformation_stat.nii.gz,
  with the entities that the images share; subjects can go to the same OUT.
  Otherwise results are called implied_information.nii.gz and so on.

examples:
  neuroextrap searchlight --imgs bold.nii.gz --events volumes.tsv \\
      --mask mask.nii.gz --exclude rest --radius 12 --n-permutations 1000 \\
      --report results
  neuroextrap searchlight --imgs bold.nii.gz --events volumes.tsv \\
      --conditions-column task --train see --test imagine \\
      --n-permutations 1000 --report results
  neuroextrap searchlight --imgs run-1.nii.gz run-2.nii.gz \\
      --events run-1.tsv run-2.tsv --t-r 2 --samples lss --dry-run results
  neuroextrap searchlight --imgs sub-01_task-x_run-*_space-T1w_bold.nii.gz \\
      --events sub-01_task-x_run-*_events.tsv --t-r 2 derivatives/neuroextrap
  neuroextrap searchlight --imgs spm/SPM.mat --within-runs center results
  neuroextrap searchlight --imgs bold.nii.gz --events volumes.tsv \\
      --targets embedding.tsv --n-permutations 1000 --report results
  neuroextrap searchlight --imgs bold.nii.gz --events volumes.tsv \\
      --dissimilarities model.tsv --n-permutations 1000 --report results
"""
_INPUT = {
    "imgs": paths(
        "images, one for each run, or one of all runs; or models of other programs",
        required=True,
    ),
    "events": paths(
        "tables of events, one for each image, or one for all (see --help-all)",
        "TSV",
        said="what a model says",
    ),
}
_TESTED = {
    "test_runs": texts(
        "test on these runs, train on the others",
        None,
        "RUN",
        said="leave one run out",
    )
}


def add_parser(subparsers):
    """Add the command to what ``ArgumentParser.add_subparsers`` returned."""
    parser = subparsers.add_parser(
        "searchlight",
        help="maps of accuracy, information, bounds and p-values",
        usage="neuroextrap searchlight --imgs A [B ...] --events C [D ...] "
        "[options] OUT",
        description="Maps of identification accuracy, implied information, lower\n"
        "bounds and family-wise p-values.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", nargs="?", metavar="OUT", help="folder for the results")
    add_analysis_options(parser)
    add_options(parser, "targets and distances", TARGETS)
    add_options(parser, "decoder of one region", DECODER)
    add_options(parser, "from one condition to another", options_of("cross"))
    add_options(parser, "confound of the trials", options_of("confound"))
    add_resource_options(parser, "searchlight")
    add_output_options(parser)


def add_analysis_options(parser, *, required=True):
    """Add the options that say what is analyzed, and how.

    Images and events may be `required`.
    """
    given = {
        name: each._replace(required=required and each.required, first=True)
        for name, each in _INPUT.items()
    }
    add_options(parser, "input", given | options_of("samples"))
    add_options(parser, "regions", options_of("searchlight", "voxels", "regions"))
    options = options_of("searchlight", "analysis") | _TESTED
    said = "accuracy; of --targets correlation"
    add_options(parser, "analysis", options, statistic=said)


def run(args):
    """Read the samples, fit the searchlight, write maps and summary."""
    take_last_as_output(args)
    tables = args.events
    bids, files = bids_of_inputs(args, take_betas(args))
    _check_arguments(args, bids)
    from neuroextrap.cli._results import write_results

    origin = origin_of_command(
        args,
        imgs=files,
        events=tables,
        targets=args.targets,
        new_imgs=args.new_imgs,
        new_events=args.new_events,
        dissimilarities=model_files(args),
        mask=args.mask if isinstance(args.mask, str) else None,
        labels_img=args.labels_img,
        process_mask=args.process_mask,
        confounds=None if _is_strategy(args.confounds) else args.confounds,
    )
    light, samples, data = prepare(args, files)
    if args.train is not None:
        run_cross(args, light, samples, data, bids, origin)
        return
    if args.trial_confound is not None:
        run_confound(args, light, samples, data, bids=bids, origin=origin)
        return
    if args.dissimilarities is not False:
        run_dissimilarities(args, light, samples, data, bids=bids, origin=origin)
        return
    if args.dry_run:
        cost = light.estimate_cost(*data, order=samples.order)
        say(cost_of_regions(cost, args.shard))
        for line in () if args.targets else examined(light, samples):
            say(line)
        return
    decoder = decoder_of(args, light, samples, _read)
    light.fit(*data, order=samples.order)
    # of the images themselves, before any cleaning
    light.bg_img_ = samples.bg_img
    more = ({}, {}) if decoder is None else decoder.results(light, args)
    say(write_results(light, args, bids, origin, *more))


def take_betas(args):
    """Put the images of other programs' models into the arguments; return all files.

    Their tables and brain masks go with them.
    """
    from neuroextrap.images._fits import ready_betas
    from neuroextrap.images._opening import image_files

    found = ready_betas(args.imgs, args.events, args.mask)
    args.of_model = found[0] is not args.imgs
    if args.of_model:
        args.imgs, args.events, args.mask = found[0], [found[1]], found[2]
    return image_files(
        [img if isinstance(img, str) else img.get_filename() for img in args.imgs]
    )


def prepare(args, files):
    """Read samples; return the planned analysis, the samples, and what it is fitted to.

    The last are images, labels and runs, and conditions where two are named, or the
    confound of the trials.
    """
    from neuroextrap.decoding import IdentificationSearchLight
    from neuroextrap.images import to_img
    from neuroextrap.maps._records import nested_parameters

    samples, more = _read(args, files)
    if getattr(args, "train", None) is not None:
        y, *more = split_conditions(samples.y)
        samples = replace(samples, y=y)
    if samples.order is None and not args.of_model:  # they are listed in this order
        samples = replace(samples, order=range(len(samples.y)))
    _check_runs(args, samples)
    logger.info(
        "%d samples of %d conditions in %d runs, %d voxels",
        len(samples.y),
        len(set(samples.y)),
        len(set(samples.runs.tolist())),
        samples.data.shape[1],
    )
    given = parameters_of(args, "searchlight")
    light = IdentificationSearchLight(
        **nested_parameters(IdentificationSearchLight, given)
    )
    light.set_params(mask=samples.masker.mask_img_, cv=_single_split(args, samples))
    data, y = to_img(samples.data, samples.masker), samples.y
    if getattr(args, "targets", None) is not None:
        light, y = decoder_of_targets(args, light), targets_of(args.targets, y)
    return light, samples, (data, y, samples.runs, *more)


def examined(light, samples):
    """Return what the examination of a planned analysis finds, in lines."""
    from neuroextrap.analysis._parameters import command_words
    from neuroextrap.design import examine

    found = examine(
        samples.y,
        samples.runs,
        X=samples.data,
        cv=light.cv,
        order=samples.order,
        classes=light.classes,
        n_permutations=light.n_permutations,
    )
    lines = [command_words(finding.line) for finding in found]
    return lines or ["nothing doubtful was found in the design or the samples"]


def _check_arguments(args, bids):
    """Raise before any work if options do not go together."""
    from neuroextrap.cli._results import check_pictures
    from neuroextrap.maps._files import check_output_directory

    check_pictures(args)
    check_conditions(args)
    if not args.check_t_r and args.t_r is None:
        raise ValueError("--no-check-t-r needs --t-r, the repetition time")
    _sample_options(args)
    check_targets(args)
    check_confound(args)
    check_decoder(args)
    if not args.dry_run:
        check_output_directory(args.out, overwrite=args.overwrite, bids=bids)
    if args.samples == "volumes" and args.n_permutations and not args.of_model:
        logger.warning(
            "volumes are permuted one by one; if several belong to one block or trial "
            "use --samples blocks, or p-values are too small"
        )


def _check_runs(args, samples):
    """Raise unless there are runs to leave out, or some to test on are named."""
    if len(set(samples.runs.tolist())) < 2 and not args.test_runs:
        tables = [each for each in args.events or () if isinstance(each, str)]
        given = " ".join(["--events", *tables[:2]]) if tables else "--imgs"
        raise ValueError(
            f"{given}: all samples belong to one run, but one run is left out at a "
            "time; give one image and table for each run, or add a column run"
        )


def _read(args, files):
    """Read images and events into samples; return these, and a list of a confound."""
    from neuroextrap.images._cleaning import fmriprep_confounds
    from neuroextrap.images._event_samples import event_samples

    options = _sample_options(args)
    if _is_strategy(args.confounds):
        confounds, sample_mask = fmriprep_confounds(files, args.confounds)
        options = replace(options, confounds=confounds, sample_mask=sample_mask)
    imgs, events = (
        given if len(given) > 1 else given[0] for given in (args.imgs, args.events)
    )
    if getattr(args, "train", None) is not None:
        column, excluded = args.conditions_column, options.excluded
        events = events_by_condition(imgs, events, column, excluded)
    confound = getattr(args, "trial_confound", None)
    more = []
    if confound is not None:
        more = [confound_of_samples(imgs, events, options, confound)]
    return event_samples(imgs, events, args.mask, options), more


def _sample_options(args):
    """Return the SampleOptions of a command; ValueError if they do not fit."""
    from neuroextrap.images._sample_options import SampleOptions

    return SampleOptions(**parameters_of(args, "samples"))


def _is_strategy(confounds):
    """Return whether --confounds names strategies of nilearn, not files."""
    from neuroextrap.images._cleaning import STRATEGIES

    return confounds is not None and set(confounds) <= set(STRATEGIES)


def _single_split(args, samples):
    """Return the split that --test-runs asks for, or None to leave one run out."""
    if not args.test_runs:
        return None
    import numpy as np

    runs = samples.runs.astype(str)
    unknown = sorted(set(args.test_runs) - set(runs))
    if unknown:
        raise ValueError(
            f"--test-runs {' '.join(unknown)}: no such run; there are "
            f"{' '.join(sorted(set(runs)))}"
        )
    kept = np.ones(len(runs), dtype=bool)
    if args.classes:  # folds count the samples of the classes that are analyzed
        kept = np.isin(samples.y, args.classes)
    tested = np.isin(runs[kept], args.test_runs)
    if tested.all():
        raise ValueError("--test-runs names every run; leave some to train on")
    return [(np.flatnonzero(~tested), np.flatnonzero(tested))]
