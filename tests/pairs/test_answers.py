"""--kind same-answer: utterances that the same answer followed, against a slow transcription."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from at_work import ended
from hypothesis import given, settings
from hypothesis import strategies as st

from dialtools.chance import share, split_of
from dialtools.pairs.answers import ALONE, BEYOND, skeleton
from dialtools.pairs.job import input_chunks, mine
from dialtools.pairs.options import PairOptions
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

UTTERANCES = st.sampled_from(
    ["Hi", "hi", "a bus to Rome", "A train?", "two beds please", "3 of us"]
)
ANSWERS = st.sampled_from(
    [
        "It leaves at 9:15.",
        "It leaves at 10.",
        "For Friday, in Rome",
        "For Monday, in York",
        "Fine",
        "7",
    ]
)
TALKS = st.lists(st.lists(st.tuples(UTTERANCES, ANSWERS), min_size=1, max_size=4), max_size=9)


def written(talks: list[list[tuple[str, str]]], path: Path) -> Path:
    lines = []
    for i, talk in enumerate(talks):
        turns = [
            turn
            for said, answer in talk
            for turn in ({"text": said, "speaker": "user"}, {"text": answer, "speaker": "system"})
        ]
        lines.append(json.dumps({"id": f"d{i}", "turns": turns}) + "\n")
    path.write_text("".join(lines))
    return path


def mined(path: Path, *, lines: bool = True, **options) -> tuple[dict[str, list[dict]], Tally]:
    chosen = PairOptions(kind="same-answer", inputs=(str(path),), from_="jsonl", **options)
    policy, tally = Policy(), Tally()
    chunks = input_chunks(chosen, policy, tally, prompt=False)
    found: dict[str, list[dict]] = {}
    for piece in mine(chunks, chosen, lines=lines, policy=policy, tally=tally):
        payload = piece.payload
        rows = map(orjson.loads, payload.splitlines()) if lines else payload.to_pylist()
        found.setdefault(piece.part, []).extend(rows)
    return found, tally


def slow(talks: list[list[tuple[str, str]]], most: int, shares: dict[str, float]) -> dict:
    """The same by what the help says, an answer and a part at a time."""
    pairs: dict[str, list] = {part: [] for part in shares or ("",)}
    groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for i, talk in enumerate(talks):
        part = split_of(f"d{i}", shares) or "" if shares else ""
        turns = [text for exchange in talk for text in exchange]
        for said, answer in zip(turns[:-1:2], turns[1::2], strict=True):
            if skeleton(answer) not in ("", "#") and part in pairs:
                groups.setdefault((part, skeleton(answer)), []).append((said, i))
    for (part, _), said in groups.items():
        first: dict[str, tuple[str, int]] = {}
        for text, i in said:
            first.setdefault(text.casefold(), (text, i))
        drawn = [first[text] for text in sorted(first, key=share)][: 2 * most]
        for (one, i), (other, j) in zip(drawn[::2], drawn[1::2], strict=False):
            if i != j:
                pairs[part].append((f"d{i}", [one], other))
    return pairs


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Your table at Bedouin is booked for 7:30 pm.", "your table at # is booked for # pm"),
        (
            "I have 3 buses. The TR9016 leaves New York at 21:21!",
            "i have # buses the # leaves # at #",
        ),
        (
            "Sure! I'll book Ms O'Neill's room; what's the date?",
            "sure i'll book # room what's the date",
        ),
        ("it's in the city centre", "it's in the city centre"),
        ("您的房间已预订，价格是200元。", "您的房间已预订 价格是 # 元"),
        ("आपका ऑर्डर 12 तैयार है। कैसे?", "आपका ऑर्डर # तैयार है कैसे"),
        ("12 34", "#"),
        ("...", ""),
    ],
)
def test_a_skeleton_has_no_names_and_no_numbers(text: str, left: str):
    assert skeleton(text) == left


@settings(max_examples=60, deadline=None)
@given(TALKS, st.integers(1, 3), st.sampled_from([{}, {"train": 0.6, "dev": 0.3}]))
def test_pairs_are_those_of_a_slow_transcription(tmp_path_factory, talks, most, shares):
    path = written(talks, tmp_path_factory.mktemp("talks") / "talks.jsonl")
    split = {
        "split": tuple(f"{name}={size}" for name, size in shares.items()),
        "output": "{split}.jsonl" if shares else "-",
    }
    asked = {**split, "speaker": "system", "per_answer": most}
    found, tally = mined(path, **asked)
    pairs = slow(talks, most, shares)
    told = {
        part: [(row["dialogue_id"], row["context"], row["response"]) for row in rows]
        for part, rows in found.items()
        if rows
    }
    assert told == {part: rows for part, rows in pairs.items() if rows}
    assert tally.sources == len(talks)
    assert tally.kept == sum(map(len, pairs.values()))
    answered = sum(map(len, talks))
    reasons = ("outside the split", "answered by names or numbers alone")
    apart = sum(tally.dropped[reason] for reason in reasons)
    without = tally.dropped[ALONE] + tally.dropped[BEYOND]
    assert apart + without + 2 * tally.kept == answered


def test_what_per_answer_leaves_out_is_told_as_such(tmp_path: Path):
    talks = [[(f"line {i}", "Which gate?")] for i in range(9)] + [[("x", "No.")]]
    for most, left in ((2, {BEYOND: 5, ALONE: 1}), (5, {ALONE: 2})):
        _, tally = mined(written(talks, tmp_path / "talks.jsonl"), per_answer=most)
        assert dict(tally.dropped) == left


def test_both_lanes_and_two_processes_give_the_same_pairs(tmp_path: Path):
    talks = [[(f"line {i % 40} of {i}", f"That is gate {i}.")] for i in range(300)]
    path = written(talks, tmp_path / "talks.jsonl")
    (lines, _), (rows, _), (parallel, _) = (
        mined(path, **how) for how in ({}, {"lines": False}, {"jobs": 2})
    )
    assert lines == rows == parallel and len(lines[""]) == 20
    sampled, tally = mined(path, sample=0.5)
    kept = [row for row in lines[""] if row in sampled[""]]
    assert kept == sampled[""] and 0 < len(kept) < 20
    assert tally.dropped["not sampled"] == 20 - len(kept)


def test_from_dialogues_to_a_model(tmp_path: Path, scripts: Path, environment: dict[str, str]):
    """Two kinds of pairs, each in batches of its own, as the recipe of that name has them."""
    talks = [
        [(f"I want {what} number {i}", f"Which day, {name}?"), (f"on day {i}", "It is booked now.")]
        for i in range(20)
        for what, name in (("a bus", "Ann"), ("two beds", "Bob"))
    ]
    path = written(talks, tmp_path / "talks.jsonl")

    def run(command: str, *rest: object) -> str:
        run = ended(scripts / command, *rest, text=True, env=environment, cwd=tmp_path)
        return run.stderr

    told = run("dial-pairs", "--kind", "same-answer", path, "-o", "same.arrow")
    assert told.startswith("dial-pairs: 31 pairs from 40 dialogues; dropped 58")
    run("dial-pairs", path, "-o", "next.arrow")
    small = ["--encoder", "static", "--hidden", 64, "--max-steps", 6, "--batch-size", 16]
    run("dial-train", "--method", "same-answer", *small, "-o", "model", "same.arrow", "next.arrow")
    log = [json.loads(line) for line in (tmp_path / "model/train-log.jsonl").open()]
    assert sum("loss" in row for row in log) == 6
