"""The encoder: a transformer, its tokenizer, and how its token vectors become one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.catalog import lookup
from dialtools.encoder import budget, lowered, packed
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.depth import layer_stack
from dialtools.encoder.device import DTYPES, moved
from dialtools.encoder.randomness import seeded
from dialtools.encoder.token_vectors import UNBOUNDED
from dialtools.encoder.tokens import SPEAKER_TOKENS, SpecialTokens, lower_cased
from dialtools.errors import ConfigError, ModelError
from dialtools.streams.tally import counted

LONGEST = 512
"""Tokens of a text at most where neither model nor tokenizer states fewer: BERT's positions."""
POSITIONS_AFTER_PADDING = (
    *("roberta", "xlm-roberta", "camembert", "mpnet", "roberta-prelayernorm", "xlm-roberta-xl"),
    *("data2vec-text", "longformer", "luke"),
)
"""Kinds whose positions begin behind that of padding, so that two of them are never a token's."""
FREQUENCIES = "inv_freq"
"""How the names of buffers end that hold frequencies of rotary positions."""


class Encoder(nn.Module):
    """Texts (as token ids) to vectors.

    Attributes:
        max_length: tokens of a text at most, special ones included.
        role_tokens: of a model trained with speaker tokens, their ids for unknown, user, system.
        normalize: whether `dial-embed` scales vectors to length 1 unless told otherwise.
        lower_case: whether texts are lower-cased, as sentence-transformers' do_lower_case says.
        feels_padding: whether a vector depends on the padding beside its text, as of models that
            mix tokens without regard to the mask (FNet, ConvBERT); it is embedded without any then.
        center: (D,) what `dial-embed` takes off vectors of length 1; `forward` does not.
        token_weights: (V,) how much each token counts in an average; None where all count alike.
    """

    feels_padding = False
    center: np.ndarray | None = None
    token_weights: Tensor | None

    def __init__(
        self,
        backbone: Any,
        tokenizer: Any,
        *,
        pooling: str,
        max_length: int,
        normalize: bool = False,
        lower_case: bool = False,
    ) -> None:
        super().__init__()
        lookup(POOLINGS, pooling, kind="pooling")  # an unknown one is told before any work
        if POOLINGS[pooling].pooler and not hasattr(getattr(backbone, "pooler", None), "dense"):
            raise ModelError(
                f"--pooling {pooling}: the model has no pooler", hint="--pooling cls does without"
            )
        self.backbone = backbone
        self.register_buffer("token_weights", None, persistent=False)
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_length = max_length
        self.normalize = normalize
        self.lower_case = lower_case
        self._whole = ""
        if lower_case:
            lower_cased(tokenizer)
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
    def vocabulary(self) -> int:
        """V, one more than the highest id of a token; of some ids there may be no token."""
        return max(self.tokenizer.get_vocab().values()) + 1

    @property
    def device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    @property
    def positions(self) -> int:
        """The longest sequence that there are positions for."""
        return positions(self.backbone.config)

    @property
    def shape(self) -> str:
        """How deep and wide it is, in words."""
        layers = getattr(self.backbone.config, "num_hidden_layers", None)
        return f"{'? layers' if layers is None else counted(layers, 'layer')} x {self.dimension}"

    def batch_tokens(self, precision: str) -> int:
        """Return the tokens of a batch, to learn from if the encoder is in training."""
        states = self._layers if POOLINGS[self.pooling].layers else 0
        alive = self.dimension * (budget.LIVE_FLOATS + states)
        floats = self.floats_a_token if self.training else alive
        token_bytes = floats * DTYPES[precision].itemsize
        return budget.batch_tokens(self.device, token_bytes, learns=self.training)

    @property
    def is_packed(self) -> bool:
        """Whether it leaves out padding."""
        # a static encoder has no attention
        return getattr(self.backbone.config, "_attn_implementation", None) == packed.NAME

    @property
    def _layers(self) -> int:
        return getattr(self.backbone.config, "num_hidden_layers", 12)

    @property
    def floats_a_token(self) -> int:
        """Activations that are kept for backward, of each token."""
        return self._layers * self.dimension * budget.KEPT_FLOATS

    def forward(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, D) float32 pooled vectors, of tensors on the CPU or on the encoder's device.

        Of those on the CPU no GPU has to be waited for.
        """
        return self.both(ids_NT, mask_NT)[1]

    def tokens(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, T, D) token vectors of the last layer; those of padding mean nothing."""
        return self._states(ids_NT, mask_NT).last_hidden_state

    def both(self, ids_NT: Tensor, mask_NT: Tensor) -> tuple[Tensor, Tensor]:
        """Return (N, T, D) token vectors of the last layer and (N, D) float32 pooled ones."""
        pooling = POOLINGS[self.pooling]
        options = {"output_hidden_states": True} if pooling.layers else {}
        states = self._states(ids_NT, mask_NT, **options)
        tokens_NTD = states.last_hidden_state
        pooled_NTD = tokens_NTD.float()
        if pooling.layers:
            layers = [states.hidden_states[layer].float() for layer in pooling.layers]
            pooled_NTD = torch.stack(layers).mean(0)
        pooled_ND = pooling.load()(pooled_NTD, self.weights_of(ids_NT, mask_NT))
        if pooling.pooler:
            dense = self.backbone.pooler.dense
            pooled_ND = torch.tanh(dense(pooled_ND.to(dense.weight.dtype))).float()
        return tokens_NTD, pooled_ND

    def weights_of(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, T) what each token counts, on the encoder's device; 0 is padding."""
        mask_NT = moved(mask_NT, self.device)
        if self.token_weights is None:
            return mask_NT
        return self.token_weights[moved(ids_NT, self.device)] * mask_NT

    def _states(self, ids_NT: Tensor, mask_NT: Tensor, **options: bool) -> Any:
        if self.is_packed:
            first = first_position(self.backbone.config)
            batch = ids_NT, mask_NT
            return packed.states_of(self._run, batch, self.device, first=first, **options)
        # Attention without a mask is faster; a GPU would have to be waited for to know of it.
        is_full = mask_NT.device.type == "cpu" and bool(mask_NT.all())
        mask = None if is_full else moved(mask_NT, self.device)
        ids_NT = moved(ids_NT, self.device)
        return self._run(input_ids=ids_NT, attention_mask=mask, **options)

    def _run(self, **given: Any) -> Any:
        """Call the backbone: where it learns in 16 bits, with all its weights cast at once."""
        kind = self.device.type
        if self.training and torch.is_autocast_enabled(kind):
            return lowered.called(self.backbone, torch.get_autocast_dtype(kind), given)
        return self.backbone(**given)

    def freeze(self, layers: int) -> None:
        """Keep the embeddings and the first layers (1 or more) as they are from now on.

        Raises:
            ConfigError: if nothing would be left to train.
        """
        depth = self.backbone.config.num_hidden_layers
        stack = layer_stack(self.backbone)
        if stack is None or layers >= depth:
            raise ConfigError(
                f"--freeze {layers}: the encoder has {counted(depth, 'layer')}",
                hint=f"at most {depth - 1} can be frozen; 0 freezes nothing",
            )
        for name, parameter in self.backbone.named_parameters():
            if name.startswith(f"{stack}.{layers}."):
                break  # embeddings stand before the layers
            parameter.requires_grad_(False)

    def lower(self) -> None:
        """Keep the weights in bfloat16 from now on, to embed with; `digest` stays as it was.

        This is 1.3 times as fast on a CPU as autocast, which computes norms in float32. Rotary
        frequencies stay whole: 16 bits are too few for late tokens.
        """
        self._whole = self.digest()
        kept = {k: v for k, v in self.backbone.named_buffers() if k.endswith(FREQUENCIES)}
        self.backbone.to(torch.bfloat16)
        for name, frequencies in kept.items():
            module, _, own = name.rpartition(".")
            setattr(self.backbone.get_submodule(module), own, frequencies)

    def digest(self) -> str:
        """Return 64 bits of all weights, in hex, to tell two models apart; before `lower`."""
        if self._whole:
            return self._whole
        total = blake2b(digest_size=8)
        for name, value in sorted(self.backbone.state_dict().items()):
            total.update(name.encode())
            total.update(value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        if self.center is not None:
            total.update(self.center.data)
        if self.token_weights is not None:
            total.update(self.token_weights.cpu().numpy().data)
        return total.hexdigest()

    def add_tokens(self, tokens: list[str]) -> None:
        """Make sure that each is a single token, which no normalisation changes.

        New ones begin as the mean of all others.
        """
        new = self._added(tokens, seed=0)
        weight = self.backbone.get_input_embeddings().weight
        with torch.no_grad():
            weight[new] = weight[: new.start].mean(0)

    def use_speaker_tokens(self, *, seed: int = 0) -> None:
        """Make sure that [USR] and [SYS] are single tokens, and put them before turns from now on.

        As TOD-BERT does.

        Args:
            seed: of their embeddings, if they are new; without it each process would draw others.
        """
        self._added([*SPEAKER_TOKENS.values()], seed=seed)
        user, system = (
            self.tokenizer.convert_tokens_to_ids(token) for token in SPEAKER_TOKENS.values()
        )
        self.role_tokens = (system, user, system)  # who is unknown speaks as the system does

    def _added(self, tokens: list[str], *, seed: int) -> slice:
        """Add those of the tokens that are not there, with embeddings drawn as the model draws its.

        Returns:
            the rows of the new ones.

        Raises:
            ModelError: if the tokenizer would give them numbers that words have.
        """
        known = len(self.tokenizer)
        if self.vocabulary > known and not set(tokens) <= self.tokenizer.get_vocab().keys():
            message = "its vocabulary leaves out a number: new tokens would take those of words"
            raise ModelError(message, hint="a vocab.txt with a line twice? make the two differ")
        added = self.tokenizer.add_special_tokens(
            {"extra_special_tokens": tokens}, replace_extra_special_tokens=False
        )
        if added:
            rows = self.backbone.get_input_embeddings().num_embeddings
            with seeded(seed):  # rows that pad a table have no token, and go
                for size in (known, max(rows, len(self.tokenizer))):
                    self.backbone.resize_token_embeddings(size, mean_resizing=False)
            self._weigh_new_tokens(known)
        return slice(known, len(self.tokenizer))

    def _weigh_new_tokens(self, known: int) -> None:
        """Let tokens from `known` on count as little as any: they stand in text after text."""
        if self.token_weights is not None:
            rows = self.backbone.get_input_embeddings().num_embeddings
            least = self.token_weights.min().expand(rows - known)
            self.token_weights = torch.cat([self.token_weights[:known], least])


def positions(config: Any) -> int:
    """Return the longest sequence that a backbone has positions for."""
    known = getattr(config, "max_position_embeddings", None) or 0
    if known <= 0:  # T5 and others that count from one token to another; XLNet says -1
        return UNBOUNDED
    return known - 2 if config.model_type in POSITIONS_AFTER_PADDING else known


def first_position(config: Any) -> int:
    """Return the position of a text's first token, as a backbone counts by itself."""
    return config.pad_token_id + 1 if config.model_type in POSITIONS_AFTER_PADDING else 0
