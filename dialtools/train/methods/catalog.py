"""The methods by name, and the options that belong to some of them only."""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.train.methods"
METHODS = {
    "contrast": Entry(f"{_HOME}.contrast:Contrast", "contexts and responses that belong together (DSE, WMDC, SimCSE, TOD-BERT)"),
    "matching": Entry(f"{_HOME}.matching:Matching", "responses seen through their context (DialogueCSE)"),
    "siamese": Entry(f"{_HOME}.siamese:Siamese", "a matching head over context and response"),
    "mlm": Entry(f"{_HOME}.mlm:MaskedWords", "masked words (domain adaptation)"),
}  # fmt: skip
RECIPE_OF = {"contrast": "dse", "matching": "dialoguecse", "siamese": "siamese-m", "mlm": "mlm"}
"""The recipe of --objective where --method names none."""

OWNERS = {
    "loss": ("contrast",), "head": ("contrast",), "weights": ("contrast",), "weights_mean_one": ("contrast",), "batches": ("contrast",),
    "mask_false_negatives": ("contrast",), "temperature": ("contrast", "matching"),
    "speaker_tokens": ("contrast", "mlm"), "negatives": ("matching", "siamese"), "context_turns": ("matching", "siamese"), "aggregation": ("matching",),
    "mask_share": ("mlm",), "mask_most": ("mlm",),
}  # fmt: skip
