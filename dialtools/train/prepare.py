"""From a spooled store to what the loop needs: encoder, objective, lengths, precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.catalog import USUAL_POOLING
from dialtools.encoder.device import choose_device, settled_device
from dialtools.encoder.encoder import LONGEST, Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.placed import placed
from dialtools.encoder.quick import quicken
from dialtools.encoder.static import StaticEncoder, fresh_static
from dialtools.encoder.static_start import of_transformer, of_words
from dialtools.encoder.word_vectors import WordVectors
from dialtools.errors import ConfigError
from dialtools.streams.tally import counted
from dialtools.train.catalog import OPTIMISERS
from dialtools.train.data.collate import Lengths
from dialtools.train.data.store import Store, placeholders, read_counts, utterance_texts
from dialtools.train.loop import Trainer, planned_steps
from dialtools.train.objectives.base import Objective, Setting
from dialtools.train.objectives.catalog import ContextOptions, DistillOptions, SpeakerOptions
from dialtools.train.objectives.distill import Distill, hold
from dialtools.train.objectives.with_teacher import SHARE, WithTeacher
from dialtools.train.options import (
    TrainOptions,
    hyperparameters,
    objective_entry,
    objective_options,
)
from dialtools.train.ranks import ALONE, Ranks
from dialtools.train.start import STATIC, TRANSFORMER, is_table

TOKENIZER_TEXTS = 100_000
"""Texts that a fresh tokenizer is trained on at most: more of them change few of its words."""
TOKENIZER_BYTES = 64 << 20
"""And what they take at most, about, where they are long."""


def load_start(options: TrainOptions) -> Encoder | None:
    """Load --model; None without it.

    Raises:
        ConfigError: if it is of the other kind, of which none is made.
    """
    if not options.model:
        return None
    if Path(options.model).is_file():
        return of_words(WordVectors.load(options.model))
    averaged = options.pooling == USUAL_POOLING and is_table(options.model)  # as it has no other
    pooling = None if averaged else options.pooling
    encoder = load_encoder(
        options.model, pooling=pooling, trust_remote_code=options.trust_remote_code
    )
    if options.encoder == TRANSFORMER and isinstance(encoder, StaticEncoder):
        raise ConfigError(f"--encoder transformer: {options.model} is a static encoder")
    return encoder


def check_prefixes(start: Encoder | None, options: TrainOptions) -> None:
    """Check that --matryoshka's prefixes are no longer than the vectors, before pairs are read.

    Raises:
        ConfigError: if one is.
    """
    longest = max(getattr(objective_options(options), "matryoshka", ()), default=0)
    widths = [] if start is None else [start.dimension]
    if start is None or (options.encoder == STATIC and not isinstance(start, StaticEncoder)):
        widths.append(options.hidden)
    if longest > min(widths):
        raise ConfigError(f"--matryoshka {longest}: vectors have {min(widths)} dimensions")


def ready_encoder(start: Encoder | None, directory: Path, options: TrainOptions) -> Encoder:
    """Return the encoder to train: without a start, one whose tokenizer learns spooled texts."""
    encoder = start or _fresh(directory, options)
    if objective_entry(options).templates:
        encoder.add_tokens(placeholders(directory))  # what stands for values is one token each
    return encoder


def as_wished(
    encoder: Encoder,
    store: Store,
    options: TrainOptions,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> Encoder:
    """Return the encoder to train: of a transformer a static one, if so wished.

    Args:
        tell: is given a line before what takes long.
    """
    if options.encoder != STATIC or isinstance(encoder, StaticEncoder):
        return encoder
    tell(f"{options.model}: its {encoder.vocabulary:,} tokens are embedded one by one first")
    device = choose_device(options.device)
    counts = store.token_counts(encoder.vocabulary)
    made = of_transformer(encoder.to(device), counts, dimension=options.hidden)
    if made.dimension < options.hidden:
        tell(f"--hidden {options.hidden}: no more than the {made.dimension} of {options.model}")
    return made


def _fresh(directory: Path, options: TrainOptions) -> Encoder:
    spooled = read_counts(directory / "spool.json")["utterances"]
    size = (directory / "texts.bin").stat().st_size
    every = 1 + max(spooled // TOKENIZER_TEXTS, size // TOKENIZER_BYTES)
    sample = list(utterance_texts(directory, every=every))
    tokenizer = train_tokenizer(sample, vocab_size=options.vocab_size)
    if options.encoder == STATIC:
        return fresh_static(tokenizer, dimension=options.hidden, seed=options.seed)
    return fresh_encoder(
        tokenizer,
        hidden=options.hidden,
        layers=options.layers,
        pooling=options.pooling,
        seed=options.seed,
    )


def build_trainer(
    encoder: Encoder,
    store: Store,
    pairs: np.ndarray,
    options: TrainOptions,
    ranks: Ranks = ALONE,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> Trainer:
    """Put encoder and objective on the device, and settle lengths and precision.

    Args:
        tell: is given a line before what takes long.
    """
    values = hyperparameters(options)
    setting = _setting(encoder, store, pairs, options, ranks)
    objective = _objective(setting, options, tell).to(encoder.device)
    quicken(objective)
    return Trainer(
        objective,
        values,
        precision=setting.precision,
        grad_cache=options.grad_cache,
        max_steps=options.max_steps,
        ranks=ranks,
    )


def _setting(
    encoder: Encoder, store: Store, pairs: np.ndarray, options: TrainOptions, ranks: Ranks
) -> Setting[Any]:
    """Return what an objective works with, the encoder on its device."""
    values, special = hyperparameters(options), objective_options(options)
    device, precision = settled_device(options)
    turns = int(store.window[pairs].max())
    roles = _ready_to_join(encoder, special, turns=turns, seed=options.seed)
    context = max(encoder.max_length, values.max_length)  # of those who learn none as a whole
    if isinstance(special, ContextOptions):
        context = special.context_max_length
    lengths = settle_lengths(encoder, response=values.max_length, context=context, turns=turns)
    encoder.max_length = max(encoder.max_length, lengths.context, lengths.response)
    if values.freeze:
        encoder.freeze(values.freeze)
    if isinstance(encoder, StaticEncoder):
        encoder.sparse = OPTIMISERS[values.optimizer].lazy
    placed(encoder.train(), device, precision)
    return Setting(
        encoder=encoder,
        store=store,
        pairs=pairs,
        options=special,
        seed=options.seed,
        lengths=lengths,
        role_tokens=roles,
        model=options.model,
        precision=precision,
        # as large as is said, whoever encodes them
        max_tokens=options.micro_batch_tokens or encoder.batch_tokens(precision),
        packed=encoder.is_packed,
        processes=1 if options.micro_batch_tokens else ranks.size,
    )


def _objective(
    setting: Setting[Any], options: TrainOptions, tell: Callable[[str], None]
) -> Objective[Any]:
    """Return what learns from the pairs, and where --teacher or --hold-weight has texts as well."""
    objective: Objective[Any] = objective_entry(options).load()(setting)
    values = hyperparameters(options)
    if options.teacher:
        told = replace(setting, pairs=setting.store.lessons, options=DistillOptions())
        return WithTeacher(objective, Distill(told), weight=options.teacher_weight)
    if values.hold_weight:
        tell(f"{options.model} embeds the texts to hold on to first")
        start = _start(setting.encoder, setting.store, options)
        kept = hold(setting, start, reads=_reads(objective, options))
        return WithTeacher(objective, kept, weight=values.hold_weight)
    return objective


def _start(encoder: Encoder, store: Store, options: TrainOptions) -> Encoder:
    """Return the encoder of --model: that which learns, unless it was made of a transformer."""
    if not isinstance(encoder, StaticEncoder) or is_table(options.model or ""):
        return encoder
    return ready_encoder(load_start(options), store.directory, options).to(encoder.device)


def _reads(objective: Objective[Any], options: TrainOptions) -> int:
    """Return how many texts of a teacher's all steps together read."""
    values = hyperparameters(options)
    per_epoch = objective.sampler(values.batch_size).per_epoch
    steps = planned_steps(values, per_epoch, wished=options.max_steps)
    return steps * max(1, values.batch_size // SHARE)


def _ready_to_join(
    encoder: Encoder, special: Any, *, turns: int, seed: int
) -> tuple[int, int, int] | None:
    """Let an encoder tell turns apart that its objective joins; return the tokens of speakers."""
    if not isinstance(special, SpeakerOptions):
        return None
    if isinstance(encoder, StaticEncoder) and turns > 1:
        encoder.tell_turns_apart()
    if not special.speaker_tokens:
        return None
    encoder.use_speaker_tokens(seed=seed)
    return encoder.role_tokens


def settle_lengths(encoder: Encoder, *, response: int, context: int, turns: int) -> Lengths:
    """Return the tokens of a context and of a response at most: those the encoder has places for.

    Args:
        response: as wished.
        context: as wished; 0 is room for as many in each turn, up to 512 or for one turn.
        turns: of the longest context.
    """
    response = min(response, encoder.positions)
    context = context or min(response * turns, max(response, LONGEST))
    return Lengths(context=min(context, encoder.positions), response=response)


def cut_note(trainer: Trainer) -> str:
    """Return the one line that tells how many texts are cut, each as a response; or nothing."""
    setting = trainer.setting
    longest, special = setting.lengths.response, trainer.encoder.special
    room = longest - len(special.prefix) - len(special.suffix)
    ends = setting.store.token_ends
    cut = int(np.count_nonzero(np.diff(ends, prepend=0) > room))
    if not cut:
        return ""
    texts = f"{cut:,} of {counted(len(ends), 'distinct text')}"
    return f"longer than {longest} tokens, and cut as responses: {texts} (--max-length)"


def describe_start(encoder: Encoder, options: TrainOptions) -> str:
    """Return the one line that tells what is trained, where the user may not know; else nothing."""
    words = f"a {len(encoder.tokenizer):,}-word tokenizer trained on these pairs"
    if options.model:
        return "" if options.encoder == TRANSFORMER else f"{options.model}: {encoder.shape}"
    if options.encoder == TRANSFORMER:
        return f"no --model: a fresh encoder ({encoder.shape}) with {words}"
    why = "--encoder transformer sees the order of words, and takes far longer"
    return f"no --model: a static encoder of width {encoder.dimension} with {words}; {why}"
