"""The command line: ``neuroextrap COMMAND``."""

from neuroextrap.cli._main import main

__all__ = [
    "main",
]
