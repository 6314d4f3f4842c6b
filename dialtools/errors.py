"""What can go wrong, and the exit status that says so.

All packages raise these; one place (`cli/_exit.py`) shows them. Each message is for
the person who must act, `where` names the place, `hint` the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import IntEnum
from functools import partial

from dialtools.shown import listed, quoted


class ExitCode(IntEnum):
    """Exit statuses of every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    SKIPPED = 3
    GATE = 4
    HUNG_UP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


EXIT_CODES = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "data or run failed",
    ExitCode.USAGE: "usage or configuration",
    ExitCode.SKIPPED: "finished, but records were skipped (--on-error)",
    ExitCode.GATE: "a gate was not met (dial-eval --fail-under, compare --fail-if-worse)",
    ExitCode.HUNG_UP: "its terminal went away (SIGHUP)",
    ExitCode.INTERRUPTED: "interrupted (SIGINT)",
    ExitCode.BROKEN_PIPE: "the reader of our output went away (SIGPIPE)",
    ExitCode.TERMINATED: "terminated (SIGTERM)",
}


MEMORY = "out of memory"
SHORT = {
    MEMORY: ("failed to map segment", "allocate memory", "not enough memory", "out of memory"),
    "out of threads or processes": (
        "can't start new thread",
        "failed to launch worker thread",
        "resource temporarily unavailable",
    ),
}
"""What libraries say, each with its own kind of error, where a machine or its limits give no more:
the loader of shared objects, torch, Python, pyarrow, tokenizers, fork."""


class DialError(Exception):
    """An error to show in one line."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, where: object = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = None if where is None else str(where)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def __reduce__(self):  # crosses process borders with keyword fields intact
        return partial(type(self), where=self.where, hint=self.hint), (self.message,)


class ConfigError(DialError):
    """Options that contradict each other or make no sense."""

    exit_code = ExitCode.USAGE


class DataError(DialError):
    """A record that cannot be used; the only kind that --on-error may skip."""


class ModelError(DialError):
    """A model that is missing, damaged, or of another kind."""


class OutputError(DialError):
    """A result that cannot be written."""


class MissingExtra(DialError):
    """A package is needed that is not installed."""


class GateError(DialError):
    """A score is below the bound that the user set."""

    exit_code = ExitCode.GATE


def short_of(error: BaseException) -> str | None:
    """Return what there is no more of, if that is what an error tells, and no fault of a file."""
    if isinstance(error, MemoryError):
        return MEMORY
    said = str(error).lower()
    return next((what for what, words in SHORT.items() if any(w in said for w in words)), None)


def close(word: str, known: Sequence[str], *, likeness: float = 0.6) -> list[str]:
    """Return the closest known words, two at most, of a likeness from 0 to 1."""
    return get_close_matches(word, known, n=2, cutoff=likeness)


def question(words: Iterable[str]) -> str | None:
    """Return a hint that asks whether one of some words is meant, or None of none."""
    either = " or ".join(words)
    return f"did you mean {either}?" if either else None


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return a hint that names the closest known words, or None if nothing is close."""
    return question(close(word, known))


def proposed(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest known words, or all of them where nothing is close."""
    every = list(known)
    return nearest(word, every) or f"choose from {', '.join(every) or 'none'}"


def no_column(
    name: str,
    known: Iterable[str],
    *,
    where: object,
    hint: str | None = None,
    likely: str | None = None,
) -> DataError:
    """Return the error of a column that is not there.

    Args:
        known: the columns there are.
        hint: what else to do.
        likely: what to do, where more than one name tells it.
    """
    there = list(known)
    return DataError(
        f"no column {quoted(name)}; there are {listed(there) or 'none'}",
        where=where,
        hint=likely or " ".join(filter(None, [nearest(name, there), hint])) or None,
    )
