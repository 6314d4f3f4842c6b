"""Two texts with a label or a score: SNLI, MNLI, Dialogue NLI, the STS benchmark, SICK."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from at_work import ended
from corpora.broken import broken_files

from dialtools.corpora.published import corpus_of
from dialtools.errors import DataError

PAIR = {
    "annotator_labels": ["neutral"],
    "sentence1": "Two women hug.",
    "sentence2": 'They say "bye.',
    "pairID": "1r1n",
}
NLI_LINES = "".join(
    json.dumps(PAIR | {"gold_label": label}) + "\n" for label in ("entailment", "-")
)
NLI_TABLE = """\
gold_label\tsentence1_parse\tsentence1\tsentence2\tpairID
entailment\t(ROOT\tTwo women hug.\tThey say "bye.\t1r1n
-\t(ROOT\tTwo women hug.\tThey say "bye.\t1r1n
"""
DNLI = [
    {
        "id": f"d{i}",
        "sentence1": "i have a dog .",
        "sentence2": "my pet barks .",
        "label": label,
        "triple1": ["i", "have_pet", "dog"],
    }
    for i, label in enumerate(("positive", "neutral", "negative"))
]
STS = """\
main-captions\tMSRvid\t2012test\t0001\t3.80\tA "plane is up.\tIt flies.
main-news\theadlines\t2014\t2\t0\tA\tB\tCC BY\tsource
"""
SICK_FIELDS = (
    *("pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score"),
    *("entailment_AB", "SemEval_set"),
)
SICK = (
    "\t".join(SICK_FIELDS)
    + """
1\tKids play\tA man stands\tNEUTRAL\t4.5\tA_neutral_B\tTRAIN
4\tBoys smile\tNo boy smiles\tCONTRADICTION\t3.6\tA_contradicts_B\tTRIAL
"""
)
SEMEVAL = """\
pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment
4\tBoys smile\tNo boy smiles\t3.6\tCONTRADICTION
"""
RELEASES: dict[str, dict[str, Any]] = {
    "snli": {"snli_1.0/snli_1.0_dev.jsonl": NLI_LINES, "snli_1.0/snli_1.0_dev.txt": NLI_TABLE},
    "mnli": {
        "multinli_1.0/multinli_1.0_dev_matched.txt": NLI_TABLE,
        "multinli_1.0/multinli_1.0_train.txt": NLI_TABLE,
    },
    "dnli": {
        "dnli/dialogue_nli/dialogue_nli_dev.jsonl": DNLI,
        "dnli/dialogue_nli/dialogue_nli_verified_test.jsonl": DNLI,
    },
    "stsb": {f"stsbenchmark/sts-{split}.csv": STS for split in ("train", "dev", "test")},
    "sick": {"SICK/SICK.txt": SICK},
}


@pytest.mark.parametrize("name", RELEASES)
def test_each_release_is_told_as_itself(put, name: str):
    assert corpus_of(str(put(RELEASES[name])), None) == name


def test_lines_and_tables_of_snli_read_alike(read, put):
    lines = read(put(RELEASES["snli"]))
    assert lines[0] == {
        "text1": PAIR["sentence1"],
        "text2": PAIR["sentence2"],
        "label": "entailment",
        "id": "1r1n",
        "split": "val",
    }
    assert [row["label"] for row in lines] == ["entailment", "-"], (
        "what annotators did not agree on is labelled so"
    )
    assert read(put({"snli_1.0_dev.txt": NLI_TABLE}, "table")) == lines
    bare = read(put({"dev.txt": 'a "b\tc\t0\nd\te\t2\n'}, "bare"), "snli")
    assert [tuple(row.values()) for row in bare] == [
        ('a "b', "c", "entailment", "val"),
        ("d", "e", "contradiction", "val"),
    ]


def test_mnli_and_dialogue_nli_have_their_splits_and_labels(read, put):
    assert [row["split"] for row in read(put(RELEASES["mnli"]))] == ["train", "train", "val", "val"]
    rows = read(put(RELEASES["dnli"], "dnli"))
    assert [tuple(row.values()) for row in rows] == [
        ("i have a dog .", "my pet barks .", label, "val")
        for label in ("positive", "neutral", "negative")
    ]


def test_scores_of_similarity(read, put):
    first, second = read(put(RELEASES["stsb"]))[:2]
    assert read(put(RELEASES["stsb"]) / "stsbenchmark/sts-train.csv") == [first, second]
    assert first == {
        "text1": 'A "plane is up.',
        "text2": "It flies.",
        "score": 3.8,
        "genre": "main-captions",
        "split": "train",
    }
    assert second["score"] == 0, "a licence may follow"
    train, trial = read(put(RELEASES["sick"], "sick"))
    assert train == {
        "text1": "Kids play",
        "text2": "A man stands",
        "score": 4.5,
        "label": "neutral",
        "id": "1",
        "split": "train",
    }
    assert trial["split"] == "val"
    assert read(put({"SICK_trial.txt": SEMEVAL}, "semeval")) == [trial]


BROKEN = broken_files(
    r"""
snli dev.txt
a\tb\t7
-> dev.txt:1: label: expected 0 or 1 or 2, found '7'

snli snli_1.0_dev.jsonl
{"text": "a"}
-> snli_1.0_dev.jsonl:1: expected 'label', found 'text'

mnli snli_1.0_dev.txt
TABLE
-> expected multinli_1.0_*.jsonl or multinli_1.0_*.txt, found snli_1.0_dev.txt

dnli dialogue_nli_dev.jsonl
{}
-> expected a list of pairs, found an object

stsb sts-dev.csv
main-captions\tMSRvid\t2012test\t0001\thigh\tA plane is up.\tIt flies.
-> sts-dev.csv:1: score: expected a number, found 'high'

stsb sts-dev.csv
main-captions\tMSRvid\t2012test\t0001\tnan\tA plane is up.\tIt flies.
-> score: expected a number, found 'nan'

stsb sts-dev.csv
a,b
-> expected 7 fields (genre, file, year, id, score, sentence1, sentence2), found 1

sick SICK.txt
SICK
-> SICK.txt:3: SemEval_set: expected TRAIN or TRIAL or TEST, found 'SPARE'
""",
    {"TABLE": NLI_TABLE, "SICK": SICK.replace("TRIAL", "SPARE")},
)


@pytest.mark.parametrize(("name", "files", "told"), BROKEN)
def test_another_layout_tells_what_was_expected_and_found(
    read, put, name: str, files: dict[str, Any], told: str
):
    with pytest.raises(DataError, match=re.escape(told)):
        read(put(files), name)


@pytest.mark.parametrize(
    ("name", "dropped"),
    [("snli", "1 labelled -"), ("dnli", "1 labelled neutral, 1 labelled negative")],
)
def test_entailment_becomes_pairs_and_other_labels_are_told(
    scripts: Path, put, name: str, dropped: str
):
    run = ended(scripts / "dial-pairs", "--kind", "entailment", put(RELEASES[name]), text=True)
    (pair,) = map(json.loads, run.stdout.splitlines())
    entailed = DNLI[0] if name == "dnli" else PAIR
    assert pair["context"] == [entailed["sentence1"]]
    assert pair["response"] == entailed["sentence2"]
    assert pair["kind"] == "entailment"
    assert dropped in run.stderr


def test_entailment_is_read_from_tables(scripts: Path, put):
    folder = put(
        {
            "mine.csv": 'premise,hypothesis,label\n"a, b",c,entailment\nd,e,neutral\n',
            "bad.tsv": "premise\tlabel\na\tentailment\n",
        }
    )
    run = ended(scripts / "dial-pairs", "--kind", "entailment", folder / "mine.csv", text=True)
    assert [
        (pair["context"], pair["response"]) for pair in map(json.loads, run.stdout.splitlines())
    ] == [(["a, b"], "c")]
    run = subprocess.run(
        [scripts / "dial-pairs", "--kind", "entailment", folder / "bad.tsv"],
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (
        1,
        f'dial-pairs: {folder}/bad.tsv:2: no "hypothesis": '
        "expected premise, hypothesis and label; there are premise, label\n",
    )


def test_similarity_is_scored_from_the_release(scripts: Path, put, minilm: str, tmp_path: Path):
    rows = "".join(
        f"g\tf\t2012\t{i}\t{5 - i}\tA dog barks.\t{text}\n"
        for i, text in enumerate(("A dog barks.", "A dog is barking.", "It rained in May."))
    )
    folder = put({"sts-train.csv": "", "sts-dev.csv": "", "sts-test.csv": rows})
    ended(scripts / "dial-embed", "--model", minilm, folder, "-o", tmp_path / "sts.parquet")
    run = ended(scripts / "dial-eval", "sts", "--json", tmp_path / "sts.parquet", text=True)
    scores = {row["metric"]: row["value"] for row in map(json.loads, run.stdout.splitlines())}
    assert scores["spearman"] == pytest.approx(100)


@pytest.mark.shared
def test_snli_as_it_lies_here_is_the_ready_made_set(shared: Path, read):
    rows = read(shared / "data/raw/snli", "snli")
    assert Counter(row["split"] for row in rows) == {"val": 9_842, "test": 9_824}
    with gzip.open(shared / "data/eval/snli.jsonl.gz", "rt") as lines:
        assert rows == [
            row | {"split": row["split"].replace("dev", "val")} for row in map(json.loads, lines)
        ]
