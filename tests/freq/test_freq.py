"""dial-freq at the prompt: what it counts, weighs, merges and refuses."""

from __future__ import annotations

import shlex
from collections import Counter
from math import log

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_work import ended
from oracles import slow_counts

from dialtools.freq.normalise import normalise

REPLIES = (
    *("Yes.", "yes", " yes ", "Thank  you", "thank you"),
    *("什么 时候", "ÄPFEL", 'a "quote" \\ and\ttab', "okay"),
)


def jsonl(records: list[dict]) -> bytes:
    return b"".join(orjson.dumps(r, option=orjson.OPT_APPEND_NEWLINE) for r in records)


def rows(data: bytes) -> list[dict]:
    return [orjson.loads(line) for line in data.splitlines()]


def talks(n: int, *, first: int = 0) -> list[dict]:
    """Dialogues of six turns; some replies come back often, others never."""

    def reply(i: int, j: int) -> str:
        return REPLIES[(i * j + j) % len(REPLIES)] if (i + j) % 3 else f"talk {i}, turn {j}"

    return [
        {"id": str(i), "turns": [{"text": reply(i, j)} for j in range(6)]}
        for i in range(first, first + n)
    ]


def told(texts: list[str]) -> Counter[str]:
    return Counter(normalise(text, ("case", "space")) for text in texts)


def of_turns(dialogues: list[dict]) -> Counter[str]:
    return told([turn["text"] for d in dialogues for turn in d["turns"]])


def test_turns_are_counted_ranked_and_weighed(freq):
    dialogues = talks(50)
    slow = of_turns(dialogues)
    order = sorted(slow, key=lambda text: (-slow[text], text))
    found = rows(freq("-q", data=jsonl(dialogues)).stdout)
    assert [(r["text"], r["count"]) for r in found] == [(text, slow[text]) for text in order]
    assert [r["rank"] for r in found] == list(range(1, len(slow) + 1))
    assert sum(r["share"] for r in found) == pytest.approx(1)
    assert all(r["weight"] == pytest.approx(1 / (log(r["count"]) + 1)) for r in found)
    assert rows(freq("-q", "--top", 3, data=jsonl(dialogues)).stdout) == found[:3]


def test_records_of_every_kind_and_format_are_counted(freq, tmp_path):
    words = ["Yes.", "no", "yes."]
    same = {"yes.": 2, "no": 1}
    table = pa.table({"text": words, "reply": pa.array(words).dictionary_encode()})
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.txt").write_text("Yes.\n\nno\r\nyes.")
    (tmp_path / "x.csv").write_text("reply\nYes.\nno\nyes.\n")
    for given in (
        ["--field", "text", "x.parquet"],
        ["--field", "reply", "x.parquet"],
        ["x.txt"],
        ["--from", "csv", "--field", "reply", "x.csv"],
    ):
        assert {r["text"]: r["count"] for r in rows(freq("-q", *given).stdout)} == same, given
    for record in ({"text": words}, {"reply": words}, {"turns": words}, {"response": words}):
        name = next(iter(record))
        flags = ["--field", name] if name == "reply" else []
        assert {
            r["text"]: r["count"] for r in rows(freq("-q", *flags, data=jsonl([record])).stdout)
        } == same


def pairs_of(scripts, dialogues: list[dict], *words: str) -> bytes:
    command = [scripts / "dial-pairs", "-q", "--window", "1,2,3", *words]
    return ended(*command, input=jsonl(dialogues)).stdout


@pytest.mark.parametrize("to", ["jsonl", "arrow"])
def test_a_response_counts_once_however_many_windows_it_stands_in(freq, scripts, to):
    data = pairs_of(scripts, talks(40), "--to", to)
    pairs = rows(data) if to == "jsonl" else pa.ipc.open_stream(data).read_all().to_pylist()
    once, each = slow_counts.responses(pairs), Counter(p["response"] for p in pairs)
    assert once.total() < each.total()
    for unit, slow in (("turn", once), ("record", each)):
        found = rows(freq("-q", "--unit", unit, data=data).stdout)
        assert {r["text"]: r["count"] for r in found} == told(list(slow.elements()))


def test_dialogues_of_two_exports_that_share_a_name_count_both(freq, scripts):
    data = pairs_of(scripts, talks(40) + talks(40))
    once = slow_counts.responses(rows(pairs_of(scripts, talks(40))))
    found = {r["text"]: r["count"] for r in rows(freq("-q", data=data).stdout)}
    assert found == told([*once.elements()] * 2)


@pytest.mark.parametrize("to", ["jsonl", "arrow"])
def test_annotate_gives_the_input_back_in_its_order_with_its_weights(freq, scripts, tmp_path, to):
    data = pairs_of(scripts, talks(40), "--to", to)
    read = rows if to == "jsonl" else lambda data: pa.ipc.open_stream(data).read_all().to_pylist()
    pairs, weighed = read(data), read(freq("-q", "--annotate", data=data).stdout)
    counts = told(list(slow_counts.responses(pairs).elements()))
    assert [{k: v for k, v in r.items() if k != "weight"} for r in weighed] == pairs
    irf = [1 / (log(counts[normalise(p["response"], ("case", "space"))]) + 1) for p in pairs]
    assert [r["weight"] for r in weighed] == pytest.approx(irf)
    (tmp_path / "pairs").write_bytes(data)
    freq("-q", "--field", "response", "--from", to, "pairs", "-o", "counts.parquet")
    again = read(freq("-q", "--annotate", "--counts", "counts.parquet", data=data).stdout)
    assert again == weighed
    other = read(
        freq("-q", "--annotate", "--weights", "inverse", "--weights-mean-one", data=data).stdout
    )
    assert sum(r["weight"] for r in other) / len(other) == pytest.approx(
        sum(1 / counts[normalise(p["response"], ("case", "space"))] for p in pairs)
        / len(pairs)
        * counts.total()
        / len(counts),
        rel=1e-6,
    )


@pytest.mark.parametrize("to", ["arrows", "parquet"])
def test_a_weighed_table_tells_its_own_making_not_that_of_the_pairs_it_was_made_of(
    freq, scripts, tmp_path, to
):
    (tmp_path / "pairs.arrow").write_bytes(pairs_of(scripts, talks(4), "--to", "arrow"))
    freq("-q", "--annotate", "pairs.arrow", "-o", f"weighed.{to}")
    weighed = tmp_path / f"weighed.{to}"
    read = pq.read_schema if to == "parquet" else lambda path: pa.ipc.open_stream(path).schema
    making = orjson.loads(read(weighed).metadata[b"dialtools"])
    assert making["command"] == "dial-freq"
    assert weighed.read_bytes().count(b"dialtools.provenance/") == 1


def test_annotate_replaces_a_weight_and_touches_nothing_else(freq):
    data = (
        b'{"x": 1.50, "text":"a","weight":9}\n{"text":"\\u0061"}\n{"text":"b", "y":{"weight":1}}\n'
    )
    found = freq("-q", "--annotate", "--weights", "inverse", data=data).stdout.splitlines()
    assert found == [  # a name that stood twice would be read in two ways
        b'{"x":1.5,"text":"a","weight":0.5}',
        b'{"text":"\\u0061","weight":0.5}',
        b'{"text":"b", "y":{"weight":1},"weight":1.0}',
    ]
    escaped = b'{"text":"a","w\\u0065ight":7}\n'
    assert freq("-q", "--annotate", data=escaped).stdout == b'{"text":"a","weight":1.0}\n'


def test_a_text_that_counts_do_not_hold_has_frequency_one_and_is_told(freq, tmp_path):
    (tmp_path / "counts.jsonl").write_bytes(b'{"text":"a","count":8}\n')
    done = freq(
        *shlex.split("--annotate --counts counts.jsonl --weights inverse"),
        data=b'{"text":"A"}\n{"text":"new"}\n',
    )
    assert [r["weight"] for r in rows(done.stdout)] == [0.125, 1]
    assert b"1 not in --counts" in done.stderr


def test_shards_merge_to_what_one_run_gives(freq, tmp_path):
    shards = [talks(30, first=30 * i) for i in range(3)]
    for i, shard in enumerate(shards):
        (tmp_path / f"s{i}.jsonl").write_bytes(jsonl(shard))
        freq("-q", "--no-rank", f"s{i}.jsonl", "-o", f"c{i}.{('jsonl', 'arrow', 'parquet')[i]}")
    whole = freq("-q", "s0.jsonl", "s1.jsonl", "s2.jsonl").stdout
    assert freq("-q", "--merge", "c0.jsonl", "c1.arrow", "c2.parquet").stdout == whole
    assert freq("-q", "-j", 1, data=b"".join(map(jsonl, shards))).stdout == whole
    told = {(r["text"], r["count"], r["weight"]) for r in rows(whole)}
    loose = rows(freq("-q", "--no-rank", "s0.jsonl", "s1.jsonl", "s2.jsonl").stdout)
    assert {(r["text"], r["count"], r["weight"]) for r in loose} == told and "rank" not in loose[0]
    assert b"--top needs the rank" in freq("--no-rank", "--top", 2, code=2).stderr


@pytest.mark.parametrize("kind", ["jsonl", "arrow"])
def test_counts_that_are_taken_for_texts_are_told_with_what_adds_them_up(freq, tmp_path, kind):
    said = b"counted once as a text: 3 frequency records; --merge adds up what they counted"
    texts = [{"text": text, "count": 5, "weight": 1} for text in "abc"]
    freq("-q", "-o", f"counts.{kind}", data=jsonl(texts))
    assert said in freq(f"counts.{kind}").stderr
    assert said not in freq("--merge", f"counts.{kind}").stderr
    assert said not in freq("--annotate", "--counts", f"counts.{kind}", f"counts.{kind}").stderr
    assert said not in freq(data=jsonl(texts)).stderr  # they lack a share: anybody's texts


def test_summary_tells_each_input_and_all_of_them(freq, tmp_path):
    parts = {"one": talks(20), "two": talks(35, first=11)}
    for name, part in parts.items():
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(part))
    found = {
        r["corpus"]: r
        for r in rows(freq("-q", "--plot", "curve.svg", "one.jsonl", "two.jsonl").stdout)
    }
    slow = {name: of_turns(part) for name, part in parts.items()}
    slow["all"] = slow["one"] + slow["two"]
    assert found.keys() == slow.keys()
    for name, counts in slow.items():
        expected = slow_counts.imbalance(counts)
        assert {k: found[name][k] for k in expected} == pytest.approx(expected)
    picture = (tmp_path / "curve.svg").read_text()
    assert all(f">{name}<" in picture for name in slow)
    freq("-q", "--plot", "again.svg", "one.jsonl", "two.jsonl")
    assert (tmp_path / "again.svg").read_text() == picture
    assert rows(freq("-q", "--summary", "one.jsonl").stdout)[0]["corpus"] == "one"


@pytest.mark.parametrize(
    ("words", "data", "says"),
    [
        ([], b"oops\n", "<stdin>:1: not JSON"),
        ([], b'{"utterance":"a"}\n', 'no "response", "turns" or "text"; there are utterance'),
        (["--field", "txt"], b'{"text":"a"}\n', "no field 'txt'; there are text"),
        (["--field", "n"], b'{"n":3}\n', "n: expected text, got a number"),
        (
            ["--annotate"],
            b'{"turns":["a","b"]}\n',
            "holds 2 texts; --annotate weighs records of one",
        ),
        (["--merge"], b'{"text":"a","count":"x"}\n', '"count" must be a whole number above 0'),
        (["--counts", "none.jsonl", "--annotate"], b"", "none.jsonl"),
    ],
)
def test_bad_input_is_named_in_a_line(freq, tmp_path, words, data, says):
    done = freq(*words, "-o", "out.jsonl", data=data, code=1)
    assert says in done.stderr.decode()
    assert len(done.stderr.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_a_count_of_nothing_is_refused_in_columns_as_in_lines(freq, tmp_path):
    table = pa.table({"text": ["a", "b"], "count": [2, 0]})
    pq.write_table(table, tmp_path / "counts.parquet")
    done = freq("--merge", "counts.parquet", code=1)
    assert b'counts.parquet:2: "count" must be a whole number above 0' in done.stderr


def test_bad_records_are_skipped_on_request(freq):
    done = freq("--on-error", "skip", data=b'{"text":"a"}\n{"x":1}\n{"text":"A"}\n', code=3)
    assert [(r["text"], r["count"]) for r in rows(done.stdout)] == [("a", 2)]
    assert b"1 bad record skipped" in done.stderr


def test_nothing_and_one_record_are_no_trouble(freq, tmp_path):
    none = tmp_path / "none.jsonl"
    none.touch()
    assert freq("-q", none).stdout == freq("-q", "--annotate", none).stdout == b""
    freq("-q", none, "-o", "none.parquet")
    assert pq.read_table(tmp_path / "none.parquet").column_names == [
        "text",
        "count",
        "share",
        "rank",
        "weight",
    ]
    nothing = rows(freq("-q", "--summary", none).stdout)[0]
    single = rows(freq("-q", "--summary", data=b'{"text":"a"}\n').stdout)[0]
    assert (nothing["total"], nothing["gini"]) == (0, None)
    (tmp_path / "one.jsonl").write_text('{"text":"a"}\n')
    each = rows(freq("-q", "--summary", "one.jsonl", none, "one.jsonl").stdout)
    names = ["one.jsonl (1)", "none", "one.jsonl (3)", "all"]
    assert [(row["corpus"], row["total"]) for row in each] == list(
        zip(names, (1, 0, 1, 2), strict=True)
    )
    assert (single["total"], single["top_1_percent_share"], single["zipf_slope"]) == (1, 1, None)
    freq("-q", none, "--plot", "empty.png")
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")
    assert rows(freq("-q", "--annotate", data=b'{"text":"a"}\n').stdout) == [
        {"text": "a", "weight": 1.0}
    ]


@pytest.mark.parametrize(
    "flag", ["--no-rank", "--weights=sqrt", "--smooth=1", "--weights-mean-one"]
)
def test_a_summary_has_no_ranks_and_no_weights(freq, flag: str):
    name = flag.partition("=")[0]
    told = freq("--summary", flag, code=2).stderr.decode()
    assert told.startswith(f"dial-freq: {name} has no meaning beside --summary")


@pytest.mark.shared
def test_the_imbalance_of_real_corpora_is_the_known_one(freq, shared):
    """WMDC's counts, which take blanks off the ends only: the shares agree to the point shown."""
    paths = [shared / f"data/corpus/{name}.jsonl.gz" for name in ("sgd", "multiwoz")]
    found = {
        r["corpus"]: r["top_1_percent_share"] for r in rows(freq("-q", "--summary", *paths).stdout)
    }
    assert found["sgd"] == pytest.approx(0.214, abs=5e-4)
    assert found["multiwoz"] == pytest.approx(0.086, abs=5e-4)
