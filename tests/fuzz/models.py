"""Cases of models and benchmarks: what a stranger's folder may hold."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import cases, flags, mutate
from fuzz.cases import Case
from fuzz.uses import Use

TRAIN = "dial-train --model model --max-steps 1 --batch-size 4 --threads 1 --device cpu -o out/m"

TRAIN_STATIC = f"{TRAIN} --encoder static"
OF_A_FOLDER = (
    *("dial-embed --model model --to jsonl", "dial-embed --model model -o out/e.parquet"),
    *(TRAIN_STATIC, f"{TRAIN_STATIC} --method wmdc", TRAIN),
    *("dialtools center --model model -o out/m", "dialtools weigh --model model -o out/m"),
    "dialtools cut --layers 1 --model model -o out/m",
)
OF_MODELS = ("dial-embed --", "dialtools center", "dialtools weigh")
OF_A_FILE = tuple(line.replace("--model model", "--model words.txt") for line in OF_A_FOLDER)
MERGED = ("start", "a", "b")
WEIGHTS = ("", "*0.7", "*0.5", "*0", "*-1", "*0.5*0.5", "*1e300")
ODD_WEIGHTS = ("*1e999", "*nan", "*", "**2", "*x", "*0x1", "* 1")
MERGE_FLAGS = (
    *("--choose-on pairs.jsonl", "--choose-on intents.jsonl,pairs.jsonl", "--choose-on none.jsonl"),
    *("--grid 0,0.5", "--grid 1", "--grid nan", "--grid 0,0,0", "--dry-run", "--seed 3"),
)
ODD_LINES = (
    *("", "one", "one two 3", "a nan 1 2", "a 1e999 0 0", "a 1 2 3 4 5 6 7 8", "\x00 1 2 3"),
    *("3 4", "999999999999 4", "5 999999999999", "a 1,5 2 3", "a\xa0b 1 2 3", " 1 2 3", "a  1 2 3"),
)

MOST = 1000
"""Of what a suite asks for, be it ever so much."""


@cache
def tiny_model(folder: str) -> dict[str, bytes]:
    """Return the files of the tiny model."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {f"model/{path.relative_to(folder)}": path.read_bytes() for path in sorted(paths)}


def statics(draw: Random, folder: str) -> Case:
    """A static model of which vectors, tokenizer or a side file are changed."""
    case = encoding(draw, "statics", draw.choice(OF_A_FOLDER))
    case.files |= (held := tiny_model(folder))
    chosen = draw.sample(sorted(held), draw.choice((1, 1, 1, 2)))
    case.files |= {name: changed_side(draw, name, held[name]) for name in chosen}
    case.inputs = len(chosen)
    return case


def vectors(draw: Random) -> Case:
    """A file of word vectors with odd lines, or damaged."""
    case = encoding(draw, "vectors", draw.choice(OF_A_FILE))
    size, rows = draw.choice((1, 3, 4, 50)), draw.choice((0, 1, 5, 40))
    lines = [
        " ".join([f"w{n}", *(f"{draw.uniform(-2, 2):.3f}" for _ in range(size))])
        for n in range(rows)
    ]
    lines[:0] = [f"{rows} {size}"] if draw.random() < 0.4 else []
    for _ in range(draw.choice((0, 1, 1, 2))):
        odd = draw.choice((*ODD_LINES, *lines, " ".join(lines)))
        lines.insert(draw.randint(0, len(lines)), odd)
    content = draw.choice(("\n", "\n", "\r\n")).join([*lines, ""]).encode("utf-8")
    case.files["words.txt"] = mutate.damaged(draw, content) if draw.random() < 0.5 else content
    return case


def encoding(draw: Random, family: str, command: str) -> Case:
    """Return a case of a command that reads a few sound records and a model."""
    use = Use(command, "pairs" if command.startswith("dial-train") else "utterances")
    records = cases.drawn(draw, draw.choice(use.kinds.split()), 8)
    case = cases.called(draw, family, use, "in.jsonl", cases.lines(draw, records, 0)[0])
    case.model = False  # it brings its own
    return case


def merges(draw: Random, folder: str) -> Case:
    """Models to add up: their folders, weights, and what they are chosen on."""
    held = tiny_model(folder)
    files = {
        name.replace("model", model, 1): data for name, data in held.items() for model in MERGED
    }
    chosen = draw.sample(sorted(files), draw.choice((0, 1, 1, 2)))
    files |= {name: changed_side(draw, name, files[name]) for name in chosen}
    case = Case("merges", [["dialtools", "merge", "start"]], files, max(1, len(chosen)))
    weights = WEIGHTS if draw.random() < 0.8 else ODD_WEIGHTS
    named = draw.choice((["a"], *[MERGED[1:]] * 4, []))
    case.words += [[name + draw.choice(weights)] for name in named]
    case.words += [flag.split() for flag in draw.sample(MERGE_FLAGS, draw.choice((0, 0, 1, 2)))]
    case.words.append(["-o", draw.choice((*["out/m"] * 9, "a", "start/x", "in.jsonl"))])
    for kind, name in (("pairs", "pairs.jsonl"), ("labelled", "intents.jsonl")):
        share = draw.choice((0, 0.1))
        files[name] = cases.lines(draw, cases.drawn(draw, kind, 30), share)[0]
    return case


def models(draw: Random, folder: str) -> Case:
    """A model of which a side file or the weights are changed."""
    use = cases.drawn_use(
        draw, only=lambda use: use.command.startswith(OF_MODELS) and not use.sides
    )
    if draw.random() < 0.2:
        use = Use(TRAIN, "pairs")
    records = cases.drawn(draw, draw.choice(use.kinds.split()), 8)
    case = cases.called(draw, "models", use, "in.jsonl", cases.lines(draw, records, 0)[0])
    case.files |= (held := tiny_model(folder))
    chosen = draw.sample(sorted(held), draw.choice((1, 1, 1, 2)))
    case.files |= {name: changed_side(draw, name, held[name]) for name in chosen}
    case.inputs = len(chosen)
    return case


def changed_side(draw: Random, name: str, content: bytes) -> bytes:
    """Return a file of a model changed as JSON, or as bytes; of weights the head, as a rule."""
    if name.endswith(".json") and draw.random() < 0.85:
        return mutate.line(draw, mutate.mutated(draw, json.loads(content)))
    if name.endswith(".safetensors"):
        return weights(draw, content)
    return mutate.damaged(draw, content)


def weights(draw: Random, content: bytes) -> bytes:
    """Return a safetensors file with tensors missing, renamed, reshaped, or damaged."""
    size = int.from_bytes(content[:8], "little")
    head, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    way = draw.choice(("drop", "rename", "json", "bytes", "bytes", "cut"))
    names = sorted(set(head) - {"__metadata__"})
    if way == "drop":
        for name in draw.sample(names, draw.randint(1, len(names))):
            del head[name]
    elif way == "rename":
        head = {draw.choice(("", "model.", "0.auto_model.")) + name: head[name] for name in names}
    elif way == "json":
        head = mutate.mutated(draw, head)
    elif way == "bytes":
        return mutate.damaged(draw, content[: 8 + size], 2) + data
    else:
        data = data[: draw.randrange(len(data))]
    packed = mutate.line(draw, head)
    return len(packed).to_bytes(8, "little") + packed + data


def suites(draw: Random) -> Case:
    """A benchmark of one's own."""
    records = cases.drawn(draw, "embeddings", 30)
    value = without_long_work(mutate.mutated(draw, tomllib.loads(cases.SUITE)))
    suite = as_toml(value).encode("utf-8", "replace")
    files = {"folder/in.jsonl": cases.lines(draw, records, 0)[0], "suite.toml": suite}
    case = Case("suites", [["dial-eval", "suite", "suite.toml", "folder"]], files)
    case.words += [["--published"]] if draw.random() < 0.3 else []
    return case


def without_long_work(suite: Any) -> Any:
    """Return a suite whose options ask for no work of hours."""
    for holder, key in mutate.places([suite]):
        if key in flags.COSTLY and isinstance(holder[key], int | float) and holder[key] > MOST:
            holder[key] = MOST
    return suite


def as_toml(value: Any) -> str:
    """Return an object as TOML, in one line for each of its keys."""

    def inline(part: Any) -> str:
        if isinstance(part, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {inline(v)}" for k, v in part.items()) + "}"
        if isinstance(part, list):
            return "[" + ", ".join(map(inline, part)) + "]"
        return (
            "'null'"
            if part is None
            else json.dumps(part).replace("NaN", "nan").replace("Infinity", "inf")
        )

    if not isinstance(value, dict):
        return inline(value)
    return "".join(f"{json.dumps(key)} = {inline(part)}\n" for key, part in value.items())
