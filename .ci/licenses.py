"""Print the licenses of everything that ``pip install neuroextrap[...]`` brings.

One line a package, separated by tabs: name, license, and what asks for it: the package
itself, an extra that users install, or another package. What is installed here is read.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

_EXTRAS = ("plotting", "dask")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def requirements_of(name, extras=()):
    """Return (name, extra) of what a package asks for; extra is "" without one."""
    found = []
    for requirement in distribution(name).requires or ():
        extra = re.search(r"extra == ['\"]([^'\"]+)", requirement)
        if extra is None or extra[1] in extras:
            wanted = _NAME.match(requirement)[0].lower().replace("_", "-")
            found.append((wanted, "" if extra is None else extra[1]))
    return found


def license_of(name):
    """Return the license that a package declares, in a few words."""
    data = distribution(name).metadata
    classified = [
        text.rsplit(" :: ", 1)[-1]
        for text in data.get_all("Classifier", [])
        if text.startswith("License :: ") and text != "License :: OSI Approved"
    ]
    text = (data.get("License") or "").strip().splitlines()
    declared = data.get("License-Expression") or "; ".join(classified)
    return declared or (text[0] if text else "not declared")


def all_licenses():
    """Return {name: (license, asked for by)}, direct requirements first."""
    queue = [
        (name, f"[{extra}]" if extra else "neuroextrap")
        for name, extra in requirements_of("neuroextrap", _EXTRAS)
    ]
    rows = {}
    while queue:
        name, asker = queue.pop(0)
        if name in rows or name == "neuroextrap":
            continue
        try:
            rows[name] = (license_of(name), asker)
        except PackageNotFoundError:  # for another system or Python
            continue
        queue += [(needed, name) for needed, _ in requirements_of(name)]
    return rows


if __name__ == "__main__":
    sys.stdout.write("package\tlicense\tneeded by\n")
    for name, (text, asker) in sorted(all_licenses().items()):
        sys.stdout.write(f"{name}\t{text}\t{asker}\n")
