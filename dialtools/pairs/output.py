"""Where pairs go: one file, or one a part of the split; and what is said of them at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from dialtools.corpora.dialogues import DOMAIN
from dialtools.corpora.fields import alike, note_on_alike
from dialtools.corpora.going_on import AGAIN, GONE_ON
from dialtools.corpora.logs import markup_line, naming_line, quoting_line
from dialtools.corpora.native.raw import UNTIMED
from dialtools.corpora.notes import noted_line
from dialtools.corpora.table import LAST, UNREAD
from dialtools.pairs.chunk import WITH_DOMAIN, WITH_USER
from dialtools.pairs.job import Piece
from dialtools.pairs.labels import PAIRED, TO_LEARN, TO_TEST
from dialtools.pairs.options import KINDS, OTHER_SPEAKER, RECORDS, PairOptions
from dialtools.shown import listed, quoted
from dialtools.streams.atomic import refuse_existing
from dialtools.streams.formats import FORMATS
from dialtools.streams.parts import SHARD, telling_beside
from dialtools.streams.provenance import as_metadata
from dialtools.streams.sinks import writer
from dialtools.streams.tally import Tally, counted
from dialtools.streams.together import together

Facts = dict[str, Any]
NO_SPEAKERS = (
    "no turn has a speaker (--speaker-column names a table's column of them, --speaker-prefix "
    "takes them from lines of text)"
)
LONG = 300
"""Turns of a dialogue, on average, by which a chat that never ends is told from a talk."""


class Outputs:
    """The files of a run by part of the split (one, "", without); in a dry run nothing is written.

    Attributes:
        facts: returns what made them; asked for where an output tells it.
        rows: how many each part has got.
    """

    def __init__(self, options: PairOptions, kind: str, facts: Callable[[], Facts]) -> None:
        self.options, self.kind, self.facts = options, kind, facts
        self.paths = {part: options.output.replace("{split}", part) for part in options.shares}
        self.paths = self.paths or {"": options.output}
        self.rows = Counter[str]()
        self.writers: dict[str, Callable[[Any], object]] = {}
        self.opened = ExitStack()

    def __enter__(self) -> Outputs:
        with ExitStack() as opening:  # what is open is closed again if a later one fails
            opening.enter_context(together(*self.paths.values()))
            for part, path in self.paths.items():
                self.writers[part] = self._writer(part, path, opening)
            self.opened = opening.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self.opened.__exit__(*error)

    def _writer(self, part: str, path: str, opening: ExitStack) -> Callable[[Any], object]:
        overwrite = self.options.overwrite
        if self.options.dry_run:
            if path != "-":
                refuse_existing(path, overwrite=overwrite)
            return lambda payload: None
        lines = FORMATS[self.kind].lines
        metadata = {} if lines else as_metadata(self._facts(part))
        if lines and self.options.shard:
            opening.enter_context(telling_beside(path, lambda: self._facts(part)))
        opener = writer
        if self.options.kind in RECORDS and not lines:
            from dialtools.streams.record_tables import table_of_lines  # imports pyarrow

            opener = table_of_lines
        opened = opener(path, format=self.kind, overwrite=overwrite, metadata=metadata)
        return opening.enter_context(opened)

    def _facts(self, part: str) -> Facts:
        """Return what made a file; a part of the work tells which part of the split it is of."""
        facts = self.facts()
        if part and SHARD in facts:
            return {**facts, SHARD: {**facts[SHARD], "split": part}}
        return facts

    def write(self, piece: Piece) -> None:
        """Write a piece to the file of its part."""
        self.writers[piece.part](piece.payload)
        self.rows[piece.part] += piece.rows

    def empty_line(self) -> str:
        """Return the line on parts of the split that got nothing where others did, or ""."""
        empty = [part for part in self.paths if not self.rows[part]]
        if not (self.options.split and self.rows.total()) or not empty or self.options.part:
            return ""
        told = f"--split: nothing is in {listed(empty)}"
        if self.rows.total() == self.options.limit:
            return f"{told} of the {self.options.limit:,} that -n asks for"
        told += ": a dialogue goes into one part as a whole"
        with_sessions = ", with all its sessions, unless --kind dialogue writes them first"
        return told + (with_sessions if self.options.session_gap else "")

    def plan(self) -> str:
        """Return what a run would write, file by file."""
        sizes = (
            f"{'stdout' if path == '-' else path}: {self.rows[part]:,}"
            for part, path in self.paths.items()
        )
        return f"{', '.join(sizes)} as {self.kind}"


def warnings(options: PairOptions, tally: Tally) -> list[str]:
    """Return a line on each thing in the log that may not be as its reader thinks."""
    markup = "" if options.html else markup_line(tally, "--html")
    quoting = "" if options.drop_quotes else quoting_line(tally)
    naming = "" if options.speaker_prefix else naming_line(tally)
    lines = [line(options, tally) for line in _LINES]
    of_labels = (_split_line(tally), *_label_lines(options, tally))
    return [*filter(None, (*lines, *of_labels, markup, quoting, naming, noted_line(tally)))]


def _long_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on dialogues so long that they are probably chats of many days, or ""."""
    met = tally.kept + tally.dropped.total()
    turns = met // ((tally.sources or 1) * len(options.window))
    if options.session_gap or options.kind != "consecutive" or turns < LONG:
        return ""
    return f"dialogues of some {turns:,} turns: --session-gap 6h cuts chats that go on for days"


def _unmet_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on speakers that flags name and nobody is called, or "".

    Nothing is said of a part of the input, which need not have them all.
    """
    read = tally.sources or tally.kept
    if not read or options.part or tally.kept == options.limit:
        return ""
    named = [*options.unmet(tally.met)]
    unmet = [f"{flag}: nobody is called {quoted(name)}" for name, flag in named]
    if named and not tally.met:
        unmet = [f"{' and '.join(dict.fromkeys(flag for _, flag in named))}: {NO_SPEAKERS}"]
    if options.speaker and not tally.kept and tally.dropped[OTHER_SPEAKER]:
        nobody = f"--speaker: nobody who answers is called {quoted(options.speaker)}"
        who = f"--speaker-map NAME={options.speaker} says who is"
        unmet.append(f"{nobody} ({who}; --speaker-column, which column of a table does)")
    return "; ".join(unmet)


def _short_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on dialogues that are shorter than any window, or ""."""
    none = tally.sources and not (tally.kept or tally.dropped.total() or options.part)
    if not none or options.kind != "consecutive" or options.limit == 0:
        return ""
    if _user_line(options, tally):
        return ""
    window = min(size or 1 for size in options.window)
    turns = counted(window, "turn")
    way = ": a smaller --window, or --short-windows" if window > 1 else ""
    return f"no dialogue has more than {turns}{way}"


def _user_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on turns of users, where pairs are made by them and there are none, or ""."""
    if not options.users or options.part or not tally.sources or tally.facts[WITH_USER]:
        return ""
    return f"{options.users}: nobody is known as a user (--speaker-map NAME=user says who is)"


def _domain_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on --domain where no dialogue has one, or "".

    Nothing is said of a part of the input, which may be without.
    """
    if not options.domain or options.part or not tally.sources or tally.facts[WITH_DOMAIN]:
        return ""
    return f"--domain: no dialogue has a text in {quoted(DOMAIN)}"


def _last_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on turns without a number or time where others of a dialogue have one."""
    if not (last := tally.facts[LAST]):
        return ""
    column = quoted(options.order_column or "")
    return f"{column} has no number or time for {counted(last, 'turn')}, put last of the dialogue"


def _unread_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on turns sorted as texts that look like times, or ""."""
    if not (unread := tally.facts[UNREAD]):
        return ""
    told = f"{quoted(options.order_column or '')} looks like a time in {counted(unread, 'turn')}"
    return f"{told}, but is sorted as text: --time-format says how times are written"


def _files_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on dialogues of tables of which several files have rows, or ""."""
    del options  # of which none matters
    ends, again = counted(tally.facts[GONE_ON], "file"), counted(tally.facts[AGAIN], "dialogue")
    told = {
        f"dialogues joined over the end of {ends}": GONE_ON,
        f"{again} read apart from one of the same id in another file": AGAIN,
    }
    return "; ".join(line for line, fact in told.items() if tally.facts[fact])


def _untimed_line(options: PairOptions, tally: Tally) -> str:
    """Return the line on turns that are written without a time, as nobody could tell it, or ""."""
    if not (untimed := tally.facts[UNTIMED]) or options.kind not in RECORDS:
        return ""
    return f"{counted(untimed, 'turn')} without a time: unknown calendar or half of the day"


_LINES = (
    *(_unmet_line, _short_line, _user_line, _long_line, _domain_line),
    *(_last_line, _unread_line, _files_line, _untimed_line),
)


def _split_line(tally: Tally) -> str:
    """Return the line on labelled texts of more than the training split, or ""."""
    if not (tally.facts[TO_LEARN] and tally.facts[TO_TEST]):
        return ""
    texts = counted(tally.facts[TO_TEST], "text")
    return f"{texts} of a split to be tested on: who learns their labels scores too well on them"


def _label_lines(options: PairOptions, tally: Tally) -> list[str]:
    """Return the lines on labels that tell texts apart too little, or too well."""
    if options.kind != "same-label":
        return []
    if tally.facts[PAIRED] == 1:
        return ["all pairs are of one label: dial-train has nothing to tell their texts from"]
    return note_on_alike(alike(tally.met))


def closing_line(options: PairOptions, tally: Tally) -> str:
    """Return what came of how many dialogues, and under -v the speakers that have no role.

    Where -n has stopped the run, those are counted that were read, some of them beyond.
    """
    kind = KINDS[options.kind]
    read = counted(tally.sources, kind.source) if kind.source else ""
    made_of = f", as -n asks; read {read}" if tally.kept == options.limit else f" from {read}"
    line = tally.line(kind.unit, made_of if read else "")
    if not (options.verbose and tally.unmapped):
        return line
    names = [f"{counted(n, 'turn')} of {name}" for name, n in tally.unmapped.most_common()]
    return f"{line}; speakers not in --speaker-map: {listed(names)}"
