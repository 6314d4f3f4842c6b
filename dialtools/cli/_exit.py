"""How a command ends: the one place where errors are shown and turned into exit statuses."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from dialtools.cli import _signals
from dialtools.errors import MEMORY, DialError, ExitCode, short_of
from dialtools.shown import LONGEST, first_line, printable

ENFORCED = re.compile(r"^\[enforce fail[^]]*\][^:]*: ")
"""What torch puts before it: a place in its own source."""
LIMITS = "ulimit -u and -v, or those of a container, say how many there may be"
TAKES_MEMORY = "--help ends with what takes memory"


def finish(name: str, body: Callable[[], int], *, debug: bool) -> NoReturn:
    """Run the body of a command, show the error that ends it, if one does, and exit."""
    _open_standard_files()
    number: int | None = None
    code = ExitCode.OK
    try:
        code = _outcome(name, body, debug=debug)
        _signals.end_at_once()
    except KeyboardInterrupt as error:  # `Ended`, or Python's own before we listened
        number = getattr(error, "number", signal.SIGINT)
    if number := _signals.asked() or number:
        gc.collect()  # the frames of what was broken off, and with them its temporary files
        _signals.die_of(number)
    if code == ExitCode.BROKEN_PIPE:
        # Python ignores SIGPIPE; a well-behaved filter dies of it, and says nothing
        gc.collect()
        _signals.die_of(signal.SIGPIPE)
    sys.exit(code)


def _outcome(name: str, body: Callable[[], int], *, debug: bool) -> int:
    """Return the exit status; errors are shown, what is left for stdout is written."""
    try:
        _signals.listen()
        code = body()
        sys.stdout.flush()
        return code
    except Exception as error:
        if _signals.asked():  # what an interruption became on its way through a library
            return ExitCode.FAILED
        if _is_broken_pipe(error):
            _drop_stdout()
            return ExitCode.BROKEN_PIPE
        return _report(name, as_dial_error(error), debug=debug)


def _open_standard_files() -> None:
    """Give stdin, stdout and stderr that the caller has closed (<&- >&- 2>&-) something to be.

    Else the next file that is opened would take their number. Nothing comes from this stdin,
    writing to this stdout is an error, what goes to this stderr is not seen.

    A pipe or terminal that another program, such as Node, has told not to wait is told to wait:
    else what its reader is slow to take, or its writer to give, would be lost.
    """
    sys.stdin = sys.stdin or _opened(0, os.O_RDONLY, "r")
    sys.stdout = sys.stdout or _opened(1, os.O_RDONLY, "w")
    sys.stderr = sys.stderr or _opened(2, os.O_WRONLY, "w")
    for number in (0, 1, 2):
        os.set_blocking(number, True)
    if isinstance(sys.stdout, io.TextIOWrapper):  # what the locale has no letters for
        sys.stdout.reconfigure(errors="backslashreplace")


def _opened(number: int, flags: int, mode: str) -> Any:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return open(number, mode, closefd=False, errors="backslashreplace")


def as_dial_error(error: Exception) -> DialError:
    """Return what the user is told of an error."""
    if isinstance(error, DialError):
        return error
    if not getattr(error, "filename", None) and (what := short_of(error)):
        told = ENFORCED.sub("", getattr(error, "strerror", None) or first_line(error))
        return DialError(f"{what}: {told}", hint=TAKES_MEMORY if what == MEMORY else LIMITS)
    if isinstance(error, OSError):
        from dialtools.streams.full import FULL
        from dialtools.streams.scraps import known_as

        # files are named where they are written (`streams.full.naming`); stdout has no such place
        of_stdout = error.errno in (errno.EBADF, *FULL)
        named = isinstance(error.filename, str | os.PathLike) and known_as(Path(error.filename))
        where = named or error.filename or ("stdout" if of_stdout else None)
        return DialError(error.strerror or str(error), where=where)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return DialError(what, hint="this looks like a defect; --debug shows where")


def _report(name: str, error: DialError, *, debug: bool) -> int:
    if debug:
        for line in traceback.format_exc().splitlines():
            sys.stderr.write(f"{printable(line)}\n")
    hint = f"  {printable(error.hint, LONGEST)}\n" if error.hint else ""
    with suppress(OSError):  # nobody is left to tell
        sys.stderr.write(f"{name}: {printable(str(error), LONGEST)}\n{hint}")
    _drop_stdout()
    return error.exit_code


def _drop_stdout() -> None:
    """Write what waits for stdout; if it cannot be written, forget it: one error was told."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_broken_pipe(error: Exception) -> bool:
    # pyarrow raises its own OSError, without errno
    return isinstance(error, OSError) and (
        error.errno == errno.EPIPE or "Broken pipe" in str(error)
    )
