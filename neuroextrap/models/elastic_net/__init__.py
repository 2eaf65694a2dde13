"""Elastic nets of many targets, each with its own cross-validated penalties.

``_estimator``: the encoder. ``_search``: options, result, all targets block by block.
``_grid``: the way through the penalties. ``_folds``: what all targets share.
``_solvers``: the protocol of solvers, their registry and the choice among them; each
lives in a file ``_solver_*``, the compiled half of one in ``_working_sets``.
``_acceleration``: what the compiled solvers share.
``_active_set``: the exact solution of the final model, and its duality gap.
"""

from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder

__all__ = ["ElasticNetEncoder"]
