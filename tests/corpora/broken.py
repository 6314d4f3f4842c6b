"""Files that a reader refuses, and what it says of them, written as they would lie on a disk."""

from __future__ import annotations

from collections.abc import Mapping

Broken = tuple[str, dict[str, str], str]


def broken_files(text: str, stand_ins: Mapping[str, str] | None = None) -> list[Broken]:
    r"""Return corpus, files {name: content} and message of each paragraph of a text.

    A paragraph is `corpus file`, the lines of the file, for each other file `+ file` and its lines,
    then `-> message` (over several lines, if it is long). A tab is written \t.

    Args:
        stand_ins: words of the contents, and what is to stand in their place.
    """
    return [_paragraph(part.strip("\n"), stand_ins or {}) for part in text.strip().split("\n\n")]


def _paragraph(text: str, stand_ins: Mapping[str, str]) -> Broken:
    head, *lines = text.splitlines()
    corpus, name = head.split()
    files: dict[str, str] = {name: ""}
    message: list[str] = []
    for line in lines:
        if line.startswith("-> "):
            message.append(line.removeprefix("-> "))
        elif line.startswith("+ "):
            name = line.removeprefix("+ ")
            files[name] = ""
        else:
            for word, content in stand_ins.items():
                line = line.replace(word, content)
            files[name] += line.replace("\\t", "\t") + "\n"
    return corpus, files, " ".join(message)
