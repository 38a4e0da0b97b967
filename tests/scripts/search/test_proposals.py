"""Batches of machines: a function of the seed and of what was measured."""

from __future__ import annotations

import json

import pytest

from compiler.driver.streams import code_of
from hw.config import HardwareConfig
from scripts.errors import SpaceError
from scripts.search.explorer_names import Explorer
from scripts.search.proposals import MACHINES, STREAMS, Finished, Proposal, Proposer
from scripts.search.space import Space, load_space, parse_space


def values(space: Space, proposal: Proposal) -> tuple[float, float] | None:
    """Two objectives that are at odds; a machine with the smallest INP cannot run."""
    machine = space.machine(proposal.indices)
    if machine.log_inp_buffer == 9:
        return None
    time = 1e6 / machine.macs + machine.longest_burst
    return time, float(machine.macs + (1 << machine.log_wgt_buffer))


def searched(proposer: Proposer, batches: int) -> list[tuple[Proposal, ...]]:
    found: list[tuple[Proposal, ...]] = []
    history: list[Finished] = []
    for number in range(batches):
        found.append(proposer.batch(number, history))
        history += (Finished(each, values(proposer.space, each)) for each in found[-1])
    return found


def proposer(explorer: Explorer, seed: int = 0) -> Proposer:
    return Proposer(load_space("small"), explorer, seed, 2, lambda machine: True)


@pytest.mark.parametrize("explorer", Explorer)
def test_batches_are_the_same_again_and_other_with_another_seed(explorer: Explorer) -> None:
    found = searched(proposer(explorer), 3)
    assert searched(proposer(explorer), 3) == found
    assert searched(proposer(explorer, seed=1), 1)[0] != found[0]


@pytest.mark.parametrize("explorer", Explorer)
def test_machines_are_possible_and_new_and_share_programs(explorer: Explorer) -> None:
    space = load_space("small")
    found = [each.indices for batch in searched(proposer(explorer), 3) for each in batch]
    assert len(set(found)) == len(found)
    machines = [space.machine(indices) for indices in found[: STREAMS * MACHINES]]
    assert len(machines) == STREAMS * MACHINES
    assert STREAMS / 2 < len({code_of(machine) for machine in machines}) <= STREAMS


def test_a_generation_follows_another() -> None:
    batches = searched(proposer(Explorer.NSGA2), 3)
    assert [{each.generation for each in batch} for batch in batches] == [{0}, {1}, {2}]


def test_nsga2_finds_what_random_search_does_not() -> None:
    space = load_space("small")

    def best(explorer: Explorer) -> float:
        found = [each for batch in searched(proposer(explorer), 8) for each in batch]
        pairs = (values(space, each) for each in found)
        return min(pair[0] * pair[1] for pair in pairs if pair is not None)

    assert best(Explorer.NSGA2) <= best(Explorer.RANDOM)


def test_limits_are_kept() -> None:
    def small(machine: HardwareConfig) -> bool:
        return machine.macs < 100

    own = Proposer(load_space("small"), Explorer.RANDOM, 0, 2, small)
    assert all(small(own.space.machine(each.indices)) for each in own.batch(0, []))


def test_a_space_that_ends() -> None:
    fields = {"log_wgt_buffer": [12, 13], "longest_burst": [8, 16]}
    space = parse_space(json.dumps({"base": "small8", "fields": fields}), "mine")
    own = Proposer(space, Explorer.NSGA2, 0, 1, lambda machine: True)
    batch = own.batch(0, [])
    assert len(batch) == 4
    assert own.batch(1, [Finished(each, (1.0,)) for each in batch]) == ()
    none = Proposer(space, Explorer.NSGA2, 0, 1, lambda machine: False)
    with pytest.raises(SpaceError, match="none is possible and within the limits"):
        none.batch(0, [])
