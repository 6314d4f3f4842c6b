"""Chats with language models in the dialects of their makers, as messages of role and content.

ShareGPT has `from` and `value`; Vercel's AI SDK and Gemini have `parts` for `content`; LangChain a
`type`, and the message within `data` or `kwargs`.
"""

from __future__ import annotations

from typing import Any

CHATS = ("messages", "conversations", "conversation", "chat", "thread", "contents")
"""Fields that hold a chat."""
CALLS = (
    ("inputs", "outputs"),
    ("input", "output"),
    ("request_body", "response_body"),
    ("request", "response"),
    ("messages", "response"),
)
"""Where logs of calls of models have what one was given, and what it answered."""
CALL = "a call of a model, which has answered in response"
"""Of messages that are no whole chat."""
SYSTEM, ASSISTANT, USER = "system", "assistant", "user"
ROLES = {
    "human": USER,
    "prompter": USER,
    "humanmessage": USER,
    "ai": ASSISTANT,
    "aimessage": ASSISTANT,
    "aimessagechunk": ASSISTANT,
    "gpt": ASSISTANT,
    "chatgpt": ASSISTANT,
    "bing": ASSISTANT,
    "bard": ASSISTANT,
    "model": ASSISTANT,
    "systemmessage": SYSTEM,
    "toolmessage": "tool",
    "functionmessage": "function",
    "observation": "tool",
    "function_call": "tool",
    "function_call_output": "tool",
}
"""What others call the roles; other names are kept."""
OF_TYPE = {*ROLES, SYSTEM, "tool", "function"}
"""Types of messages that are roles."""


def messages(turns: list[Any]) -> list[Any]:
    """Return the turns of a chat with `role` and `content`; what is none of a dialect as it is."""
    return [_message(turn) if isinstance(turn, dict) else turn for turn in turns]


def _message(turn: dict[str, Any]) -> dict[str, Any]:
    if "role" in turn:
        if "content" in turn or "parts" not in turn:
            return turn
        rest = {key: value for key, value in turn.items() if key != "parts"}
        return {**rest, "role": role(turn["role"]), "content": turn["parts"]}
    if "from" in turn and "value" in turn:
        rest = {key: value for key, value in turn.items() if key not in ("from", "value")}
        return {"role": role(turn["from"]), "content": turn["value"], **rest}
    for inner in ("data", "kwargs"):
        if isinstance(turn.get(inner), dict) and (told := _type_of(turn)):
            return {"role": told, **_without_type(turn[inner])}
    told = _type_of(turn)
    return turn if told is None else {"role": told, **_without_type(turn)}


def _without_type(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key != "type"}


def _type_of(turn: dict[str, Any]) -> str | None:
    """Return the role that a type tells; a serialised object's class stands last in its id."""
    name = turn.get("type")
    if name == "constructor" and isinstance(turn.get("id"), list) and turn["id"]:
        name = turn["id"][-1]
    return role(name) if isinstance(name, str) and name.casefold() in OF_TYPE else None


def role(name: Any) -> Any:
    """Return what we call a role."""
    return ROLES.get(name.casefold(), name) if isinstance(name, str) else name
