"""The JSON files beside a model's weights: data from a stranger, asked field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from dialtools.errors import ModelError
from dialtools.shown import cut

LARGEST = 16 << 20
"""Bytes of a file that states settings: the labels of a large classifier are 2 MB."""
SHOWN = 40
"""Characters of a wrong value that an error repeats."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class SideFile:
    """A table of a JSON file; without the file it is empty.

    Attributes:
        within: where in the file the table stands, as it goes before the names of its fields.
    """

    path: Path
    table: dict[str, Any]
    within: str = ""

    @classmethod
    def read(cls, path: Path) -> SideFile:
        """Read a file that holds one table.

        Raises:
            ModelError: if it is none.
        """
        value = read_side_file(path)
        if value is not None and not isinstance(value, dict):
            raise ModelError(f"expected an object, got {as_json(value)}", where=path)
        return cls(path, value or {})

    def field(
        self,
        name: str,
        kind: type[Value],
        what: str,
        allowed: Callable[[Value], bool] = lambda _: True,
    ) -> Value | None:
        """Return the value of a field; None if it is null or not there.

        Args:
            kind: its type, exactly: true is no number.
            what: what it should be, for the message.

        Raises:
            ModelError: naming file and field, if the value is something else.
        """
        value = self.table.get(name)
        if value is None or (type(value) is kind and allowed(value)):
            return value
        raise self.wrong(name, what, value)

    def count(self, name: str, least: int = 1) -> int | None:
        """Return a whole number that is not below `least`."""
        return self.field(name, int, f"a whole number from {least} on", lambda n: n >= least)

    def flag(self, name: str) -> bool:
        """Return true or false; false if it is not there."""
        return bool(self.field(name, bool, "true or false"))

    def text(self, name: str) -> str | None:
        return self.field(name, str, "a text")

    def tables(self, name: str) -> SideFile:
        """Return the table of a field; an empty one if it is not there."""
        table = self.field(name, dict, "an object") or {}
        return SideFile(self.path, table, f"{self.within}{name}.")

    def path_within(self, name: str) -> str:
        """Return a path that stays in the folder of the model; "" is the folder itself.

        Links are followed wherever they lead: whoever has the folder made them, and the cache of
        the hub is made of them. A path that a file states is the stranger's.
        """
        text = self.text(name) or ""
        if not stays_inside(text):
            raise self.wrong(name, "a path inside the folder", text)
        return text

    def wrong(self, name: str, what: str, value: Any) -> ModelError:
        """Return the error for a field."""
        message = f"{self.within}{name}: expected {what}, got {as_json(value)}"
        return ModelError(message, where=self.path)


def read_side_file(path: Path) -> Any:
    """Return what the JSON of a side file says, None without the file.

    Raises:
        ModelError: if it is not JSON, too large, nested without end, or cannot be read.
    """
    try:
        if not path.is_file():  # nor a pipe, which would never end
            return None
        if path.stat().st_size > LARGEST:
            raise ModelError(f"larger than {LARGEST >> 20} MiB", where=path)
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ModelError("not JSON: nested too deep", where=path) from None
    except ValueError as error:  # UnicodeDecodeError is one
        raise ModelError(f"not JSON: {error}", where=path) from None
    except OSError as error:
        raise ModelError((error.strerror or str(error)).lower(), where=path) from None


def write_json(path: Path, value: Any) -> None:
    """Write a value as people may read it; what JSON does not know as text."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    path.write_text(f"{text}\n", encoding="utf-8")


def stays_inside(path: str) -> bool:
    """Tell whether a path that a file states leads to a place in the folder of the file."""
    parts = PurePosixPath(path).parts
    return not (path.startswith("/") or ".." in parts or "\\" in path or "\0" in path)


def as_json(value: Any) -> str:
    """Return a value as JSON, cut."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        text = type(value).__name__
    return cut(text, SHOWN)
