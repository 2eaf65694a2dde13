"""Every parameter of an analysis, declared once; lists of them are read from here."""

from typing import NamedTuple

from sklearn.base import clone

from neuroextrap.maps._parameters import flat_parameters, nested_parameters
from neuroextrap.margins.running._described import WITHOUT_EFFECT

RESULT, IDENTITY, RESOURCE = "result", "identity", "resource"
_SEARCHLIGHT, _ENCODING, _SAMPLES = ("searchlight",), ("encoding",), ("samples",)
_BOTH = (*_SEARCHLIGHT, *_ENCODING)
_WORDLESS = ("memory", "verbose")


class Parameter(NamedTuple):
    """A parameter of analyses, or an option by which samples are made of images.

    `of` are the kinds of analysis that have it, or "samples" (``fit_events``). `role`
    is "result" (it changes what the numbers of a map mean), "identity" (which data or
    draws they are made of, as every subject has its own) or "resource" (no number
    depends on it). `word` is its option on the command line, None where only Python
    has it. `own` values may be each subject's own, but are given for all or for none.
    Some parameters together choose the regions.
    """

    name: str
    role: str
    word: str | None
    of: tuple[str, ...]
    own: bool = False
    chooses_regions: bool = False


PARAMETERS = (
    Parameter("mask", IDENTITY, "mask", _BOTH),
    Parameter("encoder", RESULT, "encoder", _ENCODING),
    Parameter("radius", RESULT, "radius", _BOTH, chooses_regions=True),
    Parameter("n_nearest", RESULT, "n_nearest", _BOTH, chooses_regions=True),
    Parameter("labels_img", RESULT, "labels_img", _BOTH, True, True),
    Parameter("regions", RESULT, None, _BOTH, True, True),
    Parameter("process_mask_img", RESULT, "process_mask", _BOTH, True, True),
    Parameter("stride", RESULT, "stride", _BOTH, chooses_regions=True),
    Parameter("min_voxels", RESULT, "min_voxels", _BOTH),
    Parameter("estimator", RESULT, "estimator", _SEARCHLIGHT),
    Parameter("shrinkage", RESULT, "shrinkage", _SEARCHLIGHT),
    Parameter("noise_covariance", RESULT, None, _BOTH, own=True),
    Parameter("covariance", RESULT, "covariance", _ENCODING),
    Parameter("rule", RESULT, "rule", _ENCODING),
    Parameter("residuals", RESULT, None, _ENCODING),
    Parameter("standardize", RESULT, None, _ENCODING),
    Parameter("cv", RESULT, None, _BOTH),
    Parameter("repeats", RESULT, "repeats", _ENCODING),
    Parameter("classes", RESULT, "classes", _SEARCHLIGHT),
    Parameter("within_runs", RESULT, None, _SEARCHLIGHT),
    Parameter("set_sizes", RESULT, None, _BOTH),
    Parameter("statistic", RESULT, "statistic", _SEARCHLIGHT),
    Parameter("statistic", RESULT, None, _ENCODING),
    Parameter("n_permutations", IDENTITY, "n_permutations", _BOTH),
    Parameter("blocks", RESULT, None, _SEARCHLIGHT, own=True),
    Parameter("confidence_level", RESULT, "confidence_level", _BOTH),
    Parameter("bounds", RESULT, "bounds", _SEARCHLIGHT),
    Parameter("test_units", RESULT, "test_units", _SEARCHLIGHT),
    Parameter("e_value_order", RESULT, "e_value_order", _SEARCHLIGHT),
    Parameter("per_fold", RESULT, None, _BOTH),
    Parameter("random_state", IDENTITY, "random_state", _BOTH),
    *(
        Parameter(name, RESOURCE, None if name in _WORDLESS else name, _BOTH)
        for name in WITHOUT_EFFECT
        if name != "memory_level"  # of maskers
    ),
    Parameter("samples", RESULT, "samples", _SAMPLES),
    Parameter("t_r", IDENTITY, "t_r", _SAMPLES),
    Parameter("check_t_r", IDENTITY, "check_t_r", _SAMPLES),
    Parameter("exclude", RESULT, "exclude", _SAMPLES),
    Parameter("confounds", RESULT, "confounds", _SAMPLES, own=True),
    Parameter("sample_mask", IDENTITY, None, _SAMPLES),
    Parameter("smoothing_fwhm", RESULT, "smoothing_fwhm", _SAMPLES),
    Parameter("high_pass", RESULT, "high_pass", _SAMPLES),
    Parameter("detrend", RESULT, "detrend", _SAMPLES),
    Parameter("standardize", RESULT, "standardize", _SAMPLES),
    Parameter("delay", RESULT, "delay", _SAMPLES),
)


def parameters(*kinds):
    """Return the parameters of kinds of analysis, or those of "samples".

    >>> [row.name for row in parameters("samples") if row.role == "identity"]
    ['t_r', 'check_t_r', 'sample_mask']
    """
    return [row for row in PARAMETERS if set(kinds) & set(row.of)]


def of_no_places(analysis):
    """Return the mask and what chooses regions as where features have no place, a dict.

    The radius, which then means nothing, is left as it is.
    """
    names = ["mask", *(row.name for row in PARAMETERS if row.chooses_regions)]
    names.remove("radius")
    return _defaults(analysis, names)


def of_arrays(analysis):
    """Return a copy for arrays of any few features, on one core, that keeps nothing."""
    names = [row.name for row in PARAMETERS if row.role == RESOURCE]
    names.remove("max_memory")  # by which work is divided, whatever is analyzed
    reset = of_no_places(analysis) | _defaults(analysis, names)
    return with_parameters(analysis, noise_covariance=None, **reset | {"min_voxels": 1})


def with_parameters(analysis, **changed):
    """Return a copy with parameters changed, those inside of value objects too."""
    given = flat_parameters(analysis) | changed
    return clone(analysis).set_params(**nested_parameters(type(analysis), given))


def _defaults(analysis, names):
    """Return the default of parameters by name."""
    known = flat_parameters(type(analysis)())
    return {name: known[name] for name in names}
