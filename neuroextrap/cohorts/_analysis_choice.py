"""The analysis that every participant gets: of labels, or of features of stimuli."""

from neuroextrap.cohorts._stimuli import read_stimuli
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import ElasticNetEncoder, EncodingIdentification
from neuroextrap.images._betas import MODELS

_SAMPLES = (*MODELS, "betas")


def analysis_of(analysis, features, stimulus_column, n_folds, samples):
    """Return the analysis, and the StimulusDesign of an EncodingIdentification.

    Arguments are those of ``analyze_participants``. ValueError (TypeError for something
    else than an analysis) before any work where they do not go together.
    """
    analysis = IdentificationSearchLight() if analysis is None else analysis
    if isinstance(analysis, IdentificationSearchLight):
        if features is not None or n_folds is not None:
            raise ValueError(
                "features and n_folds are for an EncodingIdentification; give one as "
                "analysis (--analysis encoding), or leave them out"
            )
        return analysis, None
    if not isinstance(analysis, EncodingIdentification):
        raise TypeError(
            f"analysis is a {type(analysis).__name__}; give an "
            "IdentificationSearchLight or an EncodingIdentification, not fitted"
        )
    if features is None:
        raise ValueError(
            "analysis is an EncodingIdentification, which needs features of the "
            "stimuli; give features (--features, --stimulus-images)"
        )
    if samples not in _SAMPLES:
        raise ValueError(
            f"samples={samples!r} is not for encoding, whose responses are to single "
            f"stimuli; use {', '.join(_SAMPLES)}"
        )
    if n_folds is not None and analysis.n_permutations:
        raise ValueError(
            f"n_permutations={analysis.n_permutations} must be 0 in folds, whose "
            "p-values would come out too small; leave it out, or say by the column set "
            "of the events which stimuli are tested"
        )
    return _with_encoder(analysis), read_stimuli(features, stimulus_column, n_folds)


def _with_encoder(analysis):
    """Return the analysis with the encoder that None stands for."""
    if analysis.encoder is not None:
        return analysis
    from sklearn.base import clone

    encoder = ElasticNetEncoder(n_jobs=analysis.n_jobs)
    return clone(analysis).set_params(encoder=encoder)
