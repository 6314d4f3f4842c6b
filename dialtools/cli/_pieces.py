"""A long job made of pieces: taken one by one, finished when their scores are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dialtools.cli._run import Run
from dialtools.errors import GateError
from dialtools.streams.resume import Piece, Work


def take_pieces(
    pieces: Iterator[Piece], run: Run, *, total: int, unit: str, resumable: bool
) -> None:
    """Take all pieces; one that an earlier run has made counts, but not for the pace.

    Args:
        resumable: whether a stopped job can be gone on with.
    """
    done = 0
    with run.progress(total, unit) as progress:
        try:
            for piece in pieces:
                done += 1
                if piece.fresh:
                    progress.advance(1, **piece.facts)
                else:
                    progress.skip(1)
                if run.stop_requested:
                    run.interrupted()
        except KeyboardInterrupt:
            advice = "; --resume goes on" if resumable else ""
            run.warn(f"stopped after {done:,} of {total:,} {unit}{advice}")
            raise


@contextmanager
def finishing(work: Work) -> Iterator[None]:
    """Finish a job once its report is written; a gate that is not met comes after that."""
    try:
        yield
    except GateError:
        work.finish()
        raise
    work.finish()
