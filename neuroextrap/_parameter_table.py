"""The table of parameters: every one is declared here, once, with its option.

A head has the section of help, the kinds of analysis (or of samples, stimuli, cohorts
and groups) that have the parameters, and their role, with the marks "own" and "extra";
`Parameter` says what these mean, and ``read_options`` how to read an entry. A name
alone is a parameter that only Python has, or whose option another entry declares. The
parser of the command line, configurations, sidecars, the identity of runs and the
comparison of subjects read it. Nothing heavy is imported, so that commands start fast.
"""

import inspect
import re
from typing import NamedTuple

from neuroextrap._options import Option, read_options

TABLE = """
[voxels; searchlight encoding targets group continuous dissimilarity; identity]
mask: path IMG first: brain mask (default: computed from the images)
[regions; searchlight encoding targets continuous dissimilarity; result]
radius: real MM first above=0 = 8.0: radius of the spheres in mm
[regions; searchlight encoding targets; result]
n_nearest: whole N least=1: take the N voxels nearest to each center instead of a radius
stride: whole N least=1 = 1: use every N-th voxel in each direction as a center
[regions; searchlight encoding targets continuous dissimilarity; result own]
labels_img: path IMG first: atlas whose regions are analyzed instead of spheres
regions
process_mask_img: path IMG word=process_mask:
    mask of the voxels that may be centers of spheres (default: the brain mask)
[voxels; searchlight encoding targets; result]
min_voxels: whole N least=1 = 2: leave out regions with fewer usable voxels
[analysis; searchlight; result]
estimator: text NAME first = 'nearest_centroid':
    classifier: nearest_centroid, gaussian_nb, lda, ridge, qda, nearest_neighbor, svc or
    logistic
classes: texts NAME: analyze these conditions only (default: all)
statistic: set_size_or_name NAME = 'accuracy':
    statistic of the permutation test: accuracy, pairwise_accuracy, implied_information,
    or a set size
[analysis; searchlight targets; result]
shrinkage: number_or_auto X = 'auto':
    shrinkage of the covariance in lda, ridge and qda: a number, or auto; of targets
    inner_folds too, by which every fold chooses one
within_runs: one_of none|center|zscore:
    center every voxel within each run (or subject), or divide it by its standard
    deviation too; for betas, whose baseline differs between runs (default: none)
bounds: one_of auto|forward|folds|none = 'auto':
    where lower bounds come from: forward (train on the earlier runs, test on the next),
    folds, none, or auto (forward if the design allows it)
test_units: one_of samples|runs = 'samples':
    units that the bounds treat as independent (given the condition)
e_value_order: one_of cyclic|chronological = 'cyclic':
    orders of the runs behind e-values; with the chronological one (every run is tested
    after the earlier ones) and --first-tested-run fixed beforehand runs may be added
    after looking
first_tested_run: whole N least=2 = 2:
    first run that chronological e-values test, counted from 1; the earlier ones only
    train
[analysis; searchlight targets; result own]
blocks
[analysis; searchlight; result extra]
curves: one_of trained_on_all|measured = 'trained_on_all':
    classifiers behind accuracy among fewer conditions than all: trained on all, or
    trained on random subsets of as many (measured)
[analysis; searchlight encoding targets; result extra]
per_fold
[analysis; encoding; result]
encoder: one_of auto|elastic-net|ridge loose = 'auto':
    encoding model; each voxel has its own cross-validated penalty, and repeats of a
    stimulus stay together; auto is elastic-net, and ridge where fewer than 100 stimuli
    are trained on
repeats: one_of average|keep = 'average':
    average the repeats of a test stimulus, or keep each as a sample
rule: one_of mahalanobis|ledoit_wolf|oas|diagonal|euclidean|correlation|\
auto = 'mahalanobis':
    how a response is compared with predictions: by a distance with this noise
    covariance, or by correlation; auto lets the training data choose mahalanobis or
    correlation
standardize
statistic: set_size_or_name NAME = 'implied_information':
    statistic of the permutation test: implied_information, accuracy, pairwise_accuracy,
    or a set size
[analysis; dissimilarity; result]
method
[analysis; dissimilarity; result own]
models
[analysis; searchlight encoding targets dissimilarity; result own]
noise_covariance
[analysis; searchlight encoding targets; result]
cv
set_sizes
[analysis; searchlight encoding targets group; result]
confidence_level: real P above=0 below=1 = 0.95: confidence level of the lower bounds
[cross; cross; result]
train: text NAME:
    train classifiers in this condition, test them in that of --test, then the other way
    round; p-values exchange class names between the two (default: all conditions are
    analyzed together)
test: text NAME: the other condition
[cross; cross; identity]
conditions_column: text COLUMN = 'condition':
    column of the events that holds the conditions of --train and --test
[confound; confound; result]
trial_confound: text COLUMN:
    column of the events with a confound of the trials, such as the reaction time: it is
    analyzed itself, and labels are exchanged within its levels (default: none)
stratum_size: whole N least=2 = 2:
    trials that are neighbors in a confound of numbers and exchange labels
[analysis; searchlight; identity]
n_partitions: whole N least=1 word=curve_partitions = 2:
    how often measured curves divide the conditions into random subsets
[analysis; searchlight targets group dissimilarity; identity]
n_permutations: whole N first least=0 = 0:
    number of permutations of the labels (default: 0, no p-values)
[analysis; encoding; identity]
n_permutations: whole N first least=0 = 0:
    number of permuted pairings of stimuli and responses (default: 0, no p-values)
[analysis; encoding targets; identity]
exchange: set_size_or_name NAME = 'rows':
    how pairings are permuted: rows, or, for films, stories and other series of
    responses in time, shifts (of whole runs, circular), or the number of responses in a
    block
[analysis; targets; result]
metric: one_of auto|cosine|correlation|euclidean = 'auto':
    how decoded targets are compared with candidates; auto is cosine, of one number
    euclidean
standardize_targets
statistic: set_size_or_name NAME = 'correlation':
    statistic of the permutation test: correlation, accuracy, pairwise_accuracy,
    implied_information, or a set size
[analysis; continuous; result]
delays: wholes N first = (1, 2, 3, 4):
    delays of the features, in volumes, from about 2 to 8 seconds (default: 1 2 3 4)
within_runs: one_of none|center|zscore = 'zscore':
    whether responses of each run are centered, or scaled as well
encoder
standardize
cv
[analysis; continuous; identity]
n_permutations: whole N first least=0 = 0:
    number of circular shifts of whole runs (default: 0, no p-values)
[resources; continuous dissimilarity; resource]
memory
[analysis; searchlight encoding targets group continuous dissimilarity; identity]
random_state: whole SEED = 0: seed of the permutations
[resources; searchlight encoding targets; resource extra]
save_null: path NPY:
    file for the permuted maps, which neuroextrap group --null reads (default: not kept)
shard: text i/N: do part i of N only; neuroextrap merge joins the parts
checkpoint: path DIR: folder of finished work, from which an interrupted run resumes
[resources; searchlight encoding targets dissimilarity; resource]
n_jobs: whole N first = 1: number of workers
[resources; searchlight encoding targets; resource]
max_memory: text SIZE = '2G': memory budget
memory
verbose
[samples; samples continuous; identity]
t_r: real S first:
    repetition time in seconds (default: from the header of each image, or
    RepetitionTime in its .json)
[samples; samples; identity]
check_t_r: flag = True: use --t-r even if header or .json disagree
sample_mask
[samples; samples; result]
exclude: texts NAME first = []: conditions to leave out, such as rest (default: none)
samples: one_of blocks|volumes|lsa|lss first = 'blocks':
    what a sample is: the average of a condition in a run (blocks), a volume (volumes),
    or a trial's beta by least squares all (lsa) or separate (lss)
delay: real S = 0.0:
    seconds by which responses lag behind events, for blocks and volumes
detrend: flag: remove the linear trend of every voxel in every run (blocks and volumes)
standardize: flag: z-score every voxel in every run (blocks and volumes)
[samples; samples continuous; result]
smoothing_fwhm: real MM:
    smooth volumes by a Gaussian of this full width at half maximum (default: no
    smoothing)
high_pass: real HZ:
    remove drifts below this frequency, 0 for none (default: 0.01 for lsa and lss, else
    none)
[samples; samples; result own]
confounds: texts NAME:
    confounds that are regressed out: names of nilearn's load_confounds for images of
    fMRIPrep (motion, wm_csf, global_signal, high_pass, compcor, scrub, ica_aroma,
    tedana), or tables of numbers, one for each image (default: none)
[stimuli; stimuli; result]
features: path FILE first: features of the stimuli, .tsv, .csv, .parquet, .npz or .npy
stimulus_images: path PATH:
    gray or color images of the stimuli, of which --model computes features: a folder,
    or a .npy
image_size: whole PIXELS = 128: image files are reduced until no side is longer
model: one_of gabor|retinotopic = 'gabor': features computed of --stimulus-images
n_folds: whole N least=2 word=folds:
    test every stimulus once, in N folds, by models trained on the others
[files; cohort group; identity]
participants: texts LABEL word=participant_label: these participants only (default: all)
task: text LABEL: the task (default: the only one in the data)
space: text LABEL: the space (default: the only one in the data)
[files; cohort; identity]
sessions: texts LABEL word=session_label: these sessions (together) only (default: all)
filters: texts ENTITY=LABEL word=filter:
    images whose names have these labels only, such as desc=denoised echo=2, to choose
    one of several versions of each run; echo= for names without (default: none)
filter_file: path FILE:
    JSON file of such filters, as those of fMRIPrep: {"bold": {"desc": "denoised"}}
    (default: none)
raw: path DIR:
    data set with the events (default: DERIVATIVES and the data set that it lies in)
[encoding; cohort; result]
stimulus_column: text NAME:
    column of the events that names the stimulus of a trial, such as stim_file; a folder
    and a suffix that features lack do not count (default: trial_type; of films none,
    files are called by runs)
[films; cohort; result]
test_runs: texts ENTITY=LABEL:
    labels that the names of test runs of films have, such as run=4 run=5; the others
    train
seconds: real S first word=segments:
    identify segments of so many seconds among others of the run (default: none)
[output; cohort group; resource]
overwrite: flag: replace results that were made with other options
report: flag = True: write no page about every participant or the group
[output; cohort; resource]
save_null: flag:
    keep the permuted maps of every participant, from which group infers the prevalence;
    needs --n-permutations
shard: text i/N: analyze every N-th participant, starting with the i-th: one of N jobs
work_dir: path DIR:
    folder for work in progress, from which an interrupted participant continues
    (default: none; it starts again)
dry_run: flag first: find and check everything, estimate the time, write nothing
[group; group; result]
contrast: texts TEXT:
    what is tested over participants: a column of their table (age: its slope; a column
    of text: any difference, F) or an expression of its values ('patients - controls');
    several are tested at once (F) (default: the mean)
covariates: texts NAME:
    further columns, centered; motion, voxels_lost and n_runs need no table (default:
    none)
participants_table: path TSV:
    table with a column participant_id (default: participants.tsv of DERIVATIVES or the
    data set it lies in)
within: texts ENTITY:
    sessions or tasks of everyone that are compared, first minus second, such as ses-2
    ses-1 (four: an interaction); one chooses it (default: none)
two_sided: flag: test for means below chance, or the baseline, too
cluster_threshold: real P:
    test clusters of voxels above this p-value, such as 0.001 (of t; for permuted maps,
    of the voxel's own permuted means)
tfce: flag first: test threshold-free cluster enhancement
gamma: real P = 0.5:
    prevalence under the null hypothesis of the prevalence test, which needs permuted
    maps (--save-null)
labels_img: path IMG first:
    atlas: participant analyzes its regions instead of spheres, group names the clusters
    by them
names: path TSV word=labels:
    names of the atlas's labels on the group's page, a table with columns index and name
    (default: their numbers)
bg_img: path IMG:
    image drawn under the maps of the group's page: an anatomy, mni152 or none (default:
    the template if the maps are in MNI space)
allow_mixed: texts NAME = False:
    accept that subjects differ in these parameters, such as runs, smoothing_fwhm or
    radius, named as in the error message; without a name, in any parameter
allow_native_space: flag:
    test voxel by voxel even if maps lie in the subjects' own spaces (space-T1w, or
    different grids that are not marked as MNI)
"""

RESULT, IDENTITY, RESOURCE = "result", "identity", "resource"
KINDS = ("searchlight", "encoding")
AS_MADE = ("stimuli", "cohort", "confound")
"""Kinds of parameters that are on record with the samples that were made."""


class Parameter(NamedTuple):
    """A parameter of analyses, or an option by which their data are made.

    `role` is "result" (it changes what the numbers of a map mean), "identity" (which
    data or draws they are made of) or "resource". `option` is None if only Python has
    it or another row declares it. `own` values may be each subject's own, but are given
    for all or for none; `extra` ones ask for more than the maps of one whole run.
    """

    name: str
    role: str
    of: tuple[str, ...]
    option: Option | None = None
    section: str = "analysis"
    own: bool = False
    extra: bool = False

    @property
    def word(self):
        """The option's name on the command line, None if it has none."""
        return None if self.option is None else self.option.word or self.name


def _rows():
    """Yield the Parameters of the table."""
    parts = re.split(r"^\[(.*)\]\n", TABLE, flags=re.MULTILINE)
    for head, table in zip(parts[1::2], parts[2::2], strict=True):
        section, kinds, roles = head.split("; ")
        role, *marks = roles.split()
        marked = {mark: mark in marks for mark in ("own", "extra")}
        for name, option in read_options(table).items():
            yield Parameter(name, role, tuple(kinds.split()), option, section, **marked)


PARAMETERS = tuple(_rows())


def parameters(*kinds):
    """Return the parameters of kinds of analysis, or those of "samples"."""
    return [row for row in PARAMETERS if set(kinds) & set(row.of)]


def resources():
    """Return the names of the parameters of analyses that change no result."""
    return {row.name for row in parameters(*KINDS) if row.role == RESOURCE}


def shared_parameters(*kinds):
    """Return the names of the parameters that all of some kinds have."""
    return [row.name for row in PARAMETERS if set(kinds) <= set(row.of)]


def taken_by(function, given):
    """Return those of some values, by name, that a function or a class takes."""
    words = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in words}


def path_words():
    """Return the words of analyses and cohorts whose values are files that are read."""
    rows = parameters(*KINDS, "stimuli", "cohort")
    given = [row for row in rows if row.option is not None and row.role != RESOURCE]
    return {row.word for row in given if row.option.is_path}


def command_words(text):
    """Return text about parameters in words of the command line.

    Alternatives that only Python has are left out: those with ", or give NAME=...".
    """
    rows = parameters(*KINDS, "targets", "samples", "continuous")
    options = {row.name: row for row in rows if row.option is not None}

    def option(match):
        row = options.get(match["name"])
        if row is None:
            return match[0]
        word, value = row.word.replace("_", "-"), match["value"].strip("'\"")
        if row.option.kind is bool:
            return f"--{word}" if value == "True" else f"--no-{word}"
        return f"--{word} {'none' if value == 'None' else value}"

    text = _ALTERNATIVE.sub(lambda f: f[0] if f["name"] in options else "", text)
    text = _VALUE.sub(option, _OF_OBJECT.sub(option, text))
    return _DECODING.sub(lambda f: _BY_OPTION.get(f["name"], f[0]), text)


_ALTERNATIVE = re.compile(r", or give (?P<name>\w+)=\.\.\.[^;,]*")
_OF_OBJECT = re.compile(r"(\w+=)?[A-Za-z_]+\((?P<name>\w+)=(?P<value>[^()=,]+)\)")
_VALUE = re.compile(
    r"(?<![\w./-])(?P<name>\w+)=(?P<value>'[^']*'|\"[^\"]*\"|\.\.\.|[\w+-]+(\.\d+)?)(?![\w(])"
)
_DECODING = re.compile(r"neuroextrap\.decoding\.(?P<name>\w+)")
_BY_OPTION = {
    "TargetSearchLight": "--targets",
    "cross_identification": "--train and --test",
}
