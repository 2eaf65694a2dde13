"""The tests run over one more solver of elastic nets, the twin of the others."""

import tests.models.path_solver  # noqa: F401
