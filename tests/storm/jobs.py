"""What the storm runs: small jobs of every command, and what they read.

A job is a command line whose outputs stand in the folder that it runs in; `{in}` is where the
inputs are.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pair_corpus import CITIES, FOODS, as_lines, dialogue, pair_records

FRESH = "--vocab-size 300 --hidden 64 --layers 1 --threads 1 --device cpu"
TRAIN = f"dial-train -q {FRESH} --batch-size 32 --lr 1e-3 --epochs 9 --checkpoint-every 7"
STATIC = (
    "dial-train -q --encoder static --hidden 64 --threads 1 --device cpu --batch-size 32"
    " --epochs 9 --checkpoint-every 7"
)
EMBED = "dial-embed -q --model {in}/model --threads 1 --shard-rows 100"
TUNE = "--epochs 3 --validate-every 2 --lr 1e-3 --device cpu --threads 1"


@dataclass(frozen=True)
class Job:
    """A command line, and how it is run again after it was stopped.

    Attributes:
        again: what is added then.
        status: how it ends when nobody stops it.
        reads: a file of the inputs that is its stdin.
        tells: its output goes to stdout, which is a file that may end anywhere.
    """

    line: str
    again: str = "--overwrite"
    status: int = 0
    reads: str = ""
    tells: bool = False

    @property
    def command(self) -> str:
        return self.line.split()[0]

    def words(self, inputs: Path) -> list[str]:
        return shlex.split(self.line.replace("{in}", str(inputs)))


RESUMED = "--resume"
PAIRS = "dial-pairs -q --window 1,2,3 {in}/dialogues.jsonl"
JOBS = {
    "pairs": Job(f"{PAIRS} -o pairs.jsonl"),
    "pairs -j 2": Job(f"{PAIRS} -j 2 -o pairs.jsonl"),
    "pairs to arrow": Job(f"{PAIRS} -o pairs.arrow"),
    "pairs to parquet -j 2": Job(f"{PAIRS} -j 2 -o pairs.parquet"),
    "pairs to stdout": Job(PAIRS, again="", tells=True),
    "pairs split": Job(f"{PAIRS} --split train=0.8,dev=0.2 -o pairs.{{split}}.jsonl"),
    "pairs of lines with faults": Job(
        "dial-pairs -q --on-error quarantine=bad.jsonl {in}/faults.jsonl -o pairs.jsonl", status=3
    ),
    "pairs unsorted": Job("dial-pairs -q --unsorted --text-column text {in}/log.csv -o p.jsonl"),
    "freq": Job("dial-freq -q {in}/dialogues.jsonl -o counts.jsonl"),
    "freq to parquet": Job("dial-freq -q --jobs 1 {in}/pairs.jsonl -o counts.parquet"),
    "freq annotate": Job("dial-freq -q --annotate {in}/pairs.jsonl -o weighted.jsonl"),
    "freq annotate to arrow": Job("dial-freq -q --annotate {in}/pairs.arrow -o weighted.arrow"),
    "augment": Job(
        "dial-augment -q --save-book book.json --save-templates templates.jsonl --report r.json"
        " {in}/labelled.jsonl -o augmented.jsonl"
    ),
    "embed to parquet": Job(f"{EMBED} {{in}}/texts.jsonl -o e.parquet", RESUMED),
    "embed to jsonl": Job(f"{EMBED} {{in}}/texts.jsonl -o e.jsonl", RESUMED),
    "embed whitened to npy": Job(
        f"{EMBED} --whiten --save-transform w.safetensors {{in}}/texts.jsonl -o e.npy", RESUMED
    ),
    "embed stdin": Job(f"{EMBED} -o e.parquet", RESUMED, reads="texts.jsonl"),
    "train": Job(f"{TRAIN} --max-steps 40 {{in}}/pairs-480.jsonl -o model", RESUMED),
    "train keep best": Job(
        f"{TRAIN} --max-steps 30 --snapshot-every 10 --validation-share 0.2 --validate-every 8"
        " --keep-best {in}/pairs-480.jsonl -o model",
        RESUMED,
    ),
    "train with cache": Job(
        f"{TRAIN} --max-steps 20 --cache cache {{in}}/pairs.arrow -o model", RESUMED
    ),
    "train stdin": Job(f"{TRAIN} --max-steps 20 -o model", RESUMED, reads="pairs-480.jsonl"),
    "static train": Job(f"{STATIC} --max-steps 40 {{in}}/pairs-480.jsonl -o model", RESUMED),
    "static train keep best": Job(
        f"{STATIC} --method wmdc --max-steps 30 --snapshot-every 10 --validation-share 0.2"
        " --validate-every 8 --keep-best {in}/pairs.arrow -o model",
        RESUMED,
    ),
    "static train of tokens": Job(
        f"{STATIC} --model {{in}}/model --max-steps 20 --ema 0.9 {{in}}/pairs-480.jsonl -o model",
        RESUMED,
    ),
    "static train stdin": Job(
        f"{STATIC} --max-steps 20 -o model", RESUMED, reads="pairs-480.jsonl"
    ),
    "finetune": Job(
        f"dial-eval finetune intent -q --model {{in}}/model --shots 1,2 --runs 3 {TUNE}"
        " {in}/intents.jsonl -o scores.jsonl",
        RESUMED,
    ),
    "suite": Job("dial-eval suite -q {in}/suite.toml {in}/vectors -o scores.jsonl", RESUMED),
    "curve": Job(
        "dial-eval curve -q --shots 1,2 --runs 20 --device cpu --threads 1"
        " --intent {in}/intents.jsonl {in}/snapshots -o curve.jsonl",
        RESUMED,
    ),
}

SUITE = """title = "Storm"
[[set]]
task = "intent"
name = "Few"
file = "intents"
settings = ["1-shot", "5-shot"]
metrics = ["accuracy"]
options = { runs = 200 }
[[set]]
task = "intent"
name = "More"
file = "again"
settings = ["1-shot"]
metrics = ["accuracy"]
options = { runs = 300, seed = 1 }
"""

PREPARED = (
    "dial-pairs -q --window 1,2,3 dialogues.jsonl -o pairs.jsonl",
    "dial-pairs -q --window 1,2 -n 20000 dialogues.jsonl -o pairs.arrow",
    f"dial-train -q {FRESH} --max-steps 0 pairs-480.jsonl -o model",
    f"dial-train -q {FRESH} --max-steps 4 --snapshot-every 1 pairs-480.jsonl -o snapshots",
    "dial-embed -q --model model --threads 1 intents.jsonl -o vectors/intents.parquet",
    "dial-embed -q --model model --threads 1 intents.jsonl -o vectors/again.parquet",
)
"""Inputs that commands make of inputs."""


def write_inputs(folder: Path, run: Callable[[list[str]], None], names: list[str]) -> None:
    """Write what jobs of these names read; `run` runs a command in the folder."""
    draw = random.Random(0)
    rows = [
        {"id": f"d{n}", "turns": [f"{text} {n // 7}" for text in dialogue(n, draw)]}
        for n in range(8000)
    ]
    files = {
        "dialogues.jsonl": as_lines(rows),
        "faults.jsonl": b"{oops\n".join(as_lines(rows[n : n + 500]) for n in range(0, 8000, 500)),
        "log.csv": as_log(rows[:4000]),
        "pairs-480.jsonl": as_lines(pair_records(40)),
        "labelled.jsonl": as_lines([labelled(n, draw) for n in range(3000)]),
        "texts.jsonl": as_lines([{"id": n, "text": rows[n]["turns"][n % 6]} for n in range(1500)]),
        "intents.jsonl": as_lines(intents()),
        "suite.toml": SUITE.encode(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "vectors").mkdir()
    lines = " ".join(JOBS[name].line for name in names)
    if re.search(r"{in}/(pairs\.|model|snapshots|vectors)", lines):
        for line in PREPARED:
            run(shlex.split(line))


def as_log(rows: list[dict]) -> bytes:
    """Return dialogues as a table of one turn a row, those of ten dialogues mixed."""
    lines = ["dialogue_id,text"]
    for first in range(0, len(rows), 10):
        block = rows[first : first + 10]
        lines += [
            f"{row['id']},{json.dumps(row['turns'][turn])}" for turn in range(6) for row in block
        ]
    return "\n".join(lines).encode() + b"\n"


def labelled(number: int, draw: random.Random) -> dict:
    """Return an utterance with two slots."""
    text, slots = f"number {number}: a ", []
    for label, values, after in (("food", FOODS, " place in "), ("city", CITIES, " please")):
        value = draw.choice(values)
        slots.append({"start": len(text), "end": len(text) + len(value), "label": label})
        text += value + after
    return {"id": number, "text": text, "slots": slots, "label": "find", "split": "train"}


def intents() -> list[dict]:
    """Return texts of four intents that a word tells apart."""
    words = {"eat": "restaurant", "day": "monday", "city": "paris", "end": "thanks"}
    others = ["in", "on", "a", "table", "is", "free", "shall", "book"]
    return [
        {"text": f"{word} {other} {i}", "label": label, "split": split}
        for split in ("train", "test")
        for i, other in enumerate(others)
        for label, word in words.items()
    ]


# --- what may differ between a run that was stopped and one that was not


def without(*keys: str) -> Callable[[bytes], bytes]:
    """Return lines of JSON without some keys."""

    def cleaned(content: bytes) -> bytes:
        rows = [json.loads(line) for line in content.splitlines()]
        return as_lines([{k: v for k, v in row.items() if k not in keys} for row in rows])

    return cleaned


MAY_DIFFER: dict[str, Callable[[bytes], bytes]] = {
    "train-log.jsonl": without("tokens_per_second"),
    "*.lock": lambda content: b"",
}
"""By the name of a file: its content without what a run may tell of itself.

How fast it was, and the process that has or had a lock.
"""
GROWING = ("cache/*",)
"""What is no output: a folder of --cache is finished when its store.json is there."""


def content(folder: Path) -> dict[str, bytes]:
    """Return what is in a folder, by name, without what may differ; folders end in a slash."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            found[f"{name}/"] = b""
            continue
        clean = next((MAY_DIFFER[n] for n in MAY_DIFFER if path.match(n)), bytes)
        found[name] = clean(path.read_bytes())
    return found
