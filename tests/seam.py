"""All private names of the package that tests of several rooms use."""

from neuroextrap import _compiling
from neuroextrap.cli import _main
from neuroextrap.cli._main import build_parser
from neuroextrap.datasets._simulated_brains import photo_patches
from neuroextrap.encoding._experiment import prediction_scores
from neuroextrap.encoding._margins import mahalanobis_margins
from neuroextrap.learning_curves._splits import best_prior_weight
from neuroextrap.maps._records import nested_parameters
from neuroextrap.reporting._page import Report
from neuroextrap.stats._extrapolation._mixtures import power_table, table_means
from neuroextrap.stats._forward import cyclic_orders

__all__ = [
    "Report",
    "_compiling",
    "_main",
    "best_prior_weight",
    "build_parser",
    "cyclic_orders",
    "mahalanobis_margins",
    "nested_parameters",
    "photo_patches",
    "power_table",
    "prediction_scores",
    "table_means",
]
