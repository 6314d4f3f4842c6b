"""Curves of shares in one picture, one for each corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.errors import MissingExtra
from dialtools.streams.atomic import atomic_file

METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""What would make two drawings of the same data differ, left out."""
POINTS = 400


def draw_shares(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], path: str, *, x_label: str, y_label: str,
                mark: float, overwrite: bool = False) -> None:  # fmt: skip
    """Draw cumulative shares over shares, percent, the horizontal axis logarithmic; the legend names the corpora.

    Args:
        curves: for each name (K,) rising shares x and y from 0 to 1, straight in between.
        path: a .png, .svg or .pdf file, written whole or not at all.
        mark: a share to mark on the horizontal axis.

    Raises:
        MissingExtra: without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("--plot needs matplotlib", hint="pip install 'dialtools[plot]'") from None
    matplotlib.use("agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    kind = Path(path).suffix[1:]
    settings = {"svg.hashsalt": "dialtools", "svg.fonttype": "none", "pdf.fonttype": 42, "font.family": fonts_for("".join(curves))}  # fmt: skip
    with pyplot.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an empty box tells it better
        figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
        lines = []
        for x, y in curves.values():
            smallest = max(1e-7, float(x[1])) if len(x) > 1 else 1e-3
            at = np.unique(np.concatenate([np.geomspace(min(smallest, 0.999), 1, POINTS), [mark]]))
            lines += axes.plot(at, np.interp(at, x, y), linewidth=1.6, zorder=2)
        axes.axvline(mark, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        axes.set(xscale="log", ylim=(0, 1), xlabel=x_label, ylabel=y_label)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
        axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        legend = axes.legend(lines, [f"corpus {i}" for i in range(len(lines))], frameon=False, fontsize="small")
        for text, name in zip(legend.get_texts(), curves, strict=True):  # so that no name means markup
            text.set_text(name)
            text.set_parse_math(False)
        try:
            with atomic_file(path, overwrite=overwrite) as temporary:
                figure.savefig(temporary, format=kind, dpi=120, metadata=METADATA[kind])
        finally:
            pyplot.close(figure)


def fonts_for(text: str) -> list[str]:
    """Return matplotlib's own font, and an installed one for each script that it lacks."""
    from matplotlib import font_manager

    families = ["DejaVu Sans"]
    missing = set(map(ord, text)) - _glyphs(font_manager.findfont("DejaVu Sans"))
    for entry in _by_name(font_manager.fontManager.ttflist) if missing else ():
        found = missing & _glyphs(entry.fname)
        if found:
            families.append(entry.name)
            missing -= found
        if not missing:
            break
    return families


def _by_name(entries: Iterable[Any]) -> list[Any]:
    return sorted((e for e in entries if e.style == "normal"), key=lambda e: (e.name, e.weight != 400, e.fname))


def _glyphs(path: str) -> set[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return set(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # a font file that cannot be read
        return set()
