"""Options of dial-augment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dialtools.corpora.options import CorpusOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, option
from dialtools.streams.options import OF_ALL_PARTS, OutputOptions, ShardOptions
from dialtools.values import at_least, either, label_list

RULES = "rules"
ANY = "xx"
ALL = 10**15
"""More than any template makes."""

_entities = partial(option, group="Entities")
_book = partial(option, group="Entity book")
_templates = partial(option, group="Templates")
_filling = partial(option, group="Filling")


@dataclass
class AugmentOptions(CorpusOptions, OutputOptions, ShardOptions, RunOptions):
    """What is marked, what is learnt from it, and what is made."""

    ner: str | None = _entities(
        None,
        metavar="NAME|DIR|rules",
        help="find slots in records without them: by an installed spaCy pipeline, or by the "
        "values of --book (rules)",
    )
    spans: str | None = _entities(
        None,
        metavar="FILE",
        help="take slots from records {id, start, end, label} that another tagger wrote; a "
        "record without an id is known by its line, one that is not named keeps its own slots",
    )
    language: str = _entities(
        ANY,
        metavar="CODE",
        help="language for --ner rules: how texts are split into words; xx is any: at blanks "
        "and punctuation, and at each character of Chinese, Japanese, Korean, Thai, ...",
        goes_with=("ner", (RULES,)),
    )
    short_types: bool = _entities(
        False, help="use only the last dotted part of a type: fromloc.city_name is city_name"
    )
    book: tuple[str, ...] = _book(
        (),
        metavar="FILE",
        multiple=True,
        help="take values from this book; several books are merged",
        shown="the slots of the training split",
    )
    save_book: str | None = _book(
        None, metavar="FILE", help="write the entity book as JSON, to edit and read back", how=True
    )
    top_k: int = _book(
        5,
        metavar="K",
        parse=at_least(1),
        help="fill a slot with the K most frequent values of its type",
        not_with=("fill", (False,)),
    )
    types: tuple[str, ...] = _book(
        (), metavar="NAMES", parse=label_list, help="use only these slot types", shown="all"
    )
    min_count: int = _book(1, parse=at_least(1), help="leave out values seen fewer than N times")
    max_words: int | None = _book(
        None, parse=at_least(1), help="leave out values with more than N words"
    )
    typed: bool = _templates(False, help="write {type} in templates, not the paper's single {SLOT}")
    save_templates: str | None = _templates(
        None, metavar="FILE", help="write the distinct templates with their counts", how=True
    )
    report: str | None = _book(
        None,
        metavar="FILE",
        help="write what each type holds, with signs of noise: values seen once, values of "
        "several types",
        how=True,
    )
    slotless: str = _templates(
        "keep",
        choices=("keep", "skip"),
        help="keep records without slots, as their own template, or skip them",
    )
    fill: bool = _filling(True, help="make new utterances; --no-fill only adds templates")
    max_per_template: int | None = _filling(
        None,
        metavar="N|all",
        parse=either({"all": ALL}, at_least(1)),
        help="make at most N utterances from a template, a seeded sample of its combinations",
        shown="K squared",
        not_with=("fill", (False,)),
    )
    articles: bool = _filling(
        True, help="adapt an English a/an before a value to it", not_with=("fill", (False,))
    )
    train_split: str = _filling(
        "train",
        metavar="NAME",
        help="learn from and fill only this split; records of others are passed on, and their "
        "texts are never made",
    )

    def __post_init__(self) -> None:
        if self.ner and self.spans:
            raise ConfigError("--ner or --spans: give one")
        if self.ner == RULES and not self.book:
            raise ConfigError("--ner rules finds the values of a --book FILE; there is none")
        saved = self.save_book or self.save_templates or self.report
        of_the_whole = {
            "no part knows the values and texts of the others, to fill templates; --no-fill marks "
            "and cuts them in parts": self.fill,
            "--save-book, --save-templates and --report are of all parts": saved,
            OF_ALL_PARTS: self.limit is not None,
        }
        self.check_part(self.inputs, of_the_whole)
        outputs = [
            path
            for path in (self.output, self.save_book, self.save_templates, self.report)
            if path and path != "-"
        ]
        if len({Path(path).absolute() for path in outputs}) < len(outputs):
            raise ConfigError("two outputs have one name")

    @property
    def most(self) -> int:
        """Utterances of a template at most."""
        return self.top_k**2 if self.max_per_template is None else self.max_per_template
