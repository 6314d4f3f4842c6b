"""A stream that is made and never stored, through the commands; what memory and disk they take.

python bench/flood.py pairs --gigabytes 100 [--shape mail|chat]

Prints a row of a table: records, seconds, MB/s, and of each command the memory at 10, 50 and 100 %
of the stream and at the peak. Exits 1 if a command fails or pairs are missing. What it puts on the
disk (counts, spooled pairs, the output) stands under --folder and is removed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from side_by_side import MEBIBYTE, SCRIPTS
from stream import SHAPES, TURNS, Block, write

SMALL = "--hidden 64 --layers 1 --batch-size 32 --max-steps 20 --threads 1"
CHAINS = {
    "pairs": ["dial-pairs"],
    "freq": ["dial-pairs --to arrow", "dial-freq --jobs 1"],
    "train": ["dial-pairs --to arrow", f"dial-train {SMALL} -o {{folder}}/model"],
    "embed": [
        "dial-pairs --kind utterance --to arrow",
        "dial-embed --model {words} --keep none --dtype float16 --threads 1 -o {folder}/e.parquet",
    ],
    "augment": ["dial-pairs --kind utterance --to arrow", "dial-augment --max-per-template 1"],
}
"""What stands behind the stream; what the last command says goes nowhere."""
MARKS = (10, 50, 100)  # % of the stream
EVERY = 1.0  # seconds between looks


class Memory(NamedTuple):
    """Of a command and its children, in MiB: resident, that without mapped files, and its peak."""

    resident: float
    own: float
    peak: float


def memory(process: int) -> Memory:
    """Return the memory of a process and its children now."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        tasks = Path(f"/proc/{process}/task").iterdir()
        children = " ".join((task / "children").read_text() for task in tasks).split()
    except (FileNotFoundError, ProcessLookupError):
        return Memory(0, 0, 0)
    told = dict(re.findall(r"^(VmRSS|RssAnon|VmHWM):\s+(\d+)", status, re.MULTILINE))
    sizes = (int(told.get(name, 0)) / MEBIBYTE for name in ("VmRSS", "RssAnon", "VmHWM"))
    family = [Memory(*sizes), *(memory(int(child)) for child in children)]
    return Memory(*map(sum, zip(*family, strict=True)))


def disk(folder: Path, processes: Sequence[int]) -> float:
    """Return what stands in a folder in GB, with files that only a process still holds."""
    named = [path for path in folder.rglob("*") if path.is_file()]
    held = [fd for process in processes for fd in Path(f"/proc/{process}/fd").glob("*")]
    total = 0
    for path in [*named, *filter(is_nameless, held)]:
        try:
            total += path.stat().st_blocks * 512
        except OSError:  # gone since
            continue
    return total / 1e9


def is_nameless(descriptor: Path) -> bool:
    """Tell whether an open file has no name on the disk any more."""
    try:
        return str(descriptor.readlink()).endswith("(deleted)")
    except OSError:
        return False


class Watch(threading.Thread):
    """Looks at the commands once a second.

    Attributes:
        written: bytes of the stream so far; set by whoever writes it.
        at: the memory of each command when a mark was passed.
        peak: the most of each command.
        disk: the most on the disk, in GB.
    """

    def __init__(self, processes: Sequence[int], total: int, folder: Path) -> None:
        super().__init__(daemon=True)
        self.processes, self.total, self.folder = processes, total, folder
        self.written = 0
        self.at: dict[int, list[Memory]] = {}
        self.peak = [Memory(0, 0, 0)] * len(processes)
        self.disk = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(EVERY):
            self.look()

    def look(self) -> None:
        """Note the memory and the disk as they are now."""
        now = [memory(process) for process in self.processes]
        self.peak = [
            Memory(*map(max, zip(*pair, strict=True))) for pair in zip(self.peak, now, strict=True)
        ]
        self.disk = max(self.disk, disk(self.folder, self.processes))
        for mark in MARKS:
            if mark not in self.at and self.written * 100 >= mark * self.total:
                self.at[mark] = now
                told = ", ".join(f"{each.resident:.0f} ({each.own:.0f})" for each in now)
                print(f"{mark} %: MiB resident (own): {told}", file=sys.stderr, flush=True)


def word_vectors(folder: Path) -> Path:
    """Write vectors of three words: a model that costs nothing but the reading of texts."""
    path = folder / "words.txt"
    path.write_text("the 1 0 0\nfrom 0 1 0\nto 0 0 1\n")
    return path


def start(chain: Sequence[str], folder: Path) -> list[subprocess.Popen[bytes]]:
    """Start commands, each reading what the one before writes; the first reads our pipe."""
    words, processes, stdin = word_vectors(folder), [], subprocess.PIPE
    for place, line in enumerate(chain):
        command, *flags = line.format(folder=folder, words=words).split()
        last = place == len(chain) - 1
        with (folder / f"{place}.stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [SCRIPTS / command, *flags],
                stdin=stdin,
                stdout=subprocess.DEVNULL if last else subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "TMPDIR": str(folder)},
            )
        if place:
            stdin.close()
        stdin = process.stdout
        processes.append(process)
    return processes


def pour(block: Block, copies: int, processes: list[subprocess.Popen[bytes]], watch: Watch) -> None:
    """Write the stream into the first command, and wait for all of them."""
    source = processes[0].stdin
    assert source
    try:
        for watch.written in write(block, copies, source.fileno()):
            pass
    except BrokenPipeError:
        print("a command stopped reading", file=sys.stderr)
    watch.look()
    source.close()
    for process in processes:
        process.wait()
    watch.done.set()
    watch.join()


def told(folder: Path, chain: Sequence[str]) -> list[str]:
    """Return the last line that each command said."""
    files = (folder / f"{place}.stderr" for place in range(len(chain)))
    return [(file.read_text().splitlines() or [""])[-1] for file in files]


def flood(name: str, gigabytes: float, block: Block, folder: Path) -> bool:
    """Send a stream through a chain, print what it took; return whether all went well."""
    chain = CHAINS[name]
    copies = max(1, round(gigabytes * 1e9 / len(block)))
    began = time.perf_counter()
    processes = start(chain, folder)
    watch = Watch([process.pid for process in processes], copies * len(block), folder)
    watch.start()
    pour(block, copies, processes, watch)
    seconds = time.perf_counter() - began
    closing = told(folder, chain)
    print(*closing, sep="\n", file=sys.stderr)
    each = TURNS if "--kind utterance" in chain[0] else TURNS - 1
    records = copies * block.dialogues * each
    whole = f"dial-pairs: {records:,} " in closing[0]
    statuses = [process.returncode for process in processes]
    if any(statuses) or not whole:
        print(f"statuses {statuses}; {records:,} records were to come", file=sys.stderr)
    size = copies * len(block) / 1e9
    line = [" \\| ".join(chain).replace("{folder}/", ""), f"{size:,.2f}", f"{records:,}"]
    line += [f"{seconds:,.0f} s", f"{size * 1000 / seconds:,.0f}", *memory_cells(watch)]
    print(f"| {' | '.join([*line, f'{watch.disk:.1f}'])} |", flush=True)
    return whole and not any(statuses)


def memory_cells(watch: Watch) -> list[str]:
    """Return the memory of each command at the marks and at the peak, with its own in brackets."""
    marks = [watch.at.get(mark, []) for mark in MARKS]
    cells = [" + ".join(f"{each.resident:.0f}" for each in mark) for mark in marks]
    return [*cells, " + ".join(f"{each.peak:.0f} ({each.own:.0f})" for each in watch.peak)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chain", nargs="*", default=list(CHAINS), help=", ".join(CHAINS))
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--shape", choices=SHAPES, default="mail")
    parser.add_argument("--folder", type=Path, help="where the disk has room [$TMPDIR]")
    parser.add_argument("--every", type=int, default=4, help="one turn of so many is new")
    options = parser.parse_args()
    block = Block(options.shape, every=options.every)
    well = True
    for name in options.chain:
        folder = Path(tempfile.mkdtemp(prefix="flood-", dir=options.folder))
        try:
            well &= flood(name, options.gigabytes, block, folder)
        finally:
            shutil.rmtree(folder)
    sys.exit(not well)


if __name__ == "__main__":
    main()
