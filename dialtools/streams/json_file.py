"""A JSON file of a user, read whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from dialtools.errors import DataError
from dialtools.streams import bounds

BLOCK_BYTES = 1 << 20


def read_json(path: str) -> Any:
    """Return what a JSON file says; what is longer than --bounds file, such as a device, is none.

    Raises:
        DataError: if it cannot be read, is too long, nests too deep, or is no JSON.
    """
    content, most = bytearray(), bounds.most("file")
    try:
        with Path(path).open("rb") as file:
            while len(content) <= most and (block := file.read(BLOCK_BYTES)):
                content += block
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None
    if len(content) > most:
        raise bounds.beyond("file", "longer than", where=path)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"not JSON: {error}", where=path) from None
