"""dial-freq against sort | uniq -c and Python's Counter, on plain lines.

python bench/freq.py [dialogues.jsonl...]

The lines are the utterances of the corpora, over and over: from the second time on, those of five
words and more end in the number of the repetition. So what corpora repeat (short, generic) repeats
here, and what they do not, does not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

from inputs import DIALOGUES, read_texts
from side_by_side import SCRIPTS, Usage, command, compare

PEER = "sort | uniq -c"
RANKED = "sort | uniq -c | sort -nr"
COUNTER = """
import collections, sys
for text, number in collections.Counter(map(str.rstrip, sys.stdin)).most_common():
    print(number, text)
"""


def utterances(paths: list[Path]) -> list[str]:
    """Return the texts of all turns, each on one line."""
    texts = (" ".join(text.split()) for path in paths for text in read_texts(path))
    return [text for text in texts if text]


def repeated(texts: list[str]) -> Iterator[str]:
    """Yield the texts without end, as told above."""
    yield from texts
    for repetition in count(2):
        yield from (f"{text} {repetition}" if text.count(" ") > 3 else text for text in texts)


def rows_on(file: str, limits: list[str]) -> dict[str, Callable[[], Usage]]:
    """Return what is timed on a file of lines, `limits` being those of dial-freq's memory."""

    def shell(line: str) -> Callable[[], Usage]:
        return command("sh", "-c", line, LC_ALL="C")

    def freq(*flags: str) -> Callable[[], Usage]:
        return command(SCRIPTS / "dial-freq", "-q", file, *flags)

    plain = ("--ignore", "none")
    return {
        PEER: shell(f"sort {file} | uniq -c"),
        RANKED: shell(f"sort {file} | uniq -c | sort -k1,1nr -k2"),  # the order of dial-freq
        **{f"dial-freq --memory {limit}": freq("--memory", limit) for limit in limits},
        "dial-freq --ignore none": freq(*plain),
        "dial-freq --ignore none --no-rank": freq(*plain, "--no-rank"),
        "the same, --to arrow": freq(*plain, "--no-rank", "--to", "arrow"),
        "dial-freq --ignore none --top 1000": freq(*plain, "--top", "1000"),
        "Python's Counter": command("sh", "-c", f'"$0" -c "$1" < {file}', sys.executable, COUNTER),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=[DIALOGUES], type=Path)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="1GB,512MB", help="limits of dial-freq to try")
    options = parser.parse_args()
    lines = islice(repeated(utterances(options.corpora)), options.lines)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        print(f"{options.lines:,} lines, {Path(file.name).stat().st_size / 1e6:,.0f} MB")
        rows = rows_on(file.name, options.memory.split(","))
        compare(rows, peer=PEER, runs=options.runs)


if __name__ == "__main__":
    main()
