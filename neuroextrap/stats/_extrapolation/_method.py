"""What an extrapolation method is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._extrapolation._sample import WinSample


class ExtrapolationMethod(ABC):
    """A model of the win probability U, from which accuracy at any k follows.

    A method is written as a subclass with keyword-only options (checked in
    ``__init__``), and entered in the registry under its `name`.
    """

    #: Name in the registry.
    name: ClassVar[str]
    #: Whether win distributions alone are not enough to fit it.
    needs_scores: ClassVar[bool] = False
    #: Up to how many times K the data identify its prediction.
    reliable_factor: ClassVar[float] = np.inf
    #: Whether its prediction never increases with k and lies in [0, 1] by itself.
    monotone: ClassVar[bool] = True
    #: Whether it models the distribution of U, so that `cdf` can be asked.
    has_cdf: ClassVar[bool] = True
    #: How an iterative method ended: "converged" and, if convex, "duality_gap".
    certificate_: dict[str, Any] | None = None

    def resolve(self, sample: WinSample) -> ExtrapolationMethod:
        """Return the unfitted method that this sample calls for.

        The choice stays as it is when the jackknife fits parts of the sample.
        """
        del sample
        return self

    @abstractmethod
    def fit(self, sample: WinSample) -> ExtrapolationMethod:
        """Fit to a sample and return the fitted method, with `certificate_`."""

    @abstractmethod
    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy at set sizes (n_sizes,), which need not be whole."""

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the fitted Pr(U <= u) at u (...)."""
        raise NotImplementedError(f"method={self.name!r} has no distribution of U")
