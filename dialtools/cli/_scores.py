"""Scores to a person or a machine: a table, or JSON Lines; then the gates."""

from __future__ import annotations

from typing import Any

from dialtools.cli._run import Run
from dialtools.eval.options import ReportOptions


def report(scores: list[Any], metadata: dict[str, str], options: ReportOptions, run: Run) -> None:
    """Print a table for a person or JSONL for a machine; then check the gates."""
    import sys

    import orjson

    from dialtools.eval.score import check_gates
    from dialtools.streams.sinks import write_records

    about = orjson.loads(metadata.get("dialtools", "{}"))
    inputs = _inputs(options)
    for score in scores:
        score.model, score.inputs = (about.get("options") or {}).get("model"), inputs
    if options.output == "-" and sys.stdout.isatty() and not options.json:
        _table(scores, run)
    else:
        write_records((s.record() for s in scores), options.output, to="jsonl", overwrite=options.overwrite)
        sys.stdout.flush()
    check_gates(scores, options.fail_under)


def _inputs(options: Any) -> list[dict[str, Any]]:
    from dialtools.streams.provenance import describe

    named = [getattr(options, name, None) for name in ("train", "test", "validation", "pool", "episodes")]
    return [describe(path) for path in (*options.inputs, *named) if path]


def _table(scores: list[Any], run: Run) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{scores[0].task} · {scores[0].dataset} · {scores[0].n:,} texts, percent", title_justify="left")  # fmt: skip
    for name, justify in (("setting", "left"), ("metric", "left"), ("score", "right"), ("95 % interval", "right"), ("std", "right"), ("runs", "right")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for s in scores:
        spread = f"{s.std:.2f}" if s.std == s.std else ""
        interval = f"{s.low:.2f} – {s.high:.2f}" if s.low == s.low else ""
        table.add_row(s.setting, s.metric, f"{s.value:.2f}", interval, spread, str(s.runs))
    Console(no_color=not run.colored, highlight=False).print(table)
