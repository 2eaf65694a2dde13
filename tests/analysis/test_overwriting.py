"""What an overwritten analysis leaves behind is not taken for the new one's."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification


def fitted(**options):
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    X = rng.normal(size=(3, 6))[y] + rng.normal(size=(12, 6))
    return IdentificationSearchLight(**options).fit(X, y, groups=runs)


@pytest.mark.parametrize("bids", [None, {"sub": "1"}])
def test_another_kind_of_analysis(tmp_path, bids):
    fitted().to_directory(tmp_path, bids=bids)
    rng = np.random.default_rng(1)
    features, data = rng.normal(size=(30, 2)), rng.normal(size=(30, 6))
    model = EncodingIdentification(encoder=Ridge()).fit(features[:20], data[:20])
    model.identify(features[20:], data[20:])
    model.to_directory(tmp_path, overwrite=True, bids=bids)
    with pytest.raises(ValueError, match="holds no"):
        IdentificationSearchLight.from_directory(tmp_path)
    fitted().to_directory(tmp_path, overwrite=True, bids=bids)
    again = IdentificationSearchLight.from_directory(tmp_path)
    assert len(again.classes_) == 3
    assert not list(tmp_path.rglob("*encoding*"))


def test_a_table_that_the_new_analysis_lacks(tmp_path):
    first = fitted()
    first.to_directory(tmp_path)
    assert (tmp_path / "table.tsv").is_file()
    first.table_ = None
    first.to_directory(tmp_path, overwrite=True)
    assert not (tmp_path / "table.tsv").exists()
