"""Options of dial-augment."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass
class AugmentOptions(CorpusOptions, OutputOptions, ShardOptions, RunOptions):
    """What is marked, what is learnt from it, and what is made."""

    ner: str | None = option(
        None,
        metavar="NAME|DIR|rules",
        group="Entities",
        help="find slots in records without them: by an installed spaCy pipeline, or by the "
        "values of --book (rules)",
    )
    spans: str | None = option(
        None,
        metavar="FILE",
        group="Entities",
        help="take slots from records {id, start, end, label} that another tagger wrote; a "
        "record without an id is known by its line, one that is not named keeps its own slots",
    )
    language: str = option(
        ANY,
        metavar="CODE",
        group="Entities",
        help="language for --ner rules: how texts are split into words; xx is any: at blanks "
        "and punctuation, and at each character of Chinese, Japanese, Korean, Thai, ...",
        goes_with=("ner", (RULES,)),
    )
    short_types: bool = option(
        False,
        group="Entities",
        help="use only the last dotted part of a type: fromloc.city_name is city_name",
    )
    book: tuple[str, ...] = option(
        (),
        metavar="FILE",
        multiple=True,
        group="Entity book",
        help="take values from this book; several books are merged",
        shown="the slots of the training split",
    )
    save_book: str | None = option(
        None,
        metavar="FILE",
        group="Entity book",
        help="write the entity book as JSON, to edit and read back",
        how=True,
    )
    top_k: int = option(
        5,
        metavar="K",
        parse=at_least(1),
        group="Entity book",
        help="fill a slot with the K most frequent values of its type",
        not_with=("fill", (False,)),
    )
    types: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        parse=label_list,
        group="Entity book",
        help="use only these slot types",
        shown="all",
    )
    min_count: int = option(
        1,
        parse=at_least(1),
        group="Entity book",
        help="leave out values seen fewer than N times",
    )
    max_words: int | None = option(
        None,
        parse=at_least(1),
        group="Entity book",
        help="leave out values with more than N words",
    )
    typed: bool = option(
        False, group="Templates", help="write {type} in templates, not the paper's single {SLOT}"
    )
    save_templates: str | None = option(
        None,
        metavar="FILE",
        group="Templates",
        help="write the distinct templates with their counts",
        how=True,
    )
    report: str | None = option(
        None,
        metavar="FILE",
        group="Entity book",
        help="write what each type holds, with signs of noise: values seen once, values of "
        "several types",
        how=True,
    )
    slotless: str = option(
        "keep",
        choices=("keep", "skip"),
        group="Templates",
        help="keep records without slots, as their own template, or skip them",
    )
    fill: bool = option(
        True, group="Filling", help="make new utterances; --no-fill only adds templates"
    )
    max_per_template: int | None = option(
        None,
        metavar="N|all",
        parse=either({"all": ALL}, at_least(1)),
        group="Filling",
        help="make at most N utterances from a template, a seeded sample of its combinations",
        shown="K squared",
        not_with=("fill", (False,)),
    )
    articles: bool = option(
        True,
        group="Filling",
        help="adapt an English a/an before a value to it",
        not_with=("fill", (False,)),
    )
    train_split: str = option(
        "train",
        metavar="NAME",
        group="Filling",
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
