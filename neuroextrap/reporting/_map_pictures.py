"""Pictures of maps: what survives correction in full color, the rest faint."""

import copy
from itertools import product

import numpy as np
from markupsafe import Markup

from neuroextrap.maps._registry import record_of
from neuroextrap.plotting._backgrounds import surface_grays
from neuroextrap.plotting._brain_maps import COLORMAP, draw_map, read_map
from neuroextrap.reporting._finding import criterion_words, region_words
from neuroextrap.reporting._map_data import TREND_SHARE, color_range, trend_limit
from neuroextrap.reporting._page import figure_tag
from neuroextrap.reporting._peaks import region_places
from neuroextrap.reporting._pictures import data_uri

_TRANSPARENT = 1e-9
FAINT = 0.25
TREND = 0.5


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
        draw = surface_figure if on_surface else volume_figure
        opacity = fitted.results_.choice.to_features(
            self._opacity(name, threshold, faint=0.0 if on_surface else FAINT)
        )
        below = self._bg_img if on_surface else self._below
        picture = draw(fitted, name, self._place, np.nan_to_num(opacity), bg_img=below)
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


def volume_figure(fitted, name, place, opacity, *, bg_img):
    """Draw three slices, or one of a flat volume, with the outline of the mask."""
    import matplotlib.pyplot as plt
    from nibabel import Nifti1Image

    from neuroextrap.images._geometry import mask_lattice

    img = fitted.maps_[name]
    mask, affine = mask_lattice(fitted.masker_)
    alpha = np.zeros(mask.shape, dtype=np.float32)
    alpha[mask > 0] = opacity
    data, map_affine = read_map(img)
    levels = np.unique(opacity[opacity > 0])
    if len(levels):  # otherwise nothing is seen, and nilearn warns of empty maps
        data = np.where(alpha > 0, data, np.where(np.isfinite(data), 0.0, np.nan))
    transparency = Nifti1Image(alpha, affine)
    if len(levels) <= 1:  # nilearn scales an image by its largest value
        transparency = float(levels.max(initial=0.0))
    thin = [axis for axis, size in enumerate(img.shape[:3]) if size < 3]
    mode = "xyz"[thin[0]] if thin else "ortho"
    cuts = None
    if place is not None:
        cuts = [float(place[thin[0]])] if thin else [float(x) for x in place]
    figure = plt.figure(figsize=(4, 4) if thin else (8, 3.2))
    display = draw_map(
        data,
        map_affine,
        bg_img,
        display_mode=mode,
        cut_coords=cuts,
        figure=figure,
        transparency=transparency,
    )
    outline = fitted.masker_.mask_img_
    display.add_contours(outline, levels=[0.5], colors="0.55", linewidths=0.8)
    return figure


def surface_figure(fitted, name, _, opacity, *, bg_img):
    """Draw the hemispheres with values, from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf_stat_map

    from neuroextrap.images._geometry import surface_mesh

    img, span = fitted.maps_[name], color_range(fitted.region_scores_[name])
    sides = [
        (side, gray)
        for side, gray in zip(
            surface_mesh(fitted.masker_),
            surface_grays(fitted.masker_, bg_img),
            strict=True,
        )
        if np.isfinite(img.data.parts[side.name]).any()
    ]
    mesh = copy.deepcopy(img.mesh)  # nilearn moves the vertices of the mesh it is given
    views = ("lateral", "medial")
    figure, axes = plt.subplots(
        len(views),
        len(sides),
        figsize=(2 * len(sides) + 0.6, 1.75 * len(views)),
        subplot_kw={"projection": "3d"},
        squeeze=False,
    )
    for ax, (view, (side, gray)) in zip(axes.flat, product(views, sides), strict=True):
        plot_surf_stat_map(
            mesh.parts[side.name],
            _drawn_vertices(np.ravel(img.data.parts[side.name]), side, opacity),
            bg_map=255.0 - gray,
            hemi=side.name,
            view=view,
            axes=ax,
            figure=figure,
            cmap=COLORMAP,
            symmetric_cbar=False,
            vmin=span[0],
            vmax=span[1],
            threshold=_TRANSPARENT,
            colorbar=False,
        )
        ax.set_box_aspect(None, zoom=1.5)
        ax.set_title(f"{side.name}, {view}", y=0.98, fontsize="medium")
    figure.subplots_adjust(0, 0.02, 0.86, 0.94, 0, 0.1)
    colors = plt.cm.ScalarMappable(plt.Normalize(*span), COLORMAP)
    figure.colorbar(colors, cax=figure.add_axes([0.88, 0.25, 0.02, 0.5]))
    return figure


def _drawn_vertices(values, side, opacity):
    """Return a map of one hemisphere, 0 (transparent) where it is not drawn."""
    drawn = np.zeros(len(values), dtype=bool)
    first = side.offset
    drawn[side.vertices] = opacity[first : first + len(side.vertices)] > 0
    return np.where(drawn, values, 0.0)
