"""Fine-tuning as an evaluation: few examples, a small head, the best state on validation rows.

The protocol is DSE's (app. B.1). A task is one file, with its options, its head and its loss; the
docstring of the file is its help page.
"""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.finetune"
TASKS = {
    "intent": Entry(f"{_HOME}.intent:Intent", "classify intents"),
    "select": Entry(f"{_HOME}.select:Select", "find the response among candidates"),
    "act": Entry(
        f"{_HOME}.act:Act", "predict the acts of the next system turn, or of the current one"
    ),
}
