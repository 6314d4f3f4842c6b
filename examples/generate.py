#!/usr/bin/env python3
"""Make the example corpus: varied task-oriented dialogues with intents and slots, seeded.

    python examples/generate.py        writes dialogues.jsonl.gz, heldout.jsonl.gz and
    intents.jsonl.gz beside itself

Dialogues to learn from are made of phrases/train.toml, all that is evaluated of
phrases/heldout.toml: each intent has ways to ask, questions the system asks back, and ways to
answer, with slots that values fill. The two have no template, value or phrase in common
(overlap.py counts). Short replies ("thanks", "okay") are over-represented, as in real corpora.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parent
SLOT = re.compile(r"\{(\w+)\}")


class Book:
    """What texts are made of: intents by domain, stock phrases, and the values of slots."""

    def __init__(self, name: str) -> None:
        toml = tomllib.loads((HOME / "phrases" / f"{name}.toml").read_text())
        self.values: dict[str, list[str]] = toml["values"]
        self.intents: dict[str, dict[str, dict[str, list[str]]]] = toml["intents"]
        self.phrases: dict[str, list] = toml["phrases"]

    def asks(self) -> dict[str, list[str]]:
        """Return the ways to ask of each intent."""
        return {
            name: parts["asks"]
            for domain in self.intents.values()
            for name, parts in domain.items()
        }


class Talk:
    """One conversation: remembers the values it has used, so that replies repeat them."""

    def __init__(self, draw: random.Random, book: Book) -> None:
        self.draw, self.book = draw, book
        self.values: dict[str, str] = {}
        self.turns: list[dict] = []

    def pick(self, phrases: str) -> str:
        """Draw one of the stock phrases of a name."""
        return self.draw.choice(self.book.phrases[phrases])

    def say(self, speaker: str, pattern: str, intent: str | None = None) -> None:
        """Fill a pattern's slots and append the turn, with offsets."""
        if not SLOT.search(pattern) and self.draw.random() < 0.62:
            pattern = self.vary(pattern)
        text, slots, end = "", [], 0
        for hit in SLOT.finditer(pattern):
            name = hit[1]
            if name not in self.values:
                self.values[name] = self.draw.choice(self.book.values[name])
            text += pattern[end : hit.start()]
            slots.append(
                {"start": len(text), "end": len(text) + len(self.values[name]), "label": name}
            )
            text, end = text + self.values[name], hit.end()
        turn = {"speaker": speaker, "text": text + pattern[end:]}
        turn |= {"intent": intent} if intent else {}
        self.turns.append(turn | ({"slots": slots} if slots else {}))

    def vary(self, pattern: str) -> str:
        """Return a stock phrase in one of many dresses: repeats are common, but not everything."""
        body, mark = (pattern[:-1], pattern[-1]) if pattern[-1] in ".?!" else (pattern, "")
        before = self.pick("before") if self.draw.random() < 0.7 else ""
        after = self.pick("after") if self.draw.random() < 0.8 or not before else ""
        return before + body + after + mark

    def wording(self, ways: list[str]) -> str:
        """Return a way to ask, with an opener and a tail."""
        return self.pick("openers") + self.draw.choice(ways) + self.pick("tails")

    def task(self, intent: str, parts: dict[str, list[str]]) -> None:
        """One goal: ask, be asked back, perhaps correct oneself, get it done."""
        draw = self.draw
        self.say("user", self.wording(parts["asks"]), intent)
        if draw.random() < 0.6:
            hold = self.pick("holds") + " " if draw.random() < 0.4 else ""
            self.say("system", hold + draw.choice(parts["questions"]))
            self.answer()
        elif draw.random() < 0.3:
            self.say("system", self.pick("holds"))
            self.say("user", self.pick("acks"), "affirm")
        self.say("system", draw.choice(parts["closes"]))

    def answer(self) -> None:
        """Say something to a question: now and then, that a value was another one."""
        if self.draw.random() < 0.25 and self.values:
            name = self.draw.choice(sorted(self.values))
            self.values.pop(name)
            self.say("user", self.pick("correct").format("{" + name + "}"), "correct")
        else:
            phrases = self.book.phrases
            self.say("user", self.draw.choice([*phrases["acks"], *phrases["answers"]]), "answer")


def dialogue(draw: random.Random, identity: str, book: Book) -> dict:
    """One dialogue of one to three goals, mostly in one domain."""
    talk = Talk(draw, book)
    domain = draw.choice(sorted(book.intents))
    if draw.random() < 0.08:
        asked, answered = talk.pick("small")
        talk.say("user", asked, "small_talk")
        talk.say("system", answered)
    for goal in range(draw.choice([1, 1, 2, 2, 3])):
        here = draw.choice(sorted(book.intents)) if goal and draw.random() < 0.3 else domain
        intent = draw.choice(sorted(book.intents[here]))
        talk.task(intent, book.intents[here][intent])
        talk.values.clear()
        if draw.random() < 0.4:
            talk.say("user", talk.pick("thanks"), "thanks")
            talk.say("system", talk.pick("more"))
    talk.say("user", talk.pick("no" if talk.turns[-1]["text"].endswith("?") else "thanks"), "close")
    talk.say("system", talk.pick("byes"))
    return {"id": identity, "domain": domain, "turns": talk.turns}


def labelled(
    draw: random.Random, book: Book, ways: dict[str, list[str]], split: str, count: int
) -> list[dict]:
    """Distinct utterances of each intent, for few-shot evaluation."""
    rows: list[dict] = []
    for intent in sorted(ways):
        seen: dict[str, dict] = {}
        for _ in range(50 * count):
            talk = Talk(draw, book)
            talk.say("user", talk.wording(ways[intent]))
            seen[talk.turns[0]["text"]] = talk.turns[0]
            if len(seen) == count:
                break
        rows += [
            {"text": text, "label": intent, "split": split, "slots": seen[text].get("slots", [])}
            for text in sorted(seen)
        ]
    return rows


def write(path: Path, rows: list[dict]) -> None:
    """Write gzipped JSON lines, the same bytes each time."""
    data = "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    ).encode()
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file,
    ):
        file.write(data)


def corpus(seed: int = 7) -> dict[str, list[dict]]:
    """Return the three files: training dialogues, held-out dialogues, labelled utterances."""
    draw = random.Random(seed)
    train, heldout = Book("train"), Book("heldout")
    dialogues = [dialogue(draw, f"train-{i}", train) for i in range(5000)]
    others = [dialogue(draw, f"heldout-{i}", heldout) for i in range(600)]
    ways = heldout.asks()  # of them one half for examples, the other for tests
    few = {intent: asks[: len(asks) // 2] for intent, asks in ways.items()}
    rest = {intent: asks[len(asks) // 2 :] for intent, asks in ways.items()}
    return {
        "dialogues": dialogues,
        "heldout": others,
        "intents": labelled(draw, heldout, few, "train", 20)
        + labelled(draw, heldout, rest, "test", 20),
    }


def main() -> None:
    for name, rows in corpus().items():
        write(HOME / f"{name}.jsonl.gz", rows)


if __name__ == "__main__":
    main()
