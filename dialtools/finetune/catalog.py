"""The fine-tuning tasks by name: each is one file that has its options, help, head and loss."""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.finetune"
TASKS = {
    "intent": Entry(f"{_HOME}.intent:Intent", "intents"),
    "select": Entry(f"{_HOME}.select:Select", "responses among candidates"),
    "act": Entry(f"{_HOME}.act:Act", "acts of the next system turn, or of the current one"),
}
