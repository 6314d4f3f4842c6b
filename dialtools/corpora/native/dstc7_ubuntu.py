"""DSTC7 track 1 on Ubuntu: dialogues with 100 candidates to go on with.

The files are ubuntu_{train,dev,test}_subtask_1.json, lists of dialogues.
https://ibm.github.io/dstc-noesis/public/datasets.html, Apache-2.0 code, logs in the public domain.
Published: 100,000 / 5,000 / 1,000 dialogues. The true response is among the candidates; those of
the test set stand in ubuntu_responses_subtask_1.tsv beside it (id of the example, id of the
candidate, text). The first to speak, who asks, is the user. Holds a few dialogues: the
training file has 10 million candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import Raw, Unexpected, each_file, field, known, stated, turn

ANSWERS = "ubuntu_responses_subtask_1.tsv"
TRUE = "options-for-correct-answers"
SPEAKERS = {"participant_1": "user", "participant_2": "system"}


@each_file(*(f"ubuntu_{part}_subtask_1.json" for part in ("train", "dev", "test")))
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the dialogues of each split; `more` is the response where another file tells it."""
    split = split_of_name(name)
    answers = _answers(files, name) if split == "test" else {}
    for number, item in files.json_records(name):
        answer = answers.get(str(item.get("example-id")))
        yield Raw(files.where(name, number), split, item, answer)


def _answers(files: Files, name: str) -> dict[str, str]:
    """Return the response of each test example, of the file that has them, if it is there."""
    answers_file = files.beside(name, ANSWERS)
    if not answers_file:
        return {}
    rows = (line.split("\t") for _, line in files.lines(answers_file))
    return {row[0]: row[-1] for row in rows if len(row) == 3}


def record(raw: Raw) -> dict[str, Any]:
    """Return history, response and candidates."""
    history = [_said(message) for message in field(raw.value, "messages-so-far", list)]
    candidates = [
        field(option, "utterance", str) for option in field(raw.value, "options-for-next", list)
    ]
    name = "/".join(
        str(part) for part in (raw.split, raw.value.get("example-id")) if part is not None
    )
    return stated(
        id=name or None,
        split=raw.split,
        history=history,
        response=_response(raw),
        candidates=candidates,
    )


def _said(message: Any) -> dict[str, Any]:
    return turn(
        known(SPEAKERS, field(message, "speaker", str), "speaker"), field(message, "utterance", str)
    )


def _response(raw: Raw) -> str:
    if raw.more is not None:
        return raw.more
    if TRUE not in raw.value and raw.split == "test":
        raise Unexpected(f"expected {TRUE!r}, or its response in {ANSWERS} beside the file")
    true = field(raw.value, TRUE, list)
    if not true:
        raise Unexpected(f"{TRUE}: expected one, found none")
    return field(true[0], "utterance", str)
