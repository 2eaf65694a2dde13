"""Records of maps whose names follow a rule: a function for each kind."""

from dataclasses import replace

from neuroextrap.maps._records import MapRecord
from neuroextrap.maps._registry import p_value_record, record_of

_VOXEL_SCORES = {
    "r2": "Explained variance of the test responses by the prediction",
    "correlation": "Correlation of test responses and prediction",
    "noise_ceiling": "Noise ceiling: proportion of the variance of test responses that "
    "a perfect model would explain, estimated from repeats",
    "r2_normalized": "Explained variance divided by the noise ceiling",
    "correlation_normalized": "Correlation divided by the square root of the noise "
    "ceiling",
    "alpha": "Penalty of the encoder, chosen by cross-validation",
    "l1_ratio": "Mixing of the penalties of the elastic net (1: lasso), chosen by "
    "cross-validation",
}
_VOXEL_UNITS = {"r2": "proportion", "noise_ceiling": "proportion", "alpha": "penalty"}


def voxel_record(name):
    """Return the record of a number of single voxels that an encoding model has."""
    other = f"{name.replace('_', ' ')}, chosen by cross-validation"
    text = f"{_VOXEL_SCORES.get(name, other)}; voxel by voxel"
    return MapRecord(f"voxel_{_plain(name)}", text, _VOXEL_UNITS.get(name, "1"))


_OF_CURVES = {
    "sensitivity": (
        "Sensitivity of the true label's posterior, all subjects.",
        "squared probability per squared unit of the scans",
    ),
    "canonical": (
        "Canonical maps (eigenimages), all subjects, one volume a direction.",
        "within-class standard deviations per unit of the scans",
    ),
}


def curve_record(kind, scheme):
    """Return the record of a map of learning curves, of one scheme of labels."""
    return MapRecord(f"{kind}_{scheme}", *_OF_CURVES[kind])


def lesion_record(name):
    """Return the record of a map of lesions, most of which are of the voxels left."""
    record = record_of(name)
    if "loss" in name or name == "n_voxels":
        return record
    return replace(record, description=f"{record.description}; without the region")


AGREEMENT = {
    "spearman": "Spearman correlation",
    "kendall": "Kendall's tau-a",
    "cosine": "Cosine",
}


def dissimilarity_names(model):
    """Return the names of a model's maps: agreement, p-values, family-wise ones."""
    return f"{model}_correlation", f"{model}_p_value", f"{model}_p_value_fwe"


def dissimilarity_records(models, method):
    """Return the records, by name, of distances and their agreement with models."""
    records = [
        record_of("n_voxels"),
        MapRecord(
            "mean_dissimilarity",
            "Cross-validated squared distance between classes, divided by the number "
            "of voxels; the mean over pairs of classes",
            "squared distance",
            chance=0.0,
            overview=True,
        ),
        MapRecord(
            "noise_ceiling",
            "Agreement with the measured distances that a model without error is "
            "expected to have, from halves of the runs; approximate",
            "r",
        ),
    ]
    most = "against the maximum over regions (family-wise error; of this model alone)"
    for model in models:
        agreement, *p_values = dissimilarity_names(model)
        what = f"{AGREEMENT[method]} of the distances with the model {model}"
        records.append(MapRecord(agreement, what, "r", chance=0.0, overview=True))
        what += ": p by exchange of the classes, "
        records += _p_values(p_values, what, "every region by itself", most)
    return {record.name: record for record in records}


def _p_values(names, what, each, most):
    """Yield the records of p-values, uncorrected and corrected."""
    for name, where in zip(names, (each, most), strict=True):
        yield p_value_record(name, f"{what}{where}")


_SERIES_P_VALUES = {
    "p_value": "every voxel by itself",
    "p_value_fwe": "against the maximum over voxels",
}


def series_record(name):
    """Return the record of a score of voxels in held-out runs of a film or a story."""
    if name not in _SERIES_P_VALUES:
        return replace(voxel_record(name), name=name)
    text = "p of the correlation, by circular shifts of whole runs"
    return p_value_record(name, f"{text}; {_SERIES_P_VALUES[name]}")


def segment_record(name):
    """Return the record of a score of regions by which segments are identified."""
    record = replace(record_of(name), name=f"segment_{name}")
    if name not in _SERIES_P_VALUES:
        return record
    text = "p of the pairwise accuracy of segments, by circular shifts of whole runs"
    return replace(record, description=text)


def band_names(band):
    """Return the names of a band's maps: product, unique, p-values, corrected ones."""
    kinds = "r2_product", "r2_unique", "p_value_unique", "p_value_fwe_unique"
    return tuple(f"{kind}_of_{band}" for kind in kinds)


def band_records(bands):
    """Return the records, by name, of what bands of features explain."""
    shared = (
        "Explained variance that more than one band explains: r2 less what is unique "
        "to any (negative where bands explain more together)"
    )
    most = "against the maximum over voxels and bands"
    records = [series_record("r2"), MapRecord("r2_shared", shared, "proportion")]
    for band in bands:
        product, unique, *p_values = band_names(band)
        part = f"Part of {band} in r2 (product measure), which all bands add up to"
        lost = (
            f"Explained variance that is lost without {band}, by a model trained anew"
        )
        what = f"p of what {band} adds to the other bands, by circular shifts; "
        records += [
            MapRecord(product, part, "proportion"),
            MapRecord(unique, lost, "proportion"),
            *_p_values(p_values, what, "every voxel by itself", most),
        ]
    return {r.name: replace(r, name=_plain(r.name)) for r in records}


def _plain(name):
    """Return a name of letters, digits and underscores."""
    return "".join(c if c.isalnum() else "_" for c in name)


def extrapolation_record(set_size, end=""):
    """Return the record of predicted accuracy, or of the `end` of its interval."""
    name = f"accuracy_among_{set_size}" + (f"_{end}" if end else "")
    what = f"{end.capitalize()} end of the interval of the p" if end else "P"
    text = f"{what}redicted identification accuracy among {set_size} classes, "
    text += "extrapolated from those of the data"
    return MapRecord(name, text, "proportion", chance=1 / set_size)
