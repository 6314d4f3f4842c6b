"""Dialogues as the options of logs want them, by what help says, a turn at a time."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

Talk = dict[str, Any]


def role(name: str | None, roles: dict[str, str]) -> str | None:
    """What --speaker-map calls a speaker: by the name, else a pattern, else as every other."""
    if name is None:
        return None
    own = name.casefold()
    patterns = [key for key in roles if "*" in key and key != "*" and fnmatchcase(own, key)]
    key = own if own in roles else next(iter(patterns), "*")
    return roles.get(key, name)


def is_dropped(name: str | None, roles: dict[str, str], dropped: set[str]) -> bool:
    """Whether --drop-speaker names a speaker, as the log or --speaker-map calls them."""
    called = role(name, roles)
    mapped = called if called != name else None
    return bool({(who or "").casefold() for who in (name, mapped)} & dropped - {""})


def without_quotes(text: str) -> str:
    """What is left of a text without the lines that begin with >."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))


def shaped(
    talk: Talk,
    *,
    roles: dict[str, str],
    dropped: set[str],
    gap: float | None,
    quotes: bool,
    merge: bool,
    lower: bool,
) -> list[Talk]:
    """The dialogues that one becomes: quotes, speakers, pauses, then neighbours of one speaker."""
    sessions: list[list[Talk]] = [[]]
    last = None
    for turn in talk["turns"]:
        text, name = turn["text"].strip(), turn.get("speaker")
        text = without_quotes(text).strip() if quotes else text
        if not text or is_dropped(name, roles, dropped):
            continue
        if gap is not None and last is not None and turn["time"] - last > gap:
            sessions.append([])
        last = turn["time"]
        who = role(name, roles)
        before = sessions[-1][-1] if sessions[-1] else None
        text = text.lower().replace("i\u0307", "i") if lower else text  # the Turkish capital's, too
        if merge and before and who is not None and before.get("speaker") == who:
            before["text"] += f" {text}"
        else:
            sessions[-1].append({"text": text} | ({} if who is None else {"speaker": who}))
    names = (talk["id"] if i == 1 else f"{talk['id']}#{i}" for i in range(1, len(sessions) + 1))
    return [{"id": name, "turns": turns} for name, turns in zip(names, sessions, strict=True)]
