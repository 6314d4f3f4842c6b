"""The layers of a transformer, one behind the other, whatever its kind calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dialtools.errors import ConfigError
from dialtools.streams.tally import counted

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel


def layer_stack(backbone: PreTrainedModel) -> str | None:
    """Return the name of the list of layers; None if they share weights, or there are none."""
    depth = backbone.config.num_hidden_layers
    return next(
        (
            name
            for name, module in backbone.named_modules()
            if isinstance(module, nn.ModuleList) and len(module) == depth
        ),
        None,
    )


def cut(backbone: PreTrainedModel, layers: int) -> None:
    """Keep the first layers alone, and what follows the last: a norm, in most kinds.

    Raises:
        ConfigError: if it has no more than these.
    """
    depth, stack = backbone.config.num_hidden_layers, layer_stack(backbone)
    if stack is None:
        raise ConfigError(f"--layers {layers}: the layers of the encoder are not kept apart")
    if layers >= depth:
        has = f"the encoder has {counted(depth, 'layer')}"
        raise ConfigError(f"--layers {layers}: {has}, and none behind layer {layers}")
    parent, _, name = stack.rpartition(".")
    owner = backbone.get_submodule(parent)
    setattr(owner, name, getattr(owner, name)[:layers])
    _shorten(backbone.config, depth, layers)


def _shorten(config: PretrainedConfig, depth: int, layers: int) -> None:
    """Cut the lists in a configuration that have an entry for each layer, such as its window."""
    for key, value in config.to_dict().items():
        of_layers = "layer" in key or key == "attention_window"
        if of_layers and isinstance(value, list) and len(value) == depth:
            setattr(config, key, value[:layers])
    config.num_hidden_layers = layers
