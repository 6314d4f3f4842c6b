"""Who speaks, and what stands for an utterance that is empty."""

from __future__ import annotations

from typing import Any

# plain integers, not an enumeration: they are hashed with every turn, and stored as bytes
UNKNOWN, USER, SYSTEM = 0, 1, 2
USER_NAMES = ("user", "usr", "customer", "driver", "human", "prompter")

EMPTY = "."
"""Stands for an empty text, which must not reach the encoder."""


def is_user(speaker: str | None) -> bool:
    """Tell whether a speaker's name means the user."""
    return speaker is not None and speaker.lower() in USER_NAMES


def role_of(speaker: Any) -> int:
    """Return the role of a speaker by name: everybody who is named and no user is the system."""
    if not isinstance(speaker, str) or not speaker.strip():
        return UNKNOWN
    return USER if is_user(speaker) else SYSTEM


def not_empty(text: str) -> str:
    """Return a text as the encoder may have it: blanks alone are `EMPTY`."""
    return text if text.strip() else EMPTY
