"""Records of maps whose names follow a rule: a function for each kind.

Scores of single voxels, distances and their models, films and stories, bands of
features, extrapolated accuracies.
"""

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
    """Return the record of a number of single voxels that an encoding model has.

    The record's name, of letters, digits and underscores, says that it is not a number
    of regions.
    """
    other = f"{name.replace('_', ' ')}, chosen by cross-validation"
    return MapRecord(
        name=f"voxel_{_plain(name)}",
        description=f"{_VOXEL_SCORES.get(name, other)}; voxel by voxel",
        unit=_VOXEL_UNITS.get(name, "1"),
    )


AGREEMENT = {
    "spearman": "Spearman correlation",
    "kendall": "Kendall's tau-a",
    "cosine": "Cosine",
}


def dissimilarity_names(model):
    """Return the names of a model's maps: agreement, p-values, family-wise ones."""
    return f"{model}_correlation", f"{model}_p_value", f"{model}_p_value_fwe"


def dissimilarity_records(models, method):
    """Return the records of maps of distances and of their agreement with models.

    `models` are names, `method` is how they are compared; a dict by the name of a map.
    """
    records = [
        record_of("n_voxels"),
        MapRecord(
            name="mean_dissimilarity",
            description="Cross-validated squared distance between classes, divided by "
            "the number of voxels; the mean over pairs of classes",
            unit="squared distance",
            chance=0.0,
            overview=True,
        ),
        MapRecord(
            name="noise_ceiling",
            description="Agreement with the measured distances that a model without "
            "error is expected to have, from halves of the runs; approximate",
            unit="r",
        ),
    ]
    for model in models:
        agreement, p_value, p_value_fwe = dissimilarity_names(model)
        what = f"{AGREEMENT[method]} of the distances with the model {model}"
        records += [
            MapRecord(
                name=agreement,
                description=what,
                unit="r",
                chance=0.0,
                overview=True,
            ),
            p_value_record(
                p_value,
                f"{what}: p by exchange of the classes, every region by itself",
            ),
            p_value_record(
                p_value_fwe,
                f"{what}: p by exchange of the classes, against the maximum over "
                "regions (family-wise error; of this model alone)",
                simultaneous=True,
            ),
        ]
    return {record.name: record for record in records}


_SERIES_P_VALUES = {
    "p_value": ("every voxel by itself", False),
    "p_value_fwe": ("against the maximum over voxels", True),
}


def series_record(name):
    """Return the record of a score of voxels in held-out runs of a film or a story."""
    if name not in _SERIES_P_VALUES:
        return replace(voxel_record(name), name=name)
    where, simultaneous = _SERIES_P_VALUES[name]
    text = f"p of the correlation, by circular shifts of whole runs; {where}"
    return p_value_record(name, text, simultaneous=simultaneous)


def segment_record(name):
    """Return the record of a score of regions by which segments are identified."""
    record = replace(record_of(name), name=f"segment_{name}")
    if name not in _SERIES_P_VALUES:
        return record
    text = "p of the pairwise accuracy of segments, by circular shifts of whole runs"
    return replace(record, description=text)


def band_names(band):
    """Return the names of a band's maps: product, unique, p-values, family-wise ones.

    >>> band_names("words")[:2]
    ('r2_product_of_words', 'r2_unique_of_words')
    """
    kinds = "r2_product", "r2_unique", "p_value_unique", "p_value_fwe_unique"
    return tuple(f"{kind}_of_{band}" for kind in kinds)


def band_records(bands):
    """Return the records of what bands of features explain, a dict by name of map.

    The names of files are of letters, digits and underscores.
    """
    records = [
        series_record("r2"),
        MapRecord(
            name="r2_shared",
            description="Explained variance that more than one band explains: r2 less "
            "what is unique to any (negative where bands explain more together)",
            unit="proportion",
        ),
    ]
    for band in bands:
        product, unique, *p_values = band_names(band)
        texts = {
            product: f"Part of {band} in r2 (product measure), which all bands add up "
            "to",
            unique: f"Explained variance that is lost without {band}, by a model "
            "trained anew",
        }
        records += [
            MapRecord(name=name, description=text, unit="proportion")
            for name, text in texts.items()
        ]
        what = f"p of what {band} adds to the other bands, by circular shifts; "
        records += [
            p_value_record(p_values[0], f"{what}every voxel by itself"),
            p_value_record(
                p_values[1],
                f"{what}against the maximum over voxels and bands",
                simultaneous=True,
            ),
        ]
    return {r.name: replace(r, name=_plain(r.name)) for r in records}


def _plain(name):
    """Return a name of letters, digits and underscores."""
    return "".join(c if c.isalnum() else "_" for c in name)


def extrapolation_record(set_size, end=""):
    """Return the record of the accuracy predicted among `set_size` classes.

    `end` is "lower" or "upper" for an end of its interval.
    """
    what = f"{end.capitalize()} end of the interval of the p" if end else "P"
    return MapRecord(
        name=f"accuracy_among_{set_size}" + (f"_{end}" if end else ""),
        description=f"{what}redicted identification accuracy among {set_size} classes, "
        "extrapolated from those of the data",
        unit="proportion",
        chance=1 / set_size,
    )
