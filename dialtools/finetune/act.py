"""dial-eval finetune act - acts of a turn, learnt from a few examples

  dial-eval finetune act --model model/ dstc2_acts.jsonl
  dial-eval finetune act --target current --truncation words --shots 10,20 \\
    --model model/ dstc2_acts.jsonl
  dial-eval finetune act --speaker system --model model/ chats.jsonl

Reads records of `history`, the `response` to it and the acts of that response
in `labels`; or dialogues whose turns have `acts`. Of dialogues, every turn
that has acts is an example (--speaker: only those of one speaker).

--target next reads only the history. --target current reads the response
too, which is what the data of DSE's table amounts to.

Trains all of the encoder, and a layer on the mean of the token vectors. An
act is predicted if its sigmoid is above 0.5. Tests the state with the largest
mean of micro and macro F1 on validation rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from dialtools.corpora.by_turn import Row, turns
from dialtools.corpora.dialogues import HISTORY, key_of_turns
from dialtools.corpora.fields import as_text, texts
from dialtools.corpora.turns import Record, Turns, column_of_turns, field_of
from dialtools.errors import ConfigError, DataError
from dialtools.finetune.options import FinetuneOptions, other_default, training
from dialtools.finetune.task import Figures, Items, Task
from dialtools.options import option
from dialtools.streams.options import column
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally
from dialtools.values import share_below_one

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from dialtools.encoder.encoder import Encoder

SEEN = "turns seen"
"""Field of what is read of a turn of a dialogue."""
WORDS = 0.9
"""Share of max-length that the reference keeps, in words, before it makes tokens of them."""


@dataclass
class ActProtocol(FinetuneOptions):
    """A layer of acts, a sigmoid each, on the mean of the token vectors (DSE table 5)."""

    history: str = column("history", help="field of the turns before the response")
    response: str = column("response", help="field of the turn that has the acts")
    label: str = column("labels", help="field of that turn's acts")
    acts: str = column("acts", help="dialogues: field of each turn's acts")
    speaker: str | None = column(
        None, help="dialogues: only turns of this speaker", shown="all that have acts"
    )
    target: str = option(
        "next",
        choices=("next", "current"),
        help=(
            "acts of the unseen turn after the history, or of the last seen turn (DSE's most "
            "likely)"
        ),
    )
    truncation: str = option(
        "newest",
        choices=("newest", "words"),
        help=(
            "newest: keep the last tokens; words: the last 0.9 max-length words, then the first"
            " tokens of these, as DSE's code cuts"
        ),
    )
    shots: tuple[int, ...] = other_default(
        "shots", (10, 20), help="examples per act to train on, and as many to validate on"
    )
    runs: int = other_default("runs", 5)
    lr: float = other_default("lr", 5e-5)
    batch_size: int = other_default("batch_size", 32)
    epochs: int = other_default("epochs", 100)
    validate_every: int = other_default("validate_every", 30)
    patience: int = other_default("patience", 3)
    max_length: int = other_default("max_length", 32, help="maximum tokens of the turns")
    dropout: float = training(
        0.2, metavar="SHARE", parse=share_below_one, help="dropout before the layer"
    )


class Act(Task[ActProtocol]):
    """A set of acts a row, a sigmoid for each; N rows, A acts.

    The acts are those of training and test rows; one that is never guessed has F1 0.
    """

    name = "act"
    options_class = ActProtocol

    def __init__(self, options: ActProtocol, policy: Policy | None = None) -> None:
        """Read the rows.

        Raises:
            DataError: if acts are no list of names, or there are fewer than two.
        """
        from dialtools.finetune.rows import read_rows
        from dialtools.metrics import f1

        super().__init__(options, policy)
        train, test = read_rows(options, self.examples, self.policy)
        acts_of_train = [self._acts(row) for row in train]
        acts_of_test = [self._acts(row) for row in test]
        names = sorted(set().union(*acts_of_train, *acts_of_test))
        if len(names) < 2:
            raise DataError(
                f"{len(names)} act in all: nothing to tell apart", where=train[0][0].name
            )
        self.labels = [tuple(sorted(acts)) for acts in acts_of_train]
        self.outputs = len(names)
        self.dropout = options.dropout
        self.train, self.test = (
            Items([self._seen(rows)], f1.indicators(acts, names).astype("float32"))
            for rows, acts in ((train, acts_of_train), (test, acts_of_test))
        )
        self.test_records = test

    @property
    def label_field(self) -> str:
        return self.options.label

    def examples(self, record: Record) -> list[Record]:
        """Return the record, if it has acts and turns; of a dialogue its turns that have acts."""
        where, fields = record
        found = [record]
        if self.options.label not in fields and key_of_turns(fields):
            try:
                rows = list(turns(where, fields, Tally()))
            except ValueError as error:
                raise DataError(str(error), where=where) from None
            found = [(where, self._of_turn(row)) for row in rows if self._is_wanted(row)]
        elif self.options.speaker or self.options.acts != ActProtocol.acts:
            message = "--acts and --speaker are of turns of dialogues, not of a ready-made row"
            raise ConfigError(message, where=where)
        for row in found:
            self._acts(row)
        self._seen(found)
        return found

    def _is_wanted(self, turn: Row) -> bool:
        """Tell whether a turn has acts, and is one whose acts can be looked for."""
        speaker = self.options.speaker
        return (
            turn.get(self.options.acts) is not None
            and (speaker is None or turn["speaker"] == speaker)
            and (self.options.target == "current" or len(turn[HISTORY]) > 1)
        )

    def _of_turn(self, turn: Row) -> Row:
        """Return a row of its acts, and of what is seen: it too, or only what it answers."""
        seen = turn[HISTORY][:-1] if self.options.target == "next" else turn[HISTORY]
        return {**turn, self.options.label: turn[self.options.acts], SEEN: seen}

    def _seen(self, records: Sequence[Record]) -> list[Turns]:
        """Return the turns that are read of each record."""
        history, response = self.options.history, self.options.response
        ready_made = history if self.options.target == "next" else f"{history}+{response}"
        names = (SEEN if SEEN in fields else ready_made for _, fields in records)
        return [column_of_turns([row], name)[0] for row, name in zip(records, names, strict=True)]

    def _acts(self, record: Record) -> set[str]:
        where, fields = record
        return set(map(as_text, field_of(where, fields, self.options.label, texts)))

    def setting(self, shots: int) -> str:
        return f"{self.options.target} {super().setting(shots)}"

    def sequences(self, encoder: Encoder, items: Items) -> list[list[np.ndarray]]:
        """Return the token sequences, cut as --truncation says."""
        if self.options.truncation == "newest":
            return super().sequences(encoder, items)
        found = [last_words(encoder, turns, encoder.max_length) for turns in items.sides[0]]
        self.cut += sum(is_cut for _, is_cut in found)
        return [[sequence for sequence, _ in found]]

    def loss(self, outputs: Sequence[Tensor], truth: Tensor) -> Tensor:
        """Return the mean binary cross entropy of all acts."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        return binary_cross_entropy_with_logits(outputs[0], truth)

    def each(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
        """Return the F1 of each row's own acts."""
        from dialtools.metrics import f1

        return {"samples-f1": f1.micro(_counts(outputs, truth))}

    def figures(self, outputs: Sequence[np.ndarray], truth: np.ndarray) -> Figures:
        """Return micro, macro, weighted and samples F1 of the acts whose sigmoid is above 0.5."""
        from dialtools.metrics import f1

        sums = _counts(outputs, truth).sum(0, dtype="float64")
        of_all = {f"{name}-f1": 100 * float(average(sums)) for name, average in f1.AVERAGES.items()}
        return {**of_all, **super().figures(outputs, truth)}

    def quality(self, figures: Figures) -> float:
        """Return the mean of micro and macro F1."""
        return (figures["micro-f1"] + figures["macro-f1"]) / 2


def _counts(outputs: Sequence[np.ndarray], truth: np.ndarray) -> np.ndarray:
    """Return (N, 3, A) the counts of each row; an act is guessed where its sigmoid is above 0.5."""
    from dialtools.metrics import f1

    return f1.counts(truth, outputs[0] > 0)  # a logit above 0


def last_words(encoder: Encoder, turns: Turns, max_length: int) -> tuple[np.ndarray, bool]:
    """Return a sequence as DSE's code cuts it, and whether anything was cut.

    Kept are the last int(0.9 max_length) words, then the first tokens of these. Words are what
    blanks separate; the mark before each turn ([SEP], or the speaker's token of models that have
    them) counts as one. A word of several tokens can so push the newest words out.
    """
    import numpy as np

    from dialtools.encoder.tokens import tokenise

    # a mark opens each turn; the words before the first mark that is kept have none
    marks: list[np.ndarray] = []
    spans: list[list[str]] = [[]]
    words = _marked_words(encoder, turns)
    most = int(WORDS * max_length)
    for mark, word in words[-most:]:
        if word is None:
            marks.append(mark)
            spans.append([])
        else:
            spans[-1].append(word)

    ids, ends = tokenise(encoder.tokenizer, [" ".join(span) for span in spans])
    special = encoder.special
    first, *others = (ids[begin:end] for begin, end in pairwise(ends))
    body = np.concatenate([first, *chain(*zip(marks, others, strict=True))])
    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    whole = np.concatenate([special.prefix, body[:room], special.suffix])
    return whole, len(words) > most or len(body) > room


def _marked_words(encoder: Encoder, turns: Turns) -> list[tuple[np.ndarray, str | None]]:
    """Return the words of all turns, each with its turn's mark; before each turn the mark alone."""
    import numpy as np

    texts, roles = turns
    marks = [encoder.special.separator] * len(texts)
    if encoder.role_tokens and roles:
        marks = [np.asarray([encoder.role_tokens[role]], np.int32) for role in roles]
    return [
        (mark, word)
        for mark, text in zip(marks, texts, strict=True)
        for word in (None, *text.split())
    ]
