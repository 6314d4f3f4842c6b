"""The tasks that score embedding files: for `dial-eval NAME`, and for the sets of a suite.

To add a task, write two things and enter them in TASKS; command, help page, man page, completion,
gates and suites follow from the entry:

- an options class, a dataclass that extends one of `eval.options.base`; the docstring of its module
  is the help page. Help imports that module, so that nothing heavy may stand at its top.
- a function from these options to `eval.score.Scored`. It may stand in the same file with its
  imports inside, as a small task does; ours stand in `eval/tasks/`, the options and pages in
  `eval/options/`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry, load
from dialtools.eval.options.base import ReportOptions


@dataclass(frozen=True, kw_only=True)
class Task(Entry):
    """A task: what evaluates it (the target), what one line of help says, and its options.

    Attributes:
        options: the class of its options, as `module:Class`.
        counts: what it advances by, where it takes long ("probes"); the function then takes a
            second argument `advance`, and its options may tell in `points` how many there will be.
        memory: what it holds, for the help page.
    """

    options: str
    counts: str = ""
    memory: str = "the embedding files: 4 bytes per number"

    def options_class(self) -> type[ReportOptions]:
        """Return the class of its options; loads nothing heavy."""
        return load(self.options)


TASKS = {
    "intent": Task(
        target="dialtools.eval.tasks.intent:evaluate",
        summary="classify intents: few-shot prototypes or regression, nearest neighbours",
        options="dialtools.eval.options.intent:IntentOptions",
    ),
    "oos": Task(
        target="dialtools.eval.tasks.oos:evaluate",
        summary="tell in-scope texts from out-of-scope ones",
        options="dialtools.eval.options.oos:OosOptions",
    ),
    "route": Task(
        target="dialtools.eval.tasks.route:evaluate",
        summary="judge a router: rows beside the class that each was given",
        options="dialtools.eval.options.route:RouteOptions",
        memory="the labels of all rows, and their texts",
    ),
    "select": Task(
        target="dialtools.eval.tasks.select:evaluate",
        summary="find the response among candidates",
        options="dialtools.eval.options.select:SelectOptions",
    ),
    "act": Task(
        target="dialtools.eval.tasks.act:evaluate",
        summary="predict the acts of the next turn, or of the current one",
        options="dialtools.eval.options.act:ActOptions",
        counts="probes",
    ),
    "infer": Task(
        target="dialtools.eval.tasks.infer:evaluate",
        summary="tell whether a dialogue contradicts itself",
        options="dialtools.eval.options.infer:InferOptions",
        counts="probes",
    ),
    "retrieve": Task(
        target="dialtools.eval.tasks.retrieve:evaluate",
        summary="rank texts of the same kind before others",
        options="dialtools.eval.options.retrieve:RetrieveOptions",
    ),
    "sts": Task(
        target="dialtools.eval.tasks.sts:evaluate",
        summary="compare cosines with annotated similarity",
        options="dialtools.eval.options.sts:StsOptions",
    ),
    "entail": Task(
        target="dialtools.eval.tasks.entail:evaluate",
        summary="rank entailments before contradictions (NLI triplets)",
        options="dialtools.eval.options.entail:EntailOptions",
    ),
    "cluster": Task(
        target="dialtools.eval.tasks.cluster:evaluate",
        summary="match clusters with labels: NMI, ARI, accuracy; protocols of MTEB and DSTC11",
        options="dialtools.eval.options.cluster:ClusterOptions",
        counts="steps",
    ),
}
