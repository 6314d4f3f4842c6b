"""Draw the two pictures of README from a run of the commands that they show.

    python bench/pictures.py [FOLDER]        writes pipe.svg and terminal.svg, by default into docs/

Each command of SESSION runs in a folder of its own, on a terminal, with the shipped example. The
pictures ask no network for a font and are legible on light and dark pages.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 96
"""Columns of the terminal."""
PAIRS, TRAIN, EMBED, EVAL, TURNS, CLUSTER, SEARCH = SESSION = (
    "dial-pairs --window 1-3 examples/dialogues.jsonl.gz -o pairs.arrow",
    "dial-train --epochs 2 -o model pairs.arrow",
    "dial-embed --model model examples/intents.jsonl.gz -o intents.parquet",
    "dial-eval intent intents.parquet",
    "dial-embed --model model --per turn examples/heldout.jsonl.gz -o turns.parquet",
    "dialtools cluster --table --per dialogue --clusters 10 turns.parquet",
    "dialtools search turns.parquet 'someone took my card' -k 3 --distinct",
)
TERMINAL = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own, without its fonts, which lie on the net."""
STYLE = """
text { font: 15px sans-serif; fill: #24292f; text-anchor: middle; }
.command { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #0550ae; }
.fact { font-size: 13px; fill: #57606a; }
rect { fill: #f6f8fa; stroke: #8c959f; }
path { fill: none; stroke: #57606a; stroke-width: 1.5; }
.head { fill: #57606a; stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .command { fill: #79c0ff; } .fact { fill: #9198a1; }
rect { fill: #161b22; stroke: #6e7681; } path { stroke: #9198a1; } .head { fill: #9198a1; }
}
"""
BEATS = re.compile(r"^.* of .* steps \(.*\n", re.MULTILINE)
"""What is said of progress where stderr is no terminal; on one it goes when all is done."""
BOX, GAP, TOP = 128, 100, 16
"""Pixels: a box and what is between two, and above the boxes."""


class Run(NamedTuple):
    """A command and what it showed: on stdout, a terminal; and on stderr."""

    command: str
    shown: str
    said: str


def run(command: str, folder: str) -> Run:
    """Run a command with its stdout on a terminal.

    Raises:
        RuntimeError: if it fails.
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, shell=True, cwd=folder, stdout=theirs, stderr=subprocess.PIPE, env=environment
    )
    os.close(theirs)
    shown: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, shown))
    reader.start()
    said = process.communicate()[1].decode()
    reader.join()
    os.close(ours)
    if process.returncode:
        raise RuntimeError(f"{command}: {said}")
    return Run(command, b"".join(shown).decode().replace("\r\n", "\n"), said)


def _read(terminal: int, into: list[bytes]) -> None:
    while True:
        try:
            into.append(os.read(terminal, 1 << 16))
        except OSError:  # the terminal of a process that has ended
            return


def terminal(runs: list[Run]) -> str:
    """Return the picture of a terminal on which the commands were run."""
    from rich.console import Console
    from rich.terminal_theme import DIMMED_MONOKAI
    from rich.text import Text

    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for one in runs:
        console.print(Text.assemble(("$ ", "bold green"), (one.command, "bold")))
        console.print(Text.from_ansi(one.shown), end="") if one.shown else None
        console.print(Text(BEATS.sub("", one.said).rstrip(), style="#a8a8a8"))
        console.print()
    return console.export_svg(
        title="dialtools", theme=DIMMED_MONOKAI, code_format=TERMINAL, unique_id="t"
    )


def fact(runs: dict[str, Run], command: str, pattern: str) -> str:
    """Return what a command told of its work.

    Raises:
        ValueError: if it did not.
    """
    told = runs[command].shown + runs[command].said
    found = re.search(pattern, re.sub(r"\x1b\[[0-9;]*m", "", told))
    if not found:
        raise ValueError(f"{command}: no {pattern} in {told}")
    return found[1]


def pipe(runs: dict[str, Run]) -> str:
    """Return the picture of the pipe: what lies between the commands, with the sizes of a run."""
    score = fact(runs, EVAL, r"5-shot\s+│?\s*accuracy[\s│]+([\d.]+)")
    boxes = (
        ("chat logs", fact(runs, PAIRS, r"from ([\d,]+ dialogues)")),
        ("pairs", fact(runs, PAIRS, r"([\d,]+) pairs")),
        ("model", fact(runs, TRAIN, r"([\d,]+ steps), ")),
        ("embeddings", fact(runs, EMBED, r"([\d,]+ rows)")),
        ("scores", f"{float(score):.0f} % right"),
    )
    between = ("dial-pairs", "dial-train", "dial-embed", "dial-eval")
    parts = [_box(BOX * i + GAP * i, *box) for i, box in enumerate(boxes)]
    parts += [_arrow(BOX * (i + 1) + GAP * i, name) for i, name in enumerate(between)]
    middle = 3 * (BOX + GAP) + BOX // 2 + 1
    verbs = "dialtools cluster · assign · neighbors · search · drift"
    parts.append(f'<path d="M{middle} {TOP + 60}v26"/>{_head(middle, TOP + 92, down=True)}')
    parts.append(f'<text class="command" x="{middle}" y="{TOP + 112}">{verbs}</text>')
    width = 5 * BOX + 4 * GAP + 2
    head = f'<svg viewBox="0 0 {width} {TOP + 124}" xmlns="http://www.w3.org/2000/svg">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _box(left: int, name: str, told: str) -> str:
    middle = left + BOX // 2
    return (
        f'<rect x="{left + 1}" y="{TOP}" width="{BOX}" height="60" rx="8"/>'
        f'<text x="{middle}" y="{TOP + 26}">{escape(name)}</text>'
        f'<text class="fact" x="{middle}" y="{TOP + 46}">{escape(told)}</text>'
    )


def _arrow(left: int, name: str) -> str:
    line = f'<path d="M{left + 5} {TOP + 36}h{GAP - 16}"/>{_head(left + GAP - 4, TOP + 36)}'
    return f'{line}<text class="command" x="{left + GAP // 2}" y="{TOP + 24}">{name}</text>'


def _head(x: int, y: int, *, down: bool = False) -> str:
    points = f"{x - 5},{y - 8} {x + 5},{y - 8}" if down else f"{x - 8},{y - 5} {x - 8},{y + 5}"
    return f'<polygon class="head" points="{points} {x},{y}"/>'


def main() -> None:
    into = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        runs = {command: run(command, folder) for command in SESSION}
    (into / "terminal.svg").write_text(terminal(list(runs.values())))
    (into / "pipe.svg").write_text(pipe(runs))


if __name__ == "__main__":
    main()
