"""When something was said, as seconds since 1970: from ISO 8601, numbers, what spreadsheets write.

Times without a zone are UTC.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

from dialtools.corpora.fields import json_kind, unwrapped
from dialtools.corpora.options import DAY_FIRST, MONTH_FIRST
from dialtools.shown import quoted
from dialtools.streams.carried import Carried

SPREADSHEET = re.compile(
    r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})"  # three numbers with one separator
    r"(?:[ T,]+(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,](\d+))?)?\s*([ap])?\.?(?:m\.?)?)?",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\s*+[+-]?(?:\d++\.?\d*+|\.\d++)(?:e[+-]?\d++)?\s*+", re.ASCII | re.IGNORECASE)
DURATION = re.compile(r"PT([+-]?\d+(?:\.\d+)?)S", re.ASCII)
"""As records have the durations of a table."""
CLOCK = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,4}):(\d{2}(?:[.,]\d+)?)\s*", re.ASCII)
"""h:mm:ss or m:ss; of h:mm alone the order is the same."""
ZONE = re.compile(r"(?<!\s)\s*+(?:(Z|UTC|GMT)|([+-]\d{2}(?::?\d{2})?))$", re.IGNORECASE)
OF_NUMBER, OF_TIME, OF_TEXT = range(3)
"""The kinds of a rank: by text alone they stand after numbers and times."""
RECENT = (5e8, 5e9)
"""Seconds since 1970 that a clock may have shown: 1985 to 2128."""
PER_SECOND = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From where on a number is in ns, us, ms: as seconds it would be after the year 5000."""

EPOCH = datetime(1970, 1, 1)
Rank = tuple[int, float, str]
"""What a value is sorted by: its kind, then its number or seconds, then its text."""


class BadTime(ValueError):
    """No time; the message says what was found, `hint` what to do about it."""

    hint: str | None = None


class Ambiguous(BadTime):
    """A date whose day and month only the user can tell."""

    hint = f"--time-format {DAY_FIRST} or {MONTH_FIRST} tells"


def seconds(value: Any, style: str | None = None) -> float:
    """Return the seconds since 1970 of a value.

    Args:
        value: a number, a text, or a date or time as Arrow has it.
        style: day-first, month-first or a strptime pattern, for texts; None is ISO 8601.

    Raises:
        BadTime: if it is none.
    """
    value = unwrapped(value)
    if isinstance(value, Carried):
        return seconds(str(value))
    text = value.strip() if isinstance(value, str) else ""
    if text and style and "%" in style:
        return _by_pattern(text, style)
    count = number(value)
    if count is not None:
        return _scaled(count)
    if text:
        return _text(text, style)
    kind = repr(value) if isinstance(value, str) else json_kind(value)
    raise BadTime(f"expected a time, got {kind}")


def rank(value: Any, style: str | None = None) -> Rank:
    """Return a key to sort by: numbers by value, then times, then anything else as text.

    Raises:
        BadTime: if a date can be read in two ways, or a value is not in the style that was asked
            for.
    """
    value = unwrapped(value)
    if isinstance(value, Carried):
        value, style = str(value), None
    count = None if style and "%" in style else _count(value)
    if count is not None:
        return (OF_NUMBER, count, "")
    try:
        plain = isinstance(value, str) and style is None
        return (OF_TIME, _text(value.strip(), None) if plain else seconds(value, style), "")
    except BadTime as error:
        if isinstance(error, Ambiguous) or (style and value not in (None, "")):
            raise
        return (OF_TEXT, 0.0, "" if value is None else str(value))


def by_moment(ranks: list[Rank]) -> list[Rank]:
    """Return the ranks of a dialogue that tells its times in several ways, by seconds since 1970.

    Beside times a number is one, too; of numbers alone, those of which some are in seconds and
    others in ms, us or ns. Other ranks are returned as they are.
    """
    numbers = [number for kind, number, _ in ranks if kind == OF_NUMBER]
    scaled = [_scaled(number) for number in numbers]
    if not numbers:
        return ranks
    timed = any(kind == OF_TIME for kind, _, _ in ranks)
    recent = RECENT[0] <= min(scaled) and max(scaled) <= RECENT[1]
    # of one unit, recent ones differ by a factor of ten at most, and units by a thousand
    if not timed and not (recent and max(numbers) > 10 * min(numbers)):
        return ranks
    moments = iter(scaled)
    return [
        (OF_TIME, next(moments), "") if kind == OF_NUMBER else (kind, value, text)
        for kind, value, text in ranks
    ]


def _count(value: Any) -> float | None:
    """Return a number, or the seconds of a time of day or since a beginning; else None."""
    if isinstance(value, str) and (clock := CLOCK.fullmatch(value)):
        hours, minutes, rest = clock.groups()
        return int(hours or 0) * 3600 + int(minutes) * 60 + float(rest.replace(",", "."))
    return number(value)


def number(value: Any) -> float | None:
    """Return a finite number, or the one that a text is; whole numbers keep all their digits.

    Of a duration it is its seconds.
    """
    if isinstance(value, str) and (duration := DURATION.fullmatch(value)):
        value = duration[1]
    is_text_of_number = isinstance(value, str) and NUMBER.fullmatch(value)
    if type(value) not in (int, float) and not is_text_of_number:
        return None
    try:
        told = int(value) if type(value) is not float else value
    except ValueError:
        told = float(value)
    try:
        return told if math.isfinite(told) else None
    except OverflowError:
        return None


def _scaled(value: float) -> float:
    return next((value / unit for low, unit in PER_SECOND if abs(value) >= low), float(value))


def _since_1970(when: datetime) -> float:
    if when.tzinfo is None:
        return (when - EPOCH).total_seconds()
    return when.timestamp()


def _by_pattern(text: str, pattern: str) -> float:
    try:
        return _since_1970(datetime.strptime(text, pattern))
    except (ValueError, OverflowError):
        raise BadTime(f"expected a time like {quoted(pattern)}, got {quoted(text)}") from None


def _text(text: str, style: str | None) -> float:
    try:
        return _since_1970(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    zone = ZONE.search(text)
    if zone and ":" in text[: zone.start()]:  # as databases write it: a blank before, UTC for Z
        try:
            return _since_1970(datetime.fromisoformat(text[: zone.start()] + (zone[2] or "+00:00")))
        except (ValueError, OverflowError):
            pass
    parts = SPREADSHEET.fullmatch(text)
    if not parts:
        raise BadTime(f"expected a time, got {quoted(text)}")
    return _spreadsheet(parts, text, style)


def _spreadsheet(parts: re.Match[str], text: str, style: str | None) -> float:
    first, _, second, third, hour, minute, second_of_time, fraction, half = parts.groups()
    if len(first) < 4 and len(third) not in (2, 4):  # 1.2.3 is no date
        raise BadTime(f"expected a time, got {quoted(text)}")
    if len(first) > 2:
        year, month, day = first, second, third
    elif style is None:
        raise Ambiguous(f"{quoted(text)}: day or month first?")
    elif style == DAY_FIRST:
        day, month, year = first, second, third
    else:
        month, day, year = first, second, third

    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise BadTime(f"expected a time, got {quoted(text)}")
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    clock = (hours, int(minute or 0), int(second_of_time or 0))
    try:
        whole = _since_1970(datetime(_full_year(year), int(month), int(day), *clock))
        return whole + float(f"0.{fraction or 0}")
    except ValueError as error:
        manner = f", read {style}" if style else ""
        raise BadTime(f"{quoted(text)}: {error}{manner}") from None


def _full_year(year: str) -> int:
    """Return a year with its century; of two digits, one from 1970 to 2069."""
    if len(year) > 2:
        return int(year)
    return int(year) + (2000 if int(year) < 70 else 1900)
