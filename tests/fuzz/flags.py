"""Cases of options: flags, variables and configurations with odd values, in odd company."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import all_commands
from fuzz import cases, mutate
from fuzz.cases import Case

from dialtools.options import Spec

WORDS = r"""
- -- 0 -1 1 2 3 0.5 -0.0 1e9 1e-9 1e999 nan inf 1_000 0x10 ١٢ +1 1,2 1,,2 , a,b a,a 5000 1000000
= a= =b a=b a=0.5,b=0.5 a=2 *=x all none auto tab comma user { } {split} {0} % %d%d %Y-%m-%d \ ' "
out/o.jsonl out/o.parquet out/{split}.jsonl out out/ out/o.arrow.gz in.jsonl in.jsonl/x missing
missing/x model text text,text a+b text+label id label embedding split utf-16 punycode utf-7
unicode_escape rot13 base64 idna latin-1 1GB 1KB 0B 5m 1d -5m 99999d fail skip quarantine=
quarantine=out/q quarantine=in.jsonl accuracy=50 accuracy=x é
"""
ODD_VALUES = (
    *WORDS.split(),
    *("", " ", "a b", "{} {", "\u202e", "\x1b[31m", "\udcff", "\r", "\n"),
    *("x" * 300, "9" * 20, "9" * 30, "y," * 200),
)
COSTLY = (
    *("jobs", "threads", "hidden", "layers", "batch-size", "epochs", "max-steps", "runs"),
    *("vocab-size", "resamples", "tune-epochs"),
)
"""Of a large number they do what they are told, for hours."""
UNSAFE = ("trust-remote-code", "debug")


def specs(title: str) -> list[Spec]:
    """Return the options of a command that are to be fuzzed."""
    found = all_commands.COMMANDS.get(title)
    every = found.specs if found else ()
    return [spec for spec in every if not spec.positional and spec.key not in UNSAFE]


def value_of(draw: Random, spec: Spec) -> str:
    """Return a value: one of its choices, a plain one, or an odd one."""
    if spec.choices and draw.random() < 0.6:
        return draw.choice(spec.choices).replace("FILE", "out/q.jsonl")
    plain = {int: ("0", "1", "2", "7"), float: ("0", "0.1", "1", "2.5")}.get(spec.type)
    if plain and draw.random() < 0.5:
        return draw.choice(plain)
    if spec.key in COSTLY:
        return draw.choice(("0", "1", "2", "-1", "x", "", "1" * 30))
    return draw.choice(ODD_VALUES)


def flag(draw: Random, spec: Spec) -> list[str]:
    if spec.type is bool:
        return [draw.choice((spec.flag, f"--no-{spec.key}")) if spec.negatable else spec.flag]
    name = draw.choice((spec.short, spec.flag)) or spec.flag
    value = value_of(draw, spec)
    return draw.choice(([name, value], [f"{spec.flag}={value}"]))


def sound(draw: Random, family: str) -> Case:
    """Return a case that a command can do."""
    use = cases.drawn_use(draw)
    records = cases.drawn(draw, draw.choice(use.kinds.split()), min(use.rows, 30))
    return cases.called(draw, family, use, "in.jsonl", cases.lines(draw, records, 0)[0])


def full_title(case: Case) -> str:
    """Return the words that name the command in the table of all."""
    words = case.argv
    return next(
        " ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in all_commands.COMMANDS
    )


def options(draw: Random) -> Case:
    """Flags and variables with odd values, and in odd company."""
    case = sound(draw, "options")
    known = specs(full_title(case))
    chosen = draw.choices(known, k=draw.choice((1, 1, 2, 3, 6)))
    for spec in chosen:
        if draw.random() < 0.1 and spec.type is not bool:
            value = value_of(draw, spec)
            case.environment[spec.variable(case.argv[0])] = value.replace("\x00", "")
        else:
            case.words.insert(draw.randint(1, len(case.words)), flag(draw, spec))
    case.inputs = len(chosen)
    return case


def toml_value(draw: Random, value: Any) -> str:
    """Return a value as TOML, where JSON is TOML but for tables."""
    odd = ("{a = 1}", "2020-01-01", "inf", "-nan", "[[[[]]]]", "5.5", "true", "0x1F", '"\\u0000"')
    odd += (
        "'''a\nb'''",
        "1" * 5000,
        "[" * 2000,
        "10:00:00",
        '"\\u001b]0;x\\u0007"',
        "[]",
        "[1, 'a']",
    )
    if draw.random() < 0.4:
        return draw.choice(odd)
    return json.dumps(value, ensure_ascii=True)


def configs(draw: Random) -> Case:
    """A TOML file of options."""
    case = sound(draw, "configs")
    known = specs(full_title(case))
    entries = []
    for spec in draw.choices(known, k=draw.choice((1, 2, 3))):
        value = value_of(draw, spec).encode("utf-8", "replace").decode()
        entries.append(f"{spec.key} = {toml_value(draw, value)}\n")
    if draw.random() < 0.2:
        entries.append(draw.choice(("[a]\n", "x = 1\n", "seed\n", "\x00", "seed = 1\nseed = 2\n")))
    content = "".join(entries).encode()
    case.files["run.toml"] = mutate.damaged(draw, content) if draw.random() < 0.2 else content
    case.words.insert(1, ["--config", "run.toml"]) if len(case.words[0]) == 1 else None
    if len(case.words[0]) > 1:
        case.words[1:1] = [["--config", "run.toml"]]
    case.inputs = len(entries)
    return case
