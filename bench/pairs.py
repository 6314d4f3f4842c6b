"""dial-pairs against a plain orjson script: windows 1,2,3.   python bench/pairs.py [dialogues.jsonl]"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

from side_by_side import SCRIPTS, command, compare

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "corpus", nargs="?", default=HERE.parent / "examples/dialogues.jsonl.gz", type=Path
    )
    parser.add_argument("--megabytes", type=int, default=250, help="repeat the corpus to this size")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    opened = (
        gzip.open(options.corpus) if options.corpus.suffix == ".gz" else options.corpus.open("rb")
    )
    text = opened.read()
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        for _ in range(max(1, options.megabytes * 1_000_000 // len(text))):
            file.write(text)
        file.flush()
        pairs = [SCRIPTS / "dial-pairs", "-q", "--window", "1,2,3", file.name]
        compare(
            {
                "plain orjson script": command(
                    sys.executable, HERE / "plain_pairs.py", "1,2,3", file.name
                ),
                "dial-pairs --to arrow": command(*pairs, "--to", "arrow"),
                "dial-pairs --to arrow -j 2": command(*pairs, "--to", "arrow", "-j", 2),
                "dial-pairs": command(*pairs),
                "dial-pairs -j 2": command(*pairs, "-j", 2),
            },
            peer="plain orjson script",
            runs=options.runs,
        )


if __name__ == "__main__":
    main()
