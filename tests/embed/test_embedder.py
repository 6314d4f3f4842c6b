"""Records to batches of vectors with what is carried along; in process, with word vectors."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from least import check_least, own_hows
from safetensors import safe_open
from safetensors.numpy import save_file
from train_parts import WORDS as LETTERS
from train_parts import letters_encoder

from dialtools.chance import share
from dialtools.corpora.by_turn import turns
from dialtools.embed import compress, in_memory, model
from dialtools.embed.carry import Columns, _nested
from dialtools.embed.compress import Compression
from dialtools.embed.embedder import Counts, Embedder, Record, Shard
from dialtools.embed.fields import carried, choose_fields, vector_name
from dialtools.embed.model import Model, load_model
from dialtools.embed.options import EmbedOptions
from dialtools.embed.plan import plan
from dialtools.embed.rows import Candidates
from dialtools.embed.run import Embedding, embedding_format
from dialtools.embed.shard import Encoded, Settings, _zero, encode_turns
from dialtools.embed.transformed import Transform
from dialtools.embed.transforms import load as load_transform
from dialtools.encoder import placed as placement
from dialtools.encoder.fresh import train_tokenizer
from dialtools.encoder.modeldir import save
from dialtools.encoder.static import fresh_static
from dialtools.encoder.token_vectors import TokenVectors
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError, DataError, DialError, ModelError, OutputError
from dialtools.streams.carried import Carried
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.provenance import Inputs
from dialtools.streams.resume import Work
from dialtools.streams.tally import Tally, counted
from dialtools.streams.vector_files import read_embeddings
from dialtools.streams.vectors import embedding_batch

WORDS = {"a": [3, 0], "b": [0, 4], "c": [1, 1]}
A, B, C = (np.array(row, float) for row in WORDS.values())
AT = Where("x", 1)


@pytest.fixture
def glove(tmp_path: Path) -> str:
    lines = (f"{word} {row[0]} {row[1]}\n" for word, row in WORDS.items())
    (tmp_path / "glove.txt").write_text("".join(lines))
    return str(tmp_path / "glove.txt")


@pytest.fixture
def embedder(glove: str) -> Callable[..., Embedder]:
    def made(**options: Any) -> Embedder:
        chosen = EmbedOptions(**{"model": glove, "output": "x.parquet"} | options)
        return Embedder(load_model(chosen), chosen, Policy("skip"), lambda _: None)

    return made


def records(*rows: dict[str, Any]) -> list[Record]:
    return [(Where("x", i), row) for i, row in enumerate(rows, 1)]


def batches(made: Embedder, *rows: dict[str, Any]) -> list[dict[str, list[Any]]]:
    return [made.batch(shard)[0].to_pydict() for shard in made.shards(iter(records(*rows)))]


def test_each_field_has_its_vectors_and_the_rest_is_carried_along(embedder):
    made = embedder(shard_rows=2, tokens=True)
    rows = [
        {"id": 1, "text1": "a b", "text2": "b"},
        {"id": 2, "text1": "c", "text2": "a b"},
        {"id": 3, "text1": "c", "text2": ["x", "c"]},
    ]
    first, second = batches(made, *rows)
    assert list(first) == [
        *("id", "text1", "text2", "text1_tokens", "text2_tokens"),
        *("text1_embedding", "text2_embedding"),
    ]
    assert first["text1_embedding"] == [((A + B) / 2).tolist(), C.tolist()]
    assert first["text2_embedding"] == [B.tolist(), ((A + B) / 2).tolist()]
    assert (first["text1_tokens"], first["text2_tokens"]) == ([2, 1], [1, 2])
    assert (second["id"], second["text2_embedding"]) == ([3], [C.tolist()])
    # within a shard a text is encoded once: a b, b, c; then c, x c
    assert made.counts == Counts(rows=3, distinct=3 + 2, cut=0)
    assert made.dimensions() == 2


def test_values_that_python_has_none_for_are_carried_as_they_came(embedder):
    time = pa.scalar(1_700_000_000_123_456_789, pa.timestamp("ns"))
    made = embedder()
    (shard,) = made.shards(iter(records({"text": "a", "at": Carried(time)}, {"text": "b"})))
    assert made.batch(shard)[0].column("at").equals(pa.array([time, None], time.type))


def test_who_speaks_makes_no_text_another_where_no_token_tells(embedder):
    made = embedder(field=("history",))
    rows = [{"history": [{"speaker": who, "text": "a"}]} for who in ("user", "system")]
    (batch,) = batches(made, *rows)
    assert batch["embedding"] == [A.tolist()] * 2 and made.counts.distinct == 1
    assert plan(made, made.shards(records(*rows)), 2)["texts"].startswith("1 to encode")


def test_bad_records_go_to_the_policy_and_a_sample_is_drawn_by_place(embedder):
    made = embedder(limit=3)
    rows = [{"text": "a"}, {"text": 3}, {"text": "b"}, {"text": "c"}, {"text": "a"}]
    (batch,) = batches(made, *rows)
    assert batch["text"] == ["a", "b", "c"] and made.policy.skipped == 1
    many = [{"text": "a", "n": i} for i in range(60)]
    for seed in (0, 1):
        shares = [share(str(i), seed=seed) for i in range(60)]
        for size in (0.3, shares[7]):  # the eighth lies on the border, outside
            (batch,) = batches(embedder(sample=size, seed=seed), *many)
            assert batch["n"] == [i for i in range(60) if shares[i] < size]


def test_nested_fields_are_json_text_and_a_column_is_of_one_type(embedder):
    made = embedder(shard_rows=1)
    first, second = batches(
        made,
        {"text": "a", "acts": ["x"], "n": 1, "slots": [{"start": 0}], "of": [1, 2.5]},
        {"text": "b", "acts": ["y", "z"], "n": 2, "slots": [], "of": [3], "new": 1},
    )
    assert (first["acts"], first["of"], first["slots"]) == ([["x"]], [[1, 2.5]], ['[{"start":0}]'])
    assert (second["slots"], second["n"], second["new"]) == (["[]"], [2], [1])
    with pytest.raises(DataError, match="x:2: --keep: 'n' is not of one type: a string") as told:
        batches(embedder(shard_rows=1), {"text": "a", "n": 1}, {"text": "b", "n": "x"})
    assert (told.value.hint or "").startswith("--keep names the fields to carry")
    mixed = [{"text": "a"}, {"text": "b", "n": 1}, {"text": "c", "n": 2.5}, {"text": "d", "n": "x"}]
    with pytest.raises(DataError, match=r"x:4: .* a string here, the first is 1$"):
        batches(embedder(), *mixed)
    lists = [{"text": "a", "n": n} for n in ([], ["x"], [1])]
    with pytest.raises(DataError, match=r"x:3: .* a list here, the first is a list"):
        batches(embedder(), *lists)


def test_a_later_shard_may_bring_fields_and_wider_types_but_not_to_a_stream(embedder):
    rows = [
        {"text": "a", "n": 5, "note": None, "half": 0.5},
        {"text": "b", "n": 4.5, "note": "x", "half": 1, "new": [1]},
        {"text": "c", "n": 4},
    ]
    shards = batches(embedder(shard_rows=1), *rows)
    assert [shard["n"] for shard in shards] == [[5], [4.5], [4.0]]
    assert [shard.get("new") for shard in shards] == [None, [[1]], [None]]
    assert [(shard["note"], shard["half"]) for shard in shards[1:]] == [
        (["x"], [1.0]),
        ([None],) * 2,
    ]
    for name, told in (
        ("n", "4.5 here, those before are int64"),
        ("note", "a string here, .* null"),
    ):
        settled = embedder(shard_rows=1, keep=(name,))
        settled.columns.settled = True
        with pytest.raises(DataError, match=f"x:2: .*{told}"):
            batches(settled, *rows)
    settled = embedder(shard_rows=1)
    settled.columns.settled = True
    first, second = batches(settled, {"text": "a", "n": 1}, {"text": "b", "n": 2.0, "new": 1})
    assert (first["n"], second["n"]) == ([1], [2]) and "new" not in second
    assert settled.columns.note() == "1 field left out: new, not in the first rows"


@pytest.mark.parametrize("to", ["parquet", "arrow", "jsonl", "npy"])
def test_a_file_holds_what_no_shard_before_had_a_place_for(embedding, tmp_path, to):
    rows = [{"text": "a", "n": 5}, {"text": "b", "n": 4.5}, {"text": "c", "new": "x"}]
    path = tmp_path / f"o.{to}"
    run = embedding(*rows, shard_rows=1, output=str(path))
    with claimed(run) as work:
        assert list(run.shards(work)) == [1, 2, 3]
        assert run.written == (to in ("jsonl", "npy"))  # a table was begun under the first schema
        run.write(work)
    whole = read_embeddings([str(path)])
    assert {name: list(values) for name, values in whole.columns.items()} == {
        "text": ["a", "b", "c"],
        "n": [5, 4.5, None],
        "new": [None, None, "x"],
    }


def test_each_part_of_a_table_has_the_columns_and_types_of_all_rows(embedding, tmp_path: Path):
    rows = [{"text": "a", "n": 5}, {"text": "b"}, {"text": "c", "n": 4.5, "new": "x"}]
    for part in ("1/2", "2/2"):
        output = str(tmp_path / f"{part[0]}.parquet")
        run = embedding(*rows, shard_rows=1, shard=part, output=output)
        with claimed(run) as work:
            assert set(run.shards(work)) <= {1, 2}
            run.write(work)
        schema = pq.read_schema(output)
        assert schema.names == ["text", "n", "new", "embedding"]
        assert schema.types[:3] == [pa.string(), pa.float64(), pa.string()]


def test_whole_numbers_keep_64_bits_with_a_sign_or_without(embedder):
    hashes = [{"text": "a", "n": 2**64 - 1}, {"text": "b", "n": 1}]
    for order, size in ((hashes, 2), (hashes[::-1], 2), (hashes, 1)):
        made = [n for batch in batches(embedder(shard_rows=size), *order) for n in batch["n"]]
        assert made == [row["n"] for row in order]
    with pytest.raises(DataError, match=f"x:2: .* {2**64 - 1} here, those before are int64"):
        batches(embedder(shard_rows=1), *hashes[::-1])
    with pytest.raises(DataError, match=f"x:2: .* -1 here, the first is {2**64 - 1}"):
        batches(embedder(), hashes[0], {"text": "b", "n": -1})
    with pytest.raises(DataError, match=f"x:2: .* {2**53 + 1} here, those before are double"):
        batches(embedder(shard_rows=1), {"text": "a", "n": 0.5}, {"text": "b", "n": 2**53 + 1})


def test_texts_that_were_cut_are_told_refused_or_neither(embedder):
    places, rows = zip(
        *records({"text1": "a", "text2": "b"}, {"text1": "c", "text2": "a"}), strict=True
    )
    shard = Shard(places, rows, [[(("a",), None)] * 2] * 2)
    cut = np.array([False, False, False, True])  # field by field
    for says, notes in (("warn", ["3 of 20 texts cut at 7 tokens"]), ("ignore", []), ("error", [])):
        made = embedder(on_truncate=says, field=("text1", "text2"))
        made.model = replace(made.model, settings=replace(made.model.settings, max_length=7))
        made.counts, made.fields = Counts(rows=10, distinct=5, cut=3), ("text1", "text2")
        assert list(made.notes()) == notes
        encoded = Encoded(np.zeros((4, 2)), np.ones(4), cut, none := np.zeros(4, bool), none, 3)
        if says == "error":
            with pytest.raises(DataError, match="x:2: longer than 7 tokens"):
                made._refuse_cut(encoded, shard)
        else:
            made._refuse_cut(encoded, shard)
        made.tokenised = lambda shard, encoded=encoded: lambda advance: encoded
        with pytest.raises(DataError) if says == "error" else nullcontext():
            made.batch(shard)
        made.counts = Counts(rows=10, distinct=5, cut=3)
        encoded.cut = np.zeros(4, bool)
        made._refuse_cut(encoded, shard)
        made.counts.cut = 0
        assert list(made.notes()) == []


def test_texts_without_a_known_word_are_counted_and_told(embedder):
    made = embedder()
    vectors = np.array([[0, 0], [0, 1], [1, 0], [0, 0]], np.float32)
    assert _zero(vectors).tolist() == [True, False, False, True]
    encoded = Encoded(vectors, np.ones(4), none := np.zeros(4, bool), _zero(vectors), none, 4)
    made.tokenised = lambda shard: lambda advance: encoded
    (shard,) = made.shards(records(*({"text": text} for text in "abcd")))
    assert made.batch(shard)[1].unknown == 2
    assert list(made.notes()) == ["2 of 4 texts without a known word: zero vectors"]
    centred = replace(made.model.settings, center=np.ones(2, np.float32))  # taken off zero, too
    made.model = replace(made.model, settings=centred)
    assert list(made.notes()) == ["2 of 4 texts without a known word: alike vectors"]


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, np.ndarray]]:
    """A folder of averages of letters, which embeds without torch, and the vector of each."""
    encoder = fresh_static(train_tokenizer(LETTERS, vocab_size=60), dimension=3, seed=0)
    folder = tmp_path_factory.mktemp("letters")
    save(encoder, folder, provenance={}, card="")
    table = encoder.backbone.embedding.weight.detach().numpy()
    token = encoder.tokenizer.convert_tokens_to_ids
    return str(folder), {letter: table[token(letter)] for letter in LETTERS}


@pytest.mark.parametrize("side", ["auto", "left", "right"])
def test_what_is_too_long_keeps_the_side_that_is_asked_for_and_tells_the_first_record(
    letters: tuple[str, dict[str, np.ndarray]], side: str
):
    folder, vector = letters
    rows = [
        *({"said": "a b", "history": ["c", "d"]}, {"said": "b a", "history": ["e"]}),
        {"said": "a b c d e", "history": ["f g h", "i j"]},
        {"said": "a b c d", "history": ["f g h", "i j", "k"]},
    ]
    chosen = EmbedOptions(
        model=folder, output="x", field=("said", "history"), max_length=4, truncate_side=side
    )
    made = Embedder(load_model(chosen), chosen, Policy(), lambda _: None)
    (shard,) = made.shards(iter(records(*rows)))
    (batch, counts) = made.batch(shard)
    assert isinstance(made.model.encoder, TokenVectors) and counts == Counts(4, 8, 3)
    for field, newest in (("said", side == "left"), ("history", side != "right")):
        whole = [" ".join([*row[field]] if field == "history" else [row[field]]) for row in rows]
        kept = [text.split()[-4:] if newest else text.split()[:4] for text in whole]
        expected = [np.mean([vector[letter] for letter in text], 0) for text in kept]
        np.testing.assert_allclose(batch[f"{field}_embedding"].to_pylist(), expected, rtol=1e-5)
    refusing = replace(chosen, on_truncate="error", shard_rows=3)
    made = Embedder(load_model(refusing), refusing, Policy(), lambda _: None)
    with pytest.raises(DataError, match="x:3: longer than 4 tokens"):
        made.batch(next(made.shards(iter(records(*rows)))))


def test_blank_texts_are_counted_and_told(embedder):
    made = embedder(field=("said", "history"))
    rows = [
        {"said": " ", "history": ["", "\n"]},
        {"said": ".", "history": ["", "a"]},
        {"said": "", "history": ["a"]},
    ]
    (shard,) = made.shards(records(*rows))
    assert made.batch(shard)[1].blank == made.counts.blank == 3
    assert "3 of 6 texts blank: embedded as '.'" in made.notes()
    again = embedder(field=("said", "history"))
    again.counts.add(made.counts)
    assert again.counts.blank == 3


def test_shards_of_an_earlier_run_are_counted_and_give_the_schema(embedder):
    made, earlier = embedder(), embedder()
    (shard,) = earlier.shards(iter(records({"text": "a", "n": 1})))
    batch, counts = earlier.batch(shard)
    assert counts == Counts(rows=1, distinct=1, cut=0)
    for had in (Counts(5, 4, 3), counts):
        made.columns.see(shard.rows)
        made.take_over(shard, batch.schema, had)
    assert made.counts == Counts(rows=6, distinct=5, cut=3)
    assert made.columns.kinds == {"text": pa.string(), "n": pa.int64()}
    with pytest.raises(DataError, match="not of one type"):
        batches(made, {"text": "a", "n": "x"})


def test_vectors_that_a_transform_or_16_bits_take_beyond_all_numbers_are_refused(
    glove: str, tmp_path: Path
):
    file = str(tmp_path / "t.safetensors")
    space = load_model(EmbedOptions(model=glove, output="x.parquet")).space()
    made = EmbedOptions(model=glove, output="x", transform="center", save_transform=file)
    batch = embedding_batch({}, {"embedding": np.array([[1.0, 2], [3, 6]])})
    fitted = Transform(made, space, overwrite=False)
    fitted.fit([batch])
    fitted.save()
    with safe_open(file, "numpy") as held:
        facts = held.metadata()
    saved = EmbedOptions(model=glove, output="x", transform=file)
    for number in (np.nan, 1e300):
        save_file({"mean": np.zeros(2), "matrix": np.full((2, 2), number)}, file, metadata=facts)
        with pytest.raises(DataError, match="makes vectors that are not finite"):
            Transform(saved, space, overwrite=False)(batch)
    with pytest.raises(DataError, match="numbers beyond float16"):
        embedding_batch({}, {"embedding": np.array([[1e5]])}, float16=True)


def test_a_transform_is_fitted_applied_saved_and_refused_to_other_vectors(
    glove: str, tmp_path: Path
):
    def chosen(**options: Any) -> EmbedOptions:
        return EmbedOptions(model=glove, output="x.parquet", **options)

    file = str(tmp_path / "t.safetensors")
    words = load_model(chosen())
    space = words.space()
    assert "head" not in space and replace(words, head="3").space() == space | {"head": "3"}
    made = Transform(chosen(transform="center", save_transform=file), space, overwrite=False)
    batch = embedding_batch({"text": ["a", "b"]}, {"embedding": np.array([[1.0, 2], [3, 6]])})
    assert made.waits and made(batch) is batch
    made.fit([batch])
    made.save()
    found = {"text": ["a", "b"], "embedding": [[-1, -2], [1, 2]]}
    assert not made.waits and made(batch).to_pydict() == found
    again = Transform(chosen(transform=file), space, overwrite=False)
    assert not again.waits and again(batch).to_pydict() == found
    for other, says in (
        ({"normalize": True}, "any length, unlike these of length 1"),
        ({"pooling": "cls"}, r"another pooling \(mean, not cls\)"),
        ({"weights": "0"}, "another model"),
        ({"head": "3"}, r"another head \(None, not 3\)"),
    ):
        with pytest.raises(ConfigError, match=says):
            Transform(chosen(transform=file), space | other, overwrite=False)
    one, other = np.array([[1.0, 2]]), np.array([[3.0, 6]])
    fields = embedding_batch({}, {"a_embedding": one, "b_embedding": other})
    assert again(fields).to_pydict() == {"a_embedding": [[-1, -2]], "b_embedding": [[1, 2]]}
    for inputs, told in (((), "-"), (("x", "y"), "x, y")):
        options = chosen(transform="center", save_transform=file, inputs=inputs)
        two = Transform(options, space, overwrite=True)
        two.fit([fields])
        two.save()
        fitted, facts = load_transform(file, space)
        assert (fitted.mean.tolist(), facts["fitted_on"]) == ([2, 4], told)
    scaled = Transform(chosen(transform="center"), space | {"normalize": True}, overwrite=False)
    scaled.fit([batch])
    assert np.linalg.norm(scaled(batch).to_pydict()["embedding"], axis=1) == pytest.approx(1)


def test_a_flow_is_drawn_by_the_seed(glove: str):
    vectors = np.random.default_rng(0).normal(size=(64, 2))
    space = load_model(EmbedOptions(model=glove, output="x.parquet")).space()

    def moved(seed: int) -> list[list[float]]:
        options = EmbedOptions(model=glove, output="x.parquet", transform="flow", seed=seed)
        made = Transform(options, space, overwrite=False)
        made.fit([embedding_batch({}, {"embedding": vectors})])
        return made(embedding_batch({}, {"embedding": vectors})).to_pydict()["embedding"]

    assert moved(1) == moved(1) != moved(2)


def test_what_is_carried_is_as_named():
    rows = [{"b": 1, "a": 2}, {"c": 3, "a": 4, "old_embedding": [1]}]
    everything = ["b", "a", "c", "old_embedding"]
    assert carried(rows, ["all"]) == everything and carried(rows, ["none"]) == []
    assert carried(rows, ["c", "b"]) == ["c", "b"]
    with pytest.raises(ConfigError, match="no field 'd'; there are b, a, c, old_embedding"):
        carried(rows, ["d"])


def test_columns_of_an_earlier_run_are_left_out_and_named():
    columns = Columns(["all"], made=frozenset({"tokens"}))
    columns.see([{"text": "a", "tokens": 1, "x_embedding": [1], "embedding": [1], "id": 7}])
    assert columns.names == ["text", "id"]
    assert columns.note() == (
        "3 fields left out: tokens, x_embedding, embedding, of an earlier run"
    )


def test_vectors_of_an_earlier_run_are_not_kept_as_if_they_were_this_ones(embedder):
    row = {"text": "a", "old_embedding": [1, 2], "tokens": 1}
    for keep, told in (
        (("old_embedding",), "'old_embedding': columns that end in embedding hold this run's"),
        (("text", "tokens"), "tokens is a column that this run makes"),
    ):
        with pytest.raises(ConfigError, match=told):
            next(embedder(keep=keep, tokens=True).shards(iter(records(row))))


def test_the_fields_are_those_named_or_the_first_that_are_offered():
    pair = {"response": "r", "context": ["c"], "history": [], "query": "q"}
    assert choose_fields((), pair) == ("context", "response")
    assert choose_fields((), pair | {"text": "t"}) == ("text",)
    assert choose_fields((), {"intent": "i", "utterance": "u"}) == ("utterance",)
    assert choose_fields((), {"hypothesis": "h", "premise": "p"}) == ("premise", "hypothesis")
    assert choose_fields(("query+response", "context"), pair) == ("query+response", "context")
    assert vector_name("a+b", ("a+b",)) == "embedding"
    assert vector_name("a", ("a", "b")) == "a_embedding"
    for named, says in (((), "no field text"), (("context+txt",), "no field 'txt'")):
        with pytest.raises(ConfigError, match=says):
            choose_fields(named, {"context": "c", "response+": 1})
    for first, hint in (
        ({"turns": []}, "dial-pairs --kind utterance"),
        ({"id": 1, "chat": []}, "dial-pairs --kind utterance"),
        ({"Message Body": "b"}, "by its name: --field 'Message Body'"),
        ({"b": "b"}, "name one with --field"),
    ):
        with pytest.raises(ConfigError) as told:
            choose_fields((), first)
        assert told.value.hint is not None and told.value.hint.startswith(hint)


def test_a_row_a_turn_has_its_own_facts_and_those_of_its_dialogue():
    talk = {"id": 7, "split": "train", "turns": [{"text": "a", "speaker": "u", "acts": [1]}, "b"]}
    tally = Tally()
    first, second = turns(AT, talk, tally)
    history = [{"speaker": "u", "text": "a"}, {"speaker": None, "text": "b"}]
    shared = {"split": "train", "dialogue_id": "7"}
    assert first == {**shared, "turn": 0, **history[0], "acts": [1], "history": history[:1]}
    assert second == {**shared, "turn": 1, **history[1], "history": history}
    (only,) = turns(AT, {"turns": [{"text": " ", "acts": [1]}, "a"]}, tally)
    assert only["dialogue_id"] == "x:1" and only["text"] == "a" and "acts" not in only
    # beside a history, response and speaker are the last turn, not facts of the dialogue
    rows = list(turns(AT, {"history": ["a"], "response": "r", "speaker": "s", "id": "d"}, tally))
    assert [(r["text"], r["speaker"], r["dialogue_id"]) for r in rows] == [
        ("a", None, "d"),
        ("r", "s", "d"),
    ]
    assert all("response" not in row for row in rows)
    assert tally.dropped == {"turns without text": 1}
    # a chat with a language model has turns as dial-pairs finds them
    said = [("system", "be kind"), ("user", ["hi", {"text": "there"}]), ("assistant", "hello")]
    chat = {"messages": [{"role": who, "content": text} for who, text in said]}
    rows = list(turns(AT, chat, tally))
    assert [(r["text"], r["speaker"]) for r in rows] == [("hi there", "user"), ("hello", "system")]
    assert tally.dropped == {"turns without text": 1, "instructions": 1}


def test_a_row_a_candidate_is_each_text_once_in_all_records():
    made = Candidates()
    rows = [
        {"candidates": ["a", "b", "a"], "response": "c"},
        {"candidates": ["b"], "positive": "d", "response": "e"},
        {"candidates": ["f"], "response": ["g"]},
    ]
    assert [[r["text"] for r in made(AT, row)] for row in rows] == [list("abc"), ["d"], ["f"]]
    for bad in ({}, {"candidates": "a"}, {"candidates": ["a", 1]}):
        with pytest.raises(ValueError, match="candidates: expected a list of texts"):
            list(made(AT, bad))


def test_vectors_are_rounded_scaled_and_finite():
    words = WordVectors({"a": 0, "z": 1}, np.array([[3.0001, 4], [0, 0]], np.float32))
    items = [(("a",), None), (("z", "a"), None), (("z",), None), (("a",), None)]

    def encoded(**changes: Any):
        plain = {"max_length": 9, "normalize": False, "float16_round": False}
        settings = Settings(**plain | {"batch_tokens": 1, "precision": "float32"} | changes)
        return encode_turns(words, items, settings, told.append)

    told: list[int] = []
    assert encoded().vectors[0].tolist() == words.matrix[0].tolist()
    assert told == [3] and encoded().distinct == 3 and encoded().tokens.tolist() == [1, 2, 1, 1]
    assert not encoded().cut.any()
    assert encoded(float16_round=True).vectors[[0, 3]].tolist() == [[3, 4]] * 2
    unit = encoded(normalize=True).vectors
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1, 1, 0, 1], rtol=1e-6)
    words.matrix[0, 0] = 1e6
    assert encoded().vectors[0, 0] == 1e6
    with pytest.raises(ModelError, match="not finite"):
        encoded(float16_round=True)


def test_vectors_go_through_a_head_before_they_are_cut_and_scaled():
    encoder, head = letters_encoder(), torch.nn.Linear(64, 3, bias=False).requires_grad_(False)
    items = [(("a",), None), (("b", "c"), None), (("a",), None)]
    plain = Settings(9, False, 64, "float32", False)
    whole = encode_turns(encoder, items, plain, lambda _: None)
    expected = head(torch.from_numpy(whole.vectors)).numpy()[:, :2]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    of_arrays = lambda vectors_ND: head(torch.from_numpy(vectors_ND)).numpy()  # noqa: E731
    settings = replace(plain, head=of_arrays, dimensions=2, normalize=True)
    found = encode_turns(encoder, items, settings, lambda _: None)
    np.testing.assert_allclose(found.vectors, expected, rtol=1e-5)
    assert model.Model(encoder, settings, "utterance").dimension == 3
    assert model.Model(encoder, plain).dimension == 64
    assert (found.distinct, found.tokens.tolist()) == (2, whole.tokens.tolist())


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("share", [None, 0.25])
def test_a_text_is_drawn_towards_its_template(
    glove: str, tmp_path: Path, own: bool, share: float | None
):
    """TaDSE eq. 5: lambda t' + (1 - lambda) u of unit vectors."""
    (tmp_path / "t.jsonl").write_text('{"template":"b"}\n{"x":1}\n{"template":"a"}\n' * 2)
    chosen = {"own_templates": True} if own else {"templates": str(tmp_path / "t.jsonl")}
    options = EmbedOptions(model=glove, output="x.parquet", compress=share, **chosen)
    model = load_model(options)
    made = Embedder(model, options, Policy(), lambda _: None)
    (shard,) = made.shards(
        iter(records({"text": "a a b", "template": "c"}, {"text": "b", "template": "a"}))
    )
    compression = Compression(options, model.encoder, model.settings)
    found = compression(made.batch(shard)[0]).to_pydict()
    texts = [v / np.linalg.norm(v) for v in ((2 * A + B) / 3, B)]
    near = [v / np.linalg.norm(v) for v in ((C, A) if own else (A, B))]
    if share is None:
        np.testing.assert_allclose(found["text_embedding"], texts, rtol=1e-6)
        np.testing.assert_allclose(found["template_embedding"], near, rtol=1e-6)
    else:
        mixed = [0.25 * t + 0.75 * u for t, u in zip(near, texts, strict=True)]
        np.testing.assert_allclose(found["embedding"], mixed, rtol=1e-6)
    vectors = ("embedding",) if share else ("text_embedding", "template_embedding")
    assert set(found) == {"text", "template", *vectors, *(() if own else ("nearest_template",))}
    assert found.get("nearest_template") == (None if own else ["a", "b"])
    assert compression.note() == (
        "with the templates of the records themselves" if own else "with the nearest of 2 templates"
    )
    options.dtype = "float16"  # of what is written alone
    before = made.batch(shard)[0]
    for batch, kind in ((before, pa.float32()), (compression(before), pa.float16())):
        kinds = {pair.type.value_type for pair in batch.schema if pair.name.endswith("embedding")}
        assert kinds == {kind}


@pytest.mark.parametrize("align", [None, True, False])
def test_templates_alone_go_through_the_alignment_layer_and_whole(
    glove: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, align: bool | None
):
    layer = torch.nn.Linear(2, 2)
    layer.weight.data, layer.bias.data = torch.tensor([[0.0, 1], [1, 0]]), torch.tensor([0.0, 1])
    monkeypatch.setattr(compress, "load_alignment", lambda directory, dimension: layer)
    (tmp_path / "t.jsonl").write_text('{"template":"b"}\n')
    for name, dimensions in ((glove, None), (glove, 1), (str(tmp_path), None), (str(tmp_path), 1)):
        options = EmbedOptions(
            model=glove,
            output="x.parquet",
            templates=str(tmp_path / "t.jsonl"),
            align=align if name != glove else None,
            dimensions=dimensions,
        )
        model = load_model(options)
        options.model = name  # a file of word vectors has no layer, a folder may
        aligned = name != glove and align is not False
        if aligned and dimensions:
            with pytest.raises(ConfigError, match="takes whole vectors"):
                Compression(options, model.encoder, model.settings)
            continue
        made = Compression(options, model.encoder, model.settings)
        batch = embedding_batch({}, {"embedding": np.array([[3.0, 4]])[:, :dimensions]})
        found = made(batch).to_pydict()
        b = [4 / 17**0.5, 1 / 17**0.5] if aligned else [0, 1] if dimensions is None else [0]
        assert found["template_embedding"] == [pytest.approx(b)]
        text = [0.6, 0.8] if dimensions is None else [1]
        assert found["text_embedding"] == [pytest.approx(text)]


def test_templates_that_are_none_and_a_layer_that_is_not_there_are_said(glove: str, tmp_path: Path):
    (tmp_path / "t.jsonl").write_text('{"text":"b"}\n')
    for more, error, says in (
        ({}, DataError, 'no record has a "template"'),
        ({"align": True}, ConfigError, "no alignment layer"),
    ):
        options = EmbedOptions(
            model=glove, output="x.parquet", templates=str(tmp_path / "t.jsonl"), **more
        )
        model = load_model(options)
        with pytest.raises(error, match=says):
            Compression(options, model.encoder, model.settings)


def test_the_plan_counts_what_would_be_done(embedder):
    made = embedder(shard_rows=2, dtype="float16")
    rows = [{"text1": "a", "text2": t, "n": 1} for t in ("a", "b", "b")]
    assert plan(made, made.shards(records(*rows)), made.dimensions()) == {
        "rows": "3, in shards of 2: 2",
        "texts": "4 to encode (distinct within a shard), 0 tokens, none is cut",
        "vectors": "text1_embedding, text2_embedding: 2 dimensions, float16, 0.0 MiB",
        "carried": "text1, text2, n",
    }


def test_the_plan_tells_the_size_of_all_vectors(embedder):
    with pytest.raises(ConfigError, match="--dimensions 3: vectors have 2"):
        embedder(dimensions=3, transform="whiten")  # which makes no more
    for dimensions, written in ((1, 1), (2, 2), (None, 2)):
        made = embedder(dimensions=dimensions, transform="whiten")
        shards = made.shards(records(*[{"text1": "a", "text2": "b"}] * 32_768))
        lines = plan(made, shards, made.dimensions())
        told = f"{counted(written, 'dimension')}, float32, {written / 4:.1f} MiB"
        assert lines["vectors"] == f"text1_embedding, text2_embedding: {told}"


def test_the_plan_counts_tokens_and_cuts_of_an_encoder(embedder, monkeypatch: pytest.MonkeyPatch):
    def sequences(encoder: Any, texts: list[Any], longest: int) -> tuple[Any, None, np.ndarray]:
        asked.append((longest, [words for (words,), _ in texts]))
        ids = [1 for (words,), _ in texts for _ in words]
        return (ids, None), None, np.array([True, False, True])

    monkeypatch.setattr(WordVectors, "max_length", 9)
    asked: list[Any] = []
    made = embedder(
        shard_rows=2000,
        dtype="float32",
        dimensions=1,
        transform="whiten",
        keep=("none",),
    )
    monkeypatch.setattr("dialtools.embed.plan.WordVectors", TokenVectors)  # others have tokens
    monkeypatch.setattr("dialtools.embed.plan.flat_sequences", sequences)
    advanced: list[int] = []
    made.advance = advanced.append
    rows = [{"text": "ab"}, {"text": "c"}, {"text": "ab"}, {"text": "defg"}] * 300
    lines = plan(made, made.shards(records(*rows)), made.dimensions())
    assert lines["rows"] == "1,200, in shards of 2,000: 1"
    assert lines["texts"] == "3 to encode (distinct within a shard), 7 tokens, 2 texts cut at 9"
    assert lines["vectors"] == "embedding: 1 dimension, float32, 0.0 MiB"
    assert lines["carried"] == "nothing" and advanced == [3]
    assert asked == [(9, ["ab", "c", "defg"])]


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"output": "-"}, "arrow"), ({"output": "x"}, "parquet"), ({"output": "x.npy"}, "npy")],
)
def test_the_format_is_that_of_the_suffix_else_parquet_and_arrow_on_stdout(
    glove: str, options: dict[str, str], kind: str
):
    assert embedding_format(EmbedOptions(model=glove, **options)) == kind


def test_a_run_streams_its_shards_with_what_made_them(glove: str, tmp_path: Path):
    rows = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = str(tmp_path / "o.arrow")
    inputs = (str(tmp_path / "in.jsonl"),)
    options = EmbedOptions(model=glove, inputs=inputs, output=output, shard_rows=2, normalize=True)
    told: list[int] = []
    run = Embedding(options, load_model(options), Policy(), told.append)
    run.stream({"command": "dial-embed"})
    found = read_embeddings([output])
    np.testing.assert_allclose(found.matrix, [A / 3, B / 4, C / 2**0.5], rtol=1e-6)
    made = orjson.loads(found.metadata["dialtools"])
    assert (made["command"], made["normalize"], made["pooling"]) == ("dial-embed", True, "mean")
    assert list(run.closing_notes()) == ["3 rows, 3 texts encoded, 2 dimensions", "", "", ""]
    assert sum(told) == 3


@pytest.fixture
def embedding(glove: str, tmp_path: Path) -> Callable[..., Embedding]:
    """A run over a, b, c, two rows a shard; `told` of it is each count that progress is told."""

    def made(*rows: str | dict[str, Any], **options: Any) -> Embedding:
        rows = [{"text": row} if isinstance(row, str) else row for row in rows or "abc"]
        (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        inputs = (str(tmp_path / "in.jsonl"),)
        output = str(tmp_path / "o.parquet")
        settled = {"model": glove, "inputs": inputs, "output": output, "shard_rows": 2} | options
        chosen = EmbedOptions(**settled)
        told: list[int] = []
        run = Embedding(chosen, load_model(chosen), Policy(), told.append)
        run.told = told
        return run

    return made


def claimed(run: Embedding, **how: bool) -> Work:
    job = run.job("dial-embed", Inputs(run.options.inputs))
    return Work(run.options.output, job, **{"resume": False, "overwrite": False} | how)


def broken_off(run: Embedding, after: int = 1) -> None:
    with pytest.raises(KeyboardInterrupt), claimed(run) as work:
        for count in run.shards(work):
            if count == after:
                raise KeyboardInterrupt


def test_who_reads_lines_gets_small_shards_first_a_file_and_a_part_whole_ones(embedding):
    rows = ["a"] * 1000
    run = embedding(*rows, shard_rows=400, output="-")
    assert [len(shard) for shard in run.own.shards(soon=True)] == [256, 400, 344]
    assert [len(shard) for shard in run.own.shards()] == [400, 400, 200]
    part = embedding(*rows, shard_rows=400, output="-", shard="1/2")
    assert {len(shard) for shard in part.own.shards(soon=True)} == {400}


def test_the_types_of_a_part_are_those_of_the_first_shard_of_all(embedding, tmp_path: Path):
    rows = [{"text": "a", "n": n} for n in (1, 2, None, None, 3, None, None, 4)]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = []
    for part in (None, "1/4", "2/4", "3/4", "4/4"):
        run = embedding(inputs=(str(tmp_path / "n.jsonl"),), output="-", shard=part)
        found = [run.embedder.batch(shard)[0] for shard in run.own.shards()]
        assert {batch.schema.field("n").type for batch in found} == {pa.int64()}, part
        told += [n for batch in found for n in batch["n"].to_pylist()]
    assert told == [row["n"] for row in rows] * 2


def test_a_bad_record_is_told_by_one_part_alone(embedding, tmp_path: Path):
    rows = [{"text": "a"}, {"text": 1}] * 4 + [{"text": 2}]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = []
    for part in ("1/2", "2/2"):
        run = embedding(inputs=(str(tmp_path / "bad.jsonl"),), output="-", shard=part)
        run.own.elsewhere.policy = policy = Collecting()
        assert [len(shard) for shard in run.own.shards()] == [2]
        told += [bad.where.line for bad in policy.rejected]
    assert told == [2, 4, 6, 8, 9]


def test_vectors_in_parquet_are_stored_as_floats_are(embedding):
    run = embedding("a", "b")
    run.stream({})
    column = pq.ParquetFile(run.options.output).metadata.row_group(0).column(1)
    assert column.path_in_schema.startswith("embedding") and not column.has_dictionary_page
    assert "BYTE_STREAM_SPLIT" in column.encodings


@pytest.mark.parametrize("to", ["parquet", "arrow", "jsonl"])
def test_vectors_of_two_fields_are_read_back_by_their_names(embedding, tmp_path: Path, to: str):
    (tmp_path / "fields.jsonl").write_text('{"x":"a","y":"b"}\n{"x":"c","y":"a"}\n')
    inputs, output = (str(tmp_path / "fields.jsonl"),), str(tmp_path / f"two.{to}")
    embedding(inputs=inputs, output=output, field=("x", "y")).stream({})
    found = read_embeddings([output])
    assert {name: part.tolist() for name, part in found.vectors.items()} == {
        "x_embedding": [A.tolist(), C.tolist()],
        "y_embedding": [B.tolist(), A.tolist()],
    }
    assert found.columns == {"x": ["a", "c"], "y": ["b", "a"]}


def test_a_line_of_a_pipe_is_answered_before_the_next_one_comes(embedding, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b'{"text": "a"}\n')
    too_late = threading.Timer(10, os.close, [writer])
    too_late.start()
    run = embedding(inputs=(str(pipe),), output="-", shard_rows=1)
    shard = next(run.own.shards(soon=True))
    assert shard.rows == ({"text": "a"},) and too_late.is_alive()
    too_late.cancel()
    os.close(writer)


def test_a_run_goes_on_after_the_shards_that_are_finished(embedding, tmp_path: Path):
    broken_off(embedding())
    assert (tmp_path / "o.parquet.partial/part-000001.arrow").exists()
    run = embedding()
    with claimed(run, resume=True) as work:
        assert list(run.shards(work)) == [1, 2]
        assert run.told == [1], "of the second shard alone"
        names = sorted(path.name for path in work.folder.glob("part-*"))
        assert names == ["part-000001.arrow", "part-000002.arrow"]
        assert work.pieces["part-000002.arrow"]["counts"] == asdict(Counts(1, 1))
        run.write(work)
    assert run.embedder.counts == Counts(rows=3, distinct=3, cut=0)
    found = read_embeddings([run.options.output])
    assert found.matrix.tolist() == [A.tolist(), B.tolist(), C.tolist()]
    made = orjson.loads(found.metadata["dialtools"])
    assert (made["command"], made["precision"], made["pooling"]) == (
        *("dial-embed", "float32", "mean"),
    )
    assert not work.folder.exists()


@pytest.mark.parametrize("options", [{}, {"transform": "center"}])
def test_the_output_is_written_while_shards_are_embedded_unless_it_waits_for_the_last(
    embedding, tmp_path: Path, options: dict[str, str]
):
    half_written = lambda: list(tmp_path.glob(".o.parquet.*.tmp"))  # noqa: E731
    run = embedding(**options)
    with claimed(run) as work:
        for count in run.shards(work):
            deadline = time.monotonic() + (0 if options else 20)
            while count == 1 and not half_written() and time.monotonic() < deadline:
                time.sleep(0.01)
            assert bool(half_written()) == (not options)
        run.write(work)
    assert len(read_embeddings([run.options.output])) == 3 and not half_written()


def test_a_finished_shard_that_is_damaged_is_told(embedding, tmp_path: Path):
    broken_off(embedding())
    part = tmp_path / "o.parquet.partial/part-000001.arrow"
    another_vector = bytearray(part.read_bytes())
    another_vector[-40] ^= 1  # before the mark of the end, in the last of its columns
    for content in (b"x", another_vector):
        part.write_bytes(content)
        run = embedding()
        with pytest.raises(DialError, match="damaged") as told, claimed(run, resume=True) as work:
            list(run.shards(work))
        assert "part-000001.arrow" in str(told.value)


def test_stdin_is_told_by_what_was_read_and_other_records_are_refused(
    embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def stdin(rows: str) -> Embedding:
        data = "".join(f'{{"text":"{t}"}}\n' for t in rows).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return embedding(inputs=(), from_="jsonl")

    broken_off(stdin("abc"), after=2)
    for rows in ("bac", "ab", "abcab"):
        run = stdin(rows)
        if rows == "abcab":  # the second shard had one row
            rows += "x"
        with (
            pytest.raises(OutputError, match="was made of other records"),
            claimed(run, resume=True) as work,
        ):
            list(run.shards(work))
    run = stdin("abc")
    with claimed(run, resume=True) as work:
        assert list(run.shards(work)) == [1, 2] and run.told == []
        (told,) = work.job.provenance()["inputs"]
        assert told["bytes"] == 3 * len('{"text":"a"}\n') and "ended" not in told


def test_mistakes_show_before_anything_is_embedded(embedding, tmp_path: Path):
    saved = tmp_path / "t.safetensors"
    options = {"transform": "center", "save_transform": str(saved)}
    broken_off(embedding(**options))
    saved.write_text("there")
    for run in (embedding(**options), embedding(**options, output=str(tmp_path / "2.parquet"))):
        with pytest.raises(OutputError, match="exists already"):
            run.plan()
    with pytest.raises(OutputError, match="exists already"), claimed(run) as work:
        list(run.shards(work))
    assert embedding(**options, overwrite=True).plan()["writes"] == (
        f"{tmp_path}/o.parquet as parquet"
    )
    run = embedding(**options)  # what an interrupted run saved, it may save again
    with claimed(run, resume=True) as work:
        list(run.shards(work))
        run.write(work)
    mean = (A + B + C) / 3
    found = read_embeddings([run.options.output]).matrix
    np.testing.assert_allclose(found, [A - mean, B - mean, C - mean], atol=1e-6)
    assert saved.read_bytes() != b"there"
    assert embedding(output="-").plan()["writes"] == "stdout as arrow"


def test_no_rows_at_all_are_refused(embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "none.jsonl").write_text("")
    run = embedding(inputs=(str(tmp_path / "none.jsonl"),))
    with pytest.raises(DataError, match="no records to embed") as told, claimed(run) as work:
        list(run.shards(work))
    assert str(told.value.where).endswith("none.jsonl")
    with pytest.raises(DataError, match="no records to embed"):
        run.stream({})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text":"a"}\n')))
    with pytest.raises(DataError, match="<stdin>: no records to embed"):
        embedding(inputs=(), from_="jsonl", output="-", sample=1e-9).stream({})


def test_a_model_has_the_settings_of_the_options_and_else_its_own(
    glove: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def settings(**options: Any) -> Settings:
        return load_model(EmbedOptions(**{"model": glove, "output": "x"} | options)).settings

    plain = settings()
    assert plain == Settings(WordVectors.load(glove).max_length, False, 0, "float32", False)
    changed = {"normalize": True, "batch_tokens": 7, "float16_round": True}
    assert settings(**changed) == replace(plain, **changed)

    def load(path: str, **asked: Any) -> Any:
        told.append((path, asked))
        return replaced

    told: list[Any] = []
    usual = {"max_length": 5, "normalize": True, "batch_tokens": lambda _: 8, "center": A}
    replaced = SimpleNamespace(**usual, eval=lambda: replaced)
    monkeypatch.setattr("dialtools.encoder.loading.load_encoder", load)
    monkeypatch.setattr(in_memory, "load_encoder", load)
    for module in (in_memory, placement):
        monkeypatch.setattr(module, "placed", lambda encoder, *_: encoder)
    folder = str(tmp_path)
    own = settings(model=folder)
    assert own.normalize and own.batch_tokens == 8 and own.center is A
    assert not settings(model=folder, normalize=False, pooling="cls", max_length=9).normalize
    asked = {"pooling": None, "max_length": None, "trust_remote_code": False}
    assert told == [(folder, asked), (folder, asked | {"pooling": "cls", "max_length": 9})]
    told.clear()
    pieces = SimpleNamespace(
        device="auto", precision="float32", batch_tokens=7, trust_remote_code=True
    )
    opened = in_memory.open_model(tmp_path, pieces, max_length=3)
    assert opened.args[0] is replaced and opened.args[1].center is A
    assert replace(opened.args[1], center=None) == Settings(5, False, 7, "float32", False)
    assert told.pop() == (folder, {"max_length": 3, "trust_remote_code": True})
    pieces.batch_tokens = None
    assert in_memory.open_model(tmp_path, pieces, max_length=3).args[1].batch_tokens == 8


def test_torch_is_started_with_the_threads_asked_for_where_it_is_needed(
    glove: str, monkeypatch: pytest.MonkeyPatch
):
    started: list[int] = []
    monkeypatch.setattr(model, "start_torch", started.append)
    monkeypatch.setattr(model, "_head", lambda options: lambda vectors_ND: vectors_ND)
    for options in ({}, {"device": "cpu:0", "threads": 3}, {"head": "shared", "threads": 2}):
        load_model(EmbedOptions(**{"model": glove, "output": "x", "device": "cpu"} | options))
    assert started == [3, 2]


def test_a_precision_that_is_emulated_is_told_of_what_computes_in_it(
    glove: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dialtools.encoder.device.slower_precision", lambda options: "slow")
    words = load_model(EmbedOptions(model=glove, output="x"))
    options = EmbedOptions(model=str(Path(glove).parent), output="x", pooling="mean")
    assert list(model.notes(words, options)) == []
    of_layers = replace(words, encoder=SimpleNamespace(dimension=3))
    assert list(model.notes(of_layers, options)) == ["slow"]


def test_a_model_that_says_no_pooling_is_told_of_unless_a_user_says_one(
    glove: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dialtools.encoder.device.slower_precision", lambda options: "")
    words = load_model(EmbedOptions(model=glove, output="x"))
    of_layers = replace(words, encoder=SimpleNamespace(dimension=3))
    options = EmbedOptions(model=str(tmp_path), output="x")
    (note,) = model.notes(of_layers, options)
    assert note.startswith(f"{tmp_path}: no modules.json says how to pool, so tokens are averaged;")
    assert not list(model.notes(of_layers, replace(options, pooling="cls")))
    (tmp_path / "modules.json").touch()
    assert not list(model.notes(of_layers, options))


def test_vectors_of_fields_without_a_file_between(glove: str):
    words, settings = WordVectors.load(glove), Settings(9, False, 1, "float32", False)
    rows = records({"x": "a b", "y": ["c", "a"]}, {"x": "c", "y": "b"})
    found = in_memory._field_vectors(words, settings, rows, ["y", "x"])
    assert {name: matrix.tolist() for name, matrix in found.items()} == {
        "y": [((A + C) / 2).tolist(), B.tolist()],
        "x": [((A + B) / 2).tolist(), C.tolist()],
    }


def test_what_is_nested_is_no_text_no_number_and_no_list_of_either():
    plain = ["a", 1, 1.5, True, None, [], ["a", "b"], [1, 2.5], [1, None], ["a", None]]
    assert not _nested(plain)
    for value in ({}, {"a": 1}, [{}], [[1]], ["a", 1], ["a", 1, None], [True]):
        assert _nested([*plain, value]), value


def test_numbers_have_least_values_and_some_options_only_change_how_a_run_goes():
    one = ("1", "0")
    check_least(EmbedOptions, {"max_length": ("4", "3"), "dimensions": one, "shard_rows": one})
    hows = {"dry_run", "resume", "save_transform", "shard", "threads"}
    assert own_hows(EmbedOptions) == hows | {"engine", "parts", "workers", "address"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": ""}, "--model DIR is needed"),
        ({"output": "-", "resume": True}, "--resume needs -o FILE"),
        ({"engine": "ray", "inputs": ("a",), "to": "npy"}, "the parts are Parquet"),
        ({"whiten": True, "transform": "top"}, "--whiten or --transform top: give one"),
        ({"transform": "witen"}, "neither a kind nor a file: 'witen'"),
        ({"fit_on": "x"}, "--fit-on goes with --transform"),
        ({"save_transform": "x"}, "--save-transform goes with --transform"),
        ({"dimensions": 2, "transform": "top"}, "--dimensions goes with --transform whiten"),
        ({"output": "-", "transform": "top"}, "fitted to the whole input"),
        ({"templates": "t", "own_templates": True}, "--templates or --own-templates: give one"),
        ({"compress": 0.5}, "--compress and --align need templates"),
        ({"align": False}, "--compress and --align need templates"),
        ({"templates": "t", "whiten": True}, "templates go with records, and without --transform"),
        ({"templates": "t", "per": "turn"}, "templates go with records, and without --transform"),
        ({"templates": "t", "field": ("a", "b")}, "templates go with one --field of texts"),
        ({"own_templates": True, "field": ("a", "b", "c")}, "and that of the templates"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        EmbedOptions(**{"model": "m", "output": "x.parquet"} | options)


def test_options_that_only_look_alike_are_taken():
    def chosen(**options: Any) -> EmbedOptions:
        return EmbedOptions(**{"model": "m", "output": "x.parquet"} | options)

    assert chosen(whiten=True, dimensions=3).transform == "whiten"
    assert chosen(whiten=True, transform="whiten", save_transform="s").transform == "whiten"
    assert chosen(transform="top", fit_on="f", output="-").transform == "top"
    assert chosen(transform="top", fit_on="f", inputs=("a",), shard="1/2").shard == "1/2"
    assert chosen(own_templates=True).field == ("text", "template")
    assert chosen(own_templates=True, field=("a", "b"), compress=0.0).field == ("a", "b")
    assert chosen(templates="t", field=("a",), align=False).field == ("a",)
    assert chosen(resume=True).resume


@pytest.mark.parametrize("roles", [False, True])
def test_of_a_long_dialogue_a_row_holds_the_turns_that_are_read_and_has_the_same_vector(
    roles: bool, monkeypatch: pytest.MonkeyPatch
):
    encoder = letters_encoder()
    if roles:
        encoder.use_speaker_tokens(seed=0)
    settings = Settings(
        max_length=9, normalize=True, batch_tokens=64, precision="float32", float16_round=False
    )
    options = EmbedOptions(model="m", output="x", per="turn")
    said = np.random.default_rng(0).choice([*"abcdef", "g h", " "], 60)
    talk = {"turns": [{"speaker": "user", "text": text} for text in said.tolist()]}
    found = []
    for _ in range(2):
        made = Embedder(Model(encoder, settings), options, Policy(), lambda n: None)
        (shard,) = made.shards(records(talk))
        found.append((made.batch(shard), max(len(texts) for ((texts, _),) in shard.turns)))
        monkeypatch.setattr(Embedder, "_most_turns", lambda self: None)
    (newest, few), (whole, every) = found
    assert newest == whole and newest[1].cut > 40 and (few, every) == (11, len(shard))
