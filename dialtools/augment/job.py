"""Two passes over the records: one learns the entity book, one makes templates and fills them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import IO, Any

from dialtools.advance import Advance, silent
from dialtools.augment import consistent
from dialtools.augment.agreement import Heard
from dialtools.augment.book import Book, key
from dialtools.augment.fill import Template, fillings, template
from dialtools.augment.items import Item, Turn, instead, items, short
from dialtools.augment.options import AugmentOptions
from dialtools.augment.tagger import Marked, marked_by, tagger
from dialtools.chance import stable_hash
from dialtools.corpora.fields import as_text, is_known
from dialtools.errors import DataError
from dialtools.streams.full import scratch_file
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally, counted, given

LABELS = ("label", "labels")
"""Fields of what a text is about: a template is filled once for each that it has."""


class Augment:
    """One run over the inputs.

    Attributes:
        book: the entity book, after `learn`.
        originals, synthetic: training records that came in, and that were made; `passed`: of other
            splits.
        templates: how often each stands in the training records, if they are to be saved; `typed`:
            how many there are, typed.
        unknown: of --types those that no value has; astray: ids of --spans that no record has.
        instead: how values become slots that records without any mark as others do.
        heard: the articles before values.
        tally: what was kept and dropped.
    """

    def __init__(self, options: AugmentOptions, policy: Policy, advance: Advance = silent) -> None:
        self.options = options
        self.policy = policy
        self.advance = advance
        self.book = Book()
        self.values: dict[str, list[str]] = {}
        self.tally = Tally()
        self.originals = self.synthetic = self.passed = self.ambiguous = 0
        self.dialogues = False
        self.templates: Counter[Template] = Counter()
        self.typed = 0
        self.seen: set[bytes] = set()
        self.unknown: list[str] = []
        self.astray = 0
        self.instead = ""
        self.heard = Heard()

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield each record with its templates, and after it those made from it."""
        limit = self.options.limit
        with scratch_file() as spool:
            self.learn(spool)
            for line in spool if limit != 0 else ():
                for record in self._records(Item.unpacked(line)):
                    self.tally.keep()
                    self.advance(1)
                    yield record
                    if self.tally.kept == limit:
                        return

    def learn(self, spool: IO[bytes]) -> None:
        """Read the inputs once: their values go into the book, the records aside."""
        options = self.options
        book = Book()
        for path in options.book:
            book.merge(Book.load(path), short if options.short_types else str)
        tag = tagger(options, book)
        marked = marked_by(options.spans) if options.spans else None
        for item in items(options, self.policy, tag, marked, self.tally):
            bare = not any(turn.spans for turn in item.turns)
            if bare and not self.instead:
                marked_so = map(instead, (item.fields, *(turn.fields for turn in item.turns)))
                self.instead = next(filter(None, marked_so), "")
            if options.slotless == "skip" and bare and self._trains(item):
                self.tally.drop("without slots")
                continue
            spool.write(item.packed())
            self.seen.add(_digest(item.turns))
            for turn in item.turns if self._trains(item) else ():
                for span in turn.spans:
                    value = turn.text[span.start : span.end]
                    self.heard.add(turn.text[: span.start], value)
                    if not options.book:
                        book.add(span.label, value)
        if marked and options.part is None and options.limit != 0:
            self._check_spans(marked)
        spool.seek(0)
        self.unknown = [name for name in options.types if name not in book.types]
        self.book = book.filtered(
            types=options.types, min_count=options.min_count, max_words=options.max_words
        )
        self.values = {
            label: [value for value, _ in self.book.values(label)[: options.top_k]]
            for label in self.book.types
        }

    def _check_spans(self, marked: Marked) -> None:
        """Note spans of records that are not there.

        Raises:
            DataError: if no record has any.
        """
        self.astray = len(marked.slots) - len(marked.met)
        if marked.slots and not marked.met:
            raise DataError(
                "no record has an id that it names",
                where=self.options.spans,
                hint="records are known by their id; without one, by their line",
            )

    def _trains(self, item: Item) -> bool:
        split = item.fields.get("split")
        return not is_known(split) or as_text(split) == self.options.train_split

    def _records(self, item: Item) -> Iterator[dict[str, Any]]:
        """Yield a record with its templates, and those made from it."""
        if not self._trains(item):
            self.passed += 1
            yield self._record(item)
            return
        self.originals += 1
        self.dialogues = self.dialogues or item.dialogue
        new = True
        for turn in item.turns:
            cut = template(turn.text, turn.spans)
            typed = cut.typed()
            self.typed += _add(self.seen, _hash(typed, person=b"typed"))
            if self.options.save_templates:
                self.templates[cut] += 1
            if not item.dialogue:
                filled = json.dumps([typed, *map(item.fields.get, LABELS)])
                new = _add(self.seen, _hash(filled, person=b"template"))
        yield self._record(item)
        if self.options.fill and new:
            yield from self._synthetic(item)

    def _synthetic(self, item: Item) -> Iterator[dict[str, Any]]:
        number = 0
        for turns in self._filled(item):
            if not _add(self.seen, _digest(turns)):
                self.tally.drop("repeats of others")
                continue
            number += 1
            self.synthetic += 1
            rest = {name: value for name, value in item.fields.items() if name != "id"}
            named = item.fields.get("id") is not None
            identity = {"id": f"{item.source_id}#{number}"} if named else {}
            made = item._replace(fields=identity | rest, turns=turns)
            yield self._record(made) | {
                "synthetic": True,
                "source_id": item.source_id,
                "seed": self.options.seed,
            }

    def _filled(self, item: Item) -> Iterator[list[Turn]]:
        seed, most = self.options.seed, self.options.most
        articles = self.options.articles and self.heard.english
        if not item.dialogue:
            (turn,) = item.turns
            if turn.spans:
                old = [turn.text[span.start : span.end] for span in turn.spans]
                cut = template(turn.text, turn.spans)
                made = fillings(cut, old, self.values, most=most, articles=articles, seed=seed)
                yield from ([turn._replace(text=text, spans=spans)] for text, spans in made)
            return
        seed = stable_hash(item.source_id, seed=seed)
        try:
            yield from consistent.variants(
                item.turns, self.values, most=most, articles=articles, seed=seed
            )
        except consistent.Ambiguous:
            self.ambiguous += 1

    def _record(self, item: Item) -> dict[str, Any]:
        turns = [self._turn(turn) for turn in item.turns]
        return item.fields | ({"turns": turns} if item.dialogue else turns[0])

    def _turn(self, turn: Turn) -> dict[str, Any]:
        cut = template(turn.text, turn.spans)
        slots = [span._asdict() for span in turn.spans]
        return turn.fields | {"text": turn.text, "slots": slots, "template": self._shown(cut)}

    def template_records(self) -> Iterator[dict[str, Any]]:
        """Yield the templates of the training records, the most frequent first."""
        counts = Counter[tuple[str, int]]()
        for cut, count in self.templates.items():
            counts[self._shown(cut), len(cut.labels)] += count
        for (name, slots), count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
            yield {"template": name, "count": count, "slots": slots}

    def _shown(self, cut: Template) -> str:
        return cut.typed() if self.options.typed else cut.single()

    def notes(self) -> Iterator[str]:
        """Yield what options name and no record has, and where slots may be if none has any."""
        if self.instead and not self.book.types:
            yield f"no record has slots, but some have {self.instead}"
        if self.astray:
            ids = counted(self.astray, "id")
            yield f"{self.options.spans}: {ids} that no record has"
        if self.unknown:
            yield f"--types {','.join(self.unknown)}: no value is of that type"
        if self.options.fill and self.options.articles and not self.heard.english:
            yield '"a" or "an" before values is not the English article here: it stays as it is'
        if self.passed and not self.originals and self.tally.kept != self.options.limit:
            yield f"--train-split {self.options.train_split}: no record is of it, none is filled"

    def line(self) -> str:
        """Return the closing line: the figures of the paper's table 1."""
        total = self.originals + self.synthetic
        noun = "dialogue" if self.dialogues else "utterance"
        growth = f", {total / self.originals:.1f} x" if self.originals else ""
        templates = counted(self.typed, "template")
        types = counted(len(self.book.types), "entity type")
        values = counted(self.book.size, "value")
        reasons = ", ".join(given(n, reason) for reason, n in self.tally.dropped.most_common())
        facts = [
            f"{counted(total, noun)} ({self.originals:,} + {self.synthetic:,} made{growth}) "
            f"from {templates}",
            f"{types}, {values}",
            f"{self.passed:,} of other splits passed on" if self.passed else "",
            f"{counted(self.ambiguous, 'dialogue')} ambiguous, not filled"
            if self.ambiguous
            else "",
            f"dropped {reasons}" if reasons else "",
        ]
        return "; ".join(filter(None, facts))


def _digest(turns: list[Turn]) -> bytes:
    """Return what is equal for records that say the same, case and blanks apart."""
    return _hash(json.dumps([key(turn.text) for turn in turns]))


def _hash(text: str, *, person: bytes = b"") -> bytes:
    """Return 8 bytes of a text; `person` keeps texts of different kinds apart in one set."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=person).digest()


def _add(seen: set[bytes], digest: bytes) -> bool:
    """Add a digest; tell whether it is new."""
    before = len(seen)
    seen.add(digest)
    return len(seen) > before
