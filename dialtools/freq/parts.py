"""The counts of all parts of a run added up, as the run's own options have them."""

from __future__ import annotations

from typing import Any

from dialtools.advance import Advance
from dialtools.freq.job import Freq
from dialtools.freq.options import FreqOptions
from dialtools.freq.output import write_frequencies
from dialtools.options import Layer, resolve
from dialtools.streams.join import format_of_parts, join
from dialtools.streams.parts import Whole
from dialtools.streams.policy import Policy

OF_TEXTS = ("field", "unit", "ignore", "annotate")
"""Options of what is counted, which the parts have done."""


def write_gathered(
    whole: Whole, *, output: str, to: str | None, overwrite: bool, advance: Advance
) -> None:
    """Write the frequency records of one run over all that the parts have counted."""
    given: dict[str, Any] = whole.facts["options"]
    if given.get("annotate"):  # no counts, but records, one part after another
        join(whole, output, to=to, overwrite=overwrite, advance=advance)
        return
    kept = {name: value for name, value in given.items() if name not in OF_TEXTS}
    where = {"to": to or format_of_parts(whole), "output": output, "overwrite": overwrite}
    settings = kept | where | {"merge": True}
    options, _ = resolve(FreqOptions, [Layer("the parts", settings)])
    options.inputs = tuple(whole.paths)
    freq = Freq(options, Policy())
    write_frequencies(freq, lambda counts: whole.facts | {"counts": counts})
    advance(len(whole.paths))
