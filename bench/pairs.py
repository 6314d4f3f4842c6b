"""dial-pairs against a plain orjson script: windows 1,2,3.

python bench/pairs.py [dialogues.jsonl]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from inputs import DIALOGUES, read_lines
from side_by_side import SCRIPTS, command, compare

PEER = "plain orjson script"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--megabytes", type=int, default=250, help="repeat the corpus to this size")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    text = b"".join(read_lines(options.corpus))
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        for _ in range(max(1, options.megabytes * 1_000_000 // len(text))):
            file.write(text)
        file.flush()
        script = Path(__file__).with_name("plain_pairs.py")
        piped = [SCRIPTS / "dial-pairs", "-q", "--window", "1,2,3"]
        pairs = [*piped, file.name]
        in_pipe = ["sh", "-c", 'cat "$0" | "$@" | cat', file.name]
        rows = {
            PEER: command(sys.executable, script, "1,2,3", file.name),
            "dial-pairs --to arrow": command(*pairs, "--to", "arrow"),
            "dial-pairs --to arrow -j 2": command(*pairs, "--to", "arrow", "-j", 2),
            "dial-pairs": command(*pairs),
            "dial-pairs -j 2": command(*pairs, "-j", 2),
            f"{PEER} in a pipe": command(*in_pipe, sys.executable, script, "1,2,3", "/dev/stdin"),
            "dial-pairs in a pipe": command(*in_pipe, *piped),
        }
        compare(rows, peer=PEER, runs=options.runs)


if __name__ == "__main__":
    main()
