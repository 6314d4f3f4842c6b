"""Several outputs of one command get their names together, when all of them are on the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from dialtools.errors import GateError
from dialtools.streams.full import naming
from dialtools.streams.scraps import WORKING, removed_at_the_end

_groups: dict[Path, Group] = {}
_first: list[Callable[[], None]] = []


@contextmanager
def before_outputs(do: Callable[[], None]) -> Generator[None]:
    """Do something before outputs get their names: what belongs to them is to be there first."""
    _first.append(do)
    try:
        yield
    finally:
        _first.remove(do)


class Written(NamedTuple):
    """An output that is on the disk, and lacks its name."""

    temporary: Path
    final: Path
    check: Callable[[], None]
    """Raises OutputError if something has come meanwhile that may not be replaced."""


class Group:
    """Outputs that get their names together.

    Attributes:
        order: in which they get them.
        notes: those that tell what they belong to, and may lie beside another.
        written: those that are on the disk, and lack their names.
        held: keeps what is written from being taken for scraps; removes it if it gets no name.
    """

    def __init__(self) -> None:
        self.order: list[Path] = []
        self.notes: set[Path] = set()
        self.written: dict[Path, Written] = {}
        self.held = ExitStack()

    def admit(self, paths: Sequence[Path]) -> None:
        """Take in outputs, before the first of them that is here already."""
        known = [self.order.index(path) for path in paths if path in self.order]
        fresh = [path for path in paths if path not in self.order]
        at = min(known, default=len(self.order))
        self.order[at:at] = fresh

    def name(self) -> None:
        """Give what is written its name, one right after the other.

        Old files go aside before: those of two runs never lie side by side, whenever this one is
        killed. If it fails to give a name, the old files come back.
        """
        written = [self.written[path] for path in self.order if path in self.written]
        for one in written:
            one.check()
        make_ready(*(one.final for one in written))
        mixable = [one.final for path, one in self.written.items() if path not in self.notes]
        with ExitStack() as aside:
            for final in mixable if len(mixable) > 1 else ():
                aside.enter_context(_old_aside(final))
            for temporary, final, _ in written:
                with naming(final):
                    temporary.replace(final)
        self.written.clear()
        self.held.close()


@contextmanager
def _old_aside(final: Path) -> Generator[None]:
    """Take an old file aside; it goes when the block ends, or comes back if that fails."""
    old = final.with_name(f".{final.name}.{os.getpid()}.old")
    was_there = final.exists()
    with removed_at_the_end(old):
        try:
            if was_there:
                final.replace(old)
            yield
        except BaseException:
            if old.exists():
                old.replace(final)
            elif not was_there:
                final.unlink(missing_ok=True)
            raise


def make_ready(*finals: Path) -> None:
    """Do what is to be done before outputs get their names; in a working folder are none yet."""
    if any(WORKING not in {folder.suffix for folder in final.parents} for final in finals):
        for do in [*_first]:
            do()


@contextmanager
def together(*outputs: str | Path) -> Generator[Group]:
    """Let files written in the block by `atomic_file` get their names at its end, in this order.

    So a failure leaves all of them as they were. Where one of them is in such a block already, the
    others join it. A gate that is not met is no failure: the outputs are whole.
    """
    paths = list(dict.fromkeys(map(Path, outputs)))
    joined = next((_groups[path] for path in paths if path in _groups), None)
    group = joined or Group()
    fresh = [path for path in paths if path not in _groups]
    group.admit(paths)
    _groups.update(dict.fromkeys(fresh, group))
    try:
        if joined:
            yield group
            return
        with group.held:
            try:
                yield group
            except GateError:
                group.name()
                raise
            group.name()
    finally:
        for path in fresh:
            del _groups[path]


def name_now(path: Path) -> None:
    """Give an output its name, and those that are written and get theirs together with it."""
    if group := _groups.get(path):
        group.name()


def content_of(path: Path) -> Path:
    """Return where the content of an output is: aside, as long as it lacks its name."""
    group = _groups.get(path)
    return group.written[path].temporary if group and path in group.written else path
