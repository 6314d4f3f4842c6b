"""dial-eval route - how well were rows routed?

  dialtools assign --router router.parquet test.parquet \\
    | dial-eval route
  dial-eval route --none oos --fail-under recall=90 routed.jsonl
  dial-eval route --label intent --assigned answer answers.csv

Compares two columns of records: the class of a row, and the class that it was
given, by dialtools assign or by anything else. The encoder is not needed, so
answers of a language model can be scored beside those of a router, and
compared by dial-eval compare.

Rows without a class of their own (--none) should have been given none. Rows
whose label is unknown are left out; a row that was given nothing was given
none.

Scores:
  accuracy      rows rightly routed: to their class, or to none
  recall        rows of a class that were given it
  precision     rows that were given a class, and rightly
  none-recall   rows of no class that were given none
  macro-f1      mean F1 of the classes that rows have or were given, none too
  weighted-f1   that mean by how often each class is a row's own

Intervals are of other rows, or of other dialogues (--group).
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.corpora.options import AnyRecordOptions
from dialtools.eval.options.base import FileOptions
from dialtools.eval.options.probes import ProbeOptions
from dialtools.options import argument, option, restated
from dialtools.streams.options import column
from dialtools.values import label_list


@dataclass
class RouteOptions(FileOptions):
    """Options of `dial-eval route`."""

    inputs: tuple[str, ...] = argument(help="records with both columns (default: stdin)")
    from_: str | None = restated(AnyRecordOptions, "from_")
    label: str = column("label", help="column of the labels")
    assigned: str = column("assigned", help="column of the classes that were given")
    none: tuple[str, ...] = option(
        ("none",),
        metavar="NAME[,NAME...]",
        parse=label_list,
        group="Input",
        help="what stands for no class, in either column",
    )
    group: str | None = restated(ProbeOptions, "group")
