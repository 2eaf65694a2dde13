"""Trees in which every run lies in several versions, such as echoes."""

from itertools import chain

import nibabel
import numpy as np
import pandas as pd

from benchmarks.validity.permutation_tests import LEVEL, LOCAL, fit
from benchmarks.validity.registry import Row, check
from benchmarks.validity.visible_designs import FAMILY
from neuroextrap.images import labeled_samples, resolve_masker

SHAPE, N_RUNS, N_ECHOES, T_R = (5, 5, 4), 4, 3, 2.0
MASKER = resolve_masker(nibabel.Nifti1Image(np.ones(SHAPE, "uint8"), np.eye(4)))
REFUSED = "copies in training and test are refused"


def acquire(rng):
    """Draw a run of noise and its events, four conditions in random order."""
    onsets, names = 4.0 + 20.0 * np.arange(8), rng.permutation(list("abcdabcd"))
    table = pd.DataFrame({"onset": onsets, "duration": 12.0, "trial_type": names})
    return 100 + 10 * rng.normal(size=(*SHAPE, 84)), table


def read(runs):
    """Average the conditions of every run, as fit_events does."""
    imgs = [nibabel.Nifti1Image(data, np.eye(4)) for data, _ in runs]
    return labeled_samples(imgs, [t for _, t in runs], masker=MASKER, t_r=T_R)


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def echo_trees(rng, n_sets, *, mistake=False):
    """Noise with thermal noise in every echo; the mistake: echoes are taken for runs.

    Four runs without copies are read, or this raises an error.
    """
    analyzed, local = [], []
    for _ in range(n_sets):
        runs = [acquire(rng) for _ in range(N_RUNS)]
        echoes = [
            [(data + 7 * rng.normal(size=data.shape), table) for data, table in runs]
            for _ in range(N_ECHOES)
        ]
        parts = [read(each) for each in (echoes if mistake else [runs])]
        x, y = (np.concatenate([getattr(p, n) for p in parts]) for n in ("data", "y"))
        groups = [number + N_RUNS * k for k, p in enumerate(parts) for number in p.runs]
        light = fit(x, y, np.array(groups), regions=np.ones((1, x.shape[1])))
        local.append(float(light.region_scores_["p_value"][0] <= LEVEL))
        analyzed.append(1.0 if mistake or _is_read(chain(runs, *echoes)) else 0.0)
    tree = f"{N_RUNS} runs and {N_ECHOES} echoes of each"
    yield Row(LOCAL, f"{N_RUNS} runs" + (", their echoes" if mistake else ""), local)
    yield Row(REFUSED, tree, analyzed)


def _is_read(runs):
    """Return whether runs are read; those of one acquisition are refused."""
    try:
        read(list(runs))
    except ValueError as error:
        if "are one acquisition" not in str(error):
            raise
        return False
    return True
