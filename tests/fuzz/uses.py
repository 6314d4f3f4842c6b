"""USES: how each command is called with what it reads, and flags that change what it does.

To fuzz a new command or task, add a line here; its options, as the tables of the package state
them, are fuzzed by themselves.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from random import Random

ROWS = {"dial-pairs": 300, "dial-freq": 300, "dial-augment": 300}
Groups = list[list[str]]
"""Arguments in groups that stand or fall together, such as ["-o", "out/x.jsonl"]."""


@dataclass(frozen=True)
class Use:
    """One way to call a command.

    Attributes:
        command: the words that call it, and the flags it must have.
        kinds: of the records it reads; {side} in a flag is a file of records of `sides`.
        flags: that may stand or not, separated by |.
        few: how many records a file of it has, where that is other than ROWS says.
        weight: how often it is called.
    """

    command: str
    kinds: str
    flags: str = ""
    sides: str = ""
    few: int = 0
    weight: float = 1

    @property
    def words(self) -> Groups:
        return groups(self.command)

    def drawn_flags(self, draw: Random, most: int = 3) -> Groups:
        known = [flags for flags in self.flags.split("|") if flags]
        chosen = draw.sample(known, min(len(known), draw.choice((0, 0, 1, 2, most))))
        return [group for flags in chosen for group in groups(flags)]

    @property
    def rows(self) -> int:
        """How many records a file of it has, which are to be met in a part of a second."""
        return self.few or ROWS.get(self.command.split()[0], 60)

    @property
    def reads_records(self) -> bool:
        """Whether it knows --on-error."""
        return not self.command.startswith(("dial-eval", "dialtools formats"))


def groups(line: str) -> Groups:
    """Return the words of a command line, each flag with its values."""
    found: Groups = []
    for word in shlex.split(line):
        if (word.startswith("-") and len(word) > 1) or not found:
            found.append([word])
        else:
            found[-1].append(word)
    return found


TABLE = "--text-column text --dialogue-column dialogue_id --speaker-column speaker"
PAIRS = (
    "--kind self|--window 1,2|--window all|--min-words 2|--merge-speaker|--min-turns 2|--follow 2"
    "|--reader tod-bert|--lower|--distinct|--sample 0.5|-v|--speaker user|-n 5"
    "|--min-words 3 --words-of joined|--session-gap 5m|--drop-speaker Kim"
    "|--speaker-map user=system,*=user|--speaker-prefix|--html|--min-words 1 --words-by characters"
    "|--to arrow -o out/o.arrow|--to parquet -o out/o.parquet|-o out/o.jsonl|--dry-run|-j 2"
    "|--split train=0.5,dev=0.5 -o out/{split}.jsonl"
)
FREQ = (
    "--unit record|--top 3|--no-rank|--summary|--summary --json|--weights sqrt --smooth 1|-j 1"
    "|--ignore punct,digits|--weights-mean-one|--field text|--annotate|--to arrow -o out/o.arrow"
    "|--to parquet -o out/o.parquet|-n 7|--memory 100MB|--ignore none"
)
AUGMENT = (
    "--top-k 2|--save-book out/book.json|--save-templates out/t.jsonl|--typed|--no-fill|-n 20"
    "|--report out/r.jsonl|--max-per-template 3|--slotless skip|--short-types|--min-count 2"
    "|--to arrow -o out/o.arrow|--to parquet -o out/o.parquet|--no-articles|--types city"
)
EMBED = (
    "--to jsonl|--to jsonl|-o out/o.parquet|-o out/o.arrow|-o out/o.npy|--keep none|--tokens"
    "|--sample 0.5|--dtype float16|--max-length 8|--pooling max|--transform center|--shard-rows 5"
    "|--transform to-response -o out/o.parquet|--transform to-response --fit-on out/o.parquet"
    "|--whiten --dimensions 2 -o out/w.parquet|--on-truncate ignore|--dry-run -o out/o.parquet"
)
CENTER = "--sample 0.5|-n 3|--field text|--dry-run|--seed 3|--batch-tokens 8|--overwrite"
WEIGH = "--sample 0.5|-n 3|--field text|--dry-run|--half-at 0.5|--overwrite"
TRAIN = (
    "--method wmdc|--method simcse|--method dialoguecse|--method siamese-s|--method todbert"
    "|--method mlm|--method tadse|--validation-share 0.3|--dry-run|--weights given|--window 1"
    "|--speaker-tokens|--batches by-window|--negatives 2|--mask-false-negatives|-n 9"
)
SMALL = "--hidden 64 --layers 1 --vocab-size 300 --threads 1 --device cpu"
MODEL = "--model model --threads 1 --device cpu"
FEW = "--runs 2 --shots 1,2"
PROBE = "--epochs 2 --lr 0.01 --weight-decay 0"
SCORES = "--json|-o out/s.jsonl|--no-each|--fail-under accuracy=50|--part test|--name x"
TUNE = f"{MODEL} --shots 2 --runs 1 --max-length 8 --epochs 1"

USES = (
    Use("dial-pairs", "dialogues chats responses", PAIRS, weight=8),
    Use(f"dial-pairs {TABLE}", "rows", f"--order-column sent|--unsorted|{PAIRS}", weight=3),
    Use("dial-pairs --kind dialogue", "dialogues chats", PAIRS, weight=2),
    Use("dial-pairs --kind utterance", "dialogues utterances", PAIRS, weight=2),
    Use("dial-pairs --kind entailment", "two_texts", PAIRS, weight=2),
    Use("dial-pairs --kind texts", "two_texts", PAIRS),
    Use("dial-freq", "dialogues pairs utterances", FREQ, weight=5),
    Use(
        "dial-freq --merge", "frequencies", "--no-rank|--top 3|--to arrow -o out/o.arrow", weight=2
    ),
    Use("dial-freq --annotate", "pairs utterances", FREQ, weight=2),
    Use("dial-freq --annotate --counts {side}", "pairs", FREQ, sides="frequencies"),
    Use("dial-augment", "utterances dialogues", AUGMENT, weight=5),
    Use("dial-augment --spans {side}", "utterances", AUGMENT, sides="spans"),
    Use("dial-augment --ner rules --book {side}", "utterances", AUGMENT, sides="book"),
    Use(f"dial-embed {MODEL}", "utterances pairs responses two_texts", EMBED, weight=1.5),
    Use(f"dialtools center {MODEL} -o out/m", "utterances pairs", CENTER, weight=0.5),
    Use("dialtools weigh --model model -o out/m", "utterances pairs", WEIGH, weight=0.3),
    Use(f"dial-embed --per turn {MODEL}", "dialogues", EMBED, weight=0.5),
    Use(f"dial-embed --templates {{side}} {MODEL}", "utterances", EMBED, "utterances", weight=0.3),
    Use(
        f"dial-train --max-steps 1 --batch-size 8 -o out/m {SMALL}",
        "pairs utterances",
        TRAIN,
        weight=0.7,
    ),
    Use(
        f"dial-train --max-steps 1 --validation {{side}} -o out/m {SMALL}",
        "pairs",
        TRAIN,
        "pairs",
        60,
        0.2,
    ),
    Use(
        f"dial-eval intent {FEW}",
        "embeddings",
        f"--method knn|--method logreg|{SCORES}",
        weight=1.5,
    ),
    Use("dial-eval intent --shots 1,2 --episodes {side}", "embeddings", SCORES, "episodes"),
    Use(
        f"dial-eval intent {FEW} --sweep-compress 0,0.5", "template_embeddings", SCORES, weight=0.4
    ),
    Use(f"dial-eval oos {FEW}", "embeddings", SCORES),
    Use(
        "dial-eval select --candidates 4",
        "pair_embeddings",
        f"--sampling random|{SCORES}",
        weight=1.5,
    ),
    Use(
        f"dial-eval act {PROBE} --target current --label none",
        "embeddings",
        f"--speaker user|{SCORES}",
        weight=0.4,
    ),
    Use(f"dial-eval infer {PROBE}", "embeddings", f"--under-tokens 30|{SCORES}", weight=0.4),
    Use(
        "dial-eval retrieve --split none",
        "embeddings",
        f"--lists bm25 --candidates 5|--lists given|{SCORES}",
    ),
    Use("dial-eval route --assigned split", "embeddings", f"--none test|--group id|{SCORES}"),
    Use("dial-eval sts", "text_embeddings", SCORES, weight=1.5),
    Use("dial-eval entail", "triplet_embeddings", SCORES),
    Use("dial-eval space", "embeddings", "--max-rows 9|--label split|-v", weight=1.5),
    Use(
        "dial-eval plot --method pca --vectors embedding -o out/p.html",
        "embeddings",
        "--coordinates out/c.jsonl",
    ),
    Use(
        "dial-eval plot --method pca -o out/p.svg", "embeddings", "--max-rows 9", few=40, weight=0.2
    ),
    Use(
        "dial-eval compare --resamples 100 {side}",
        "scores",
        "--to markdown|--to csv|--metric accuracy",
        "scores",
    ),
    Use("dial-eval mteb -o out/mteb", "scores", "-v"),
    Use("dial-eval suite {suite} folder", "embeddings", "--to markdown|--json|-o out/s.jsonl"),
    Use(f"dial-eval finetune intent {TUNE}", "labelled", few=40, weight=0.1),
    Use(
        f"dial-eval finetune select {TUNE} --candidates 4 --test {{side}} --train",
        "pairs",
        sides="pairs",
        few=40,
        weight=0.1,
    ),
    Use(
        "dialtools mine --relative-margin none --embeddings in.jsonl",  # a vector of each text
        "pair_embeddings",
        "--to arrow|--sampling-strategy random|--range-min 2|--absolute-margin 0.1 --min-score 0",
        weight=0.5,
    ),
    Use("dialtools formats", "rows", "--json|--kind dialogues", weight=0.1),
)
