"""What a command reads, and writes beside its output: never over that, nor unasked over a file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, OutputError
from dialtools.options import Spec
from dialtools.shown import LONGEST, listed
from dialtools.streams.atomic import check_kind, check_parent, is_special, refuse_existing, target
from dialtools.streams.formats import FORMATS, by_suffix
from dialtools.streams.job_files import BESIDE
from dialtools.streams.tally import counted

FILES = {"FILE", "FILE[,FILE...]", "INPUT", "OLD NEW", "PART"}
"""Metavars of paths; what others name may be a word as well, of a model say."""
QUARANTINE = "quarantine="
OF_MODELS = ("config.json", "modules.json", "dialtools.json")
"""One of these a folder of a model has."""
AN_INPUT = "an input"
PUT_ASIDE = b'{"file":'
"""How a file of records that were put aside begins."""


class Output(NamedTuple):
    """What is written beside stdout.

    Attributes:
        folder: it is a folder, not a file.
        kept: it is written into, and never replaced.
        may_be_there: what is there may be replaced, or gone on with.
    """

    flag: str
    path: str
    folder: bool = False
    kept: bool = False
    may_be_there: bool = False


NAMES = sys.getfilesystemencoding()
HINT_OF_NAMES = (
    "give it another name"
    if NAMES == "utf-8"
    else f"names are {NAMES.upper()} here, by LC_ALL and PYTHONUTF8; LC_ALL=C.UTF-8 takes any"
)


def check_names(options: Any, specs: Sequence[Spec]) -> None:
    """Refuse names that are not UTF-8, before any work, where they would be written into results.

    Inputs of any name are read, but for those that scores are named after.

    Raises:
        ConfigError: if there is one.
    """
    for spec in specs:
        value = getattr(options, spec.name)
        texts = value if isinstance(value, tuple) else (value,)
        if spec.positional and hasattr(options, "on_error"):
            continue
        if any(isinstance(text, str) and not _is_utf8(text) for text in texts):
            where = "INPUT" if spec.positional else spec.flag
            raise ConfigError(f"is not {NAMES.upper()}", where=where, hint=HINT_OF_NAMES)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that the locale has no letters for stand as halves of some
        return False
    return True


def check_inputs(options: Any) -> None:
    """Look for the files of records and the model that are to be read, before torch is.

    What goes to stdout tells its reader of an error, and so begins before its inputs are opened.

    Raises:
        DataError: if a file is not there; what else is wrong with it is told when it is opened.
        ModelError: if the model is not.
    """
    from dialtools.streams.bytesio import is_there, refuse_missing

    if getattr(options, "output", "-") == "-":
        return
    if hasattr(options, "on_error"):
        refuse_missing(options.inputs)
    model = getattr(options, "model", None)
    if isinstance(model, str) and model and not is_there(model):
        from dialtools.encoder.folder import model_folder

        model_folder(model)


def check_pipes(options: Any, specs: Sequence[Spec]) -> None:
    """Refuse to read stdin, or another pipe, in two places: what was read of it is gone.

    Raises:
        ConfigError: naming both.
    """
    places: dict[str, str] = {}
    for spec in sorted(specs, key=lambda spec: not spec.positional):
        if spec.writes or not (spec.positional or _names_file(spec)):
            continue
        paths = _texts(spec, options)
        if spec.positional and not paths:
            paths = getattr(options, "files", ("-",))
        for pipe in filter(None, map(_pipe, paths)):
            place = "INPUT" if spec.positional else spec.flag
            if other := places.get(pipe):
                raise ConfigError(f"{pipe} can be read once, but is {other} and {place}")
            places[pipe] = place


def _pipe(path: str) -> str:
    """Return what a pipe is called, by whichever name; nothing of what is none."""
    if path == "-":
        return "stdin"
    with suppress(OSError, ValueError):
        if Path(path).is_fifo():
            return "stdin" if os.path.samestat(Path(path).stat(), os.fstat(0)) else path
    return ""


def check_outputs(options: Any, specs: Sequence[Spec]) -> None:
    """Look at the files that options name, before any work.

    Raises:
        ConfigError: if one is to be read and written, or written twice.
        OutputError: if one is there and may not be replaced, or cannot lie where it is to lie.
    """
    outputs, inputs = list(_written(options, specs)), list(_read(options, specs))
    read = {_identity(path): name for path, name in inputs}
    written: dict[Any, str] = {}
    for output in outputs:
        file = _identity(output.path)
        other = written.get(file) or read.get(file)
        if other and not is_special(output.path):
            raise ConfigError(f"{output.flag} and {other} name the same file", where=output.path)
        written[file] = output.flag
        _check_place(output, options)
    for output in outputs:
        note = _identity(f"{output.path}{BESIDE}")
        other = output.flag == "-o" and (written.get(note) or read.get(note))
        if other and not output.folder:
            told = f"{other} and what tells of -o name the same file"
            raise ConfigError(told, where=f"{output.path}{BESIDE}")
    if hasattr(options, "on_error"):
        _check_within(outputs, inputs, stdout=options.output == "-")
    stays = [path for path, _ in inputs] + [output.path for output in outputs if output.kept]
    for output in outputs:
        if output.folder and not output.kept:
            _check_folder(output, stays)


def _check_within(
    outputs: Sequence[Output], inputs: Sequence[tuple[str, str]], *, stdout: bool
) -> None:
    """Refuse a file that is written where inputs are read: in a folder of them, or by the shell."""
    folders = {_identity(path): path for path, n in inputs if n == AN_INPUT and Path(path).is_dir()}
    for output in outputs:
        around = map(_identity, map(str, Path(os.path.realpath(output.path)).parents))
        if not output.folder and (folder := next(filter(None, map(folders.get, around)), None)):
            told = f"{output.flag} lies in {folder}, which is read as a whole"
            raise ConfigError(told, where=output.path, hint="name a file elsewhere")
    written = os.fstat(1) if stdout else None
    if not written or not stat.S_ISREG(written.st_mode):
        return
    from dialtools.streams.bytesio import files_below

    for path, name in inputs:
        for file in files_below(Path(path)) if Path(path).is_dir() else (path,):
            if _identity(str(file)) == (written.st_dev, written.st_ino):
                raise ConfigError(f"stdout and {name} name the same file", where=str(file))


def _check_place(output: Output, options: Any) -> None:
    """Refuse an output that is there, has no name, or that nobody can write."""
    path = Path(output.path)
    on_ray = getattr(options, "on_ray", False)
    if "://" in output.path and not on_ray:
        hint = "write it to this machine, then copy it there"
        told = f"{output.flag}: only --engine ray writes there"
        raise ConfigError(told, where=output.path, hint=hint)
    if is_special(path) or "://" in output.path:
        return
    if output.kept:
        check_kind(path, directory=output.folder)
        return
    if output.folder and path.is_dir() and path.name in ("", ".."):
        told = "a folder is replaced by its name, which this does not say"
        raise ConfigError(f"{output.flag} {output.path}: {told}")
    if not on_ray:  # Ray writes a folder of parts
        refuse_existing(path, overwrite=output.may_be_there)
        check_kind(path, directory=output.folder)
    check_parent(target(path))


def _check_folder(output: Output, stays: Iterable[str]) -> None:
    """Refuse to replace a folder that is no model's, or holds what is read or written into.

    Raises:
        ConfigError: saying which.
        OutputError: if it holds other things.
    """
    path = output.path
    if not Path(path).is_dir():
        return
    inside = Path(path).resolve()
    if held := next((name for name in stays if inside in Path(name).resolve().parents), None):
        raise ConfigError(f"{output.flag} {path} would be replaced, and {held} in it is to stay")
    if any(inside.iterdir()) and not any((inside / name).is_file() for name in OF_MODELS):
        hint = "another name, or empty it yourself"
        raise OutputError("is a folder of other things than a model", where=path, hint=hint)


def outputs(options: Any, specs: Sequence[Spec]) -> list[str]:
    """Return the files that get their names together, --output last, where there are several.

    None where what is asked for goes to stdout: who reads that may have enough of it. A run that
    may be resumed does not read again what it has read: its bad records do not wait.
    """
    output = getattr(options, "output", "-")
    if output == "-" or is_special(output):
        return []
    first = _quarantine(options) if hasattr(options, "resume") else ""
    written = [each for each in _written(options, specs) if not each.folder and each.path != first]
    paths = [each.path for each in sorted(written, key=lambda each: each.flag == "-o")]
    return paths if len(paths) > 1 else []


def plan(options: Any, specs: Sequence[Spec], told: Mapping[str, str]) -> dict[str, str]:
    """Return what a run would read, write and replace, by these names, around what a command tells.

    Raises:
        OSError: if a file that is to be read is not there.
    """
    files = [
        _described(text) if spec.metavar in FILES or Path(text).exists() else text
        for spec in filter(_is_read, specs)
        for text in _texts(spec, options)
    ]
    files_written = list(_written(options, specs))
    replaced = [
        _described(output.path)
        for output in files_written
        if not output.kept and Path(output.path).exists() and not is_special(output.path)
    ]
    written = dict.fromkeys(output.path for output in files_written)
    lines = {"reads": listed(files, length=LONGEST) or "stdin", **told}
    lines.setdefault("writes", listed(written, length=LONGEST) or "stdout")
    return lines | ({"replaces": listed(replaced, length=LONGEST)} if replaced else {})


def _texts(spec: Spec, options: Any) -> list[str]:
    """Return the texts that an option has; of arguments those that are inputs."""
    value = getattr(options, "inputs" if spec.positional else spec.name)
    named = value if isinstance(value, tuple) else (value,)
    return [text for text in named if isinstance(text, str)]


def _described(path: str) -> str:
    """Return a path with the size of what it names, and of Parquet the rows."""
    if path == "-":
        return "stdin"
    from dialtools.streams.bytesio import own_name

    size, called = Path(path).stat().st_size, own_name(path)
    if Path(path).is_dir():
        return f"{called} (folder)"
    rows = ""
    if path.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with suppress(pa.ArrowException):  # a damaged file is told by who reads it
            rows = f", {counted(pq.read_metadata(path).num_rows, 'row')}"
    told = counted(size, "byte") if size < 100_000 else f"{size / 1e6:,.1f} MB"
    return f"{called} ({told}{rows})"


def _read(options: Any, specs: Sequence[Spec]) -> Iterator[tuple[str, str]]:
    """Yield each file and folder that is read, and what names it."""
    for spec in filter(_is_read, specs):
        name = AN_INPUT if spec.positional else spec.flag
        yield from ((text, name) for text in _texts(spec, options) if text not in ("", "-"))


def _written(options: Any, specs: Sequence[Spec]) -> Iterator[Output]:
    """Yield each output that is no stdout."""
    may = getattr(options, "overwrite", False) or getattr(options, "resume", False)
    for spec in specs:
        value = getattr(options, spec.name)
        if spec.writes and isinstance(value, str) and value not in ("", "-"):
            flag = "-o" if spec.short == "-o" else spec.flag
            folder = "DIR" in (spec.metavar or "")
            shares = getattr(options, "shares", ())  # of a split each has a file
            for path in [value.replace("{split}", part) for part in shares] or [value]:
                yield Output(flag, path, folder=folder, kept=spec.kept, may_be_there=may)
            if flag == "-o" and (second := _second(value, options)):
                yield Output(f"what lies beside {flag}", second, may_be_there=True)
    if quarantine := _quarantine(options):
        going_on = getattr(options, "resume", False) and _is_ours(quarantine)
        may = options.overwrite or going_on
        yield Output("--on-error quarantine", quarantine, may_be_there=may)


def _second(path: str, options: Any) -> str:
    """Return the file that a format writes beside an output, if it does; else nothing."""
    kind = getattr(options, "to", None) or by_suffix(path) or ""
    beside = FORMATS[kind].beside if kind in FORMATS else ""
    return beside and f"{path}{beside}"


def _quarantine(options: Any) -> str:
    """Return the file of --on-error quarantine=FILE; nothing in a dry run, which writes none."""
    on_error = getattr(options, "on_error", "")
    puts_aside = on_error.startswith(QUARANTINE) and not getattr(options, "dry_run", False)
    return on_error.removeprefix(QUARANTINE) if puts_aside else ""


def _is_read(spec: Spec) -> bool:
    """Tell whether an option names files or a folder to read."""
    named = spec.positional or _names_file(spec) or spec.metavar == "DIR"
    return named and not spec.writes


def _names_file(spec: Spec) -> bool:
    return "FILE" in (spec.metavar or "")


def _identity(path: str) -> Any:
    """Return what two names of one file share."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        with suppress(FileNotFoundError):  # of a working directory that was removed
            return os.path.realpath(path)
        return path
    return status.st_dev, status.st_ino


def _is_ours(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(PUT_ASIDE)) in (PUT_ASIDE, b"")
    except OSError:
        return False
