"""The extrapolation methods by name; a new one needs its file and a line here."""

from neuroextrap.stats._extrapolation._auto import Auto
from neuroextrap.stats._extrapolation._gaussian import Gaussian, GaussianMixture
from neuroextrap.stats._extrapolation._kde import BiasedKernelDensity, KernelDensity
from neuroextrap.stats._extrapolation._logistic import Logistic
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import Exponential, Spline
from neuroextrap.stats._extrapolation._moment import Moment
from neuroextrap.stats._extrapolation._mple import (
    MonotonePseudoLikelihood,
    PseudoLikelihood,
)
from neuroextrap.stats._extrapolation._pitman_yor import PitmanYor
from neuroextrap.stats._extrapolation._radial_basis import RadialBasis
from neuroextrap.stats._extrapolation._tail import Tail

_METHODS: tuple[type[ExtrapolationMethod], ...] = (
    Auto,
    BiasedKernelDensity,
    Exponential,
    Gaussian,
    GaussianMixture,
    KernelDensity,
    Logistic,
    Moment,
    MonotonePseudoLikelihood,
    PitmanYor,
    PseudoLikelihood,
    RadialBasis,
    Spline,
    Tail,
)

EXTRAPOLATION_METHODS: dict[str, type[ExtrapolationMethod]] = {
    method.name: method for method in sorted(_METHODS, key=lambda method: method.name)
}
