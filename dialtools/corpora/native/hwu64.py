"""HWU64: one table with slots as `[date : today]`, or a fold of it.

The table is NLU-Data-Home-Domain-Annotated-All.csv, with `;` between fields. A fold is a folder of
trainset/<scenario_intent>.csv and testset/csv/<scenario_intent>.csv; KFold_1 is the usual test set
of 1,076. https://github.com/xliuhw/NLU-Evaluation-Data, CC BY 4.0. Published: 25,716 rows of 68
intents in 18 scenarios; HWU64 are the 64 of the folds, without audio_volume_other, cooking_query,
general_greet and music_dislikeness. The text is the annotated one, its `answer` as it was typed
goes along; rows that nobody annotated are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, columns, field, slot, table, utterance
from dialtools.corpora.utterances import bracketed

ALL = ("NLU-Data-Home-Domain-Annotated-All.csv", "NLU-Data-Home-Domain-Annotated-All-Cleaned.csv")
FOLD = {"trainset/*.csv": "train", "testset/csv/*.csv": "test"}
UNMARKED = ("", "null")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the rows that are annotated.

    Raises:
        DataError: if there are several folds.
    """
    whole = next((name for name in ALL if files.names(name)), None)
    if whole or not files.names(*FOLD):
        yield from _annotated(table(whole or ALL[0], delimiter=";")(files))
        return
    for pattern, split in FOLD.items():
        names = files.names(pattern)
        folds = {name.rsplit("/", pattern.count("/") + 1)[0] for name in names}
        if len({name.split("/")[-1] for name in names}) < len(names):
            files.fail(
                names[0],
                f"the same intent in {len(folds)} folds",
                hint="name the folder of one, KFold_1 say",
            )
        yield from (
            row._replace(split=split) for row in _annotated(table(pattern, delimiter=";")(files))
        )


def _annotated(rows: Iterator[Raw]) -> Iterator[Raw]:
    for row in rows:
        at = row.more.index("answer_annotation") if "answer_annotation" in row.more else -1
        if not 0 <= at < len(row.value) or row.value[at].strip() not in UNMARKED:
            yield row


def record(raw: Raw) -> dict[str, Any]:
    """Return an utterance with its slots; its label is scenario_intent, its domain the scenario."""
    row = columns(raw)
    text, spans = bracketed(field(row, "answer_annotation", str))
    scenario, intent = field(row, "scenario", str), field(row, "intent", str)
    typed = row.get("answer", row.get("answer_from_user"))
    fields = {"id": row.get("answerid"), "domain": scenario, "answer": typed}
    return utterance(
        raw, text, f"{scenario}_{intent}", **fields, slots=[slot(*span) for span in spans]
    )
