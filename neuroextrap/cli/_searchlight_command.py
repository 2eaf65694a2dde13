"""``neuroextrap searchlight``: from images and events to maps."""

from neuroextrap.cli import _parser as parser
from neuroextrap.cli._console import logger

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


ANALYSIS = """
[input]
imgs: paths IMG first required:
    images, one for each run, or one of all runs; or models of other programs
events: paths TSV first:
    tables of events, one for each image, or one for all (see --help-all) (default: what
    a model says)
+ samples
[regions]
+ searchlight voxels regions
[analysis]
+ searchlight analysis
~ statistic (default: accuracy; of --targets correlation)
test_runs: texts RUN:
    test on these runs, train on the others (default: leave one run out)
"""
RESOURCES = """
[resources (without an effect on results)]
+ searchlight resources
"""
_MORE = """
[targets and distances]
targets: path TSV:
    decode numbers or vectors instead of conditions: a table with a row for each
    condition, a column trial_type, and columns of numbers (default: conditions are
    identified)
+ targets analysis: metric
dissimilarities: paths TSV = False:
    measure cross-validated distances between conditions instead, and compare them with
    these models: square tables with a row and a column for each condition, and a column
    trial_type; without a table, distances only (default: conditions are identified)
agreement: one_of spearman|kendall|cosine = 'spearman':
    how distances are compared with models: by rank correlation, Kendall's tau-a, or
    cosine
[decoder of one region]
decoder: text REGION:
    also write the decoder of this region, trained on all samples: the activation
    patterns and weights of its outputs; its index, name in the atlas, or place x,y,z in
    mm (default: none)
new_imgs: paths IMG: images of new samples that --decoder predicts (default: none)
new_events: paths TSV: tables of their events (default: none)
[from one condition to another]
+ cross
[confound of the trials]
+ confound
"""
_OPTIONS = f"""{ANALYSIS}{_MORE}{RESOURCES}
+ dask
+ dry_run
[output]
+ output
"""
_LINEAR = ("nearest_centroid", "ridge", "lda")
_RULES = """\
check_t_r needs t_r: the repetition time in seconds
train needs test: classifiers train in one condition and are tested in the other
train excludes test_runs: all runs are tested
test needs train: classifiers train in one condition and are tested in the other
targets excludes estimator classes curves curve_partitions: ridge regression decodes
targets excludes train conditions_column: they are those of all conditions
metric needs targets: it compares decoded targets
dissimilarities excludes {others}: distances are measured
trial_confound needs samples: give lss, lsa or volumes, a sample of every trial
trial_confound needs n_permutations: 1000, say
trial_confound excludes train targets dissimilarities: one of them is analyzed
decoder needs targets|{linear}: other classifiers have no weights of voxels
new_imgs needs decoder new_events: they are predicted by one region
new_events needs decoder new_imgs: they are predicted by one region
decoder excludes train trial_confound dissimilarities shard: one region decodes
"""


def _rules():
    """Return the rules; distances go with few options of searchlights."""
    of_distances = parser.options_of("dissimilarity")
    words = [*parser.options_of("searchlight", "analysis", "resources")]
    words += [*parser.options_of("cross"), "test_runs", "targets"]
    others = " ".join(word for word in words if word not in of_distances)
    linear = "|".join(f"estimator={name}" for name in _LINEAR)
    return _RULES.format(others=others, linear=linear) + parser.PICTURES


COMMAND = parser.Command(
    "maps of accuracy, information, bounds and p-values",
    "--imgs A [B ...] --events C [D ...] [options] OUT",
    "Maps of identification accuracy, implied information, lower\n"
    "bounds and family-wise p-values.",
    _EXAMPLES,
    parser.LAST,
    _OPTIONS,
    _rules(),
)
_ONE_BY_ONE = (
    "volumes are permuted one by one; if several belong to one block or trial use "
    "--samples blocks, or p-values are too small"
)


def run(args):
    """Read the samples, answer what is asked of them, write maps and summary."""
    from neuroextrap.cli._results import Output
    from neuroextrap.cli._searchlight_questions import question_of

    request = question_of(args)
    given = {"mask": request.mask}
    given["confounds"] = None if request.strategy else args.confounds
    roles = parser.inputs_of(COMMAND)
    output = Output.of_images(args, request.files, roles, **given)
    if args.samples == "volumes" and args.n_permutations and not request.of_model:
        logger.warning("%s", _ONE_BY_ONE)
    planned = request.plan()
    if output.dry_run:
        return "\n".join(request.cost(planned))
    return request.answer(planned, output)
