"""What a long job has finished, kept beside its output until the output is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from dialtools.errors import ConfigError, OutputError
from dialtools.streams.atomic import atomic_file, check_parent, is_special


class Ledger:
    """Finished pieces by key, in `OUTPUT.partial`: a line that tells what the job is, then a line for each piece.

    Each entry is on the disk when `add` returns, in one rename: a job that is killed repeats no
    finished piece. Stdout (-), devices and pipes have nothing beside them: their pieces are kept in
    memory only.
    """

    def __init__(
        self, output: str | Path, about: Mapping[str, Any], *, resume: bool, overwrite: bool
    ) -> None:
        """Begin a ledger, or read the one there is.

        Raises:
            OutputError: if there is one, and it may be neither gone on with nor replaced, or none
                can be written.
            ConfigError: if it is that of another job, naming what differs.
        """
        self.path = Path(f"{output}.partial")
        self.kept = str(output) != "-" and not is_special(output)
        self.about = orjson.loads(orjson.dumps(about))
        self.pieces: dict[str, Any] = {}
        if not self.kept:
            return
        check_parent(self.path)
        if not self.path.exists():
            return
        if not (resume or overwrite):
            raise OutputError(
                "an interrupted run is here",
                where=self.path,
                hint="--resume goes on, --overwrite starts over",
            )
        if resume:
            self._read()

    def _read(self) -> None:
        try:
            before, *rows = map(orjson.loads, self.path.read_bytes().splitlines())
            self.pieces = {row["key"]: row["found"] for row in rows}
            changed = [
                f"{k} was {before.get(k)}, is {v}"
                for k, v in self.about.items()
                if before.get(k) != v
            ]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise OutputError(
                "not the record of an interrupted run",
                where=self.path,
                hint="--overwrite starts over",
            ) from None
        if changed:
            raise ConfigError(
                f"cannot resume: {'; '.join(changed)}",
                hint="run it as it was, or start over with --overwrite",
            )

    def add(self, key: str, found: Any) -> None:
        """Keep a finished piece."""
        self.pieces[key] = found
        if not self.kept:
            return
        rows = ({"key": key, "found": value} for key, value in self.pieces.items())
        with atomic_file(self.path, overwrite=True) as path:
            path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in (self.about, *rows)))

    def remove(self) -> None:
        """Forget the pieces, now that the output is written."""
        if self.kept:
            self.path.unlink(missing_ok=True)
