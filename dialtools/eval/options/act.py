"""dial-eval act - predict the acts of the next turn, or of the current one

  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-eval act --target next turns.parquet
  dial-eval act --target current --speaker system turns.parquet
  dial-embed --model model/ --field history dstc2_acts.jsonl -o dstc2.parquet
  dial-eval act dstc2.parquet

Trains one linear layer with a sigmoid per act on the frozen embeddings. An
act is predicted above 0.5. The learning rate, penalty and epoch are chosen on
validation rows by the mean of micro and macro F1. An act that is never
predicted has F1 0 and counts in the macro average, as in scikit-learn with
zero_division=0.

Turns of one dialogue are resampled together (--group), because they are not
independent evidence.

Scores:

micro-f1 counts over all acts together, macro-f1 is the mean of the acts' own,
weighted-f1 that mean by how often each act occurs, and samples-f1 the mean of
the rows' own.

Rows of turns and ready-made rows:

Rows of turns (dial-embed --per turn) hold each turn's own acts. --target next
looks up those of the following turn.

Ready-made rows hold the acts of `response` in `labels`. Embed `history` for
--target next, and `history+response` for --target current. The file records
which was embedded, and the wrong target is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.probes import ProbeOptions
from dialtools.options import option
from dialtools.streams.options import column


@dataclass
class ActOptions(ProbeOptions):
    """Options of `dial-eval act`."""

    target: str = option(
        "next",
        choices=("next", "current"),
        help=(
            "predict the acts of the turn after the embedded ones, or those of the last "
            "embedded turn"
        ),
    )
    acts: str = column(
        "acts", help="rows of turns: column of each row's own acts, beside dialogue_id and turn"
    )
    label: str = column("labels", help="ready-made rows: column of the target's acts")
    speaker: str | None = column(
        None, help="predict only turns of this speaker", shown="all that have acts"
    )
