"""A run of identification as arrays, and back, without the images."""

import numpy as np

from neuroextrap.analysis._run_parameters import RunParameters
from neuroextrap.design._tests import BoundDesign
from neuroextrap.encoding._experiment import Experiment, observed_plan
from neuroextrap.encoding._run import EncodingRun

_PENALTY = "penalty of "


def run_arrays(run, penalties):
    """Return what makes an EncodingRun, a dict of arrays without Python objects."""
    test = run.test
    arrays = {name: getattr(test, name) for name in Experiment._fields}
    arrays |= {"location": run.location, "test_stimuli": run.test_stimuli}
    arrays |= {_PENALTY + name: values for name, values in penalties.items()}
    return {
        name: np.asarray(value) for name, value in arrays.items() if value is not None
    }


def read_run(model, results, arrays):
    """Make an EncodingRun of stored arrays; return it and the penalties.

    `model` has the parameters of the analysis, and masker and classes; `results` are
    its RegionResults.
    """
    parts = {name: arrays.get(name) for name in Experiment._fields}
    parts["n_candidates"] = int(parts["n_candidates"])
    parts["rule"] = str(parts["rule"])
    test = Experiment(**parts)
    parameters = RunParameters.of(model)
    run = EncodingRun(
        parameters=parameters,
        rows=test.rows,
        masker=model.masker_,
        choice=results.choice,
        usable=parameters.usable_regions(results.choice, test.usable),
        plan=observed_plan(model, test, results.set_sizes),
        bounds=BoundDesign(results.n_repeats, np.empty((0, len(test.codes))), ()),
        classes=model.classes_,
        test_codes=test.codes,
        set_sizes=results.set_sizes,
        notes=results.notes,
        bg_img=model.bg_img_,
        test=test,
        location=arrays["location"],
        test_stimuli=arrays["test_stimuli"],
    )
    penalties = {
        name.removeprefix(_PENALTY): values
        for name, values in arrays.items()
        if name.startswith(_PENALTY)
    }
    return run, penalties
