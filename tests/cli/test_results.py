"""Printed tables are aligned, and their heads are short lines of words."""

import numpy as np
import pandas as pd

from tests.cli.seam import text_table


def test_heads_break_into_words_and_points_are_in_line():
    frame = pd.DataFrame(
        {"name": ["V1", "FFA"], "n_voxels": [41, 7], "information_bound": [16.9, 9.38]}
    )
    assert text_table(frame, ("name", "missing", "n_voxels", "information_bound")) == (
        "                information\n"
        "name  n voxels        bound\n"
        "----  --------  -----------\n"
        "V1          41        16.9\n"
        "FFA          7         9.38"
    )


def test_headings_of_a_dict_stay_on_one_line():
    frame = pd.DataFrame({"train_size": [2, 10], "information": [np.nan, 0.5]})
    table = text_table(frame, {"train_size": "train size", "information": "bits"})
    assert table.splitlines()[0] == "train size  bits"
    assert table.splitlines()[-1] == "        10   0.5"


def test_columns_without_rows_are_heads_alone():
    frame = pd.DataFrame(columns=["a", "n_information"])
    text = "             n\na  information\n-  -----------"
    assert text_table(frame) == text
