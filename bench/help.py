"""What `--help` of each command takes: CPU and wall seconds, median and most of many runs.

python bench/help.py [--runs 21]
"""

from __future__ import annotations

import argparse
from statistics import median

from side_by_side import SCRIPTS, Run, command, measured

COMMANDS = (
    "dial-pairs",
    "dial-augment",
    "dial-freq",
    "dial-train",
    "dial-embed",
    "dial-eval",
    "dialtools",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    for name in COMMANDS:
        work = command(SCRIPTS / name, "--help")
        work()  # writes bytecode, as an installation does
        print(f"{name:14} {row([measured(work) for _ in range(options.runs)])}")


def row(runs: list[Run]) -> str:
    seconds = [run.seconds for run in runs]
    processor = [run.usage.processor for run in runs if run.usage]
    shown = (f"{median(some):.3f} s  (most {max(some):.3f})" for some in (processor, seconds))
    return "CPU {}  clock {}".format(*shown)


if __name__ == "__main__":
    main()
