"""Chats with language models in the dialects of their makers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from at_work import ended

from dialtools.corpora.chat import messages
from dialtools.corpora.dialogues import called, identity_of, key_of_turns
from dialtools.corpora.fields import BadRecord

TALK = [("user", "is it open today?"), ("system", "until six"), ("user", "thanks")]
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "is it open today?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]},
    {"role": "tool", "content": '{"open": true}'},
    {"role": "assistant", "content": [{"type": "text", "text": "until six"}]},
    {"role": "user", "content": "thanks"},
]
SHAREGPT = [
    {"from": "system", "value": "Be brief."},
    {"from": "human", "value": "is it open today?"},
    {"from": "function_call", "value": '{"name": "hours"}'},
    {"from": "observation", "value": '{"open": true}'},
    {"from": "gpt", "value": "until six"},
    {"from": "human", "value": "thanks"},
]
LANGCHAIN = [
    {"type": "system", "content": "Be brief."},
    {"type": "human", "content": "is it open today?"},
    {"type": "ai", "content": "", "tool_calls": [{"id": "c1"}]},
    {"type": "tool", "content": '{"open": true}', "tool_call_id": "c1"},
    {"type": "ai", "content": "until six"},
    {"type": "human", "content": "thanks"},
]
STORED = [{"type": m["type"], "data": m} for m in LANGCHAIN]
CLASSES = {"system": "System", "human": "Human", "ai": "AI", "tool": "Tool"}
TRACED = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", f"{CLASSES[m['type']]}Message"],
        "kwargs": {"content": m["content"]},
    }
    for m in LANGCHAIN
]
PARTS = [
    {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "text": "is it open today?"}]},
    {"role": "assistant", "parts": [{"type": "tool-hours", "output": {"open": True}}]},
    {"role": "tool", "parts": []},
    {
        "role": "assistant",
        "parts": [{"type": "reasoning", "text": "It is."}, {"type": "text", "text": "until six"}],
    },
    {"role": "user", "parts": [{"type": "text", "text": "thanks"}]},
]
GEMINI = [
    {"role": "system", "parts": [{"text": "Be brief."}]},
    {"role": "user", "parts": [{"text": "is it open today?"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "hours", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "hours", "response": {}}}]},
    {"role": "model", "parts": [{"text": "It is.", "thought": True}, {"text": "until six"}]},
    {"role": "user", "parts": [{"text": "thanks"}]},
]
BEDROCK = [
    {"role": "system", "content": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]},
    {"role": "user", "content": [{"text": "is it open today?"}]},
    {"role": "assistant", "content": [{"toolUse": {"name": "hours", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"content": [{"text": "open"}]}}]},
    {"role": "assistant", "content": "<think>\nIt is.\n</think>\n\nuntil six"},
    {"role": "user", "content": [{"text": "thanks"}]},
]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": OPENAI},
        {"messages": PARTS},
        {"contents": GEMINI},
        {"messages": BEDROCK},
        {"messages": LANGCHAIN},
        {"messages": STORED},
        {"messages": TRACED},
        {"conversations": SHAREGPT},
        {"conversation": OPENAI},
        {"chat": OPENAI},
    ],
    ids=[
        "openai",
        "vercel",
        "gemini",
        "bedrock",
        "langchain",
        "stored by langchain",
        "traced by langchain",
        "sharegpt",
        "one",
        "chat",
    ],
)
def test_a_chat_reads_alike_in_every_dialect_and_prompts_tools_and_thoughts_are_no_turns(
    scripts: Path, tmp_path: Path, record
):
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([record], indent=1))
    run = ended(scripts / "dial-pairs", "--kind", "dialogue", path, text=True)
    turns = json.loads(run.stdout)["turns"]
    assert [(turn["speaker"], turn["text"]) for turn in turns] == TALK
    assert "dropped 3" in run.stderr and "1 instruction" in run.stderr, run.stderr


def test_a_conversation_beside_a_text_is_whose_text_it_is(scripts: Path, tmp_path: Path):
    path = tmp_path / "log.jsonl"
    for name in ("conversation", "dialog"):
        path.write_text(json.dumps({name: 7, "text": "is it open?"}) + "\n")
        for line in ("dial-freq", "dial-augment", "dial-pairs --kind utterance"):
            command, *flags = line.split()
            run = subprocess.run([scripts / command, "-q", *flags, path], capture_output=True)
            assert (run.returncode, json.loads(run.stdout)["text"]) == (0, "is it open?"), line
    path.write_text('{"conversation": 7, "message": "is it open?"}\n')
    run = subprocess.run([scripts / "dial-pairs", "-q", path], capture_output=True, text=True)
    flags = "--dialogue-column conversation --text-column message"
    assert f'log.jsonl:1: no "turns"\n  {flags} reads a turn a row\n' in run.stderr
    path.write_text('{"dialog": ["is it open?", "until six"]}\n')
    run = subprocess.run([scripts / "dial-pairs", "-q", path], capture_output=True)
    assert json.loads(run.stdout)["response"] == "until six"


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"conversation", "dialog", "turns"}, "turns"),
        ({"conversation", "model"}, "conversation"),
        ({"dialog", "act"}, "dialog"),
        ({"chat", "topic"}, "chat"),
        ({"dialog", "utterance"}, None),
        ({"conversation", "response"}, None),
        ({"context"}, None),
    ],
)
def test_the_field_of_turns_is_told_by_the_names_beside_it(fields: set[str], key: str | None):
    assert key_of_turns(fields) == key


def test_a_list_of_speakers_beside_texts_tells_who_says_each(scripts: Path, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    texts = {"dialogue": ["a", "b", None, "c"], "speakers": ["Kim", None, "Lee", "Kim"]}
    people = {"dialogue": ["a", "b", "c"], "speakers": ["Kim", "Lee"]}
    log.write_text(json.dumps(texts) + "\n" + json.dumps(people) + "\n")

    def told(*flags: str) -> list[dict[str, Any]]:
        done = ended(scripts / "dial-pairs", *flags, log)
        return [json.loads(record) for record in done.stdout.splitlines()]

    first, second = told("--window", "2")
    assert (first["speakers"], "speakers" in second) == (["Kim", None, "Kim"], False)
    talk, _ = told("--kind", "dialogue")
    assert [turn.get("speaker") for turn in talk["turns"]] == ["Kim", None, "Kim"]


def test_a_speaker_may_be_a_number(scripts: Path, tmp_path: Path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"turns": [{"speaker": 0, "utterance": "a"}, {"speaker": 1.0, "text": "b"}]}')
    for flags, speakers in (
        ([], ["0", "1"]),
        (["--speaker-map", "0=user,1=system"], ["user", "system"]),
    ):
        run = subprocess.run([scripts / "dial-pairs", *flags, path], capture_output=True)
        assert json.loads(run.stdout)["speakers"] == speakers


def test_a_sender_speaks_by_role_before_name_and_an_object_tells_no_name(
    scripts: Path, tmp_path: Path
):
    path = tmp_path / "log.json"
    convai = {"sender": "participant2", "sender_class": "Bot", "text": "hi"}
    turns = [convai, {"sender": "kim", "text": "a"}, {"sender": {"name": "kim"}, "text": "b"}]
    path.write_text(json.dumps([{"dialog_id": "0x1", "dialog": turns}]))
    run = subprocess.run([scripts / "dial-pairs", "--window", "2", path], capture_output=True)
    assert json.loads(run.stdout)["speakers"] == ["Bot", "kim", None]


@pytest.mark.parametrize("name", ["message", "body"])
def test_the_text_of_a_turn_may_be_called_message_or_body(scripts: Path, tmp_path: Path, name: str):
    turns = [{"from": "agent", name: "Hi &amp; hello"}, {"from": "kim", name: "help"}]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"messages": turns}))

    def records(command: str, *flags: str) -> list[dict[str, Any]]:
        lines = subprocess.check_output([scripts / command, *flags, path])
        return [*map(json.loads, lines.splitlines())]

    (pair,) = records("dial-pairs", "--html")
    assert (pair["context"], pair["response"]) == (["Hi & hello"], "help")
    assert pair["speakers"] == ["agent", "kim"]
    assert [row["text"] for row in records("dial-freq")] == ["help", "hi &amp; hello"]
    said = records("dial-pairs", "--kind", "utterance")
    assert [(row["text"], row["speaker"]) for row in said][1] == ("help", "kim")
    assert name not in said[0] and "from" not in said[0]


def test_what_mongodb_wraps_is_read_as_what_it_wraps(scripts: Path, tmp_path: Path):
    path = tmp_path / "log.jsonl"
    times = ["2024-01-01T00:00:00Z", {"$numberLong": "1704068000000"}]
    said = {"speaker": {"$oid": "5a"}}
    turns = [
        {"text": text, "time": {"$date": t}, **said} for text, t in zip("ab", times, strict=True)
    ]
    path.write_text(json.dumps({"session_id": {"$oid": "5f"}, "turns": turns}))
    flags = ["--session-gap", "1h", "--speaker-map", "5a=user"]
    run = subprocess.run([scripts / "dial-pairs", *flags, path], capture_output=True)
    (pair,) = map(json.loads, run.stdout.splitlines())
    assert (pair["dialogue_id"], pair["speakers"]) == ("5f", ["user", "user"])
    assert called({"$numberLong": "7"}) == "7" and called({"a": "7"}) is None
    for value in ({"name": "a"}, {"$a": {"b": 1}}, {"$a": 1, "$b": 2}):
        with pytest.raises(BadRecord, match="id: expected a string, got an object"):
            identity_of(value, "id")


def test_a_dialogue_is_called_by_a_text_or_a_number():
    assert (identity_of(7, "id"), identity_of("a", "id"), identity_of(None, "id")) == (
        "7",
        "a",
        None,
    )
    with pytest.raises(BadRecord, match="id: expected"):
        identity_of(["a"], "id")


def test_what_is_of_no_dialect_stays_as_it_is():
    odd = [
        "hello",
        5,
        {"text": "a"},
        {"from": "Kim", "text": "b"},
        {"type": "message", "text": "c"},
    ]
    odd += [{"type": ["ai"], "content": "d"}, {"type": "constructor", "id": [], "kwargs": {}}]
    assert messages(odd) == odd


def test_a_dialect_names_the_field_that_is_wrong(scripts: Path, tmp_path: Path):
    path = tmp_path / "chats.jsonl"
    path.write_text('{"conversations": [{"from": "human", "value": 5}]}\n')
    run = ended(scripts / "dial-pairs", path, code=1, text=True)
    assert run.stderr == (
        f"dial-pairs: {path}:1: conversations[0].content: expected a string, got a number\n"
    )
