"""The least values that options take, told in a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest


def check_least(options: type, least: Mapping[str, tuple[str, str]]) -> None:
    """Parse of each option a value that it just takes, and one that it just does not."""
    fields = {field.name: field for field in dataclasses.fields(options)}
    for name, (taken, refused) in least.items():
        parse = fields[name].metadata["parse"]
        parse(taken)
        with pytest.raises(ValueError):
            parse(refused)
