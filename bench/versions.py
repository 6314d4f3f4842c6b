"""Two checkouts of dialtools at the same work, in turn.   python bench/versions.py OLD NEW

Each row is a whole command, as a user runs it: wall and CPU seconds are medians of A B A B ...,
and so is the ratio of each pair of runs. Below 1 the new one is faster.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from inputs import DIALOGUES, EXAMPLES, default_model, read_lines
from side_by_side import SCRIPTS, Usage, command, measured, median

ROWS = {
    "dial-pairs": "dial-pairs -q --window 1,2,3 corpus.jsonl",
    "dial-pairs -j 2": "dial-pairs -q -j 2 --window 1,2,3 corpus.jsonl",
    "dial-pairs --to arrow": "dial-pairs -q --to arrow --window 1,2,3 corpus.jsonl",
    "dial-pairs --to arrow -j 2": "dial-pairs -q --to arrow -j 2 --window 1,2,3 corpus.jsonl",
    "dial-freq": "dial-freq -q corpus.jsonl",
    "dial-freq --annotate": "dial-freq -q --annotate pairs.jsonl",
    "dial-train, spooling (--dry-run)": "dial-train -q --dry-run --model minilm "
    "--method dse pairs.arrow",
    "dial-train, 12 steps of 64": "dial-train -q --overwrite --threads 2 --model minilm "
    "--method dse --batch-size 64 --max-steps 12 -o model pairs.small.arrow",
    "dial-embed float32": "dial-embed -q --overwrite --threads 2 --model minilm texts.jsonl "
    "-o texts.parquet",
    "dial-eval intent": "dial-eval intent -q intents.parquet",
    "dial-eval --help": "dial-eval intent --help",
}


def prepare(home: Path, corpus: Path, megabytes: int, model: str) -> None:
    """Put the inputs of all rows into a folder."""
    text = b"".join(read_lines(corpus))
    repeats = max(1, megabytes * 1_000_000 // len(text))
    (home / "corpus.jsonl").write_bytes(text * repeats)
    (home / "minilm").symlink_to(model)
    for line in (
        "dial-pairs -q --window 1,2,3 corpus.jsonl -o pairs.arrow",
        "dial-pairs -q --window 1,2,3 -n 300000 corpus.jsonl -o pairs.jsonl",
        "dial-pairs -q --window 1,2,3 -n 2000 corpus.jsonl -o pairs.small.arrow",
        "dial-pairs -q --kind utterance -n 4000 corpus.jsonl -o texts.jsonl",
        f"dial-embed -q --model minilm {EXAMPLES}/intents.jsonl.gz -o intents.parquet",
    ):
        of(line, home, EXAMPLES.parent)()


def of(line: str, home: Path, checkout: Path) -> Callable[[], Usage]:
    """Return a call that runs a command of a checkout in a folder."""
    name, *words = shlex.split(line)
    return command(SCRIPTS / name, *words, cwd=home, PYTHONPATH=str(checkout))


def compare(line: str, home: Path, old: Path, new: Path, runs: int) -> str:
    """Return the cells of a row: medians of both, then the median ratios of wall and CPU time."""
    before, after = of(line, home, old), of(line, home, new)
    pairs = [(measured(before), measured(after)) for _ in range(runs + 1)][1:]
    wall = statistics.median(b.seconds / a.seconds for a, b in pairs)
    cpu = statistics.median(b.usage.processor / a.usage.processor for a, b in pairs)
    first, second = map(median, zip(*pairs, strict=True))
    return f"{first:.2f} s | {second:.2f} s | {wall:.2f} | {cpu:.2f}"


def main() -> None:
    """Print a Markdown table, a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--corpus", type=Path, default=DIALOGUES)
    parser.add_argument("--megabytes", type=int, default=64, help="repeat the corpus to this size")
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        prepare(home, options.corpus.resolve(), options.megabytes, options.model)
        print("| command | before | after | wall, after / before | CPU |")
        print("| --- | --- | --- | --- | --- |")
        for name, line in ROWS.items():
            if options.only in name:
                cells = compare(
                    line, home, options.old.resolve(), options.new.resolve(), options.runs
                )
                print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
