"""Per-region statistics as named maps, their records, and maps as files."""

from neuroextrap.maps._files import read_maps

__all__ = ["read_maps"]
