"""Options of dial-pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from dialtools.corpora.options import CorpusOptions, LogOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, option, restated, run_option
from dialtools.pairs.reader import READERS
from dialtools.streams.options import OF_ALL_PARTS, EngineOptions, OutputOptions
from dialtools.values import at_least, composed, fraction, split_shares, two_names, window_sizes
from dialtools.words import WORDS_BY


class Kind(NamedTuple):
    """What comes out, and what it is made of (nothing else, if empty); nouns in the singular.

    Attributes:
        tells_speakers: its pairs say who spoke.
        names_negative: the text after the response is the pair's negative.
        gathers: its texts are counted and brought together before pairs are made of them.
    """

    unit: str
    source: str
    tells_speakers: bool = False
    names_negative: bool = False
    gathers: bool = False


KINDS = {
    "consecutive": Kind("pair", "dialogue", tells_speakers=True),
    "self": Kind("pair", "record"),
    "random-split": Kind("pair", "dialogue", tells_speakers=True),
    "same-answer": Kind("pair", "dialogue"),
    "same-label": Kind("pair", "record", gathers=True),
    "texts": Kind("pair", "record"),
    "entailment": Kind("pair", "record"),
    "nli": Kind("pair", "record"),
    "triple": Kind("pair", "record", names_negative=True),
    "dialogue": Kind("dialogue", ""),
    "utterance": Kind("utterance", "record"),
}
OF_ALL_RECORDS = "a table of records has its columns from all of them"
OF_TEXTS = ("same-label", "texts", "entailment", "nli", "triple")
"""Kinds made of records of a text and its label, or of two or three texts."""
NO_TURNS = ("kind", OF_TEXTS)
RECORDS = ("dialogue", "utterance")
"""Kinds that are records of the corpus itself."""
OTHER_SPEAKER = "of another speaker"
"""Why --speaker drops a pair."""

_more = partial(option, group="More about pairs")


@dataclass
class PairOptions(LogOptions, CorpusOptions, OutputOptions, EngineOptions, RunOptions):
    """What becomes a pair."""

    window: tuple[int, ...] = option(
        (1,),
        metavar="N[,N...]|N-N|all",
        parse=window_sizes,
        help="turns of context; only full windows count. Several sizes (1-3; 1,all) give the "
        "union; all, or 0, is the whole history",
        goes_with=("kind", ("consecutive",)),
    )
    min_words: int = option(
        0,
        parse=at_least(0),
        help="leave out pairs with a turn of fewer than N words, such as ok, which says little "
        "(the papers' > 3 is 4)",
        not_with=("kind", RECORDS),
    )
    sample: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        help="keep this share of the pairs (with --kind dialogue or utterance, of the "
        "dialogues), drawn by --seed",
    )
    split: tuple[str, ...] = option(
        (),
        metavar="NAME=SHARE,...",
        parse=split_shares,
        help="write several files, split by dialogue; -o must contain {split}",
        not_with="summary",
    )
    output: str = restated(OutputOptions, "output", group="Options")
    to: str | None = restated(OutputOptions, "to", group="Options")
    from_: str | None = restated(CorpusOptions, "from_", group="Options")
    kind: str = option("consecutive", choices=KINDS, help="what makes a pair; see Kinds below")
    short_windows: bool = _more(
        False,
        help="also use shorter windows at the beginning of a dialogue",
        goes_with=("kind", ("consecutive",)),
    )
    texts: tuple[str, ...] = _more(
        (),
        metavar="NAME,NAME",
        parse=two_names,
        help="the two fields of --kind texts, or the text and the label of same-label",
        shown="anchor, question, query, prompt, ...; positive, answer, response, ...; text; label",
        goes_with=("kind", ("texts", "same-label")),
    )
    words_by: str = _more(
        "auto",
        choices=WORDS_BY,
        help="count words between blanks, or characters; auto: characters in scripts without "
        "blanks (Chinese, Japanese, Thai, ...)",
        goes_with="min_words",
    )
    words_of: str = _more(
        "members",
        choices=("members", "joined"),
        help="count the words of each turn of the context, or of all of them joined",
        goes_with="min_words",
    )
    merge_speaker: bool = _more(
        False,
        help="first join consecutive turns of one speaker",
        not_with=("kind", (*RECORDS, *OF_TEXTS)),
    )
    min_turns: int = _more(
        0,
        parse=at_least(0),
        help="leave out dialogues with fewer turns (after joining)",
        not_with=NO_TURNS,
    )
    first: int | None = _more(
        None,
        parse=at_least(1),
        help="write the first N turns of a dialogue only, counted after --drop-speaker; 1 is "
        "what it begins with",
        goes_with=("kind", RECORDS),
    )
    per_answer: int = _more(
        20,
        parse=at_least(1),
        help="at most N pairs from one answer, for --kind same-answer",
        goes_with=("kind", ("same-answer",)),
    )
    per_text: int = _more(
        4,
        parse=at_least(1),
        help="pairs that begin with a text, for --kind same-label; each text ends as many",
        goes_with=("kind", ("same-label",)),
    )
    follow: int = _more(
        0,
        parse=at_least(0),
        help="add up to N turns after the response, as `follow`",
        goes_with=("kind", ("consecutive",)),
    )
    inner: bool = _more(
        False,
        help="only responses that another turn follows; with --window 3 --short-windows "
        "--follow 3 these are the samples of DialogueCSE",
        goes_with=("kind", ("consecutive",)),
    )
    domain: bool = _more(
        False,
        help="add the dialogue's `domain` to each pair; dial-train can draw negatives by it",
        goes_with=("kind", ("consecutive", "self", "random-split")),
    )
    speaker: str | None = _more(
        None,
        metavar="NAME",
        parse=composed,
        help="only responses of this speaker (the name after --speaker-map); --drop-speaker "
        "leaves the others out of records",
        goes_with=("kind", ("consecutive", "self", "same-answer")),
    )
    reader: str = _more(
        "plain",
        choices=READERS,
        help="tod-bert: keep the turns that TOD-BERT's corpus readers keep, on which DSE was "
        "trained; CamRest676 has a reader of its own",
        not_with=("kind", (*RECORDS, *OF_TEXTS)),
    )
    lower: bool = _more(False, help="lower-case the text", not_with=("kind", RECORDS))
    distinct: bool = _more(
        False,
        help="keep only the first of identical pairs (takes 16 bytes of memory each)",
        not_with=("kind", RECORDS),
    )
    summary: bool = _more(
        False,
        help="instead, count for each input by itself, and add up for all: dialogues (one that "
        "goes on in the next input in both), turns, neighbouring turns of one speaker, pairs "
        "made, kept and dropped",
        not_with=("kind", (*RECORDS, "same-answer", "same-label")),
    )
    json: bool = _more(
        False,
        help="write --summary as JSONL even on a terminal",
        how=True,
        goes_with="summary",
        not_with="to",
    )
    jobs: int = run_option(
        1, short="-j", parse=at_least(1), help="number of processes; the output is the same for any"
    )

    dialogue_column: str | None = restated(LogOptions, "dialogue_column", not_with=NO_TURNS)
    text_column: str | None = restated(LogOptions, "text_column", not_with=NO_TURNS)
    speaker_column: str | None = restated(LogOptions, "speaker_column", not_with=NO_TURNS)
    order_column: str | None = restated(LogOptions, "order_column", not_with=NO_TURNS)
    reply_column: str | None = restated(LogOptions, "reply_column", not_with=NO_TURNS)
    id_column: str | None = restated(LogOptions, "id_column")
    unsorted: bool = restated(LogOptions, "unsorted", not_with=NO_TURNS)
    session_gap: str | None = restated(LogOptions, "session_gap", not_with=NO_TURNS)
    speaker_map: tuple[str, ...] = restated(LogOptions, "speaker_map", not_with=NO_TURNS)
    drop_speaker: tuple[str, ...] = restated(LogOptions, "drop_speaker", not_with=NO_TURNS)

    def __post_init__(self) -> None:
        if self.split and "{split}" not in self.output:
            raise ConfigError(
                "--split writes one file a part", hint="name them: -o 'pairs.{split}.jsonl'"
            )
        if "{split}" in self.output and not self.split:
            raise ConfigError(
                "-o names {split}, and nothing is split", hint="--split train=0.9,heldout=0.1"
            )
        of_the_whole = {
            OF_ALL_PARTS: self.limit is not None,
            "--distinct keeps the first of all parts, which no part knows": self.distinct,
            "--kind self keeps the first of equal texts, which no part knows": self.kind == "self",
            "--kind triple brings together the texts of a premise, which no part has": (
                self.kind == "triple"
            ),
            "--kind same-answer brings together utterances of all dialogues, which no part has": (
                self.kind == "same-answer"
            ),
            "--kind same-label brings together the texts of a label, which no part has": (
                self.kind == "same-label"
            ),
            "--summary is of all that is counted, of which no part knows": self.summary,
        }
        self.check_part(self.inputs, of_the_whole)
        unlike = {
            "--split writes several files a part": self.split,
            "--workers N says how many work, not --jobs": self.jobs > 1,
            f"--kind {self.kind}: {OF_ALL_RECORDS}": self.kind in RECORDS,
        }
        self.check_engine(self, unlike)
        if self.reader != "plain" and self.merge_speaker:
            raise ConfigError(
                f"--reader {self.reader} has its own way with several turns of one speaker; "
                "leave out --merge-speaker"
            )

    @property
    def merges(self) -> bool:
        """Whether consecutive turns of one speaker become one: TOD-BERT's split takes them so."""
        return self.merge_speaker or self.kind == "random-split"

    @property
    def users(self) -> str:
        """The flag by which pairs depend on which turns are a user's; "" if they do not."""
        if self.reader == "tod-bert":
            return "--reader tod-bert"
        return "--kind random-split" if self.kind == "random-split" else ""

    @property
    def as_they_are(self) -> bool:
        """Whether dialogues are taken as their records tell them."""
        shaped = self.merges or self.lower or self.session_gap or self.domain
        shaped = shaped or self.reply_column
        shaped = shaped or self.reading or self.speaker_map or self.drop_speaker
        return not shaped and self.reader == "plain"

    @property
    def shares(self) -> dict[str, float]:
        """The parts of the split and their shares; none without --split."""
        parts = (part.partition("=") for part in self.split)
        return {name: float(size) for name, _, size in parts}
