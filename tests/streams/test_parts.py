"""--shard I/N and `dialtools gather` at the prompt: what is done in parts is what one run does."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from at_work import ended
from least import check_least

from dialtools.errors import DataError
from dialtools.streams.join import format_of_parts
from dialtools.streams.options import EngineOptions
from dialtools.streams.parts import (
    Part,
    Whole,
    completed,
    part_in,
    part_of,
    telling_beside,
    unfolded,
)
from dialtools.streams.sinks import writer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "dialogues.jsonl.gz"
ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(scripts: Path, tmp_path: Path) -> Run:
    """Run a command in a folder of its own; `code` is the exit status it must end with."""

    def command(name: str, *words: object, code: int = 0) -> subprocess.CompletedProcess[bytes]:
        return ended(scripts / name, *words, "-q", code=code, cwd=tmp_path, env=ENV)

    return command


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Real dialogues in each way of being cut: plain and compressed lines, columns, rows, text."""
    lines = gzip.decompress(EXAMPLE.read_bytes()).splitlines(keepends=True)
    (tmp_path / "plain.jsonl").write_bytes(b"".join(lines[:900]))
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[900:1500]), mtime=0))
    talks = [orjson.loads(line) for line in lines[1500:1900]]
    texts = ("\n".join(turn["text"] for turn in talk["turns"]) for talk in talks)
    (tmp_path / "plain.txt").write_text("\n\n".join(texts))
    rows = [
        f'{talk["id"]},{turn["speaker"]},"{turn["text"]}"\n'
        for talk in talks
        for turn in talk["turns"]
    ]
    (tmp_path / "rows.csv").write_text("dialogue_id,speaker,text\n" + "".join(rows))
    return tmp_path


def made_part(path: Path, number: int, *, of: int, inputs: list[dict] | None = None) -> Part:
    """Write a part of a made-up run, and return it as its file tells it."""
    shard = {"part": number, "of": of, "files": {}}
    facts = {"command": "dial-pairs", "options": {}, "inputs": inputs or [], "shard": shard}
    with (
        telling_beside(str(path), lambda: facts),
        writer(str(path), format="jsonl", overwrite=False) as write,
    ):
        write(b"{}\n")
    found = part_in(str(path))
    assert found is not None and (found.path, found.facts["shard"]) == (str(path), shard)
    return found


def test_parts_tell_of_themselves_and_a_folder_of_them_is_in_their_order(tmp_path: Path):
    names = {1: "b.jsonl", 2: "c.jsonl", 3: "a.jsonl"}
    for number, name in names.items():
        one = made_part(tmp_path / name, number, of=3)
        assert (one.number, one.of) == (number, 3)
    (tmp_path / "d.jsonl").mkdir()
    (tmp_path / "notes.txt").write_text("no part\n")
    beside = f"{tmp_path / 'a.jsonl'}.job.json"
    assert Path(beside).exists() and part_in(beside) is part_in("-") is None
    paths = [str(tmp_path / name) for name in names.values()]
    assert unfolded([str(tmp_path), "-"]) == [*paths, "-"] and unfolded([]) == ["-"]
    (tmp_path / "b.jsonl").write_text("{}\n{}\n")  # it has changed since it told
    assert part_in(paths[0]) is None
    with pytest.raises(DataError, match="not there: part 1 of 3"):
        unfolded([str(tmp_path)])


def test_what_a_part_has_not_read_of_an_input_another_tells(tmp_path: Path):
    read = {"name": "x", "sha256": "7"}
    one = made_part(tmp_path / "1.jsonl", 1, of=2, inputs=[read, {"name": "y"}])
    two = made_part(tmp_path / "2.jsonl", 2, of=2, inputs=[{"name": "x"}, {"name": "y"}])
    told = [part.facts["inputs"] for part in completed([one, two])]
    assert told == [[read, {"name": "y"}]] * 2
    assert part_of("1.jsonl", one.facts) == one._replace(path="1.jsonl")
    for wrong in ({"part": 0, "of": 2}, {"part": 3, "of": 2}, {"part": "1", "of": 2}, {}):
        assert part_of("1.jsonl", one.facts | {"shard": wrong}) is None
    assert part_of("1.jsonl", one.facts | {"inputs": [{}]}) is part_of("1.jsonl", None) is None


def test_parts_have_one_format(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    (tmp_path / "b.csv").write_text("a\n")
    one, other = str(tmp_path / "a.jsonl"), str(tmp_path / "b.csv")
    assert format_of_parts(Whole([one], {})) == "jsonl"
    with pytest.raises(DataError, match=r"b\.csv: is csv by its name, as no part is"):
        format_of_parts(Whole([other, other], {}))
    with pytest.raises(DataError, match=r"b\.csv: is csv, other parts are jsonl"):
        format_of_parts(Whole([one, other], {}))


FILES = ("plain.jsonl", "packed.jsonl.gz")
PAIRS = ("dial-pairs", "--window", "1,2")
WORK = [
    (5, "jsonl", *PAIRS, *FILES, "plain.txt", "rows.csv"),
    (3, "arrow", *PAIRS, *FILES, "plain.txt", "rows.csv"),
    (4, "parquet", *PAIRS, *FILES, "--sample", "0.4", "--seed", "3"),
    (2, "jsonl.gz", *PAIRS, "rows.csv", "--unsorted"),
    (16, "jsonl.zst", "dial-pairs", "plain.txt"),
    (3, "jsonl", "dial-pairs", "--kind", "dialogue", *FILES, "rows.csv"),
    (3, "jsonl", "dial-freq", *FILES, "plain.txt"),
    (2, "arrow", "dial-freq", *FILES, "--weights", "sqrt", "--weights-mean-one", "--top", "20"),
    (2, "parquet", "dial-freq", "plain.jsonl", "--ignore", "none", "--smooth", "1"),
    (3, "jsonl", "dial-augment", "--no-fill", "--typed", *FILES),
]


def parts(run: Run, number: int, suffix: str, name: str, *words: str) -> list[str]:
    names = [f"part-{n}-of-{number}.{suffix}" for n in range(1, number + 1)]
    for n, part in enumerate(names, 1):
        run(name, *words, "--shard", f"{n}/{number}", "-o", part)
    return names


@pytest.mark.parametrize("work", WORK, ids=lambda work: " ".join(map(str, work[:3])))
def test_gather_gives_the_bytes_of_one_run(run: Run, corpus: Path, work: tuple):
    number, suffix, name, *words = work
    run(name, *words, "-o", f"one.{suffix}")
    names = parts(run, number, suffix, name, *words)
    (corpus / f"all.{suffix}").write_text("there")
    run("dialtools", "gather", *reversed(names), "-o", f"all.{suffix}", "--overwrite")
    assert (corpus / f"all.{suffix}").read_bytes() == (corpus / f"one.{suffix}").read_bytes()


def test_weighed_parts_are_gathered_as_they_are(run: Run, corpus: Path):
    run("dial-pairs", "plain.jsonl", "-o", "pairs.jsonl")
    run("dial-freq", "pairs.jsonl", "-o", "counts.jsonl")
    words = ("dial-freq", "pairs.jsonl", "--annotate", "--counts", "counts.jsonl")
    names = parts(run, 3, "jsonl", *words)
    (corpus / "all.jsonl").write_text("there")
    run("dialtools", "gather", *names, "-o", "all.jsonl", code=1)
    run("dialtools", "gather", *names, "-o", "all.jsonl", "--overwrite")
    assert (corpus / "all.jsonl").read_bytes() == run(*words).stdout


EMBEDDED = [
    "--shard-rows",
    "40",
    "--limit",
    "300",
    "--on-truncate",
    "ignore",
    *FILES,
    "--per",
    "turn",
]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_embeddings_in_parts_are_those_of_one_run(run: Run, corpus: Path, model: Path, suffix: str):
    words = ["--model", str(model), *EMBEDDED]
    run("dial-embed", *words, "-o", f"one.{suffix}")
    names = parts(run, 3, suffix, "dial-embed", *words)
    run("dialtools", "gather", *names, "-o", f"all.{suffix}")
    assert (corpus / f"all.{suffix}").read_bytes() == (corpus / f"one.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_the_parts_have_the_columns_of_all_shards(run: Run, tmp_path: Path, model: Path, suffix):
    late = [{"n": n} if n < 4 else {"m": "x"} if n < 8 else {"n": 0.5 + n} for n in range(12)]
    rows = [{"text": f"text {n}", **more} for n, more in enumerate([*late, {"n": 4}])]
    (tmp_path / "in.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    words = ["--model", str(model), "--shard-rows", "4", "--tokens", "in.jsonl"]
    run("dial-embed", *words, "-o", f"one.{suffix}")
    names = parts(run, 5, suffix, "dial-embed", *words)
    run("dialtools", "gather", *names, "-o", f"all.{suffix}")
    assert (tmp_path / f"all.{suffix}").read_bytes() == (tmp_path / f"one.{suffix}").read_bytes()


def test_arrow_parts_make_every_table_of_one_run(run: Run, corpus: Path, model: Path):
    words = ["--model", str(model), *EMBEDDED]
    names = parts(run, 2, "arrow", "dial-embed", *words)
    for suffix in ("npy", "parquet"):
        run("dial-embed", *words, "-o", f"one.{suffix}")
        run("dialtools", "gather", *names, "-o", f"all.{suffix}")
        assert (corpus / f"all.{suffix}").read_bytes() == (corpus / f"one.{suffix}").read_bytes()
    whole = run("dial-embed", *words, "--resume", "-o", "all.npy", code=0)
    assert whole.stderr == b""  # finished: it tells the job of one run


def test_a_part_goes_on_where_it_was_and_is_not_taken_for_another(
    run: Run, corpus: Path, model: Path
):
    words = ["--model", str(model), *EMBEDDED, "-o", "part.parquet", "--resume"]
    run("dial-embed", *words, "--shard", "1/3")
    before = (corpus / "part.parquet").stat().st_mtime_ns
    run("dial-embed", *words, "--shard", "1/3")
    assert (corpus / "part.parquet").stat().st_mtime_ns == before
    for other in (("--shard", "2/3"), ()):
        assert b"of another job: shard was" in run("dial-embed", *words, *other, code=1).stderr


def test_bad_records_are_told_by_the_part_that_has_them_with_their_lines(run: Run, tmp_path: Path):
    good = b'{"turns": ["how are you", "fine", "good"]}\n'
    lines = [good] * 120_000
    lines[119_000] = b"{rubbish}\n"
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    rows = b"".join(b"%d,a\n%d,b\n" % (n, n) for n in range(3000))
    (tmp_path / "in.csv").write_bytes(b"dialogue_id,text\n" + rows + b"x\n3000,c\n")
    for name, line in (("in.jsonl", 119_001), ("in.csv", 6002)):
        for n in (1, 2, 3):
            run(
                *("dial-pairs", name, "--shard", f"{n}/3", "--on-error", f"quarantine={n}.{name}"),
                *("-o", f"{n}.arrow", "--overwrite"),
                code=3 if n == 3 else 0,
            )
        bad = orjson.loads((tmp_path / f"3.{name}").read_bytes())
        assert (bad["file"], bad["line"]) == (name, line)


def test_split_files_are_gathered_each_by_itself(run: Run, corpus: Path):
    words = ["plain.jsonl", "--split", "train=0.7,dev=0.3"]
    run("dial-pairs", *words, "-o", "one.{split}.arrow")
    for n in (1, 2):
        run("dial-pairs", *words, "--shard", f"{n}/2", "-o", f"{n}.{{split}}.arrow")
    for split in ("train", "dev"):
        run("dialtools", "gather", f"1.{split}.arrow", f"2.{split}.arrow", "-o", f"{split}.arrow")
        assert (corpus / f"{split}.arrow").read_bytes() == (
            corpus / f"one.{split}.arrow"
        ).read_bytes()
    mixed = run("dialtools", "gather", "1.train.arrow", "2.dev.arrow", code=1)
    assert b"split was train, is dev" in mixed.stderr


def test_missing_doubled_and_foreign_parts_are_refused(run: Run, corpus: Path):
    names = parts(run, 3, "jsonl", *PAIRS, "plain.jsonl")
    shutil.copy(corpus / names[0], corpus / "again.jsonl")
    shutil.copy(corpus / f"{names[0]}.job.json", corpus / "again.jsonl.job.json")
    run(*PAIRS, "plain.jsonl", "--shard", "2/4", "-o", "of-four.jsonl")
    run(*PAIRS, "plain.jsonl", "--shard", "2/3", "--lower", "-o", "lower.jsonl")
    run(*PAIRS, "packed.jsonl.gz", "--shard", "2/3", "-o", "elsewhere.jsonl")
    run(*PAIRS, "plain.jsonl", "-o", "whole.jsonl")
    told = {
        (names[0], names[2]): "not there: part 2 of 3",
        (*names, "again.jsonl"): f"again.jsonl: is part 1 of 3, and so is {names[0]}",
        (names[0], "of-four.jsonl"): "of was 3, is 4",
        (names[0], "lower.jsonl", names[2]): "--lower was False, is True",
        (names[0], "elsewhere.jsonl", names[2]): "packed.jsonl.gz was ",
        (*names, "whole.jsonl"): "whole.jsonl: is no part",
    }
    for given, words in told.items():
        done = run("dialtools", "gather", *given, "-o", "all.jsonl", code=1)
        assert words in done.stderr.decode()
    with (corpus / names[1]).open("ab") as file:
        file.write(b"{}\n")
    done = run("dialtools", "gather", *names, "-o", "all.jsonl", code=1)
    assert f"{names[1]}: is no part, or has changed since" in done.stderr.decode()
    assert not (corpus / "all.jsonl").exists()


def test_an_input_is_known_by_its_content_not_by_where_it_lies(run: Run, corpus: Path):
    (corpus / "elsewhere").mkdir()
    shutil.copy(corpus / "plain.jsonl", corpus / "elsewhere" / "copy.jsonl")
    run(*PAIRS, "plain.jsonl", "--shard", "1/2", "-o", "1.arrow")
    run(*PAIRS, "elsewhere/copy.jsonl", "--shard", "2/2", "-o", "2.arrow")
    run(*PAIRS, "plain.jsonl", "-o", "one.arrow")
    run("dialtools", "gather", "1.arrow", "2.arrow", "-o", "all.arrow")
    assert (corpus / "all.arrow").read_bytes() == (corpus / "one.arrow").read_bytes()


WHOLE = [
    ("dial-pairs", "stdin"),
    ("dial-pairs", "of all parts", "plain.jsonl", "--limit", "9", "-o", "x.arrow"),
    ("dial-pairs", "--distinct", "plain.jsonl", "--distinct", "-o", "x.arrow"),
    ("dial-pairs", "--kind self", "plain.jsonl", "--kind", "self", "-o", "x.arrow"),
    ("dial-pairs", "columns", "plain.jsonl", "--kind", "dialogue", "-o", "x.arrow"),
    ("dial-pairs", "manifest beside it", "plain.jsonl"),
    ("dial-freq", "--summary", "plain.jsonl", "--summary"),
    ("dial-freq", "--counts FILE", "plain.jsonl", "--annotate", "-o", "x.jsonl"),
    ("dial-augment", "to fill", "plain.jsonl", "-o", "x.jsonl"),
    ("dial-augment", "columns", "plain.jsonl", "--no-fill", "-o", "x.arrow"),
    ("dial-embed", "fitted", "plain.jsonl", "--model", "m", "--whiten", "-o", "x.arrow"),
]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: " ".join(case[:2]))
def test_what_no_part_can_know_is_refused_with_the_reason(run: Run, corpus: Path, case: tuple):
    name, reason, *words = case
    done = run(name, *words, "--shard", "1/2", code=2)
    first = done.stderr.decode().splitlines()[0]
    assert first.startswith(f"{name}: --shard: ")
    assert reason in first


def test_a_response_of_several_windows_is_not_counted_in_parts(run: Run, corpus: Path):
    run(*PAIRS, "plain.jsonl", "-o", "pairs.arrow")
    words = ("pairs.arrow", "--shard", "1/2", "-o", "1.jsonl")
    assert b"a response counts once" in run("dial-freq", *words, code=2).stderr
    run("dial-freq", *words, "--unit", "record")


def figures(lines: bytes) -> list[dict]:
    """Records of a report, without the names of its inputs."""
    rows = map(orjson.loads, lines.splitlines())
    return [{k: v for k, v in row.items() if k not in ("inputs", "dataset")} for row in rows]


def test_into_one_part_at_least_is_cut():
    check_least(EngineOptions, {"parts": ("1", "0")})


def test_a_folder_of_parts_reads_like_the_file_of_one_run(run: Run, corpus: Path, model: Path):
    (corpus / "pairs").mkdir()
    (corpus / "vectors").mkdir()
    (corpus / "pairs" / "README.txt").write_text("not a part\n")
    embed = ("dial-embed", "--model", model, *EMBEDDED)
    for n in (1, 2, 3):
        part = ("--shard", f"{n}/3", "-o")
        run(*PAIRS, "plain.jsonl", *part, f"pairs/{n}.parquet")
        run(*embed, *part, f"vectors/{n}.parquet")
    run(*PAIRS, "plain.jsonl", "-o", "pairs.parquet")
    run(*embed, "-o", "vectors.parquet")
    assert run("dialtools", "gather", "pairs").stdout == (corpus / "pairs.parquet").read_bytes()
    for reader, name in (
        (("dial-freq",), "pairs"),
        (("dial-pairs", "--kind", "utterance", "--text-column", "response"), "pairs"),
        (("dial-freq", "--annotate", "--to", "jsonl"), "pairs"),
        (("dial-eval", "space", "--color", "never"), "vectors"),
    ):
        of_folder, of_file = (run(*reader, path).stdout for path in (name, f"{name}.parquet"))
        assert figures(of_folder) == figures(of_file)
    (corpus / "pairs" / "2.parquet").unlink()
    assert b"pairs: not there: part 2 of 3" in run("dial-freq", "pairs", code=1).stderr
