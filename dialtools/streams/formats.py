"""FORMATS: every format of records, and all that is known of it, in one table.

To add a format, write its reader, its writer or both in a module of this package, and an entry
here. Flags, completion, suffixes and what each command can read or write follow from the entry.
This module is loaded by `--help`, so what an entry names is loaded when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialtools.errors import DataError

COMPRESSED = (".gz", ".zst")
"""What may stand behind a suffix."""
ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
"""Suffixes of what holds files."""
ARROW_FILES = (".arrow", ".feather")
"""Suffixes of Arrow's file format; anything else that is written as Arrow is a stream."""


@dataclass(frozen=True)
class Format:
    """One format of records.

    Attributes:
        summary: what `dialtools formats` says of it.
        suffixes: of the names of its files.
        magic: how its files begin.
        lines: it is text: readers cut it at the ends of lines, and its writer takes blobs of JSON
            lines. Otherwise it is a table: it is read and written in Arrow batches.
        reader: `module:function` from (chunk of lines, policy) to numbers and records; of a table,
            from (open stream, path) to Arrow batches.
        columns: its lines are rows under a header (CSV), which `corpora` reads.
        data_set: only data sets that were published so have it; no suffix leads to it.
        writer: `module:function`, a context manager from (output, overwrite, metadata, floats) to a
            function that takes payloads.
        vectors: `module:function` from (open stream, name) to the matrix that it holds: nothing
            without vectors can be written so.
        seeks: it cannot be written to a pipe.
        beside: what stands after the name of a second file, which its writer writes too.
        metadata: `module:function` from the path of a file to its key-value metadata.
    """

    summary: str
    suffixes: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    lines: bool = False
    reader: str = ""
    columns: bool = False
    data_set: bool = False
    writer: str = ""
    vectors: str = ""
    seeks: bool = False
    beside: str = ""
    metadata: str = ""

    @property
    def marks(self) -> str:
        """What tells its files without --from, for people."""
        names = [f"*{suffix}" for suffix in self.suffixes]
        return ", ".join([*names, "or content"] if self.magic else names)


FORMATS = {
    "jsonl": Format(
        "JSON Lines: a JSON record a line",
        suffixes=(".jsonl", ".ndjson", ".json"),
        lines=True,
        reader="dialtools.streams.chunks:json_records",
        writer="dialtools.streams.sinks:line_writer",
    ),
    "csv": Format(
        "a table, comma-separated; chat logs have one turn a row",
        suffixes=(".csv",),
        lines=True,
        columns=True,
    ),
    "tsv": Format("the same, tab-separated", suffixes=(".tsv",), lines=True, columns=True),
    "text": Format(
        "plain text: an utterance a line, a blank line between dialogues",
        suffixes=(".txt",),
        lines=True,
        reader="dialtools.streams.chunks:text_records",
    ),
    "parquet": Format(
        "Parquet: a table of records",
        suffixes=(".parquet",),
        magic=(b"PAR1",),
        reader="dialtools.streams.tables:parquet_batches",
        writer="dialtools.streams.table_writers:parquet_writer",
        metadata="dialtools.streams.tables:parquet_metadata",
    ),
    "arrow": Format(
        "Arrow IPC, the same: a file, or (.arrows, pipes) a stream, the fast lane between commands",
        suffixes=(*ARROW_FILES, ".arrows"),
        magic=(b"ARROW1", b"\xff\xff\xff\xff"),
        reader="dialtools.streams.tables:arrow_batches",
        writer="dialtools.streams.table_writers:arrow_writer",
        metadata="dialtools.streams.tables:arrow_metadata",
    ),
    "npy": Format(
        "NumPy: a matrix; the other columns lie beside it",
        suffixes=(".npy",),
        magic=(b"\x93NUMPY",),
        writer="dialtools.streams.matrices:npy_writer",
        vectors="dialtools.streams.matrices:read_matrix",
        seeks=True,
        beside=".columns.jsonl",
    ),
    "fbin": Format(
        "rows and dimensions as int32, then float32: what usearch and benchmarks of search read",
        suffixes=(".fbin",),
        writer="dialtools.streams.matrices:fbin_writer",
        vectors="dialtools.streams.matrices:read_fbin",
        seeks=True,
        beside=".columns.jsonl",
    ),
    "ecd": Format(
        "DialogueCSE's training files (ECD, JDDC): contexts, responses, negatives; dial-train",
        lines=True,
        reader="dialtools.streams.ecd:training_records",
        data_set=True,
    ),
    "ecd-select": Format(
        "queries and candidates as published with DialogueCSE",
        lines=True,
        reader="dialtools.streams.ecd:select_records",
        data_set=True,
    ),
    "ecd-sts": Format(
        "scored pairs of texts as published with DialogueCSE",
        lines=True,
        reader="dialtools.streams.ecd:sts_records",
        data_set=True,
    ),
}
DEFAULT = "jsonl"
FOREIGN = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as CSV (UTF-8)"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "export the table as CSV"),
    **dict.fromkeys(
        (".bz2", ".xz", ".lz4", ".br", ".7z"), "unpack them, or make .gz or .zst of them"
    ),
    **dict.fromkeys((".npz", ".h5", ".hdf5"), "make .npy, or Parquet, of it"),
    **dict.fromkeys((".pkl", ".pickle", ".pt"), "they may run code; make JSONL or Parquet of it"),
}
"""Suffixes of files that people have, and what to do with them."""

RECORD_FORMATS = tuple(name for name, f in FORMATS.items() if f.reader or f.columns)
"""What records are read from."""
INPUT_FORMATS = tuple(name for name in RECORD_FORMATS if not FORMATS[name].data_set)
"""The same without the files of single data sets."""
EMBEDDING_FORMATS = tuple(name for name, f in FORMATS.items() if f.writer)
"""What vectors are written to."""
OUTPUT_FORMATS = tuple(name for name in EMBEDDING_FORMATS if not FORMATS[name].vectors)
"""What records are written to."""


def by_suffix(path: str) -> str | None:
    """Return the format that a file's name tells, whatever compresses it."""
    last = last_suffix(path)
    return next((name for name, f in FORMATS.items() if last in f.suffixes), None)


def last_suffix(path: str) -> str | None:
    """Return the last suffix of a file's name, in small letters, whatever compresses it."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in COMPRESSED), None)


def names_beside(path: str, end: str) -> list[str]:
    """Return the names that the columns of a matrix may have, whichever of the two is compressed.

    Args:
        end: what its format adds to its own name.
    """
    suffix = Path(path).suffix
    stems = [path, path.removesuffix(suffix)] if suffix.lower() in COMPRESSED else [path]
    return [f"{stem}{end}{packed}" for stem in stems for packed in ("", *COMPRESSED)]


def is_archive(path: str) -> bool:
    """Tell whether a file's name says that it holds files, in whatever case."""
    return path.lower().endswith(ARCHIVES)


def by_magic(head: bytes) -> str | None:
    """Return the format that the first bytes of a file tell."""
    return next((name for name, f in FORMATS.items() if head.startswith(f.magic)), None)


def input_format(path: str, chosen: str | None, head: bytes = b"") -> str:
    """Return the format by --from, else by suffix, else by magic bytes, else JSONL.

    Raises:
        DataError: of a file whose suffix tells that it is none of these.
    """
    suffix = last_suffix(path)
    if not chosen and (hint := FOREIGN.get(suffix or "")):
        from dialtools.streams.bytesio import display_name

        raise DataError(f"{suffix} files are not read", where=display_name(path), hint=hint)
    return chosen or by_suffix(path) or by_magic(head) or DEFAULT
