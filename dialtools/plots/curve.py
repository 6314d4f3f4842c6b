"""Curves and points: shares of each corpus, scores of each run, where each model's space lies.

Pictures are .png, .svg or .pdf files, written whole or not at all; without matplotlib `picture`
raises MissingExtra, and `tell` hears of scripts that no font on this machine has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dialtools.plots.figure import Tell, picture, plain

DASHES = ("-", "--", ":", "-.")
POINTS = 400
"""Places at which a curve of shares is drawn: smooth at the width of a page."""


def draw_shares(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    path: str,
    *,
    x_label: str,
    y_label: str,
    mark: float,
    tell: Tell,
    overwrite: bool = False,
) -> None:
    """Draw cumulative shares over shares, in percent, the horizontal axis logarithmic.

    Args:
        curves: for each corpus (K,) rising shares x and y from 0 to 1, straight in between.
        mark: a share to mark on the horizontal axis.
    """
    with picture(path, texts=curves, size=(6.4, 4.2), overwrite=overwrite, tell=tell) as axes:
        from matplotlib.ticker import FuncFormatter, PercentFormatter

        lines = []
        for x, y in curves.values():
            at = _places(x, mark)
            lines += axes.plot(at, np.interp(at, x, y), linewidth=1.6, zorder=2)
        axes.axvline(mark, color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        axes.set(xscale="log", ylim=(0, 1), xlabel=x_label, ylabel=y_label)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
        axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        _finish(axes, lines, curves)


def draw_scores(
    scores: Mapping[tuple[str, str], np.ndarray], path: str, *, tell: Tell, overwrite: bool = False
) -> None:
    """Draw scores over the steps of training: a colour for each run, a dash for each metric.

    Args:
        scores: for each run and metric (K, 4) rows of step, score, low, high, in percent; NaN
            where there is no interval.
    """
    runs, metrics = ([*dict.fromkeys(part)] for part in zip(*scores, strict=True))
    names = [f"{run}, {metric}" if len(metrics) > 1 else run for run, metric in scores]
    y_label = f"{metrics[0]}, percent" if len(metrics) == 1 else "percent"
    texts = [*names, y_label]
    with picture(path, texts=texts, size=(6.4, 4.2), overwrite=overwrite, tell=tell) as axes:
        from matplotlib.ticker import MaxNLocator

        lines = []
        for (run, metric), points_K4 in scores.items():
            step, score, low, high = points_K4.T
            color = f"C{runs.index(run) % 10}"  # matplotlib's ten, again and again
            dash = DASHES[metrics.index(metric) % len(DASHES)]
            lines += axes.plot(
                step, score, dash, marker="o", markersize=3.5, linewidth=1.6, color=color, zorder=2
            )
            axes.fill_between(step, low, high, color=color, alpha=0.15, linewidth=0, zorder=1)
        axes.set(xlabel="steps", ylabel=y_label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _finish(axes, lines, names)


def draw_trade_off(
    points: Mapping[str, tuple[float, float]], path: str, *, tell: Tell, overwrite: bool = False
) -> None:
    """Draw a named point for each (alignment, uniformity); lower left is better on both.

    As TaDSE's figure 8 does.
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
        _lighten(axes)


def _places(x_K: np.ndarray, mark: float) -> np.ndarray:
    """Return where to draw a curve: evenly on the logarithmic axis, and at the mark."""
    first = max(1e-7, float(x_K[1])) if len(x_K) > 1 else 1e-3  # x begins with 0, which has no log
    return np.unique(np.concatenate([np.geomspace(min(first, 0.999), 1, POINTS), [mark]]))


def _lighten(axes: Any) -> None:
    """Leave two sides of the frame, and a light grid."""
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _finish(axes: Any, lines: Sequence[Any], names: Iterable[str]) -> None:
    """Add a light grid, and a legend that names the lines."""
    _lighten(axes)
    numbers = [f"line {i}" for i in range(len(lines))]  # `plain` writes the names
    legend = axes.legend(lines, numbers, frameon=False, fontsize="small")
    plain(legend.get_texts(), names)


def _note(axes: Any, at: tuple[float, float], others: Iterable[tuple[float, float]]) -> Any:
    """Return where a point's name will be written: towards the middle, so that long ones fit."""
    xs = [x for x, _ in others]
    leftwards = at[0] > (min(xs) + max(xs)) / 2
    look = {"ha": "right", "xytext": (-6, 4)} if leftwards else {"ha": "left", "xytext": (6, 4)}
    note = axes.annotate("", at, textcoords="offset points", fontsize="small", **look)
    note.set_in_layout(False)  # a long name would leave no place for the points
    return note
