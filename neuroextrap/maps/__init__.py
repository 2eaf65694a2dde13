"""Per-region statistics as named maps, and maps as files."""

from neuroextrap.maps._bids import describe_dataset, file_entities, shared_entities
from neuroextrap.maps._files import (
    MAPS_FILE,
    check_output_directory,
    describe_map,
    read_maps,
    write_maps,
)
from neuroextrap.maps._identification import (
    MAP_DESCRIPTIONS,
    accuracy_statistics,
    bound_is_vacuous,
    bound_set_sizes,
    bound_statistics,
    local_tail_p_values,
    permutation_statistics,
)
from neuroextrap.maps._presentation import region_images, region_table
from neuroextrap.maps._region_analysis import RegionAnalysis
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._results import RegionResults
from neuroextrap.maps._scoring import check_run_parameters, score_analysis

__all__ = [
    "MAPS_FILE",
    "MAP_DESCRIPTIONS",
    "RegionAnalysis",
    "RegionResults",
    "ResultFiles",
    "accuracy_statistics",
    "bound_is_vacuous",
    "bound_set_sizes",
    "bound_statistics",
    "check_output_directory",
    "check_run_parameters",
    "describe_dataset",
    "describe_map",
    "file_entities",
    "local_tail_p_values",
    "permutation_statistics",
    "read_maps",
    "region_images",
    "region_table",
    "score_analysis",
    "shared_entities",
    "write_maps",
]
