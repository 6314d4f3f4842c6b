"""What is wrong with a line that is no record, and what to do about its file."""

from __future__ import annotations

import re

TO_UTF8 = "`iconv -f cp1252 -t utf-8` makes UTF-8 of what Windows or Excel wrote"
FROM_UTF16 = "`iconv -f utf-16 -t utf-8` makes UTF-8 of it"
OTHERWISE = {
    b"\xff\xfe": FROM_UTF16,
    b"\xfe\xff": FROM_UTF16,
    b"\xfd7zXZ": "unpack it first: `xz -dc FILE |`",
    b"BZh": "unpack it first: `bzip2 -dc FILE |`",
    b"PK\3\4": "unpack it first: `unzip -p FILE |`",
    b"Rar!": "unpack it first",
    b"7z\xbc\xaf": "unpack it first",
}
"""How files begin that are no JSON lines, and what makes some of them."""
TAR, TAR_AT = b"ustar", 257
UNTAR = "unpack it first: `tar -xf`"
TRAILING = "content after document"
"""What orjson says of a second record on a line."""
SEVERAL = "a record a line is expected: `jq -c .` writes several on a line so"
NOT_A_NUMBER = re.compile(rb"[:,\[]\s*(?:NaN|-?Infinity)\b")
WITHOUT_NAN = "NaN and Infinity are no JSON; `jq -c .` makes null of NaN, and numbers of Infinity"
NO_OBJECT = "expected a JSON object"
NUL, NO_UTF8, NOT_JSON = "NUL", "invalid UTF-8", "not JSON"
OF_TURNS = "`jq -c '{turns: .}'` makes a dialogue of each list of turns"
OF_LISTS = "`jq -c '.[] | {turns: .}'` makes a dialogue of each list of turns in a list"
OF_TEXTS = f"{OF_TURNS}; `jq -r '.[]'` makes lines of a list of texts, for --from text"
WHOLE_DOCUMENT = (
    "a record a line is expected: `jq -c .` writes indented ones so; a corpus as it was published "
    "is named with --from (`dialtools formats` lists them)"
)
OTHER_LINES = (
    "--from text takes each line as an utterance; dial-pairs --from csv reads tables, and all "
    "commands read what it writes"
)
JSON_AS_TEXT = (
    "--from jsonl reads a record a line, --from NAME a corpus (`dialtools formats`); "
    "--from text takes each line as an utterance"
)


def hint_on(line: bytes, number: int, why: str, maker: str | None = None) -> str | None:
    """Return what to do about a file with a line that is no JSON object, if that can be said.

    Args:
        number: of the line, from 1.
        why: it is none, as `why_not_json` says, or NO_OBJECT.
        maker: what makes such files, where --from does not name their format.
    """
    if TRAILING in why and line.lstrip().startswith(b"{"):
        return SEVERAL
    if why.startswith(NOT_JSON) and NOT_A_NUMBER.search(line):
        return WITHOUT_NAN
    if number == 1:
        if other := of_other_kind(line):
            return other
        if line.strip().endswith((b"{", b"[", b",")):
            return WHOLE_DOCUMENT
        if why == NO_OBJECT and line.lstrip().startswith((b'["', b"[{")):
            return OF_LISTS
        if why == NO_OBJECT and line.lstrip().startswith(b'"'):
            return OF_TEXTS
        if not why.startswith((NUL, NO_UTF8)) and line.strip()[:1] not in b'{["':
            return maker or OTHER_LINES
    return TO_UTF8 if why.startswith(NO_UTF8) else None


def of_other_kind(line: bytes) -> str | None:
    """Return what to do about a file whose first line is that of another kind of file."""
    if line.startswith(TAR, TAR_AT):
        return UNTAR
    return next((hint for begins, hint in OTHERWISE.items() if line.startswith(begins)), None)


def why_not_json(line: bytes, error: Exception) -> str:
    """Say what is wrong with a line: a NUL, bytes that are not UTF-8, or broken JSON, and where."""
    if b"\0" in line:
        return f"{NUL} at byte {line.index(0) + 1}"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f"{NO_UTF8} at byte {bad.start + 1}"
    return f"{NOT_JSON}: {str(error).split(': line')[0]}"
