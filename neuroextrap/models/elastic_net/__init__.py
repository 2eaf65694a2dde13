"""Elastic nets of many targets, each with its own cross-validated penalties.

``_estimator``: the encoder, and the search of all targets block by block. ``_folds``:
what all targets share. ``_solvers``: the grid of penalties, the protocol of solvers,
their registry and the choice among them; each lives in a file ``_solver_*``, the
compiled half of one in ``_working_sets``. ``_acceleration``: what the compiled solvers
share, and the exact solution of the final model with its duality gap.
"""

from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder

__all__ = ["ElasticNetEncoder"]
