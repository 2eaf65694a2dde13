"""The table of parameters of what analyses are made of: samples, stimuli, cohorts."""

from neuroextrap.analysis._options import flag, one_of, path, real, text, texts, whole

DATA = {
    ("samples", "samples continuous", "identity"): {
        "t_r": real(
            "repetition time in seconds",
            None,
            "S",
            said="from the header of each image, or RepetitionTime in its .json",
            first=True,
        )
    },
    ("samples", "samples", "identity"): {
        "check_t_r": flag("use --t-r even if header or .json disagree", True),
        "sample_mask": None,
    },
    ("samples", "samples", "result"): {
        "exclude": texts(
            "conditions to leave out, such as rest", [], said="none", first=True
        ),
        "samples": one_of(
            "what a sample is: the average of a condition in a run (blocks), a volume "
            "(volumes), or a trial's beta by least squares all (lsa) or separate (lss)",
            "blocks volumes lsa lss",
            "blocks",
            first=True,
        ),
        "delay": real(
            "seconds by which responses lag behind events, for blocks and volumes",
            0.0,
            "S",
        ),
        "detrend": flag(
            "remove the linear trend of every voxel in every run (blocks and volumes)"
        ),
        "standardize": flag("z-score every voxel in every run (blocks and volumes)"),
    },
    ("samples", "samples continuous", "result"): {
        "smoothing_fwhm": real(
            "smooth volumes by a Gaussian of this full width at half maximum",
            None,
            "MM",
            said="no smoothing",
        ),
        "high_pass": real(
            "remove drifts below this frequency, 0 for none",
            None,
            "HZ",
            said="0.01 for lsa and lss, else none",
        ),
    },
    ("samples", "samples", "result own"): {
        "confounds": texts(
            "confounds that are regressed out: names of nilearn's load_confounds for "
            "images of fMRIPrep (motion, wm_csf, global_signal, high_pass, compcor, "
            "scrub, ica_aroma, tedana), or tables of numbers, one for each image",
            said="none",
        )
    },
    ("stimuli", "stimuli", "result"): {
        "features": path(
            "features of the stimuli, .tsv, .csv, .parquet, .npz or .npy",
            "FILE",
            first=True,
        ),
        "stimulus_images": path(
            "gray or color images of the stimuli, of which --model computes "
            "features: a folder, or a .npy",
            "PATH",
        ),
        "image_size": whole(
            "image files are reduced until no side is longer", 128, "PIXELS"
        ),
        "model": one_of(
            "features computed of --stimulus-images", "gabor retinotopic", "gabor"
        ),
        "n_folds": whole(
            "test every stimulus once, in N folds, by models trained on the others",
            word="folds",
        ),
    },
    ("files", "cohort group", "identity"): {
        "participants": texts(
            "these participants only",
            None,
            "LABEL",
            said="all",
            word="participant_label",
        ),
        "task": text("the task", None, "LABEL", said="the only one in the data"),
        "space": text("the space", None, "LABEL", said="the only one in the data"),
    },
    ("files", "cohort", "identity"): {
        "sessions": texts(
            "these sessions (together) only",
            None,
            "LABEL",
            said="all",
            word="session_label",
        ),
        "filters": texts(
            "images whose names have these labels only, such as desc=denoised echo=2, "
            "to choose one of several versions of each run; echo= for names without",
            metavar="ENTITY=LABEL",
            said="none",
            word="filter",
        ),
        "filter_file": path(
            "JSON file of such filters, as those of fMRIPrep: "
            '{"bold": {"desc": "denoised"}}',
            "FILE",
            said="none",
        ),
        "raw": path(
            "data set with the events",
            "DIR",
            said="DERIVATIVES and the data set that it lies in",
        ),
    },
    ("encoding", "cohort", "result"): {
        "stimulus_column": text(
            "column of the events that names the stimulus of a trial, such as "
            "stim_file; a folder and a suffix that features lack do not count",
            said="trial_type; of films none, files are called by runs",
        )
    },
    ("films", "cohort", "result"): {
        "test_runs": texts(
            "labels that the names of test runs of films have, such as run=4 run=5; "
            "the others train",
            None,
            "ENTITY=LABEL",
        ),
        "seconds": real(
            "identify segments of so many seconds among others of the run",
            None,
            "S",
            said="none",
            first=True,
            word="segments",
        ),
    },
    ("output", "cohort group", "resource"): {
        "overwrite": flag("replace results that were made with other options"),
        "report": flag("write no page about every participant or the group", True),
    },
    ("output", "cohort", "resource"): {
        "save_null": flag(
            "keep the permuted maps of every participant, from which group infers the "
            "prevalence; needs --n-permutations"
        ),
        "shard": text(
            "analyze every N-th participant, starting with the i-th: one of N jobs",
            None,
            "i/N",
        ),
        "work_dir": path(
            "folder for work in progress, from which an interrupted participant "
            "continues",
            "DIR",
            said="none; it starts again",
        ),
        "dry_run": flag(
            "find and check everything, estimate the time, write nothing", first=True
        ),
    },
    ("group", "group", "result"): {
        "contrast": texts(
            "what is tested over participants: a column of their table (age: its "
            "slope; a column of text: any difference, F) or an expression of its "
            "values ('patients - controls'); several are tested at once (F)",
            metavar="TEXT",
            said="the mean",
        ),
        "covariates": texts(
            "further columns, centered; motion, voxels_lost and n_runs need no table",
            said="none",
        ),
        "participants_table": path(
            "table with a column participant_id",
            "TSV",
            said="participants.tsv of DERIVATIVES or the data set it lies in",
        ),
        "within": texts(
            "sessions or tasks of everyone that are compared, first minus second, such "
            "as ses-2 ses-1 (four: an interaction); one chooses it",
            metavar="ENTITY",
            said="none",
        ),
        "two_sided": flag("test for means below chance, or the baseline, too"),
        "cluster_threshold": real(
            "test clusters of voxels above this p-value, such as 0.001 (of t; for "
            "permuted maps, of the voxel's own permuted means)",
            None,
            "P",
        ),
        "tfce": flag("test threshold-free cluster enhancement", first=True),
        "gamma": real(
            "prevalence under the null hypothesis of the prevalence test, which needs "
            "permuted maps (--save-null)",
            0.5,
            "P",
        ),
        "labels_img": path(
            "atlas: participant analyzes its regions instead of spheres, group names "
            "the clusters by them",
            first=True,
        ),
        "names": path(
            "names of the atlas's labels on the group's page, a table with columns "
            "index and name",
            "TSV",
            said="their numbers",
            word="labels",
        ),
        "bg_img": path(
            "image drawn under the maps of the group's page: an anatomy, mni152 or "
            "none",
            said="the template if the maps are in MNI space",
        ),
        "allow_mixed": texts(
            "accept that subjects differ in these parameters, such as runs, "
            "smoothing_fwhm or radius, named as in the error message; without a name, "
            "in any parameter",
            False,
        ),
        "allow_native_space": flag(
            "test voxel by voxel even if maps lie in the subjects' own spaces "
            "(space-T1w, or different grids that are not marked as MNI)"
        ),
    },
}
