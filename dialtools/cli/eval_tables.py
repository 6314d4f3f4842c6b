"""dial-eval suite, compare and mteb: many scores at once."""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.cli._scores import report_suite
from dialtools.eval.options.tables import CompareOptions, MtebOptions, SuiteOptions


@command(
    SuiteOptions,
    memory="the embedding files of one data set: 4 bytes a number",
    reads_stdin=False,
    name="dial-eval suite",
    doc="""dial-eval suite - run a whole benchmark over one or several models

  dial-eval suite diaeval minilm/ trained/
  dial-eval suite --published diaeval minilm/
  dial-eval suite mine.toml before/ after/ -o scores.jsonl

A suite names data sets, tasks, their flags and metrics: a shipped one (diaeval, dse), or a TOML file like them. A folder
holds the embedding files of a model, each under the name that its suite gives it; those of diaeval come from

  dial-embed --max-length 256 --field history               -o minilm/dstc2.parquet               history, labels, split
  dial-embed --max-length 256 --field history               -o minilm/gsim.parquet                history, labels, split
  dial-embed --max-length 256 --field history+response      -o minilm/ic-tod.parquet              ..., qi, hi, split
  dial-embed --max-length 256 --field turns --tokens        -o minilm/decode.parquet              turns, is_contradiction, split
  dial-embed --field history                                -o minilm/ubuntu.parquet              history, response, candidates
  dial-embed --per candidate                                -o minilm/ubuntu-candidates.parquet   the same records

What a folder lacks is named and left out; an average is shown where all sets of its task are there. --published puts
the paper's numbers beside, which other texts, lengths and training rows may have made.
""",
)
def suite(options: SuiteOptions, run: Run) -> None:
    from dialtools.eval import suite as task

    benchmark = task.load(options.inputs[0])
    if options.task:
        benchmark = task.only(benchmark, options.task)
    folders = list(dict.fromkeys(options.inputs[1:]))
    with run.progress(len(folders) * len(benchmark.sets), "data sets") as progress:
        result = task.run(benchmark, folders, seed=options.seed, advance=progress.advance)
    for folder, name, file in result.missing:
        run.warn(f"{folder}: {name} is missing: no {file}.parquet, .arrow, .jsonl or .npy")
    report_suite(benchmark, result, options, run)


@command(
    CompareOptions,
    memory="the score files, and a block of resamples",
    reads_stdin=False,
    name="dial-eval compare",
    doc="""dial-eval compare - which differences between models would be there again with other test items

  dial-eval compare before.jsonl after.jsonl
  dial-eval compare --metric accuracy --fail-if-worse 1 before.jsonl after.jsonl
  dial-eval compare --baseline minilm 'dse=seeds/dse-1.jsonl,seeds/dse-2.jsonl' 'seeds/wmdc-*.jsonl' minilm.jsonl --to markdown
  dial-eval compare --test bootstrap --correct bh before.jsonl after.jsonl -o table.tex

Reads score records as the tasks and suites write them with -o; scores of the same task, data set (--name, else the name
of its file), setting and metric are compared with the baseline's, item by item; turns of one dialogue (--group), and
queries that share a block of candidates, stay together. Intervals are of a paired bootstrap of the test items. p-values
are of a paired permutation test (the two models are swapped at random on each item) for scores that are means over
items, and of the bootstrap for F1, correlations and areas; they are corrected for all tests of the table. Of several
seeds the mean counts, with its standard deviation beside. What the test items say is of these items: few-shot examples
and thresholds stay as they were drawn. For FPR, uniformity and alignment lower is better.

What has other test items, or kept none, is named and not tested. --fail-if-worse looks at the difference alone.
""",
)
def compare(options: CompareOptions, run: Run) -> None:
    from dialtools.cli._compared import report_comparison
    from dialtools.eval.compare import compare as task
    from dialtools.streams.atomic import refuse_existing

    if options.output != "-":
        refuse_existing(options.output, overwrite=options.overwrite)
    report_comparison(task.evaluate(options), options, run)


@command(
    MtebOptions,
    memory="the score files",
    reads_stdin=False,
    name="dial-eval mteb",
    doc="""dial-eval mteb - scores as result files of MTEB, where the protocol is the same

  dial-eval intent --method logreg --name Banking77Classification banking77.parquet -o scores.jsonl
  dial-eval mteb scores.jsonl -o results/ --model-name me/mine

Writes one JSON file for each task and model_meta.json, as MTEB lays out the results of a model, so that they merge with
its tools. Only what is scored as MTEB scores it: classification by intent --method logreg (8 shots, 10 runs, --seed 0)
of Banking77, MASSIVE and MTOP in English, and sts of SICK-R and STSBenchmark, of all their training and test rows in
their published order. Everything else is refused with a line. mteb_version and evaluation_time are null: MTEB did not
run; dataset_revision is that of MTEB's data, which yours should be.
""",
)
def mteb(options: MtebOptions, run: Run) -> None:
    from pathlib import Path

    import orjson

    from dialtools.eval.compare import mteb as task
    from dialtools.streams.atomic import atomic_file, refuse_existing

    found = task.evaluate(options)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name in found.files:
        refuse_existing(folder / name, overwrite=options.overwrite)
    for name, content in found.files.items():
        with atomic_file(folder / name, overwrite=options.overwrite) as temporary:
            temporary.write_bytes(
                orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            )
    for what, why in found.refused.items():
        run.warn(f"refused: {what}: {why}")
    run.close(f"{options.output}: {', '.join(name for name in found.files)}")
