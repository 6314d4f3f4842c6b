"""How a command ends: the one place where errors are shown and turned into exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from dialtools.errors import ConfigError, DialError, ExitCode, nearest
from dialtools.shown import LONGEST, printable


def finish(name: str, body: Callable[[], int], *, debug: bool) -> NoReturn:
    """Run the body of a command, show the error that ends it, if one does, and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stdin is None:  # closed by the caller (<&-): there is nothing to read
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - open to the end
    try:
        code = body()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        code = done.exit_code
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception as error:
        if _is_broken_pipe(error):
            _die_of_broken_pipe()
        code = _report(name, _as_dial_error(error, name), debug=debug)
    _exit(code)


def _as_dial_error(error: Exception, name: str) -> DialError:
    """Return what the user is told of an error."""
    if isinstance(error, DialError):
        return error
    if isinstance(error, click.UsageError):
        return ConfigError(_message(error), hint=_near(error) or f"see {name} --help")
    if isinstance(error, OSError):
        return DialError(error.strerror or str(error), where=error.filename)
    first_line = f"{type(error).__name__}: {error}".splitlines()[0]
    return DialError(first_line, hint="this looks like a defect; --debug shows where")


def _report(name: str, error: DialError, *, debug: bool) -> int:
    if debug:
        for line in traceback.format_exc().splitlines():
            sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.write(f"{name}: {printable(str(error), LONGEST)}\n")
    if error.hint:
        sys.stderr.write(f"  {printable(error.hint, LONGEST)}\n")
    return error.exit_code


def _message(error: click.UsageError) -> str:
    """Return click's message in our voice, without its suggestions: ours stand in the next line."""
    message = error.message[:1].lower() + error.message[1:]
    return message.rstrip(".").split(" (Possible")[0].split(" Did you mean")[0]


def _near(error: click.UsageError) -> str | None:
    close = getattr(error, "possibilities", None)
    return nearest(getattr(error, "option_name", ""), list(close)) if close else None


def _exit(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _die_of_broken_pipe()
    sys.exit(int(code))


def _is_broken_pipe(error: Exception) -> bool:
    # pyarrow raises its own OSError, without errno
    return isinstance(error, OSError) and (
        error.errno == errno.EPIPE or "Broken pipe" in str(error)
    )


def _die_of_broken_pipe() -> NoReturn:
    # Python ignores SIGPIPE; a well-behaved filter dies of it, and says nothing
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    sys.exit(ExitCode.BROKEN_PIPE)


def _terminate(_number: int, _frame: object) -> NoReturn:
    sys.exit(ExitCode.TERMINATED)  # unwinds, so that temporary files go
