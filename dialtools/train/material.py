"""From a pair stream to what a run learns from: a whole token store, and which of its pairs.

A store lies in the working folder of the run, or under --cache, where later runs of the same pairs
and tokenizer find it. It is spooled aside and renamed, so that a folder of its name is whole: a bad
record or Ctrl-C leaves neither half a store nor touches one that is there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dialtools import __version__
from dialtools.encoder.descent import beside_weights
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import model_folder
from dialtools.encoder.loading import look_over_model
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.stated import has_beside
from dialtools.encoder.tokens import strange, strange_line
from dialtools.errors import DataError, MissingExtra
from dialtools.roles import USER
from dialtools.streams import checksums
from dialtools.streams.atomic import atomic_directory
from dialtools.streams.bytesio import refuse_missing
from dialtools.streams.chunks import read_chunks
from dialtools.streams.digests import hashed_stdin
from dialtools.streams.formats import last_suffix
from dialtools.streams.full import naming
from dialtools.streams.locks import locked
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import Inputs
from dialtools.streams.tally import counted
from dialtools.streams.vector_files import vector_chunks
from dialtools.train.data.pairs_of_chunk import read_pairs
from dialtools.train.data.spool import spool, tokenise_store
from dialtools.train.data.store import (
    COLUMNS,
    Store,
    check_files,
    is_finished,
    placeholders,
    read_counts,
)
from dialtools.train.data.taught import Taught
from dialtools.train.objectives.catalog import ANY_ROLE
from dialtools.train.options import (
    TrainOptions,
    hyperparameters,
    objective_entry,
    objective_options,
)
from dialtools.train.prepare import (
    as_wished,
    check_prefixes,
    describe_start,
    load_start,
    ready_encoder,
)
from dialtools.train.recipe import preset_note
from dialtools.train.start import STATIC

MOST_PLACEHOLDERS = 1000
"""Each becomes a token; slots of a corpus are dozens, braces in ordinary texts are any number."""
SOME_TEXTS = 1 << 16
"""That tell whether the model knows their words."""
STORE = "store"
TEXTS = "of the pairs alone, in their order"
"""What a store holds: one that was made otherwise is of another name in --cache."""
VALIDATION = "validation"
STDIN = "stdin.json"


@dataclass(frozen=True)
class Material:
    """What a run learns from.

    Attributes:
        encoder: the one to start from.
        train: pairs of `store` to train on.
        validation: a store and the pairs of it that validate, or None.
        skipped: bad records that were left out, by this run or by the one that spooled the store.
    """

    encoder: Encoder
    store: Store
    train: np.ndarray
    validation: tuple[Store, np.ndarray] | None
    skipped: int


def read_material(
    folder: Path,
    options: TrainOptions,
    inputs: Inputs,
    *,
    tell: Callable[[str], None],
    note_stdin: Callable[[Mapping[str, Any]], None],
) -> Material:
    """Read the pairs, unless an earlier run did, and the encoder that they train.

    Args:
        folder: the working folder.
        tell: is given what the user should know, a line at a time.
        note_stdin: is given what was read of stdin (`StreamDigest.content`), if that was an input.

    Raises:
        DataError: for records that are no pairs (under --on-error fail), or fewer than two pairs.
    """
    start = load_start(options)  # one that cannot be used is told before the pairs are read
    check_prefixes(start, options)
    files = [inputs, *([Inputs([options.teacher])] if options.teacher else [])]
    with Policy(options.on_error, dry=options.dry_run) as policy:
        with _store_folder(folder, start, options, files, tell) as place:
            if not _serves(place, shared=place.parent != folder, on_error=options.on_error):
                _spool_inputs(place, options, policy, files)
            if (place / STDIN).is_file():
                note_stdin(json.loads((place / STDIN).read_text()))
            encoder = ready_encoder(start, place, options)
            if not is_finished(place):
                tokenise_store(place, encoder.tokenizer)
            store = Store(place)
        encoder = as_wished(encoder, store, options, tell=tell)
        for line in filter(None, _to_tell(encoder, store, options)):
            tell(line)
        validation = _validation(folder / VALIDATION, options, encoder, policy)
    train, held = divide(store, options)
    if validation is None and len(held):
        validation = (store, held)
    stores = {store, validation[0]} if validation else {store}
    return Material(encoder, store, train, validation, sum(s.counts["skipped"] for s in stores))


@contextmanager
def _store_folder(
    folder: Path,
    start: Encoder | None,
    options: TrainOptions,
    files: Sequence[Inputs],
    tell: Callable[[str], None],
) -> Iterator[Path]:
    """Yield where the store of these pairs is, or is to be made; an entry of --cache is locked."""
    key = None
    if options.cache and not options.dry_run:
        key = cache_key(start, options, [file for each in files for file in each.described()])
        if not key:
            tell("--cache keeps no pairs that come through a pipe")
    if not options.cache or not key:
        yield folder / STORE
        return
    entry = Path(options.cache) / key
    with locked(entry, tell=tell):
        for scrap in entry.parent.glob(f".{key}.*"):  # of a run that was killed: none else is here
            shutil.rmtree(scrap, ignore_errors=True)
        with naming(entry):
            yield entry


def cache_key(
    start: Encoder | None, options: TrainOptions, files: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return the name under which --cache keeps the store of these files and this tokenizer.

    What a file is read as, its name tells as well. There is none for a pipe, whose content is known
    only once it is read.
    """
    if not all("sha256" in file for file in files):
        return None
    parts = [
        *(f"{described['sha256']} {last_suffix(described['name'])}" for described in files),
        _tokenizer(start, options),
        version("tokenizers"),
        str(options.limit),
        str(options.from_),
        *sorted(options.bounds),
        *(f"{name}.{kind}" for name, kind in COLUMNS.items()),
        checksums.KIND,
        TEXTS,
        str(objective_entry(options).templates),
        f"{objective_entry(options).taught} {bool(options.teacher)}",
    ]
    return blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


def _tokenizer(start: Encoder | None, options: TrainOptions) -> str:
    """Return what tells the tokenizer of a run from every other."""
    if not start or not options.model:
        return f"made of the texts {options.vocab_size} by {__version__}"
    backend = getattr(start.tokenizer, "backend_tokenizer", None)
    # what files say is read in more than one way; only one in Python has nothing else to tell
    return backend.to_str() if backend else beside_weights(model_folder(options.model))


def _serves(place: Path, *, shared: bool, on_error: str) -> bool:
    """Tell whether a spooled store is there that serves.

    One of --cache that left records out does not serve a run that is to fail for them, or to put
    them aside.

    Raises:
        DataError: if it was damaged since.
    """
    done = place / "spool.json"
    if not done.is_file():
        return False
    check_files(place)
    return not shared or on_error == "skip" or not read_counts(done)["skipped"]


def _spool_inputs(
    place: Path, options: TrainOptions, policy: Policy, files: Sequence[Inputs]
) -> None:
    """Spool the pair stream.

    Raises:
        DataError: if there are fewer than two pairs, an objective that wants templates has none, or
            texts with more braces than those have, or a file changed meanwhile.
    """
    reads_stdin = not options.inputs or "-" in options.inputs
    watched = hashed_stdin() if reads_stdin else nullcontext()
    with watched as stdin, atomic_directory(place, overwrite=True) as scrap:
        taught = objective_entry(options).taught
        read, chunks_in = (Taught(), vector_chunks) if taught else (read_pairs, read_chunks)
        chunks = chunks_in(options.inputs, format=options.from_, policy=policy)
        lessons = None
        if options.teacher:
            lessons = vector_chunks([options.teacher], format=None, policy=policy)
        pairs = spool(scrap, chunks, policy, read=read, limit=options.limit, lessons=lessons)
        if pairs < 2:
            hint = "dial-pairs makes pairs from dialogues"
            raise DataError(f"{counted(pairs, 'pair')}: nothing to contrast", hint=hint)
        if objective_entry(options).templates:
            count = len(placeholders(scrap))
            if not 0 < count <= MOST_PLACEHOLDERS:
                message = f"{count} placeholders such as {{SLOT}} in the templates"
                raise DataError(message, hint="dial-augment makes templates")
        for each in files:
            each.check()
        if stdin:
            write_json(scrap / STDIN, stdin.content())


def _to_tell(encoder: Encoder, store: Store, options: TrainOptions) -> Iterator[str]:
    """Yield what the user should know of the start and the pairs; empty lines are nothing."""
    yield describe_start(encoder, options)
    yield from _left_out(options, encoder)
    yield preset_note(options)
    yield _strange(store, encoder, options)
    yield _unread(store, options)
    yield _alike(store, options)
    yield from _not_there(store, options)


def _left_out(options: TrainOptions, encoder: Encoder) -> Iterator[str]:
    """Yield what to tell of parts that the start has and its training does without."""
    name = options.model
    if not name or Path(name).is_file():
        return
    kinds = has_beside(model_folder(name))
    if "centre" in kinds and not hyperparameters(options).center and options.max_steps != 0:
        yield f"{name}: trained without its centre; dialtools center gives what is learnt a new one"
    if "weights" in kinds and encoder.token_weights is None:
        yield f"{name}: trained without its weights of tokens, of which a mean alone has use"


def _strange(store: Store, encoder: Encoder, options: TrainOptions) -> str:
    """Return the line on texts of which the start knows few words, empty if they are few."""
    ends = np.append(0, store.token_ends[:SOME_TEXTS])
    lacking = strange(encoder.tokenizer, (store.tokens[: ends[-1]], ends))
    return strange_line(options.model or "the encoder", int(lacking.sum()), len(lacking))


def _unread(store: Store, options: TrainOptions) -> str:
    """Return the line on what pairs hold in vain, empty if that is nothing."""
    entry, told = objective_entry(options), []
    both = int(np.count_nonzero(~store.of_one_text(np.arange(len(store)))))
    if both and not entry.contexts:
        told.append(f"reads responses alone: the contexts of {counted(both, 'pair')} are left out")
    pairs = int(np.count_nonzero(np.diff(store.negative_ends, prepend=0)))
    if pairs and not entry.named_negatives:
        told.append(f"reads no negatives: those of {counted(pairs, 'pair')} are left out")
    weighed = int(np.count_nonzero(~np.isnan(store.weight)))
    if weighed and not hasattr(objective_options(options), "weights"):
        told.append(f"reads no weights: those of {counted(weighed, 'pair')} are left out")
    apart = int(np.count_nonzero(np.asarray(store.similar) == 0))
    if apart and not entry.dissimilar:
        told.append(f"learns from pairs that are similar: {counted(apart, 'pair')} left out")
    return f"method {options.method} {'; '.join(told)}" if told else ""


def _alike(store: Store, options: TrainOptions) -> str:
    """Return the line on texts paired with themselves, which teach a table nothing, or ""."""
    entry = objective_entry(options)
    if options.encoder != STATIC or entry.templates or entry.taught:
        return ""
    if not store.of_one_text(np.arange(len(store))).all():
        return ""
    return (
        "each text is paired with itself, and without dropout the two are alike: dial-pairs makes "
        "pairs of dialogues, or of labelled texts (--kind same-label), that teach more; so does "
        "--model TRANSFORMER --method simcse"
    )


def _not_there(store: Store, options: TrainOptions) -> Iterator[str]:
    """Yield what options ask for and no pair has."""
    own = _own(store, options)
    windows = map(str, sorted({*options.window} - {*np.unique(store.window[own]).tolist()}))
    if absent := ", ".join(windows):
        yield f"--window {absent}: no pair is of that size"
    if getattr(options, "weights", None) == "given" and np.isnan(store.weight).all():
        yield "--weights given: no pair has a weight, and all count alike"
    if getattr(options, "batches", None) == "by-kind" and np.ptp(store.kind[own]) == 0:
        yield "--batches by-kind: all pairs are of one kind"
    of_one_role = np.ptp(store.response_role[own]) == 0
    if getattr(options, "negatives_from", None) == ANY_ROLE and of_one_role:
        yield "--negatives-from any: the responses are all of one role, or none says its own"
    roles = (store.roles, store.response_role)
    if getattr(options, "speaker_tokens", None) and not any((r == USER).any() for r in roles):
        unknown = "no pair says whether a user or the system speaks"
        if any(map(np.any, roles)):
            unknown = "nobody is known as a user (dial-pairs --speaker-map NAME=user says who is)"
        yield f"--speaker-tokens: {unknown}"


def _validation(
    place: Path, options: TrainOptions, encoder: Encoder, policy: Policy
) -> tuple[Store, np.ndarray] | None:
    """Return the pairs of --validation, or None without it."""
    if not options.validation:
        return None
    if is_finished(place):
        check_files(place)
    else:
        with atomic_directory(place, overwrite=True) as scrap:
            # --from tells the format of pairs; a teacher's vectors are another kind of file
            format = None if objective_entry(options).taught else options.from_
            chunks = read_chunks([options.validation], format=format, policy=policy)
            spool(scrap, chunks, policy)
            tokenise_store(scrap, encoder.tokenizer)
    store = Store(place)
    wanted = np.asarray(store.similar, bool)
    if options.window:
        wanted &= np.isin(store.window, options.window)
    if np.count_nonzero(wanted) < 2:
        of_windows = " of --window" if options.window else ""
        raise DataError(
            f"holds fewer than two positive pairs{of_windows}", where=options.validation
        )
    return store, np.flatnonzero(wanted)


def _own(store: Store, options: TrainOptions) -> np.ndarray:
    """Return the (P,) mask of the pairs that are none of --teacher's texts."""
    return np.asarray(store.teacher) < 0 if options.teacher else np.ones(len(store), bool)


def divide(store: Store, options: TrainOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs to train on and those held out, by dialogue, of the wanted windows."""
    held = store.held_out(options.validation_share, seed=options.seed)
    wanted = np.ones(len(store), bool)
    if options.window:
        wanted = np.isin(store.window, options.window)
    similar = np.asarray(store.similar, bool)
    if not objective_entry(options).dissimilar:
        wanted &= similar
    own = _own(store, options)
    wanted &= own
    train = np.nonzero(~held & wanted)[0]
    if len(train) < 2 or not similar[train].any():
        hint = "of pairs that say `similar` 0 nothing is brought together"
        if options.validation_share:
            hint = "lower --validation-share"
        if options.window:
            hint = f"there are windows {', '.join(map(str, np.unique(store.window[own])))}"
        left = counted(len(train), "pair") if len(train) < 2 else "no similar pair"
        raise DataError(f"{left} left to train on", hint=hint)
    apart = np.nonzero(held & wanted & similar)[0]
    if options.validation_share and len(apart) < 2:
        found = f"--validation-share holds out {counted(len(apart), 'pair')}"
        raise DataError(found, hint="a larger share, or --validation FILE")
    return train, apart


def check_inputs(options: TrainOptions) -> None:
    """Look for what the options name, before anything is written.

    Raises:
        DataError: for an input that is not there. ModelError: for a model.
    """
    if options.tensorboard and not find_spec("tensorboard"):
        raise MissingExtra(
            "--tensorboard needs a package that is not installed",
            hint="pip install 'dialtools[tensorboard]'",
        )
    if options.model and not Path(options.model).is_file():
        look_over_model(options.model, pooling=options.pooling)
    refuse_missing((*options.inputs, *filter(None, [options.validation, options.teacher])))
