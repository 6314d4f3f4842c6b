"""Points on a plane coloured by label: a picture for papers, or one page to explore."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson

from dialtools.plots.figure import picture, plain
from dialtools.streams.atomic import atomic_file

IN_LEGEND = 20
"""Labels that a legend still tells apart; more are written where their points are."""
PAGE = Path(__file__).with_name("map.html")


def colours(labels: Sequence[str]) -> dict[str, str]:
    """Return a colour for each distinct label, in order; neighbours in the list are far apart in hue."""
    names = sorted(set(labels))
    tones = [(0.75, 0.78), (0.55, 0.62), (0.9, 0.55)]
    found = {}
    for i, name in enumerate(names):
        saturation, value = tones[i % len(tones)]
        rgb = colorsys.hsv_to_rgb((i * 0.618034) % 1, saturation, value)
        found[name] = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
    return found


def draw_map(
    points_N2: np.ndarray, labels: Sequence[str], path: str, *, overwrite: bool = False
) -> None:
    """Draw a .png, .svg or .pdf; up to 20 labels in a legend, more at the median of their points."""
    tone = colours(labels)
    places = {name: np.asarray([i for i, own in enumerate(labels) if own == name]) for name in tone}
    size = (7.5, 6) if len(tone) <= IN_LEGEND else (12, 10)
    with picture(path, texts=tone, size=size, overwrite=overwrite, dpi=150) as axes:
        dot = float(np.clip(12_000 / len(points_N2), 1.5, 18))
        drawn = [
            axes.scatter(
                *points_N2[rows].T,
                s=dot,
                color=tone[name],
                linewidths=0,
                alpha=0.75,
                rasterized=len(labels) > 5000,
            )
            for name, rows in places.items()
        ]
        if 1 < len(tone) <= IN_LEGEND:
            legend = axes.legend(
                drawn,
                [f"label {i}" for i in range(len(drawn))],
                fontsize="small",
                frameon=False,
                loc="center left",
                bbox_to_anchor=(1, 0.5),
                markerscale=2,
            )
            plain(legend.get_texts(), places)
        elif len(tone) > IN_LEGEND:
            halo = {
                "facecolor": "white",
                "alpha": 0.65,
                "linewidth": 0,
                "pad": 0.6,
            }  # text stays text in an SVG
            middle = [np.median(points_N2[rows], axis=0) for rows in places.values()]
            notes = [
                axes.text(
                    x, y, "", fontsize=6, ha="center", va="center", bbox=halo, color=tone[name]
                )
                for (x, y), name in zip(_apart(np.asarray(middle)), places, strict=True)
            ]
            plain(notes, places)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)


def _apart(places_K2: np.ndarray, rounds: int = 60) -> np.ndarray:
    """Return places pushed up and down until labels at them no longer lie on each other."""
    moved = places_K2.astype(np.float64).copy()
    width, height = np.ptp(moved, axis=0).clip(1e-9) * (0.09, 0.013)
    for _ in range(rounds):
        gap = moved[:, None] - moved[None]
        close = (
            (np.abs(gap[..., 0]) < width)
            & (np.abs(gap[..., 1]) < height)
            & ~np.eye(len(moved), dtype=bool)
        )
        if not close.any():
            break
        up = np.where(
            gap[..., 1] != 0,
            np.sign(gap[..., 1]),
            np.sign(np.arange(len(moved))[:, None] - np.arange(len(moved))[None]),
        )
        moved[:, 1] += (close * up * (height - np.abs(gap[..., 1])) / 2).sum(1)
    return moved


def write_page(
    points_N2: np.ndarray,
    labels: Sequence[str],
    texts: Sequence[str],
    path: str,
    *,
    title: str,
    overwrite: bool = False,
) -> None:
    """Write one self-contained HTML page: hover tells a text, a search marks those that hold it, a click picks a label."""
    low, high = points_N2.min(0), points_N2.max(0)
    scaled = (points_N2 - low) / np.where(high > low, high - low, 1)
    tone = colours(labels)
    names = list(tone)
    number = {name: i for i, name in enumerate(names)}
    data = {
        "title": title,
        "names": names,
        "colours": list(tone.values()),
        "x": np.round(scaled[:, 0], 5).tolist(),
        "y": np.round(scaled[:, 1], 5).tolist(),
        "label": [number[name] for name in labels],
        "text": list(texts),
    }
    safe = (
        orjson.dumps(data)
        .decode()
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(
            PAGE.read_text(encoding="utf-8").replace("/*DATA*/null", safe), encoding="utf-8"
        )
