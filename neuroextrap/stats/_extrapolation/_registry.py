"""Names of the extrapolation methods.

A method is a class with keyword-only options, the class attributes `needs_scores`
(it cannot do with wins alone), `reliable_factor` (how many times K it identifies)
and `monotone` (its predictions never increase), and the methods ``fit(sample)``
(returning the fitted method), ``accuracy(set_sizes)`` and, where it has one,
``cdf(u)``. A fitted iterative method describes its convergence in `certificate_`.
"""

from typing import Any

from neuroextrap.stats._extrapolation._auto import Auto
from neuroextrap.stats._extrapolation._exponential import Exponential
from neuroextrap.stats._extrapolation._gaussian import Gaussian
from neuroextrap.stats._extrapolation._gaussian_mixture import GaussianMixture
from neuroextrap.stats._extrapolation._kde import BiasedKernelDensity, KernelDensity
from neuroextrap.stats._extrapolation._moment import Moment
from neuroextrap.stats._extrapolation._monotone_mple import MonotonePseudoLikelihood
from neuroextrap.stats._extrapolation._mple import PseudoLikelihood
from neuroextrap.stats._extrapolation._pitman_yor import PitmanYor
from neuroextrap.stats._extrapolation._radial_basis import RadialBasis
from neuroextrap.stats._extrapolation._spline import Spline
from neuroextrap.stats._extrapolation._tail import Tail

EXTRAPOLATION_METHODS: dict[str, Any] = {
    "auto": Auto,
    "exponential": Exponential,
    "gaussian": Gaussian,
    "gaussian_mixture": GaussianMixture,
    "kde_bcv": BiasedKernelDensity,
    "kde_ucv": KernelDensity,
    "moment": Moment,
    "monotone_mple": MonotonePseudoLikelihood,
    "mple": PseudoLikelihood,
    "pitman_yor": PitmanYor,
    "radial_basis": RadialBasis,
    "spline": Spline,
    "tail": Tail,
}
