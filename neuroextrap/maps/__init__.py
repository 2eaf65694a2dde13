"""Per-region statistics as named maps, their records, and maps as files."""

from neuroextrap.maps._files import read_maps
from neuroextrap.maps._records import MapRecord
from neuroextrap.maps._registry import MAPS

__all__ = [
    "MAPS",
    "MapRecord",
    "read_maps",
]
