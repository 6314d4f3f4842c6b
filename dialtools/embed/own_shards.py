"""The shards of records that are this run's: all, or those of its part.

A vector depends, in its last bits, on the texts that are encoded with it. So a part has whole
shards of --shard-rows, as one run cuts them; it reads all records twice, to count them and to find
its own, which takes little beside encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dialtools.advance import Advance, silent
from dialtools.corpora.read import record_chunks
from dialtools.embed.carry import Columns
from dialtools.embed.embedder import Embedder, Record, Shard
from dialtools.embed.model import Model
from dialtools.embed.options import EmbedOptions
from dialtools.streams.bytesio import STDIN
from dialtools.streams.chunks import records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.spans import Elsewhere

Seen = Callable[[Iterator[Any]], Iterator[Any]]


class OwnShards:
    """What a run embeds.

    Attributes:
        embedder: embeds it.
        every: the columns of all shards, of which a part has some.
    """

    def __init__(
        self, model: Model, options: EmbedOptions, policy: Policy, advance: Advance
    ) -> None:
        self.model, self.options = model, options
        self.elsewhere = Elsewhere(policy)
        self.policy = self.elsewhere if options.part else policy
        self.embedder = Embedder(model, options, self.policy, advance)
        self.every: Columns | None = None

    def shards(self, seen: Seen = iter, *, soon: bool = False) -> Iterator[Shard]:
        """Yield the shards.

        Args:
            seen: is given the records as they pass.
            soon: somebody waits for each row; all shards of a part are of full size.
        """
        soon = soon and not self.options.part
        records = seen(self._records(self.policy, pauses=soon))
        every = self.embedder.shards(records, soon=soon)
        yield from self._of_part(every) if self.options.part else every

    def _records(self, policy: Policy, *, pauses: bool = False) -> Iterator[Record | None]:
        """Yield each record.

        Args:
            pauses: yield None behind those that stdin had at once.
        """
        inputs, kind = self.options.inputs, self.options.from_
        for chunk in record_chunks(inputs, format=kind, policy=policy, column=None, prompt=True):
            for number, record in records(chunk, policy):
                yield Where(chunk.name, number), record
            if pauses and chunk.name == STDIN:
                yield None

    def _of_part(self, every: Iterator[Shard]) -> Iterator[Shard]:
        """Yield the part's shards, whose columns are those that one run would give them."""
        part = self.options.part
        assert part is not None
        mine = part.cut(self._count())
        for number in range(mine.stop):
            if number == mine.start:
                self._begin()
            shard = next(every, None)
            if shard is None:  # an input is shorter than it was; what tells of it says so
                return
            if number in mine:
                yield shard
            elif number == 0 or not self.embedder.columns.settled:
                self.embedder.columns.of(shard.rows, shard.places)
        if not mine:
            self._begin()
        if part.number == part.of:  # bad records may follow the last good one
            next(every, None)

    def _begin(self) -> None:
        """Take what is read from here on for the part's, and count it alone."""
        self.elsewhere.begun = True
        self.elsewhere.blank = 0
        self.embedder.tally.forget()

    def _count(self) -> int:
        """Return how many shards there are; see the columns of all, if one file is to hold them."""
        nobody = Elsewhere(self.policy)
        embedder = Embedder(self.model, self.options, nobody, silent)
        count = 0
        for shard in embedder.shards(self._records(nobody)):
            count += 1
            if not self.embedder.columns.settled:
                embedder.columns.of(shard.rows, shard.places)
                self.every = embedder.columns
        return count
