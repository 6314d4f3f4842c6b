"""People's own logs through dial-pairs: tables of all kinds, sessions, speakers, chat-ML."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from hypothesis import given, settings
from hypothesis import strategies as st
from written import json_lines, json_value

from dialtools.corpora import by_turn
from dialtools.corpora.by_dialogue import Row, by_dialogue
from dialtools.corpora.options import LogOptions
from dialtools.corpora.read import dialogue_chunks, dialogue_records, dialogues
from dialtools.corpora.replies import branches
from dialtools.streams.chunks import read_records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally

Said = Sequence[tuple[str, str]]
"""Who said what."""

COLUMNS = shlex.split(
    "--dialogue-column ticket --text-column message --speaker-column who --order-column sent"
)
LOG = json_lines(r"""
    {"ticket": 1, "who": "Agent", "message": "b; yes", "sent": "2024-01-01 10:01"}
    {"ticket": 1, "who": "kim", "message": "a", "sent": "2024-01-01T10:00:00Z"}
    {"ticket": 1, "who": "note", "message": "asleep", "sent": "2024-01-01 10:20"}
    {"ticket": 1, "who": "kim", "message": "again", "sent": "2024-01-01 10:50"}
    {"ticket": 1, "who": "agent", "message": null, "sent": "2024-01-01 10:51"}
    {"ticket": 1, "who": "agent", "message": "ça va\nsoon", "sent": "2024-01-01 10:52"}
    {"ticket": 2, "who": "kim", "message": "first", "sent": "2024-01-02"}
    {"ticket": 2, "who": "agent", "message": "second", "sent": "2024-01-02"}
""")
AS_TURNS = {"1": ["a", "b; yes", "asleep", "again", "ça va\nsoon"], "2": ["first", "second"]}


def delimited(rows: list[dict], separator: str = ",") -> str:
    """Return rows as Excel saves them: every field in quotes, lines that end as on Windows."""
    lines = [separator.join(rows[0])]
    for row in rows:
        texts = ["" if value is None else str(value) for value in row.values()]
        lines.append(separator.join('"' + text.replace('"', '""') + '"' for text in texts))
    return "".join(f"{line}\r\n" for line in lines)


def run(scripts: Path, *words, status: int = 0, **options) -> subprocess.CompletedProcess:
    return ended(scripts / "dial-pairs", *words, code=status, **options)


def talks(done: subprocess.CompletedProcess) -> dict[str, list[str]]:
    """The texts of each dialogue that --kind dialogue wrote."""
    return {
        r["id"]: [t["text"] for t in r["turns"]]
        for r in map(orjson.loads, done.stdout.splitlines())
    }


def written(folder: Path, kind: str, rows: list[dict] = LOG) -> Path:
    path = folder / f"log.{kind}"
    if kind == "jsonl":
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    elif kind in ("csv", "tsv"):
        path.write_text(delimited(rows, {"csv": ",", "tsv": "\t"}[kind]), newline="")
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_a_table_of_any_format_reads_the_same(tmp_path: Path, scripts: Path, kind: str):
    path = written(tmp_path, kind)
    done = run(scripts, "--kind", "dialogue", *COLUMNS, path)
    assert talks(done) == AS_TURNS
    assert b"1 turn without text" in done.stderr
    first = orjson.loads(done.stdout.splitlines()[0])["turns"][0]
    assert first == {"speaker": "kim", "text": "a", "time": "2024-01-01T10:00:00Z"}
    wrong = run(scripts, *COLUMNS, "--text-column", "mesage", path, status=1).stderr.decode()
    assert "no column 'mesage'; there are ticket, who, message, sent" in wrong
    assert "did you mean message?" in wrong


SAID = (("u", "hello"), ("s", ""), ("u", "there"), ("s", " \n"), ("s", "hi"), ("u", "\u3000"))
FORMS: dict[str, Callable[[Said], dict]] = {
    "strings": lambda said: {"turns": [text for _, text in said]},
    "nulls": lambda said: {"turns": [text if text.strip() else None for _, text in said]},
    "turns": lambda said: {"turns": [{"speaker": who, "text": text} for who, text in said]},
    "others": lambda said: {"dialogue": [{"utterance": text, "n": who} for who, text in said]},
    "chat": lambda said: {
        "messages": [{"role": {"u": "user", "s": "assistant"}[w], "content": t} for w, t in said]
    },
    "people": lambda said: {
        "messages": [{"role": {"u": "kim", "s": "system"}[w], "content": t} for w, t in said]
    },
    "history": lambda said: {
        "history": [{"speaker": who, "text": text} for who, text in said],
        "response": "bye",
    },
}


@pytest.mark.parametrize("kind", ["consecutive", "self", "dialogue", "utterance"])
@pytest.mark.parametrize("form", FORMS)
def test_a_turn_without_text_is_no_turn_however_turns_are_written(
    tmp_path: Path, scripts: Path, form: str, kind: str
):
    if (kind, form) == ("utterance", "history"):
        pytest.skip("a response stands for itself, with its history as it is")
    done = []
    for name, said in (("all", SAID), ("spoken", [turn for turn in SAID if turn[1].strip()])):
        (tmp_path / name).write_bytes(orjson.dumps({"id": "d", **FORMS[form](said)}) + b"\n")
        flags = ("--window", "1,2", "--merge-speaker") if kind == "consecutive" else ()
        done.append(run(scripts, "--from", "jsonl", "--kind", kind, *flags, tmp_path / name))
    assert done[0].stdout == done[1].stdout != b""
    assert b"dropped 3 turns without text" in done[0].stderr
    assert b"dropped" not in done[1].stderr


def test_a_row_without_text_is_no_turn_even_if_it_has_no_dialogue(tmp_path: Path, scripts: Path):
    path = tmp_path / "log.csv"
    path.write_text("dialogue_id,text\na,hello\na,hi\n,\n,   \n")
    done = run(scripts, path)
    assert b"dropped 2 turns without text" in done.stderr
    assert done.stdout.count(b"\n") == 1


def test_a_row_with_a_value_of_the_wrong_kind_is_named(tmp_path: Path, scripts: Path):
    path = written(
        tmp_path, "jsonl", [*LOG[:1], {**LOG[1], "message": 7}, {**LOG[2], "ticket": None}]
    )
    assert (
        "log.jsonl:2: message: expected a string, got a number"
        in run(scripts, *COLUMNS, path, status=1).stderr.decode()
    )
    skipped = run(scripts, *COLUMNS, "--on-error", f"quarantine={tmp_path}/bad", path, status=3)
    assert b"2 bad records skipped" in skipped.stderr
    assert [orjson.loads(line)["error"] for line in (tmp_path / "bad").open()] == [
        "message: expected a string, got a number",
        "ticket: no dialogue id",
    ]


def test_rows_of_jsonl_stay_dialogues_unless_a_flag_of_tables_is_given(
    tmp_path: Path, scripts: Path
):
    path = written(tmp_path, "jsonl", [{"id": "d", "turns": ["a", "b"]}])
    assert talks(run(scripts, "--kind", "dialogue", path)) == {"d": ["a", "b"]}
    assert (
        b"no column 'ticket'; there are id, turns"
        in run(scripts, "--dialogue-column", "ticket", path, status=1).stderr
    )
    (tmp_path / "log.txt").write_text("a\nb\n")
    assert (
        b"read as text, which has no columns"
        in run(scripts, *COLUMNS, tmp_path / "log.txt", status=2).stderr
    )


def test_times_in_nanoseconds_numbers_as_names_and_other_columns_travel_along(
    tmp_path: Path, scripts: Path
):
    columns = {
        "dialogue_id": [7, 7],
        "text": ["b", "a"],
        "sent": pa.array([1735653900000000123, 1735653840000000000], pa.timestamp("ns")),
        "inbound": [True, False],
        "label": ["x", None],
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    done = run(
        scripts,
        *shlex.split(
            "--kind dialogue --order-column sent --speaker-column inbound "
            "--speaker-map true=user,FALSE=system"
        ),
        tmp_path / "log.parquet",
    )
    assert orjson.loads(done.stdout) == {
        "id": "7",
        "turns": [
            {"speaker": "system", "text": "a", "time": "2024-12-31T14:04:00"},
            {"speaker": "user", "text": "b", "time": "2024-12-31T14:05:00.000000123", "label": "x"},
        ],
    }


def test_an_utterance_without_a_text_is_left_out_of_a_table_as_of_lines(
    tmp_path: Path, scripts: Path
):
    rows = [{"id": "a", "text": "yes"}, {"id": "b", "text": None}, {"id": "c", "text": " "}]
    told = [
        run(scripts, "--kind", "self", written(tmp_path, kind, rows))
        for kind in ("jsonl", "parquet", "arrow")
    ]
    assert {done.stdout for done in told} == {told[0].stdout} and told[0].stdout.count(b"\n") == 1
    assert all(b"dropped 2 turns without text" in done.stderr for done in told)


def test_numbers_of_a_column_with_gaps_are_ids_and_names(tmp_path: Path, scripts: Path):
    pq.write_table(
        pa.table({"dialogue_id": [1.0, 1.0, None], "text": ["a", "b", "c"], "who": [0, 1, 1]}),
        tmp_path / "log.parquet",
    )
    done = run(
        scripts, "--speaker-column", "who", "--on-error", "skip", tmp_path / "log.parquet", status=3
    )
    (pair,) = map(orjson.loads, done.stdout.splitlines())
    assert (pair["dialogue_id"], pair["speakers"]) == ("1", ["0", "1"])


@pytest.mark.parametrize("flags", [(), ("--unsorted",)])
def test_a_folder_of_parts_is_one_table_wherever_they_end(
    tmp_path: Path, scripts: Path, flags: tuple[str, ...]
):
    whole = pa.table({"dialogue_id": list("aaabbc"), "text": list("uvwxyz"), "n": range(6)})
    pq.write_table(whole, tmp_path / "whole.parquet")
    folder = tmp_path / "log"
    (folder / "b").mkdir(parents=True)
    for name, first, size in (("a", 0, 2), ("b/b", 2, 0), ("b/c", 2, 2), ("c", 4, 2)):
        pq.write_table(whole.slice(first, size), folder / f"{name}.parquet")
    ask = ("--order-column", "n", *flags)
    told = run(scripts, *ask, tmp_path / "whole.parquet")
    assert run(scripts, *ask, folder).stdout == told.stdout and told.stdout.count(b"\n") == 3
    pq.write_table(whole.slice(0, 1), folder / "d.parquet")
    if not flags:
        refused = run(scripts, *ask, folder, status=1).stderr.decode()
        assert f"{folder}:7: dialogue 'a' goes on after another began" in refused
        assert "naming the files of the folder reads each by itself" in refused


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_dialogue_goes_on_in_the_next_file_of_turns(tmp_path: Path, scripts: Path, kind: str):
    rows = [
        {"dialogue_id": name, "text": text, "domain": domain, "n": str(9 - n)}
        for n, (name, text, domain) in enumerate(
            zip("aaabbbbc", "stuvwxyz", "ddddddee", strict=True)
        )
    ]
    cuts, files = (0, 2, 4, 5, 7, 8), []
    for n, (start, end) in enumerate(pairwise(cuts)):
        (tmp_path / f"{n}").mkdir()
        files.append(written(tmp_path / f"{n}", kind, rows[start:end]))
    ask = ("--kind", "dialogue", "--dialogue-column", "dialogue_id", "--order-column", "n")
    whole = run(scripts, *ask, written(tmp_path, kind, rows)).stdout
    told = run(scripts, *ask, *files)
    assert told.stdout == whole and whole.count(b"\n") == 3
    assert b"dialogues joined over the end of 3 files\n" in told.stderr
    again = run(scripts, *ask, files[3], files[4], files[1])
    assert b"1 dialogue read apart from one of the same id in another file\n" in again.stderr
    part = ("--shard", "1/9", "-o", tmp_path / "part.jsonl", *files[:2])
    cut = run(scripts, *ask, *part, status=1).stderr.decode()
    assert f"{files[0]}: dialogue 'a' goes on in {files[1]}, where --shard cuts" in cut


def test_a_damaged_part_of_a_folder_of_turns_is_left_out(tmp_path: Path, scripts: Path):
    rows = pa.table({"dialogue_id": list("aabb"), "text": list("wxyz")})
    for name in "123":
        pq.write_table(
            rows.slice(0, 2) if name == "1" else rows.slice(2), tmp_path / f"{name}.parquet"
        )
    (tmp_path / "2.parquet").write_bytes((tmp_path / "2.parquet").read_bytes()[:200])
    ask = ("--dialogue-column", "dialogue_id", tmp_path)
    assert b"damaged" in run(scripts, *ask, status=1).stderr
    done = run(scripts, "--on-error", "skip", *ask, status=3)
    assert done.stdout.count(b"\n") == 2 and b"2.parquet: damaged parquet" in done.stderr


@pytest.mark.parametrize("flags", [(), ("--unsorted",)])
def test_a_table_tells_speakers_and_domain_by_the_names_that_records_have(
    tmp_path: Path, scripts: Path, flags: tuple[str, ...]
):
    log = tmp_path / "log.csv"
    rows = "1,user,a,hotel\n1,system,b,hotel\n2,user,c,taxi\n2,,d,train\n"
    log.write_text(f"dialogue_id,role,text,domain\n{rows}")
    pairs = json_lines(run(scripts, "--domain", *flags, log).stdout.decode())
    assert [pair["speakers"] for pair in pairs] == [["user", "system"], ["user", None]]
    assert [pair.get("domain") for pair in pairs] == ["hotel", None]
    told = json_lines(run(scripts, "--kind", "dialogue", *flags, log).stdout.decode())
    assert told[0]["domain"] == "hotel" and "domain" not in told[0]["turns"][0]
    assert told[1]["turns"][0] == {"speaker": "user", "text": "c", "domain": "taxi"}


# Excel


@pytest.mark.parametrize(
    ("separator", "coding", "flags"),
    [
        (";", "utf-8-sig", ()),
        ("\t", "utf-16", ()),
        (",", "utf-16-le", ("--encoding", "utf-16-le")),
        (";", "cp1252", ("--encoding", "cp1252")),
        ("|", "utf-8", ()),
        ("|", "utf-8", ("--delimiter", "|")),
        ("\t", "utf-8", ("--delimiter", "tab")),
    ],
)
def test_what_excel_saves_is_read(
    tmp_path: Path, scripts: Path, separator: str, coding: str, flags: tuple[str, ...]
):
    (tmp_path / "log.csv").write_bytes(delimited(LOG, separator).encode(coding))
    assert (
        talks(run(scripts, "--kind", "dialogue", *COLUMNS, *flags, tmp_path / "log.csv"))
        == AS_TURNS
    )


def test_columns_of_one_name_are_all_carried_along(tmp_path: Path, scripts: Path):
    header, row = "dialogue_id,text,note,note_2,note,note,,", "1,a,w,x,y,z,,"
    (tmp_path / "log.csv").write_text(f"{header}\n{row}\n")
    (turn,) = json_lines(run(scripts, "--kind", "utterance", tmp_path / "log.csv").stdout.decode())
    notes = {"note": "w", "note_2": "x", "note_3": "y", "note_4": "z"}
    assert turn == {"dialogue_id": "1", "turn": 0, "text": "a", **notes, "": ""}


def test_two_texts_a_row_are_read_so_too_and_other_formats_are_not(tmp_path: Path, scripts: Path):
    faq, chats = tmp_path / "faq.csv", tmp_path / "chats.jsonl"
    faq.write_bytes("question|answer\r\ncafé?|oui\r\n".encode("cp1252"))
    chats.write_text('{"turns": ["Kim: a", "Lee: b"]}\n')
    flags = ("--delimiter", "|", "--encoding", "cp1252")
    (pair,) = json_lines(run(scripts, "--kind", "texts", *flags, faq).stdout.decode())
    assert (pair["context"], pair["response"]) == (["café?"], "oui")
    for words, told in {
        flags[:2]: "--delimiter is for CSV and TSV, and {} is read as jsonl",
        flags[2:]: "--encoding is for CSV and TSV, and {} is read as jsonl",
        (
            "--speaker-prefix",
        ): "--speaker-prefix reads lines of plain text, and {} is read as jsonl",
    }.items():
        for kind in ("consecutive", "dialogue"):
            said = run(scripts, "--kind", kind, *words, chats, status=2).stderr.decode()
            assert said.startswith(f"dial-pairs: {told.format(chats)}\n")
    piped = run(scripts, "--speaker-prefix", input=b"Kim: a\nLee: b\n")
    assert orjson.loads(piped.stdout)["speakers"] == ["Kim", "Lee"]


def test_a_first_line_names_the_delimiter(tmp_path: Path, scripts: Path):
    (tmp_path / "log.csv").write_text("sep=|\n" + delimited(LOG, "|"), newline="")
    assert talks(run(scripts, "--kind", "dialogue", *COLUMNS, tmp_path / "log.csv")) == AS_TURNS


def test_bytes_that_are_not_utf8_are_never_guessed(tmp_path: Path, scripts: Path):
    (tmp_path / "log.csv").write_bytes(delimited(LOG).encode("cp1252"))
    said = run(scripts, *COLUMNS, tmp_path / "log.csv", status=1).stderr.decode()
    assert "log.csv:7: invalid UTF-8 at byte 14" in said
    assert "--encoding cp1252" in said
    assert (
        b"no such encoding"
        in run(scripts, "--encoding", "excel", tmp_path / "log.csv", status=2).stderr
    )
    (tmp_path / "log.csv").write_bytes(delimited(LOG).encode("utf-16")[:-1])
    assert b"invalid utf-16-le" in run(scripts, *COLUMNS, tmp_path / "log.csv", status=1).stderr
    (tmp_path / "log.csv").write_bytes(delimited(LOG).encode("utf-16-le"))
    said = run(scripts, *COLUMNS, tmp_path / "log.csv", status=1).stderr
    assert b"NUL at byte 2" in said and b"--encoding utf-16-le" in said


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('1,"two\nlines",9\n1,short\n', "log.csv:4: expected 3 fields, got 2"),
        ('1,"two\nlines",9\n\n1,a,b,c\n', "log.csv:5: expected 3 fields, got 4"),
        ('1,a,1\n1,"never\ncloses,2\n1,b,3\n', "log.csv:3: a quote in this row never closes"),
        ('1,a,1\n1,"cut he', "log.csv:3: a quote in this row never closes"),
        ('1,a,1\n1,"' + "\n" * 300_000, "log.csv:3: a quote that never closes (262,145 lines on)"),
        ('1,a,1\n1,"say \\"no\\" twice",1\n', "log.csv:3: text after the quote that ends a field"),
        ('1,"open,1\n1,"b",2\n1,c,3\n', "log.csv:2: text after the quote that ends a field"),
        ("1,a\rb,1\n", "log.csv:2: a carriage return within a field without quotes"),
    ],
)
def test_an_odd_row_is_named_by_the_line_where_it_begins(
    tmp_path: Path, scripts: Path, body: str, says: str
):
    (tmp_path / "log.csv").write_text("dialogue_id,text,n\n" + body)
    assert says in run(scripts, tmp_path / "log.csv", status=1).stderr.decode()


def test_lines_are_counted_on_after_one_that_was_skipped(tmp_path: Path, scripts: Path):
    (tmp_path / "log.csv").write_bytes(b"dialogue_id,text\n1,a\n1,\xff\n1,b,c\n1,d\n")
    done = run(scripts, "--on-error", f"quarantine={tmp_path}/bad", tmp_path / "log.csv", status=3)
    assert [orjson.loads(line)["line"] for line in (tmp_path / "bad").open()] == [3, 4]
    assert orjson.loads(done.stdout)["response"] == "d"


def test_a_row_whose_quotes_are_not_doubled_is_put_aside_whole(tmp_path: Path, scripts: Path):
    odd = '1,"over\ntwo \\"lines\\""\n'
    (tmp_path / "log.csv").write_text(f'dialogue_id,text\n1,a\n{odd}1,"b ""c"" \\"\n')
    done = run(scripts, "--on-error", f"quarantine={tmp_path}/bad", tmp_path / "log.csv", status=3)
    put_aside = orjson.loads((tmp_path / "bad").read_bytes())
    assert (put_aside["line"], put_aside["raw"]) == (3, odd)
    assert orjson.loads(done.stdout)["response"] == 'b "c" \\'


# Times and sessions


def test_a_long_pause_begins_a_new_dialogue(tmp_path: Path, scripts: Path):
    path = written(tmp_path, "csv")
    flags = ("--kind", "dialogue", *COLUMNS, "--session-gap", "30m")
    # no pause is longer than half an hour, as long as the note counts
    assert talks(run(scripts, *flags, path)) == AS_TURNS
    done = run(scripts, *flags, "--drop-speaker", "NOTE", path)
    assert talks(done) == {
        "1": ["a", "b; yes"],
        "1#2": ["again", "ça va\nsoon"],
        "2": ["first", "second"],
    }
    assert b"1 turn of note" in done.stderr
    mapped = ("--speaker-map", "n*=aside", "--drop-speaker", "Aside")
    renamed = run(scripts, *flags, *mapped, path)
    assert (renamed.stdout, b"1 turn of aside" in renamed.stderr) == (done.stdout, True)
    assert b"nobody" not in renamed.stderr
    pairs = run(
        scripts, *COLUMNS, "--session-gap", "29.9m", "--drop-speaker", "note", path
    ).stdout.splitlines()
    assert [(r["dialogue_id"], r["response"]) for r in map(orjson.loads, pairs)] == [
        ("1", "b; yes"),
        ("1#2", "ça va\nsoon"),
        ("2", "second"),
    ]


@pytest.mark.parametrize("kind", ["consecutive", "dialogue"])
def test_the_sessions_of_a_dialogue_go_to_one_part_of_a_split(
    tmp_path: Path, scripts: Path, kind: str
):
    rows = ["dialogue_id,text,sent"]
    for dialogue in (*range(20), *(f"#{ticket}" for ticket in range(20))):
        for hour, text in enumerate(["ab", "cd", "ef", "gh"]):
            seconds = 3600 * hour
            rows.append(f"{dialogue},{text},{seconds}")
            rows.append(f"{dialogue},{text} again,{seconds + 1}")
    path = tmp_path / "log.csv"
    path.write_text("".join(f"{row}\n" for row in rows))
    run(
        scripts,
        "--kind",
        kind,
        *shlex.split("--order-column sent --session-gap 30m --split train=0.5,test=0.5 -o"),
        tmp_path / "{split}.jsonl",
        path,
    )
    key = "id" if kind == "dialogue" else "dialogue_id"
    train, test = (
        [orjson.loads(line)[key] for line in (tmp_path / f"{part}.jsonl").read_bytes().splitlines()]
        for part in ("train", "test")
    )
    assert len(train) + len(test) == 160 and any(name.endswith("#4") for name in train)
    whole = [{re.match(r"#?\d+", name)[0] for name in part} for part in (train, test)]
    assert not whole[0] & whole[1]
    # the number of a ticket is its name, and no session of one whose name is empty
    assert all(any(name.startswith("#") for name in part) for part in whole)


def test_the_sessions_of_a_dialogue_without_a_name_stay_together_too(tmp_path: Path, scripts: Path):
    def chat(i: int, *hours: int) -> dict:
        return {
            "turns": [
                {"text": f"{i} {j} {hour}", "time": 3600 * hour + j}
                for hour in hours
                for j in (0, 1)
            ]
        }

    path = written(tmp_path, "jsonl", [chat(i, 0, 1, 2) for i in range(40)])
    flags = "--session-gap 30m --split train=0.5,test=0.5 -o"
    run(scripts, *shlex.split(flags), tmp_path / "{split}.jsonl", path)
    parts = [json_lines((tmp_path / f"{part}.jsonl").read_text()) for part in ("train", "test")]
    train, test = ({pair["response"].split()[0] for pair in part} for part in parts)
    assert len(train) + len(test) == 40 and train and test
    whole = run(scripts, "--session-gap", "30m", written(tmp_path, "jsonl", [chat(1, 0)]))
    assert b"dialogue_id" not in whole.stdout


@pytest.mark.parametrize("key", ["time", "timestamp", "created_at"])
def test_turns_of_dialogue_records_have_times_too(tmp_path: Path, scripts: Path, key: str):
    turns = [
        {"role": "user", "content": "a", key: 1735653900},
        {"role": "assistant", "content": "b", key: 1735653905.5},
        {"role": "user", "content": "c", key: 1735660000},
    ]
    path = written(tmp_path, "jsonl", [{"id": "x", "split": "dev", "messages": turns}])
    done = run(scripts, "--kind", "dialogue", "--session-gap", "1h", path)
    rows = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [(r["id"], r["split"], [t["text"] for t in r["turns"]]) for r in rows] == [
        ("x", "dev", ["a", "b"]),
        ("x#2", "dev", ["c"]),
    ]
    assert rows[0]["turns"][1] == {"speaker": "system", "text": "b", key: 1735653905.5}


NUMBER_AND_WORD = ("1", "soon")
DAYS_OF_EXCEL = ("31/12/2024 10:00", "1/1/2025")
UNREADABLE = {
    "log.csv:3: sent: expected a time, got 'soon'": (NUMBER_AND_WORD, "--session-gap 1h"),
    "log.csv:2: sent: '31/12/2024 10:00': day or month first?": (DAYS_OF_EXCEL, ""),
    "month must be in 1..12, read month-first": (DAYS_OF_EXCEL, "--time-format month-first"),
}
UNUSABLE = {
    "expected a number above 0 and s, m, h or d": "--session-gap '1 hour'",
    "or day-first, month-first": "--time-format iso",
}
READABLE = [
    (NUMBER_AND_WORD, "", 0, ""),
    (DAYS_OF_EXCEL, "--time-format day-first --session-gap 1h", 0, "0 pairs from 2 dialogues"),
]


@pytest.mark.parametrize(
    ("times", "flags", "status", "says"),
    [
        *READABLE,
        *((times, flags, 1, says) for says, (times, flags) in UNREADABLE.items()),
        *((("1", "2"), flags, 2, says) for says, flags in UNUSABLE.items()),
    ],
)
def test_a_time_that_is_needed_and_cannot_be_read_is_an_error(
    tmp_path, scripts, times, flags, status, says
):
    rows = "".join(f"1,t{i},{time}\n" for i, time in enumerate(times))
    (tmp_path / "log.csv").write_text("dialogue_id,text,sent\n" + rows)
    flags = ["--order-column", "sent", *shlex.split(flags)]
    done = run(scripts, *flags, tmp_path / "log.csv", status=status)
    assert says in done.stderr.decode()


def test_times_in_words_that_are_sorted_as_text_are_told_of(tmp_path: Path, scripts: Path):
    path, flags = tmp_path / "log.csv", ("--kind", "dialogue", "--order-column", "sent")
    for early, late, told in (
        ("Dec 31, 2023 2:05 PM", "Apr 1, 2024 9:01 AM", True),
        ("2023年12月31日 9:05", "2023年12月31日 14:01", True),
        ("31. Dez. 2023", "1. Jan. 2024", True),
        ("2023-12-31 09:05", "2023-12-31 14:01", False),
        ("a-1", "b-200", False),
        ("7", "12", False),
    ):
        path.write_text(f'dialogue_id,text,sent\n1,a,"{early}"\n1,b,"{late}"\n')
        done = run(scripts, *flags, path)
        line = b"'sent' looks like a time in 2 turns, but is sorted as text: --time-format"
        assert (line in done.stderr) == told, early
    path.write_text('dialogue_id,text,sent\n1,a,"Apr 1, 2024 9:01 AM"\n1,b,"Jan 1, 2024 9:01 AM"\n')
    done = run(scripts, *flags, "--time-format", "%b %d, %Y %I:%M %p", path)
    assert done.stdout.index(b'"b"') < done.stdout.index(b'"a"') and b"as text" not in done.stderr


def test_turns_without_a_time_beside_others_stand_last_and_are_told(tmp_path: Path, scripts: Path):
    def ordered(*times: str | None) -> subprocess.CompletedProcess:
        rows = [{"dialogue_id": 1, "text": str(i), "sent": t} for i, t in enumerate(times)]
        path = written(tmp_path, "csv", rows)
        return run(scripts, "--kind", "dialogue", "--order-column", "sent", path)

    some = ordered("2024-01-02", None, "2024-01-01", "soon")
    assert talks(some) == {"1": ["2", "0", "1", "3"]}
    assert b"'sent' has no number or time for 2 turns, put last of the dialogue" in some.stderr
    for times in (("b", "a", None), (None, None), ("2", "1")):
        assert b"put last" not in ordered(*times).stderr


def test_a_gap_without_times_is_an_error(tmp_path: Path, scripts: Path):
    assert (
        b"--order-column NAME names their column"
        in run(scripts, "--session-gap", "1h", written(tmp_path, "csv"), status=2).stderr
    )
    path = written(tmp_path, "jsonl", [{"turns": ["a", "b"]}])
    assert (
        b"log.jsonl:1: turns[0]: no time, timestamp or created_at, which --session-gap needs"
        in run(scripts, "--session-gap", "1h", path, status=1).stderr
    )


# Rows in any order


def test_rows_that_do_not_stand_together_are_gathered_on_request(tmp_path: Path, scripts: Path):
    mixed = [LOG[i] for i in (6, 1, 7, 0, 2, 3, 4, 5)]
    path = written(tmp_path, "csv", mixed)
    said = run(scripts, *COLUMNS, path, status=1).stderr.decode()
    assert "dialogue '2' goes on after another began" in said
    assert "--unsorted" in said
    done = run(scripts, "--kind", "dialogue", "--unsorted", *COLUMNS, path)
    assert talks(done) == AS_TURNS
    assert list(talks(done)) == ["2", "1"]
    assert b"%" not in done.stderr  # DuckDB's own progress
    assert (
        run(scripts, "--unsorted", "-j", "3", *COLUMNS, path).stdout
        == run(scripts, "--unsorted", *COLUMNS, path).stdout
    )


OASST = json_lines("""
    {"id": "a", "parent_id": null, "tree": "t", "role": "prompter", "text": "q", "rank": null}
    {"id": "c", "parent_id": "a", "tree": "t", "role": "assistant", "text": "no", "rank": 1}
    {"id": "e", "parent_id": "d", "tree": "t", "role": "assistant", "text": "ok"}
    {"id": "d", "parent_id": "b", "tree": "t", "role": "prompter", "text": null}
    {"id": "b", "parent_id": "a", "tree": "t", "role": "assistant", "text": "yes", "rank": 0}
    {"id": "f", "parent_id": "a", "tree": "t2", "role": "prompter", "text": "x"}
""")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_rows_that_answer_one_another_are_a_tree_of_dialogues(
    tmp_path: Path, scripts: Path, kind: str
):
    log = tmp_path / f"log.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(OASST), log)
    else:
        log.write_bytes(b"\n".join(map(orjson.dumps, OASST)))
    table = ["--dialogue-column", "tree", "--reply-column", "parent_id", log]

    def told(*flags) -> dict[str, str]:
        records = json_lines(run(scripts, "--kind", "dialogue", *flags, *table).stdout.decode())
        return {r["id"]: " ".join(turn["text"] for turn in r["turns"]) for r in records}

    assert told() == {"t": "q no", "t#2": "q yes ok", "t2": "x"}
    assert told("--order-column", "rank") == {"t": "q yes ok", "t#2": "q no", "t2": "x"}
    turns = json_lines(run(scripts, "--kind", "utterance", *table).stdout.decode())
    assert [turn["text"] for turn in turns] == ["q", "no", "yes", "ok", "x"], "each once"
    dropped = told("--drop-speaker", "prompter")
    assert dropped == {"t": "no", "t#2": "yes ok"}
    for seed in range(4):  # a tree is in one part of a split
        flags = ["--kind", "dialogue", "--split", "a=0.5,b=0.5", "--seed", seed, "--overwrite"]
        run(scripts, *flags, "-o", tmp_path / "{split}.jsonl", *table)
        parts = [(tmp_path / f"{part}.jsonl").read_text() for part in "ab"]
        assert ['"t"' in part for part in parts] == ['"t#2"' in part for part in parts]
    said = run(scripts, *table, "--id-column", "rank", status=1).stderr.decode()
    assert ":1: rank: no id of the row, which --reply-column needs\n  --id-column NAME" in said


def message(name: str, role: str, text: str | None, *replies: dict) -> dict:
    return {"message_id": name, "role": role, "text": text, "replies": [*replies]}


def test_a_tree_of_messages_in_one_record_is_read_as_its_branches(tmp_path: Path, scripts: Path):
    thanks = message("d", "prompter", None, message("e", "assistant", "<b>ok</b>"))
    answers = message("c", "assistant", "no"), message("b", "assistant", "yes", thanks)
    tree = {"message_tree_id": "t", "prompt": message("a", "prompter", "q", *answers)}
    other = {"message_tree_id": "u", "prompt": message("x", "", "x")}
    log = tmp_path / "trees.jsonl"
    log.write_bytes(orjson.dumps(tree) + b"\n" + orjson.dumps(other))

    records = json_lines(run(scripts, "--kind", "dialogue", "--html", log).stdout.decode())
    said = {r["id"]: [(t.get("speaker"), t["text"]) for t in r["turns"]] for r in records}
    assert said == {
        "t": [("user", "q"), ("system", "no")],
        "t#2": [("user", "q"), ("system", "yes"), ("system", "ok")],
        "u": [(None, "x")],
    }
    assert [turn["reply_to"] for turn in records[1]["turns"][1:]] == ["a", "d"]
    turns = json_lines(run(scripts, "--kind", "utterance", "--html", log).stdout.decode())
    once = [("t", 0, "q"), ("t", 1, "no"), ("t#2", 1, "yes"), ("t#2", 2, "ok"), ("u", 0, "x")]
    assert [(turn["dialogue_id"], turn["turn"], turn["text"]) for turn in turns] == once
    for seed in range(4):
        flags = ["--split", "a=0.5,b=0.5", "--seed", seed, "--overwrite"]
        run(scripts, *flags, "-o", tmp_path / "{split}.jsonl", log)
        parts = [(tmp_path / f"{part}.jsonl").read_text() for part in "ab"]
        assert sorted(part.count('"dialogue_id":"t') for part in parts) == [0, 3]
    log.write_bytes(orjson.dumps({"prompt": {"text": "q", "replies": [1]}}))
    bad = run(scripts, log, status=1)
    assert b"trees.jsonl:1: prompt: expected messages with lists of replies" in bad.stderr


def test_other_commands_read_each_message_of_a_tree_once(tmp_path: Path, scripts: Path):
    answers = message("b", "assistant", "yes"), message("c", "assistant", "no")
    tree = {"message_tree_id": "t", "prompt": message("a", "prompter", "q", *answers)}
    rows = [*by_turn.turns(Where("trees.jsonl", 1), tree, Tally())]
    assert [(row["dialogue_id"], row["turn"], row["text"]) for row in rows] == [
        ("t", 0, "q"),
        ("t", 1, "yes"),
        ("t#2", 1, "no"),
    ]
    assert [turn["text"] for turn in rows[2]["history"]] == ["q", "no"]
    log = tmp_path / "trees.jsonl"
    log.write_bytes(orjson.dumps(tree))
    (book := tmp_path / "book.json").write_text('{"word": {"q": 1}}')
    flags = ["--ner", "rules", "--book", book]
    counted, made = (
        subprocess.run([scripts / command, *words, log], capture_output=True, text=True)
        for command, words in (("dial-freq", []), ("dial-augment", flags))
    )
    assert [row["count"] for row in json_lines(counted.stdout)] == [1, 1, 1], counted.stderr
    assert [len(row["turns"]) for row in json_lines(made.stdout)] == [2, 2], made.stderr


@given(st.lists(st.integers(0, 30), max_size=30), st.randoms(), st.sets(st.integers(0, 30)))
def test_each_turn_of_a_tree_follows_what_it_answers_once(links, random, left_out):
    said = [{"id": str(i), "reply_to": str(above % (i + 1))} for i, above in enumerate(links)]
    random.shuffle(said)  # the first of all answers itself, which is no answer
    kept = [turn for turn in said if int(turn["id"]) not in left_out]
    found = [[kept[place]["id"] for place in branch] for branch in branches(said, kept)]
    expected = {}
    for turn in kept:
        above, name = turn["reply_to"], turn["id"]
        while int(above) in left_out and links[int(above)] % (int(above) + 1) != int(above):
            above = str(links[int(above)] % (int(above) + 1))
        expected[name] = above if above != name and int(above) not in left_out else None
    followed = [pair for branch in found for pair in pairwise(branch)]
    assert sorted(followed) == sorted((a, n) for n, a in expected.items() if a)
    roots = {name for name, above in expected.items() if above is None}
    assert {branch[0] for branch in found} <= roots | {above for above, _ in followed}
    assert roots <= {branch[0] for branch in found}


def test_turns_that_answer_one_another_in_a_circle_are_no_dialogue(tmp_path: Path, scripts: Path):
    log = tmp_path / "log.csv"
    log.write_text("dialogue_id,id,to,text\n1,1,2,a\n1,2,1,b\n2,1,,c\n2,2,1,d\n")
    done = run(scripts, "--reply-column", "to", "--on-error", "skip", log, status=3)
    assert len(done.stdout.splitlines()) == 1
    done = run(scripts, "--reply-column", "to", log, status=1)
    assert b"reply_to: 2 turns answer one another in a circle" in done.stderr


def test_more_rows_than_a_batch_come_back_in_order():
    rows = [Row(n, f"d{n * 7919 % 5003}", {"text": f"té\0{n}"}) for n in range(30_000)]
    first = {row.dialogue: row.line for row in reversed(rows)}
    assert list(by_dialogue(rows)) == sorted(rows, key=lambda row: (first[row.dialogue], row.line))


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab c")), max_size=12),
    st.randoms(use_true_random=False),
)
def test_shuffled_rows_give_the_dialogues_of_sorted_ones(
    tmp_path_factory, said: list, chance: random.Random
):
    numbered = enumerate(said or [(0, "x")])
    rows = [{"dialogue_id": str(d), "text": f"{text} {n}", "n": n} for n, (d, text) in numbered]
    folder = tmp_path_factory.mktemp("rows")

    def read(rows: list[dict], **flags) -> dict[str, dict]:
        logs, policy = LogOptions(order_column="n", **flags), Policy()
        chunks = dialogue_chunks(
            [str(written(folder, "csv", rows))],
            format=None,
            logs=logs,
            policy=policy,
            tally=Tally(),
        )
        return {
            r["id"]: r
            for chunk in chunks
            for _, (r, *_) in dialogue_records(chunk, policy, logs, Tally())
        }

    together = sorted(rows, key=lambda row: row["dialogue_id"])
    assert read(chance.sample(rows, len(rows)), unsorted=True) == read(together)


def test_columns_kept_beside_those_that_are_named_tell_nothing_in_their_place(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    rows = [  # whose sent, author and parent are null where time, speaker and reply_to are not
        {"text": "b", "sent": 2, "time": 1, "author": "k", "parent": None, "reply_to": "2"},
        {"text": "c", "sent": None, "time": 0, "author": None, "role": "x", "reply_to": "1"},
        {"text": "a", "sent": 1, "time": 2, "author": "k", "speaker": "y", "reply_to": "1"},
    ]
    rows = [{"dialogue_id": "d", "id": str(n), **row} for n, row in enumerate(rows)]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    for flags in (
        {"order_column": "sent", "speaker_column": "author"},
        {"reply_column": "parent", "speaker_column": "author"},
    ):
        logs, policy = LogOptions(**flags), Policy()
        found = []
        for keep in (False, True):
            chunks = dialogue_chunks(
                [str(path)], format=None, logs=logs, policy=policy, tally=Tally(), keep=keep
            )
            read = (found for chunk in chunks for found in dialogues(chunk, policy, logs, Tally()))
            found.append([(talk.texts, talk.speakers) for _, talk in read])
        assert found[0] == found[1]


# Speakers and chat-ML


def test_speakers_get_their_roles_and_the_others_are_counted(tmp_path: Path, scripts: Path):
    path = written(tmp_path, "csv")
    done = run(
        scripts,
        "-v",
        *COLUMNS,
        *shlex.split("--kind utterance --speaker-map AGENT=system --drop-speaker note"),
        path,
    )
    rows = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [(r["dialogue_id"], r["turn"], r["speaker"]) for r in rows] == [
        ("1", 0, "kim"),
        ("1", 1, "system"),
        ("1", 2, "kim"),
        ("1", 3, "system"),
        ("2", 0, "kim"),
        ("2", 1, "system"),
    ]
    assert b"speakers not in --speaker-map: 3 turns of kim" in done.stderr
    others = run(
        scripts, *COLUMNS, "--speaker-map", "agent=system,*=user", "--speaker", "user", path
    )
    assert {orjson.loads(line)["speakers"][-1] for line in others.stdout.splitlines()} == {"user"}
    part = run(scripts, *COLUMNS, "--kind", "utterance", "--speaker-map", "ag*=system,*=k", path)
    assert {orjson.loads(line)["speaker"] for line in part.stdout.splitlines()} >= {"system", "k"}
    assert b"nobody" not in part.stderr
    nobody = ("--speaker-map", "agnet=system,*=user", "--drop-speaker", "nite", "-j", 2)
    told = run(scripts, *COLUMNS, *nobody, "--kind", "dialogue", path).stderr
    assert b"--speaker-map: nobody is called 'agnet'; --drop-speaker: nobody is called" in told
    unspoken = tuple(flag for flag in COLUMNS if flag not in ("--speaker-column", "who"))
    told = run(scripts, *unspoken, *nobody, path).stderr
    assert b"--speaker-map and --drop-speaker: no turn has a speaker (--speaker-column" in told
    none = run(scripts, *COLUMNS, "--speaker", "system", path)
    assert b"nobody who answers is called 'system' (--speaker-map NAME=system" in none.stderr
    for wrong in ("agent", "a=b,A=c"):
        assert b"--speaker-map" in run(scripts, "--speaker-map", wrong, path, status=2).stderr


@pytest.mark.parametrize("asked", ["Zo\u00e9", "Zoe\u0301"])
def test_a_speaker_is_the_same_whether_an_accent_is_a_character_of_its_own_or_not(
    tmp_path: Path, scripts: Path, asked: str
):
    one, other = "Zo\u00e9", "Zoe\u0301"
    turns = [{"speaker": name, "text": name} for name in (one, "kim", other)]
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"id": "1", "turns": turns}))
    done = run(scripts, "--kind", "utterance", "--speaker-map", f"{asked.upper()}=user", path)
    said = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [row["speaker"] for row in said] == ["user", "kim", "user"]
    assert [row["text"] for row in said] == [one, "kim", other]  # texts stay as they came
    left = run(scripts, "--kind", "utterance", "--drop-speaker", asked.upper(), path)
    assert [orjson.loads(line)["speaker"] for line in left.stdout.splitlines()] == ["kim"]
    answers = run(scripts, "--speaker", asked, path)
    assert [orjson.loads(line)["response"] for line in answers.stdout.splitlines()] == [other]


TRANSCRIPT = """\
=== Chat 1 ===
Customer: a room
for two nights
[10:00:00] Agent Kim: where? https://a.b/c: there
31/12/2024, 2:05 PM - Customer : the centre
2024-12-31T10:00 Agent Kim:

Ähm Ölaf: 10:30
12:30 or so

[10:02] agent 小明：您好，请问：什么事？
客服，请稍等：
客户：退款
"""


def test_lines_of_text_may_begin_with_who_speaks(tmp_path: Path, scripts: Path):
    path = tmp_path / "chats.txt"
    path.write_text(TRANSCRIPT)
    ask = ("--kind", "dialogue", "--speaker-map", "agent*=system,*=user")
    read = run(scripts, *ask, "--speaker-prefix", path)
    found = [
        [(turn.get("speaker"), turn["text"]) for turn in orjson.loads(line)["turns"]]
        for line in read.stdout.splitlines()
    ]
    assert found == [
        [
            (None, "=== Chat 1 ==="),
            ("user", "a room for two nights"),
            ("system", "where? https://a.b/c: there"),
            ("user", "the centre"),
        ],
        [("user", "10:30 12:30 or so")],
        [("system", "您好，请问：什么事？ 客服，请稍等："), ("user", "退款")],
    ]
    assert b"dropped 1 turn without text" in read.stderr
    names = run(scripts, "--speaker-prefix", "--window", 2, path).stdout.splitlines()
    assert orjson.loads(names[0])["speakers"] == [None, "Customer", "Agent Kim"]
    plain = run(scripts, *ask, path)
    assert orjson.loads(plain.stdout.splitlines()[0])["turns"][1] == {"text": "Customer: a room"}
    assert b"--speaker-map: no turn has a speaker (" in plain.stderr
    path.write_bytes(b"1 " * 200_000 + b"\n" + b"a " * 200_000 + b": b\n")  # no time is lost
    assert b"0 pairs from 1 dialogue" in run(scripts, "--speaker-prefix", path).stderr
    path.write_bytes(b"and so on\n" * 300_000)  # nor where all of a file is one turn
    assert b"0 pairs from 1 dialogue" in run(scripts, "--speaker-prefix", path).stderr


@pytest.mark.parametrize("kind", ["consecutive", "self", "dialogue", "utterance", "same-answer"])
def test_lines_that_begin_with_names_are_told_of(scripts: Path, kind: str):
    notice = b"4 of 5 texts looked at begin with a name: --speaker-prefix takes it"
    for lines, flags, is_told in (
        (b"Kim: a\nLee Ng: b\n[10:00] Kim: c\nLee Ng: d\nand e\n", (), True),
        (b"Kim: a\nLee Ng: b\n[10:00] Kim: c\nLee Ng: d\nand e\n", ("--speaker-prefix",), False),
        (b"<kim> a\n<@lee> b: c\n<kim> d\n<lee> e\nand f\n", (), True),
        (b"<p>a</p>\n<b>b</b> c\n<i>d</i>\n<p>e</p>\nf\n", (), False),
        (b"note: a\nb\nc\nsee https://a.b\nat 10:30\n", (), False),
    ):
        told = run(scripts, "--from", "text", "--kind", kind, *flags, input=lines).stderr
        assert (notice in told, b"begin with a name" in told) == (is_told, is_told)


CHAT = json_value("""
    {"id": "c", "model": "m",
     "messages": [{"role": "system", "content": "You are helpful."},
      {"role": "user",
       "content": [{"type": "text", "text": "weather in"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "Rome?"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]},
      {"role": "tool", "tool_call_id": "1", "content": "{}"},
      {"role": "assistant", "content": "Sunny."}]}
""")


def test_a_chat_of_a_language_model_is_read_as_the_conversation_in_it(
    tmp_path: Path, scripts: Path
):
    path = written(tmp_path, "jsonl", [CHAT])
    done = run(scripts, "--kind", "dialogue", path)
    assert orjson.loads(done.stdout) == {
        "id": "c",
        "model": "m",
        "turns": [
            {"speaker": "user", "text": "weather in Rome?"},
            {"speaker": "system", "text": "Sunny."},
        ],
    }
    counted = subprocess.run([scripts / "dial-freq", path], capture_output=True)
    texts = [orjson.loads(line)["text"] for line in counted.stdout.splitlines()]
    assert sorted(texts) == ["sunny.", "weather in rome?"]
    for reason in (b"1 instruction", b"1 turn of tools", b"1 turn without text"):
        assert reason in done.stderr and reason in counted.stderr
    (pair,) = map(orjson.loads, run(scripts, path).stdout.splitlines())
    assert (pair["context"], pair["response"], pair["speakers"]) == (
        ["weather in Rome?"],
        "Sunny.",
        ["user", "system"],
    )
    kept = run(scripts, "--kind", "dialogue", "--speaker-map", "system=prompt,assistant=bot", path)
    assert [t["speaker"] for t in orjson.loads(kept.stdout)["turns"]] == ["prompt", "user", "bot"]


def test_messages_in_which_the_system_answers_are_no_such_chat(tmp_path: Path, scripts: Path):
    talk = [
        {"role": role, "content": text}
        for role, text in (("system", "hello"), ("user", "hi"), ("system", "so?"))
    ]
    path = written(tmp_path, "jsonl", [{"id": "d", "messages": talk}])
    assert talks(run(scripts, "--kind", "dialogue", path)) == {"d": ["hello", "hi", "so?"]}


NOT_A_PART = "messages[1].content[0]: expected a part with a text, got a number"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            {"role": "user"},
            'messages[1]: no "text", "utterance", "content", "message" or "body"; there are role',
        ),
        ({"role": "user", "content": 7}, "messages[1].content: expected a string, got a number"),
        ({"role": "user", "content": [{"type": "text", "text": 1}]}, NOT_A_PART),
        ({"role": "user", "content": [7]}, NOT_A_PART),
        ({"role": [1], "content": "a"}, "messages[1].role: expected a string, got a list"),
    ],
)
def test_a_message_that_cannot_be_read_says_which_field(
    tmp_path: Path, scripts: Path, message: dict, says: str
):
    path = written(
        tmp_path, "jsonl", [{"messages": [{"role": "assistant", "content": "a"}, message]}]
    )
    assert f"log.jsonl:1: {says}" in run(scripts, path, status=1).stderr.decode()


# Records instead of pairs


SLOTS = [{"start": 1, "end": 2, "label": "x"}]
RECORDS = [
    {
        "dialogue_id": i,
        "split": "train",
        "goal": {"city": "Rome"},
        "turns": [
            {"text": f" a {i} ", "speaker": "user", "slots": SLOTS},
            {"utterance": "b", "role": "system", "acts": ["tell"]},
        ],
    }
    for i in range(200)
]


def without_nulls(turn: dict) -> dict:
    """Return a turn without the columns that only other turns fill."""
    return {key: value for key, value in turn.items() if value}


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "arrow"])
def test_dialogue_records_keep_all_they_know(tmp_path: Path, scripts: Path, kind: str):
    late = {"id": "late", "turns": ["plain"], "new": 1}
    path = written(tmp_path, "jsonl", [*RECORDS, late])
    out = tmp_path / f"out.{kind}"
    run(scripts, "--kind", "dialogue", path, "-o", out)
    *rows, last = [r for _, r in read_records([str(out)], policy=Policy())]
    first, second = rows[0].pop("turns")
    assert rows[0] == {"id": "0", "split": "train", "goal": {"city": "Rome"}}
    assert without_nulls(first) == {"speaker": "user", "text": " a 0 ", "slots": SLOTS}
    assert without_nulls(second) == {"speaker": "system", "text": "b", "acts": ["tell"]}
    assert (last["new"], last["turns"][0]["text"]) == (1, "plain")
    for made in ("dialogue", "utterance"):  # there and back
        again = run(scripts, "--kind", made, out).stdout
        assert again == run(scripts, "--kind", made, path).stdout and b"null" not in again


def test_dialogues_are_split_sampled_and_limited_alike_for_any_jobs(tmp_path: Path, scripts: Path):
    path = written(tmp_path, "jsonl", RECORDS * 40)
    flags = ("--kind", "dialogue", "--sample", "0.5", "-n", "700", path)
    assert run(scripts, *flags, "-j", "3").stdout == run(scripts, *flags).stdout
    assert len(run(scripts, *flags).stdout.splitlines()) == 700
    fewer = written(tmp_path, "jsonl", RECORDS)
    sampled = run(scripts, *shlex.split("--kind dialogue --sample 0.5"), fewer).stdout.splitlines()
    assert 70 < len(sampled) < 130
    run(
        scripts,
        *shlex.split("--kind utterance --split train=0.8,dev=0.2 -o"),
        tmp_path / "{split}.parquet",
        path,
    )
    ids = [
        set(pq.read_table(tmp_path / f"{part}.parquet")["dialogue_id"].to_pylist())
        for part in ("train", "dev")
    ]
    assert not ids[0] & ids[1]
    assert len(ids[0] | ids[1]) == 200


def test_utterances_keep_text_slots_and_label(tmp_path: Path, scripts: Path):
    city = [{"start": 7, "end": 11, "label": "city"}]
    labelled = {"utt": "fly to rome", "intent": "fly", "slots": city}
    path = written(tmp_path, "jsonl", [labelled, RECORDS[3]])
    done = run(scripts, "--kind", "utterance", path)
    rows = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert rows[0] == {"text": "fly to rome", "slots": city, "label": "fly"}
    assert rows[2] == json_value("""
        {"dialogue_id": "3", "turn": 1, "speaker": "system", "text": "b", "acts": ["tell"],
         "split": "train", "goal": {"city": "Rome"}}
    """)
    (tmp_path / "log.txt").write_text("a\nb\n\nc\n")
    plain = run(scripts, "--kind", "utterance", tmp_path / "log.txt").stdout.splitlines()
    told = [(r["turn"], r["text"]) for r in map(orjson.loads, plain)]
    assert told == [(0, "a"), (1, "b"), (0, "c")]


def test_a_table_is_told_the_flags_that_its_header_suggests_and_what_is_left_to_name(
    tmp_path: Path, scripts: Path
):
    path, author = tmp_path / "log.csv", "--speaker-column Author"
    for text, said in (("Comment", f"Comment {author}"), ("Blah", f"{author} --text-column NAME")):
        path.write_text(f"Ticket ID,Author,{text}\n1,a,hi\n1,b,yo\n")
        told = run(scripts, path, status=1).stderr.decode()
        assert "by its names: --dialogue-column 'Ticket ID' --" in told and said in told


def test_what_belongs_to_pairs_is_refused_and_what_fits_no_table_is_told(
    tmp_path: Path, scripts: Path
):
    mixed = [{"id": "1", "turns": ["a"], "x": 1}, {"id": "2", "turns": ["b"], "x": "y"}]
    path = written(tmp_path, "jsonl", mixed)
    pairs = run(scripts, "--kind", "dialogue", "--min-words", "3", path, status=2)
    assert b"--min-words has no meaning beside --kind dialogue" in pairs.stderr
    done = run(scripts, "--kind", "dialogue", path, "-o", tmp_path / "out.parquet", status=1)
    assert b"records do not fit one table" in done.stderr
    assert b"--to jsonl takes any record" in done.stderr
    flags = shlex.split("--kind dialogue --to parquet")
    empty = run(scripts, *flags, input=b'{"turns": ["a"], "x": {}}', status=1)
    assert b"records do not fit one table" in empty.stderr
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("key", ["turns", "dialog"])
def test_turns_that_are_an_object_of_lists_are_read_as_a_list_of_objects(key, tmp_path, scripts):
    columns = {"speaker": ["user", "system", "user"], "utterance": ["hi", "hello", "a table"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    pq.write_table(pa.table({"id": ["d"], key: [columns]}), tmp_path / "lists.parquet")
    (tmp_path / "lists.jsonl").write_bytes(orjson.dumps({"id": "d", key: columns}))
    (tmp_path / "rows.jsonl").write_bytes(orjson.dumps({"id": "d", key: rows}))
    line = [scripts / "dial-pairs", "-q", "--window", "1,2"]
    written = {ended(*line, path).stdout for path in tmp_path.iterdir()}
    assert [len(pairs.splitlines()) for pairs in written] == [3]


@pytest.mark.parametrize("key", ["conversation_id", "session_id", "thread_id", "ticket_id"])
def test_a_dialogue_is_known_by_what_logs_call_its_id(scripts: Path, tmp_path: Path, key: str):
    turns = [{"speaker": "a", "text": "hi"}, {"speaker": "b", "text": "yes"}]
    (tmp_path / "t.jsonl").write_bytes(orjson.dumps({key: 7, "turns": turns}))
    pq.write_table(pa.table({key: ["7"], "turns": [turns]}), tmp_path / "t.parquet")
    for name in ("t.jsonl", "t.parquet"):
        done = subprocess.run([scripts / "dial-pairs", tmp_path / name], capture_output=True)
        assert orjson.loads(done.stdout)["dialogue_id"] == "7"


@pytest.mark.parametrize("kind", ["consecutive", "utterance"])
def test_a_broken_file_of_a_folder_of_your_own_is_left_out(
    scripts: Path, tmp_path: Path, kind: str
):
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("a.jsonl", "d.jsonl"):
        (folder / name).write_text('{"turns": ["hello", "hi"]}\n')
    (folder / "b.parquet").write_bytes(b"PAR1")
    for name in ("c.jsonl.gz", "e.json"):  # exports are JSON, and known by how they begin
        (folder / name).write_bytes(b"\x1f\x8bbroken")
    options = ["--kind", kind, "--on-error"]
    failed = run(scripts, *options, "fail", folder, status=1)
    assert failed.stderr.startswith(f"dial-pairs: {folder}/b.parquet: damaged parquet".encode())
    done = run(scripts, *options, "skip", folder, status=3)
    first, second, third, closing = done.stderr.decode().splitlines()
    assert f"{folder}/b.parquet: damaged" in first and first.endswith("; left out")
    assert f"{folder}/c.jsonl.gz: truncated" in second and second.endswith("; left out")
    assert f"{folder}/e.json: truncated" in third and third.endswith("; left out")
    assert "3 bad records skipped" in closing
    assert len(done.stdout.splitlines()) == (2 if kind == "consecutive" else 4)
    run(scripts, *options, "skip", folder / "a.jsonl", folder / "b.parquet", status=1)
