"""The log of a run: a line of JSON for each step, and TensorBoard if asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from dialtools.streams.atomic import atomic_file
from dialtools.streams.job_files import damaged

NAME = "train-log.jsonl"


class StepLog:
    """Appends rows, each on the disk for readers at once."""

    def __init__(self, folder: Path, *, upto: int, tensorboard: str | None) -> None:
        """Open the log of a working folder.

        Args:
            upto: the step of the checkpoint, 0 if there is none; later rows, of a run that was
                killed after it, go, and without a checkpoint all do.
            tensorboard: a directory for TensorBoard's files.

        Raises:
            OutputError: if a row is none.
        """
        path = folder / NAME
        rows = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        try:
            kept = [row for row in rows if _is_kept(row, upto)]
        except (KeyError, TypeError, ValueError):
            raise damaged(path) from None
        with atomic_file(path, overwrite=True) as temporary:
            temporary.write_bytes(b"".join(kept))
        self.file = path.open("ab")
        self.writer: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            # what a killed run wrote after its checkpoint is hidden, or all without one
            purged = upto + 1 if upto else 0
            self.writer = SummaryWriter(tensorboard, purge_step=purged if rows else None)

    def add(self, row: dict[str, Any]) -> None:
        """Append a row of figures of the step that it names."""
        self.file.write(orjson.dumps(row) + b"\n")
        self.file.flush()
        if self.writer:
            for name, value in row.items():
                self.writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Close the files."""
        self.file.close()
        if self.writer:
            self.writer.close()


def _is_kept(row: bytes, upto: int) -> bool:
    """Tell whether a row stays; the last may have been cut off in the middle."""
    return upto > 0 and row.endswith(b"\n") and orjson.loads(row)["step"] <= upto
