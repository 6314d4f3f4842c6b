"""AmazonQA: qa_<Category>.json.gz, a question and its answer a line.

The later release has all answers of a question. https://jmcauley.ucsd.edu/data/amazon/qa, no
licence stated. Published: 1.4 million answered questions of 21 categories (ParlAI's dump of both
releases: 5,334,606 pairs). Lines are written as Python writes a dict, or as JSON, some of it with
the escape \\' that JSON has not; none of it is ever executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import orjson

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, Unexpected, each_file, field, stated, turn

ESCAPES = re.compile(r"\\(.)")
LONGEST = 1 << 20


@each_file("qa_*.json", "qa_*.json.gz", "QA*_*.json", "QA*_*.json.gz")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield each answered question of each line; `more` is the category."""
    category = PurePosixPath(name).name.partition("_")[2].partition(".")[0]
    for number, line in files.lines(name):
        where = files.where(name, number)
        yield from (Raw(where, None, pair, category) for pair in _pairs(line))


def _pairs(line: str) -> Iterator[Any]:
    """Yield what stands on a line: itself, or each answer to each question of a product.

    Broken lines are yielded as their text.
    """
    value = _value(line)
    questions = value.get("questions") if isinstance(value, dict) else None
    if not isinstance(questions, list):
        yield value
        return
    for asked in questions:
        answers = asked.get("answers") if isinstance(asked, dict) else None
        for answer in answers if isinstance(answers, list) else [None]:
            text = answer.get("answerText") if isinstance(answer, dict) else None
            yield {
                "asin": value.get("asin"),
                "question": asked.get("questionText") if isinstance(asked, dict) else None,
                "answer": text,
            }


def _value(line: str) -> Any:
    """Return the object of a line, written as JSON or as Python does; a broken line as it is."""
    for text in (line, ESCAPES.sub(lambda e: "'" if e[1] == "'" else e[0], line)):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
    if len(line) > LONGEST:
        return line
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python has not
        try:
            # by way of JSON: what that has not (bytes, sets) is a broken line, too
            return orjson.loads(orjson.dumps(ast.literal_eval(line.strip())))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return line


def record(raw: Raw) -> dict[str, Any]:
    """Return the question as history, the answer as its response; its domain is the category."""
    if isinstance(raw.value, str):
        raise Unexpected("neither JSON nor a Python dict")
    question, answer = field(raw.value, "question", str), field(raw.value, "answer", str)
    fields = stated(domain=raw.more or None, asin=field(raw.value, "asin", str, default=None))
    return {"history": [turn("user", question)], "speaker": "system", "response": answer} | fields
