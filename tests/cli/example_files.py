"""The small files that the examples of help and README name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from pair_corpus import as_lines
from written import json_value

Records = list[dict[str, Any]]
SPLITS = ("train", "test", "val")

# what the examples read that a command makes; run in the folder, the commands on PATH
MADE_BY_COMMANDS = r"""
dial-pairs chats.jsonl -o pairs.jsonl
dial-pairs chats.jsonl -o pairs.arrow
cp pairs.jsonl heldout.jsonl
dial-pairs --kind self chats.jsonl -o utterances.jsonl
dial-freq chats.jsonl -o counts.jsonl
dial-train --hidden 64 --layers 4 -o model pairs.jsonl
dial-train --hidden 64 --layers 1 --snapshot-every 1 -o run pairs.jsonl
dial-train --hidden 64 --layers 4 --max-steps 0 -o minilm pairs.jsonl
dialtools cut --layers 3 --model minilm -o minilm-3
dialtools weigh --model minilm pairs.jsonl -o weighted
for name in bert-base-uncased dse simcse adapted tadse; do cp -r model $name; done
cp -r run other

embed() { dial-embed --model model "$@"; }
embed tickets.jsonl -o clinc.parquet
for name in clinc150 banking77 tickets; do cp clinc.parquet $name.parquet; done
dial-augment labelled.jsonl -o augmented.jsonl
embed --templates augmented.jsonl tickets.jsonl -o templates.parquet
for split in train test; do
  grep "\"$split\"" tickets.jsonl > $split.jsonl; embed $split.jsonl -o $split.parquet
done
for name in tickets new; do cp test.parquet $name.parquet; done
dialtools assign --examples train.parquet --min-cosine 0.5 --save-router router.parquet
dialtools assign --router router.parquet test.parquet -o routed.jsonl
embed pairs.jsonl -o heldout.parquet
embed --per turn chats.jsonl -o turns.parquet
embed --field history dstc2_acts.jsonl -o dstc2.parquet
embed --field history+response --tokens citod.jsonl -o ic-tod.parquet
cp ic-tod.parquet decode.parquet
embed --field context,response pairs.arrow -o v.parquet
embed --field response pairs.arrow -o responses.parquet
embed --transform to-response --save-transform to-response.safetensors pairs.arrow -o moved.parquet
for name in vectors texts; do cp v.parquet $name.parquet; done
for name in jddc sick snli triplets; do embed $name.jsonl -o $name.parquet; done

mkdir -p parts
for n in 1 2; do dial-pairs --shard $n/2 chats.jsonl -o parts/$n.arrow; done

for name in before after may june seen; do cp turns.parquet $name.parquet; done
mkdir -p before after minilm trained seeds
for name in before after minilm trained; do cp dstc2.parquet $name/; done
for name in before after minilm seeds/{dse,wmdc}-{1,2}; do
  dial-eval intent clinc.parquet -o $name.jsonl
done
"""


def write(path: Path, records: Records) -> None:
    path.write_bytes(as_lines(records))


def write_inputs(home: Path) -> None:
    """Write what the examples read and no command makes."""
    talks = dialogues()
    write(home / "chats.jsonl", talks)
    write(home / "corpus.jsonl", talks)
    (home / "chats.jsonl.zst").write_bytes(zstandard.compress(as_lines(talks)))
    write_labelled(home)
    write_responses(home, talks)
    write_two_texts(home)
    write_slotted(home)
    write_tables(home)
    write_scores(home)


def dialogues() -> Records:
    """Sixty dialogues of six turns with acts, in three splits."""

    def turn(talk: int, place: int) -> dict[str, Any]:
        speaker = ("user", "system")[place % 2]
        text = f"turn {place} of talk {talk} says so"
        return {"speaker": speaker, "text": text, "acts": ["ask" if place % 3 else "tell"]}

    return [
        {"id": str(i), "split": SPLITS[i % 3], "turns": [turn(i, j) for j in range(6)]}
        for i in range(60)
    ]


def write_labelled(home: Path) -> None:
    """Write texts with an intent, and episodes that draw from them."""
    rows = [
        {"text": f"text {i} about {label}", "label": label, "split": split}
        for i in range(14)
        for label in ("oos", "a", "b")
        for split in SPLITS
    ]
    write(home / "tickets.jsonl", rows)
    few = [f"{row['text']},{row['label']}" for row in rows[:12]]
    (home / "few.csv").write_text("\n".join(["message,intent", *few]))
    labels = [row["label"] for row in rows if row["split"] == "train"]
    first = [labels.index(label) for label in ("oos", "a", "b")]
    episodes = {shots: [{"seed": 0, "train_idx": first}] for shots in ("1", "5")}
    (home / "splits.json").write_bytes(orjson.dumps({"bank77": {"shots": episodes}}))


def write_responses(home: Path, talks: Records) -> None:
    """Write histories with the acts of their response, and some that it may contradict."""
    answered = [
        {"id": t["id"], "history": t["turns"][:-1], "response": f"yes, {n}", "split": t["split"]}
        for n, t in enumerate(talks)
    ]
    acts = [{**row, "labels": ["ask", "tell"][i % 2 :]} for i, row in enumerate(answered)]
    write(home / "dstc2_acts.jsonl", acts)
    judged = [
        {**row, "qi": int(i % 4 == 0), "hi": 0, "is_contradiction": i % 5 == 0}
        for i, row in enumerate(answered)
    ]
    for row in judged[:30]:  # a dev split in place of a test split, as CI-ToD has it
        row["split"] = "dev" if row["split"] == "test" else "train"
    write(home / "citod.jsonl", judged)


def write_two_texts(home: Path) -> None:
    """Write queries, similar texts, entailed ones and triplets."""
    query = {"query": "何时发货", "positives": [0, 1], "negatives": [2]}
    queries = [{"id": i, **query, "split": split} for split in ("dev", "test") for i in range(4)]
    write(home / "jddc.jsonl", queries)
    similar = [
        {"text1": f"a dog {i}", "text2": f"a cat {i * i}", "score": i % 5, "split": split}
        for i, split in enumerate(["train", "trial"] * 6)
    ]
    write(home / "sick.jsonl", similar)
    entailed = [
        {"text1": f"a dog {i // 2}", "text2": f"a cat {i}", "label": label, "split": "test"}
        for i, label in enumerate(["entailment", "contradiction"] * 6)
    ]
    write(home / "snli.jsonl", entailed)
    triplet = {"entailment": "an animal", "contradiction": "a cat"}
    write(home / "triplets.jsonl", [{"anchor": f"a dog {i}", **triplet} for i in range(9)])
    (home / "snli_1.0").mkdir()
    published = {"sentence1": "a dog barks", "sentence2": "an animal is loud"}
    write(home / "snli_1.0" / "snli_1.0_dev.jsonl", [{**published, "gold_label": "entailment"}])


def write_slotted(home: Path) -> None:
    """Write texts with slots, a book of values, and a folder of words and tags."""
    slotted = [
        {
            "text": f"fly to {city} {i}",
            "label": "fly",
            "split": "train",
            "slots": [{"start": 7, "end": 7 + len(city), "label": "city"}],
        }
        for i in range(20)
        for city in ("rome", "new york")
    ]
    write(home / "labelled.jsonl", slotted)
    write(home / "texts.jsonl", [{"text": "back from Rome"}])
    (home / "book.json").write_text('{"city": ["rome", "new york"]}')
    (home / "snips").mkdir()
    for name, line in {"seq.in": "fly to rome", "seq.out": "O O B-city", "label": "fly"}.items():
        (home / "snips" / name).write_text(line + "\n")


def write_tables(home: Path) -> None:
    """Write word vectors, lines, and logs as people export them."""
    (home / "answers.csv").write_text("intent,answer\nflight,flight\ncard,none\n")
    (home / "glove.txt").write_text("text 1 2\nabout 0 1\na 2 0\nb 0 3\n")
    (home / "lines.txt").write_text("one\ntwo\n")
    (home / "log.csv").write_text(
        "ticket,dialogue_id,from,message,text,sent\n"
        "1,1,agent,hello you,hello you,1\n"
        "1,1,kim,hi there,hi there,2\n"
    )
    (home / "faq.csv").write_text("title,body\nit does not start,is it plugged in?\n")
    chats = [
        {"chat": i % 2, "author": author, "text": f"row {i}", "sent": f"2024-01-01 10:{i:02}"}
        for i, author in enumerate("aabaabaab")
    ]
    pq.write_table(pa.Table.from_pylist(chats), home / "log.parquet")


def write_scores(home: Path) -> None:
    """Write scores as `intent --method logreg` makes them of BANK77, and a suite."""
    measured = json_value("""
        {"schema": "dialtools.score/1", "task": "intent", "dataset": "banking77",
         "setting": "8-shot logreg", "n": 3080, "runs": 10, "seed": 0, "value": 80.0,
         "values": [80.0, 80.0, 80.0, 80.0, 80.0, 80.0, 80.0, 80.0, 80.0, 80.0],
         "model": "model", "data": {"train": {"rows": 10003}}}
    """)
    metrics = ("accuracy", "macro-f1", "weighted-f1")
    write(home / "scores.jsonl", [{**measured, "metric": metric} for metric in metrics])
    (home / "mine.toml").write_text("""
        title = "mine"
        [[set]]
        task = "act"
        name = "DSTC2"
        file = "dstc2"
        metrics = ["micro-f1"]
    """)


def write_vectors(home: Path) -> None:
    """Write queries with candidates from a pool, all as random vectors."""
    vectors = np.random.default_rng(0).standard_normal((120, 8)).tolist()
    pool = [{"id": str(i), "embedding": vector} for i, vector in enumerate(vectors)]
    pq.write_table(pa.Table.from_pylist(pool), home / "candidates.parquet")
    candidates = [str(number) for number in range(9)]
    asked = [{**row, "candidates": candidates, "positive": "3"} for row in pool]
    pq.write_table(pa.Table.from_pylist(asked), home / "queries.parquet")
