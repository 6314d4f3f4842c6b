"""The last record of a command that failed: to the byte, only where it may be, always noticed."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from dialtools.errors import DataError
from dialtools.streams.failure import ATOMIC_BYTES, failure_record, refuse_failed, telling_failure


def test_a_record_that_a_filter_has_written_anew_is_noticed_where_it_is_the_last():
    for anew in (b'{"dialtools_failed":"x:1: odd"}\n', b'{"dialtools_failed": "x:1: odd"}'):
        for before in (b"", b'{"text":"a"}\n'):
            with pytest.raises(DataError, match="failed: x:1: odd"):
                refuse_failed(before + anew, "<stdin>")
    refuse_failed(b'{"text":"dialtools_failed"}\n', "<stdin>")
    refuse_failed(b"", "<stdin>")


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (DataError("odd", where="x:1"), "x:1: odd"),
        (OSError(28, "No space left"), "[Errno 28] No space left"),
        (ValueError("odd"), "ValueError: odd"),
        (KeyboardInterrupt("stopped"), "stopped"),
        (SystemExit(1), "SystemExit: 1"),
        (DataError('a"\n\udc80'), 'a\\"\\n\\\\udc80'),
        (DataError("\1" * 9999), "\\u0001" * 661),
        (DataError("xé" * 9999), "xé" * 220 + "x"),
    ],
)
def test_a_failure_is_one_record_that_a_pipe_takes_in_one_piece(error: BaseException, says: str):
    record = failure_record(error)
    assert record.decode() == f'\t{{"dialtools_failed":"{says}"}}\n'
    assert len(record) < ATOMIC_BYTES


def test_what_was_written_comes_before_the_record_and_the_error_goes_on(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file, pytest.raises(ValueError, match="odd"), telling_failure(file):
        file.write(b"{}\n")
        raise ValueError("odd")
        # the file is still open: the record does not wait for its end
    assert path.read_bytes() == b'{}\n\t{"dialtools_failed":"ValueError: odd"}\n'
    with path.open("wb") as file, telling_failure(file):
        file.write(b"{}\n")
    assert path.read_bytes() == b"{}\n"


def test_the_record_is_out_before_the_error_leaves_the_block(tmp_path: Path):
    with (tmp_path / "x").open("wb") as file:
        with pytest.raises(DataError), telling_failure(file):
            raise DataError("odd")
        assert (tmp_path / "x").read_bytes() == b'\t{"dialtools_failed":"odd"}\n'


@pytest.mark.parametrize("error", [BrokenPipeError(), GeneratorExit()])
def test_nobody_is_told_who_does_not_read_on(error: BaseException):
    file = io.BytesIO()
    with pytest.raises(type(error)), telling_failure(file):
        raise error
    assert file.getvalue() == b""


def test_a_terminal_and_a_closed_file_are_told_nothing():
    screen, closed = Terminal(), io.BytesIO()
    with pytest.raises(DataError), telling_failure(screen):
        raise DataError("odd")
    assert screen.getvalue() == b""
    with pytest.raises(DataError), telling_failure(closed):
        closed.close()
        raise DataError("odd")


def test_an_interrupted_writer_tells_it_if_that_need_not_wait_and_leaves_what_is_unfinished():
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer:
        with pytest.raises(KeyboardInterrupt), telling_failure(writer):
            writer.write(b'{"a":')
            raise KeyboardInterrupt
        assert os.read(read, 99) == b'\n\t{"dialtools_failed":""}\n'
        os.set_blocking(write, False)
        filled = 0
        try:
            while True:
                filled += os.write(write, bytes(4096))
        except BlockingIOError:
            os.set_blocking(write, True)
        with pytest.raises(KeyboardInterrupt), telling_failure(writer):
            raise KeyboardInterrupt
        while filled:
            filled -= len(os.read(read, min(filled, 1 << 16)))
        writer.close()
        assert reader.read() == b'{"a":'


def test_the_record_is_found_wherever_it_stands_and_no_other_tab_is_taken_for_it():
    for lines in (b"{}\n", b'{"a":\t1}\n', b'\t{"dialtools": 1}\n', b"dialtools_failed"):
        refuse_failed(lines, "x")
    whole = failure_record(DataError("no\nroom"))
    for lines in (whole, b"{}\n" + whole, b'{}\n{"a":' + whole + b"{}\n" + whole):
        with pytest.raises(DataError) as error:
            refuse_failed(lines, "x")
        assert str(error.value) == "x: the command that wrote this failed: no\nroom"
    for broken in (whole[:-4], whole[:-4] + b"\n" + b"{}\n"):
        with pytest.raises(DataError, match=r"^x: .* failed: it does not tell how$"):
            refuse_failed(broken, "x")
