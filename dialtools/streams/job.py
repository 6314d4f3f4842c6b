"""What a job is a job of, and how it differs from another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from dialtools.options import specs
from dialtools.shown import listed
from dialtools.streams.digests import stdin_is
from dialtools.streams.provenance import Inputs, plain_settings, provenance

Description = dict[str, Any]
OF_MODEL = ("start", "weights")
"""Facts that tell the content of --model: it is the same one wherever it lies."""
MOST_TOLD = 200
"""Characters of a list that are told, however many it has."""


@dataclass(frozen=True)
class Job:
    """What a job is a job of.

    Attributes:
        command: its name.
        options: the options object.
        inputs: the files it reads.
        facts: what else decides the result, by the name that messages give it.
        pieces: keys of options that say only which pieces there are.
        makes: patterns of the names that the command gives to what it puts into the working folder;
            nothing else there is ever removed.
        directory: whether the output is a directory, not a file.
    """

    command: str
    options: Any
    inputs: Inputs
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pieces: Collection[str] = ()
    makes: Collection[str] = ()
    directory: bool = False

    def __post_init__(self) -> None:
        _ = self._named  # as they are when the run begins

    def description(self) -> Description:
        """Return the job as a manifest tells it."""
        facts = {
            "command": self.command,
            "options": plain_settings(self.options),
            "inputs": self.inputs.described(),
            "files": self.files(),
            "shard": None,  # named even where there is none: an output may be a part
            **self.facts,
        }
        return orjson.loads(orjson.dumps(facts, default=str))

    def provenance(self, counts: Mapping[str, Any] | None = None) -> Description:
        """Return what an output needs to tell, the job among it.

        Raises:
            DataError: if an input changed while it was read.
        """
        of_every_output = provenance(
            command=self.command, options=self.options, inputs=self.inputs, counts=counts
        )
        return {**of_every_output, "files": self.files(), **self.facts}

    def files(self) -> dict[str, Any]:
        """Return size and digest of each file or folder that an option names, by the option's key.

        Of an option that names several, a list.

        Raises:
            DataError: if one changed since the run began.
        """
        return {
            key: named.described() if several else named.described()[0]
            for key, (named, several) in self._named.items()
        }

    def settle(self) -> None:
        """Take inputs and files as read: what becomes of them from here on changes nothing.

        Raises:
            DataError: if one changed since the run began.
        """
        self.inputs.settle()
        self.settle_files()

    def settle_files(self) -> None:
        """Take the files that options name as read, as `settle` does."""
        for named, _ in self._named.values():
            named.settle()

    @cached_property
    def _named(self) -> dict[str, tuple[Inputs, bool]]:
        """The files of each option that names some, and whether it may name several."""
        named: dict[str, tuple[Inputs, bool]] = {}
        for spec in specs(self.options.__class__):
            if "FILE" not in (spec.metavar or "") or spec.how or spec.positional:
                continue
            value = getattr(self.options, spec.name)
            names = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
            if found := [name for name in names if _is_there(name)]:
                named[spec.key] = Inputs(found), isinstance(value, tuple)
        return named


def _is_there(name: Any) -> bool:
    return isinstance(name, str) and (Path(name).is_file() or Path(name).is_dir())


class Changes(NamedTuple):
    """What differs between a job and another, in words: settings, and what is read."""

    settings: list[str]
    inputs: list[str]

    def __str__(self) -> str:
        return "; ".join([*self.settings, *self.inputs])


def changes(before: Description, now: Description, *, free: Collection[str] = ()) -> Changes:
    """Return what differs; `free` are keys of options and facts that may.

    A file that an option names is compared by content, as an input is, not by name; so is --model
    where a fact tells its content. Stdin, where the content it had is known, is read and compared.
    What tells no job, being damaged or a stranger's, differs from every job.
    """
    try:
        return _changes(before, now, free)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Changes(["its job is damaged"], [])


def _changes(before: Description, now: Description, free: Collection[str]) -> Changes:
    files: dict[str, Any] = before.get("files") or {}
    files_now: dict[str, Any] = now["files"]
    shared = [key for key in files_now if key in files]  # others show in the options
    by_content = (
        {"model"} if any(fact in before and fact in now for fact in OF_MODEL) else set[str]()
    )
    elsewhere = {*free, *shared, *by_content}
    then: dict[str, Any] = before.get("options") or {}
    today: dict[str, Any] = now["options"]
    settings = [
        f"--{key} was {_shown(then.get(key))}, is {_shown(today.get(key))}"
        for key in dict.fromkeys([*today, *then])
        if key not in elsewhere and then.get(key) != today.get(key)
    ]
    settings += [
        f"{key} was {_shown(before.get(key))}, is {_shown(value)}"
        for key, value in now.items()
        if key not in ("options", "inputs", "files", *free) and before.get(key) != value
    ]
    inputs = [
        *_changed_inputs(before.get("inputs") or [], now["inputs"]),
        *(
            change
            for key in shared
            if key not in free
            for change in _changed_inputs(_each(files[key]), _each(files_now[key]))
        ),
    ]
    return Changes(settings, [change for change in dict.fromkeys(inputs) if change])


def _each(described: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", described if isinstance(described, list) else [described])


def _changed_inputs(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[str]:
    if len(before) == len(now):
        return [_change(*pair) for pair in zip(before, now, strict=True)]
    names = [", ".join(str(file["name"]) for file in files) for files in (before, now)]
    return [f"inputs were {names[0]}, are {names[1]}"]


def _change(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words how an input differs from what it was, or nothing if it does not."""
    if "sha256" in before and "sha256" in now:
        if before["bytes"] != now["bytes"]:  # a digest may be one that another part tells
            return f"{now['name']} was {before['bytes']:,} bytes, is {now['bytes']:,}"
        same = all(before.get(key) == now.get(key) for key in ("sha256", "ended"))
        return "" if same else f"{now['name']} was {_size(before)}, is {_size(now)}"
    if before["name"] != now["name"]:
        return f"input was {before['name']}, is {now['name']}"
    if now["name"] == "-":
        same = "sha256" not in before or stdin_is(before)
        return "" if same else f"stdin is not what was read of it: {_size(before)}"
    return f"{now['name']} was {_size(before)}, is gone" if "sha256" in before else ""


def _size(file: Mapping[str, Any]) -> str:
    return f"{file['bytes']:,} bytes (sha256 {file['sha256'][:8]})"


def _shown(value: Any) -> str:
    told = "not given" if value is None else str(value)
    if isinstance(value, list) and len(told) > MOST_TOLD:  # of snapshots, by their digests
        return listed(map(str, cast("list[Any]", value)), most=3, length=30)
    return told
