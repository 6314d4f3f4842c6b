"""Ray's actors: which of them does which part, and again if it dies, is left to Ray Data.

ray is imported here only, and where a cluster is asked for.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from dialtools.errors import DialError, MissingExtra
from dialtools.shown import first_line
from dialtools.streams.tally import counted

Actor = Callable[[Any], Callable[[int], dict[str, Any]]]

TRIES = 5
"""How often a part is begun: one whose actors all die must end. Ray counts what it tries itself,
which is many times a second while a machine that died is not yet known to be dead."""
NO_CLUSTER = "`ray start --head` begins one, where none can be begun for the job alone"
SMALLER = "was their memory too small? smaller parts (--parts N) take less, and fewer --workers"
NOT_REACHED = "does it run, and does it ask for a token (then RAY_AUTH_MODE=token is to be set)?"


@dataclass(frozen=True)
class Pool:
    """Actors of a cluster.

    Attributes:
        address: of the cluster; None leaves it to Ray.
        workers: at most so many; None is what the cluster has room for.
        cores: of each.
        encodes: each takes a GPU, if the cluster has any.
        debug: what Ray says is shown.
        tell: is given a line on what is waited for.
    """

    address: str | None
    workers: int | None
    cores: int
    encodes: bool
    debug: bool
    tell: Callable[[str], None]

    def results(self, actor: Actor, job: Any, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield what becomes of each number, in any order.

        Args:
            actor: made of the job once in each process, then called with a number at a time.

        Raises:
            MissingExtra: without ray.
            DialError: if there is no cluster, or it loses a part again and again.
        """
        with self._cluster() as ray:
            try:
                for row in self._rows(ray, actor, job, numbers):
                    if not row["told"]:
                        what = f"part {row['number']}: {TRIES} actors died of it"
                        raise DialError(what, hint=SMALLER)
                    yield orjson.loads(row["told"])
            except ray.exceptions.RayError as error:
                raise DialError(f"the cluster failed: {first_line(error)}") from error

    def _rows(self, ray: Any, actor: Actor, job: Any, numbers: Sequence[int]) -> Iterator[Any]:
        each, most = self._shares([node["Resources"] for node in ray.nodes() if node["Alive"]])
        if not most:  # a cluster may grow
            what = f"no machine of the cluster has {counted(self.cores, 'core')} yet"
            self.tell(f"{what}: waiting for one; --threads N asks for fewer")
        size = max(1, min(self.workers or most, len(numbers)))
        pool = ray.data.ActorPoolStrategy(min_size=1, max_size=size, initial_size=size)
        # not `ray.data.range`, whose tasks would wait for a core that the actors have taken
        rows = ray.data.from_items(list(numbers), override_num_blocks=len(numbers))
        tries = ray.remote(_Tries).options(num_cpus=0, max_restarts=-1, max_task_retries=-1)
        work = rows.map_batches(
            _Actor,
            fn_constructor_args=(actor, job, tries.remote()),
            batch_size=1,
            compute=pool,
            **each,
        )
        yield from work.iter_rows()

    def _shares(self, machines: Sequence[dict[str, float]]) -> tuple[dict[str, int], int]:
        """Return what an actor takes, and for how many actors the machines have room."""
        if self.encodes and (gpus := sum(int(has.get("GPU", 0)) for has in machines)):
            return {"num_gpus": 1}, gpus
        room = sum(int(has.get("CPU", 0)) // self.cores for has in machines)
        return {"num_cpus": self.cores}, room

    @contextmanager
    def _cluster(self) -> Generator[Any]:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = _ray()
        # Ray takes SIGTERM for itself
        before = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(
                address=self.address,
                include_dashboard=None if self.address else False,
                log_to_driver=self.debug,
            )
        except Exception as error:  # of one that does not start in time, Ray's is of no other kind
            hint = NO_CLUSTER if self.address is None else NOT_REACHED
            raise DialError(f"no Ray cluster: {first_line(error)}", hint=hint) from error
        finally:
            signal.signal(signal.SIGTERM, before)
        try:
            yield ray
        finally:
            ray.shutdown()


def _ray() -> Any:
    """Return the package.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtra("--engine ray needs Ray", hint="pip install 'dialtools[ray]'") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


class _Tries:
    """How often each part was begun."""

    def __init__(self) -> None:
        self.begun = Counter[int]()

    def begin(self, number: int) -> int:
        self.begun[number] += 1
        return self.begun[number]


class _Actor:
    """What Ray Data calls with batches of one row."""

    def __init__(self, actor: Actor, job: Any, tries: Any) -> None:
        self.work = actor(job)
        self.tries = tries

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        numbers = [int(number) for number in batch["item"]]
        return {"number": numbers, "told": [self._told(number) for number in numbers]}

    def _told(self, number: int) -> str:
        import ray

        begun: Any = ray.get(self.tries.begin.remote(number))
        if begun > TRIES:
            return ""
        return orjson.dumps(self.work(number), default=str).decode()
