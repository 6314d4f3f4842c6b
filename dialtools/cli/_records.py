"""The records of the suite, field by field: dialtools-records(5) is made of this table.

`tests/cli/test_records.py` holds what the commands write against it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a record: its kind as a person says it, and what it holds."""

    kind: str
    text: str
    required: bool = False


@dataclass(frozen=True)
class RecordKind:
    """A kind of record: who reads and writes it, an example line, and its fields by name."""

    summary: str
    commands: str
    example: str
    fields: dict[str, Field]


RECORDS: dict[str, RecordKind] = {
    "dialogue": RecordKind(
        summary="what people said to each other, oldest first",
        commands="read by dial-pairs, dial-freq, dial-augment, dial-embed --per turn; written by "
        "dial-pairs --kind dialogue and dial-augment",
        example='{"id": "d1", "turns": [{"speaker": "user", "text": "hello"}, "hi, who is it?"]}',
        fields={
            "turns": Field(
                "list",
                "turns: texts, or objects of `text` and `speaker` (`utterance`, `content`, "
                "`message` or `body`, `role`); `dialogue`, `messages`, `chat` and others are read "
                "as the same field (dial-pairs --help)",
                required=True,
            ),
            "id": Field("text", "the dialogue's name; else it is called by its place"),
            "split": Field("text", "train, test, ...: `--split` and dial-augment go by it"),
        },
    ),
    "utterance": RecordKind(
        summary="a text by itself, labelled or not",
        commands="read by dial-pairs, dial-augment, dial-freq, dial-train, dial-embed, dial-eval "
        "finetune and curve, dialtools weigh, center and merge; written by dial-pairs --kind "
        "utterance and dial-augment",
        example='{"text": "fly to rome", "label": "flight", "split": "train"}',
        fields={
            "text": Field("text", "the utterance", required=True),
            "id": Field("text", "its name"),
            "label": Field("text", "its class, such as an intent; `labels` is a list of several"),
            "split": Field("text", "train, validation, test"),
            "slots": Field(
                "list",
                "objects of `start`, `end` (characters, end exclusive) and `label`: the values in "
                "the text and their types",
            ),
            "template": Field("text", "the text with each value replaced by {SLOT} (TaDSE)"),
            "synthetic": Field("boolean", "true if dial-augment made it"),
            "source_id": Field("text", "the id of the record that it was made from"),
            "dialogue_id": Field("text", "the dialogue that it is a turn of"),
            "turn": Field("number", "its place in that dialogue, from 0"),
            "speaker": Field("text", "who said it"),
        },
    ),
    "pair": RecordKind(
        summary="two texts that belong together",
        commands="written by dial-pairs and dialtools mine; read by dial-freq, dial-train, "
        "dial-embed, dial-eval finetune and curve, dialtools mine, weigh, center and merge",
        example='{"context": ["hello"], "response": "hi, who is it?", "window": 1, '
        '"kind": "consecutive", "dialogue_id": "d1", "turn": 1, "speakers": ["user", "system"]}',
        fields={
            "context": Field("list", "the turns before, oldest first", required=True),
            "response": Field("text", "the turn that follows them", required=True),
            "window": Field("number", "turns of context that were asked for"),
            "kind": Field(
                "text",
                "consecutive, self (a text with itself), random-split, same-answer, "
                "same-label, texts, entailment, nli, triple",
            ),
            "dialogue_id": Field(
                "text", "the dialogue, or label: what never stands on two sides of a split"
            ),
            "turn": Field("number", "the response's place in it, from 0"),
            "speakers": Field("list", "who said the turns of the context, then the response"),
            "follow": Field("list", "the turns after the response (--follow, for DialogueCSE)"),
            "negatives": Field(
                "list", "texts that are no response: what dial-train contrasts the pair with, too"
            ),
            "similar": Field(
                "number", "1 if the texts belong together, 0 if not (--kind nli); 1 if not said"
            ),
            "domain": Field("text", "what its dialogue is about (--domain)"),
            "weight": Field("number", "how much it counts in training (dial-freq --annotate)"),
            "template": Field("text", "the response's template (TaDSE)"),
        },
    ),
    "frequency": RecordKind(
        summary="how often a text occurs",
        commands="written by dial-freq; read by dial-freq",
        example='{"text": "thanks", "count": 723, "share": 0.0147, "rank": 2, "weight": 0.132}',
        fields={
            "text": Field("text", "the text, folded as --ignore says", required=True),
            "count": Field("number", "occurrences", required=True),
            "share": Field("number", "of all occurrences"),
            "rank": Field("number", "1 is the most frequent; not with --no-rank"),
            "weight": Field("number", "1 / (ln count + 1) (WMDC eq. 4)"),
        },
    ),
    "imbalance": RecordKind(
        summary="how unevenly a corpus repeats itself",
        commands="written by dial-freq --summary",
        example='{"schema": "dialtools.imbalance/1", "corpus": "chats", "total": 12100, '
        '"distinct": 9799, "distinct_share": 0.81, "top_1_percent_share": 0.119, "gini": 0.185}',
        fields={
            "schema": Field("text", "dialtools.imbalance/1", required=True),
            "corpus": Field("text", "the name of the input", required=True),
            "total": Field("number", "occurrences", required=True),
            "distinct": Field("number", "texts", required=True),
            "distinct_share": Field("number", "texts of the occurrences"),
            "top_1_percent_share": Field(
                "number", "of the occurrences, held by the most frequent 1 % of the texts"
            ),
            "gini": Field("number", "0: all texts are as frequent; near 1: one holds all"),
            "entropy_bits": Field("number", "entropy of drawing an occurrence"),
            "zipf_slope": Field("number", "of log count over log rank; -1 under Zipf's law"),
        },
    ),
    "embedding": RecordKind(
        summary="a vector and what it is of",
        commands="written by dial-embed; read by dial-eval, dialtools assign, cluster, drift, "
        "mine, neighbors, search, dial-embed --fit-on, dial-train --teacher",
        example='{"id": "7", "label": "flight", "embedding": [0.02, -0.11, ...]}',
        fields={
            "embedding": Field(
                "vector",
                "numbers (JSONL) or a FixedSizeList (Parquet, Arrow); several embedded fields "
                "give `context_embedding`, `response_embedding`, ...; templates `text_embedding` "
                "and `template_embedding`",
                required=True,
            ),
            "tokens": Field("number", "tokens of the text before any cut (--tokens)"),
        },
    ),
    "neighbor": RecordKind(
        summary="two rows that are near each other",
        commands="written by dialtools neighbors",
        example='{"row": 3, "near": 17, "rank": 1, "cosine": 0.931235, "id": "a", "near_id": "b"}',
        fields={
            "row": Field("number", "the row of QUERIES, from 0", required=True),
            "near": Field("number", "the row that is near, from 0", required=True),
            "rank": Field("number", "1 is the nearest", required=True),
            "cosine": Field("number", "of their vectors, six digits", required=True),
            "id": Field("text", "that of the row; so are all fields of --keep"),
            "text": Field("text", "that of the row"),
            "near_id": Field("text", "that of the row that is near"),
            "near_text": Field("text", "that of the row that is near"),
        },
    ),
    "found": RecordKind(
        summary="a row that is near a text",
        commands="written by dialtools search",
        example='{"query": "where is my card", "rank": 1, "row": 17, "cosine": 0.812345, '
        '"id": "b"}',
        fields={
            "query": Field("text", "the text that was asked for", required=True),
            "rank": Field("number", "1 is the nearest", required=True),
            "row": Field("number", "the row of FILE, from 0", required=True),
            "cosine": Field("number", "of their vectors, six digits", required=True),
            "id": Field("text", "that of the row; so are all fields of --keep"),
            "text": Field("text", "that of the row, or what else was embedded"),
        },
    ),
    "member": RecordKind(
        summary="a row and the cluster that it is in",
        commands="written by dialtools cluster",
        example='{"id": "7", "text": "fly to rome", "cluster": 3, "distance": 0.21}',
        fields={
            "cluster": Field("number", "0 is the largest; -1 is noise", required=True),
            "distance": Field("number", "cosine distance to the centroid; noise has none"),
            "probability": Field("number", "how surely it is in it (hdbscan)"),
            "row": Field("number", "its place in the input, from 0, unless all have an id"),
            "id": Field("text", "its name; with --keep, any other fields of the input"),
            "dialogue_id": Field("text", "the dialogue that it is of"),
            "turn": Field("number", "its place in that dialogue, from 0"),
            "text": Field("text", "what its vector is of"),
        },
    ),
    "cluster": RecordKind(
        summary="what a cluster is about; the first, without `cluster`, is of all rows",
        commands="written by dialtools cluster --save-summary",
        example='{"schema": "dialtools.cluster/1", "cluster": 3, "size": 212, "share": 0.141, '
        '"distance": 0.38, "medoid": "7", "nearest": ["fly to rome"], "words": ["fly", "flight"]}',
        fields={
            "schema": Field("text", "dialtools.cluster/1", required=True),
            "size": Field("number", "its rows", required=True),
            "share": Field("number", "of all rows", required=True),
            "cluster": Field("number", "0 is the largest; -1 is noise"),
            "distance": Field("number", "the mean cosine distance of its rows to its centroid"),
            "medoid": Field("text", "id, or number, of the row nearest to the centroid"),
            "nearest": Field("list", "the five distinct texts nearest to the centroid"),
            "words": Field("list", "words that tell it from the others, the best first"),
            "stability": Field(
                "number",
                "mean Jaccard index with its likes in samples; of all rows, mean adjusted Rand "
                "index (--stability)",
            ),
            "low": Field("number", "lower end of the 95 % interval of the latter"),
            "high": Field("number", "upper end of it"),
            "clusters": Field("number", "of all rows: how many there are"),
            "noise": Field("number", "of all rows: how many are in none"),
            "silhouette": Field("number", "of all rows: the mean silhouette, by cosine"),
        },
    ),
    "assigned": RecordKind(
        summary="a row and the class that it is nearest to",
        commands="written by dialtools assign; read by dial-eval route",
        example='{"text": "lost my card", "assigned": "card_lost", "score": 0.71, '
        '"runners_up": [{"label": "card_stolen", "score": 0.66}]}',
        fields={
            "assigned": Field("text", "the class, or none (--none)", required=True),
            "score": Field("number", "cosine with the nearest class", required=True),
            "runners_up": Field(
                "list",
                "the classes after what was assigned: objects of `label` and `score`",
                required=True,
            ),
            "id": Field("text", "that of the row; so are all its fields (--keep)"),
            "label": Field("text", "the same"),
            "split": Field("text", "the same"),
            "text": Field("text", "the same"),
        },
    ),
    "drift": RecordKind(
        summary="what has become of a cluster; the first, without `cluster`, is of the two files",
        commands="written by dialtools drift",
        example='{"schema": "dialtools.drift/1", "cluster": 3, "verdict": "grown", "old": 90, '
        '"new": 210, "old_share": 0.03, "new_share": 0.07, "low": 0.029, "high": 0.051, '
        '"p": 1.2e-12, "adjusted_p": 4.8e-11, "words": ["refund"]}',
        fields={
            "schema": Field("text", "dialtools.drift/1", required=True),
            "old": Field("number", "rows before", required=True),
            "new": Field("number", "rows after", required=True),
            "p": Field("number", "p-value; of the files, by permutations", required=True),
            "cluster": Field("number", "0 is the largest of both files together; -1 is noise"),
            "verdict": Field("text", "new, gone, grown, shrunk or same"),
            "old_share": Field("number", "of the rows before"),
            "new_share": Field("number", "of the rows after"),
            "old_dialogue_share": Field(
                "number", "of the dialogues before, those with a row in the cluster"
            ),
            "new_dialogue_share": Field("number", "of the dialogues after; these two are tested"),
            "low": Field("number", "lower end of the 95 % interval of the share that it gained"),
            "high": Field("number", "upper end of it"),
            "adjusted_p": Field("number", "the p-value, corrected for all clusters (--correct)"),
            "nearest": Field("list", "the five distinct texts nearest to the centroid"),
            "words": Field("list", "words that tell it from the others, the best first"),
            "distance": Field("number", "of the files: their energy distance"),
            "chance": Field("number", "of the files: its mean over permutations"),
        },
    ),
    "score": RecordKind(
        summary="one metric of one setting",
        commands="written by dial-eval; read by dial-eval compare, mteb",
        example='{"schema": "dialtools.score/1", "task": "intent", "dataset": "tickets", '
        '"setting": "5-shot", "metric": "accuracy", "value": 81.9, "low": 81.0, "high": 82.7}',
        fields={
            "schema": Field("text", "dialtools.score/1", required=True),
            "task": Field("text", "the task of dial-eval", required=True),
            "dataset": Field(
                "text", "what it was scored on (--name, else the file)", required=True
            ),
            "setting": Field("text", "what tells it from the other scores of its task"),
            "metric": Field("text", "the name of the number", required=True),
            "value": Field("number", "the number; accuracies are percent", required=True),
            "low": Field("number", "lower end of the 95 % interval"),
            "high": Field("number", "upper end of the 95 % interval"),
            "std": Field("number", "standard deviation over runs, divided by runs - 1"),
            "runs": Field("number", "runs that `value` is the mean of"),
            "values": Field("list", "the number of each run"),
            "n": Field("number", "test items"),
            "seed": Field("number", "the first seed"),
            "options": Field("object", "options of the task that are not its usual ones"),
            "chosen": Field("object", "hyper-parameters chosen on validation rows; scores there"),
            "chance": Field("number", "what random order scores on the same lists"),
            "unleaked": Field("number", "the score without test rows that training rows repeat"),
            "each": Field("list or object", "what each test item adds, for paired tests"),
            "items": Field("object", "digests of the columns that tell which the test items are"),
            "groups": Field("list", "for each item the number of its dialogue or block"),
            "data": Field("object", "what training and test rows are, and the texts they share"),
            "model": Field("text", "the model that made the embeddings"),
            "inputs": Field("list", "name, size and SHA-256 of each file that was read"),
        },
    ),
    "comparison": RecordKind(
        summary="one score of a model beside that of the baseline",
        commands="written by dial-eval compare",
        example='{"schema": "dialtools.comparison/1", "task": "intent", "dataset": "tickets", '
        '"setting": "5-shot", "metric": "accuracy", "model": "after", "baseline": "before", '
        '"value": 83.1, "seeds": 1, "baseline_value": 81.9, "difference": 1.2, "low": 0.4, '
        '"high": 2.0, "p": 0.004, "adjusted_p": 0.012, "significant": true}',
        fields={
            "schema": Field("text", "dialtools.comparison/1", required=True),
            "task": Field("text", "that of the score; so are the next three", required=True),
            "dataset": Field("text", "the same", required=True),
            "setting": Field("text", "the same"),
            "metric": Field("text", "the same", required=True),
            "model": Field("text", "the name of the column", required=True),
            "value": Field("number", "its score, the mean over seeds", required=True),
            "std": Field("number", "standard deviation over seeds"),
            "seeds": Field("number", "score files that are one column", required=True),
            "baseline": Field("text", "what it is compared with; nothing of one model alone"),
            "baseline_value": Field("number", "the baseline's score"),
            "baseline_std": Field("number", "its standard deviation over seeds"),
            "baseline_seeds": Field("number", "its score files"),
            "difference": Field("number", "value - baseline_value"),
            "low": Field("number", "lower end of the 95 % interval, of the difference or alone"),
            "high": Field("number", "upper end of it"),
            "test": Field("text", "how p was found"),
            "p": Field("number", "p-value of this test by itself"),
            "adjusted_p": Field("number", "the p-value, corrected for all tests of the table"),
            "correction": Field("text", "how (--correct)"),
            "tests": Field("number", "how many there were"),
            "significant": Field("true or false", "adjusted_p is below 0.05"),
        },
    ),
}
