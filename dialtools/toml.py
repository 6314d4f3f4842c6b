"""TOML files of users: configurations, suites, plans."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dialtools.errors import ConfigError

MOST_BYTES = 16 << 20


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file; what is longer than 16 MiB, such as a device, is none.

    Raises:
        OSError: if it cannot be read.
        ConfigError: if it is not TOML.
    """
    with Path(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ConfigError(f"larger than {MOST_BYTES >> 20} MiB, so no configuration", where=path)
    try:
        return tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except RecursionError:
        raise ConfigError("not TOML: nested too deep", where=path) from None
    except ValueError as error:  # of the syntax, of bytes that are not UTF-8, of endless digits
        raise ConfigError(f"not TOML: {error}", where=path) from None
