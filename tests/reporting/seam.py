"""All private names of the package that the tests of pages use."""

import base64
import io
import re

import pandas as pd

from neuroextrap.analysis._presentation import region_images
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.cli._results import text_table
from neuroextrap.images._loading import new_volume
from neuroextrap.images._opening import space_code
from neuroextrap.maps._registry import MAPS
from neuroextrap.plotting._brain_maps import mni152_template
from neuroextrap.reporting import _maps_section, _page, _peaks, _pictures, _viewer
from neuroextrap.reporting._group_page import joined_view, make_group_page, read_group
from neuroextrap.reporting._identification_page import (
    curve_axes,
    identification_sections,
    known_methods,
    known_places,
)
from neuroextrap.reporting._maps_section import PageMaps, choose_background, page_maps
from neuroextrap.reporting._page import (
    Report,
    bits_at_least,
    bits_in_words,
    format_confidence,
    format_number,
    format_p_value,
    format_percent,
    frame_table,
    make_page,
    methods_section,
    paragraphs,
    percent_at_least,
    percentage_points,
    read_text,
    sentence_case,
    sentences,
)
from neuroextrap.reporting._peaks import (
    area_names,
    discoveries_section,
    discovery_curve,
    forming_clusters,
    ranked_peaks,
    tables_of_peaks,
)
from neuroextrap.reporting._pictures import few_colors, gray_png
from neuroextrap.reporting._region_page import comparison_page
from neuroextrap.reporting._viewer import rounded, viewer_of_curves
from neuroextrap.stats._true_discoveries import DiscoveryBounds


def found(fitted, view, peaks):
    """Return the sentences of the answer about a fitted analysis."""
    return sentences("identification_found", **known_places(fitted, view, peaks))


def methods(fitted, view, samples=None):
    """Return the sentences of its methods."""
    about = {"fitted": fitted, "view": view} | known_methods(fitted, samples)
    return sentences("identification_methods", **about)


def filter_of(name):
    """Return the function by which templates and tables write values."""
    return _page._environment().filters[name]


def viewer_section(fitted, *, bg_img=None, only_surviving=True, **options):
    """Return the viewer, its box ticked that leaves what survives, or not."""
    section = viewer_of_curves(fitted, fitted_background(fitted, bg_img), **options)
    box = 'class="nx-only"'
    return section if only_surviving else section.replace(f"{box} checked", box)


def viewer_page(fitted, **options):
    """Return a page with nothing but the viewer."""
    return make_page("Explore the maps", [("", viewer_section(fitted, **options))])


def viewer_html(fitted, map_name="implied_information", **options):
    """Return the HTML of a page with nothing but the viewer, all regions shown."""
    options = {"only_surviving": False, "map_name": map_name} | options
    return viewer_page(fitted, **options).get_standalone()


def fitted_background(fitted, bg_img):
    """Return what is drawn under the maps of a fitted analysis."""
    return choose_background(fitted.masker_, bg_img, getattr(fitted, "bg_img_", None))


def tables_of(page):
    """Return the tables that a page offers to save, by their names."""
    found = {}
    for name, text in re.findall(r'download="([^"]+\.tsv)" href="[^,]*,([^"]*)"', page):
        data = base64.b64decode(text).decode()
        found[name] = pd.read_csv(io.StringIO(data), sep="\t")
    return found
