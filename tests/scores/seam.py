"""All private names of the package that the tests of identification by scores use."""

from neuroextrap.cli._scores_command import _ROWS, _read_labels
from neuroextrap.images._feature_files import read_matrix
from neuroextrap.scores import _reading
from neuroextrap.scores._result import named_notes, scores_report
