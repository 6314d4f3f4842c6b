"""What a run leaves: a model directory, with its card, snapshots, log and configuration."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialtools.encoder import modeldir
from dialtools.encoder.card import card
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.token_vectors import UNBOUNDED
from dialtools.encoder.tokens import SPEAKER_TOKENS
from dialtools.streams.atomic import atomic_directory, link_or_copy
from dialtools.streams.resume import Work
from dialtools.streams.tally import counted
from dialtools.train import steplog
from dialtools.train.center import take_center
from dialtools.train.loop import Trainer
from dialtools.train.objectives.catalog import SpeakerOptions
from dialtools.train.options import TrainOptions, hyperparameters, objective_options
from dialtools.train.recipe import replaced
from dialtools.train.saved import in_words

SNAPSHOTS = "snapshots"
FIGURES = ("loss", "alignment", "uniformity", "accuracy", "top-1", "top-3", "top-10")
"""Figures of the step whose weights are saved, which a model tells."""
HOW = "recipe `{method}` from {start} ({shape}), {learnt}.{replaced}{taught}{saved}"
MORE = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/directory")
vectors = model.encode(["i need a table for two", "book a restaurant"])
```

{dimension} dimensions, {pooling} pooling, {lengths}, {normalised}.{nested}{joined}

| | |
| --- | --- |
{rows}
{validated}
"""
LONG = "a long context loses its newest words there, its oldest in `dial-embed`"
BESIDE = """`train-log.jsonl` each step, `dialtools.toml` the options
(`dial-train --config dialtools.toml PAIRS -o NEW` runs it again on the same pairs)"""


def write_model(
    directory: Path,
    work: Work,
    trainer: Trainer,
    options: TrainOptions,
    *,
    figures: Mapping[str, float],
    validation: Mapping[str, Any] | None = None,
) -> None:
    """Write what loads as a model: encoder, what the objective keeps, provenance, card.

    Args:
        directory: exists and is empty.
        figures: of the step whose weights these are, by name; `step` where it is not the last.
        validation: scores before and after (`Validation.facts`), at the end of a run.
    """
    take_center(trainer)
    final = {name: figures[name] for name in FIGURES if name in figures}
    kept = figures.get("step", trainer.step)
    if kept != trainer.step:
        final = {"step": kept, **final}
    compared = {"validation": validation} if validation else {}
    alone = final.keys() - (validation["before"].keys() if validation else ())
    text = trained_card(
        trainer,
        options,
        figures={name: round(value, 4) for name, value in final.items() if name in alone},
        validation=validation,
    )
    counts = {"pairs_trained_on": len(trainer.sampler.pairs), "steps": trainer.step}
    made = work.job.provenance({**trainer.setting.store.counts, **counts})
    facts = {**made, "final": final, **compared, "weights": trainer.encoder.digest()}
    modeldir.save(trainer.encoder, directory, provenance=facts, card=text)
    trainer.objective.save(directory)


def keep_snapshot(
    work: Work, trainer: Trainer, options: TrainOptions, *, figures: Mapping[str, float]
) -> None:
    """Keep the model as it is now in the working folder.

    One that an interrupted run has kept of this step is the same.
    """
    snapshot = work.folder / SNAPSHOTS / f"step-{trainer.step:06d}"
    if snapshot.exists():
        return
    snapshot.parent.mkdir(exist_ok=True)
    with atomic_directory(snapshot, overwrite=False) as directory:
        write_model(directory, work, trainer, options, figures=figures)


def save_run(
    work: Work,
    trainer: Trainer,
    options: TrainOptions,
    *,
    figures: Mapping[str, float],
    validation: Mapping[str, Any] | None,
    config: str,
) -> None:
    """Write the model directory of a run that has ended, from its working folder.

    Args:
        figures, validation: of `write_model`.
        config: text of dialtools.toml, which runs it again on its pairs.
    """
    with atomic_directory(work.final, overwrite=work.overwrite) as directory:
        write_model(directory, work, trainer, options, figures=figures, validation=validation)
        shutil.copy(work.folder / steplog.NAME, directory / steplog.NAME)
        (directory / "dialtools.toml").write_text(config, encoding="utf-8")
        snapshots = work.folder / SNAPSHOTS
        if snapshots.is_dir():
            # a second name, not a copy: the working folder, which has the first, goes next
            shutil.copytree(snapshots, directory / SNAPSHOTS, copy_function=link_or_copy)


def trained_card(
    trainer: Trainer,
    options: TrainOptions,
    *,
    figures: Mapping[str, float],
    validation: Mapping[str, Any] | None,
) -> str:
    """Return the card of a trained encoder in Markdown.

    Args:
        figures: of the last step, by name.
        validation: scores before and after (`Validation.facts`), at the end of a run.
    """
    values, encoder, setting = hyperparameters(options), trainer.encoder, trainer.setting
    pairs, turns = len(trainer.sampler.pairs), int(setting.store.window[setting.pairs].max())
    most = encoder.max_length
    how = HOW.format(
        method=options.method,
        start=f"`{options.model}`" if options.model else "nothing",
        shape=encoder.shape,
        learnt=f"{counted(pairs, 'pair')}, {counted(trainer.step, 'step')}",
        replaced=_replaced(options),
        taught=_taught(options),
        saved=f"\nSaved: {in_words(values)}.",
    )
    more = MORE.format(
        dimension=encoder.dimension,
        pooling=f"{'weighed ' * (encoder.token_weights is not None)}{encoder.pooling}",
        lengths=f"{most} tokens at most" if most < UNBOUNDED else "texts of any length",
        normalised="unit length" if encoder.normalize else "not normalised",
        nested=_nested(options),
        joined=_joined(options, encoder, turns),
        rows="\n".join(f"| {name} | {value} |" for name, value in figures.items()),
        validated=_validated(validation) if validation else "",
    )
    return card("A dialogue encoder", how, more=more, beside=BESIDE)


def _replaced(options: TrainOptions) -> str:
    """Return the sentence on what the preset replaced of the recipe, or nothing."""
    values = [
        f"{key} {pair.preset} (not {pair.published})" for key, pair in replaced(options).items()
    ]
    return f"\nIn place of what the recipe publishes: {', '.join(values)}." if values else ""


def _taught(options: TrainOptions) -> str:
    """Return the sentence on where texts were to lie beside what pairs say, or nothing."""
    if options.teacher:
        weight = options.teacher_weight
        return (
            f"\nBeside the pairs, it learnt the vectors of `{options.teacher}` (weight {weight:g})."
        )
    if hold := hyperparameters(options).hold_weight:
        return f"\nTexts were held where `{options.model}` has them (weight {hold:g})."
    return ""


def _validated(validation: Mapping[str, Any]) -> str:
    """Return the scores on validation pairs before and after, as a table."""
    before, after = validation["before"], validation["after"]
    rows = (
        f"| {name.removeprefix('validation_')} | {before[name]:.4g} | {after[name]:.4g} |"
        for name in before
    )
    head = (
        f"On {counted(validation['pairs'], 'validation pair')}; top-k is the share, in percent, of "
        f"contexts whose response is among the k nearest of {validation['candidates']}:"
    )
    return "\n".join(["", head, "", "| | start | this model |", "| --- | --- | --- |", *rows, ""])


def _nested(options: TrainOptions) -> str:
    """Return the sentence on the prefixes that serve as shorter vectors, or nothing."""
    lengths = getattr(objective_options(options), "matryoshka", ())
    if not lengths:
        return ""
    *more, last = sorted(lengths)
    every = f"{', '.join(map(str, more))} or {last}" if more else str(last)
    use = f"`dial-embed --dimensions {min(lengths)}`"
    return f"\nThe first {every} of them were trained to serve alone: {use}."


def _joined(options: TrainOptions, encoder: Encoder, turns: int) -> str:
    """Return the sentence on contexts of several turns in other libraries, or nothing."""
    if encoder.role_tokens:
        user, system = SPEAKER_TOKENS.values()
        told = f'`{user}` or `{system}`: `model.encode("{user}hi{system}yes")`'
        return f"\nIn sentence-transformers each turn begins with {told}; {LONG}."
    if turns < 2 or not isinstance(objective_options(options), SpeakerOptions):
        return ""
    if encoder.special.earlier:
        return "\nContexts of several turns are encoded as in training by `dial-embed` alone."
    separator = json.dumps(encoder.tokenizer.decode(encoder.special.separator))
    told = f"`model.encode({separator}.join(turns))`, oldest turn first"
    return f"\nA context of several turns is, in sentence-transformers, {told}; {LONG}."
