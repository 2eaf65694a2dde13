"""The parameters of an analysis as files and pages show them."""

from dataclasses import fields

from neuroextrap.maps._provenance import described_value
from neuroextrap.margins.running._described import WITHOUT_EFFECT


def flat_parameters(estimator):
    """Return all parameters by name, those inside of value objects among them.

    The class of the estimator names its value objects by parameter (``VALUES``).
    """
    given = estimator.get_params(deep=False)
    for name, kind in getattr(estimator, "VALUES", {}).items():
        given |= vars(value_of(kind, given.pop(name)))
    return given


def value_of(kind, given):
    """Return what a parameter was given as a value of class `kind`.

    The first field of the value is what may be given instead of it.
    """
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
    """Return the parameters that results depend on, in JSON values by name.

    What an analysis that was read from a folder could not restore (an image, say) is
    as the folder described it.
    """
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
    """Return described parameters, with those that a folder described only."""
    origin = getattr(estimator, "origin_", None)
    known = {} if origin is None else origin.parameters
    return {
        name: known[name] if value is None and name in known else value
        for name, value in described.items()
    }
