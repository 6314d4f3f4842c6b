"""dial-freq against sort | uniq -c and Python's Counter, on plain lines.   python bench/freq.py [dialogues.jsonl...]

The lines are the utterances of the corpora, over and over: from the second time on, those of five
words and more end in the number of the repetition. So what corpora repeat (short, generic) repeats
here, and what they do not, does not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from side_by_side import SCRIPTS

HERE = Path(__file__).parent
COUNTER = "import sys, collections as c; [print(n, t) for t, n in c.Counter(map(str.rstrip, sys.stdin)).most_common()]"

RANKED = "sort | uniq -c | sort -nr"


def utterances(paths: list[Path]) -> list[str]:
    """Return the texts of all turns."""
    texts = []
    for path in paths:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            texts += [
                " ".join(turn["text"].split())
                for line in file
                for turn in json.loads(line)["turns"]
            ]
    return [text for text in texts if text]


def repeated(texts: list[str]) -> Iterator[str]:
    """Yield the texts without end, as told above."""
    yield from texts
    for repetition in count(2):
        yield from (f"{text} {repetition}" if text.count(" ") > 3 else text for text in texts)


def measured(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command, its output thrown away; return seconds and its peak memory in MiB (of the largest process)."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}: status {os.waitstatus_to_exitcode(status)}")
    process.returncode = 0
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "corpora", nargs="*", default=[HERE.parent / "examples/dialogues.jsonl.gz"], type=Path
    )
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", default="1GB,256MB", help="limits of dial-freq to try")
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(
            text + "\n" for text in islice(repeated(utterances(options.corpora)), options.lines)
        )
        file.flush()
        freq = [str(SCRIPTS / "dial-freq"), "-q", file.name]
        rows = {"sort | uniq -c": ["sh", "-c", f"sort {file.name} | uniq -c"]}
        rows[RANKED] = [
            "sh",
            "-c",
            f"sort {file.name} | uniq -c | sort -k1,1nr -k2",
        ]  # the order of dial-freq
        for memory in options.memory.split(","):
            rows[f"dial-freq --memory {memory}"] = [*freq, "--memory", memory]
        rows["dial-freq --normalize none"] = [*freq, "--normalize", "none"]
        rows["dial-freq --normalize none --no-rank"] = [*freq, "--normalize", "none", "--no-rank"]
        rows["the same, --to arrow"] = [*freq, "--normalize", "none", "--no-rank", "--to", "arrow"]
        rows["dial-freq --normalize none --top 1000"] = [
            *freq,
            "--normalize",
            "none",
            "--top",
            "1000",
        ]
        rows["Python's Counter"] = ["sh", "-c", f'{sys.executable} -c "{COUNTER}" < {file.name}']
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
        for _ in range(options.runs):
            for name, words in rows.items():
                took[name].append(
                    measured(words, {"LC_ALL": "C"} if name.startswith("sort") else {})
                )
        size = Path(file.name).stat().st_size / 1e6
    base = statistics.median(seconds for seconds, _ in took["sort | uniq -c"])
    print(f"{options.lines:,} lines, {size:,.0f} MB")
    for name, runs in took.items():
        seconds, peak = statistics.median(s for s, _ in runs), max(p for _, p in runs)
        spread = f"({min(runs)[0]:.1f} - {max(runs)[0]:.1f})"
        print(
            f"{name:38} {seconds:7.1f} s {spread:16} {peak:7,.0f} MiB  {base / seconds:5.2f} x sort | uniq -c"
        )


if __name__ == "__main__":
    main()
