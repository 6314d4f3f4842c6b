"""A transformer and its tokenizer from a folder: loaded whole, or not at all.

What is in the folder is data from a stranger. Sizes are compared before anything is allocated,
names and shapes after loading; code that comes with a model runs only if the user says so.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.growth import refuse_growth
from dialtools.encoder.sidefile import SideFile, as_json, stays_inside
from dialtools.encoder.tokens import check_ids
from dialtools.encoder.weights import Shape, a_few, describe_misfit, opened
from dialtools.errors import ModelError, short_of
from dialtools.shown import first_line

ENCODER_HALVES = ("t5", "mt5", "umt5", "t5gemma")
"""Kinds of which only the encoder is loaded; a saved half does not say that it is one."""
INDEX = "model.safetensors.index.json"
PARTS_OF_TRAINING = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
"""Files of a checkpoint of distributed training, which transformers prefers to a model's."""
REPEATED = re.compile(r"(layers?|groups?|group_num|blocks|stages|experts|depths?)$")
"""Ends of the names of numbers that say how often something is built."""
HEADS = re.compile(r"(?:^n|num|attention)_heads?$")
"""Ends of the names of numbers that a width is divided by; transformers itself refuses 0."""
SHARES = re.compile(r"(dropout|dropout_prob|dropout_rate|pdrop)$")
"""Ends of the names of numbers that are shares of what is dropped."""
MOST_BUILT = 512
"""So often without a look at the weights: some keep their parts in one tensor."""
MOST_LABELS = 1_000_000
SPARE_NUMBERS = 1 << 26
"""By which a model may be larger than twice its weights, so that the misfit is told by names."""
FLOATS = ("F16", "BF16", "F32", "F64")
OLD_BUFFERS = re.compile(r"(position_ids|token_type_ids|inv_freq|masked_bias|attn\.bias)$")
"""Constants that older versions of transformers kept among the weights."""
ATTENTIONS = (None, "eager", "sdpa")
"""Implementations that a configuration may choose; others are fetched, as code."""


def load_pretrained(folder: Path, *, trust_remote_code: bool) -> tuple[Any, Any]:
    """Load backbone and tokenizer.

    Raises:
        ModelError: if they are damaged, do not belong together, or if the weights are not all of
            those of the model that config.json describes.
    """
    held = look_over(folder)
    quiet_transformers()
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer

    local: Any = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    try:
        config = AutoConfig.from_pretrained(folder, **local)
        kind = AutoModelForTextEncoding if config.model_type in ENCODER_HALVES else AutoModel
        _settle(config)
        _refuse_oversize(kind, config, held, folder, trust_remote_code=trust_remote_code)
        backbone, report = kind.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # they are in the report, which is complete
            output_loading_info=True,
            **local,
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
    except Exception as error:  # transformers raises whatever its files raise
        if isinstance(error, ModelError) or short_of(error):
            raise
        message = f"not a model that transformers can load: {first_line(error)}"
        hint = "--trust-remote-code runs it" if "custom code" in message else None
        raise ModelError(message, where=folder, hint=hint) from None
    _drop_missing_pooler(backbone, report["missing_keys"])
    _refuse_misfit(backbone, report, held, folder)
    _take_in(backbone)
    check_tokenizer(tokenizer, _rows(backbone, folder), folder)
    return backbone, tokenizer


def _rows(backbone: Any, folder: Path) -> int:
    """Return how many tokens a backbone knows.

    Raises:
        ModelError: if it is of a kind that has no table of them, as those of letters are.
    """
    try:
        return backbone.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):
        message = f"{backbone.config.model_type}: a kind of model without a table of tokens"
        raise ModelError(message, where=folder) from None


def _settle(config: Any) -> None:
    """Have a backbone compute as we do, whatever its configuration asks for."""
    config.use_cache = False  # decoders would keep keys and values of every batch
    config.return_dict, config.output_attentions = True, False
    config.chunk_size_feed_forward = 0  # batches are no multiples of it
    if getattr(config, "attention_type", None) == "block_sparse":
        # BigBird's, which its first short text would change for all that follow
        config.attention_type = "original_full"
    if config._attn_implementation not in ATTENTIONS:
        config._attn_implementation = None


def _take_in(backbone: Any) -> None:
    """Copy into memory what is mapped from files: a file may be overwritten while we embed.

    Its numbers would change under way, and a shorter one would end the process (SIGBUS).
    """
    with torch.no_grad():
        for tensor in (*backbone.parameters(), *backbone.buffers()):
            tensor.data = tensor.data.clone()


def look_over(folder: Path) -> dict[str, Shape]:
    """Check what can be checked of a folder without loading it; return its tensors by name.

    Raises:
        ModelError: if files are missing or damaged, or config.json describes no such model.
    """
    config = _config_file(folder)
    refuse_growth(folder / "tokenizer.json")
    held: dict[str, Shape] = {}
    for path in _weight_files(folder, config):
        held |= opened(path)[1]
    _check_numbers(config, len(held))
    return held


def quiet_transformers() -> None:
    """Keep the chatter of libraries from the user's terminal."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _config_file(folder: Path) -> SideFile:
    """Read config.json.

    Raises:
        ModelError: if it is not there, or beside it lies what transformers would load instead.
    """
    if (folder / "adapter_config.json").exists():
        raise ModelError(
            "an adapter (adapter_config.json), not a model",
            where=folder,
            hint="merge it into its model first: merge_and_unload() of peft",
        )
    parts = (path.name for path in folder.iterdir() if PARTS_OF_TRAINING.fullmatch(path.name))
    if part := next(parts, None):
        raise ModelError(f"{part}: a part of a training checkpoint, not a model", where=folder)
    config = SideFile.read(folder / "config.json")
    if not config.table:
        raise ModelError("not a model that transformers can load: no config.json", where=folder)
    return config


def _weight_files(folder: Path, config: SideFile) -> list[Path]:
    """Return the files of weights that transformers will read.

    Raises:
        ModelError: if there are none, or an index names what is no file of the folder.
    """
    name = config.path_within("transformers_weights")
    if not name:
        name = WEIGHTS if (folder / WEIGHTS).exists() else INDEX
    path = folder / name
    if name.endswith(".index.json"):
        if path.is_file():
            return _parts(SideFile.read(path))
    elif name.endswith(".safetensors") and path.is_file():
        return [path]
    raise ModelError(
        f"not a model that transformers can load: no {name if name != INDEX else WEIGHTS}",
        where=folder,
        hint="weights are read from safetensors alone: other files may hold code",
    )


def _parts(index: SideFile) -> list[Path]:
    """Return the files that an index names."""
    index.tables("metadata")
    names = set()
    for tensor, name in index.tables("weight_map").table.items():
        ours = isinstance(name, str) and name.endswith(".safetensors") and stays_inside(name)
        if not ours:
            raise index.wrong(f"weight_map.{tensor[:80]}", "a safetensors file of the folder", name)
        names.add(name)
    paths = [index.path.parent / name for name in sorted(names)]
    if missing := [path.name for path in paths if not path.is_file()]:
        message = f"{len(missing)} of {len(paths)} files missing ({a_few(missing)})"
        raise ModelError(message, where=index.path)
    return paths


def _check_numbers(config: SideFile, tensors: int) -> None:
    """Refuse layers that the weights could not have, and shares that are none, before building."""
    labels = config.table.get("num_labels")
    if isinstance(labels, int) and labels > MOST_LABELS:
        raise config.wrong("num_labels", f"at most {MOST_LABELS:,}", labels)
    for name, number in _numbers(config.table, ""):
        if REPEATED.search(name) and number > max(tensors, MOST_BUILT):
            raise ModelError(
                f"{name}: {number:,}, but the weights are {tensors:,} tensors", where=config.path
            )
        if HEADS.search(name) and number < 0:
            raise config.wrong(name, "1 or more", number)
        if SHARES.search(name) and not 0 <= number <= 1:
            raise config.wrong(name, "a share, 0 to 1", number)


def _numbers(value: Any, name: str) -> Iterator[tuple[str, int | float]]:
    """Yield the numbers in a configuration, with the name of the field that each is in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif isinstance(value, int | float):
        yield name, value


def _refuse_oversize(
    kind: Any, config: Any, held: dict[str, Shape], folder: Path, *, trust_remote_code: bool
) -> None:
    """Refuse a configuration of far more numbers than there are, before they take memory."""
    with torch.device("meta"):  # shapes without memory
        model = kind.from_config(config, trust_remote_code=trust_remote_code)
    described = sum(part.numel() for part in (*model.parameters(), *model.buffers()))
    numbers = sum(math.prod(shape.sizes) for shape in held.values())
    if described > 2 * numbers + SPARE_NUMBERS:
        message = f"describes a model of {described:,} numbers, its weights are {numbers:,}"
        raise ModelError(message, where=folder / "config.json")


def _drop_missing_pooler(backbone: Any, missing: set[str]) -> None:
    """Do without BERT's pooler if the weights have none: token vectors do not need it.

    Left in, it would be random, and saved with the model.
    """
    optional = "add_pooling_layer" in inspect.signature(type(backbone).__init__).parameters
    of_pooler = {name for name in backbone.state_dict() if name.startswith("pooler.")}
    names = {name for name in missing if name.startswith("pooler.")}
    if optional and names == of_pooler:
        backbone.pooler = None
        missing -= names


def _refuse_misfit(
    backbone: Any, report: dict[str, Any], held: dict[str, Shape], folder: Path
) -> None:
    """Refuse weights that are not those of the backbone; those of heads do not matter.

    Raises:
        ModelError: naming a few, and how many more.
    """
    body = {name for name, _ in backbone.named_children()} - {"pooler"}
    own = f"{backbone.base_model_prefix}."

    def short(name: str) -> str:
        return name.removeprefix(own)

    missing = report["missing_keys"]
    unexpected = {
        name
        for name in report["unexpected_keys"]
        if missing or (short(name).split(".")[0] in body and not OLD_BUFFERS.search(name))
    }
    shapes = {name: (tuple(has), tuple(is_)) for name, has, is_ in report["mismatched_keys"]}
    misfit = describe_misfit(missing=missing, unexpected=unexpected, shapes=shapes)
    hint = "is the copy whole, and config.json that of these weights?"
    if misfit:
        raise ModelError(f"not the weights of this model: {misfit}", where=folder, hint=hint)
    parameters = {name for name, _ in backbone.named_parameters()}
    odd = [n for n, shape in held.items() if shape.kind not in FLOATS and short(n) in parameters]
    if odd:
        kinds = ", ".join(sorted({held[name].kind for name in odd}))
        raise ModelError(f"weights in {kinds}, not in floating point: {a_few(odd)}", where=folder)


def check_tokenizer(tokenizer: Any, rows: int, folder: Path) -> None:
    """Refuse a tokenizer that is broken, or whose ids the model does not know.

    Raises:
        ModelError: with what is wrong.
    """
    longest = tokenizer.model_max_length
    if isinstance(longest, bool) or not isinstance(longest, int | float) or not longest >= 1:
        message = f"model_max_length: expected a number from 1 on, got {as_json(longest)}"
        raise ModelError(message, where=folder / "tokenizer_config.json")
    check_ids(
        lambda: tokenizer.get_vocab(),  # not asked for before it is called: it may have none
        lambda text: tokenizer(text, add_special_tokens=True)["input_ids"],
        rows=rows,
        pad=getattr(tokenizer, "pad_token_id", None) or 0,
        where=folder,
    )
    # what transformers makes of a folder without the tokenizer's own file
    if set(tokenizer.get_vocab()) <= set(getattr(tokenizer, "all_special_tokens", ())):
        hint = "is the copy whole? tokenizer.json, or a vocabulary, belongs to it"
        raise ModelError("its tokenizer knows special tokens alone", where=folder, hint=hint)
