"""Parsers of option texts: from the text of a flag, a variable or a TOML value to the value itself.

A parser takes a text, returns a value, and raises ValueError with what it expected;
`options.parse_value` puts the name of the flag before that. Parsers with bounds or words of
their own are made by `at_least`, `bounded`, `list_of` and `either`. What a parser returns,
written as text, is read as the same value again: a printed configuration runs as it stands.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from unicodedata import normalize

from dialtools.shown import quoted

T = TypeVar("T")
Parser = Callable[[str], T]

TRUTH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
GREATEST, LARGEST = 1e30, 10**18
"""Of the numbers that are read, and of the whole ones: with room to 32 and 64 bits."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds of each unit of a time span."""
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MOST_BYTES = 900 << 40
"""Of a size: no more digits than are read."""
WIDE = ("utf-16", "utf-32")
"""Encodings of which a line end is not one byte."""
NOTATIONS = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7")
"""Of host names, programs and mails: Python calls them encodings, too, and they hold anything."""
STRUCTURE = b'a1,;"\t\r\n '
"""What parts texts in a table; encodings of mainframes have other bytes for it."""
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of what matplotlib draws."""
ON_ERROR = ("fail", "skip", "quarantine=FILE")
"""What --on-error may say; FILE stands for a name."""


def boolean(text: str) -> bool:
    """Parse `true` or `false`, `yes` or `no`, `on` or `off`, `1` or `0`."""
    if text.lower() not in TRUTH:
        raise ValueError("expected true or false")
    return TRUTH[text.lower()]


def whole_number(text: str) -> int:
    """Parse a whole number of at most 18 digits: whatever is added to it fits 64 bits."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError("expected a whole number") from None
    if abs(value) > LARGEST:
        raise ValueError("expected a whole number of at most 18 digits")
    return value


def number(text: str) -> float:
    """Parse a number that is finite, in 32 bits too."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError("expected a number") from None
    if not math.isfinite(value):
        raise ValueError("expected a number that is finite")
    if abs(value) > GREATEST:
        raise ValueError(f"expected a number of at most {GREATEST:g}")
    return value


def at_least(low: int, *, most: int | None = None) -> Parser[int]:
    """Return a parser of whole numbers not below `low`, nor above `most`."""

    def parse(text: str) -> int:
        value = whole_number(text)
        if value < low:
            raise ValueError(f"must be {low} or more")
        if most is not None and value > most:
            raise ValueError(f"must be {most:,} or less")
        return value

    return parse


seed_number = at_least(0, most=2**31 - 1)  # what every library takes, a number of runs added
MOST_RUNS = 1000
"""Of an evaluation: what each guesses is held, and written beside its scores."""
number_of_runs = at_least(1, most=MOST_RUNS)


def bounded(
    *,
    above: float | None = None,
    low: float | None = None,
    high: float | None = None,
    below: float | None = None,
) -> Parser[float]:
    """Return a parser of numbers; `low` and `high` may be reached, `above` and `below` not."""

    def parse(text: str) -> float:
        value = number(text)
        if above is not None and value <= above:
            raise ValueError(f"must be above {above:g}")
        if low is not None and value < low:
            raise ValueError(f"must be {low:g} or more")
        if high is not None and value > high:
            raise ValueError(f"must be {high:g} or less")
        if below is not None and value >= below:
            raise ValueError(f"must be below {below:g}")
        return value

    return parse


def list_of(parser: Parser[T]) -> Parser[tuple[T, ...]]:
    """Return a parser of distinct values separated by commas, in the given order."""

    def parse(text: str) -> tuple[T, ...]:
        parts = [part.strip() for part in text.split(",")]
        values: list[T] = []
        for part in parts:
            try:
                values.append(parser(part))
            except ValueError as error:
                raise ValueError(
                    f"{quoted(part)}: {error}" if len(parts) > 1 else str(error)
                ) from None
        return tuple(dict.fromkeys(values))

    return parse


def either(words: Mapping[str, T], parser: Parser[T]) -> Parser[T]:
    """Return a parser that knows the values of some words, and reads all else by `parser`."""

    def parse(text: str) -> T:
        if text in words:
            return words[text]
        try:
            return parser(text)
        except ValueError as error:
            # a digit among the words is there for configurations that were printed, not for people
            named = ", ".join(word for word in words if not word.isdigit())
            raise ValueError(f"{error}, or {named}") from None

    return parse


positive = bounded(above=0)
not_negative = bounded(low=0)
fraction = bounded(above=0, high=1)
"""Of what must have a part, and may be the whole."""
part = bounded(above=0, below=1)
"""Of what must have a part, and must leave another."""
share = bounded(low=0, high=1)
share_below_one = bounded(low=0, below=1)
"""Of what is taken away, and must leave something: dropout, rows held out."""
cosine = bounded(low=-1, high=1)

int_list = list_of(at_least(1))
whole_numbers = list_of(at_least(0))
numbers = list_of(not_negative)
shares = list_of(share)

ALL, EPOCH = "all", "epoch"
count_or_all = either({ALL: ALL}, at_least(1))
steps_or_epoch = either({EPOCH: EPOCH}, at_least(1))
logarithm_base = either({"e": math.e}, bounded(above=1))


MOST_OF_RANGE = 1000


def _span(text: str) -> range:
    ends = [at_least(1)(end) for end in text.split("-", 1)]
    if not ends[0] <= ends[-1] < ends[0] + MOST_OF_RANGE:
        raise ValueError(f"a range goes up, by less than {MOST_OF_RANGE:,}")
    return range(ends[0], ends[-1] + 1)


def _united(parser: Parser[tuple[range, ...]]) -> Parser[tuple[int, ...]]:
    return lambda text: tuple(dict.fromkeys(n for span in parser(text) for n in span))


ranges = _united(list_of(_span))
"""`1-3,5`: distinct numbers from 1, in the given order."""
window_sizes = _united(list_of(either({"all": range(1), "0": range(1)}, _span)))
"""`1-3,5` or `1,all`; `all`, the whole history, is window 0."""


def folder(text: str) -> str:
    """Return the name of a folder without the slashes that complete it: `model/` is `model`."""
    return text.rstrip("/") or text


def composed(text: str) -> str:
    """Return a label or a name as it is compared: a letter and its accent are one character."""
    return normalize("NFC", text)


def label_list(text: str) -> tuple[str, ...]:
    """Parse `a,b` into distinct labels or names, as they are compared."""
    return name_list(composed(text))


def name_list(text: str) -> tuple[str, ...]:
    """Parse `a,b` into distinct names; empty ones are none."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def two_names(text: str) -> tuple[str, ...]:
    """Parse `a,b` into exactly two names, which differ."""
    names = name_list(text)
    if len(names) != 2:
        raise ValueError("expected two names that differ")
    return names


def two_labels(text: str) -> tuple[str, ...]:
    """Parse `a,b` into exactly two labels, which differ, as they are compared."""
    return two_names(composed(text))


def subset_of(known: Iterable[str]) -> Parser[tuple[str, ...]]:
    """Return a parser of some of the names known, in their order; `none` stands for no name."""
    order = tuple(known)

    def parse(text: str) -> tuple[str, ...]:
        wanted = set(name_list(text))
        if wanted == {"none"}:
            return ()
        if unknown := sorted(wanted - set(order)):
            choices = ", ".join(order)
            raise ValueError(f"no {', '.join(unknown)}; choose from {choices}, or none")
        return tuple(name for name in order if name in wanted)

    return parse


def on_error_policy(text: str) -> str:
    """Check `fail`, `skip` or `quarantine=FILE`."""
    word, _, file = text.partition("=")
    if text in ("fail", "skip") or (word == "quarantine" and file):
        return text
    raise ValueError(f"choose from {', '.join(ON_ERROR)}")


def file_with_suffix(*suffixes: str) -> Parser[str]:
    """Return a check that a file's name has one of the suffixes."""

    def parse(text: str) -> str:
        if Path(text).suffix not in suffixes:
            raise ValueError(f"name it {', '.join(suffixes)}")
        return text

    return parse


picture = file_with_suffix(*PICTURES)


def byte_size(least: int) -> Parser[int]:
    """Return a parser of `256MB`, `1.5G`, `2GiB` into bytes; units are powers of 1024."""

    def parse(text: str) -> int:
        size = re.fullmatch(
            r"(\d{1,15}(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", text.strip().upper(), re.ASCII
        )
        if not size:
            raise ValueError("expected a size such as 256MB or 2GB")
        value = int(float(size[1]) * BYTES[size[2]])
        if value < least:
            raise ValueError(f"must be {least >> 20}MB or more")
        if value > MOST_BYTES:
            raise ValueError(f"must be {MOST_BYTES >> 40}TB or less")
        return value

    return parse


def count_or_bounds(text: str) -> str:
    """Check `20`, or bounds such as `5-50`, the lower from 2."""
    bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip(), re.ASCII)
    if not bounds or int(bounds[1]) < 1:
        raise ValueError("expected a number such as 20, or bounds such as 5-50")
    if bounds[2] is None:
        return str(int(bounds[1]))
    if not 2 <= int(bounds[1]) <= int(bounds[2]):
        raise ValueError("bounds go up, from 2 or more")
    return f"{int(bounds[1])}-{int(bounds[2])}"


def part_of(text: str) -> str:
    """Check `3/16`: part 3 of 16; the first is 1."""
    part = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip(), re.ASCII)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise ValueError("expected a part and how many there are, 1/16 to 16/16")
    return f"{int(part[1])}/{int(part[2])}"


def time_span(text: str) -> str:
    """Check `30m`, `1.5h`: a number above 0 and its unit; `seconds` reads it."""
    try:
        if 0 < seconds(text) < GREATEST:
            return text
    except (ValueError, LookupError):
        pass
    raise ValueError("expected a number above 0 and s, m, h or d, such as 30m")


def seconds(span: str) -> float:
    """Return the seconds of a time span such as `30m`."""
    return float(span[:-1]) * SECONDS[span[-1]]


def time_pattern(text: str) -> str:
    """Check that a time written by a pattern, such as `%d.%m.%y %H:%M`, is read by it."""
    try:
        datetime.strptime(datetime(2001, 2, 3, 4, 5, 6, 7, UTC).strftime(text), text)
    except (ValueError, re.error):  # the latter for a field that stands twice
        text = ""
    if "%Z" in text.replace("%%", ""):
        raise ValueError("%Z is a name without an offset, which depends on the machine; %z has one")
    if "%" not in text:
        raise ValueError("expected a pattern such as '%d.%m.%y %H:%M'")
    return text


def delimiter(text: str) -> str:
    """Parse one character, or the name of one."""
    value = DELIMITERS.get(text, text)
    if len(value) != 1 or value in '"\r\n':
        raise ValueError("expected one character, or tab")
    return value


def encoding(text: str) -> str:
    """Check the name of a text encoding: one that leaves ASCII alone, or of 16 or 32 bits."""
    try:
        name = codecs.lookup(text).name
        known = name not in NOTATIONS and (
            name.startswith(WIDE) or STRUCTURE.decode(text) == STRUCTURE.decode()
        )
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ValueError("no such encoding; Excel writes cp1252, utf-8 or utf-16")
    return text


def split_shares(text: str) -> tuple[str, ...]:
    """Check `train=0.98,dev=0.02`: distinct names, shares above 0 that sum to 1 or less."""
    parts = [part.partition("=") for part in text.split(",")]
    try:
        sizes = {name.strip(): number(size) for name, _, size in parts}
    except ValueError:
        sizes = {"": 0.0}
    if "" in sizes:
        raise ValueError("expected NAME=SHARE[,NAME=SHARE...]")
    rounding = 1e-9
    if len(sizes) < len(parts) or min(sizes.values()) <= 0 or sum(sizes.values()) > 1 + rounding:
        raise ValueError("names must differ, shares be above 0 and sum to 1 or less")
    return tuple(f"{name}={size}" for name, size in sizes.items())


def speaker_roles(text: str) -> tuple[str, ...]:
    """Check `agent=system,customer=user`: distinct names (capitals aside), none empty."""
    sides = [part.partition("=")[::2] for part in composed(text).split(",")]
    pairs = [(name.strip(), role.strip()) for name, role in sides]
    if not all(name and role for name, role in pairs):
        raise ValueError("expected NAME=ROLE[,NAME=ROLE...]")
    if len({name.casefold() for name, _ in pairs}) < len(pairs):
        raise ValueError("names must differ")
    return tuple(f"{name}={role}" for name, role in pairs)


def metric_bound(text: str) -> str:
    """Check METRIC=VALUE."""
    name, _, value = text.rpartition("=")
    try:
        number(value)
    except ValueError:
        name = ""
    if not name:
        raise ValueError("expected METRIC=VALUE, e.g. accuracy=80")
    return text


def dataset_task(text: str) -> str:
    """Check DATASET=TASK."""
    dataset, _, task = text.rpartition("=")
    if not (dataset and task):
        raise ValueError("expected DATASET=TASK, e.g. mine=Banking77Classification")
    return text
