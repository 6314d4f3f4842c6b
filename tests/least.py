"""What an options class is asked for in every room: least values, and what only changes a run."""

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


OF_EVERY_RUN = {
    *("bounds", "color", "config", "debug", "on_error", "output", "overwrite"),
    *("print_config", "quiet", "verbose"),
}


def own_hows(options: type) -> set[str]:
    """Return the options of a command alone that do not change what it makes (`how`)."""
    every = {field.name for field in dataclasses.fields(options) if field.metadata.get("how")}
    assert every >= OF_EVERY_RUN
    return every - OF_EVERY_RUN
