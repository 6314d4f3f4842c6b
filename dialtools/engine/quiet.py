"""What a library says, kept from the user: one line of ours is enough."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def quiet(*, debug: bool) -> Generator[None]:
    """Show on stderr only what is written to `sys.stderr` by us, and nothing on stdout.

    Ray prints what befalls its nodes on stdout, has loggers of its own, and writes to stderr from
    C++, past Python.

    Args:
        debug: show all of it, on stderr.
    """
    if debug:
        with redirect_stdout(sys.stderr):
            yield
        return
    with (
        open(os.devnull, "w") as nowhere,
        os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace") as ours,
        warnings.catch_warnings(action="ignore"),
        redirect_stdout(nowhere),
        redirect_stderr(ours),
    ):
        logging.disable(logging.CRITICAL)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(ours.fileno(), 2)
            logging.disable(logging.NOTSET)
