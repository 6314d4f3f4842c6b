"""Valid records of every kind, drawn at random: what mutators begin with.

KINDS says of each kind how a record is drawn. A record is small, so that a file of hundreds is met
whole in some milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

Record = dict[str, Any]

WORDS = (
    *("a", "the", "i", "want", "table", "for", "two", "in", "rome", "oslo", "on", "monday"),
    *("please", "yes", "no", "thanks", "book", "it", "which", "price", "is", "12:30", "ok"),
    *("naïve", "café", "谢谢", "مرحبا", "🙂", "don't", "e-mail", "{", "100%", "x" * 40),
)
SPEAKERS = ("user", "system", "agent", "Kim")
LABELS = ("flight", "hotel", "oos", "greet")
SPLITS = ("train", "train", "test", "validation")
WIDTH = 6
"""Of vectors that are made here."""


def text(draw: Random, most: int = 8) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(1, most)))


def texts(draw: Random, most: int = 4) -> list[str]:
    return [text(draw) for _ in range(draw.randint(1, most))]


def name(draw: Random) -> str:
    return f"n{draw.randrange(1000)}"


def some(draw: Random, **fields: Any) -> Record:
    """Return fields of which each may be missing."""
    return {key: value for key, value in fields.items() if draw.random() < 0.6}


def vector(draw: Random) -> list[float]:
    return [round(draw.gauss(0, 1), 3) for _ in range(WIDTH)]


def slots(draw: Random, spoken: str) -> list[Record]:
    start = draw.randrange(len(spoken))
    end = draw.randint(start + 1, len(spoken))
    return [{"start": start, "end": end, "label": draw.choice(("city", "from.city", "day"))}]


def turn(draw: Random) -> Any:
    spoken = text(draw)
    if draw.random() < 0.3:
        return spoken
    said = {"text": spoken, "speaker": draw.choice(SPEAKERS)}
    return said | some(
        draw,
        slots=slots(draw, spoken),
        acts=[draw.choice(("inform", "request"))],
        time=f"2024-01-0{draw.randint(1, 9)}T10:0{draw.randint(0, 9)}:00Z",
    )


def dialogue(draw: Random) -> Record:
    turns = [turn(draw) for _ in range(draw.randint(1, 6))]
    field = draw.choice(("turns", "turns", "dialogue"))
    return {"id": name(draw), field: turns} | some(draw, split=draw.choice(SPLITS), note=3)


NAMES_OF = {"system": "system", "user": "human", "assistant": "ai"}


def chat(draw: Random) -> Record:
    """A log of a language model."""
    messages: list[Record] = (
        [{"role": "system", "content": text(draw)}] if draw.random() < 0.5 else []
    )
    for role in ("user", "assistant") * draw.randint(1, 3):
        parts = [{"type": "text", "text": text(draw)}, {"type": "image_url", "image_url": "x"}]
        messages.append({"role": role, "content": draw.choice((text(draw), parts))})
    dialect = draw.choice(("openai", "openai", "langchain", "sharegpt"))
    if dialect == "langchain":
        messages = [{"type": NAMES_OF[m["role"]], "content": m["content"]} for m in messages]
    if dialect == "sharegpt":
        turns = [{"from": NAMES_OF[m["role"]], "value": text(draw)} for m in messages]
        return {"id": name(draw), "conversations": turns}
    return {"id": name(draw), "messages": messages}


def utterance(draw: Random) -> Record:
    spoken = text(draw)
    return {"text": spoken} | some(
        draw,
        id=name(draw),
        label=draw.choice(LABELS),
        split=draw.choice(SPLITS),
        slots=slots(draw, spoken),
        template="a {SLOT}",
        annot_utt="fly to [city : rome] on [day : monday]",
    )


def labelled(draw: Random) -> Record:
    """An utterance of which nothing is missing."""
    return {"text": text(draw), "label": draw.choice(LABELS), "split": draw.choice(SPLITS)}


def pair(draw: Random) -> Record:
    context = texts(draw)
    return {"context": context, "response": text(draw), "window": len(context)} | some(
        draw,
        kind="consecutive",
        dialogue_id=name(draw),
        turn=draw.randrange(9),
        speakers=[draw.choice(SPEAKERS) for _ in range(len(context) + 1)],
        follow=texts(draw),
        negatives=texts(draw),
        weight=round(draw.random(), 3),
        template="the {SLOT}",
    )


def row(draw: Random, number: int = 0) -> Record:
    """A turn of a table of turns."""
    fields = {"dialogue_id": f"d{number // 4}", "text": text(draw)}
    fields["speaker"] = draw.choice(SPEAKERS)
    return fields | {"sent": f"2024-01-01 10:{draw.randrange(60):02}", "n": draw.randrange(99)}


def frequency(draw: Random) -> Record:
    count = draw.randint(1, 500)
    weight = 1 / (math.log(count) + 1)
    return {"text": text(draw), "count": count, "share": 0.1, "rank": 1, "weight": weight}


def two_texts(draw: Random) -> Record:
    label = draw.choice(("entailment", "contradiction", "neutral"))
    fields = {name: text(draw) for name in ("text1", "text2")}
    return fields | {"label": label, "score": draw.randint(0, 50) / 10} | some(draw, split="test")


def triplet(draw: Random) -> Record:
    return {name: text(draw) for name in ("anchor", "entailment", "contradiction")}


def response(draw: Random) -> Record:
    """A response to select."""
    candidates = texts(draw)
    answer = draw.choice(candidates)
    return {"history": texts(draw), "response": answer, "candidates": candidates, "split": "test"}


def embedded(draw: Random, number: int, *fields: str) -> Record:
    """A record of vectors with all that tasks ask for; `fields` are those with a vector each."""
    names = [f"{field}_embedding" for field in fields] or ["embedding"]
    return {name: vector(draw) for name in names} | {
        "id": str(number),
        "text": text(draw),
        "label": draw.choice(LABELS),
        "labels": [draw.choice(LABELS)],
        "split": draw.choice(SPLITS),
        "dialogue_id": f"d{number // 4}",
        "turn": number % 4,
        "speaker": draw.choice(SPEAKERS),
        "acts": [draw.choice(("inform", "request"))],
        "score": float(draw.randint(0, 5)),
        "tokens": draw.randint(1, 40),
        "context": text(draw),
        "response": text(draw),
        "text1": draw.choice(("yes", "no", "ok")),
        "text2": text(draw),
        "anchor": text(draw, 2),
        "positives": [str(max(0, number - 1))],
        "negatives": [str(number - 2)] if number > 1 else [],
    }


def score(draw: Random, number: int) -> Record:
    values = [round(draw.uniform(0, 100), 1) for _ in range(4)]
    fields = {"schema": "dialtools.score/1", "task": "sts"}
    fields |= {"dataset": draw.choice(("stsb", "tickets")), "setting": f"part-{number}"}
    fields["metric"] = draw.choice(("spearman", "accuracy"))
    return (
        fields
        | {"value": values[0], "low": values[1], "high": values[2]}
        | some(draw, std=1.5, runs=4, values=values, n=4, seed=0, each=values, model="m", inputs=[])
    )


def span(draw: Random) -> Record:
    """A slot of another tagger."""
    return {"id": name(draw), "start": 0, "end": 2, "label": "city"}


def drawn(draw: Random, kind: str, count: int) -> list[Record]:
    """Return so many records of a kind."""
    return [KINDS[kind](draw, number) for number in range(count)]


def alike(draw_one: Callable[[Random], Record]) -> Callable[[Random, int], Record]:
    return lambda draw, number: draw_one(draw)


KINDS: dict[str, Callable[[Random, int], Record]] = {
    "dialogues": alike(dialogue),
    "chats": alike(chat),
    "utterances": alike(utterance),
    "labelled": alike(labelled),
    "pairs": alike(pair),
    "rows": row,
    "frequencies": alike(frequency),
    "two_texts": alike(two_texts),
    "triplets": alike(triplet),
    "responses": alike(response),
    "embeddings": embedded,
    "text_embeddings": lambda draw, n: embedded(draw, n, "text1", "text2"),
    "pair_embeddings": lambda draw, n: embedded(draw, n, "context", "response"),
    "triplet_embeddings": lambda draw, n: embedded(
        draw, n, "anchor", "entailment", "contradiction"
    ),
    "template_embeddings": lambda draw, n: embedded(draw, n, "text", "template"),
    "scores": score,
    "spans": alike(span),
}
"""How the record of a number is drawn."""
