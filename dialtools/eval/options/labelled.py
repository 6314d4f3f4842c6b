"""Options of the tasks on labelled texts, of which a run may see a few: intent, oos."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.corpora.options import OWN_TEST, TestShareOptions
from dialtools.eval.options.base import ThreePartOptions
from dialtools.options import option, restated
from dialtools.streams.options import column
from dialtools.values import int_list, number_of_runs


@dataclass
class LabelledOptions(ThreePartOptions):
    """Labelled embeddings, and the few of them that a run may see."""

    validation: str | None = restated(ThreePartOptions, "validation", not_with="validation_split")
    label: str = column("label", help="column of the labels")
    split: str = restated(ThreePartOptions, "split", not_with=OWN_TEST)
    train_split: str = restated(ThreePartOptions, "train_split", not_with=OWN_TEST)
    test_split: str = restated(ThreePartOptions, "test_split", not_with=OWN_TEST)
    validation_split: str | None = restated(ThreePartOptions, "validation_split", not_with=OWN_TEST)
    test_share: float | None = restated(TestShareOptions, "test_share", not_with="train")
    text: str | None = column(
        None,
        help="column of the texts that --test-share draws by",
        shown="what the vectors are of, else text",
        goes_with="test_share",
    )
    synthetic: bool = option(
        False,
        help="use augmented utterances (`synthetic`) as training rows too",
        not_with="test_share",
    )
    shots: tuple[int, ...] = option(
        (1, 5), metavar="N[,N...]", parse=int_list, help="examples per class"
    )
    runs: int = option(
        10,
        parse=number_of_runs,
        help="number of runs; each draws new examples (seeds seed, seed+1, ...)",
        not_with="episodes",
    )
    episodes: str | None = option(
        None, metavar="FILE", help="read the examples from a JSON file instead of drawing them"
    )
    episode_set: str | None = option(
        None,
        metavar="NAME",
        help="data set of that file",
        shown="the only one",
        goes_with="episodes",
    )
    save_episodes: str | None = option(
        None,
        metavar="FILE",
        help="write the drawn examples to a file, for others to use",
        how=True,
    )
