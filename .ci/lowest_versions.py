"""Print the lowest versions that pyproject.toml declares, one ``name==version`` a line.

``make minimum`` installs exactly these, so that a floor nobody has run cannot stay.
"""

import re
import sys
import tomllib
from pathlib import Path

_FLOOR = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?P<extras>\[[^\]]*\])?>=(?P<version>[0-9.]+)"
)


def lowest_versions(project):
    """Return ``name==version`` of every requirement but the project itself."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    tested = extras.keys() - {"docs", "mutation"}  # no test needs these
    wanted += [each for name in tested for each in extras[name]]
    pins = {}
    for requirement in wanted:
        if requirement.startswith(project["name"]):
            continue
        floor = _FLOOR.match(requirement)
        if floor is None:
            sys.exit(f"{requirement!r} in pyproject.toml has no floor; write name>=X")
        extras_wanted = floor["extras"] or ""
        pins[floor["name"]] = f"{floor['name']}{extras_wanted}=={floor['version']}"
    return sorted(pins.values())


if __name__ == "__main__":
    folder = Path(__file__).resolve().parents[1]
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.write("\n".join(lowest_versions(tomllib.loads(text)["project"])) + "\n")
