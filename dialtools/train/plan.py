"""What a run of dial-train would do, told before it is done."""

from __future__ import annotations

from dialtools.train.loop import Trainer


def plan(trainer: Trainer, held_out: int) -> dict[str, str]:
    """Return the plan in lines of a name and what is to be said of it.

    Args:
        held_out: pairs kept for validation.
    """
    encoder, options, store = trainer.encoder, trainer.options, trainer.setting.store
    config, lengths = encoder.backbone.config, trainer.setting.lengths
    parameters = sum(p.numel() for p in encoder.parameters())
    trained = sum(p.numel() for p in encoder.parameters() if p.requires_grad)
    frozen = f", {trained / 1e6:,.1f} of them trained" if trained < parameters else ""
    batch = trainer.objective.collate(trainer.sampler.batch(0), 0)
    cached = ", encoded twice to save memory" if trainer.cached(batch) else ""
    validated = f", {held_out:,} held out" if held_out else ""
    return {
        "pairs": f"{len(trainer.setting.pairs):,} to train on{validated}",
        "texts": f"{store.counts['utterances']:,} distinct, {store.counts['tokens']:,} tokens",
        "encoder": f"{options.model or 'fresh'}: {getattr(config, 'num_hidden_layers', '?')} layers x {encoder.dimension}, {parameters / 1e6:,.1f} million parameters{frozen}, {encoder.pooling} pooling",
        "method": f"{options.method}: contexts of {lengths.context} tokens at most, responses of {lengths.response}, learning rate {options.lr:g}",
        "batch": f"{len(batch.pairs):,} pairs, {batch.tokens:,} tokens in the first, {batch.padded:,} with padding, in {len(batch.parts):,} micro-batches{cached}",
        "steps": f"{trainer.total:,}, {trainer.sampler.per_epoch:,} an epoch",
        "device": f"{encoder.device}, {trainer.precision}",
    }
