"""A Ray cluster and an S3 server for tests, on this machine, which leave no process behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 120  # seconds, on a machine that has other work
MARK = "DIALTOOLS_TEST_CLUSTER"
SMALL = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
HEALTH = {"health_check_period_ms": 1000, "health_check_failure_threshold": 15}
"""So that a dead node is told from a slow one, and within a quarter of a minute."""


def until(true: Callable[[], Any]) -> Any:
    """Return what a function says once it says something.

    Raises:
        TimeoutError: if it never does.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if said := true():
            return said
        time.sleep(0.005)
    raise TimeoutError


@contextmanager
def cluster() -> Generator[Any]:
    """Start a cluster of two nodes with a core each, beside a head, which does no work."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # a short name: sockets lie in it
    os.environ[MARK] = os.environ["RAY_TMPDIR"] = folder
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {**SMALL, "num_cpus": 0, "_system_config": HEALTH}
    try:
        started = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            started.add_node(**SMALL)
        yield started
        started.shutdown()
    finally:
        with suppress(TimeoutError):
            until(lambda: not list(processes(folder)))
        left = list(processes(folder))
        for pid in left:
            kill(pid)
        del os.environ[MARK], os.environ["RAY_TMPDIR"]
        shutil.rmtree(folder, ignore_errors=True)
    assert not left


def processes(folder: str) -> Iterator[int]:
    """Yield what runs for a cluster, but this process, which started it."""
    mark = f"{MARK}={folder}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                yield int(process.name)


def children(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            yield from map(int, task.read_text().split())


def of_node(node: Any) -> list[int]:
    """Return the processes that a node has started."""
    return list(children(node.all_processes["raylet"][0].process.pid))


def working(cluster: Any) -> tuple[Any, int] | None:
    """Return a node with an actor that is in the middle of a part."""
    for node in cluster.worker_nodes:
        for pid in of_node(node):
            with suppress(OSError):
                opened = map(os.readlink, Path(f"/proc/{pid}/fd").iterdir())
                if any("/dialtools.remote/" in path for path in opened):
                    return node, pid
    return None


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def s3() -> Generator[Any]:
    """Start an S3 server, which what is started later finds; yield it, with a bucket."""
    from moto.server import ThreadedMotoServer
    from pyarrow import fs

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    settings = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "anyone",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    os.environ.update(settings)
    try:
        store = fs.S3FileSystem(endpoint_override=address, allow_bucket_creation=True)
        store.create_dir("bucket")
        yield store
    finally:
        server.stop()
        for name in settings:
            del os.environ[name]
