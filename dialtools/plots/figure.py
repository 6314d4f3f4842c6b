"""What pictures share: matplotlib without a screen, fonts for any script, stable bytes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dialtools.errors import MissingExtra
from dialtools.shown import printable
from dialtools.streams.atomic import atomic_file

METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""What would make two drawings of the same data differ, left out."""
REGULAR = 400
"""Weight of a font that is neither light nor bold (CSS's number)."""


@contextmanager
def picture(
    path: str, *, texts: Iterable[str], size: tuple[float, float], overwrite: bool, dpi: int = 120
) -> Iterator[Any]:
    """Yield the axes of a figure that becomes `path` (.png, .svg, .pdf), whole or not at all.

    Args:
        texts: all that is written in it, so that fonts can be found.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra(
            "drawing needs matplotlib", hint="pip install 'dialtools[plot]'"
        ) from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    kind = Path(path).suffix[1:]
    settings: dict[Any, Any] = {
        "svg.hashsalt": "dialtools",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "font.family": fonts_for("".join(texts)),
    }
    with pyplot.rc_context(settings), warnings.catch_warnings():
        # the empty box that is drawn instead tells it better
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        try:
            yield axes
            with atomic_file(path, overwrite=overwrite) as temporary:
                figure.savefig(temporary, format=kind, dpi=dpi, metadata=METADATA[kind])
        finally:
            pyplot.close(figure)


def plain(texts: Iterable[Any], names: Iterable[str]) -> None:
    """Set the names of drawn texts so that none means markup or breaks the XML of a picture."""
    for text, name in zip(texts, names, strict=True):
        text.set_text(printable(name))
        text.set_parse_math(False)


def fonts_for(text: str) -> list[str]:
    """Return matplotlib's own font, and an installed one for each script that it lacks."""
    from matplotlib import font_manager

    families = ["DejaVu Sans"]
    missing = set(map(ord, text)) - _glyphs(font_manager.findfont("DejaVu Sans"))
    for entry in _by_name(font_manager.fontManager.ttflist) if missing else ():
        drawable = missing & _glyphs(entry.fname)
        if drawable:
            families.append(entry.name)
            missing -= drawable
        if not missing:
            break
    return families


def _by_name(entries: Iterable[Any]) -> list[Any]:
    """Return upright fonts by name, the regular weight first: the disk has them in any order."""

    def rank(entry: Any) -> tuple[str, bool, str]:
        return entry.name, entry.weight != REGULAR, entry.fname

    return sorted((entry for entry in entries if entry.style == "normal"), key=rank)


def _glyphs(path: str) -> set[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return set(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # a font file that cannot be read
        return set()
