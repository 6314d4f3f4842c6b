"""What commands read from their environment, and the files they keep beside their output.

Man pages say these of every command that has one of the options named, or is named itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dialtools.options import Spec

EVERYWHERE = ("config",)
"""All commands have this option."""


class Note(NamedTuple):
    """A variable or a file: its name, what it does, and which options or commands it matters to."""

    name: str
    text: str
    matters_to: Sequence[str]


ENVIRONMENT = (
    Note("NO_COLOR", "if set, nothing is coloured; --color=always overrides", EVERYWHERE),
    Note("TERM", "if dumb, nothing is coloured; --color=always overrides", EVERYWHERE),
    Note("COLUMNS", "width of help and of tables, in place of the terminal's", EVERYWHERE),
    Note(
        "TMPDIR",
        "directory for what does not fit into memory or is read twice: Parquet from stdin, "
        "members of archives, tables to be sorted, counts, records that wait",
        ("from_",),
    ),
    Note(
        "HF_HOME",
        "where the local cache of models is [~/.cache/huggingface]; a model that is named, not "
        "given as a directory, is looked up there, and never fetched",
        ("model",),
    ),
    Note("OMP_NUM_THREADS", "CPU threads of torch without --threads", ("threads",)),
    Note(
        "OMP_WAIT_POLICY",
        "PASSIVE unless set: threads that wait leave the cores to others",
        ("threads",),
    ),
    Note(
        "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
        "16 unless set: kernels kept for shapes seen before, some 0.3 MiB each",
        ("threads",),
    ),
    Note(
        "TOKENIZERS_PARALLELISM",
        "if false, texts are cut into tokens by one thread",
        ("threads",),
    ),
    Note("CUDA_VISIBLE_DEVICES", "the GPUs that --device may name", ("device",)),
)

FILES = (
    Note(
        "dialtools.toml",
        "any TOML file for --config: keys are flags without the dashes; --print-config writes one",
        EVERYWHERE,
    ),
    Note(
        "OUTPUT.partial/",
        "working folder of a job that is not finished, beside its output; --resume goes on from "
        "it, --overwrite starts over; it goes when the output is written",
        ("resume",),
    ),
    Note(
        "OUTPUT.job.json",
        "what a finished output was made of, for --resume, where the output cannot carry it "
        "itself (JSONL, npy, fbin)",
        ("resume",),
    ),
    Note(
        "FILE.npy.columns.jsonl, FILE.fbin.columns.jsonl",
        "ids, labels and other columns of the rows of a matrix",
        ("dial-embed", "dial-eval"),
    ),
    Note(
        "FILE of --on-error quarantine=FILE",
        "records that cannot be used: file, line, error, raw text",
        ("on_error",),
    ),
    Note(
        "MODEL/",
        "a model directory: model.safetensors, tokenizer, modules.json and 1_Pooling/ as "
        "transformers and sentence-transformers read them; dialtools.json, which tells inputs, "
        "options and counts; README.md, the model's card",
        ("model", "choose_on"),
    ),
    Note(
        "MODEL/dialtools.toml",
        "every option of the run with the source of its value: --config MODEL/dialtools.toml PAIRS "
        "-o NEW runs it again",
        ("dial-train",),
    ),
    Note(
        "MODEL/merge-candidates.jsonl",
        "the candidates of --choose-on: weights, score of each file, gain over the start",
        ("choose_on",),
    ),
    Note("MODEL/train-log.jsonl", "a line of figures for each step logged", ("dial-train",)),
    Note(
        "MODEL/snapshots/step-N/",
        "model directories kept by --snapshot-every; dial-eval curve scores them",
        ("snapshot_every", "dial-eval"),
    ),
    Note(
        "DIR of --cache",
        "tokenised pairs for later runs of the same inputs and tokenizer; may be deleted",
        ("cache",),
    ),
)


def notes_for(notes: Iterable[Note], command: str, all_specs: Iterable[Spec]) -> list[Note]:
    """Return the notes that matter to a command with these options."""
    names = {spec.name for spec in all_specs} | {command}
    return [note for note in notes if names.intersection(note.matters_to)]
