"""What the columns of a table of turns probably hold, by the names that exports give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from dialtools.corpora.options import LogOptions
from dialtools.shown import QUOTED

LIKELY = {
    "dialogue_column": "dialogue_id dialog_id conversation_id conversation conv_id conv dialogue "
    "dialog chat_id chat session_id session thread_id thread ticket_id ticket "
    "case_id call_id interaction_id ticket_no ticket_number ticket_nr case_no "
    "case_number contact_id issue_id incident_id request_id message_tree_id case room_id "
    "channel_id",
    "text_column": "text message body content utterance message_text message_body msg txt comment "
    "comment_body transcript utterance_text",
    "speaker_column": "speaker role speaker_role sender_role author_role sender_type author_type "
    "participant_role sender author participant from who direction user speaker_id speaker_idx "
    "sender_id author_id",
    "reply_column": "reply_to reply_to_id in_reply_to parent_id parent_message_id parent",
    "order_column": "turn turn_id turn_index turn_idx turn_number utterance_idx created_at "
    "timestamp sent_at time date_time date ts start_time start begin_time position sequence",
}
"""Names of what each flag asks for, those that say it most clearly first."""
NEEDED = ("dialogue_column", "text_column")
"""What no table of turns can do without."""


def flags(header: Collection[str], logs: LogOptions, *, in_part: bool = False) -> str | None:
    """Return the flags that read a table with this header; None if its names do not tell.

    A flag that was given is not questioned; if no column has its name, nothing is proposed.

    Args:
        in_part: propose what is told, if anything is, and that the rest is named.
    """
    proposed: list[str] = []
    unknown: list[str] = []
    for option, names in LIKELY.items():
        given = getattr(logs, option)
        column = given or _first(names.split(), header)
        flag = f"--{option.replace('_', '-')}"
        if column in header:
            proposed += [] if given else [f"{flag} {shlex.quote(str(column))}"]
        elif given or (option in NEEDED and not in_part):
            return None
        elif option in NEEDED:
            unknown.append(f"{flag} NAME")
    return " ".join([*proposed, *unknown]) if proposed else None


def text_name(header: Collection[str]) -> str | None:
    """Return the column that probably holds the texts."""
    return _first(LIKELY["text_column"].split(), header)


def text_flag(header: Collection[str]) -> str | None:
    """Return the flag of a command for texts that reads the column which probably holds them."""
    column = text_name(header)
    return None if column is None else f"by its name: --field {shlex.quote(column)}"


def _first(names: Collection[str], header: Collection[str]) -> str | None:
    """Return the column of the first of these names, however it writes it."""
    columns = {_plain(column): column for column in header if len(column) <= QUOTED}
    return next((columns[key] for name in names if (key := _plain(name)) in columns), None)


def _plain(name: str) -> str:
    """Return a name without its marks and brackets: `Comment (HTML)` is `comment`."""
    return re.sub(r"\([^()]*\)|[\s_.#-]", "", name.casefold())
