import numpy as np
import pytest
from scipy import sparse

from tests.regions.seam import check_regions


def _is_canonical(regions):
    rows = np.split(regions.indices, regions.indptr[1:-1])
    return (
        isinstance(regions, sparse.csr_array)
        and regions.dtype == bool
        and regions.indices.dtype == np.int32
        and regions.indptr.dtype == np.int32
        and regions.data.all()
        and all((np.diff(row) > 0).all() for row in rows)
    )


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_array,
    ],
)
def test_every_form_gives_the_same_canonical_regions(form):
    dense = np.array([[0, 2.5, 1], [0, 0, 0], [-1, 0, 3]])
    regions = check_regions(form(dense), 3)
    assert _is_canonical(regions)
    assert (regions.toarray() == (dense != 0)).all()


def test_zeros_duplicates_and_disorder_are_cleaned_without_touching_the_input():
    untidy = sparse.csr_array(
        (np.array([1.0, -1.0, 0.0, 5.0]), np.array([2, 0, 1, 2]), np.array([0, 4])),
        shape=(1, 3),
    )
    before = untidy.indices.copy()
    regions = check_regions(untidy, 3)
    assert _is_canonical(regions)
    assert regions.indices.tolist() == [0, 2]
    assert (untidy.indices == before).all()
    assert untidy.nnz == 4


def test_duplicates_never_cancel():
    pair = sparse.csr_array(
        (np.array([1.0, -1.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2)
    )
    assert check_regions(pair, 2).indices.tolist() == [1]


def test_canonical_input_is_not_copied():
    first = check_regions(np.eye(4), 4)
    assert np.shares_memory(check_regions(first, 4).indices, first.indices)


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (np.ones(3), "shape \\(n_regions >= 1, 3\\), got \\(3,\\)"),
        (np.ones((2, 4)), "shape \\(n_regions >= 1, 3\\), got \\(2, 4\\)"),
        (np.ones((0, 3)), "n_regions >= 1"),
        (np.array([[np.nan, 1, 0]]), "must not hold NaN"),
        (np.zeros((2, 3)), "at least one member"),
    ],
)
def test_bad_regions_are_refused(regions, message):
    with pytest.raises(ValueError, match=message):
        check_regions(regions, 3)
