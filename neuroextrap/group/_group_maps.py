"""Maps over subjects, with what their page says, and a summary in words."""

from dataclasses import replace

import numpy as np

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.images import to_img
from neuroextrap.images._loading import flat_values
from neuroextrap.maps._registry import GROUP_MAPS, SUBJECTS_OF_BOUNDS
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._pvalues import LEVEL


def group_maps(
    test,
    statistics,
    subjects,
    *,
    options,
    column=slice(None),
    discoveries=None,
    null_maxima=None,
):
    """Return RegionMaps of statistics (n_usable,), and what a page says of the test.

    `column` is the column of `subjects` that each feature of the masker shows.
    """
    if discoveries is not None:
        statistics |= {"true_discovery_proportion": discoveries.proportions()}
        statistics |= {"scores": discoveries.scores}
    spread = spread_known(subjects.usable, statistics).items()
    maps = {name: values[column] for name, values in spread}
    if discoveries is not None:
        discoveries = replace(discoveries, scores=maps.pop("scores"))
    if subjects.masker is not None:
        maps = {name: to_img(each, subjects.masker) for name, each in maps.items()}
    values = subjects.values[:, column]
    return RegionMaps(
        maps,
        records={name: _record(name, test) for name in GROUP_MAPS},
        masker=subjects.masker,
        parameters={"test": test, **options},
        inputs={"subjects": values},
        findings=subjects.findings,
        page=_page,
        discoveries=discoveries,
        test=test,
        options=options,
        subjects=subjects.names,
        subject_values=values,
        quantity=subjects.quantity,
        null_maxima=null_maxima or {},
    )


def _record(name, test):
    """Return the record of a map; permuted labels test that nobody has information."""
    record = GROUP_MAPS[name]
    if test == "second_level":
        return record
    null = "the null hypothesis"
    nobody = f"{null} that no subject carries information"
    return replace(record, description=record.description.replace(null, nobody))


def _page(maps, title, **options):
    """Make the page of one analysis."""
    from neuroextrap.reporting._group_page import make_group_page

    return make_group_page([maps], title, **options)


def summary(maps, n_subjects):
    """Describe the results in one or two lines."""
    from neuroextrap.reporting._page import bits_at_least

    voxels = "vertices" if hasattr(next(iter(maps.values())), "mesh") else "voxels"
    data = {name: flat_values(img) for name, img in maps.items()}
    if "p_value_fwe" not in data:
        return _information_summary(data, n_subjects, voxels)
    p = data["p_value_fwe"]
    tested = np.isfinite(p)
    lines = [
        f"{n_subjects} subjects, {int(tested.sum())} {voxels}; smallest family-wise p "
        f"{p[tested].min():.4g}, {(p <= LEVEL).sum()} {voxels} at or below {LEVEL}"
    ]
    for name in ("step_down", "cluster_extent", "cluster_mass", "tfce"):
        if (key := f"p_value_fwe_{name}") in data:
            what = name.replace("_", " ").replace("tfce", "TFCE")
            n = (data[key][tested] <= LEVEL).sum()
            lines.append(f"by {what}: {n} {voxels} at or below {LEVEL}")
    if "prevalence_bound_fwe" in data:
        bound = data["prevalence_bound_fwe"][tested]
        lines.append(
            f"largest prevalence shown, corrected over {voxels}: "
            f"{bits_at_least(bound.max(), 3)}; "
            f"{int((bound >= 0.5).sum())} {voxels} in a majority of the population"
        )
    return "\n".join(lines)


def _information_summary(data, n_subjects, voxels):
    """Describe information over subjects: where it is highest, what is certain."""
    from neuroextrap.reporting._page import bits_at_least

    best = int(np.nanargmax(data["implied_information"]))
    low, high = (data[f"implied_information_{end}"][best] for end in ("lower", "upper"))
    lines = [
        f"{n_subjects} subjects, {np.isfinite(data['accuracy']).sum()} {voxels}; mean "
        f"implied information at most {data['implied_information'][best]:.2f} bits, "
        f"interval {low:.2f} to {high:.2f} (of one of them, chosen by looking)"
    ]
    for whose, subjects in SUBJECTS_OF_BOUNDS.items():
        if (name := f"{whose}_bayes_accuracy_bound_fwe") in data:
            bits = np.nanmax(data[f"{whose}_class_information_bound_fwe"])
            lines.append(
                f"mean Bayes accuracy over {subjects}, all {voxels} at once: at least "
                f"{bits_at_least(np.nanmax(data[name]), 3)}, {bits_at_least(bits)} bits"
            )
    return "\n".join(lines)
