"""dial-eval act - predict the acts of the next turn, or tell those of this one

  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-eval act --target next turns.parquet
  dial-eval act --target current --speaker system turns.parquet
  dial-embed --model model/ --field history dstc2_acts.jsonl -o dstc2.parquet
  dial-eval act dstc2.parquet

One linear layer with a sigmoid for each act is trained on the frozen
embeddings; an act is predicted above 0.5. Rates, penalties and the epoch are
chosen on validation rows, by the mean of micro and macro F1. Acts that are
never predicted have F1 0 and count in the macro average, as scikit-learn has
it with zero_division=0.

Rows of turns (--per turn) hold each turn's own acts: `next` looks up those of
the turn that follows. Ready-made rows hold the acts of `response` in
`labels`: embed `history` for `next`, `history+response` for `current`; the
file tells which was done, and the wrong target is refused. Turns of one
dialogue (--group) are resampled together: they are no independent evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.probes import ProbeOptions
from dialtools.options import option


@dataclass
class ActOptions(ProbeOptions):
    """Options of `dial-eval act`."""

    target: str = option(
        "next",
        choices=("next", "current"),
        help="acts of the turn after the embedded ones, or of the last embedded one",
    )
    acts: str = option(
        "acts",
        metavar="NAME",
        group="Input",
        help="column of each row's own acts, beside dialogue_id and turn",
    )
    label: str = option(
        "labels", metavar="NAME", group="Input", help="else: column of the target's acts"
    )
    speaker: str | None = option(
        None,
        metavar="NAME",
        group="Input",
        help="predict turns of this speaker only",
        shown="of all that have acts",
    )
