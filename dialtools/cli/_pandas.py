"""pandas stays where it is: pyarrow imports it, if it is installed, with the first array it makes.

It only asks whether what it was given is of pandas, which nothing here is; and the import takes
longer than most commands do with a small file. Whoever else imports pandas gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

ASKED_FOR = ("dialtools", "pyarrow")
"""Packages in which no line says `import pandas` unless it has an object of it in hand."""


class _NotForArrow:
    """Tells pyarrow that there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
        if name == "pandas" and _importer().partition(".")[0] in ASKED_FOR:
            raise ModuleNotFoundError("not wanted here", name=name)


def leave_out() -> None:
    """Keep pyarrow from importing pandas in this process, and in those that it forks."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NotForArrow())  # type: ignore[arg-type]


def _importer() -> str:
    """Return the module whose Python code an import comes from, or has called what imports."""
    frame: FrameType | None = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame else ""
