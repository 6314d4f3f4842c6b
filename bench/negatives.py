"""DialogueCSE: a step with all responses of the batch as negatives, or with K drawn ones.

    python bench/negatives.py CORPUS MODEL [--steps N]

(DialogueCSE 4.1-4.3.) Both take turns in one run each, from the same pairs and the same start;
prints the median seconds of a step and ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from side_by_side import SCRIPTS

KINDS = ("all", "1", "4", "9", "19")
BATCH = 20
SIDES = ("--window", "3", "--follow", "3", "--merge-speaker", "--min-turns", "4", "-n", "5000")
WARM_UP = 2  # steps, in which memory is first asked for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder) / "sides.arrow"
        command = [SCRIPTS / "dial-pairs", "-q", *SIDES, options.corpus, "-o", pairs]
        subprocess.run(command, check=True)
        seconds = {kind: step_seconds(pairs, options, kind) for kind in KINDS}
    setting = f"batch {BATCH}, 3 turns around the response, {options.steps} steps"
    print(f"{setting}; all: {BATCH - 1} negatives at most")
    for kind, step in seconds.items():
        print(f"negatives {kind:>3}: {step:7.3f} s a step, {step / seconds['all']:5.2f} x all")


def step_seconds(pairs: Path, options: argparse.Namespace, kind: str) -> float:
    """Return the median seconds of a step after the warm-up."""
    model = pairs.with_name(kind)
    train = [SCRIPTS / "dial-train", "-q", "--method", "dialoguecse", "--model", options.model]
    train += ["--batch-size", str(BATCH), "--freeze", "3", "--negatives", kind]
    train += ["--max-steps", str(options.steps), "-o", model, pairs]
    subprocess.run(train, check=True, stdout=subprocess.DEVNULL)
    log = [json.loads(line) for line in (model / "train-log.jsonl").read_text().splitlines()]
    return median(row["tokens"] / row["tokens_per_second"] for row in log[WARM_UP:])


if __name__ == "__main__":
    main()
