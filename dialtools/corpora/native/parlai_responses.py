"""ParlAI's text format as response selection.

Of each example: the episode so far, its first label and its candidates. https://parl.ai/docs; see
`parlai`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native import parlai
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, stated, turn


def raw(files: Files) -> Iterator[Raw]:
    """Yield each example with those before it in its episode."""
    for episode in parlai.raw(files):
        examples = [(number, entry) for number, entry in episode.value if entry]
        for n, (number, _) in enumerate(examples, 1):
            yield episode._replace(where=episode.where._replace(line=number), value=examples[:n])


def record(raw: Raw) -> dict[str, Any]:
    """Return history, response and candidates, if there are any."""
    *before, (number, last) = raw.value
    turns = parlai.record(raw._replace(value=before))["turns"] if before else []
    text, label = parlai.text_and_label(number, last)
    if not label.strip():
        raise Unexpected(f"line {number}: expected labels:, the response")
    history = [{k: v for k, v in each.items() if k != "candidates"} for each in turns]
    history += [turn("user", text)] if text.strip() else []
    return stated(
        split=raw.split,
        history=history,
        speaker="system",
        response=label,
        candidates=last.get(parlai.CANDIDATES),
    )
