"""Which of the features that are tested are neighbors."""

import numpy as np
import scipy.sparse


def usable_neighbors(subjects, adjacency):
    """Return the pairs of neighbors among the features that are tested."""
    if subjects.masker is not None:
        if adjacency is not None:
            raise ValueError(
                "adjacency is for arrays; images have neighbors of their own, so leave "
                "it out"
            )
        from neuroextrap.images._clusters import neighbor_pairs

        pairs = neighbor_pairs(subjects.masker)
    else:
        pairs = _pairs_of(adjacency, len(subjects.usable))
    place = np.full(len(subjects.usable), -1, dtype=np.intp)
    place[subjects.usable] = np.arange(subjects.usable.sum())
    kept = place[pairs]
    return kept[(kept >= 0).all(axis=1)]


def _pairs_of(adjacency, n_features):
    """Return the pairs of an adjacency matrix, each once."""
    if adjacency is None:
        raise ValueError(
            "clusters of an array need adjacency, a sparse matrix (n_features, "
            "n_features) that is not zero where two features are neighbors"
        )
    matrix = scipy.sparse.coo_array(adjacency)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"adjacency has shape {matrix.shape}; give one row and column for each of "
            f"the {n_features} features"
        )
    linked = matrix.data != 0
    pairs = np.stack([matrix.row[linked], matrix.col[linked]], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]].astype(np.intp)
