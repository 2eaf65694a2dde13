"""Install wheel and sdist, each in a clean environment; run the quick demo from one.

``python .ci/try_package.py DIST ENVIRONMENTS``: DIST holds one wheel and one sdist.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def try_package(package, environment, *, demo):
    """Install one file with its figures, import it elsewhere, perhaps run the demo."""
    venv.create(environment, with_pip=True, clear=True)
    python = environment / "bin" / "python"
    with tempfile.TemporaryDirectory() as elsewhere:

        def run(*words):
            clean = {"PATH": "/usr/bin:/bin", "HOME": elsewhere, "MPLBACKEND": "Agg"}
            subprocess.run(words, cwd=elsewhere, env=clean, check=True)

        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", f"{package}[plotting]"],
            check=True,
        )
        run(python, "-c", "import neuroextrap; print(neuroextrap.__file__)")
        run(environment / "bin" / "neuroextrap", "--version")
        if not demo:
            return
        run(environment / "bin" / "neuroextrap", "demo", "--quick", "demo_output")
        maps = sorted(Path(elsewhere, "demo_output").rglob("*.nii.gz"))
        report = sorted(Path(elsewhere, "demo_output").rglob("report.html"))
        if not (maps and report):
            sys.exit(f"the demo of {package.name} wrote no maps or no report")
    sys.stdout.write(f"{package.name}: {len(maps)} maps and a report\n")


if __name__ == "__main__":
    dist, environments = (Path(word).resolve() for word in sys.argv[1:])
    for kind, pattern in (("wheel", "*.whl"), ("sdist", "*.tar.gz")):
        (package,) = dist.glob(pattern)
        try_package(package, environments / kind, demo=kind == "wheel")
