"""Lines of `a __eou__ b __eou__`, a dialogue each: DailyDialog's dialogues_text.txt and its like.

The published zip has its splits in further zips, which are read in place of the whole.
Where `__eot__` stands too, as in Ubuntu's, it ends a turn, and `__eou__` a sentence of that turn.
https://arxiv.org/abs/1710.03957, CC BY-NC-SA 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, dialogue, text_lines, turn

END_OF_TURN, END_OF_UTTERANCE = "__eot__", "__eou__"
WHOLE = "dialogues_text.txt"
SPLITS = ("train", "validation", "test")
PARTS = tuple(f"dialogues_{part}.txt" for part in SPLITS)


def raw(files: Files) -> Iterator[Raw]:
    """Yield the lines; of a whole that lies beside its parts, the parts, which tell the splits."""
    packed = files.names(*(f"{part}.zip" for part in SPLITS))
    if files.single or files.names(*PARTS) or len(packed) < len(SPLITS):
        yield from _lines(files)
        return
    for name in packed:
        with files.within(name) as part:
            yield from _lines(part)


def _lines(files: Files) -> Iterator[Raw]:
    return text_lines(*(PARTS if files.names(*PARTS) else (WHOLE,)))(files)


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; who speaks is not told."""
    end = END_OF_TURN if END_OF_TURN in raw.value else END_OF_UTTERANCE
    texts = [_joined(text) for text in raw.value.split(end)]
    return dialogue(raw, [turn(None, text) for text in texts if text])


def _joined(text: str) -> str:
    return re.sub(rf"\s*{END_OF_UTTERANCE}\s*", " ", text).strip()
