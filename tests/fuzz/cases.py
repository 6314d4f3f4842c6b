"""Cases: a command, its files, and how many mutated inputs these hold. FAMILIES draws them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from fuzz import containers, mutate
from fuzz.records import Record, drawn
from fuzz.uses import USES, Groups, Use

SUITE = """title = "x"
[[set]]
task = "intent"
name = "A"
file = "in"
metrics = ["accuracy"]
settings = ["1-shot"]
options = { runs = 2, shots = [1] }
[set.published]
BERT = [50.0]
"""
BOOK = {"schema": "dialtools.book/1", "types": {"city": {"rome": 3, "oslo": 1}}}
EPISODES = {"shots": {n: [{"seed": 0, "train_idx": [0, 1, 2, 3]}] * 2 for n in ("1", "2")}}


@dataclass
class Case:
    """One run of a command.

    Attributes:
        words: its arguments in groups; the first begins with the command's name.
        files: what lies in its folder, by name.
        inputs: how many of these, of their records, or of the options were mutated.
        records: the file of which each line is a record, if one is so.
        model: whether the tiny model lies in `model/`; files of that name lie over it.
    """

    family: str
    words: Groups
    files: dict[str, bytes] = field(default_factory=dict)
    inputs: int = 1
    records: str = ""
    stdin: str | None = None
    model: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def argv(self) -> list[str]:
        return [word for group in self.words for word in group]

    @property
    def title(self) -> str:
        """The command, and its task if it has any."""
        words = self.argv
        return " ".join(words[: 2 if words[0] == "dial-eval" else 1])


def drawn_use(draw: Random, *, only: Callable[[Use], bool] = lambda use: True) -> Use:
    known = [use for use in USES if only(use)]
    return draw.choices(known, [use.weight for use in known])[0]


def records_of(draw: Random, use: Use) -> list[Record]:
    return drawn(draw, draw.choice(use.kinds.split()), use.rows)


def called(
    draw: Random, family: str, use: Use, name: str, content: bytes, *, sound: bool = False
) -> Case:
    """Return a case of a use with its input, its side file and some flags.

    Args:
        sound: nothing is drawn that may fail.
    """
    case = Case(family, [], {name: content}, model="--model" in use.command)
    sides = {"suite": ("suite.toml", SUITE.encode())}
    if use.sides:
        sides["side"] = side_file(draw, use.sides, sound=sound)
    for label, (file, data) in sides.items():
        if f"{{{label}}}" in use.command:
            case.files[file] = data
    names = {label: file for label, (file, _) in sides.items()}
    case.words = [[word.format_map(names) for word in group] for group in use.words]
    case.words += use.drawn_flags(draw) if not sound else []
    if "folder" in use.command:
        case.files[f"folder/{name}"] = case.files.pop(name)
    elif use.command == "dialtools formats":
        pass
    elif use.reads_records and draw.random() < 0.15:
        case.stdin = name
    else:
        case.words.append([f"./{name}"] if name.startswith("-") else [name])
    return case


def side_file(draw: Random, kind: str, *, sound: bool) -> tuple[str, bytes]:
    """Return a side file, which is mutated now and then."""
    whole = {"book": BOOK, "episodes": EPISODES}
    if kind in whole:
        changed = not sound and draw.random() < 0.5
        value = mutate.mutated(draw, whole[kind]) if changed else whole[kind]
        return "side.json", mutate.line(draw, value)
    share = 0 if sound else draw.choice((0, 0, 0.2))
    return "side.jsonl", lines(draw, drawn(draw, kind, 20), share)[0]


def lines(draw: Random, records: list[Record], share: float) -> tuple[bytes, int]:
    """Return records as JSON lines of which a share is mutated, and how many are."""
    held, inputs = [], 0
    for record in records:
        if draw.random() >= share:
            held.append(json.dumps(record).encode())
            continue
        inputs += 1
        if draw.random() < 0.8:
            held.append(mutate.line(draw, mutate.mutated(draw, record)))
        else:
            held.append(mutate.damaged(draw, json.dumps(record).encode(), 2))
    return b"\n".join(held) + draw.choice((b"\n", b"\n", b"\n", b"")), inputs


def on_error(draw: Random) -> Groups:
    policy = draw.choice(("skip", "skip", "skip", "quarantine=out/q.jsonl", "fail"))
    return [["--on-error", policy]] if policy != "fail" else []


def jsonl(draw: Random) -> Case:
    """JSON lines, most of which are mutated."""
    use = drawn_use(draw)
    skips = use.reads_records
    share = draw.choice((0.1, 0.6, 0.9)) if skips else draw.choice((0.02, 0.05))
    content, inputs = lines(draw, records_of(draw, use), share)
    case = called(draw, "records", use, "in.jsonl", content)
    case.words[1:1] = on_error(draw) if skips else []
    case.inputs, case.records = max(1, inputs), "in.jsonl" if "in.jsonl" in case.files else ""
    return case


def arrays(draw: Random) -> Case:
    """A JSON array of records, some of which are mutated, on a line or over several."""
    use = drawn_use(draw, only=lambda use: "in.jsonl" not in use.command)
    indent = draw.choice((None, None, 1))
    held = []
    for record in records_of(draw, use):
        whole = json.dumps(record, indent=indent).encode()
        changed = draw.random() < 0.3
        held.append(mutate.line(draw, mutate.mutated(draw, record)) if changed else whole)
    content = b"[" + draw.choice((b",", b",\n", b" , ")).join(held) + b"]"
    if draw.random() < 0.3:
        content = mutate.damaged(draw, content, 3)
    case = called(draw, "arrays", use, "in.json", content)
    case.words[1:1] = on_error(draw) if use.reads_records else []
    case.inputs = use.rows // 3
    return case


def delimited(draw: Random) -> Case:
    """CSV, TSV or plain text."""
    commands = ("dial-pairs", "dial-freq", "dial-augment", "dial-embed")
    use = drawn_use(draw, only=lambda use: use.command.startswith(commands))
    kind = "rows" if "column" in use.command else draw.choice(use.kinds.split())
    suffix = draw.choice((".csv", ".csv", ".tsv", ".txt"))
    records = drawn(draw, kind, use.rows)
    changed = [mutate.mutated(draw, row) if draw.random() < 0.5 else row for row in records]
    if suffix == ".txt":
        content = mutate.damaged(draw, containers.as_text(records), 40)
    else:
        mark = "\t" if suffix == ".tsv" else draw.choice(",,;\t")
        content = containers.as_csv(draw, changed, mark)
    case = called(draw, "tables", use, f"in{suffix}", content)
    case.words[1:1] = on_error(draw)
    case.inputs = use.rows // 2
    return case


def columns(draw: Random) -> Case:
    """Parquet and Arrow with columns of odd types, sound in themselves."""
    use = drawn_use(draw)
    records = drawn(draw, draw.choice(use.kinds.split()), min(use.rows, 40))
    table = containers.odd_table(draw, containers.as_table(records))
    suffix, content = containers.as_columns(draw, table)
    case = called(draw, "columns", use, f"in{suffix}", content)
    case.words[1:1] = on_error(draw) if use.reads_records else []
    return case


def container(draw: Random) -> Case:
    """Bytes of a sound file flipped, cut, spliced."""
    use = drawn_use(draw)
    records = drawn(draw, draw.choice(use.kinds.split()), min(use.rows, 30))
    table = containers.as_table(records)
    plain = (".jsonl", b"".join(json.dumps(record).encode() + b"\n" for record in records))
    kinds = [containers.as_columns(draw, table), containers.as_columns(draw, table)]
    if not use.reads_records:
        kinds.append((".npy", containers.as_npy(draw, len(records))))
    suffix, content = draw.choice((plain, *kinds))
    if suffix == ".jsonl" or draw.random() < 0.1:
        pack, content = containers.compressed(draw, content)
        suffix += pack
    if draw.random() < 0.9:
        content = mutate.damaged(draw, content)
    case = called(draw, "containers", use, f"in{suffix}", content)
    if suffix == ".npy":
        beside = [
            {name: value for name, value in record.items() if "embedding" not in name}
            for record in records
        ]
        case.files["in.columns.jsonl"] = lines(draw, beside, draw.choice((0, 0.1)))[0]
    case.words[1:1] = on_error(draw) if use.reads_records else []
    return case
