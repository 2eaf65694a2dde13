"""What the inequality behind a bound asks of the test set."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike


class Tested(Protocol):
    """Numbers of a test set; `TestDesign` has them, and the methods that bound."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""

    @property
    def n_repeats(self) -> ArrayLike:
        """Test points per class: a number, (K,) or (n_folds, K)."""

    @property
    def noise(self) -> float:
        """Test noise s**2, the mean of 1/r_i where there are no folds."""

    @property
    def smallest(self) -> float:
        """Smallest number of repeats of a class (in a fold)."""

    @property
    def n_models(self) -> int:
        """Number of models compared on the same test points."""

    @property
    def n_bounds(self) -> int:
        """Number of bounds that hold simultaneously."""

    @property
    def confidence_level(self) -> float:
        """Confidence level of all bounds together."""

    @property
    def alpha(self) -> float:
        """Error level of all bounds together."""

    @property
    def log_term(self) -> float:
        """Logarithm of n_bounds / alpha."""
