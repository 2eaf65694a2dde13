"""Pictures of maps: what survives correction in full color, the rest faint."""

import numpy as np
from markupsafe import Markup

from neuroextrap.maps._registry import record_of
from neuroextrap.reporting._brain_figures import FAINT, TREND, brain_figure
from neuroextrap.reporting._finding import criterion_words, region_words
from neuroextrap.reporting._map_data import TREND_SHARE, color_range, trend_limit
from neuroextrap.reporting._page import figure_tag
from neuroextrap.reporting._peaks import region_places
from neuroextrap.reporting._pictures import data_uri


class MapPictures:
    """Draw maps of a fitted analysis, all cut at its strongest peak.

    Volumes are drawn over `below`, a volume or None; surfaces over `bg_img`.
    """

    def __init__(self, fitted, finding, peaks, below, bg_img):
        self._fitted, self._finding = fitted, finding
        self._below, self._bg_img = below, bg_img
        places = region_places(fitted)
        self._place = None if places is None else places[peaks["region"].iloc[0]]

    def figure(self, name):
        """Return a map as HTML; "" where there is no image, or nothing to draw."""
        from neuroextrap.images._maskers import is_surface_masker

        fitted, record = self._fitted, record_of(name)
        if fitted.masker_ is None or name not in fitted.maps_:
            return Markup("")
        threshold = record.first_threshold(len(fitted.classes_))
        if not (fitted.region_scores_[name] > threshold).any():
            return Markup("")
        on_surface = is_surface_masker(fitted.masker_)
        opacity = fitted.results_.choice.to_features(
            self._opacity(name, threshold, faint=0.0 if on_surface else FAINT)
        )
        picture = brain_figure(
            fitted.maps_[name],
            fitted.masker_,
            np.nan_to_num(opacity),
            place=self._place,
            below=self._below,
            bg_img=self._bg_img,
            span=color_range(fitted.region_scores_[name]),
        )
        caption = self._caption(record, on_surface)
        return figure_tag(data_uri(picture, "png"), caption)

    def _opacity(self, name, threshold, *, faint):
        """Return how opaque every region is; what does not survive is `faint`."""
        finding, record = self._finding, record_of(name)
        values = self._fitted.region_scores_[name]
        above = values > threshold
        if not finding.criterion:
            return above.astype(float)
        if finding.n_surviving:
            return np.where(finding.survives, 1.0, faint) * above
        strength = record.strength(values)
        return TREND * (above & (strength > trend_limit(strength)))

    def _caption(self, record, on_surface):
        """Describe a map, its unit, and what is drawn of it."""
        finding, (_, many) = self._finding, region_words(self._fitted)
        limit = record.first_threshold(len(self._fitted.classes_))
        label = record.label[:1].upper() + record.label[1:]
        start = f"{label}: {record.description} ({record.unit})."
        if not finding.criterion:
            return f"{start} Drawn above {limit:.4g}; nothing was tested."
        if not finding.n_surviving:
            return (
                f"{start} Nothing survives correction: faint are the strongest "
                f"{100 * TREND_SHARE:.0f}% of the {many}, which is a trend."
            )
        words = criterion_words(self._fitted, finding.criterion)
        if on_surface:
            return f"{start} Drawn: {many} that survive correction ({words})."
        return (
            f"{start} In full color: {many} that survive correction ({words}); faint: "
            f"others above {limit:.4g}."
        )
