"""Analyses from parameters by name, those inside of value objects among them."""

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from neuroextrap.maps._described_parameters import nested_parameters


def searchlight_of(*args, **flat):
    """A searchlight; ``stride=2`` is ``regions=Regions(stride=2)``, and so on."""
    kind = IdentificationSearchLight
    return kind(*args, **nested_parameters(kind, flat))


def encoding_of(*args, **flat):
    """An encoding model, likewise."""
    kind = EncodingIdentification
    return kind(*args, **nested_parameters(kind, flat))
