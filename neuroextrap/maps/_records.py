"""What every map means: one record each, which files, pages and figures read."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from fractions import Fraction

from neuroextrap.maps._provenance import described_value
from neuroextrap.margins.running._checkpoint import WITHOUT_EFFECT

_LABELS = {
    "n_voxels": "number of voxels",
    "p_value": "p",
    "p_value_fwe": "corrected p (family-wise)",
    "p_value_fwe_step_down": "corrected p, step-down",
    "p_value_fwe_tail": "corrected p, from a fitted tail",
    "p_value_tail": "p, from a fitted tail",
    "p_value_fdr": "false discovery rate by p",
    "neg_log10_p_fwe": "corrected p (-log10)",
    "e_value": "e-value",
    "e_value_fdr": "false discovery rate by e-value",
    "z": "z of p",
    "n_pipelines": "number of pipelines",
    "p_value_fwe_any": "corrected p, any pipeline",
    "p_value_fwe_all": "corrected p, every pipeline",
    "confound_p_value": "p of the confound",
    "confound_p_value_fwe": "corrected p of the confound",
    "unrestricted_p_value": "p, confound ignored",
    "unrestricted_p_value_fwe": "corrected p, confound ignored",
}
"""Maps whose name is no label."""


@dataclass(frozen=True)
class MapRecord:
    """What a map means: files, reports and viewers learn it here, not from the name."""

    #: Name of the map, which is also the name of its file.
    name: str
    #: What the numbers are, in one sentence.
    description: str
    #: Unit of the numbers, such as "bits", "proportion" or "p".
    unit: str = ""
    _: KW_ONLY
    #: Value that guessing gives, or a function of the number of classes; None for none.
    chance: float | Callable[[int], Fraction] | None = None
    #: Value from which on pages draw the map at first; None is chance, or else 0.
    threshold: float | None = None
    #: What a region that passes the threshold has, where this is not plain.
    threshold_meaning: str = ""
    #: When the numbers hold and what they do not say, a paragraph of the report.
    note: str = ""
    #: Whether the numbers hold for all regions at once.
    simultaneous: bool = False
    #: Whether reports draw the map and viewers offer it in their menu.
    overview: bool = False
    #: Whether peak tables have a column of it.
    tabulated: bool = True

    @property
    def tail(self):
        """Which values are strong: large ones ("upper") or, of p-values, small."""
        return "lower" if self.unit == "p" else "upper"

    @property
    def label(self):
        """The name in words, as a reader of tables and figures wants it."""
        if self.name in _LABELS:
            return _LABELS[self.name]
        words = self.name.removesuffix("_fwe").replace("_", " ")
        words = words.replace("bayes", "Bayes")
        return f"{words} (all regions at once)" if self.name.endswith("_fwe") else words

    @property
    def label_with_unit(self):
        """The name in words, with the unit unless it is a proportion."""
        plain = self.unit in ("", "proportion")
        return self.label if plain else f"{self.label} ({self.unit})"

    def chance_level(self, n_classes):
        """Return the value that guessing gives, or None; a fraction prints as 1/8."""
        return self.chance(n_classes) if callable(self.chance) else self.chance

    def first_threshold(self, n_classes):
        """Return the value above which (p-values: up to which) a map is first drawn."""
        if self.threshold is not None:
            return float(self.threshold)
        return float(self.chance_level(n_classes) or 0)

    def strength(self, values):
        """Return numbers (n_regions,) that are larger where the map is stronger."""
        return -values if self.tail == "lower" else values


def flat_parameters(estimator):
    """Return parameters by name, those inside of value objects (``VALUES``) too."""
    given = estimator.get_params(deep=False)
    for name, kind in getattr(estimator, "VALUES", {}).items():
        given |= vars(value_of(kind, given.pop(name)))
    return given


def value_of(kind, given):
    """Return a parameter as a value of class `kind`, whose first field may be given."""
    if isinstance(given, kind):
        return given
    return kind() if given is None and fields(kind)[0].default is None else kind(given)


def nested_parameters(kind, flat):
    """Return parameters by name as the class `kind` takes them, values put together."""
    given = dict(flat)
    for name, value in kind.VALUES.items():
        names = [field.name for field in fields(value) if field.name in given]
        if names:
            given[name] = _plain(value(**{each: given.pop(each) for each in names}))
    return given


def _plain(value):
    """Return the first field of a value if the others have their defaults."""
    first, *others = fields(value)
    for other in others:
        given = getattr(value, other.name)
        if type(given) is not type(other.default) or given != other.default:
            return value
    return getattr(value, first.name)


def described_parameters(estimator):
    """Return the parameters that results depend on, in JSON values by name."""
    given = flat_parameters(estimator)
    kept = {n: v for n, v in given.items() if n not in WITHOUT_EFFECT}
    return _restored(estimator, described_value(kept))


def changed_parameters(estimator):
    """Return the parameters that differ from the default, in JSON values by name."""
    defaults = described_value(flat_parameters(type(estimator)()))
    given = described_value(flat_parameters(estimator))
    return {
        name: value
        for name, value in _restored(estimator, given).items()
        if name not in defaults or value != defaults[name]
    }


def _restored(estimator, described):
    """Return parameters; those that were not restored are as their folder has them."""
    origin = getattr(estimator, "origin_", None)
    recorded = {} if origin is None else origin.parameters
    return {
        name: recorded[name] if value is None and name in recorded else value
        for name, value in described.items()
    }
