import numpy as np
import pytest

from tests.margins.seam import array_hash


def test_layout_and_byte_order_do_not_matter():
    array = np.random.default_rng(0).normal(size=(4, 6))
    same = [array, np.asfortranarray(array), np.repeat(array, 2, axis=0)[::2]]
    same.append(array.astype(">f8"))
    assert len({array_hash(a) for a in same}) == 1
    assert len(array_hash(array)) == 64


def test_values_shape_and_type_matter():
    array = np.zeros((2, 3))
    others = [array, array + 1e-300, array.T, array.ravel(), array.astype("f4")]
    others += [np.zeros(0), np.float64(0), ["a"], ["b"]]
    assert len({array_hash(a) for a in others}) == len(others)


def test_strings_in_object_arrays_are_strings():
    assert array_hash(np.array(["a", "bc"], dtype=object)) == array_hash(["a", "bc"])
    with pytest.raises(TypeError, match="must hold numbers or strings"):
        array_hash(np.array([{}, "a"], dtype=object))
