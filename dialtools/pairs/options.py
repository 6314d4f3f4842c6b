"""Options of dial-pairs."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.corpora.options import CorpusOptions, LogOptions
from dialtools.errors import ConfigError
from dialtools.options import DRY_RUN, OutputOptions, RunOptions, option
from dialtools.values import at_least, fraction, split_shares, window_sizes
from dialtools.words import WORDS_BY

RECORDS = ("dialogue", "utterance")
"""Kinds that are records of the corpus itself."""
PLAIN = {
    "window": (1,),
    "min_words": 0,
    "words_by": "auto",
    "words_of": "members",
    "merge_speaker": False,
    "follow": 0,
    "speaker": None,
    "reader": "plain",
    "lower": False,
    "dedupe": False,
}
"""What makes pairs of dialogues, and the values that do nothing."""


@dataclass
class PairOptions(LogOptions, CorpusOptions, OutputOptions, RunOptions):
    """What becomes a pair."""

    kind: str = option(
        "consecutive",
        choices=("consecutive", "self", "entailment", *RECORDS),
        help="consecutive: context and response; self: each distinct utterance with itself (dropout pairs); entailment: premise and hypothesis of records labelled so; dialogue, utterance: no pairs, but the dialogues, or their turns, as records with all their fields",
    )
    window: tuple[int, ...] = option(
        (1,),
        metavar="N[,N...]|all",
        parse=window_sizes,
        help="turns of context, full windows only; several sizes give the union; all is the whole history",
    )
    min_words: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        help="every turn of a pair has N words or more (the papers' > 3 is 4)",
    )
    words_by: str = option(
        "auto",
        choices=WORDS_BY,
        help="a word is what stands between blanks, or a character; auto: a character in scripts without blanks (Chinese, Japanese, Thai, ...)",
    )
    words_of: str = option(
        "members",
        choices=("members", "joined"),
        help="count the words of each context turn, or of the joined context",
    )
    merge_speaker: bool = option(False, help="join consecutive turns of one speaker first")
    min_turns: int = option(
        0, metavar="N", parse=at_least(0), help="leave out dialogues of fewer turns (after joining)"
    )
    follow: int = option(
        0, metavar="N", parse=at_least(0), help="also carry up to N turns after the response"
    )
    speaker: str | None = option(
        None,
        metavar="NAME",
        help="only responses of this speaker, by the name that --speaker-map gives",
    )
    reader: str = option(
        "plain",
        choices=("plain", "tod-bert", "tod-bert-camrest"),
        help="tod-bert: the turns that TOD-BERT's corpus readers keep, as DSE trained on; CamRest676 has its own",
    )
    lower: bool = option(False, help="lower-case the text")
    dedupe: bool = option(False, help="keep the first of identical pairs (16 bytes of memory each)")
    split: tuple[str, ...] = option(
        (),
        metavar="NAME=SHARE,...",
        parse=split_shares,
        help="cut by dialogue id into files; -o must contain {split}",
    )
    sample: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        help="keep this share of the pairs (of the dialogues with --kind dialogue or utterance), drawn by --seed",
    )
    dry_run: bool = option(False, **DRY_RUN)
    jobs: int = option(
        1,
        short="-j",
        metavar="N",
        parse=at_least(1),
        group="Run",
        help="processes; the output does not depend on it",
        how=True,
    )

    def __post_init__(self) -> None:
        if self.split and "{split}" not in self.output:
            raise ConfigError(
                "--split writes one file a part", hint="name them: -o 'pairs.{split}.jsonl'"
            )
        if self.kind in RECORDS:
            for name, idle in PLAIN.items():
                if getattr(self, name) != idle:
                    raise ConfigError(
                        f"--{name.replace('_', '-')} has no meaning for --kind {self.kind}, which makes no pairs"
                    )
        elif self.kind != "consecutive":
            for flag, used in {
                "--follow": self.follow,
                "--window": self.window != (1,),
                "--speaker": self.speaker and self.kind == "entailment",
            }.items():
                if used:
                    raise ConfigError(f"{flag} has no meaning for --kind {self.kind}")
        if self.kind == "entailment" and (
            self.reader != "plain" or self.merge_speaker or self.min_turns
        ):
            raise ConfigError(
                "--reader, --merge-speaker and --min-turns belong to dialogues, not to --kind entailment"
            )
        if self.reader != "plain" and self.merge_speaker:
            raise ConfigError(
                f"--reader {self.reader} has its own way with several turns of one speaker; leave out --merge-speaker"
            )
