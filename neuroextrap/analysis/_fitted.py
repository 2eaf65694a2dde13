"""What is said of an analysis that has no results yet."""

from sklearn.exceptions import NotFittedError

# set together, when results are published
_SIGN = "region_scores_"


class FittedAttributes:
    """Attributes with a trailing underscore, which are there once there are results."""

    def __getattr__(self, name):
        """Raise for an attribute that is not there: NotFittedError before results."""
        of_results = name in ("_results", "_run") or (
            name.endswith("_") and not name.startswith("_")
        )
        if of_results and _SIGN not in vars(self):
            raise NotFittedError(_message(self, name))
        kind = type(self).__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def check_has_results(analysis):
    """Raise NotFittedError before an analysis has results."""
    if _SIGN not in vars(analysis):
        raise NotFittedError(_message(analysis, "results"))


def check_trained(model):
    """Raise NotFittedError before an encoding model is trained."""
    if "encoder_" not in vars(model):
        raise NotFittedError(
            f"{type(model).__name__} is not trained yet; call fit(features, imgs) first"
        )


def _message(analysis, wanted):
    """Say which call is missing."""
    calls = "fit(...)"
    if hasattr(analysis, "identify"):
        calls = "identify(...)" if "encoder_" in vars(analysis) else "fit and identify"
    return f"{type(analysis).__name__} has no {wanted} yet; call {calls} first"
