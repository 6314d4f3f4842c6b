"""dialtools search: the rows nearest to a text, embedded as the file was."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from near.conftest import Near, rows
from pair_corpus import as_lines

TEXTS = ["which day is it", "a table for two", "thanks", "a table for three", "thanks"]


@pytest.fixture
def embed(scripts: Path, environment: dict[str, str], model: Path, tmp_path: Path):
    """Embed the texts into a file of the folder."""
    records = [{"id": f"t{i}", "text": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "texts.jsonl").write_bytes(as_lines(records))

    def run(name: str, *options: object) -> str:
        line = [scripts / "dial-embed", "-q", "--model", model, "--device", "cpu", *options]
        subprocess.run(
            [*map(str, line), "texts.jsonl", "-o", name], check=True, cwd=tmp_path, env=environment
        )
        return name

    return run


@pytest.mark.parametrize(
    "options", [(), ("--dimensions", 8), ("--pooling", "cls"), ("--max-length", 4, "--normalize")]
)
def test_a_text_of_the_file_is_nearest_to_itself_however_it_was_embedded(
    near: Near, embed, options: tuple[object, ...]
):
    done = near("search", embed("t.parquet", *options), TEXTS[1], TEXTS[0], "-k", 1)
    found = [(row["query"], row["rank"], row["id"], row["row"]) for row in rows(done)]
    assert found == [(TEXTS[1], 1, "t1", 1), (TEXTS[0], 1, "t0", 0)]
    assert all(row["cosine"] > 0.9999 for row in rows(done))


def test_what_was_embedded_is_told_whatever_its_field_is_called(
    near: Near, scripts: Path, environment: dict[str, str], model: Path, tmp_path: Path
):
    records = [{"ticket": 7, "Message": text} for text in TEXTS]
    (tmp_path / "log.jsonl").write_bytes(as_lines(records))
    embed = [scripts / "dial-embed", "-q", "--model", model, "--field", "Message", "log.jsonl"]
    line = [*map(str, embed), "-o", "e.parquet"]
    subprocess.run(line, check=True, cwd=tmp_path, env=environment)
    found = rows(near("search", "e.parquet", TEXTS[0], "-k", 1))[0]
    assert found.keys() == {"query", "rank", "cosine", "row", "Message"}
    assert found["Message"] == TEXTS[0]


def test_equal_texts_are_one_row_if_asked_and_far_ones_none(near: Near, embed):
    name = embed("t.parquet")
    ask = ("search", name, "thanks", "--min-cosine", 0.999)
    assert [row["id"] for row in rows(near(*ask))] == ["t2", "t4"]
    assert [row["id"] for row in rows(near(*ask, "--distinct"))] == ["t2"]


def test_a_transform_that_was_kept_is_applied_and_another_refused(near: Near, embed):
    embed("white.parquet", "--transform", "center", "--save-transform", "center.safetensors")
    told = near("search", "white.parquet", "thanks", code=2).stderr.decode()
    assert "transformed (center), fitted to its rows" in told
    embed("again.parquet", "--transform", "center.safetensors")
    found = rows(near("search", "again.parquet", "thanks", "-k", 1))
    assert found[0]["id"] == "t2" and found[0]["cosine"] > 0.9999


def test_a_file_that_tells_no_model_is_searched_with_one_that_is_named(
    near: Near, embed, model: Path, train, pairs: Path, tmp_path: Path
):
    embed("t.jsonl")
    assert "--model DIR" in near("search", "t.jsonl", "thanks", code=2).stderr.decode()
    found = rows(near("search", "t.jsonl", "thanks", "--model", model, "-k", 1))
    assert found[0]["id"] == "t2"
    short = [{"id": "x", "embedding": [1.0, 0.0]}]
    told = near("search", "short.jsonl", "thanks", "--model", model, code=1, short=short)
    assert b"search: short.jsonl: vectors of " in told.stderr
    other = tmp_path / "other"
    train("--max-steps", 0, "--seed", 1, "-o", other, pairs)
    told = near("search", embed("t.parquet"), "thanks", "--model", other, code=2).stderr.decode()
    assert "the file's vectors are of another model" in told


def test_a_file_whose_model_has_moved_says_how_to_name_it(
    near: Near, embed, model: Path, tmp_path: Path
):
    (tmp_path / "moved").symlink_to(model)
    name = embed("t.parquet", "--model", "moved")
    (tmp_path / "moved").unlink()
    told = near("search", name, "thanks", code=1).stderr.decode()
    assert "the file names the model 'moved', which is not here\n  --model DIR says where" in told


def test_code_that_comes_with_a_model_runs_if_search_is_told_so(
    near: Near,
    embed,
    model: Path,
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(environment, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    own = tmp_path / "own"
    shutil.copytree(model, own)
    code = "import transformers as t\nclass Config(t.BertConfig): model_type = 'own'\n"
    (own / "own.py").write_text(f"{code}class Model(t.BertModel): config_class = Config\n")
    config = orjson.loads((own / "config.json").read_bytes())
    config |= {"model_type": "own"}
    config |= {"auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (own / "config.json").write_bytes(orjson.dumps(config))
    name = embed("t.parquet", "--model", own, "--trust-remote-code")
    told = near("search", name, "thanks", code=1).stderr.decode()
    assert "contains custom code" in told and "\n  --trust-remote-code runs it" in told
    found = rows(near("search", "--trust-remote-code", name, "thanks", "-k", 1))
    assert found[0]["id"] == "t2"


def test_without_a_text_or_with_the_text_first_it_says_what_it_needs(near: Near, embed):
    assert "name a file and a text" in near("search", "t.parquet", code=2).stderr.decode()
    assert "is blank" in near("search", "t.parquet", "hi", " ", code=2).stderr.decode()
    told = near("search", "thanks", embed("t.parquet"), code=2).stderr.decode()
    assert "'thanks': the file comes first, then the texts" in told
    told = near("search", "t.parquet", "-", code=2).stderr.decode()
    assert "- is none" in told and "xargs -d '\\n' dialtools search t.parquet" in told


@pytest.mark.parametrize(
    ("option", "value"),
    [("pooling", [1]), ("max-length", "x"), ("dimensions", "a"), ("transform", 7), ("model", 5)],
)
def test_what_a_strangers_file_says_of_its_making_is_checked(
    near: Near, embed, tmp_path: Path, option: str, value: object
):
    table = pq.read_table(tmp_path / embed("t.parquet"))
    made = orjson.loads(table.schema.metadata[b"dialtools"])
    made["options"][option] = value
    strange = table.replace_schema_metadata({b"dialtools": orjson.dumps(made)})
    pq.write_table(strange, tmp_path / "strange.parquet")
    told = near("search", "strange.parquet", "thanks", code=2).stderr.decode()
    assert option in told and "defect" not in told and len(told.splitlines()) <= 2
