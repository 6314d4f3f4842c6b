"""Exports of chat logs: told by their files, notices are no turns, roles by a rule."""

from __future__ import annotations

import gzip
import json
import subprocess
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from at_work import ended
from corpora import export_files as exports

from dialtools.corpora.published import corpus_chunks, corpus_of
from dialtools.errors import DataError
from dialtools.streams.policy import Policy

SIX = "until six at the shop in Rome"
GREETED = [("kim", "hello"), ("lee", "hi kim")]
PARTY = [("Kim", "see you at ten: ok?\nand bring\nthe tickets"), ("Lee", "happy new year")]
WELCOMED: list[tuple[str | None, str]] = [
    *[("user", "is it open?"), ("system", "until six")],
    *[("user", "thanks"), ("system", "welcome")],
]
TURNS: dict[str, tuple[exports.Files, dict[str, list[tuple[str | None, str]]]]] = {
    "chatgpt": (
        exports.CHATGPT,
        {
            "c-1": [("user", "is it open?"), ("system", SIX), ("user", "thanks")],
            "c-2": [],
        },
    ),
    "claude": (
        exports.CLAUDE,
        {
            "c-1": [("user", "is it open?"), ("system", "until six")],
            "c-2": [("user", "hi"), ("system", "hello")],
        },
    ),
    "slack": (
        exports.SLACK,
        {
            "support/2024-01-01": [("Kim", "morning all"), ("Lee Ng", "hi @here!")],
            "support/1704100001.000100": [
                ("Kim", "@Lee Ng the site & shop are down"),
                ("Lee Ng", "looking"),
                ("Max", "fixed"),
            ],
        },
    ),
    "teams": (
        exports.TEAMS,
        {
            "1": [
                ("Kim", "is it open?"),
                ("Lee", "until six\ntoday"),
                ("Kim", "a <b"),
                ("Kim", "and?"),
                ("Lee", "so?"),
            ],
            "5": [("Kim", "hello?")],
        },
    ),
    "discord": (
        exports.DISCORD,
        {"987": [("Kim", "@Lee @9 does it ship to Oslo? :wave: #34"), ("lee", "it does")]},
    ),
    "telegram": (exports.TELEGRAM, {"42": [("Kim", "see x.io please"), ("Lee", "done")]}),
    "messenger": (
        exports.MESSENGER,
        {
            "inbox/kim_1a": [
                ("Zoë", "ça va?"),
                ("Kim", "see you 😀"),
                ("Zoë", "10 €"),
                ("Kim", "ok"),
            ]
        },
    ),
    "whatsapp": (
        {"WhatsApp Chat with Lee.txt": exports.WHATSAPP["android, day first"]},
        {"WhatsApp Chat with Lee": PARTY},
    ),
    "irc": (dict([exports.IRC["irssi"]]), {"#help/2024-01-01": GREETED}),
    "zendesk": (
        exports.ZENDESK,
        {
            "7": [("user", "It does\xa0not start."), ("system", "Is it plugged\nin?")],
            "8": [("user", "It does not start.")],
        },
    ),
    "freshdesk": (
        exports.FRESHDESK,
        {
            "7": [
                ("user", "It does\nnot start."),
                ("system", "Is it plugged in?"),
                ("user", "No & yes"),
            ]
        },
    ),
    "intercom": (
        exports.INTERCOM,
        {"9": [("user", "Hi & hello,\nis it open?"), ("system", "It is."), (None, "thx")]},
    ),
    "amazon-connect": (
        exports.AMAZON_CONNECT,
        {
            "c-1": [("user", "is it open?"), ("system", "*until* six")],
            "c-2": [("system", "hello"), ("user", "thanks")],
            "c-3": [("system", "hello"), ("user", "hi")],
        },
    ),
    "rasa": (
        exports.RASA,
        {"kim": [("user", "fly to Rome"), ("system", "when?")], "kim/2": [("user", "hello again")]},
    ),
    "langsmith": (
        exports.LANGSMITH,
        {
            "kim": WELCOMED,
            "t-3": [("user", "hello"), ("system", "hi")],
            "t-4": [("user", "anyone?")],
        },
    ),
    "langfuse": (
        exports.LANGFUSE,
        {
            "kim": WELCOMED,
            "t-3": [("user", "hello"), ("system", "hi")],
            "t-8": [("user", "and"), ("system", "what?"), ("user", "now"), ("system", "no")],
            "lee": [
                *[("user", "open today?"), ("system", "yes")],
                *[("user", "and later?"), ("system", "no")],
            ],
        },
    ),
    "gong": (exports.GONG, {"7": [("1", "is it open?"), ("2", "until six")]}),
    "transcript": (
        {"call.txt": exports.TRANSCRIPT["otter"]},
        {"call": [("Kim Lee", "is it open?"), ("Max", "until six")]},
    ),
    "model-calls": (
        exports.CALLS,
        {
            "a": [("user", "hello")],
            "c": WELCOMED,
            "d": [("user", "a"), ("system", "b"), ("user", "c"), ("system", "welcome")],
            "f": [("user", "why?"), ("system", "so")],
            "g": [("user", "who?"), ("system", "me")],
        },
    ),
}


def said(records: list[dict[str, Any]]) -> dict[str, list[tuple[str | None, str]]]:
    return {r["id"]: [(t.get("speaker"), t["text"]) for t in r["turns"]] for r in records}


@pytest.mark.parametrize("corpus", TURNS)
def test_an_export_is_told_by_its_files_as_folder_zip_and_file(read, put, tmp_path, corpus: str):
    files, turns = TURNS[corpus]
    folder = put(files)
    assert corpus_of(str(folder), None) == corpus
    assert said(read(folder)) == turns
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as packed:
        for file in folder.rglob("*.*"):
            packed.write(file, file.relative_to(folder))
    assert said(read(tmp_path / "export.zip")) == turns
    if corpus not in ("slack", "messenger"):  # a file of theirs is not all
        known = (".json", ".jsonl", ".txt", ".log")
        (file,) = (file for file in folder.rglob("*") if file.suffix in known)
        assert corpus_of(str(file), None) == corpus
        assert said(read(file)) == turns


@pytest.mark.parametrize("corpus", ["chatgpt", "langfuse", "model-calls"])
def test_an_export_that_is_named_comes_on_stdin_too(put, scripts: Path, corpus: str):
    (content,) = (file.read_bytes() for file in put(TURNS[corpus][0]).rglob("*.json*"))
    line = [scripts / "dial-pairs", "-q", "--kind", "dialogue"]
    run = ended(*line, "--from", corpus, input=gzip.compress(content))
    assert said([*map(json.loads, run.stdout.splitlines())]) == {
        id: turns for id, turns in TURNS[corpus][1].items() if turns
    }
    broken = ended(*line, "--from", corpus, input=b'{"a"', code=1)
    assert broken.stderr.startswith(b"dial-pairs: <stdin>: not JSON")
    unnamed = ended(*line, input=content, code=1)
    assert f"\n  --from {corpus} reads it: ".encode() in unnamed.stderr


@pytest.mark.parametrize("call", exports.CALLS["gateway.jsonl"].splitlines()[:4])
def test_a_call_of_a_model_is_not_taken_for_a_whole_chat(scripts: Path, call: str):
    run = ended(
        scripts / "dial-pairs",
        input=call,
        code=1,
        text=True,
    )
    told, hint = run.stderr.splitlines()
    assert told.startswith("dial-pairs: <stdin>:1: ")
    assert "--from model-calls" in hint


LOGGED = {
    "langsmith": lambda given, answer, place, told: exports.run(
        place, told, given, outputs={"choices": [{"message": answer}]}
    ),
    "langfuse": lambda given, answer, place, told: exports.seen(place, told, given, answer),
    "model-calls": lambda given, answer, place, told: {
        **({"session_id": told} if told else {}),
        "request": {"model": "m", "messages": given},
        "response": {"choices": [{"message": answer}]},
    },
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("corpus", LOGGED)
def test_chats_are_as_they_were_whichever_way_their_calls_are_logged(
    read, put, corpus: str, named: bool
):
    draw = Random(7)
    chats = [
        exports.chatml(*(f"{n}.{i}" for i in range(2 * draw.randint(1, 5)))) for n in range(20)
    ]
    calls = [
        LOGGED[corpus](chat[:end], chat[end], f"t-{n}-{end}", f"s-{n}" if named else None)
        for n, chat in enumerate(chats)
        for end in range(1, len(chat), 2)
    ]
    draw.shuffle(calls)
    file = put({"log.jsonl": "".join(f"{json.dumps(call)}\n" for call in calls)}) / "log.jsonl"
    assert corpus_of(str(file), None) == corpus
    found = [[turn["text"] for turn in record["turns"]] for record in read(file)]
    assert sorted(found) == sorted([message["content"] for message in chat] for chat in chats)


def test_people_who_begin_alike_are_as_many_as_they_were(read, put):
    begun, on = exports.chatml("hi"), exports.chatml("hi", "yes?", "bye")
    calls = [exports.seen(f"t-{n}", None, begun, "yes?") for n in range(3)]
    calls.insert(1, exports.seen("t-on", None, on, "bye"))
    file = put({"log.jsonl": "".join(f"{json.dumps(call)}\n" for call in calls)}) / "log.jsonl"
    assert [len(record["turns"]) for record in read(file)] == [4, 2, 2]


def test_traces_of_langfuse_are_known_and_other_texts_of_sessions_are_not(read, put):
    own = {"session_id": "kim", "input": "hello", "output": "hi"}
    trace = {"id": "t-1", "timestamp": "2024-01-01", **own, "release": None, "tags": []}
    assert corpus_of(str(put({"a.jsonl": json.dumps(own)}) / "a.jsonl"), None) is None
    file = put({"traces.jsonl": json.dumps(trace)}) / "traces.jsonl"
    assert corpus_of(str(file), None) == "langfuse"
    assert said(read(file)) == {"kim": [("user", "hello"), ("system", "hi")]}


@pytest.mark.parametrize("form", exports.TRANSCRIPT)
def test_a_line_of_name_and_time_above_each_turn_is_known(read, put, form: str):
    file = put({"call.txt": exports.TRANSCRIPT[form]}) / "call.txt"
    assert corpus_of(str(file), None) == "transcript"
    (record,) = read(file)
    assert said([record]) == TURNS["transcript"][1]
    assert [turn["time"] for turn in record["turns"]] == [3, 3610]


def test_a_time_that_somebody_tells_is_no_line_of_who_speaks(put):
    text = "shall we meet?\nsee you at 10:30\nfine\n\nand you?\nat 10:40\nok\n"
    assert corpus_of(str(put({"call.txt": text}) / "call.txt"), None) is None


@pytest.mark.parametrize("form", exports.WHATSAPP)
def test_whatsapp_writes_dates_by_phone_and_country_and_they_are_the_same_times(
    read, put, form: str
):
    folder = put({"_chat.txt": exports.WHATSAPP[form]})
    (record,) = read(folder)
    assert said([record]) == {folder.name: PARTY}
    assert [turn["time"] for turn in record["turns"]] == [
        "2024-12-31T22:05:00",
        "2025-01-01T00:07:00",
    ]


def test_messages_of_unknown_calendars_and_halves_of_the_day_have_no_time(put, scripts: Path):
    log = (
        "31/02/1403،\u200f ۱۰:۰۵ ب.ظ. - Kim: a\n31/12/24, रात 10:05 - Kim: b\n"
        "31/12/24, kveld 22:05 - Kim: c\n31/12/24, kveld 10:05 - Kim: d\n"
    )
    chat = put({"_chat.txt": log}) / "_chat.txt"
    run = ended(scripts / "dial-pairs", "--kind", "dialogue", chat, text=True)
    turns = json.loads(run.stdout)["turns"]
    assert [turn.get("time", "")[11:] for turn in turns] == ["", "", "22:05:00", "10:05:00"]
    assert "2 turns without a time: unknown calendar" in run.stderr


@pytest.mark.parametrize(("half", "month"), [("PM", "01"), ("pm", "02"), ("p. m.", "02")])
def test_the_month_is_first_where_halves_are_written_as_americans_do(read, put, half, month):
    (record,) = read(put({"_chat.txt": f"1/2/24, 10:05 {half} - Kim: a\n"}) / "_chat.txt")
    assert record["turns"][0]["time"][5:7] == month


def test_a_copy_of_another_phone_s_messages_is_part_of_the_message_that_sends_it(read, put):
    copy = "look\n[12/31/24, 10:05:00 PM] Lee: hi\n[12/31/24, 10:06:00 PM] Kim: ho"
    log = f"31/12/24, 22:07 - Kim: {copy}\n31/12/24, 22:08 - Lee: so\n99/99/24, 22:08 - Max: x\n"
    (record,) = read(put({"_chat.txt": log}) / "_chat.txt", on_error="skip")
    assert said([record])["_chat"] == [("Kim", copy), ("Lee", "so")]
    assert record["turns"][0]["time"] == "2024-12-31T22:07:00"


def test_chats_of_an_iphone_are_called_by_the_folder_that_each_is_in(read, put):
    chat = exports.WHATSAPP["iphone, arabic"]
    folder = put({f"WhatsApp Chat - {who}/_chat.txt": chat for who in ("Kim", "Lee")})
    assert [*said(read(folder))] == ["WhatsApp Chat - Kim", "WhatsApp Chat - Lee"]


def test_the_latest_file_of_a_chat_may_stand_alone_and_times_are_seconds(read, put):
    files = {"kim/message_1.json": exports.MESSENGER["messages/inbox/kim_1a/message_1.json"]}
    (record,) = read(put(files) / "kim/message_1.json")
    assert said([record]) == {"inbox/kim_1a": [("Zoë", "10 €"), ("Kim", "ok")]}
    assert (record["domain"], record["turns"][0]["time"]) == ("Zoë Kim", 1704103500.25)


def test_encrypted_chats_of_messenger_are_a_file_each_and_their_texts_are_as_they_are(read, put):
    folder = put(
        {f"messages/{who}_7.json": exports.encrypted(f"{who}_7") for who in ("Ann", "Kim")}
    )
    turns = [("Zoë", "ça va?"), ("Kim", "Ã© is how é looks")]
    assert corpus_of(str(folder), None) == "messenger"
    assert said(read(folder)) == {"Ann_7": turns, "Kim_7": turns}
    both = put(exports.MESSENGER | {"messages/autofill_information.json": {"media": []}})
    assert said(read(both)) == {"Ann_7": turns, "Kim_7": turns} | TURNS["messenger"][1]
    (record,) = read(folder / "messages/Kim_7.json")
    assert said([record]) == {"Kim_7": turns} and record["turns"][0]["time"] == 1711913758.573


@pytest.mark.parametrize("tool", exports.SUBTITLES)
def test_a_transcript_is_read_with_its_speakers_whatever_it_is_called(read, put, tool: str):
    (record,) = read(put({"notes.txt": exports.SUBTITLES[tool]}) / "notes.txt")
    assert said([record])["notes"] == [("Kim Ng", "is it open now?"), ("Lee", "until six")]
    assert record["turns"][0]["time"] == 1.5
    folder = put({"notes.vtt": exports.SUBTITLES[tool], "own.txt": "hello\n"}, "several")
    assert read(folder, "subtitles") == [record]
    put({f"{day}/notes.vtt": exports.SUBTITLES[tool] for day in "ab"}, "several")
    assert [*said(read(folder, "subtitles"))] == ["a/notes", "b/notes", "notes"]


def test_a_dash_in_a_subtitle_is_another_turn_and_a_colon_in_one_cue_no_speaker(read, put):
    (record,) = read(put({"film.srt": exports.SRT}) / "film.srt")
    texts = ["is it open now?", "until six", "Note: thanks -5 --"]
    assert said([record])["film"] == [(None, text) for text in texts]


def test_lines_of_captions_that_roll_from_cue_to_cue_are_said_once(read, put):
    lines = ["hey there <i>Kim</i>", "in this video", "we do it", "we do it", "[Music]"]
    (record,) = read(put({"a.vtt": exports.rolling(lines)}) / "a.vtt")
    assert [turn["text"] for turn in record["turns"]] == ["hey there Kim", *lines[1:]]
    said_so = "".join(f"00:0{n}.000 --> 00:0{n}.900\nyes\n\n" for n in range(1, 9))
    (record,) = read(put({"b.vtt": f"WEBVTT\n\n{said_so}"}, "b") / "b.vtt")
    assert len(record["turns"]) == 8


def test_a_personal_export_of_teams_is_read_by_time(read, put):
    record, notes = read(put({"messages.json": exports.TEAMS_PERSONAL}))
    assert (record["domain"], notes["turns"]) == ("Lee", [])
    turns = [("8:kim", "is a<b open?"), ("8:lee", "until < six")]
    assert said([record])["19:x"] == turns


@pytest.mark.parametrize("client", exports.IRC)
def test_irc_is_read_as_each_client_logs_it(read, put, client: str):
    name, log = exports.IRC[client]
    (record,) = read(put({name: log}) / name)
    assert said([record])[record["id"]] == GREETED
    assert all(turn["time"].startswith("2024-01-01T10:00") for turn in record["turns"])


def test_a_day_that_is_none_is_no_date_of_a_log_and_the_29th_of_february_is_of_its_year(read, put):
    said_on = "".join(f"{day} 10:00:00 <kim> hello\n" for day in ("Feb 30", "Feb 29"))
    begun = "**** BEGIN LOGGING AT Sun Dec 31 10:00:00 2023\n"
    later = begun.replace("2023", "2024")
    for name, log, days in (
        ("help.12345678.log", said_on, [None]),
        ("help.log", f"{begun}{said_on}", ["2023-12-31", "2024-02-29"]),
        ("help.log", f"{later}{said_on}", ["2024-12-31"]),
        ("help.log", "[2024-02-30 10:00] <kim> hello\n", [None]),
    ):
        records = read(put({name: log}) / name, "irc")
        times = [turn.get("time") for record in records for turn in record["turns"]]
        assert list(dict.fromkeys(time and time[:10] for time in times)) == days


def test_conversations_of_intercom_in_an_object_of_their_own_are_told_by_their_type(read, put):
    (conversations,) = (x["conversations"] for x in exports.INTERCOM.values())
    assert said(read(put({"all.json": {"conversations": conversations}}) / "all.json")) == {
        "9": TURNS["intercom"][1]["9"]
    }


def test_logs_of_one_day_are_called_by_their_channels_too(read, put):
    log = "[10:00:02] <kim> hello\n"
    folder = put({f"{channel}/2024-01-01.log": log for channel in ("#a", "#b")})
    assert [*said(read(folder))] == ["#a/2024-01-01", "#b/2024-01-01"]


def test_a_long_text_in_the_first_record_hides_no_export(put):
    ticket = {"id": 1, "raw_subject": "Broken", "description": "x" * 20_000, "requester_id": 1}
    assert corpus_of(str(put({"a.json": [ticket]}) / "a.json"), None) == "zendesk"
    chat = {"uuid": "c", "name": "", "summary": "x" * 5000, "chat_messages": []}
    assert corpus_of(str(put({"conversations.json": [chat]}, "chats")), None) == "claude"


def test_an_export_with_the_newest_first_is_turned_round(read, put):
    ((name, chat),) = exports.DISCORD.items()
    folder = put({name: {**chat, "messages": chat["messages"][::-1]}})
    assert said(read(folder)) == TURNS["discord"][1]


def test_a_log_that_is_compressed_is_called_as_before(read, put):
    name, log = exports.IRC["irssi"]
    folder = put({name: log, f"{name}.gz": gzip.compress(log.encode())})
    assert read(folder / f"{name}.gz") == read(folder / name)


def test_a_log_of_several_days_is_a_dialogue_a_day(read, put):
    days = "".join(
        f"--- Day changed Tue Jan {day:02} 2024\n10:00 <kim> hello {day}\n" for day in (2, 3)
    )
    log = f"--- Log opened Mon Jan 01 10:00:00 2024\n23:59 <kim> late\n{days}"
    records = read(put({"#x.log": log}))
    assert [r["id"] for r in records] == [f"#x/2024-01-0{day}" for day in (1, 2, 3)]


def test_hexchat_tells_days_in_the_lines_and_the_year_once(read, put):
    lines = "".join(
        f"{at}:00 <kim> hello\n" for at in ("Dec 30 23:50", "Dec 31 00:01", "Jan 01 09:00")
    )
    log = f"**** BEGIN LOGGING AT Sat Dec 30 23:49:00 2023\n\n{lines}Feb 30 09:00:00 <kim> no day\n"
    first, second, third = read(put({"x.log": log}))
    assert [r["id"] for r in (first, second)] == ["x/2023-12-30", "x/2023-12-31"]
    assert [turn["time"] for turn in third["turns"]] == ["2024-01-01T09:00:00"] * 2


def test_tickets_are_read_one_a_line_too(read, put):
    lines = "".join(json.dumps(ticket) + "\n" for ticket in (exports.TICKET, {"id": 1}))
    folder = put({"tickets.jsonl": lines})
    assert list(said(read(folder, on_error="skip"))) == ["7"]


def test_tickets_are_told_by_their_public_and_private_comments_too(read, put):
    says = [("a", 5, True), ("no", 7, False), ("b", 7, True)]
    comments = [{"author_id": who, "body": text, "public": seen} for text, who, seen in says]
    ticket = {"id": 1, "requester_id": 5, "comments": comments}
    folder = put({"own.json": [ticket]})
    assert said(read(folder / "own.json")) == {"1": [("user", "a"), ("system", "b")]}


def test_who_speaks_in_a_ticket_is_not_guessed(read, put):
    opened = {"id": 1, "description": "hi", "comments": [], "requester_id": 100}
    tickets = [
        {**exports.TICKET, "id": 0, "requester_id": None},
        opened | {"submitter_id": 5},
        opened | {"id": 2},
    ]
    found = said(read(put({"t.json": tickets}, "z") / "t.json", "zendesk"))
    speakers = {name: [who for who, _ in turns] for name, turns in found.items()}
    assert speakers == {"0": [None, None], "1": ["system"], "2": ["user"]}
    ((name, (ticket,)),) = exports.FRESHDESK.items()
    messages = [{"body": "a"}, {"body": "b", "incoming": False}, {"body": "c", "incoming": True}]
    mailed = {**ticket, "source": 10, "conversations": messages}
    (turns,) = said(read(put({name: [mailed]}, "f"), "freshdesk")).values()
    assert [who for who, _ in turns] == ["system", None, "system", "user"]


@pytest.mark.parametrize("names", [("a.jsonl", "old/a.jsonl"), ("a.jsonl", "a[1].jsonl")])
def test_files_of_lines_are_read_once_each_whatever_they_are_called(read, put, names):
    ticket = {"comments": [{"author_id": 1, "body": "hi"}], "requester_id": 1}
    lines = {
        name: "".join(f"{json.dumps({'id': 2 * n + i, **ticket})}\n" for i in range(2))
        for n, name in enumerate(names)
    }
    found = read(put(lines), "zendesk")
    assert sorted(record["id"] for record in found) == ["0", "1", "2", "3"]


def test_events_of_several_senders_are_brought_together(read, put):
    events = [{**e, "sender_id": who} for e in exports.EVENTS for who in ("kim", "lee")]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    records = read(put({"events.jsonl": lines}))
    assert [r["id"] for r in records] == ["kim", "kim/2", "lee", "lee/2"]
    assert read(put({"events.ndjson": lines}, "as others call it")) == records
    turn = records[0]["turns"][0]
    assert [turn["text"][s["start"] : s["end"]] for s in turn["slots"]] == ["Rome"]


def test_what_is_no_turn_is_told_at_the_end_and_pauses_cut_and_names_are_mapped(scripts: Path, put):
    folder = put(exports.DISCORD)
    flags = ["--kind", "dialogue", "--session-gap", "30s", "--speaker-map", "lee=system,*=user"]
    run = ended(scripts / "dial-pairs", *flags, folder, text=True)
    assert "dropped 2: 1 notice, 1 turn of bots" in run.stderr
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert {name: turns[0][0] for name, turns in said(records).items()} == {
        "987": "user",
        "987#2": "system",
    }
    assert "left_out" not in run.stdout


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        (
            "conversations.json",
            [
                {
                    "title": "x",
                    "create_time": 1,
                    "mapping": {"a": {"parent": "a"}},
                    "current_node": "a",
                }
            ],
            "conversations.json:1: mapping: no way from 'a' to the root",
        ),
        (
            "chats.json",
            [{"uuid": "c", "name": "x", "chat_messages": [{"sender": ["human"], "text": "a"}]}],
            "chats.json:1: sender: expected human or assistant, found ['human']",
        ),
        (
            "messages.json",
            {"exportDate": "2024", "conversations": [5], "MessageList": []},
            "messages.json:1: conversations[0]: expected an object, found a number",
        ),
        (
            "result.json",
            {"type": "personal_chat", "messages": [{"type": "message", "text": [5]}]},
            "result.json:1: text: expected a string or parts of one, found a number",
        ),
        (
            "message_1.json",
            {"participants": [], "messages": [{"timestamp_ms": 5, "content": 7}]},
            "message_1.json:1: content: expected a string, found a number",
        ),
        (
            "_chat.txt",
            "[31/12/24, 10:05:00] Kim: a\n[33/12/24, 10:05:00] Kim: b\n",
            "day is out of",
        ),
        (
            "tracker.json",
            {"sender_id": "kim", "events": [{"event": {}}, {"event": "session_started"}]},
            "tracker.json:1: event: expected a string, found an object",
        ),
        (
            "runs.json",
            [exports.run("t", None, [{"role": "user", "content": 5}])],
            "runs.json:1: content: expected a text or parts of one",
        ),
        ("runs.json", [exports.run("t", None, [])], "no call of a model (run_type llm"),
        ("x.vtt", "WEBVTT\n\nhello\n", "x.vtt:1: expected cues"),
        ("x.log", "[10:00] <kim> hello\nwhat is this\n", "x.log:2: expected a time, and who"),
    ],
)
def test_a_bad_record_of_an_export_is_told_in_one_line(scripts, put, file, content, told):
    path = put({file: content}) / file
    run = ended(scripts / "dial-pairs", path, code=1, text=True)
    assert run.stderr.count("\n") == 1, run.stderr
    assert told in run.stderr


@pytest.mark.parametrize("flag", ["--reply-column", "--order-column", "--unsorted"])
def test_an_export_is_no_table_of_turns(scripts: Path, put, flag: str):
    words = [flag] if flag == "--unsorted" else [flag, "ts"]
    for asked in ([], ["--from", "slack"]):
        run = ended(scripts / "dial-pairs", *asked, *words, put(exports.SLACK), code=2, text=True)
        assert f"{flag} is for tables of a turn a row, and {put(exports.SLACK)}" in run.stderr


def test_an_export_that_is_read_as_plain_text_is_told_before_it_is(scripts: Path, put):
    chat = put({"chat.txt": exports.WHATSAPP["android, day first"]}) / "chat.txt"
    for options, told in ((["--from", "text"], True), ([], False)):
        run = ended(scripts / "dial-pairs", *options, chat, text=True)
        assert ("begins like whatsapp" in run.stderr) is told, run.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chats.txt", "hello there\nhi\n\n12:30 is fine\n"),
        ("log.txt", "[2024-01-01 10:00:00] INFO: started\n"),
        ("list.txt", "1 apples\n2 pears\n3 a __eou__b\n"),
        ("table.txt", "1\thello\thi\n2\tbye\tbye\n"),
        ("chats.jsonl", '{"turns": ["a __eou__ ", "b"]}\n'),
        ("chats.jsonl", '{"id": "a", "messages": [{"role": "user", "content": "x"}]}\n'),
        ("chats.json", '[{"sender_id": "a", "turns": ["event", "mapping"]}]'),
        ("days.csv", "31/12/2024, 22:05 - Kim: a\n"),
        ("turns.jsonl", '{"type": "message", "text": "a", "requester": "b"}\n'),
        ("items.json", '[{"messages": [{"type": "message", "user": "kim", "content": "a"}]}]'),
        ("hooks.jsonl", '{"sender_id": "kim", "event": "message_sent", "text": "a"}\n'),
    ],
)
def test_other_logs_are_not_taken_for_exports(put, name: str, content: str):
    assert corpus_of(str(put({name: content}) / name), None) is None


TEAMS = {
    "id": "19:chat",
    "displayName": "help",
    "MessageList": [
        {"messagetype": "Text", "from": "kim", "content": "hello"},
        "no message",
        {"messagetype": "Text", "from": "kim", "content": 7},
        {"messagetype": "Text", "from": "lee", "content": "hi"},
    ],
}


def test_a_bad_message_of_a_chat_leaves_the_others(read, put, tmp_path: Path):
    folder = put({"messages.json": {"userId": "8:kim", "conversations": [TEAMS]}})
    with pytest.raises(DataError, match=r"messages.json:1: messages\[1\]: expected an object"):
        read(folder, "teams")
    bad = tmp_path / "bad.jsonl"
    with Policy(f"quarantine={bad}") as policy:
        (chunk,) = corpus_chunks(str(folder), "teams", policy)
    assert (
        said(chunk.data) == {"19:chat": [("kim", "hello"), ("lee", "hi")]} and policy.skipped == 2
    )
    rows = [json.loads(line) for line in bad.read_text().splitlines()]
    assert [row["error"] for row in rows] == [
        "messages[1]: expected an object, found a string",
        "content: expected a string, found a number",
    ]


SPOILT = {
    "chatgpt": ('["thanks"]', ("user", "thanks")),
    "claude": ('"is it open?"', ("user", "is it open?")),
    "langsmith": ('"thanks"', ("user", "thanks")),
    "langfuse": ('"thanks"', ("user", "thanks")),
    "amazon-connect": ('"thanks"', ("user", "thanks")),
    "rasa": ('"fly to Rome"', ("user", "fly to Rome")),
}


@pytest.mark.parametrize("corpus", SPOILT)
def test_of_a_chat_with_a_bot_the_bad_message_alone_goes(put, corpus: str):
    (files, turns), (content, lost) = TURNS[corpus], SPOILT[corpus]
    folder = put({name: json.dumps(file).replace(content, "7") for name, file in files.items()})
    policy = Policy("skip")
    records = [r for chunk in corpus_chunks(str(folder), corpus, policy) for r in chunk.data]
    assert said(records) == {
        name: [turn for turn in talk if turn != lost] for name, talk in turns.items()
    }
    assert policy.skipped == 1


CHANNEL = {
    "guild": {"id": "1"},
    "channel": {"id": "5"},
    "messages": [{"content": text, "author": {"name": "kim"}} for text in ("hello", "hi")],
}


def test_a_broken_file_of_a_folder_is_told_counted_and_left_out(scripts: Path, put, tmp_path: Path):
    whole = json.dumps(CHANNEL, indent=1)
    broken = {
        "a.json": ("", "an empty file"),
        "b.json": (whole[:-20], "not JSON: unexpected end of data: "),
        "d.json": (whole.encode().replace(b"hello", b"h\xe9llo"), "invalid UTF-8 at byte "),
    }
    folder = put({"c.json": whole} | {name: content for name, (content, _) in broken.items()})
    bad, command = tmp_path / "bad.jsonl", [scripts / "dial-pairs", folder, "--from", "discord"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"dial-pairs: {folder}/a.json: an empty file\n")
    done = ended(*command, "--on-error", f"quarantine={bad}", code=3, text=True)
    assert '"context":["hello"],"response":"hi"' in done.stdout
    *told, closing = done.stderr.splitlines()
    for line, row, (name, (_, reason)) in zip(
        told, map(json.loads, bad.read_text().splitlines()), broken.items(), strict=True
    ):
        assert f"{folder}/{name}" in line and reason in line and line.endswith("; left out")
        assert row["line"] is None and row["file"].startswith(f"{folder}/{name}")
    assert "1 pair from 1 dialogue; 3 bad records skipped" in closing

    done = ended(
        scripts / "dial-pairs", "--on-error", "skip", folder / "b.json", code=1
    )  # it is all that was named
