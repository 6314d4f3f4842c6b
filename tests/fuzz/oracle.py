"""What is wrong with how a run ended, if anything is: each check yields its complaints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch

import orjson
from fuzz.bench import Outcome
from fuzz.cases import Case
from fuzz.zygote import STUCK

STATUSES = {0, 1, 2, 3, 4, 129, 130, 141, 143}
MEMORY = 2 << 30  # resident; what was imported is some 400 MiB of it
SECONDS = 25
LONGEST = 20_000
"""Bytes on stderr: a line that tells much names some, and how many more."""
BAD_WORDS = (
    "looks like a defect",
    "Traceback (most",
    "Exception ignored",
    "Warning:",
    "Error in sys.",
)
RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e"
    "\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)
PARTIAL = ("dial-embed", "dial-train", "dial-eval suite", "dial-eval finetune", "dial-eval curve")
"""Commands that may leave OUTPUT.partial for --resume."""
SCRAPS = (".*.tmp", ".*.old", "*/.*.tmp", "*/.*.old", "*.tmp")

POLICY = "quarantine=out/q.jsonl"
UNEVEN = ("dial-embed", "dial-train", "-n ", "--to ", "--speaker-prefix")
"""What does not meet all records, tells more than these, or makes records of several lines."""

Check = Callable[[Case, Outcome], Iterator[str]]


def complaints(case: Case, outcome: Outcome) -> list[str]:
    """Return what is wrong; the first is the gravest."""
    return [complaint for check in CHECKS for complaint in check(case, outcome)]


def _status(case: Case, outcome: Outcome) -> Iterator[str]:
    status = outcome.ended.status
    if status == STUCK or outcome.ended.seconds > SECONDS:
        yield "takes too long"
    elif status not in STATUSES:
        yield f"exit status {status}"
    if outcome.ended.left:
        yield "leaves a process"
    if outcome.ended.bytes > MEMORY:
        yield f"takes {outcome.ended.bytes >> 30} GiB of memory"


def _words(case: Case, outcome: Outcome) -> Iterator[str]:
    said = outcome.stderr
    yield from (f"says {word!r}" for word in BAD_WORDS if word in said)
    if raw := RAW.search(said):
        yield f"puts {raw[0]!a} raw on the terminal"
    if len(said) > LONGEST:
        yield "says more than a screen"


def _message(case: Case, outcome: Outcome) -> Iterator[str]:
    """An error is one line that begins with the command's name, and a hint, as all lines do."""
    lines = outcome.stderr.split("\n")
    if lines.pop() != "":
        yield "its last line on stderr has no end"
    ours = [line for line in lines if line.startswith((case.argv[0], "  "))]
    if ours != lines and outcome.ended.status in STATUSES:
        yield "a line on stderr does not begin with the command's name"
    hints = [at for at, line in enumerate(lines) if line.startswith("  ")]
    if outcome.ended.status in (1, 2):
        if not lines:
            yield "fails without a word"
        if any(at != len(lines) - 1 for at in hints):
            yield "an error of several lines"


def _records(case: Case, outcome: Outcome) -> Iterator[str]:
    """What comes out as JSON lines is JSON."""
    if outcome.ended.status not in (0, 3, 4) or not outcome.stdout.startswith(b"{"):
        return
    if not outcome.stdout.endswith(b"\n"):
        yield "its last record has no end"
    for line in (
        outcome.stdout.splitlines() if b"\r" not in outcome.stdout else outcome.stdout.split(b"\n")
    ):
        try:
            if line:
                orjson.loads(line)
        except ValueError:
            yield "writes what is not JSON"
            return


def _leavings(case: Case, outcome: Outcome) -> Iterator[str]:
    if outcome.ended.status == STUCK or outcome.ended.status < 0:
        return
    if outcome.temporary:
        yield "leaves something in $TMPDIR"
    if any(fnmatch(name, scrap) for name in outcome.made for scrap in SCRAPS):
        yield "leaves a temporary file"
    failed = outcome.ended.status in (1, 2)
    keeps = case.title.startswith(PARTIAL)
    for name in outcome.made if failed else ():
        aside = name in ("out/q.jsonl", "out/q") or (keeps and ".partial/" in name)
        if not aside and not any(flag in " ".join(case.argv) for flag in ("quarantine", "--cache")):
            yield "fails, and leaves an output"
            return


def _inputs(case: Case, outcome: Outcome) -> Iterator[str]:
    if (
        outcome.changed
        and "--overwrite" not in case.argv
        and "overwrite" not in str(case.files.get("run.toml"))
    ):
        yield "changes an input"


CHECKS: tuple[Check, ...] = (_status, _words, _message, _records, _leavings, _inputs)


def without_rejected(case: Case, quarantine: bytes) -> Case | None:
    """Return the case without the records that were put aside, which must do the same and succeed.

    Their lines stay, empty, so that the places by which others are called do. None if it was no
    case of records to standard output, or the records cannot be told.
    """
    words = " ".join(case.argv)
    if not case.records or "-o " in words or POLICY not in words or any(f in words for f in UNEVEN):
        return None
    aside = {orjson.loads(line)["line"] for line in quarantine.splitlines()}
    lines = case.files[case.records].split(b"\n")
    kept = b"\n".join(b"" if n in aside else line for n, line in enumerate(lines, 1))
    words = [group for group in case.words if POLICY not in group]
    return replace(case, words=words, files=case.files | {case.records: kept})


def place_of(stderr: str) -> str:
    """Return the exception of a traceback, and the place in the package that raised it."""
    frames = re.findall(r'File "[^"]*?dialtools/([\w/]+\.py)", line \d+,? in (\w+)', stderr)
    named = re.findall(r"^(\w[\w.]*(?:Error|Exception|Warning)\w*)\b", stderr, re.MULTILINE)
    crashed = "Fatal Python error" in stderr  # of which the innermost frame comes first
    frame = ":".join(frames[0 if crashed else -1]) if frames else ""
    return f"{named[-1] if named else ''} {frame}".strip()


def shape(message: str) -> str:
    """Return a message without what is of the input: numbers, names, quoted words."""
    message = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message[:300])
    message = re.sub(r"(out|in|model|side|corpus|folder)[./][^\s:,]*", "FILE", message)
    return re.sub(r"\d+", "N", message)[:120]
