"""The encoder: a transformer, its tokenizer, and how its token vectors become one."""

from __future__ import annotations

import json
import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dialtools.catalog import lookup
from dialtools.encoder.catalog import POOLINGS, USUAL_POOLING
from dialtools.encoder.randomness import seeded
from dialtools.encoder.tokens import SPEAKER_TOKENS, SpecialTokens
from dialtools.errors import ConfigError, ModelError

OLD_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
}
"""Booleans by which older sentence-transformers states a pooling; the first that is set counts."""
LONGEST = 512
"""Tokens of a text at most where neither model nor tokenizer states fewer: BERT's positions."""
ENCODER_HALVES = ("t5", "mt5", "umt5", "t5gemma")
"""Kinds of which only the encoder is loaded; a saved half does not say that it is one."""
POSITIONS_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Kinds whose positions begin behind that of padding, so that two of them are never a token's."""
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


class Encoder(nn.Module):
    """Texts (as token ids) to vectors.

    Attributes:
        max_length: tokens of a text at most, special ones included.
        role_tokens: of a model trained with speaker tokens, their ids for unknown, user, system.
        normalize: whether `dial-embed` scales vectors to length 1 unless told otherwise.
    """

    def __init__(
        self,
        backbone: Any,
        tokenizer: Any,
        *,
        pooling: str,
        max_length: int,
        normalize: bool = False,
    ) -> None:
        super().__init__()
        lookup(POOLINGS, pooling, kind="pooling")  # an unknown one is told before any work
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_length = max_length
        self.normalize = normalize
        # in the saved directory too: on the left, GPT-2's positions would shift
        tokenizer.padding_side = "right"
        if tokenizer.pad_token_id is None and tokenizer.eos_token_id is not None:
            tokenizer.pad_token = tokenizer.eos_token
        self.special = SpecialTokens.of(tokenizer)
        self.role_tokens: tuple[int, int, int] | None = None

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        return self.backbone.config.hidden_size

    @property
    def device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    def forward(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, D) float32 pooled vectors."""
        pool = POOLINGS[self.pooling].load()
        hidden_NTD = self.tokens(ids_NT, mask_NT)
        return pool(hidden_NTD.float(), mask_NT)

    def tokens(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, T, D) token vectors; those of padding mean nothing."""
        # Attention without a mask is faster; a GPU would have to be waited for to know of it.
        is_full = mask_NT.device.type == "cpu" and bool(mask_NT.all())
        mask = None if is_full else mask_NT
        return self.backbone(input_ids=ids_NT, attention_mask=mask).last_hidden_state

    def freeze(self, layers: int) -> None:
        """Keep the embeddings and the first layers (1 or more) as they are from now on.

        Raises:
            ConfigError: if nothing would be left to train.
        """
        depth = self.backbone.config.num_hidden_layers
        stacks = (
            name
            for name, module in self.backbone.named_modules()
            if isinstance(module, nn.ModuleList) and len(module) == depth
        )
        stack = next(stacks, None)  # what it is called depends on the kind of model
        if stack is None or layers >= depth:
            raise ConfigError(
                f"--freeze {layers}: the encoder has {depth} layers",
                hint=f"at most {depth - 1} can be frozen; 0 freezes nothing",
            )
        for name, parameter in self.backbone.named_parameters():
            if name.startswith(f"{stack}.{layers}."):
                break  # embeddings stand before the layers
            parameter.requires_grad_(False)

    def digest(self) -> str:
        """Return 64 bits of all weights, in hex, to tell two models apart."""
        total = blake2b(digest_size=8)
        for name, value in sorted(self.backbone.state_dict().items()):
            total.update(name.encode())
            total.update(value.detach().cpu().contiguous().view(torch.uint8).numpy())
        return total.hexdigest()

    def add_tokens(self, tokens: list[str]) -> None:
        """Make sure that each is a single token, which no normalisation changes.

        New ones begin as the mean of all others.
        """
        known = len(self.tokenizer)
        added = self.tokenizer.add_special_tokens(
            {"extra_special_tokens": tokens}, replace_extra_special_tokens=False
        )
        if not added:
            return
        rows = self.backbone.get_input_embeddings().num_embeddings
        self.backbone.resize_token_embeddings(max(rows, len(self.tokenizer)), mean_resizing=False)
        weight = self.backbone.get_input_embeddings().weight
        with torch.no_grad():
            weight[known : len(self.tokenizer)] = weight[:known].mean(0)

    def use_speaker_tokens(self, *, seed: int = 0) -> None:
        """Make sure that [USR] and [SYS] are single tokens, and put them before turns from now on.

        As TOD-BERT does.

        Args:
            seed: of their embeddings, if they are new; without it each process would draw others.
        """
        added = self.tokenizer.add_special_tokens(
            {"extra_special_tokens": list(SPEAKER_TOKENS.values())}
        )
        if added:
            with seeded(seed):
                self.backbone.resize_token_embeddings(len(self.tokenizer), mean_resizing=False)
        user, system = (
            self.tokenizer.convert_tokens_to_ids(token) for token in SPEAKER_TOKENS.values()
        )
        self.role_tokens = (system, user, system)  # who is unknown speaks as the system does

    @classmethod
    def load(
        cls,
        name: str,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        trust_remote_code: bool = False,
    ) -> Encoder:
        """Load any encoder that transformers can, with the pooling and length its directory states.

        Args:
            name: a directory, or a name that is in the local cache; nothing is downloaded.

        Raises:
            ModelError: if it is not there, or is damaged.
        """
        backbone, tokenizer = _load_pretrained(name, trust_remote_code=trust_remote_code)
        stated = _stated_settings(Path(name))
        usual = min(tokenizer.model_max_length, LONGEST)
        wished = max_length or stated.get("max_length") or usual
        encoder = cls(
            backbone,
            tokenizer,
            pooling=pooling or stated.get("pooling", USUAL_POOLING),
            max_length=min(wished, _positions(backbone.config)),
            normalize=stated.get("normalize", False),
        )
        training_options = _read_json(Path(name) / "dialtools.json").get("options") or {}
        if training_options.get("speaker-tokens"):
            encoder.use_speaker_tokens()
        return encoder


def _load_pretrained(name: str, *, trust_remote_code: bool) -> tuple[Any, Any]:
    """Load backbone and tokenizer.

    Raises:
        ModelError: if they are not there, are damaged, or do not belong together.
    """
    quiet_transformers()
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer

    local: Any = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    try:
        config = AutoConfig.from_pretrained(name, **local)
        kind = AutoModelForTextEncoding if config.model_type in ENCODER_HALVES else AutoModel
        config.use_cache = False  # decoders would keep keys and values of every batch
        backbone = kind.from_pretrained(
            name, config=config, dtype=torch.float32, use_safetensors=True, **local
        )
        tokenizer = AutoTokenizer.from_pretrained(name, **local)
    except Exception as error:  # transformers raises whatever its files raise
        raise _not_loaded(name, error) from None
    rows = backbone.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ModelError(
            f"{name}: the tokenizer has {len(tokenizer):,} tokens, the model knows {rows:,}",
            hint="is the tokenizer that of another model?",
        )
    return backbone, tokenizer


def _positions(config: Any) -> int:
    """Return the longest sequence that a backbone has positions for."""
    positions = getattr(config, "max_position_embeddings", LONGEST) or LONGEST
    if config.model_type in POSITIONS_AFTER_PADDING:
        return positions - 2
    return positions


def quiet_transformers() -> None:
    """Keep the chatter of libraries from the user's terminal."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _stated_settings(directory: Path) -> dict[str, Any]:
    """Return what a sentence-transformers directory states of pooling, length and normalisation."""
    modules = _read_json(directory / "modules.json")
    if not isinstance(modules, list):
        return {}
    paths = {module["type"].rsplit(".", 1)[-1]: module["path"] for module in modules}
    stated: dict[str, Any] = {
        "max_length": _read_json(directory / "sentence_bert_config.json").get("max_seq_length"),
        "normalize": "Normalize" in paths,
    }
    if "Pooling" in paths:
        config = _read_json(directory / paths["Pooling"] / "config.json")
        old_names = (new for old, new in OLD_POOLING_KEYS.items() if config.get(old))
        stated["pooling"] = next(old_names, None) or config.get("pooling_mode", USUAL_POOLING)
    return stated


def _read_json(path: Path) -> Any:
    """Return the value of a JSON file, an empty table without the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise ModelError(f"not JSON: {error}", where=path) from None


def not_here(name: str) -> ModelError:
    """Return the error for a model that is neither a directory nor in the local cache."""
    hint = "give a directory with a config.json"
    if HUB_NAME.fullmatch(name):
        hint = f"give a directory, or fetch it first: hf download {name}"
    return ModelError(f"no model {name!r} on this machine", hint=hint)


def _not_loaded(name: str, error: Exception) -> ModelError:
    if not Path(name).is_dir():
        return not_here(name)
    lines = str(error).strip().splitlines()
    reason = lines[0] if lines else type(error).__name__
    return ModelError(f"not a model that transformers can load: {reason}", where=name)
