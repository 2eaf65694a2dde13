"""Confounds that fMRIPrep wrote beside its images, by nilearn's strategies."""

STRATEGIES = (
    "motion",
    "high_pass",
    "wm_csf",
    "global_signal",
    "compcor",
    "ica_aroma",
    "tedana",
    "scrub",
)
"""Names that ``nilearn.interfaces.fmriprep.load_confounds`` takes."""


def fmriprep_confounds(files, strategy):
    """Read the confounds of fMRIPrep's images by nilearn's ``load_confounds``.

    `strategy` is a sequence of names among `STRATEGIES`. Returns two lists, one entry
    per file: DataFrames of confounds (None where the strategy has none), and indices of
    the volumes that are kept (None for all), without those that fMRIPrep calls
    non-steady or, with "scrub", those with too much motion.
    """
    from nilearn.interfaces.fmriprep import load_confounds

    strategy = tuple(strategy)
    unknown = sorted(set(strategy) - set(STRATEGIES))
    if unknown or not strategy:
        raise ValueError(
            f"confounds={list(strategy)} must be names of nilearn's load_confounds: "
            f"{', '.join(STRATEGIES)}; correct {', '.join(unknown) or 'the empty list'}"
        )
    confounds, masks = [], []
    for file in files:
        try:
            table, mask = load_confounds(str(file), strategy=strategy)
        except (ValueError, OSError, KeyError) as error:
            text = " ".join(str(error).split())
            raise ValueError(
                f"confounds of {file} cannot be read by strategy "
                f"{' '.join(strategy)} ({text}); choose others, or give tables"
            ) from error
        confounds.append(table if table is not None and table.shape[1] else None)
        masks.append(mask)
    return confounds, masks
