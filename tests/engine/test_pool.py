"""How many actors a cluster has room for, machine by machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dialtools.engine.pool import Pool

MACHINES = [{"CPU": 3.0, "GPU": 1.0}, {"CPU": 3.0}, {"memory": 1.0}]


def pool(cores: int, *, encodes: bool = False, told: list[str] | None = None) -> Pool:
    tell = ([] if told is None else told).append
    return Pool(None, None, cores, encodes=encodes, debug=False, tell=tell)


def test_an_actor_lies_on_one_machine():
    assert pool(2)._shares(MACHINES) == ({"num_cpus": 2}, 2)
    assert pool(1)._shares(MACHINES) == ({"num_cpus": 1}, 6)
    assert pool(4)._shares(MACHINES) == ({"num_cpus": 4}, 0)
    assert pool(4, encodes=True)._shares(MACHINES) == ({"num_gpus": 1}, 1)
    assert pool(4, encodes=True)._shares(MACHINES[1:]) == ({"num_cpus": 4}, 0)


@pytest.mark.parametrize(("cores", "said"), [(3, 0), (4, 1)])
def test_who_waits_for_a_larger_machine_is_told(cores: int, said: int):
    nodes = [{"Alive": True, "Resources": has} for has in MACHINES]
    nodes.append({"Alive": False, "Resources": {"CPU": 8.0}})
    ray: Any = SimpleNamespace(nodes=lambda: nodes)
    told: list[str] = []
    with pytest.raises(AttributeError):  # all that it asks Ray before it tells
        next(iter(pool(cores, told=told)._rows(ray, lambda job: lambda n: {}, None, [1])))
    assert len(told) == said and all("has 4 cores yet" in line for line in told)
