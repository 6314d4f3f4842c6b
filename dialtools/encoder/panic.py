"""A panic of a library that is written in Rust becomes an error like others."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from dialtools.shown import first_line


def is_one(error: BaseException) -> bool:
    """Tell whether an error is a panic, which no module offers by name."""
    return type(error).__name__ == "PanicException"


@contextmanager
def as_error() -> Generator[None]:
    """Turn a panic into ValueError: it is no `Exception`, and tells of itself on stderr.

    Raises:
        ValueError: with what the library says.
    """
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    except BaseException as error:
        if not is_one(error):
            raise
        raise ValueError(first_line(error)) from None
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
