"""Fuzz every command for some minutes: `make fuzz MINUTES=10 SEED=0 JOBS=2`; see README.md."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.campaign import Tally, report, work
from fuzz.families import FAMILIES


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cases", type=int, help="stop after so many, whatever the time")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--family", default="", choices=("", *FAMILIES))
    parser.add_argument("--to", type=Path, default=Path("fuzz-findings"))
    return parser.parse_args()


def main() -> int:
    options = arguments()
    whole = Tally()
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, fresh) as pool:
        for tally in pool.map(work, [options] * options.jobs, range(options.jobs)):
            whole.add(tally)
    report(whole, options.to)
    options.to.mkdir(exist_ok=True)
    (options.to / "report.json").write_text(json.dumps(whole.seen))
    return int(bool(whole.seen))


if __name__ == "__main__":
    sys.exit(main())
