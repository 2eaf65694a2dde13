"""What was done, in sentences to cite, and with which parameters."""

import neuroextrap
from neuroextrap.maps._parameters import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._provenance import versions
from neuroextrap.margins.running._described import WITHOUT_EFFECT
from neuroextrap.reporting._page import key_value_table
from neuroextrap.reporting._rendering import paragraphs, render

_LONGEST = 300

_SEARCHLIGHT = (
    "Kriegeskorte, Goebel & Bandettini (2006). Information-based functional brain "
    "mapping. PNAS 103, 3863-3868."
)
_CURVES = (
    "Zheng, Achanta & Benjamini (2018). Extrapolating expected accuracies for large "
    "multi-class problems. Journal of Machine Learning Research 19, 1-30."
)
_INFORMATION = (
    "Zheng & Benjamini (2016). Estimating mutual information in high dimensions via "
    "classification error. arXiv:1606.05229."
)
PERMUTATIONS = (
    "Nichols & Holmes (2002). Nonparametric permutation tests for functional "
    "neuroimaging: a primer with examples. Human Brain Mapping 15, 1-25."
)
NILEARN = (
    "Abraham et al. (2014). Machine learning for neuroimaging with scikit-learn. "
    "Frontiers in Neuroinformatics 8, 14."
)


def methods_paragraph(fitted):
    """Describe a fitted analysis in sentences for the methods section of a paper.

    Only what the fitted analysis itself knows is said: how samples were made of the
    images is for the reader to add.
    """
    sentences = [
        f"Stimulus information was mapped with neuroextrap {neuroextrap.__version__}.",
        _regions(fitted),
        _accuracy(fitted),
        _permutations(fitted),
        _bounds(fitted),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def methods_section(fitted):
    """Return the paragraph to cite and its references, as HTML."""
    return render(
        "methods", paragraph=methods_paragraph(fitted), references=references(fitted)
    )


def references(fitted):
    """List the works to cite for a fitted analysis, those that it used."""
    cited = [_CURVES, _INFORMATION]
    in_space = fitted.masker_ is not None
    if in_space and fitted.results_.choice.centers is not None:
        cited.insert(0, _SEARCHLIGHT)
    if fitted.n_permutations_:
        cited.append(PERMUTATIONS)
    return cited + [NILEARN] * in_space


def parameter_tables(fitted):
    """Show the parameters: those that differ from the default first, then the rest."""
    changed = {
        name: value
        for name, value in changed_parameters(fitted).items()
        if name not in WITHOUT_EFFECT
    }
    others = {
        name: value
        for name, value in described_parameters(fitted).items()
        if name not in changed
    }
    found = ", ".join(f"{name} {version}" for name, version in versions().items())
    first = _table(changed) if changed else paragraphs("All parameters have defaults.")
    return render(
        "parameters",
        changed=changed,
        first=first,
        others=_table({**others, "versions": found}),
    )


def _regions(fitted):
    """Say what the regions were."""
    choice = fitted.results_.choice
    n_regions = int(fitted.results_.scores.done.sum())
    if choice.names is not None:
        return f"The regions were {n_regions} regions of an atlas."
    if choice.centers is None or fitted.masker_ is None:
        return f"{n_regions} regions of features were analyzed."
    n_nearest = flat_parameters(fitted).get("n_nearest")
    shape = (
        f"spheres (discs on surfaces) of {fitted.radius:g} mm radius"
        if n_nearest is None
        else f"the {n_nearest} voxels nearest to a center"
    )
    return f"The {n_regions} regions were {shape}."


def _accuracy(fitted):
    """Say how accuracy was measured."""
    n_classes = len(fitted.classes_)
    parameters = described_parameters(fitted)
    how = "an encoding model predicted the responses to candidate stimuli"
    if "estimator" in parameters:
        how = f"a classifier ({_short(parameters['estimator'])}) was cross-validated"
    return (
        f"In every region {how}; identification accuracy is the proportion of "
        f"{fitted.results_.n_test} test points whose true class, of {n_classes}, "
        "scored highest, classes weighted equally, and implied information the mutual "
        "information (bits) of the Gaussian channel with the closest accuracy curve "
        f"over {fitted.set_sizes_[0]} to {fitted.set_sizes_[-1]} classes (Zheng, "
        "Achanta & Benjamini 2018)."
    )


def _permutations(fitted):
    """Say how p-values were made."""
    if not fitted.n_permutations_:
        return ""
    return (
        f"p-values come from {fitted.n_permutations_} permutations"
        f"{_exchanged(fitted)}, family-wise by the maximum over regions (Nichols & "
        "Holmes 2002)."
    )


def _exchanged(fitted):
    """Say within what labels moved, where the fitted analysis still knows it."""
    try:
        labels = fitted.run_.labels
    except (AttributeError, ValueError):  # read from a folder, or no labels
        return ""
    what = " of the labels" if labels.blocks is None else " of the labels of blocks"
    return what if labels.groups is None else f"{what} within runs"


def _bounds(fitted):
    """Say at which level bounds hold."""
    results = fitted.results_
    if results.n_repeats is None:
        return ""
    level = 100 * results.confidence_level
    return f"Lower confidence bounds hold at {level:g}%."


def _table(parameters):
    """Tabulate parameters, long values cut."""
    return key_value_table(
        {name: _short(v) for name, v in sorted(parameters.items())}, "Parameters"
    )


def _short(value):
    """Return a described value as text: its class, file or hash before all else."""
    text = " ".join(str(_plain(value)).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _plain(value):
    """Return the most telling part of a described value."""
    if not isinstance(value, dict):
        return value
    if "class" in value and value.get("parameters"):
        listed = ", ".join(f"{n}={_plain(v)}" for n, v in value["parameters"].items())
        return f"{value['class']}({listed})"
    kind = next(
        (value[key] for key in ("file", "class", "image") if key in value), None
    )
    shape = value.get("shape")
    if kind is None and shape is not None:
        kind = f"array of {' x '.join(map(str, shape))}"
    sha256 = value.get("sha256")
    first = next(iter(sha256.values())) if isinstance(sha256, dict) else sha256
    first = first[0] if isinstance(first, list) else first
    known = f"{kind}, SHA-256 {str(first)[:12]}..." if first else str(kind)
    return value if kind is None else known
