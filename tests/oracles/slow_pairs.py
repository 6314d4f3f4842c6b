"""Pairs by the definition, turn by turn."""

from __future__ import annotations

from typing import Any


def places(turns: list[str], windows: tuple[int, ...], *, short: bool = False) -> list[tuple]:
    """Where the context of each pair begins, and its response: of every full window.

    With `short`, what there is of one at the beginning. What several windows give is one pair.
    """
    found = []
    for r in range(1, len(turns)):
        starts = [r - window if window else 0 for window in windows]
        starts = [max(0, start) for start in starts if start >= 0 or short]
        found += [(start, r) for start in dict.fromkeys(starts)]
    return found


def pairs(
    turns: list[str], windows: tuple[int, ...], min_words: int, *, short: bool = False
) -> list[tuple[list[str], str]]:
    """Every context and its response, filtered after pairing."""
    turns = [text for text in turns if text]  # what has no text is no turn
    found = [(turns[s:r], turns[r]) for s, r in places(turns, windows, short=short)]
    return [
        (context, response)
        for context, response in found
        if all(len(text.split()) >= min_words for text in (*context, response))
        and context != [response]
    ]


def spoken(talk: dict[str, Any]) -> dict[str, Any]:
    """A dialogue without its turns that have no text."""
    return talk | {"turns": [turn for turn in talk["turns"] if turn["text"]]}


def records(
    talk: dict[str, Any], windows: tuple[int, ...], *, follow: int = 0
) -> list[dict[str, Any]]:
    """What is written of every pair of a dialogue; what is not known is left out."""
    turns = spoken(talk)["turns"]
    texts = [turn["text"] for turn in turns]
    said = [turn.get("speaker") for turn in turns]
    made = []
    for start, r in places(texts, windows):
        row = {
            "context": texts[start:r],
            "response": texts[r],
            "window": r - start,
            "kind": "consecutive",
            "dialogue_id": talk.get("id"),
            "turn": r,
            "speakers": said[start : r + 1] if any(said) else None,
            "follow": texts[r + 1 : r + 1 + follow] if follow else None,
            "domain": talk.get("domain"),
        }
        made.append({name: value for name, value in row.items() if value is not None})
    return made
