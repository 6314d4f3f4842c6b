"""README's pictures show commands that run, ask no network, and are small."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from all_commands import COMMANDS

from dialtools.cli._parser import raw_values

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "bench" / "pictures.py")
assert SPEC and SPEC.loader
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("line", pictures.SESSION)
def test_a_command_that_is_shown_is_one_that_runs(line: str):
    words = shlex.split(line)
    title = next(" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS)
    command = COMMANDS[title]
    command.resolve(raw_values(command.click_command(), words[len(title.split()) :], command.specs))
    texts = ElementTree.parse(ROOT / "docs" / "terminal.svg").getroot().iter()
    shown = "".join(part.text or "" for part in texts).replace("\xa0", " ")
    assert line in shown, "make pictures"


def test_a_picture_is_small_and_asks_no_network():
    for name in ("pipe", "terminal"):
        picture = (ROOT / "docs" / f"{name}.svg").read_text()
        assert len(picture) < 60_000
        assert set(re.findall(r"https?://[^\"]+", picture)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"@import|@font-face|url\((?!#)", picture)
