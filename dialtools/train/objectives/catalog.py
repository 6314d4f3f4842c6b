"""The objectives by name, and the options that belong to some of them only."""

from __future__ import annotations

from dialtools.catalog import Entry

_HOME = "dialtools.train.objectives"
OBJECTIVES = {
    "contrast": Entry(
        f"{_HOME}.contrast:Contrast",
        "contexts and responses that belong together (DSE, WMDC, SimCSE, TOD-BERT)",
    ),
    "matching": Entry(
        f"{_HOME}.matching:Matching", "responses seen through their context (DialogueCSE)"
    ),
    "siamese": Entry(f"{_HOME}.siamese:Siamese", "a matching head over context and response"),
    "template": Entry(
        f"{_HOME}.template:Templates", "utterances, their templates, and the two together (TaDSE)"
    ),
    "mlm": Entry(f"{_HOME}.mlm:MaskedWords", "masked words (domain adaptation)"),
}
RECIPE_OF = {
    "contrast": "dse",
    "matching": "dialoguecse",
    "siamese": "siamese-m",
    "template": "tadse",
    "mlm": "mlm",
}
"""The recipe of --objective where --method names none."""

OWNERS = {
    "loss": ("contrast",),
    "head": ("contrast", "template"),
    "weights": ("contrast",),
    "weights_mean_one": ("contrast",),
    "batches": ("contrast",),
    "mask_false_negatives": ("contrast", "template"),
    "temperature": ("contrast", "matching", "template"),
    "speaker_tokens": ("contrast", "mlm"),
    "negatives": ("matching", "siamese"),
    "context_turns": ("matching", "siamese"),
    "aggregation": ("matching",),
    "mask_share": ("mlm",),
    "mask_most": ("mlm",),
    **dict.fromkeys(
        (
            "template_temperature",
            "pair_temperature",
            "utterance_share",
            "template_share",
            "pair_share",
            "pair_negatives",
            "align",
            "align_epochs",
        ),
        ("template",),
    ),
}
