"""What the features of a pyramid are: blocks of energies, or of averages over cells."""

from typing import NamedTuple

import numpy as np

from neuroextrap.models._receptive_field_grid import (
    area_windows,
    cell_positions,
    gaussian_windows,
    windowed_waves,
)


class FeatureBlock(NamedTuple):
    """Features that differ in nothing but their position.

    ``grid`` are numbers of positions down and across images of ``shape``, height and
    width in pixels. ``frequency`` is in cycles along the shorter side, 0 of averages
    over cells; ``angle`` in degrees, NaN of these; ``width`` in pixels.
    """

    kind: str
    name: str
    frequency: float
    angle: float
    width: float
    grid: list
    shape: tuple

    @property
    def n_features(self):
        """Number of positions."""
        return self.grid[0] * self.grid[1]

    @property
    def positions(self):
        """Centers (n_features, 2), row-major."""
        return cell_positions(self.shape, self.grid)

    @property
    def names(self):
        """Names of the features, a list of str."""
        return [f"{self.name}_r{r:g}_c{c:g}" for r, c in self.positions]

    def filter(self, number):
        """Complex weights of the pixels, of ``shape``, of one of the features."""
        angle = np.radians(np.nan_to_num(self.angle))
        rate = 2 * np.pi * self.frequency / min(self.shape)
        cell = np.unravel_index(number, self.grid)
        sides = zip(
            self.shape,
            self.grid,
            cell,
            self.positions[number],
            (np.sin(angle), np.cos(angle)),
            strict=True,
        )
        waves = []
        for size, n_cells, index, center, wave in sides:
            if self.frequency:
                window = gaussian_windows(size, [center], self.width)
            else:
                window = area_windows(size, n_cells)[[index]]
            waves.append(windowed_waves([center], window, wave * rate)[0])
        return np.outer(*waves)


def energy_blocks(kind, bank, most=None):
    """Describe the energies of a `GaborBank`, on grids of at most `most` a side."""
    return [
        FeatureBlock(
            kind,
            f"{kind}_f{frequency:g}_o{angle:g}",
            frequency,
            angle,
            bank.window * min(bank.shape) / frequency,
            bank.grid(frequency, most),
            bank.shape,
        )
        for frequency in bank.frequencies
        for angle in np.degrees(bank.angles)
    ]


def cell_block(kind, shape, grid, name=None):
    """Describe averages over the cells of a grid."""
    side = min(np.divide(shape, grid))
    return FeatureBlock(
        kind, name or kind, 0.0, np.nan, side / np.sqrt(12), grid, shape
    )


def texture_blocks(bank, frequencies):
    """Describe the correlations of every two maps of some frequencies of a bank."""
    maps = [
        f"f{f:g}_o{angle:g}" for f in frequencies for angle in np.degrees(bank.angles)
    ]
    pairs = zip(*np.triu_indices(len(maps), 1), strict=True)
    return [
        cell_block("texture", bank.shape, [1, 1], f"texture_{maps[i]}_{maps[j]}")
        for i, j in pairs
    ]


def described(blocks):
    """Return what estimators say of their features, a dict of attributes."""
    counts = [block.n_features for block in blocks]
    columns = {
        f"feature_{name}_": np.repeat(np.array(column), counts)
        for name, column in {
            "kinds": [block.kind for block in blocks],
            "frequencies": [block.frequency for block in blocks],
            "orientations": [block.angle for block in blocks],
            "widths": [block.width for block in blocks],
        }.items()
    }
    places = np.concatenate([block.positions for block in blocks])
    return columns | {"feature_positions_": places}
