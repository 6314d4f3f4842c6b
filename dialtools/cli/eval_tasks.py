"""dial-eval intent ... entail: embedding files scored, one task each."""

from __future__ import annotations

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.cli._scores import report
from dialtools.eval.options.labelled import IntentOptions, OosOptions
from dialtools.eval.options.likeness import (
    EntailOptions,
    RetrieveOptions,
    SelectOptions,
    StsOptions,
)
from dialtools.eval.options.probes import ActOptions, InferOptions

MEMORY = "the embedding files: 4 bytes a number"


@command(
    IntentOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval intent",
    doc="""dial-eval intent - few-shot intent classification

  dial-eval intent --train train.parquet --test test.parquet --shots 1,5 --runs 10
  dial-eval intent --train train.parquet --test test.parquet --episodes splits.json --episode-set bank77
  dial-eval intent --method knn --neighbours 1,3,5 banking77.parquet
  dial-eval intent --method knn --sweep-compress 0,0.1,0.2,0.5 templates.parquet
  dial-eval intent --method logreg --name Banking77Classification banking77.parquet

A prototype is the mean of a class's unit vectors, not scaled again; a text goes to the prototype with the largest dot
product. Each run draws k examples a class with Python's generator, as the DSE reference does.

--method logreg is MTEB's protocol: scikit-learn's LogisticRegression (100 iterations at most) on 8 rows a class, drawn as
MTEB draws them from its seed 42 (to which --seed is added), on vectors as they are; accuracy, macro and weighted F1.

Records tell how even the classes are, and how many test rows occur among the training rows (lower-cased, without
punctuation); `unleaked` is the score without those, thresholds and examples being the same. `each` keeps what every
test row adds, for dial-eval compare; --no-each leaves it out.

Rows that dial-augment made (`synthetic`) are no training rows unless --synthetic. --sweep-compress reads files that hold
vectors of texts and of templates (dial-embed --templates): lambda t + (1 - lambda) u, lambda chosen on validation rows, in
the score's `chosen`.
""",
)
def intent(options: IntentOptions, run: Run) -> None:
    from dialtools.eval.tasks import intent as task

    report(*task.evaluate(options), options, run)


@command(
    OosOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval oos",
    doc="""dial-eval oos - tell what is out of scope

  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval oos --shots 5 --validation-split val clinc150.parquet

Out of scope is a class with a prototype of its own, and whatever scores no higher than a threshold: mean - std, mean or
mean + std of the test scores (transductive, as the DSE reference), or the one that is best on validation rows. Rows of
scores are divided by their length as the reference does; `raw` settings do without. AUROC and FPR at 95 % recall take
out-of-scope texts as the positive class.
""",
)
def oos(options: OosOptions, run: Run) -> None:
    from dialtools.eval.tasks import oos as task

    report(*task.evaluate(options), options, run)


@command(
    SelectOptions,
    memory=MEMORY,
    name="dial-eval select",
    doc="""dial-eval select - find the response among candidates

  dial-eval select heldout.parquet
  dial-eval select --sampling random --seed 7 --candidates 50 heldout.parquet
  dial-eval select queries.parquet --pool candidates.parquet --duplicates count

Candidates are the responses of N consecutive rows (the last incomplete block is dropped), N - 1 drawn ones, or given
lists: records of `history`, `response` and `candidates` (texts) are embedded twice, as queries by dial-embed --field
history and as a pool by dial-embed --per candidate. A candidate with the text of the true response is left out, or counted against it; equal scores share the places
they hold in expectation (--ties average). Queries of a block share their candidates: intervals, and the tests of dial-eval
compare, are over blocks.
""",
)
def select(options: SelectOptions, run: Run) -> None:
    from dialtools.eval.tasks import select as task

    report(*task.evaluate(options), options, run)


@command(
    ActOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval act",
    doc="""dial-eval act - predict the acts of the next system turn, or tell those of the current one

  dial-embed --model model/ --per turn chats.jsonl -o turns.parquet
  dial-eval act --target next turns.parquet
  dial-eval act --target current --speaker system turns.parquet
  dial-embed --model model/ --field history dstc2_acts.jsonl -o dstc2.parquet
  dial-eval act dstc2.parquet

One linear layer with a sigmoid for each act is trained on the frozen embeddings; an act is predicted above 0.5. Rates,
penalties and the epoch are chosen on validation rows, by the mean of micro and macro F1. Acts that are never predicted
have F1 0 and count in the macro average, as scikit-learn has it with zero_division=0.

Rows of turns (--per turn) hold each turn's own acts: `next` looks up those of the turn that follows. Ready-made rows
hold the acts of `response` in `labels`: embed `history` for `next`, `history+response` for `current`; the file tells
which was done, and the wrong target is refused. Turns of one dialogue (--group) are resampled together: they are no
independent evidence.
""",
)
def act(options: ActOptions, run: Run) -> None:
    from dialtools.eval.tasks import act as task

    with run.progress(options.points, "probes") as progress:
        found = task.evaluate(options, progress.advance)
    report(*found, options, run)


@command(
    InferOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval infer",
    doc="""dial-eval infer - tell whether a dialogue contradicts itself

  dial-embed --model model/ --field history+response --tokens citod.jsonl -o ic-tod.parquet
  dial-eval infer --label qi,hi --test-split dev --hold-out 0.1 ic-tod.parquet
  dial-eval infer --label is_contradiction --under-tokens 256 decode.parquet

One linear layer with a softmax over the classes is trained on the frozen embeddings; the most probable class is
compared. `majority` is the accuracy of always saying the most frequent class of the training rows.
""",
)
def infer(options: InferOptions, run: Run) -> None:
    from dialtools.eval.tasks import infer as task

    with run.progress(options.points, "probes") as progress:
        found = task.evaluate(options, progress.advance)
    report(*found, options, run)


@command(
    RetrieveOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval retrieve",
    doc="""dial-eval retrieve - rank texts of the same kind before others

  dial-embed --model model/ jddc.jsonl -o jddc.parquet
  dial-eval retrieve --part test jddc.parquet
  dial-eval retrieve --lists bm25 --candidates 50 clinc150.parquet

Candidates are ranked by cosine. They are given as ids in `positives` and `negatives` (of column `id`, else row numbers
from 0, within the row's split), or BM25 finds them for every text among the others of its split: the first 100, those of
its label positive and at most 30, the further ones left out, as DialogueCSE built its sets. Queries that lack positives
or negatives tell nothing and are not counted. Equal scores share their places in expectation, so that one vector for
everything scores at `chance`, what random order gives on these lists: of 30 in 70, MAP 46.0 and MRR 63.7.
""",
)
def retrieve(options: RetrieveOptions, run: Run) -> None:
    from dialtools.eval.tasks import retrieve as task

    report(*task.evaluate(options), options, run)


@command(
    StsOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval sts",
    doc="""dial-eval sts - compare cosines with annotated similarity

  dial-embed --model model/ --field text1,text2 sick.jsonl -o sick.parquet
  dial-eval sts sick.parquet
  dial-eval sts --part trial sick.parquet

Spearman's and Pearson's correlation of the cosine of two texts with their score, times 100, of each split and of all
rows; equal scores share the mean of their ranks. Intervals are of bootstrap resamples of the rows.
""",
)
def sts(options: StsOptions, run: Run) -> None:
    from dialtools.eval.tasks import sts as task

    report(*task.evaluate(options), options, run)


@command(
    EntailOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval entail",
    doc="""dial-eval entail - is a text nearer to what it entails than to what contradicts it

  dial-embed --model model/ --field text1,text2 snli.jsonl -o snli.parquet
  dial-eval entail --part test snli.parquet
  dial-embed --model model/ --field anchor,entailment,contradiction triplets.jsonl -o triplets.parquet
  dial-eval entail triplets.parquet

A triplet is right if the cosine of anchor and entailment is above that of anchor and contradiction; equal ones are
wrong, and told. Of labelled pairs (premise, hypothesis, label) the triplets are built: of each premise every entailment
with every contradiction, or --triplets first; a premise without both is left out, and told. The interval is of a
bootstrap of the anchors, whose triplets stay together.
""",
)
def entail(options: EntailOptions, run: Run) -> None:
    from dialtools.eval.tasks import entail as task

    scores, metadata = task.evaluate(options)
    report(scores, metadata, options, run)
    for score in scores:
        told = score.data
        run.warn(
            f"{score.setting or score.dataset}: {told['triplets']:,} triplets of {told['anchors']:,} anchors; {told['dropped']:,} anchors without both sides left out; {told['ties']:,} ties count as wrong"
        )
