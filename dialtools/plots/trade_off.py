"""Uniformity over alignment: where each model's space lies (TaDSE figure 8)."""

from __future__ import annotations

from collections.abc import Mapping

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
        notes = [
            axes.annotate("", at, xytext=(6, 4), textcoords="offset points", fontsize="small")
            for at in points.values()
        ]
        plain(notes, points)
        axes.margins(0.18)
        axes.set(
            xlabel="alignment of texts with one label (lower: closer)",
            ylabel="uniformity (lower: more even)",
        )
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
