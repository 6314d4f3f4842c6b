"""dial-eval infer - tell whether a dialogue contradicts itself

  dial-embed --model model/ --field history+response --tokens \\
    citod.jsonl -o ic-tod.parquet
  dial-eval infer --label qi,hi --test-split dev --validation-share 0.1 \\
    ic-tod.parquet
  dial-eval infer --label is_contradiction --under-tokens 256 decode.parquet

Trains one linear layer with a softmax over the classes on the frozen
embeddings. Scores are `accuracy` of the most probable class, and `majority`,
that of always predicting the most frequent class of the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.probes import ProbeOptions
from dialtools.options import input_option
from dialtools.values import at_least, name_list


@dataclass
class InferOptions(ProbeOptions):
    """Options of `dial-eval infer`."""

    label: tuple[str, ...] = input_option(
        ("label",),
        metavar="NAMES",
        parse=name_list,
        help="column of the class; of several columns, whether any is true",
    )
    under_tokens: int | None = input_option(
        None,
        parse=at_least(1),
        help="use only rows with fewer tokens (column `tokens`: dial-embed --tokens)",
    )
