"""Test data as a person writes it: JSON, and JSON Lines."""

from __future__ import annotations

import json
from typing import Any


def json_value(text: str) -> Any:
    return json.loads(text)


def json_lines(text: str) -> list[Any]:
    """Return the value of each line that is not blank."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]
