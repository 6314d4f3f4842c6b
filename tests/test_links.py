"""A link between our pages leads somewhere: to a file that is there, to a heading that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "bench/README.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
ASIDE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
NAMED = re.compile(r"^\[([^\]]+)\]: .*$", re.MULTILINE)
USED = re.compile(r"\[([^\]\[]+)\](?![\[(])")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as forges make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(page: Path):
    text = ASIDE.sub("", page.read_text(encoding="utf-8"))
    links = [inline or named for inline, named in LINK.findall(text)]
    for link in (link for link in links if not link.startswith(("http", "mailto:"))):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_by_name_has_its_target_on_the_page(page: Path):
    text = ASIDE.sub("", page.read_text(encoding="utf-8"))
    named = set(NAMED.findall(text))
    if named:
        assert set(USED.findall(NAMED.sub("", text))) == named
