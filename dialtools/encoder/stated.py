"""What the folder of a model states of it beside weights and tokenizer: sentence-transformers'
modules, pooling and length, and our own training options.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialtools.encoder.catalog import POOLINGS, USUAL_POOLING
from dialtools.encoder.sidefile import SideFile, as_json, read_side_file
from dialtools.encoder.tokens import SPEAKER_TOKENS
from dialtools.errors import ModelError

OLD_POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_mean_tokens": "mean",
}
"""Booleans by which older sentence-transformers states a pooling."""
THEIR_NAMES = {"last": "lasttoken"}
"""Poolings that sentence-transformers calls otherwise."""
LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Where sentence-transformers states max_seq_length, beside the weights."""
USAGE = "config_sentence_transformers.json"
"""What sentence-transformers writes beside modules.json."""
THEIRS = "sentence_transformers."
"""How the types of its own modules begin."""
STATIC = "StaticEmbedding"
"""What sentence-transformers calls a static encoder."""
WORD_WEIGHTS = "WordWeights"
"""And what each token counts in a mean (`token_weights`)."""
KNOWN_MODULES = ("Transformer", WORD_WEIGHTS, "Pooling", "Normalize", "Dropout", STATIC)
"""What may stand in modules.json; dropout does nothing after training."""
LAYERS, POOLER = "WeightedLayerPooling", "Dense"
"""What may besides, where `dialtools.json` names the pooling that they are part of."""
CENTRED = ["Normalize", "Dense", "Normalize"]
"""How a model ends that takes a centre off its vectors (`center`)."""
MOST_MODULES = 64
BY_HAND = "--pooling NAME takes the encoder with a pooling of your own, and nothing behind it"


@dataclass(frozen=True)
class Stated:
    """What a folder states.

    Attributes:
        transformer: the folder of weights and tokenizer, in or below that of the model.
        static: it is a table of vectors, no transformer.
        pooling, max_length: None where it states none.
        max_length_file: the file that states it, or would.
        dimension: the length of vectors that pooling was made for.
        modules: folders by kind, where the user names no pooling.
        speaker_tokens: turns open with the token of their speaker.
        lower_case: texts are lower-cased, whatever the tokenizer does.
        center: the folder of what is taken off vectors, if anything is.
        token_weights: the folder of what each token counts in a mean, the user's own too.
    """

    transformer: Path
    static: bool
    pooling: str | None
    max_length: int | None
    max_length_file: Path
    dimension: int | None
    normalize: bool
    speaker_tokens: bool
    lower_case: bool
    modules: dict[str, str]
    center: Path | None = None
    token_weights: Path | None = None


def read_stated(folder: Path, *, pooling: str | None = None) -> Stated:
    """Read what a folder states; `pooling` is the user's own, which is not contradicted.

    Raises:
        ModelError: naming file and field, if one holds something else than it should, or if the
            model has a part that is not known here.
    """
    path = folder / "modules.json"
    listed = listed_modules(path)
    centred = _ends_in_center(listed)
    modules = _in_order(listed[:-2] if centred else listed, path)
    config = SideFile.read(folder / "config.json")
    model2vec = config.table.get("model_type") == "model2vec"
    static = STATIC in modules or (not modules and model2vec)
    transformer = folder / modules.get(STATIC if static else "Transformer", "")
    ours = SideFile.read(folder / "dialtools.json")
    own, dimension = (None, None) if pooling else _stated_pooling(folder, modules, ours, static)
    weights = modules.get(WORD_WEIGHTS)
    if weights is not None and (static or plain(pooling or own or USUAL_POOLING) != USUAL_POOLING):
        if pooling is None:
            message = f"{as_json(WORD_WEIGHTS)}: weights of tokens whose vectors are not averaged"
            raise ModelError(message, where=path, hint=BY_HAND)
        weights = None
    length = _length_file(transformer, modules, asked=pooling is None)
    whole = Stated(
        transformer=transformer,
        static=static,
        pooling=own,
        max_length=length.count("max_seq_length"),
        max_length_file=length.path,
        dimension=dimension,
        normalize="Normalize" in modules or (static and config.flag("normalize")),
        speaker_tokens=ours.tables("options").flag("speaker-tokens"),
        lower_case=length.flag("do_lower_case"),
        modules=modules,
        center=folder / listed[-2][1] if centred else None,
        token_weights=None if weights is None else folder / weights,
    )
    # a pooling of the user's own has nothing behind it
    return replace(whole, modules={}, center=None) if pooling else whole


def _length_file(transformer: Path, modules: dict[str, str], *, asked: bool) -> SideFile:
    """Return the file that states how long texts may be; an empty one if there is none.

    Raises:
        ModelError: if a transformer among modules has lost it, and is asked for as it is.
    """
    files = (SideFile.read(transformer / name) for name in LENGTH_FILES if modules)
    found = next((file for file in files if file.table), None)
    if found is None and asked and "Transformer" in modules:
        message = f"no {LENGTH_FILES[0]}, which tells how long texts may be"
        raise ModelError(message, where=transformer, hint=f"is the copy whole? {BY_HAND}")
    return found or SideFile(transformer / LENGTH_FILES[0], {})


def _stated_pooling(
    folder: Path, modules: dict[str, str], ours: SideFile, static: bool
) -> tuple[str | None, int | None]:
    """Return the pooling that a folder states, and the length of vectors that it was made for."""
    _refuse_lost_modules(folder, there=bool(modules) or static)
    named = _named(ours, modules)
    _refuse_unknown(modules, folder / "modules.json", named=named)
    if "Pooling" not in modules:
        if "Transformer" in modules:
            message = "no Pooling among its modules"
            hint = f"is the copy whole? {BY_HAND}"
            raise ModelError(message, where=folder / "modules.json", hint=hint)
        return None, None
    config = _pooling_file(folder, modules["Pooling"])
    pooling = _pooling(config)
    if named and pooling == plain(named):
        pooling = named
    return pooling, config.count("word_embedding_dimension")


def check_stated(encoder: Any, stated: Stated, folder: Path) -> None:
    """Refuse what a folder states and its encoder cannot do.

    Raises:
        ModelError: naming the file.
    """
    special = encoder.special
    least = len(special.prefix) + len(special.suffix) + 1
    if stated.max_length and stated.max_length < least:
        message = f"max_seq_length: expected {least} or more, got {stated.max_length}"
        raise ModelError(message, where=stated.max_length_file)
    if stated.dimension not in (None, encoder.dimension):
        message = (
            f"pooling of {stated.dimension} dimensions, but the encoder has {encoder.dimension}"
        )
        raise ModelError(message, where=folder)
    known = encoder.tokenizer.get_vocab()
    if stated.speaker_tokens and not all(token in known for token in SPEAKER_TOKENS.values()):
        message = "options.speaker-tokens: true, but the tokenizer does not know them"
        raise ModelError(message, where=folder / "dialtools.json")


def plain(pooling: str) -> str:
    """Return the pooling of one layer's tokens that a pooling ends in."""
    target = POOLINGS[pooling].target
    return next(name for name, entry in POOLINGS.items() if entry.target == target)


def _named(ours: SideFile, modules: dict[str, str]) -> str | None:
    """Return the pooling that dialtools.json names, if the modules are those that it needs."""
    name = ours.table.get("pooling")
    entry = POOLINGS.get(name) if isinstance(name, str) else None
    if entry and (LAYERS in modules, POOLER in modules) == (bool(entry.layers), entry.pooler):
        return name
    return None


def is_static(folder: Path) -> bool:
    """Tell whether a folder states a static encoder; a damaged one does not."""
    try:
        return read_stated(folder, pooling=USUAL_POOLING).static
    except ModelError:
        return False


def prompt_left_out(folder: Path) -> str:
    """Return the line on what sentence-transformers puts before texts unasked, and we do not."""
    usage = SideFile.read(folder / USAGE)
    name = usage.text("default_prompt_name")
    prompt = usage.tables("prompts").text(name) if name else None
    if not prompt:
        return ""
    return f"texts go without {as_json(prompt)}, which sentence-transformers puts before them here"


def cut_left_out(folder: Path, dimension: int) -> str:
    """Return the line on how sentence-transformers cuts vectors unasked, and we do not.

    Args:
        dimension: of whole vectors.
    """
    kept = SideFile.read(folder / USAGE).count("truncate_dim")
    if kept is None or kept >= dimension:
        return ""
    return f"vectors are whole; sentence-transformers keeps the first {kept}: --dimensions {kept}"


def has_beside(folder: Path) -> set[str]:
    """Return what a folder states beside encoder and pooling: "centre", "weights" of tokens.

    Raises:
        ModelError: if it is damaged.
    """
    listed = listed_modules(folder / "modules.json")
    centre = {"centre"} if _ends_in_center(listed) else set()
    return centre | ({"weights"} if WORD_WEIGHTS in dict(listed) else set())


def _ends_in_center(listed: list[tuple[str, str]]) -> bool:
    return [kind for kind, _ in listed[-3:]] == CENTRED


def read_modules(path: Path) -> dict[str, str]:
    """Return the kinds of the modules and their folders; nothing without the file.

    Raises:
        ModelError: if it is no list of modules.
    """
    return dict(listed_modules(path))


def listed_modules(path: Path) -> list[tuple[str, str]]:
    """Return the modules in their order, each with its kind and folder; none without the file.

    Only sentence-transformers' own are known by the end of their type: another Pooling, of code
    that comes with the model, may be anything.

    Raises:
        ModelError: if it is no list of modules.
    """
    value = read_side_file(path)
    if value is None:
        return []
    if not isinstance(value, list) or not value or len(value) > MOST_MODULES:
        message = f"expected a list of 1 to {MOST_MODULES} modules, got {as_json(value)}"
        raise ModelError(message, where=path)
    modules = []
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise ModelError(f"[{number}]: expected an object, got {as_json(entry)}", where=path)
        module = SideFile(path, entry, f"[{number}].")
        kind = module.text("type")
        if kind is None:
            raise module.wrong("type", "a text", None)
        name = kind.rsplit(".", 1)[-1] if kind.startswith(THEIRS) else kind
        modules.append((name, module.path_within("path")))
    return modules


def _in_order(listed: list[tuple[str, str]], path: Path) -> dict[str, str]:
    """Return modules by their kind, each of which stands once, the encoder first.

    Raises:
        ModelError: if it is otherwise: what such a list makes of a text nobody can tell.
    """
    kinds = [kind for kind, _ in listed if kind != "Dropout"]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice:
        raise ModelError(f"{as_json(twice)} stands there twice", where=path, hint=BY_HAND)
    late = next((kind for kind in kinds[1:] if kind in ("Transformer", STATIC)), None)
    if late:
        message = f"{as_json(kinds[0])} stands before {as_json(late)}"
        raise ModelError(message, where=path, hint=BY_HAND)
    return dict(listed)


def _refuse_unknown(modules: dict[str, str], path: Path, *, named: str | None) -> None:
    """Refuse a model of which a part would be left out."""
    known = (*KNOWN_MODULES, LAYERS, POOLER) if named else KNOWN_MODULES
    for kind in modules:
        if kind not in known:
            raise ModelError(
                f"{as_json(kind)}: a module that is not known here; its vectors would be others",
                where=path,
                hint=BY_HAND,
            )


def _refuse_lost_modules(folder: Path, *, there: bool) -> None:
    """Refuse what is left of a model of sentence-transformers whose list of modules was lost."""
    left = (USAGE, "1_Pooling", LENGTH_FILES[0])
    lost = None if there else next((name for name in left if (folder / name).exists()), None)
    if lost:
        message = f"no modules.json, which tells its pooling, beside {lost}"
        raise ModelError(message, where=folder, hint=f"is the copy whole? {BY_HAND}")


def _pooling_file(folder: Path, module: str) -> SideFile:
    """Return what a model states of its pooling.

    Raises:
        ModelError: without the file: a copy that lost it would be pooled by our own choice.
    """
    path = folder / module / "config.json"
    if not module or not path.is_file():
        message = f"Pooling: no config.json in its folder {as_json(module)}"
        hint = f"is the copy whole? {BY_HAND}"
        raise ModelError(message, where=folder / "modules.json", hint=hint)
    return SideFile.read(path)


def _pooling(config: SideFile) -> str:
    """Return our name of the pooling that a folder states."""
    flags = [key for key in config.table if key.startswith("pooling_mode_") and config.flag(key)]
    if len(flags) > 1:
        message = f"{len(flags)} poolings at once ({', '.join(flags)})"
        raise ModelError(message, where=config.path, hint=BY_HAND)
    ours = {theirs: name for name, theirs in THEIR_NAMES.items()}
    name: Any = OLD_POOLING_KEYS.get(flags[0]) if flags else config.text("pooling_mode")
    name = ours.get(name, name)
    if name is None and not flags:
        raise ModelError("states no pooling", where=config.path, hint=BY_HAND)
    if name not in POOLINGS:
        message = f"{flags[0] if flags else as_json(name)}: a pooling that is not known here"
        raise ModelError(message, where=config.path, hint=BY_HAND)
    return name
