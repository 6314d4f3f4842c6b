"""Uniformity over alignment: where each model's space lies (TaDSE figure 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dialtools.plots.figure import Tell, picture, plain


def draw_trade_off(
    points: Mapping[str, tuple[float, float]], path: str, *, tell: Tell, overwrite: bool = False
) -> None:
    """Draw a named point for each (alignment, uniformity); lower left is better on both.

    Args:
        tell: hears of scripts that no font on this machine has.
    """
    with picture(path, texts=points, size=(5.6, 4.4), overwrite=overwrite, tell=tell) as axes:
        for i, (x, y) in enumerate(points.values()):
            axes.scatter([x], [y], s=36, color=f"C{i % 10}", zorder=2)
        plain([_note(axes, at, points.values()) for at in points.values()], points)
        axes.margins(0.18)
        axes.set(
            xlabel="alignment of texts with one label (lower: closer)",
            ylabel="uniformity (lower: more even)",
        )
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)


def _note(axes: Any, at: tuple[float, float], others: Iterable[tuple[float, float]]) -> Any:
    """Return where a point's name will be written: towards the middle, so that long ones fit."""
    xs = [x for x, _ in others]
    leftwards = at[0] > (min(xs) + max(xs)) / 2
    look = {"ha": "right", "xytext": (-6, 4)} if leftwards else {"ha": "left", "xytext": (6, 4)}
    note = axes.annotate("", at, textcoords="offset points", fontsize="small", **look)
    note.set_in_layout(False)  # a long name would leave no place for the points
    return note
