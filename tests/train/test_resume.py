"""kill -9, Ctrl-C and SIGTERM, then --resume: the same weights as without."""

from __future__ import annotations

import fcntl
import json
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from at_work import broken_off, logged, until
from pair_corpus import SMALL, Train, as_lines, pair_records, steps, weights
from train_parts import recipe_options

from dialtools.errors import DataError
from dialtools.streams.provenance import Inputs
from dialtools.train import material, steplog
from dialtools.train.data.spool import spool

Start = Callable[..., subprocess.Popen]
Broken = Callable[..., None]
RUN = shlex.split("--batch-size 32 --max-steps 150 --epochs 50 --lr 1e-3 --checkpoint-every 7")


@pytest.fixture(scope="module")
def unbroken(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a run that nobody disturbed, and its step log."""
    model = tmp_path_factory.mktemp("unbroken") / "model"
    train(*RUN, "-o", model, stdin=pairs.read_bytes())
    return model


@pytest.fixture
def command(scripts: Path) -> Callable[..., list[str]]:
    """Return the line of a run, of a pipe unless files are named."""

    def line(model: Path, *arguments: object) -> list[str]:
        return list(map(str, [scripts / "dial-train", *SMALL, *RUN, *arguments, "-o", model]))

    return line


@pytest.fixture
def start(command: Callable[..., list[str]], environment: dict[str, str]) -> Start:
    """Start a run of files."""
    return lambda *run: subprocess.Popen(command(*run), stdout=PIPE, stderr=PIPE, env=environment)


@pytest.fixture
def broken(command: Callable[..., list[str]], environment: dict[str, str], pairs: Path) -> Broken:
    """Break a run off by a signal once `after` steps are in its log."""

    def run(model: Path, number: int, *arguments: object, after: int) -> None:
        line = command(model, *arguments)
        with pairs.open("rb") as stdin:
            reached = lambda: logged(model) >= after  # noqa: E731
            broken_off(line, reached, number, stdin=stdin, env=environment)

    return run


def partial(model: Path) -> Path:
    return model.with_name("model.partial")


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file, but those of a lock, which holds the process that had it."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != "lock")
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@pytest.mark.parametrize("after", [0, 40, 90])
def test_kill_9_and_resume_end_in_the_weights_of_an_unbroken_run(
    after: int, train: Train, broken: Broken, unbroken: Path, tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGKILL, after=after)
    assert not model.exists()
    train(*RUN, "-o", model, "--resume")
    assert untimed(model) == untimed(unbroken)
    assert not partial(model).exists()


def untimed(model: Path) -> dict[str, object]:
    """Return the bytes of each file of a model, of the log what is no speed.

    The options tell of the folder, which is another for each.
    """
    files: dict[str, object] = {
        name: content.replace(bytes(model), b"model") for name, content in contents(model).items()
    }
    rows = [json.loads(line) for line in (model / "train-log.jsonl").read_text().splitlines()]
    timed = [row.pop("tokens_per_second", None) for row in rows]
    assert any(timed)
    return files | {"train-log.jsonl": rows}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_its_step_and_goes_on_without_its_input(
    number: int, train: Train, broken: Broken, unbroken: Path, tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, number, after=20)
    assert not model.exists()
    train(*RUN, "-o", model, "--resume")
    assert weights(model) == weights(unbroken)
    assert [row["step"] for row in steps(model / "train-log.jsonl")] == list(range(1, 151)), (
        "each step is logged once"
    )


def test_resume_refuses_other_options_and_names_them(train: Train, broken: Broken, tmp_path: Path):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    done = train(*RUN, "--temperature", "0.1", "-o", model, "--resume", code=2)
    assert b"temperature" in done.stderr
    assert not model.exists()


@pytest.fixture
def corpus(pairs: Path, tmp_path: Path) -> Path:
    """A file of pairs that a test may change."""
    return Path(shutil.copy(pairs, tmp_path / "corpus.jsonl"))


def test_a_bad_line_in_the_input_of_a_resumed_run_leaves_its_checkpoint(
    train: Train, broken: Broken, corpus: Path, unbroken: Path, tmp_path: Path
):
    model, cached = tmp_path / "model", ("--cache", tmp_path / "cache")
    broken(model, signal.SIGTERM, *cached, corpus, after=10)
    before, whole = contents(partial(model)), corpus.read_bytes()
    assert "checkpoint.safetensors" in before
    corpus.write_bytes(whole + b"{not json\n")
    refused = train(*RUN, *cached, "-o", model, "--resume", corpus, code=1)
    assert b"corpus.jsonl was" in refused.stderr
    assert contents(partial(model)) == before
    corpus.write_bytes(whole)
    train(*RUN, *cached, "-o", model, "--resume", corpus)
    assert weights(model) == weights(unbroken)


def test_a_store_that_cannot_be_spooled_again_leaves_the_checkpoint(
    train: Train, broken: Broken, corpus: Path, tmp_path: Path
):
    model, cache = tmp_path / "model", tmp_path / "cache"
    broken(model, signal.SIGTERM, "--cache", cache, corpus, after=10)
    before = contents(partial(model))
    shutil.rmtree(cache)
    cache.write_text("a file, where a folder is needed")
    train(*RUN, "--cache", cache, "-o", model, "--resume", corpus, code=1)
    assert contents(partial(model)) == before


def test_ctrl_c_before_the_pairs_are_read_leaves_the_checkpoint(
    start: Start,
    broken: Broken,
    corpus: Path,
    tmp_path: Path,
):
    model, cached = tmp_path / "model", ("--cache", tmp_path / "cache")
    broken(model, signal.SIGTERM, *cached, corpus, after=10)
    before = contents(partial(model))
    lock = next((tmp_path / "cache").glob("*.lock"))
    with lock.open() as held:  # as a run does that makes the store
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(model, *cached, "--resume", corpus)
        assert process.stderr
        assert b"waiting for it" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert contents(partial(model)) == before


def test_changed_inputs_are_refused_with_both_ways_out(
    train: Train, broken: Broken, corpus: Path, tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, corpus, after=10)
    corpus.write_bytes(as_lines(pair_records(20)))
    refused = train(*RUN, "-o", model, "--resume", corpus, code=1).stderr.decode()
    assert "corpus.jsonl was" in refused
    assert "--overwrite" in refused
    assert "another -o" in refused
    assert (partial(model) / "checkpoint.safetensors").exists()


def test_resume_of_stdin_goes_on_with_the_same_and_refuses_other_pairs(
    train: Train, broken: Broken, unbroken: Path, pairs: Path, tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    other = as_lines(pair_records(20))
    refused = train(*RUN, "-o", model, "--resume", stdin=other, code=1)
    assert b"stdin is not what was read of it" in refused.stderr
    train(*RUN, "-o", model, "--resume", stdin=pairs.read_bytes())
    assert weights(model) == weights(unbroken)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("checkpoint.safetensors", flip),
        ("train-log.jsonl", lambda file: file.write_bytes(b"\0" * 80 + b"\n")),
        ("store/texts.bin", flip),
    ],
)
def test_what_was_damaged_since_is_not_gone_on_from(
    train: Train,
    broken: Broken,
    pairs: Path,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path], None],
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, pairs, after=10)
    damage(partial(model) / name)
    told = train(*RUN, "-o", model, "--resume", pairs, code=1).stderr.decode().splitlines()
    assert told[-2].startswith(f"dial-train: {partial(model) / name}: ")
    assert "damaged" in told[-2] and told[-1].startswith("  ")
    assert not model.exists()


def test_a_closed_stdin_goes_on_with_what_was_read(
    broken: Broken,
    installed: Path,
    environment: dict[str, str],
    unbroken: Path,
    tmp_path: Path,
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    line = shlex.join(map(str, (installed / "dial-train", *SMALL, *RUN, "-o", model, "--resume")))
    done = subprocess.run(f"{line} <&-", shell=True, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert weights(model) == weights(unbroken)


def test_the_model_tells_what_it_was_trained_on(
    train: Train, broken: Broken, pairs: Path, tmp_path: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    train(*RUN, "-o", model, "--resume")
    told = json.loads((model / "dialtools.json").read_text())["inputs"]
    digest = sha256(pairs.read_bytes()).hexdigest()
    assert told == [{"name": "-", "bytes": pairs.stat().st_size, "sha256": digest}]


def test_what_becomes_of_files_that_were_read_changes_nothing(
    start: Start, corpus: Path, unbroken: Path, tmp_path: Path
):
    model, held = tmp_path / "model", tmp_path / "held.jsonl"
    held.write_bytes(as_lines(pair_records(10, seed=1)))
    digests = [sha256(path.read_bytes()).hexdigest() for path in (corpus, held)]
    process = start(model, "--validation", held, "--snapshot-every", 60, corpus)
    until(process, lambda: logged(model) > 0)
    corpus.unlink()
    held.write_bytes(held.read_bytes()[:-1])
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr.decode()
    for tells in (model, model / "snapshots" / "step-000150"):
        facts = json.loads((tells / "dialtools.json").read_text())
        told = [facts["inputs"][0], facts["files"]["validation"]]
        assert [file["sha256"] for file in told] == digests
    assert weights(model) == weights(unbroken)


def test_pairs_that_change_while_they_are_read_are_kept_by_no_cache(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def grown(*where: Any, **how: Any) -> int:
        corpus.write_bytes(corpus.read_bytes() + as_lines(pair_records(1)))
        return spool(*where, **how)

    monkeypatch.setattr(material, "spool", grown)
    options = recipe_options(
        method="dse", output=str(tmp_path / "model"), cache=str(tmp_path / "cache")
    )
    options.inputs = (str(corpus),)
    inputs = Inputs(options.inputs)
    with pytest.raises(DataError, match="changed while it was read"):
        material.read_material(tmp_path, options, inputs, tell=str, note_stdin=dict)
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_skipped_records_count_after_a_resume_too(
    train: Train, broken: Broken, corpus: Path, tmp_path: Path
):
    model = tmp_path / "model"
    corpus.write_bytes(b'{"context": 1}\n' + corpus.read_bytes())
    broken(model, signal.SIGTERM, "--on-error", "skip", corpus, after=10)
    train(*RUN, "--on-error", "skip", "-o", model, "--resume", corpus, code=3)
    told = json.loads((model / "dialtools.json").read_text())["counts"]
    assert told["skipped"] == 1


def test_skipped_records_of_a_kept_store_count_and_fail_a_run_that_skips_none(
    train: Train, corpus: Path, tmp_path: Path
):
    run = ("--batch-size", 32, "--max-steps", 1, "--cache", tmp_path / "cache", corpus)
    corpus.write_bytes(b'{"context": 1}\n' + corpus.read_bytes())
    for name in ("spooled", "kept"):
        train(*run, "--on-error", "skip", "-o", tmp_path / name, code=3)
    refused = train(*run, "-o", tmp_path / "strict", code=1)
    assert b"corpus.jsonl:1" in refused.stderr


def test_a_second_run_beside_the_first_is_told_so_in_one_line(
    train: Train,
    start: Start,
    pairs: Path,
    unbroken: Path,
    tmp_path: Path,
):
    model = tmp_path / "model"
    first = start(model, pairs)
    until(first, lambda: (partial(model) / "train-log.jsonl").exists())
    for flag in ("--resume", "--overwrite"):
        second = train(*RUN, "-o", model, flag, code=1)
        assert b"another run is at work here" in second.stderr
        assert len(second.stderr.splitlines()) == 1
    first.communicate(timeout=300)
    assert first.returncode == 0
    assert weights(model) == weights(unbroken)


def test_two_runs_on_one_cache_do_not_mix(
    start: Start, corpus: Path, unbroken: Path, tmp_path: Path
):
    models = [tmp_path / name / "model" for name in ("a", "b")]
    for model in models:
        model.parent.mkdir()
    runs = [start(model, "--cache", tmp_path / "cache", corpus) for model in models]
    for process, model in zip(runs, models, strict=True):
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr.decode()
        assert weights(model) == weights(unbroken)


def test_a_finished_model_of_the_same_job_is_told_and_kept(
    train: Train, corpus: Path, tmp_path: Path
):
    model, run = tmp_path / "model", ("--batch-size", 32, "--max-steps", 3)
    train(*run, "-o", model, "--resume", corpus)
    before = contents(model)
    again = train(*run, "-o", model, "--resume", corpus)
    assert b"finished already" in again.stderr
    assert again.stdout.decode().split() == [str(model)]
    for change in (
        ("--seed", 1, corpus),
        ("--limit", 100, corpus),
        ("--snapshot-every", 2, corpus),
    ):
        refused = train(*run, "-o", model, "--resume", *change, code=1).stderr.decode()
        assert "--overwrite" in refused
        assert "another -o" in refused
    corpus.write_bytes(as_lines(pair_records(20)))
    refused = train(*run, "-o", model, "--resume", corpus, code=1).stderr.decode()
    assert "corpus.jsonl was" in refused
    assert contents(model) == before
    assert not partial(model).exists()


@pytest.mark.parametrize("flag", [(), ("--resume",), ("--overwrite",)])
def test_a_folder_of_that_name_without_our_manifest_is_not_ours(
    flag: tuple[str, ...], train: Train, pairs: Path, tmp_path: Path
):
    model = tmp_path / "model"
    partial(model).mkdir()
    (partial(model) / "precious").write_text("x")
    refused = train("--max-steps", 1, "-o", model, *flag, pairs, code=1)
    assert b"model.partial" in refused.stderr
    assert contents(partial(model)) == {"precious": b"x"}
    assert not model.exists()


@pytest.mark.parametrize("flag", ["--resume", "--overwrite"])
def test_what_others_put_into_a_claimed_folder_is_left_there(
    flag: str, train: Train, broken: Broken, tmp_path: Path, pairs: Path
):
    model = tmp_path / "model"
    broken(model, signal.SIGTERM, after=10)
    (partial(model) / "notes.txt").write_text("lr too high?")
    train(*RUN, "-o", model, flag, stdin=pairs.read_bytes())
    assert contents(partial(model)) == {"notes.txt": b"lr too high?"}


def test_a_run_that_fails_before_its_first_step_leaves_nothing(train: Train, tmp_path: Path):
    train("-o", tmp_path / "model", stdin=b'{"context": ["a"]}\n', code=1)
    assert not list(tmp_path.iterdir())


def test_a_run_killed_before_its_first_checkpoint_logs_its_start_once(tmp_path: Path):
    start = b'{"step": 0, "top-1": 2.0}\n'
    for upto, kept in ((0, b""), (1, start)):
        (tmp_path / steplog.NAME).write_bytes(start)
        steplog.StepLog(tmp_path, upto=upto, tensorboard=None).close()
        assert (tmp_path / steplog.NAME).read_bytes() == kept
