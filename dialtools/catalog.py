"""Named things loaded on demand: tables written by hand, no work at import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dialtools.errors import ConfigError, proposed
from dialtools.shown import quoted


@dataclass(frozen=True)
class Entry:
    """A name's target as `module:attribute`, and what one line of help says of it."""

    target: str
    summary: str

    def load(self) -> Any:
        return load(self.target)


def load(target: str) -> Any:
    """Import the module of a `module:attribute` and return the attribute."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def lookup(table: Mapping[str, Entry], name: str, *, kind: str) -> Any:
    """Return what `name` stands for.

    Raises:
        ConfigError: if the table has no such name, with the near ones.
    """
    if name not in table:
        raise ConfigError(f"unknown {kind} {quoted(name)}", hint=proposed(name, table))
    return table[name].load()


def summaries(table: Mapping[str, Entry]) -> str:
    """Return what help says of the entries of a table: `knn: nearest rows; logreg: ...`."""
    return "; ".join(f"{name}: {entry.summary}" for name, entry in table.items())
