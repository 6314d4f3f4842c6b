"""Points on a plane coloured by label: a picture for papers, or one page to explore."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from dialtools.plots.figure import Tell, picture, plain
from dialtools.streams.atomic import atomic_file

IN_LEGEND = 20
"""Labels that a legend still tells apart; more are written where their points are."""
ROOM = 500
"""Labels that are written, at most: a thousand would cover a picture."""
AS_SHAPES = 5000
"""Points that a vector picture still holds as shapes; more are one bitmap in it."""
GOLDEN = 0.618034
"""Share of the circle of hues between neighbours: the golden ratio spreads any number evenly."""
TONES = ((0.75, 0.78), (0.55, 0.62), (0.9, 0.55))
"""Saturation and value, in turns, so that near hues differ in tone."""
SHAPES = "o^sDPX*v"
"""Of points of several kinds, again and again."""
UNLABELLED = "#a0a0a0"
PAGE = Path(__file__).with_name("map.html")


def colours(labels: Sequence[str]) -> dict[str, str]:
    """Return a colour for each distinct label, in their order; neighbours are far apart in hue.

    Points without a label ("") are grey, and lie behind the others.
    """
    shades = {"": UNLABELLED} if "" in labels else {}
    for i, name in enumerate(sorted({*labels} - {""})):
        saturation, value = TONES[i % len(TONES)]
        rgb = colorsys.hsv_to_rgb((i * GOLDEN) % 1, saturation, value)
        shades[name] = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
    return shades


def draw_map(
    points_N2: np.ndarray,
    labels: Sequence[str],
    path: str,
    *,
    tell: Tell,
    kinds: Sequence[str] = (),
    black: str | None = None,
    overwrite: bool = False,
) -> None:
    """Draw a .png, .svg or .pdf; up to 20 labels in a legend, more where their points are.

    Args:
        tell: hears of scripts that no font on this machine has, and of labels not written.
        kinds: of the points; each has a shape.
        black: the label that is drawn in black, behind the others.

    Raises:
        MissingExtra: without matplotlib.
    """
    shades = colours(labels)
    if black in shades:
        shades = {black: "#000000"} | {name: shades[name] for name in shades if name != black}
    number = {name: i for i, name in enumerate(shades)}
    shapes = {kind: SHAPES[i % len(SHAPES)] for i, kind in enumerate(sorted(set(kinds)))}
    label_N = np.fromiter((number[name] for name in labels), np.int64, len(labels))
    shape_N = np.asarray([shapes[kind] for kind in kinds] or [SHAPES[0]] * len(labels))
    size = (7.5, 6) if (few := len(shades) <= IN_LEGEND) else (12, 10)
    written = [*shades, *shapes]

    with picture(path, texts=written, size=size, overwrite=overwrite, tell=tell, dpi=150) as axes:
        axes.set_aspect("equal", adjustable="datalim")  # else one direction looks wider than it is
        behind = len({black, ""} & shades.keys())
        _scatter(axes, points_N2, label_N, shape_N, [*shades.values()], behind=behind)
        if not few:
            _write_names(axes, points_N2, label_N, shades, tell)
        named = [_worth_naming(marks) for marks in (shades if few else {}, shapes)]
        _add_legend(axes, *named)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)


def _scatter(
    axes: Any,
    points_N2: np.ndarray,
    label_N: np.ndarray,
    shape_N: np.ndarray,
    shades: Sequence[str],
    *,
    behind: int,
) -> None:
    """Draw the points in the order of their labels; the more there are, the smaller the dots.

    Args:
        behind: the first so many labels lie behind all others, whatever shape their points have.
    """
    dot = float(np.clip(12_000 / len(points_N2), 1.5, 18))
    look = {"s": dot, "linewidths": 0, "alpha": 0.75, "rasterized": len(label_N) > AS_SHAPES}
    order_N = np.argsort(label_N, kind="stable")
    layers = [(int(min(label_N[row], behind)), str(shape_N[row])) for row in order_N]
    for layer in dict.fromkeys(layers):
        own = order_N[[each == layer for each in layers]]
        own_shades = [shades[label] for label in label_N[own]]
        axes.scatter(*points_N2[own].T, marker=layer[1], c=own_shades, **look)


def _worth_naming(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the marks that a legend names: of several kinds of points, those that have a name."""
    named = {name: mark for name, mark in marks.items() if name}
    return named if 1 < len(marks) <= IN_LEGEND else {}


def _add_legend(axes: Any, shades: Mapping[str, str], shapes: Mapping[str, str]) -> None:
    """Name colours and shapes beside the points."""
    marks = [(shade, SHAPES[0]) for shade in shades.values()]
    marks += [("grey", shape) for shape in shapes.values()]
    if not marks:
        return
    drawn = [axes.scatter([], [], color=c, marker=shape, linewidths=0) for c, shape in marks]
    legend = axes.legend(
        drawn,
        [f"label {i}" for i in range(len(drawn))],  # `plain` writes the names
        fontsize="small",
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    plain(legend.get_texts(), [*shades, *shapes])


def _write_names(
    axes: Any,
    points_N2: np.ndarray,
    label_N: np.ndarray,
    shades: Mapping[str, str],
    tell: Tell,
) -> None:
    """Write each label at the median of its points; of more than there is room for, the largest."""
    sizes = np.bincount(label_N)
    parts = np.split(points_N2[np.argsort(label_N, kind="stable")], np.cumsum(sizes)[:-1])
    largest = np.sort(np.argsort(-sizes, kind="stable")[:ROOM]).tolist()
    if len(sizes) > ROOM:
        tell(f"{ROOM} of {len(sizes):,} labels are written, those with the most points")
    # a box, not an outline of the letters: text stays text in an SVG
    halo = {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.6}
    names = [*shades]
    middles_K2 = np.asarray([np.median(parts[i], axis=0) for i in largest])
    notes = [
        axes.text(x, y, "", fontsize=6, ha="center", va="center", bbox=halo, color=shades[names[i]])
        for (x, y), i in zip(_apart(middles_K2), largest, strict=True)
    ]
    plain(notes, [names[i] for i in largest])


def _apart(places_K2: np.ndarray, rounds: int = 60) -> np.ndarray:
    """Return places pushed up and down until labels at them no longer lie on each other."""
    moved_K2 = places_K2.astype(np.float64).copy()
    # what a label of usual length takes of a picture of 12 x 10 inches
    width, height = np.ptp(moved_K2, axis=0).clip(1e-9) * (0.09, 0.013)
    order_K = np.arange(len(moved_K2))
    by_order_KK = np.sign(order_K[:, None] - order_K)  # tells labels at one height apart

    for _ in range(rounds):
        gap_KK2 = moved_K2[:, None] - moved_K2
        across_KK, along_KK = np.abs(gap_KK2[..., 0]), np.abs(gap_KK2[..., 1])
        close_KK = (across_KK < width) & (along_KK < height)
        np.fill_diagonal(close_KK, False)
        if not close_KK.any():
            break
        side_KK = np.where(gap_KK2[..., 1] != 0, np.sign(gap_KK2[..., 1]), by_order_KK)
        moved_K2[:, 1] += (close_KK * side_KK * (height - along_KK) / 2).sum(1)
    return moved_K2


def write_page(
    points_N2: np.ndarray,
    labels: Sequence[str],
    texts: Sequence[str],
    path: str,
    *,
    title: str,
    overwrite: bool = False,
) -> None:
    """Write one self-contained HTML page.

    Hover tells a text, a search marks the texts that hold it, a click on a label picks it.
    """
    low, high = points_N2.min(0), points_N2.max(0)
    scaled_N2 = (points_N2 - (low + high) / 2) / max((high - low).max(), 1e-9) + 0.5
    shades = colours(labels)
    number = {name: i for i, name in enumerate(shades)}
    data = {
        "title": title,
        "names": [name or "no label" * (len(shades) > 1) for name in shades],
        "colours": list(shades.values()),
        "x": np.round(scaled_N2[:, 0], 5).tolist(),
        "y": np.round(scaled_N2[:, 1], 5).tolist(),
        "label": [number[name] for name in labels],
        "text": list(texts),
    }
    page = PAGE.read_text(encoding="utf-8").replace("/*DATA*/null", _script_safe(data))
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _script_safe(data: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script: no tag ends it, no line separator breaks it."""
    text = orjson.dumps(data).decode()
    for character in ("<", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
