"""DSTC7-Ubuntu, Ubuntu IRC, AmazonQA, ParlAI, ECD, JDDC: histories, responses, candidates."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from corpora.broken import broken_files
from test_task_dialogues import CORPORA as TASK_DIALOGUES

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.native.files import Files
from dialtools.corpora.published import lies_in
from dialtools.errors import DataError
from dialtools.streams.policy import Policy

ANSWERS = ["try apt-get update", "reboot it", "use sudo", "what is the error"]


def example(number: int, true: int | None, *said: str) -> dict[str, Any]:
    options = [{"candidate-id": f"C{i}", "utterance": text} for i, text in enumerate(ANSWERS)]
    correct = {} if true is None else {"options-for-correct-answers": [options[true]]}
    messages = [
        {"speaker": f"participant_{1 + i % 2}", "utterance": text} for i, text in enumerate(said)
    ]
    return {
        "data-split": "train",
        "example-id": number,
        "messages-so-far": messages,
        "options-for-next": options,
        "scenario": 1,
    } | correct


DSTC7 = {
    "ubuntu_train_subtask_1.json": json.dumps(
        [example(1, 0, "apt says no package", "which one?"), example(2, 1, "my screen is frozen")],
        indent=4,
    ),
    "ubuntu_dev_subtask_1.json": [example(1, 2, "permission denied")],
    "ubuntu_test_subtask_1.json": [example(10, None, "it does not work")],
    "ubuntu_responses_subtask_1.tsv": "10\tC3\twhat is the error\n",
}

LOG = """\
=== ann has joined #ubuntu
[03:10] <ann> how do I open a rar file?
[03:10] <bob> ann, with unrar
[03:11] <cid> hello
[03:11] <ann> bob: thanks
[03:12] * ann waves
[03:12] <bob> cid: hi
[03:13] <ann> it works
"""
LINKS = "0 0 -\n1 1 -\n1 2 -\n3 3 -\n2 4 -\n3 6 -\n4 7 -\n2 7 -\n"
IRC = {"dev/2004-11-15_03.ascii.txt": LOG, "dev/2004-11-15_03.annotation.txt": LINKS}

AMAZON = [
    r"""{'questionType': 'yes/no', 'asin': 'B1', 'question': "Does it fit 'em?", """
    r"""'answer': 'It\'s 5" wide.\nYes', 'unixTime': 1419926400}""",
    r"""{"asin": "B1", "question": "Is it \"new\"?", "answer": "I don\'t know \\"}""",
    r"""{"asin": "B2", "questions": [{"questionText": "Loud?", """
    r""""answers": [{"answerText": "No"}, {"answerText": "A bit"}]}]}""",
]
AMAZONQA = {"qa_Appliances.json": "\n".join(AMAZON), "notes.md": ""}

PARLAI = (
    "text:your persona: I like tea.\\nhi there\tlabels:hello|hey"
    "\tlabel_candidates:hello|what a__PIPE__b|bye\n"
    "text:bye\tlabels:see you\tepisode_done:True\n"
    "text:alone\teval_labels:yes\tlabel_candidates:yes|no\tepisode_done:True\n"
)

JDDC = {
    f"{split}/{name}": text
    for split in ("dev", "test")
    for name, text in (
        ("sts.txt", "3\t能取消订单吗\t还没发货\n"),
        ("select.txt", "0\t什么时候送\t配送\t1\t2\n1\t何时到\t配送\t0\t2\n2\t退货\t售后\t\t0,1\n"),
    )
}


def test_dstc7_reads_as_history_response_and_candidates(read, put):
    records = read(put(DSTC7))
    assert [(r["id"], r["split"], r["response"]) for r in records] == [
        ("train/1", "train", ANSWERS[0]),
        ("train/2", "train", ANSWERS[1]),
        ("val/1", "val", ANSWERS[2]),
        ("test/10", "test", ANSWERS[3]),
    ]
    assert records[0]["history"] == [
        {"speaker": "user", "text": "apt says no package"},
        {"speaker": "system", "text": "which one?"},
    ]
    assert all(record["candidates"] == ANSWERS for record in records), (
        "as published: the true one among them, once"
    )
    folder = put({"ubuntu_test_subtask_1.json": DSTC7["ubuntu_test_subtask_1.json"]}, "alone")
    (folder / "ubuntu_responses_subtask_1.tsv").write_text(DSTC7["ubuntu_responses_subtask_1.tsv"])
    assert read(folder / "ubuntu_test_subtask_1.json") == records[3:]


def test_a_response_of_ubuntu_irc_follows_the_chain_of_what_it_answers(read, put):
    records = read(put(IRC))
    assert {(r["id"], r["speaker"], r["split"]) for r in records} == {
        ("2004-11-15_03#2", "bob", "val"),
        ("2004-11-15_03#4", "ann", "val"),
        ("2004-11-15_03#6", "bob", "val"),
        ("2004-11-15_03#7", "ann", "val"),
    }
    assert [t["text"] for t in records[3]["history"]] == [
        "how do I open a rar file?",
        "ann, with unrar",
        "bob: thanks",
    ]
    assert records[2] == {
        "id": "2004-11-15_03#6",
        "split": "val",
        "history": [{"speaker": "cid", "text": "hello"}],
        "speaker": "bob",
        "response": "cid: hi",
    }


def test_amazonqa_reads_python_dicts_json_and_the_escape_that_json_has_not(read, put):
    records = read(put(AMAZONQA))
    assert [(r["history"][0]["text"], r["response"]) for r in records] == [
        ("Does it fit 'em?", "It's 5\" wide.\nYes"),
        ('Is it "new"?', "I don't know \\"),
        ("Loud?", "No"),
        ("Loud?", "A bit"),
    ]
    assert records[0] == {
        "history": [{"speaker": "user", "text": "Does it fit 'em?"}],
        "speaker": "system",
        "response": records[0]["response"],
        "domain": "Appliances",
        "asin": "B1",
    }
    assert read(put(AMAZONQA) / "qa_Appliances.json") == records, "told by how it begins"


def test_nothing_of_amazonqa_is_executed(scripts: Path, put, tmp_path: Path):
    traps = [
        f"{{'question': open({str(tmp_path / 'x')!r}, 'w'), 'answer': 'a'}}",
        "__import__('os').system('true')",
        "[" * 5000,
        "{'question': 1}",
        "{'a': '\\d'",
        "{1: 2}",
        "{'question': {1}}",
        "{'question': '\\ud800', 'answer': ''}",
        "{'a': " + "9" * 5000 + "}",
        "-" * 9999 + "1",
        "{'question': 'a', 'answer': " + "9" * 30 + "}",
    ]
    folder = put({"qa_Appliances.json": "\n".join([AMAZON[0], *traps])})
    run = ended(scripts / "dial-pairs", "--on-error", "skip", folder, code=3, text=True)
    assert len(run.stdout.splitlines()) == 1 and not (tmp_path / "x").exists()
    assert "Warning" not in run.stderr and "Traceback" not in run.stderr


def test_an_episode_of_parlai_is_a_dialogue_and_an_example_a_response(read, put):
    file = put({"valid.txt": PARLAI}) / "valid.txt"
    first, second = read(file)  # told by how it begins
    assert [(t["speaker"], t["text"]) for t in first["turns"]] == [
        ("user", "hi there"),
        ("system", "hello"),
        ("user", "bye"),
        ("system", "see you"),
    ]
    assert (
        first["turns"][1]["candidates"] == ["hello", "what a|b", "bye"] and first["split"] == "val"
    )
    assert [t["text"] for t in second["turns"]] == ["alone", "yes"]
    responses = read(file, "parlai-responses")
    assert [(len(r["history"]), r["response"], r.get("candidates")) for r in responses] == [
        (1, "hello", ["hello", "what a|b", "bye"]),
        (3, "see you", None),
        (1, "yes", ["yes", "no"]),
    ]
    assert responses[1]["history"] == [
        {"speaker": t["speaker"], "text": t["text"]} for t in first["turns"][:3]
    ]


@pytest.mark.parametrize("silence", ["__SILENCE__", "<SILENCE>"])
def test_silence_and_personas_before_a_text_are_no_turns(read, put, silence: str):
    facts = "text:your persona: I ski.\\npartner's persona: Tea.\\n"
    line = facts + "{}\tlabels:yo\tepisode_done:True\n"
    file = put({"train.txt": line.format(silence) + line.format("my persona: shy")}) / "train.txt"
    texts = [[turn["text"] for turn in record["turns"]] for record in read(file, "parlai")]
    assert texts == [["yo"], ["my persona: shy", "yo"]]
    histories = [record["history"] for record in read(file, "parlai-responses")]
    assert histories == [[], [{"speaker": "user", "text": "my persona: shy"}]]


def test_numbered_lines_are_episodes_and_what_has_no_answer_is_no_turn(read, put):
    lines = (
        "1 your persona: I like tea.\n2 hi there\thello\n3 bye\tsee you\t\tsee you|what\n\n"
        "1 <SILENCE>\tanyone?\n2 R_phone 555\n3 yes\tgood\n"
    )
    file = put({"task1-trn.txt": lines}) / "task1-trn.txt"
    first, second = read(file)
    assert [t["text"] for t in first["turns"]] == ["hi there", "hello", "bye", "see you"]
    assert [t["text"] for t in second["turns"]] == ["anyone?", "yes", "good"]
    responses = read(file, "parlai-responses")
    assert [(len(r["history"]), r["response"]) for r in responses] == [
        (1, "hello"),
        (3, "see you"),
        (0, "anyone?"),
        (2, "good"),
    ]
    assert responses[1]["candidates"] == ["see you", "what"]


@pytest.mark.parametrize(
    "line", ["hi , Kim . __eou__ hello ! __eou__", "hi , __eou__ Kim . __eou__ __eot__ hello !"]
)
def test_marks_of_the_end_of_an_utterance_end_turns(read, put, line: str):
    folder = put({"train/dialogues_train.txt": f"{line}\n", "train/dialogues_act_train.txt": "1 1"})
    for path in (folder, folder / "train/dialogues_train.txt"):
        (record,) = read(path, None)
        texts = [turn["text"] for turn in record["turns"]]
        assert " ".join(texts) == "hi , Kim . hello !" and len(texts) == 2
        assert record["split"] == "train"


def test_of_dailydialog_unpacked_the_parts_are_read_and_the_whole_is_not_read_again(read, put):
    parts = {"train": "a __eou__ b __eou__\n", "test": "c __eou__ d __eou__\n"}
    inner = {f"{part}/dialogues_{part}.txt": text for part, text in parts.items()}
    folder = put({"dialogues_text.txt": "".join(parts.values())} | inner)
    assert [record["split"] for record in read(folder, None)] == ["train", "test"]
    assert len(read(folder / "dialogues_text.txt", None)) == 2


def test_of_dailydialogs_zip_the_zips_of_its_parts_are_read(read, put, tmp_path: Path):
    lines = {part: f"{part} __eou__ b __eou__\n" for part in ("train", "validation", "test")}
    files: dict[str, Any] = {"dialogues_text.txt": "".join(lines.values())}
    for part, line in lines.items():
        with zipfile.ZipFile(packed := io.BytesIO(), "w") as inner:
            inner.writestr(f"{part}/dialogues_{part}.txt", line)
        files[f"{part}.zip"] = packed.getvalue()
    folder = put(files, "ijcnlp_dailydialog")
    packed = shutil.make_archive(str(tmp_path / "d"), "zip", tmp_path, folder.name)
    for path in (folder, Path(packed)):
        assert [record["split"] for record in read(path)] == ["train", "val", "test"]
    put({"train.zip": files["train.zip"].replace(b" __eou__ b", b"\0__eou__ b")}, folder.name)
    damaged = f"{folder}/train.zip/train/dialogues_train.txt: damaged archive: Bad CRC"
    with pytest.raises(DataError, match=re.escape(damaged)):
        read(folder)
    put({"train.zip": b"no zip"}, folder.name)
    with pytest.raises(DataError, match=r"train\.zip: damaged archive: File is not a zip"):
        read(folder)


EMPATHETIC = """\
conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
hit:0_conv:1,1,sentimental,I said "hi_comma_ kim,1,"hi_comma_ kim,5|5|5_2|2|5,
hit:0_conv:1,2,sentimental,I said "hi_comma_ kim,0,and then?,5|5|5_2|2|5,,a|b_comma_ c
hit:1_conv:2,2,afraid,a dog,4,a dog?,5|5|5_2|2|5,
hit:1_conv:2,1,afraid,a dog,3,there is one,5|5|5_2|2|5,
"""


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_commas_of_copies_of_empathetic_dialogues_are_commas(
    scripts: Path, tmp_path: Path, kind: str
):
    names, *lines = (line.split(",")[:6] for line in EMPATHETIC.splitlines())
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    log = tmp_path / f"log.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), log)
    else:
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ["--dialogue-column", "conv_id", "--text-column", "utterance"]
    run = subprocess.run([scripts / "dial-pairs", *flags, log], capture_output=True, text=True)
    assert [json.loads(line)["context"] for line in run.stdout.splitlines()] == [
        ['"hi, kim'],
        ["a dog?"],
    ]
    log.write_text('{"dialogue_id": 1, "text": "a_comma_b"}\n{"dialogue_id": 1, "text": "c"}\n')
    flags = ["--from", "jsonl", "--dialogue-column", "dialogue_id"]
    run = subprocess.run([scripts / "dial-pairs", *flags, log], capture_output=True, text=True)
    assert json.loads(run.stdout)["context"] == ["a_comma_b"]


def test_the_commas_of_empathetic_dialogues_are_commas(scripts: Path, read, put):
    folder = put({"empatheticdialogues/valid.csv": EMPATHETIC.replace("\n", "\r\n")})
    first, second = read(folder)
    assert first == {
        "id": "hit:0_conv:1",
        "split": "val",
        "domain": "sentimental",
        "situation": 'I said "hi, kim',
        "turns": [
            {"speaker": "user", "text": '"hi, kim'},
            {"speaker": "system", "text": "and then?"},
        ],
    }
    assert [turn["text"] for turn in second["turns"]] == ["there is one", "a dog?"]
    file = folder / "empatheticdialogues/valid.csv"
    assert read(file) == [first, second]
    for bad in ("hit:1_conv:2,3,afraid,a dog", "hit:1_conv:2,x,afraid,a dog,3,no"):
        put({"valid.csv": f"{EMPATHETIC}{bad}\n"})
        assert len(read(folder / "valid.csv", on_error="skip")) == 1
    flags = ["--dialogue-column", "context", "--text-column", "prompt"]
    run = subprocess.run([scripts / "dial-pairs", *flags, file], capture_output=True, text=True)
    assert f"{file}:2: text after the quote that ends a field\n" in run.stderr  # as any CSV


def test_a_folder_of_jddc_is_read_with_its_splits_and_its_files_as_lines(scripts: Path, read, put):
    folder = put(JDDC)
    assert read(folder, "ecd-sts") == [
        {"text1": "能取消订单吗", "text2": "还没发货", "score": 3.0, "split": s}
        for s in ("val", "test")
    ]
    selects = read(folder, "ecd-select")
    asked = {"id": 0, "query": "什么时候送", "label": "配送", "split": "val"}
    assert selects[0] == {**asked, "positives": [1], "negatives": [2]}
    assert len(selects) == 6
    run = ended(
        scripts / "dial-freq",
        "--from",
        "ecd-sts",
        "--field",
        "text1",
        folder / "dev/sts.txt",
        text=True,
    )
    assert json.loads(run.stdout)["text"] == "能取消订单吗", "a file of lines is no corpus"


BROKEN = broken_files(
    r"""
dstc7-ubuntu ubuntu_test_subtask_1.json
[EXAMPLE]
-> ubuntu_test_subtask_1.json:1: expected 'options-for-correct-answers', or its response in
-> ubuntu_responses_subtask_1.tsv beside the file

dstc7-ubuntu ubuntu_dev_subtask_1.json
[EXAMPLE]
-> subtask_1.json:1: expected 'options-for-correct-answers', found 'data-split'

dstc7-ubuntu ubuntu_dev_subtask_1.json
[{"a": 1} {"b": 2}]
-> ubuntu_dev_subtask_1.json:1: not JSON: unexpected content after document

dstc7-ubuntu ubuntu_dev_subtask_1.json
[{
-> ubuntu_dev_subtask_1.json:1: the array of records has no end

dstc7-ubuntu ubuntu_dev_subtask_1.json
{}
-> ubuntu_dev_subtask_1.json:1: expected 'messages-so-far', found no field at all

ubuntu-irc a.ascii.txt
LOG
-> a.ascii.txt: no .annotation.txt beside it

ubuntu-irc a.ascii.txt
LOG
+ a.annotation.txt
1 2 -
x y
-> a.annotation.txt:2: expected two numbers of messages

amazonqa qa_Baby.json
hello
-> qa_Baby.json:1: neither JSON nor a Python dict

amazonqa qa_Baby.json
{"questions": [{"answers": [3]}]}
-> qa_Baby.json:1: question: expected a string, found null

parlai a.txt
text:hi\tlabels:ho
hello world
-> a.txt:1: line 2: expected text: and labels:, found 'hello world'

parlai-responses a.txt
text:hi\tlabels:ho
text:bye
-> a.txt:2: line 2: expected labels:, the response

ecd-sts sts.txt
x\ta\tb
-> sts.txt:1: score: expected a number, got 'x'

ecd-select sts.txt
x\ta\tb
-> expected select.txt, found sts.txt
""",
    {"EXAMPLE": json.dumps(example(1, None, "x")), "LOG": LOG},
)
NOT_UTF8 = {"ubuntu_dev_subtask_1.json": b'["\xff"]'}


@pytest.mark.parametrize(
    ("name", "files", "told"),
    [*BROKEN, ("dstc7-ubuntu", NOT_UTF8, "subtask_1.json:1: invalid UTF-8 at byte 3")],
)
def test_another_layout_tells_what_was_expected_and_found(
    read, put, name: str, files: dict[str, Any], told: str
):
    with pytest.raises(DataError, match=re.escape(told)):
        read(put(files), name)


TOLD = TASK_DIALOGUES | {"dstc7-ubuntu": DSTC7, "ubuntu-irc": IRC, "amazonqa": AMAZONQA}


@pytest.mark.parametrize("name", TOLD)
def test_a_corpus_is_told_as_itself_and_as_no_other(put, name: str):
    files = Files(str(put(TOLD[name])), Policy())
    assert [other for other, corpus in CORPORA.items() if lies_in(files, corpus)] == [name]


def test_a_history_and_its_response_are_a_dialogue(scripts: Path, put):
    run = ended(scripts / "dial-pairs", put(DSTC7), text=True)
    pairs = [
        (row["context"], row["response"], row["dialogue_id"], row["speakers"])
        for row in map(json.loads, run.stdout.splitlines())
    ]
    assert pairs[:3] == [
        (["apt says no package"], "which one?", "train/1", ["user", "system"]),
        (["which one?"], ANSWERS[0], "train/1", ["system", None]),
        (["my screen is frozen"], ANSWERS[1], "train/2", ["user", None]),
    ]
    for record, told in (
        ({"context": ["a"], "response": "b"}, 'no "turns"'),
        ({"history": ["a"]}, 'no "turns"'),
        ({"history": "a", "response": "b"}, '"history" must be a list'),
        ({"history": ["a"], "response": 3}, "response: expected a string, got a number"),
    ):
        run = ended(scripts / "dial-pairs", code=1, input=json.dumps(record), text=True)
        assert told in run.stderr, "pairs are no dialogues"


def test_response_selection_from_the_published_files_to_the_score(
    scripts: Path, put, minilm: str, tmp_path: Path
):
    folder = put(DSTC7)
    queries, pool = tmp_path / "queries.parquet", tmp_path / "pool.parquet"
    embed = [scripts / "dial-embed", "-q", "--model", minilm, folder]
    subprocess.run([*embed, "--field", "history", "-o", queries], check=True)
    subprocess.run([*embed, "--per", "candidate", "-o", pool], check=True)
    run = ended(scripts / "dial-eval", "select", queries, "--pool", pool, "--json", text=True)
    scores = {row["metric"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert scores["top-1"]["n"] == 4
    assert scores["top-5"]["value"] == 100
    assert 25 <= scores["mrr"]["value"] <= 100

    turns = ended(*embed, "--per", "turn", "--to", "jsonl", text=True)
    texts = [json.loads(line)["text"] for line in turns.stdout.splitlines()]
    assert texts[:3] == ["apt says no package", "which one?", ANSWERS[0]]
    assert len(texts) == 9


@pytest.mark.shared
def test_ubuntu_irc_and_jddc_as_published_are_the_sets_at_hand(read, shared: Path):
    raw, evaluation = shared / "data/raw", shared / "data/eval"
    for records, name, count in (
        (read(raw / "ubuntu_irc"), "ubuntu_irc", 2025),
        (read(raw / "jddc", "ecd-select"), "jddc_retrieval", 2094 + 6970),
        (read(raw / "jddc", "ecd-sts"), "jddc_sts", 3000),
    ):
        with gzip.open(evaluation / f"{name}.jsonl.gz") as lines:
            expected = [json.loads(line) for line in lines]
        splits = {record["split"] for record in records}
        for record in expected:
            record["split"] = {"dev": "val"}.get(record["split"], record["split"])
        assert (
            records == [record for record in expected if record["split"] in splits]
            and len(records) == count
        )
