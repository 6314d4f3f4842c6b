"""How a fresh tokenizer reads texts of any script, before it looks for pieces of words.

As BERT does, but marks that are vowels or sounds of their own stay: without them है and हूँ
were one word, as were か and が. Where words stand together without blanks (Thai, Burmese,
Khmer), a text longer than a word may be is cut, else all of it were one unknown word.
"""

from __future__ import annotations

from functools import cache
from typing import Any

LONGEST = 100
"""Characters of a word; WordPiece takes a longer one for an unknown one."""
ACCENTS = r"[\p{Mn}&&[^\u0900-\u1cff\u3099\u309a\ua800-\uabff\x{11000}-\x{11fff}]]"
"""Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic: many do not type them."""
TOGETHER = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"


def normalizer() -> Any:
    """Return what cleans a text and makes its letters small, without accents."""
    from tokenizers import Regex, normalizers

    return normalizers.Sequence(
        [
            normalizers.BertNormalizer(lowercase=True, strip_accents=False),
            normalizers.NFD(),
            normalizers.Replace(Regex(ACCENTS), ""),
            normalizers.NFC(),
        ]
    )


def pre_tokenizer() -> Any:
    """Return what tells words apart: by blanks and punctuation; a CJK character is one."""
    from tokenizers import Regex, pre_tokenizers

    run = Regex(f"{TOGETHER}{{1,{LONGEST}}}")
    return pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(run, "isolated")]
    )


@cache
def _steps() -> tuple[bytes, bytes]:
    return normalizer().__getstate__(), pre_tokenizer().__getstate__()


def reads_any(backend: Any) -> bool:
    """Tell whether these are the steps of a tokenizer."""
    parts = (backend.normalizer, backend.pre_tokenizer)
    return None not in parts and tuple(part.__getstate__() for part in parts) == _steps()
