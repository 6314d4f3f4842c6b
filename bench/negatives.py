"""DialogueCSE: a step with all responses of the batch as negatives, beside K drawn ones (METHODS 5.3).

    python bench/negatives.py CORPUS MODEL [--steps N]

Both take turns in one run each, from the same pairs and the same start; prints the median seconds
of a step and ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

BIN = Path(sys.executable).parent
KINDS = ("all", "1", "4", "9", "19")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("corpus")
    arguments.add_argument("model")
    arguments.add_argument("--steps", type=int, default=12)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        flags = [
            "--window",
            "3",
            "--follow",
            "3",
            "--merge-speaker",
            "--min-turns",
            "4",
            "-n",
            "5000",
        ]
        subprocess.run(
            [BIN / "dial-pairs", "-q", *flags, given.corpus, "-o", home / "sides.arrow"], check=True
        )
        seconds = {kind: step_seconds(home, given, kind) for kind in KINDS}
    print(
        f"batch 20, 3 turns around the response, {given.steps} steps; all: {20 - 1} negatives at most"
    )
    for kind, own in seconds.items():
        print(f"negatives {kind:>3}: {own:7.3f} s a step, {own / seconds['all']:5.2f} x all")


def step_seconds(home: Path, given: argparse.Namespace, kind: str) -> float:
    """Return the median seconds of a step, the first two apart."""
    train = [
        BIN / "dial-train",
        "-q",
        "--method",
        "dialoguecse",
        "--model",
        given.model,
        "--freeze",
        "3",
        "--negatives",
        kind,
    ]
    subprocess.run(
        [*train, "--max-steps", str(given.steps), "-o", home / kind, home / "sides.arrow"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    log = [json.loads(line) for line in (home / kind / "train-log.jsonl").read_text().splitlines()]
    return median(row["tokens"] / row["tokens_per_second"] for row in log[2:])


if __name__ == "__main__":
    main()
