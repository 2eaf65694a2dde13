"""Which parameters are options of a configuration is read from the table."""

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import EncodingIdentification
from tests.cohorts.seam import Option, _of_analysis, _parameter_table


def test_a_parameter_that_gets_a_word_becomes_an_option(monkeypatch):
    light = IdentificationSearchLight(cv=4, radius=4.0, n_jobs=2)
    assert _of_analysis(light) == ({"radius": 4.0}, {"cv": "4"})
    rows = [
        row._replace(option=Option("how", word="inside")) if row.name == "cv" else row
        for row in _parameter_table.PARAMETERS
    ]
    monkeypatch.setattr(_parameter_table, "PARAMETERS", rows)
    assert _of_analysis(light) == ({"radius": 4.0, "inside": 4}, {})


def test_options_that_the_analysis_lacks_on_the_command_line_are_python():
    """`neuroextrap bids --analysis encoding` refuses --cv."""
    model = EncodingIdentification(
        cv=3, statistic="pairwise_accuracy", rule="correlation"
    )
    options, python = _of_analysis(model)
    assert options == {"rule": "correlation", "statistic": "pairwise_accuracy"}
    assert python == {"cv": "3"}
    light = IdentificationSearchLight(statistic="pairwise_accuracy", bounds=None)
    options, python = _of_analysis(light)
    assert options == {"statistic": "pairwise_accuracy", "bounds": "none"}
    assert not python
