"""What pictures share: matplotlib without a screen, fonts for any script, stable bytes."""

from __future__ import annotations

import logging
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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
SETTINGS = {"svg.hashsalt": "dialtools", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Stable names within a picture; its texts as texts."""
REGULAR = 400
"""Weight of a font that is neither light nor bold (CSS's number)."""
OWN = "DejaVu Sans"
"""The family that matplotlib brings."""
BOXES = "Last Resort"
"""How families begin that have a box for each character, and no shapes."""
OTHERWISE_CALLED = {
    "CJK": ("Chinese", "Noto Sans CJK"),
    "HIRAGANA": ("Japanese", "Noto Sans CJK"),
    "KATAKANA": ("Japanese", "Noto Sans CJK"),
    "HANGUL": ("Korean", "Noto Sans CJK"),
}
"""Scripts that people and fonts do not call as the names of their characters begin."""
SYMBOLS = ("emoji and symbols", "Noto Emoji")

LONGEST = 60
"""Characters of a name in a picture."""

Tell = Callable[[str], None]
"""Says a line to the person at the terminal."""


@contextmanager
def picture(
    path: str,
    *,
    texts: Iterable[str],
    size: tuple[float, float],
    overwrite: bool,
    tell: Tell,
    dpi: int = 120,
) -> Iterator[Any]:
    """Yield the axes of a figure that becomes `path` (.png, .svg, .pdf), whole or not at all.

    Args:
        texts: all that is written in it, so that fonts can be found.
        tell: hears of scripts that no font on this machine has.

    Raises:
        MissingExtra: without matplotlib.
    """
    pyplot = _pyplot()
    kind = Path(path).suffix[1:]
    families, missing = fonts_for("".join(map(printable, texts)))
    if missing and kind != "svg":  # its texts stay texts: whoever shows it has fonts of their own
        tell(_without_font(missing))
    settings: dict[Any, Any] = {**SETTINGS, "font.family": families}
    with pyplot.rc_context(settings), warnings.catch_warnings():
        # it is told once, by script
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        # of a picture whose texts leave no place for the rest: it is drawn, and seen to be so
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        try:
            yield axes
            with atomic_file(path, overwrite=overwrite) as temporary:
                figure.savefig(temporary, format=kind, dpi=dpi, metadata=METADATA[kind])
        finally:
            pyplot.close(figure)


def _pyplot() -> Any:
    """Return matplotlib's way to figures, for files and not for a screen."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # of a home that cannot be written
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra(
            "drawing needs matplotlib", hint="pip install 'dialtools[plot]'"
        ) from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


def plain(texts: Iterable[Any], names: Iterable[str]) -> None:
    """Set the names of drawn texts so that none means markup or breaks the XML of a picture.

    Long ones lose their middle: they would leave no place for what they name.
    """
    for text, name in zip(texts, names, strict=True):
        shown, half = printable(name), LONGEST // 2
        text.set_text(shown if len(shown) <= LONGEST else f"{shown[:half]}…{shown[-half:]}")
        text.set_parse_math(False)


def fonts_for(text: str) -> tuple[list[str], set[str]]:
    """Return the families that draw a text, and the characters of it that no font here has."""
    from matplotlib import font_manager

    families, missing = [OWN], {character for character in text if _is_drawn(character)}
    missing -= _glyphs(font_manager.findfont(OWN))
    for name, path in _installed() if missing else ():
        drawable = missing & _glyphs(path)
        if drawable:
            families.append(name)
            missing -= drawable
        if not missing:
            break
    return families, missing


def _is_drawn(character: str) -> bool:
    """Tell whether a character has a shape, unlike those that join others or vary them."""
    name = unicodedata.name(character, "")
    return not character.isspace() and name != "" and not name.startswith(("VARIATION", "ZERO"))


def _installed() -> Iterator[tuple[str, str]]:
    """Yield family and file of each font: those that matplotlib has noted, then newer ones."""
    from matplotlib import font_manager

    noted = font_manager.fontManager.ttflist
    known = len(noted)
    yield from _by_name(noted)
    for path in sorted(set(font_manager.findSystemFonts()) - {entry.fname for entry in noted}):
        with suppress(OSError, RuntimeError):  # no font, or one of bitmaps
            font_manager.fontManager.addfont(path)
    yield from _by_name(noted[known:])


def _without_font(characters: set[str]) -> str:
    """Return the line that names the scripts of characters, and the fonts that have them."""
    found: dict[str, tuple[str, str]] = {}
    for character in sorted(characters):
        script, family = _script(character)
        found.setdefault(script, (character, family))
    scripts = ", ".join(f"{name} ({character})" for name, (character, _) in found.items())
    families = ", ".join(dict.fromkeys(family for _, family in found.values()))
    return f"no font on this machine has {scripts}: boxes are drawn instead; install {families}"


def _script(character: str) -> tuple[str, str]:
    """Return the script of a character, and a family of fonts that has it."""
    if unicodedata.category(character) in ("So", "Sk"):
        return SYMBOLS
    word = unicodedata.name(character).split()[0]
    return OTHERWISE_CALLED.get(word, (word.capitalize(), f"Noto Sans {word.capitalize()}"))


def _by_name(entries: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield upright fonts of shapes by name, the regular weight first: disks have no order."""

    def rank(entry: Any) -> tuple[str, bool, str]:
        return entry.name, entry.weight != REGULAR, entry.fname

    for entry in sorted(entries, key=rank):
        if entry.style == "normal" and not entry.name.startswith(BOXES):
            yield entry.name, entry.fname


def _glyphs(path: str) -> set[str]:
    """Return the characters that a font has."""
    from matplotlib.ft2font import FT2Font

    try:
        return set(map(chr, FT2Font(path).get_charmap()))
    except (OSError, RuntimeError):  # a font file that cannot be read
        return set()
