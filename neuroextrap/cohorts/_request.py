"""What is asked of every participant, and what it comes to for one of them."""

import hashlib
import logging
from dataclasses import dataclass, field
from typing import Any

import neuroextrap
from neuroextrap.images._bids_runs import find_runs
from neuroextrap.images._fmriprep import fmriprep_confounds
from neuroextrap.maps._bids import shared_entities
from neuroextrap.maps._json import json_text
from neuroextrap.maps._parameters import described_parameters
from neuroextrap.maps._provenance import describe_file, described_value

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What every participant's analysis is asked for.

    `searchlight` is not fitted; its mask None stands for the brain masks beside the
    images. `confounds` are strategies of nilearn's ``load_confounds``; `options` are
    further options of ``fit_events``.
    """

    derivatives: Any
    raw: Any
    sessions: Any
    task: str | None
    space: str | None
    confounds: tuple
    searchlight: Any
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Participant:
    """One participant's runs, and what makes the results what they are."""

    label: str
    runs: list
    bids: dict
    identity: str


def find_participant(request, label):
    """Return the Participant with this label, files hashed; ValueError if unusable."""
    runs = find_runs(
        request.derivatives,
        request.raw,
        label,
        sessions=request.sessions,
        task=request.task,
        space=request.space,
    )
    if request.confounds:
        lacking = [run.bold for run in runs if run.confounds is None]
        if lacking:
            raise ValueError(
                f"{lacking[0]} has no table of confounds (desc-confounds_timeseries) "
                "beside it; use none (confounds=(), --confounds none)"
            )
    bids = shared_entities([run.bold for run in runs])
    bids.pop("desc", None)
    return Participant(label, runs, bids, _identity(request, runs))


def fit_participant(request, participant):
    """Return the fitted searchlight of a participant."""
    from sklearn.base import clone

    light = clone(request.searchlight)
    light.set_params(mask=mask_of(request, participant))
    imgs = [run.bold for run in participant.runs]
    events = [run.events for run in participant.runs]
    return light.fit_events(
        imgs, events, **request.options, **_confounds(request, imgs)
    )


def samples_of(request, participant):
    """Return the LabeledSamples of a participant, for a dry run."""
    from neuroextrap.images._event_samples import event_samples

    imgs = [run.bold for run in participant.runs]
    return event_samples(
        imgs,
        [run.events for run in participant.runs],
        mask_of(request, participant),
        **request.options,
        **_confounds(request, imgs),
    )


def mask_of(request, participant):
    """Return the voxels to analyze: as asked for, or those in all runs' brain masks."""
    if request.searchlight.mask is not None:
        return request.searchlight.mask
    masks = [run.mask for run in participant.runs]
    if None in masks:
        logger.info(
            "sub-%s: not all images have a brain mask beside them; one is computed",
            participant.label,
        )
        return None
    from neuroextrap.images._masks import shared_mask

    return shared_mask(masks)


def _confounds(request, imgs):
    """Return the confounds and the volumes that are kept, as ``fit_events`` does."""
    if not request.confounds:
        return {}
    confounds, kept = fmriprep_confounds(imgs, request.confounds)
    return {"confounds": confounds, "sample_mask": kept}


def _identity(request, runs):
    """Return a hash of everything that decides a participant's results."""
    files = [
        [
            describe_file(path)
            for path in (run.bold, run.events, run.mask, run.confounds)
            if path is not None
        ]
        for run in runs
    ]
    about = {
        "files": files,
        "confounds": list(request.confounds),
        "options": described_value(request.options),
        "parameters": described_parameters(request.searchlight),
        "version": neuroextrap.__version__,
    }
    return hashlib.sha256(json_text("identity", about).encode()).hexdigest()
