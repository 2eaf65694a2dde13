"""The parameters of an analysis as files and pages show them."""

import inspect

from neuroextrap.maps._provenance import described_value
from neuroextrap.margins.running._described import WITHOUT_EFFECT


def described_parameters(estimator):
    """Return the parameters that results depend on, in JSON values by name.

    What an analysis that was read from a folder could not restore (an image, say) is
    as the folder described it.
    """
    given = estimator.get_params(deep=False)
    kept = {n: v for n, v in given.items() if n not in WITHOUT_EFFECT}
    return _restored(estimator, described_value(kept))


def changed_parameters(estimator):
    """Return the parameters that differ from the default, in JSON values by name."""
    defaults = inspect.signature(type(estimator)).parameters
    given = described_value(estimator.get_params(deep=False))
    return {
        name: value
        for name, value in _restored(estimator, given).items()
        if name not in defaults or value != described_value(defaults[name].default)
    }


def _restored(estimator, described):
    """Return described parameters, with those that a folder described only."""
    origin = getattr(estimator, "origin_", None)
    known = {} if origin is None else origin.parameters
    return {
        name: known[name] if value is None and name in known else value
        for name, value in described.items()
    }
