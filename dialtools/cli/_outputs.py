"""What a command writes beside its output: never over what it reads, nor unasked over a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialtools.errors import ConfigError, OutputError
from dialtools.options import Spec
from dialtools.shown import LONGEST, listed
from dialtools.streams.tally import counted

FILES = {"FILE", "FILE[,FILE...]", "INPUT", "OLD NEW", "PART"}
"""Metavars of paths; what others name may be a word as well, of a model say."""
QUARANTINE = "quarantine="
OF_MODELS = ("config.json", "modules.json", "dialtools.json")
"""One of these a folder of a model has."""
PUT_ASIDE = b'{"file":'
"""How a file of records that were put aside begins."""


def check_names(options: Any, specs: Sequence[Spec]) -> None:
    """Refuse names that are not UTF-8, before any work, where they would be written into results.

    Inputs of any name are read, but for those that scores are named after.

    Raises:
        ConfigError: if there is one.
    """
    from dialtools.streams.bytesio import as_text

    for spec in specs:
        value = getattr(options, spec.name)
        texts = value if isinstance(value, tuple) else (value,)
        if spec.positional and hasattr(options, "on_error"):
            continue
        if any(isinstance(text, str) and as_text(text) != text for text in texts):
            where = "INPUT" if spec.positional else spec.flag
            raise ConfigError("is not UTF-8", where=where, hint="give it another name")


def check_outputs(options: Any, specs: Sequence[Spec]) -> None:
    """Look at the files that options name, before any work.

    Raises:
        ConfigError: if one is to be read and written, or written twice.
        OutputError: if records are to be put aside in a file that is there, without --overwrite,
            where an output is to lie is no folder, or one that is replaced holds something else.
    """
    from dialtools.streams.atomic import check_parent, is_special, refuse_existing

    read = dict(_read(options, specs))
    written: dict[Any, str] = {}
    for flag, path, _ in _written(options, specs):
        file = _identity(path)
        # -o --overwrite replaces its own input when all is read, as one may wish
        other = written.get(file) or (read.get(file) if flag != "-o" else None)
        if other and not is_special(path):
            raise ConfigError(f"{flag} and {other} name the same file", where=path)
        written[file] = flag
        if "://" not in path and not is_special(path):
            check_parent(Path(path).resolve() if Path(path).is_symlink() else Path(path))
    for spec in specs:
        if spec.writes and not spec.kept and spec.metavar == "DIR":
            _check_folder(spec, getattr(options, spec.name), _paths(options, specs))
    if quarantine := _quarantine(options):
        going_on = getattr(options, "resume", False) and _is_ours(quarantine)
        refuse_existing(quarantine, overwrite=options.overwrite or going_on)


def _check_folder(spec: Spec, path: str, read: Iterable[str]) -> None:
    """Refuse to replace a folder that is no model's, holds what is to be read, or has no name.

    Raises:
        ConfigError: saying which.
        OutputError: if it holds other things.
    """
    if not path or not Path(path).is_dir():
        return
    where = spec.short or spec.flag
    if Path(path).name in ("", ".."):
        raise ConfigError(
            f"{where} {path}: a folder is replaced by its name, which this does not say"
        )
    inside = Path(path).resolve()
    if held := next((name for name in read if inside in Path(name).resolve().parents), None):
        raise ConfigError(f"{where} {path} would be replaced, and {held} in it is to be read")
    if any(inside.iterdir()) and not any((inside / name).is_file() for name in OF_MODELS):
        hint = "another name, or empty it yourself"
        raise OutputError("is a folder of other things than a model", where=path, hint=hint)


def plan(options: Any, specs: Sequence[Spec], told: Mapping[str, str]) -> dict[str, str]:
    """Return what a run would read, write and replace, by these names, around what a command tells.

    Raises:
        OSError: if a file that is to be read is not there.
        OutputError: if one that is to be written is, and may not be replaced.
    """
    from dialtools.streams.atomic import check_parent, is_special, refuse_existing

    files = [file for spec in specs for file in _files(spec, getattr(options, spec.name))]
    replaced = []
    outputs = {path: kept for _, path, kept in _written(options, specs)}
    new = [path for path, kept in outputs.items() if not kept]
    for path in () if "writes" in told else new:
        may = getattr(options, "overwrite", False) or getattr(options, "resume", False)
        refuse_existing(path, overwrite=may)
        check_parent(Path(path))
    for path in new:
        if Path(path).exists() and not is_special(path):
            replaced.append(_described(path))
    lines = {"reads": listed(files, length=LONGEST) or "stdin", **told}
    lines.setdefault("writes", listed(outputs, length=LONGEST) or "stdout")
    return lines | ({"replaces": listed(replaced, length=LONGEST)} if replaced else {})


def _files(spec: Spec, value: Any) -> Sequence[str]:
    """Return the files and folders that an option names and a run reads, described."""
    words = (spec.metavar or "").split()
    if not (spec.positional or "DIR" in words or _names_file(spec)) or spec.writes:
        return ()
    named = value if isinstance(value, tuple) else (value,)
    texts = [text for text in named if isinstance(text, str)]
    if spec.metavar in FILES:
        return [_described(text) for text in texts]
    return [_described(text) if Path(text).exists() else text for text in texts]


def _described(path: str) -> str:
    """Return a path with the size of what it names, and of Parquet the rows."""
    if path == "-":
        return "stdin"
    size = Path(path).stat().st_size
    if Path(path).is_dir():
        return f"{path} (folder)"
    rows = ""
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        rows = f", {counted(pq.read_metadata(path).num_rows, 'row')}"
    told = counted(size, "byte") if size < 100_000 else f"{size / 1e6:,.1f} MB"
    return f"{path} ({told}{rows})"


def _read(options: Any, specs: Sequence[Spec]) -> Iterator[tuple[Any, str]]:
    for spec in specs:
        value = getattr(options, spec.name)
        if spec.positional:
            yield from ((_identity(path), "an input") for path in value if path != "-")
        elif _names_file(spec) and not spec.writes and isinstance(value, str):
            yield _identity(value), spec.flag


def _paths(options: Any, specs: Sequence[Spec]) -> Iterator[str]:
    """Yield the files and folders that are read, or written into."""
    for spec in specs:
        value = getattr(options, spec.name)
        named = spec.positional or _names_file(spec) or spec.metavar == "DIR"
        if named and (spec.kept or not spec.writes):
            texts = value if isinstance(value, tuple) else (value,)
            yield from (text for text in texts if isinstance(text, str) and text != "-")


def _written(options: Any, specs: Sequence[Spec]) -> Iterator[tuple[str, str, bool]]:
    """Yield the flag of each output, its path, and whether what is there stays."""
    for spec in specs:
        value = getattr(options, spec.name)
        if spec.writes and isinstance(value, str) and value != "-":
            yield "-o" if spec.short == "-o" else spec.flag, value, spec.kept
    if quarantine := _quarantine(options):
        yield "--on-error quarantine", quarantine, False


def _quarantine(options: Any) -> str:
    """Return the file of --on-error quarantine=FILE; nothing in a dry run, which writes none."""
    on_error = getattr(options, "on_error", "")
    puts_aside = on_error.startswith(QUARANTINE) and not getattr(options, "dry_run", False)
    return on_error.removeprefix(QUARANTINE) if puts_aside else ""


def _names_file(spec: Spec) -> bool:
    return "FILE" in (spec.metavar or "")


def _identity(path: str) -> Any:
    """Return what two names of one file share."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _is_ours(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(PUT_ASIDE)) in (PUT_ASIDE, b"")
    except OSError:
        return False
