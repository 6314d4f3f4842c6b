"""Who marks the values of texts without slots: spaCy, the entity book, or a file of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from dialtools.augment.book import Book
from dialtools.augment.options import ANY, RULES, AugmentOptions
from dialtools.corpora.dialogues import called
from dialtools.corpora.fields import BadRecord
from dialtools.corpora.utterances import Span, apart
from dialtools.errors import ConfigError, DataError, MissingExtra
from dialtools.shown import first_line
from dialtools.streams.chunks import read_records
from dialtools.streams.policy import Policy
from dialtools.words import each_character, is_cut

if TYPE_CHECKING:
    from spacy.language import Language

BATCH = 256
NOT_NEEDED = ("tagger", "parser", "lemmatizer", "attribute_ruler", "textcat")
"""Parts of a pipeline that find no entities, and take most of its time."""


class Tagger(NamedTuple):
    """What marks the values of texts, and the most characters that one may have."""

    tag: Callable[[Sequence[str]], Iterable[list[Span]]]
    longest: int


def tagger(options: AugmentOptions, book: Book) -> Tagger | None:
    """Return what marks texts, if --ner asks for it; rules find the values of the book."""
    if not options.ner:
        return None
    by_rules = options.ner == RULES
    nlp = _rules(book, options.language) if by_rules else _pipeline(options.ner)

    def tag(texts: Sequence[str]) -> Iterator[list[Span]]:
        for doc in nlp.pipe(texts, batch_size=BATCH):
            spans = [Span(e.start_char, e.end_char, e.label_) for e in doc.ents if e.label_]
            if by_rules:
                spans = [span for span in spans if not is_cut(doc.text, span.start, span.end)]
            yield apart(spans)

    return Tagger(tag, nlp.max_length)


def _pipeline(name: str) -> Language:
    """Load an installed pipeline, or one in a directory, with what finds entities alone.

    Raises:
        MissingExtra: if there is none of that name. ConfigError: if it finds no entities.
    """
    import spacy

    try:
        nlp = spacy.load(name, exclude=NOT_NEEDED)
    except (OSError, AttributeError, TypeError):  # a package of another kind has nothing that loads
        raise MissingExtra(
            f"no spaCy pipeline {name!r}",
            hint=f"python -m spacy download {name}, a directory, or --ner rules with a --book",
        ) from None
    if not {"ner", "entity_ruler", "span_ruler"} & set(nlp.pipe_names):
        parts = ", ".join(nlp.pipe_names) or "nothing"
        raise ConfigError(f"the pipeline {name!r} finds no entities; it has {parts}")
    return nlp


def _rules(book: Book, language: str) -> Language:
    """Return a pipeline that finds the values of a book, whatever their case."""
    import spacy

    try:
        nlp = spacy.blank(language)
    except ImportError as error:
        raise ConfigError(f"--language {language}: {first_line(error)}") from None
    if language == ANY:
        infixes = [*(nlp.Defaults.infixes or ()), each_character()]
        tokenizer: Any = nlp.tokenizer
        tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer
    nlp.max_length = sys.maxsize  # spaCy's bound is for models, which take memory for each word
    patterns = [
        {"label": label, "pattern": form}
        for label in book.types
        for value, _ in book.values(label)
        for form in {normalize("NFC", value): 1, normalize("NFD", value): 1}
    ]
    if patterns:  # of a ruler that has none spaCy warns at each text
        ruler: Any = nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"})
        ruler.add_patterns(patterns)
    return nlp


@dataclass
class Marked:
    """Slots by the id of their record.

    Attributes:
        met: ids that records had.
    """

    slots: dict[str, list[dict[str, Any]]]
    met: set[str] = field(default_factory=set)

    def of(self, name: str | None, line: int) -> list[dict[str, Any]] | None:
        """Return the slots of a record, known by its line without a name; None if it has none here.

        Raises:
            BadRecord: if it has no name, and a record of another input had its slots.
        """
        known_by = str(line) if name is None else name
        found = self.slots.get(known_by)
        if found and name is None and known_by in self.met:
            raise BadRecord(f'no "id", and another input took the slots of line {line} of --spans')
        if found:
            self.met.add(known_by)
        return found


def marked_by(path: str) -> Marked:
    """Return the slots of a file of {id, start, end, label}; holds them all.

    Raises:
        DataError: for a record without an id.
    """
    spans: dict[str, list[dict[str, Any]]] = {}
    for where, record in read_records([path], policy=Policy()):
        name = called(record.get("id"))
        if name is None:
            raise DataError("expected {id, start, end, label}; there is no id", where=where)
        spans.setdefault(name, []).append(record)
    return Marked(spans)
