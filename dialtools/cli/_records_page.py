"""dialtools-records(5): the table of records in roff."""

from __future__ import annotations

from dialtools.cli._records import RECORDS, RecordKind
from dialtools.cli._roff import bold, definition, header, italic, roff
from dialtools.streams.bounds import BOUNDS, size_text

OPENING = """
A record is a JSON object on a line, or a row of a Parquet or Arrow file.
A record has fields; in a table, and in a file of embeddings, they are its columns.
Fields in \\fBbold\\fR must be there; fields that are not listed here travel along
untouched wherever the kind of record stays the same.
Labels and names of speakers are the same whether an accent is a character of its own or
not (Unicode NFC); texts stay byte for byte as they are.
A whole number beyond 64 bits becomes the text of its digits. A record that nests
deeper than 200 levels (\\fB\\-\\-bounds nesting=\\fR) is refused.
.PP
Columns that JSON has no kind for stay as they are from table to table, but objects and
maps beside vectors become JSON. In JSON, and in all that dial\\-pairs and dial\\-augment
write, they are text: times in ISO 8601 with all their digits (those of a zone in UTC),
durations as PT1.5S, decimals as digits, bytes in base64; a map is a list of
[key, value].
A table whose columns do not fit their buffers, or whose texts are not UTF-8, is
refused before anything is read from it.
""".strip()
CLOSING = """
.SH FAILURES
A command that fails while it writes JSON lines to a pipe leaves as its last record
.PP
.nf
{"dialtools_failed": "chats.jsonl:9: turns[3].text: expected a string"}
.fi
.PP
after a tab, which JSON does not see and readers find fast. Readers of the suite stop
there with exit status 1 and its message, whatever \\fB\\-\\-on\\-error\\fR says, in the middle
of joined streams too. An Arrow stream of a command that failed has no end mark, and is
refused. A writer of JSON lines that was killed (kill \\-9) leaves neither, and a filter
between that drops lines or fields (grep, jq select) may drop that record: only
\\fBset \\-o pipefail\\fR tells of these.
.SH COLUMNS OF RECORDS
A table that is a file has the fields of all records, null where one has none, and of
numbers the type that holds all of them. The columns of an Arrow stream are those of the
first thousands of records: \\fBdial\\-embed\\fR leaves fields out that begin later, and says
so; other commands end, as all do at a value of another type. JSON lines take any record.
.SH FILES OF VECTORS
In Parquet and Arrow a vector is a FixedSizeList of 32 or 16 bit floats, and the
key \\fBdialtools\\fR of the file's metadata is JSON: version, command, options,
the inputs with size and SHA-256, counts, and what the vectors are of (digest of
the weights, pooling, whether scaled to length 1). Vectors of two files are compared
only if they are of one model and one transform; but those of contexts that
\\fB\\-\\-transform to\\-response\\fR moved are compared with responses as they are.
A bare \\fI.npy\\fR or \\fI.fbin\\fR holds one matrix; \\fIFILE.columns.jsonl\\fR
beside it holds ids and labels.
.SH BOUNDS
What \\fB\\-\\-bounds\\fR may name, and how much is accepted without it:
""".strip()


def records_page() -> str:
    """Return the page in roff (man macros)."""
    head = [
        *header("dialtools-records", 5),
        ".SH NAME",
        "dialtools\\-records \\- the records that the commands read and write",
        ".SH DESCRIPTION",
        OPENING,
    ]
    kinds = [line for name, kind in RECORDS.items() for line in _section(name, kind)]
    tail = [CLOSING]
    for key, bound in BOUNDS.items():
        tail += definition(bold(f"{key}={size_text(bound.most)}"), bound.text)
    see = [".SH SEE ALSO", "\\fBdialtools\\fR(7), \\fBdialtools\\-methods\\fR(7)", ""]
    return "\n".join([*head, *kinds, *tail, *see])


def _section(name: str, kind: RecordKind) -> list[str]:
    lines = [f".SH {name.upper()}", f"{roff(kind.summary.capitalize())}:"]
    lines += [f"{roff(kind.commands)}.", ".PP", italic(kind.example)]
    for field_name, field in kind.fields.items():
        # in bold what must be there, in italics what may be
        font = "B" if field.required else "I"
        lines += definition(f"\\f{font}{field_name}\\fR ({field.kind})", field.text)
    return lines
