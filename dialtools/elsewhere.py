"""What other tools call our options: who writes their name is told ours.

Names are keys of a configuration: flags without dashes in front.
"""

from __future__ import annotations

from collections.abc import Container

_OURS = {
    "adam optim": ("optimizer",),
    "amp bf16 fp16 fp32 half mixed-precision": ("precision", "dtype"),
    "batch bs train-batch-size per-device-train-batch-size eval-batch-size mini-batch-size": (
        "batch-size",
        "batch-tokens",
    ),
    "batch-size": ("batch-tokens",),
    "ckpt save-steps checkpoint-steps save-every": ("checkpoint-every", "snapshot-every"),
    "column text-column text-field key": ("field", "text"),
    "columns fields metadata": ("keep", "field"),
    "cpu cuda gpu gpus use-gpu": ("device",),
    "confirm force replace y yes": ("overwrite",),
    "context context-size context-window history num-turns n-turns": ("window", "context-turns"),
    "dedup deduplicate unique": ("distinct",),
    "dev dev-file eval eval-file val val-file valid": ("validation",),
    "dim dims embedding-dim truncate-dim": ("dimensions", "hidden"),
    "early-stopping load-best-model-at-end patience save-best": ("keep-best",),
    "eval-steps eval-every evaluation-steps": ("validate-every",),
    "format out-format output-format": ("to", "from"),
    "grad-clip gradient-clipping max-grad-norm": ("clip",),
    "gradient-accumulation-steps grad-accum": ("micro-batch-tokens",),
    "group-by session thread": ("dialogue-column", "session-gap"),
    "head max-rows max-samples n nrows num-samples rows": ("limit", "top"),
    "input-format": ("from",),
    "k n-clusters num-clusters": ("clusters",),
    "learning-rate": ("lr",),
    "log-dir logging-dir report-to tensorboard-dir": ("tensorboard",),
    "lowercase": ("lower", "ignore"),
    "lr-scheduler lr-scheduler-type scheduler": ("schedule",),
    "max-len max-seq-len max-seq-length max-tokens": ("max-length",),
    "min-freq min-frequency": ("min-count",),
    "mode strategy": ("method", "kind"),
    "model-name model-name-or-path pretrained base-model": ("model",),
    "n-epochs num-epochs num-train-epochs": ("epochs",),
    "n-jobs nproc num-proc num-workers processes": ("jobs", "nproc", "threads"),
    "hard-negatives num-hard-negatives": ("negatives", "num-negatives"),
    "num-threads workers": ("threads", "jobs"),
    "out out-dir out-file output-dir output-file output-path save save-dir": ("output",),
    "pca tsne umap": ("method",),
    "random-seed random-state": ("seed",),
    "resume-from resume-from-checkpoint": ("resume",),
    "role role-column sender user": ("speaker-column", "speaker"),
    "sep separator": ("delimiter",),
    "similarity-threshold threshold min-similarity": ("min-cosine", "min-score"),
    "skip-errors ignore-errors": ("on-error",),
    "steps": ("max-steps",),
    "tau temp": ("temperature",),
    "timestamp-column time-column date-column": ("order-column",),
    "top-k topk n-neighbors num-neighbors": ("k", "top"),
    "warmup-ratio warmup-steps warmup-proportion": ("warmup",),
    "wd": ("weight-decay",),
}
"""Names elsewhere, and the options that may be meant, the likeliest first."""
OURS = {name: ours for names, ours in _OURS.items() for name in names.split()}
INPUTS = ("corpus", "data", "data-path", "dataset", "file", "files", "in", "input", "train-file")
"""What is an argument here, without a flag."""


def meant(name: str, known: Container[str]) -> list[str]:
    """Return the options that another tool's name may mean, of those known: two at most."""
    return [option for option in OURS.get(name, ()) if option in known][:2]
